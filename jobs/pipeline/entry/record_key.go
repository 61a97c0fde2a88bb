package entry

import (
	"errors"
	"fmt"
	"slices"

	"bulkload/ingest"
	"bulkload/internal/errcode"
	"bulkload/internal/poison"
	"bulkload/jobs/spec/jobfile"
	"bulkload/keys"
	"bulkload/partition"
	"bulkload/sortentry"
	"bulkload/values"
)

// Key builds the row keys of one output and applies its column rules, in one goroutine.
type Key struct {
	Job       *jobfile.Job
	keys      *keys.Evaluator
	qualifier *keys.Evaluator // of a wide table; nil: a record is a row
	rules     columnRules
	cut       []cutColumn // columns in which SQL*Plus may have cut values

	Key    []byte // of the current record, in the sort's form
	RowLen int    // the length of its first part, the row
	Row    []byte

	Values    []values.Value // of the current record, in the order of Job.ValueColumns
	Timestamp int64          // likewise

	// why the last refused record has no row key or qualifier; nil if there was another reason
	Fault *keys.ValueError
}

// NewKey returns a Key for one goroutine.
func NewKey(j *jobfile.Job) Key {
	k := Key{Job: j, keys: j.RowKey.Evaluator(), rules: newColumnRules(j)}
	used := j.RowKey.Columns()
	if j.Wide != nil {
		k.qualifier = j.Wide.Qualifier.Evaluator()
		used = append(used, j.Wide.Qualifier.Columns()...)
	}
	if form := j.Input.Form; form == nil || form.RowOffsets() {
		return k // Parquet stores numbers as numbers
	}
	for i := range j.Columns {
		if kind := j.Columns[i].Type.Kind; kind != values.KindText && kind != values.KindBytes {
			k.cut = append(k.cut, cutColumn{i, slices.Contains(used, i) && kind != values.KindFloat32 &&
				kind != values.KindFloat64})
		}
	}
	return k
}

// cutColumn is a column that may hold numbers or dates.
type cutColumn struct {
	column int
	key    bool // the row key or the qualifier, which need all digits, use it
}

// checkCut refuses a record with a value that SQL*Plus has cut to the width of its column.
func (k *Key) checkCut(record *ingest.Record) error {
	for _, c := range k.cut {
		x := record.Fields[c.column].Bytes()
		if len(x) > 1 && x[0] == '#' && values.Overflowed(x) {
			return reject(errcode.RejectSQLPlus, record, k.Job, c.column,
				"only #, which SQL*Plus writes for a number or date that does not fit its column; export again with set numwidth "+
					"40 and wide column formats, or declare type: text")
		}
		if c.key && len(x) > 3 && x[len(x)-1]-'0' <= 9 && values.Rounded(x) {
			return reject(errcode.RejectSQLPlus, record, k.Job, c.column,
				"a number with an exponent, whose digits SQL*Plus has cut; export again with set numwidth 40, since the key "+
					"needs all of them, or declare type: text")
		}
	}
	return nil
}

// append appends a record's row key to dst, and applies the column rules. The error is ErrFiltered if the record is
// dropped, and an *ingest.BadRecord if it can't be used.
func (k *Key) append(dst []byte, record *ingest.Record) (row []byte, err error) {
	if err := k.checkCut(record); err != nil {
		return nil, err
	}
	if k.rules.filter != nil {
		if err := k.rules.applyFilter(record); err != nil {
			return nil, err
		}
	}
	if row, err = k.keys.Append(dst, record.Fields); err != nil {
		return nil, k.refuse(record, err, false)
	}
	k.Values, k.Timestamp = record.Fields, k.Job.Timestamp
	if !k.rules.none {
		if k.Values, k.Timestamp, err = k.rules.apply(record); err != nil {
			return nil, err
		}
	}
	return row, nil
}

// Build builds a record's key for the sort: the row key and, for a wide table, the qualifier. The key overwrites the
// buffer if it has the capacity.
func (k *Key) Build(buffer []byte, record *ingest.Record) (err error) {
	poison.Bytes(buffer)
	buffer = buffer[:0]
	if k.qualifier == nil {
		k.Row, err = k.append(buffer, record)
		k.Key, k.RowLen = k.Row, len(k.Row)
		return err
	}
	poison.Bytes(k.Row)
	if k.Row, err = k.append(k.Row[:0], record); err != nil {
		return err
	}
	row := sortentry.AppendRow(buffer, k.Row)
	if k.Key, err = k.qualifier.AppendQualifier(row, record.Fields); err != nil {
		return k.refuse(record, err, true)
	}
	k.RowLen = len(row)
	if len(k.Key) > partition.MaxKey {
		return &ingest.BadRecord{Position: record.Position, Raw: record.Raw, Code: errcode.RejectKey,
			Reason: fmt.Sprintf("row key and qualifier have %d bytes together, zero bytes of the row counted twice; %d "+
				"are possible", len(k.Key), partition.MaxKey)}
	}
	return nil
}

// Named returns the beginning of the qualifiers of the record's cells; nil unless the table is wide.
func (k *Key) Named() []byte {
	if k.qualifier == nil {
		return nil
	}
	return k.Key[k.RowLen:]
}

// refuse makes a reject of a record without a row key or qualifier.
func (k *Key) refuse(record *ingest.Record, err error, qualifier bool) error {
	var value *keys.ValueError
	if !errors.As(err, &value) {
		return fmt.Errorf("build the row key of the record at %s: %w", record.Location(), err)
	}
	k.Fault = value
	if qualifier {
		return reject(errcode.RejectKey, record, k.Job, value.Column, jobfile.OfQualifier(value.Reason))
	}
	return reject(errcode.RejectKey, record, k.Job, value.Column, value.Reason)
}

// reject makes the reject of a record that can't be used because of one of its columns, or, if column is negative, for
// another reason.
func reject(code errcode.Code, record *ingest.Record, j *jobfile.Job, column int, reason string) *ingest.BadRecord {
	bad := &ingest.BadRecord{Position: record.Position, Reason: reason, Raw: record.Raw, Code: code}
	if column >= 0 && column < len(j.Columns) {
		bad.Column = j.Columns[column].Name
		if column < len(record.Fields) {
			bad.Value = ingest.Shown(record.Fields[column].Bytes())
		}
	}
	return bad
}
