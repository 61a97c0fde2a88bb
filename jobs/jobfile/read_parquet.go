package jobfile

import (
	"bulkload/ingest"
	"bulkload/ingest/parquet"
)

// readParquet reads the settings of Parquet files. The columns are those of the files to be read, by name.
func readParquet(s *section, columns []string) ingest.Form {
	form := &parquet.Form{Columns: columns, Zone: s.text("timestamp_zone"), Int96Zone: s.text("int96_zone"),
		KeepZeros: s.oneOf("decimal_zeros", "drop", "keep") == "keep"}
	for _, c := range s.list("millis_columns") {
		form.Millis = append(form.Millis, c.text)
	}
	switch s.oneOf("binary", "bytes", "text", "hex") {
	case "text":
		form.Binary = parquet.BinaryText
	case "hex":
		form.Binary = parquet.BinaryHex
	}
	if s.has("charset") && !charsetOf(s).IsUTF8() {
		s.fail("charset", "applies only to text files: the text in a Parquet file is UTF-8")
	}
	if namesRejects(s) {
		return form.Rejects()
	}
	return form
}
