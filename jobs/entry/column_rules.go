package entry

import (
	"errors"
	"fmt"

	"bulkload/ingest"
	"bulkload/internal/errcode"
	"bulkload/jobs/filter"
	"bulkload/jobs/jobfile"
	"bulkload/values"
)

// ErrFiltered says that the job's filter does not take a record.
var ErrFiltered = errors.New("the filter does not take the record")

// columnRules is what columns_map, timestamp and filter make of the records of one output, in one goroutine.
type columnRules struct {
	job     *jobfile.Job
	filter  *filter.Evaluator // nil: all records are wanted
	none    bool              // values are stored as they come
	columns []columnRule      // of the columns at which there is something to do
	moments *momentColumn     // nil: all rows have the job's timestamp
	values  []values.Value    // of the present record, then the constants
	room    []byte            // for values that are stored in another form
}

// columnRule is what is done with one column's values.
type columnRule struct {
	column int
	width  int // 0: any
	null   jobfile.NullPolicy
	reader *values.Reader // nil: any bytes
	binary bool
}

// momentColumn is the column from which the timestamps come.
type momentColumn struct {
	column int
	reader *values.Reader
}

func newColumnRules(j *jobfile.Job) columnRules {
	r := columnRules{job: j}
	if j.Filter != nil {
		r.filter = j.Filter.Evaluator()
	}
	for i := range j.Columns {
		if rule := newColumnRule(&j.Columns[i], i); rule.width > 0 || rule.null != jobfile.NullOmit || rule.reader != nil {
			r.columns = append(r.columns, rule)
		}
	}
	if i, ok := j.Column(j.Moments); ok {
		t, _ := jobfile.TimestampType(&j.Columns[i]) // reading the job file has checked it
		reader, _ := values.NewReader(t)             // likewise
		r.moments = &momentColumn{i, reader}
	}
	r.values = make([]values.Value, len(j.Columns), len(j.Columns)+len(j.Constants))
	for _, c := range j.Constants {
		r.values = append(r.values, values.ValueOf(c.Value))
	}
	r.none = r.columns == nil && r.moments == nil && len(j.Constants) == 0
	return r
}

func newColumnRule(c *jobfile.Column, i int) columnRule {
	rule := columnRule{column: i, width: c.Width, null: c.Null, binary: c.Binary && !c.Skip}
	if c.Type.Checked() {
		rule.reader, _ = values.NewReader(c.Type) // reading the job file has checked it
	}
	return rule
}

// want gives ErrFiltered for a record that the filter does not take, and an *ingest.BadRecord for one that it can't judge.
func (r *columnRules) want(record *ingest.Record) error {
	wanted, err := r.filter.Wanted(record.Fields)
	switch {
	case err != nil:
		return r.unjudged(record, err)
	case !wanted:
		return ErrFiltered
	}
	return nil
}

// unjudged is a record that the filter can't judge.
func (r *columnRules) unjudged(record *ingest.Record, err error) error {
	var fault *filter.Fault
	if !errors.As(err, &fault) {
		return err
	}
	return reject(errcode.RejectFilter, record, r.job, fault.Column, fault.Reason)
}

// apply gives a record's values as they are stored, with the constants behind them, and its timestamp. The values hold
// until the next call. The error is an *ingest.BadRecord.
func (r *columnRules) apply(record *ingest.Record) (all []values.Value, timestamp int64, err error) {
	copy(r.values, record.Fields)
	r.room = r.room[:0]
	for i := range r.columns {
		rule := &r.columns[i]
		if problem := r.store(rule, &r.values[rule.column]); problem != "" {
			return nil, 0, reject(errcode.RejectType, record, r.job, rule.column, problem)
		}
	}
	timestamp = r.job.Timestamp
	if r.moments != nil {
		var problem string
		if timestamp, problem = r.moments.of(record.Fields); problem != "" {
			return nil, 0, reject(errcode.RejectTimestamp, record, r.job, r.moments.column, problem)
		}
	}
	return r.values, timestamp, nil
}

// store puts a value into the form in which it is stored, and says what is wrong with it.
func (r *columnRules) store(rule *columnRule, value *values.Value) (problem string) {
	x := value.Bytes()
	switch {
	case value.Null():
		return rule.storeNull(value)
	case rule.width > 0 && len(x) != rule.width:
		return fmt.Sprintf("%d bytes, declared width %d", len(x), rule.width)
	case rule.reader == nil:
		return ""
	case !rule.binary:
		return rule.reader.Check(x)
	}
	from := len(r.room)
	r.room, problem = rule.reader.AppendBinary(r.room, x)
	*value = values.ValueOf(r.room[from:len(r.room):len(r.room)])
	return problem
}

// storeNull is store of a null.
func (rule *columnRule) storeNull(value *values.Value) (problem string) {
	switch rule.null {
	case jobfile.NullError:
		return "null, and null: error"
	case jobfile.NullEmpty:
		*value = values.ValueOf(nil)
	}
	return ""
}

const (
	problemNoMoment = "null, and the timestamp comes from it"
	problemEarly    = "not after 1970-01-01T00:00:00Z, from which HBase's timestamps count"
	problemLate     = "a timestamp after the year 9999; is it in another unit than milliseconds?"
)

// of is a record's timestamp in epoch milliseconds.
func (m *momentColumn) of(fields []values.Value) (ms int64, problem string) {
	x := fields[m.column]
	if x.Null() {
		return 0, problemNoMoment
	}
	moment, problem := m.reader.Moment(x.Bytes())
	switch {
	case problem != "":
		return 0, problem
	case moment.Millis <= 0:
		return 0, problemEarly
	case moment.Millis > jobfile.EndOf9999:
		return 0, problemLate
	}
	return moment.Millis, ""
}
