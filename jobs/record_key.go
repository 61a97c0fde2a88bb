package jobs

import (
	"errors"
	"fmt"

	"bulkload/ingest"
	"bulkload/keys"
	"bulkload/partition"
)

// recordKey makes the row keys of one output, in one goroutine.
type recordKey struct {
	job       *Job
	keys      *keys.Evaluator
	qualifier *keys.Evaluator // of a wide table; nil: a record is a row

	key    []byte // of the present record, as it is sorted
	rowLen int    // of its first part, which names the row
	row    []byte
}

func newRecordKey(j *Job) recordKey {
	k := recordKey{job: j, keys: j.RowKey.Evaluator()}
	if j.Wide != nil {
		k.qualifier = j.Wide.Qualifier.Evaluator()
	}
	return k
}

// append appends a record's row key to dst. The error is an *ingest.BadRecord where the record can't be used.
func (k *recordKey) append(dst []byte, record *ingest.Record) ([]byte, error) {
	if bad := k.checkWidths(record); bad != nil {
		return nil, bad
	}
	row, err := k.keys.Append(dst, record.Fields)
	if err != nil {
		return nil, k.refuse(record, err, false)
	}
	return row, nil
}

// build makes the key of a record as it is sorted, in dst: the row key, and for a wide table the qualifier behind it.
func (k *recordKey) build(dst []byte, record *ingest.Record) (err error) {
	if k.qualifier == nil {
		k.row, err = k.append(dst, record)
		k.key, k.rowLen = k.row, len(k.row)
		return err
	}
	if k.row, err = k.append(k.row[:0], record); err != nil {
		return err
	}
	row := partition.AppendRow(dst, k.row)
	if k.key, err = k.qualifier.Append(row, record.Fields); err != nil {
		return k.refuse(record, err, true)
	}
	k.rowLen = len(row) - len(dst)
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

// checkWidths holds values against declared widths.
func (k *recordKey) checkWidths(record *ingest.Record) *ingest.BadRecord {
	for i := range k.job.Columns {
		c := &k.job.Columns[i]
		if value := record.Fields[i]; c.Width > 0 && value != nil && len(value) != c.Width {
			return &ingest.BadRecord{Position: record.Position, Column: c.Name, Raw: record.Raw,
				Reason: fmt.Sprintf("%d bytes, declared width %d", len(value), c.Width)}
		}
	}
	return nil
}

// refuse makes a reject of a record without a row key or qualifier.
func (k *recordKey) refuse(record *ingest.Record, err error, qualifier bool) error {
	var value *keys.ValueError
	if !errors.As(err, &value) {
		return fmt.Errorf("build the row key of the record at %s, byte %d: %w", record.File.Path, record.Offset, err)
	}
	bad := &ingest.BadRecord{Position: record.Position, Reason: value.Reason, Raw: record.Raw}
	if qualifier {
		bad.Reason = ofQualifier(bad.Reason)
	}
	if value.Column >= 0 && value.Column < len(k.job.Columns) {
		bad.Column = k.job.Columns[value.Column].Name
	}
	return bad
}
