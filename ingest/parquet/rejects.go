package parquet

import (
	"bulkload/ingest/delimited"
)

// Rejects is the form of the file of rejects; see RejectDelimiter.
func (f *FlatForm) Rejects() *delimited.Form {
	return &delimited.Form{Columns: f.Columns, FieldDelimiter: []byte{separator}, RecordDelimiter: f.RejectDelimiter(),
		Escape: '\\', Null: []byte(nullText), Strict: true}
}
