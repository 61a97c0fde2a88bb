package jobfile

import (
	"bulkload/ingest"
	"bulkload/ingest/parquet"
	"bulkload/jobs/spec/yamldoc"
)

// readParquet reads the settings of Parquet files. columns are the names of the files' columns to read.
func readParquet(s *yamldoc.Section, columns []string) ingest.Format {
	form := &parquet.FlatForm{Columns: columns, Zone: s.Text("timestamp_zone"), Int96Zone: s.Text("int96_zone"),
		KeepZeros: s.OneOf("decimal_zeros", "drop", "keep") == "keep"}
	for _, c := range s.List("millis_columns") {
		form.Millis = append(form.Millis, c.Text)
	}
	switch s.OneOf("binary", "bytes", "text", "hex") {
	case "text":
		form.Binary = parquet.BinaryText
	case "hex":
		form.Binary = parquet.BinaryHex
	}
	if s.Has("charset") && !charsetOf(s).IsUTF8() {
		s.Fail("charset", "applies only to text files: the text in a Parquet file is UTF-8")
	}
	if namesRejects(s) {
		return form.Rejects()
	}
	return form
}
