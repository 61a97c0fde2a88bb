package parquet

import "bulkload/ingest"

// Rejects is the form of the file of rejects; see RejectDelimiter.
func (f *Form) Rejects() *ingest.Delimited {
	return &ingest.Delimited{Columns: f.Columns, FieldDelimiter: []byte{separator}, RecordDelimiter: f.RejectDelimiter(),
		Escape: '\\', Null: []byte(nullText), Strict: true}
}
