package jobs

import (
	"errors"
	"fmt"

	"bulkload/ingest"
	"bulkload/keys"
)

// recordKey makes the row keys of one output, in one goroutine.
type recordKey struct {
	job  *Job
	keys *keys.Evaluator
}

func newRecordKey(j *Job) recordKey { return recordKey{j, j.RowKey.Evaluator()} }

// append appends a record's row key to dst. The error is an *ingest.BadRecord where the record can't be used.
func (k *recordKey) append(dst []byte, record *ingest.Record) ([]byte, error) {
	if bad := k.checkWidths(record); bad != nil {
		return nil, bad
	}
	row, err := k.keys.Append(dst, record.Fields)
	if err != nil {
		return nil, k.refuse(record, err)
	}
	return row, nil
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

// refuse makes a reject of a record without a key.
func (k *recordKey) refuse(record *ingest.Record, err error) error {
	var value *keys.ValueError
	if !errors.As(err, &value) {
		return fmt.Errorf("build the row key of the record at %s, byte %d: %w", record.File.Path, record.Offset, err)
	}
	bad := &ingest.BadRecord{Position: record.Position, Reason: value.Reason, Raw: record.Raw}
	if value.Column >= 0 && value.Column < len(k.job.Columns) {
		bad.Column = k.job.Columns[value.Column].Name
	}
	return bad
}
