package entry

import (
	"errors"
	"fmt"

	"bulkload/ingest"
	"bulkload/internal/errcode"
	"bulkload/internal/poison"
	"bulkload/jobs/spec/filter"
	"bulkload/jobs/spec/jobfile"
	"bulkload/values"
)

// ErrFiltered means that the job's filter drops a record.
var ErrFiltered = errors.New("the filter does not take the record")

// columnRules applies columns_map, timestamp and filter to the records of one output, in one goroutine.
type columnRules struct {
	job     *jobfile.Job
	filter  *filter.Matcher  // nil: all records are accepted
	none    bool             // values are stored unchanged
	columns []columnRule     // the columns with rules
	moments *timestampColumn // nil: all rows have the job's timestamp
	values  []values.Value   // of the current record, followed by the constants
	buf     []byte           // for converted values
}

// columnRule is the rule for one column's values.
type columnRule struct {
	column int
	width  int // 0: any
	null   jobfile.NullPolicy
	reader *values.ColumnParser // nil: any bytes
	binary bool
}

// timestampColumn is the column with the rows' timestamps.
type timestampColumn struct {
	column int
	reader *values.ColumnParser
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
		t, _ := jobfile.TimestampType(&j.Columns[i]) // checked when the job file was read
		reader, _ := values.NewReader(t)             // likewise
		r.moments = &timestampColumn{i, reader}
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
		rule.reader, _ = values.NewReader(c.Type) // checked when the job file was read
	}
	return rule
}

// applyFilter returns ErrFiltered for a record that the filter drops, and an *ingest.BadRecord for one that it can't
// evaluate.
func (r *columnRules) applyFilter(record *ingest.Record) error {
	wanted, err := r.filter.Wanted(record.Fields)
	switch {
	case err != nil:
		return r.badFilterValue(record, err)
	case !wanted:
		return ErrFiltered
	}
	return nil
}

// badFilterValue is a record that the filter can't evaluate.
func (r *columnRules) badFilterValue(record *ingest.Record, err error) error {
	var fault *filter.Fault
	if !errors.As(err, &fault) {
		return err
	}
	return reject(errcode.RejectType, record, r.job, fault.Column, fault.Reason)
}

// apply returns a record's values as they are stored, followed by the constants, and its timestamp. The values are
// valid until the next call. The error is an *ingest.BadRecord.
func (r *columnRules) apply(record *ingest.Record) (all []values.Value, timestamp int64, err error) {
	copy(r.values, record.Fields)
	poison.Bytes(r.buf)
	r.buf = r.buf[:0]
	for i := range r.columns {
		rule := &r.columns[i]
		if problem := r.store(rule, &r.values[rule.column]); problem != "" {
			return nil, 0, reject(errcode.RejectType, record, r.job, rule.column, problem)
		}
	}
	timestamp = r.job.Timestamp
	if r.moments != nil {
		var problem string
		if timestamp, problem = r.moments.millis(record.Fields); problem != "" {
			return nil, 0, reject(errcode.RejectType, record, r.job, r.moments.column, problem)
		}
	}
	return r.values, timestamp, nil
}

// store converts a value to its stored form, or returns what is wrong with it.
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
	from := len(r.buf)
	r.buf, problem = rule.reader.AppendBinary(r.buf, x)
	*value = values.ValueOf(r.buf[from:len(r.buf):len(r.buf)])
	return problem
}

// storeNull is store for a null.
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

// millis returns a record's timestamp in epoch milliseconds.
func (m *timestampColumn) millis(fields []values.Value) (ms int64, problem string) {
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
