package entry

import (
	"errors"
	"fmt"

	"bulkload/ingest"
	"bulkload/jobs/jobfile"
	"bulkload/keys"
	"bulkload/partition"
	"bulkload/sortentry"
	"bulkload/values"
)

// Key makes the row keys of one output, in one goroutine, and what the column rules make of the records.
type Key struct {
	Job       *jobfile.Job
	keys      *keys.Evaluator
	qualifier *keys.Evaluator // of a wide table; nil: a record is a row
	rules     columnRules

	Key    []byte // of the present record, as it is sorted
	RowLen int    // of its first part, which names the row
	Row    []byte

	Values    []values.Value // of the present record, in the order of Job.valueColumns
	Timestamp int64          // likewise

	Fault *keys.ValueError // why the last record that was refused has no row key or qualifier; nil: for another reason
}

// NewKey is for one goroutine.
func NewKey(j *jobfile.Job) Key {
	k := Key{Job: j, keys: j.RowKey.Evaluator(), rules: newColumnRules(j)}
	if j.Wide != nil {
		k.qualifier = j.Wide.Qualifier.Evaluator()
	}
	return k
}

// append appends a record's row key to dst, and does what the column rules say. The error is ErrFiltered where the record
// is not wanted, and an *ingest.BadRecord where it can't be used.
func (k *Key) append(dst []byte, record *ingest.Record) (row []byte, err error) {
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

// Build makes the key of a record as it is sorted: the row key, and for a wide table the qualifier after it. The key
// takes the place of what the buffer holds, where there is room.
func (k *Key) Build(buffer []byte, record *ingest.Record) (err error) {
	buffer = buffer[:0]
	if k.qualifier == nil {
		k.Row, err = k.append(buffer, record)
		k.Key, k.RowLen = k.Row, len(k.Row)
		return err
	}
	if k.Row, err = k.append(k.Row[:0], record); err != nil {
		return err
	}
	row := sortentry.AppendRow(buffer, k.Row)
	if k.Key, err = k.qualifier.Append(row, record.Fields); err != nil {
		return k.refuse(record, err, true)
	}
	k.RowLen = len(row)
	if len(k.Key) > partition.MaxKey {
		return &ingest.BadRecord{Position: record.Position, Raw: record.Raw,
			Reason: fmt.Sprintf("row key and qualifier have %d bytes together, zero bytes of the row counted twice; %d are possible", len(k.Key), partition.MaxKey)}
	}
	return nil
}

// Named is the qualifier that the record's cells begin with; nil where a record is a row.
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
		return reject(record, k.Job, value.Column, jobfile.OfQualifier(value.Reason))
	}
	return reject(record, k.Job, value.Column, value.Reason)
}

// reject is a record that can't be used for one of its columns; for none of them where column is below 0.
func reject(record *ingest.Record, j *jobfile.Job, column int, reason string) *ingest.BadRecord {
	bad := &ingest.BadRecord{Position: record.Position, Reason: reason, Raw: record.Raw}
	if column >= 0 && column < len(j.Columns) {
		bad.Column = j.Columns[column].Name
	}
	return bad
}
