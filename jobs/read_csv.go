package jobs

import (
	"bulkload/ingest"
	"bulkload/ingest/csv"
)

var csvKeys = []string{"field_delimiter", "quote", "header", "null", "quoted_empty", "skip_noise", "skip_errors", "compression"}

// readCSV reads what a job file says of CSV files. The columns are those of the heading that are to be read, by name.
func readCSV(s *section, columns []string) ingest.Form {
	form := &csv.Form{Columns: columns, NoHeading: s.has("header") && !s.flag("header"), Quote: quoteOf(s),
		QuotedEmpty: s.oneOf("quoted_empty", "value", "null"), SkipNoise: s.flag("skip_noise"), SkipErrors: s.flag("skip_errors"),
		Charset: charsetOf(s), Compression: compressionOf(s)}
	delimiter := delimiterOf(s, "field_delimiter", ",")
	if len(delimiter) != 1 {
		s.fail("field_delimiter", "%s has %d bytes; in CSV it is one ASCII character", ingest.FormatDelimiter(delimiter), len(delimiter))
	}
	form.Delimiter = delimiter[0]
	if s.has("null") {
		form.Null = []byte(s.text("null"))
	}
	return form
}

// quoteOf is the quote: one character, or none.
func quoteOf(s *section) byte {
	switch quote := s.text("quote"); {
	case quote == "":
		return '"'
	case quote == "none":
		return 0
	case len(quote) == 1:
		return quote[0]
	default:
		s.fail("quote", "%q is neither one ASCII character nor none", quote)
		return '"'
	}
}
