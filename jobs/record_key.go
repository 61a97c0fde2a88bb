package jobs

import (
	"errors"
	"fmt"

	"bulkload/ingest"
	"bulkload/jobs/jobfile"
	"bulkload/keys"
	"bulkload/partition"
	"bulkload/values"
)

// recordKey makes the row keys of one output, in one goroutine, and what the column rules make of the records.
type recordKey struct {
	job       *jobfile.Job
	keys      *keys.Evaluator
	qualifier *keys.Evaluator // of a wide table; nil: a record is a row
	rules     columnRules

	key    []byte // of the present record, as it is sorted
	rowLen int    // of its first part, which names the row
	row    []byte

	values    []values.Value // of the present record, in the order of Job.valueColumns
	timestamp int64          // likewise

	fault *keys.ValueError // why the last record that was refused has no row key or qualifier; nil: for another reason
}

func newRecordKey(j *jobfile.Job) recordKey {
	k := recordKey{job: j, keys: j.RowKey.Evaluator(), rules: newColumnRules(j)}
	if j.Wide != nil {
		k.qualifier = j.Wide.Qualifier.Evaluator()
	}
	return k
}

// append appends a record's row key to dst, and does what the column rules say. The error is errFiltered where the record
// is not wanted, and an *ingest.BadRecord where it can't be used.
func (k *recordKey) append(dst []byte, record *ingest.Record) (row []byte, err error) {
	if k.rules.filter != nil {
		if err := k.rules.want(record); err != nil {
			return nil, err
		}
	}
	if row, err = k.keys.Append(dst, record.Fields); err != nil {
		return nil, k.refuse(record, err, false)
	}
	k.values, k.timestamp = record.Fields, k.job.Timestamp
	if !k.rules.none {
		if k.values, k.timestamp, err = k.rules.apply(record); err != nil {
			return nil, err
		}
	}
	return row, nil
}

// build makes the key of a record as it is sorted: the row key, and for a wide table the qualifier behind it. The key
// takes the place of what the buffer holds, where there is room.
func (k *recordKey) build(buffer []byte, record *ingest.Record) (err error) {
	buffer = buffer[:0]
	if k.qualifier == nil {
		k.row, err = k.append(buffer, record)
		k.key, k.rowLen = k.row, len(k.row)
		return err
	}
	if k.row, err = k.append(k.row[:0], record); err != nil {
		return err
	}
	row := partition.AppendRow(buffer, k.row)
	if k.key, err = k.qualifier.Append(row, record.Fields); err != nil {
		return k.refuse(record, err, true)
	}
	k.rowLen = len(row)
	if len(k.key) > partition.MaxWideKey {
		return &ingest.BadRecord{Position: record.Position, Raw: record.Raw,
			Reason: fmt.Sprintf("row key and qualifier have %d bytes together, zero bytes of the row counted twice; %d are possible", len(k.key), partition.MaxWideKey)}
	}
	return nil
}

// named is the qualifier that the record's cells begin with; nil where a record is a row.
func (k *recordKey) named() []byte {
	if k.qualifier == nil {
		return nil
	}
	return k.key[k.rowLen:]
}

// refuse makes a reject of a record without a row key or qualifier.
func (k *recordKey) refuse(record *ingest.Record, err error, qualifier bool) error {
	var value *keys.ValueError
	if !errors.As(err, &value) {
		return fmt.Errorf("build the row key of the record at %s: %w", record.Place(), err)
	}
	k.fault = value
	if qualifier {
		return reject(record, k.job, value.Column, jobfile.OfQualifier(value.Reason))
	}
	return reject(record, k.job, value.Column, value.Reason)
}

// reject is a record that can't be used for one of its columns; for none of them where column is below 0.
func reject(record *ingest.Record, j *jobfile.Job, column int, reason string) *ingest.BadRecord {
	bad := &ingest.BadRecord{Position: record.Position, Reason: reason, Raw: record.Raw}
	if column >= 0 && column < len(j.Columns) {
		bad.Column = j.Columns[column].Name
	}
	return bad
}
