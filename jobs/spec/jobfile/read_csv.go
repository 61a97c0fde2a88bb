package jobfile

import (
	"bulkload/ingest"
	"bulkload/ingest/csv"
	"bulkload/jobs/spec/yamldoc"
)

// readCSV reads the settings of CSV files. columns are the names of the heading's columns to read.
func readCSV(s *yamldoc.Section, columns []string) ingest.Format {
	form := &csv.Form{Columns: columns, NoHeading: s.Has("header") && !s.Flag("header"), Quote: quoteOf(s),
		QuotedEmpty: quotedEmpty(s), SkipNoise: s.Flag("skip_noise"), SkipErrors: s.Flag("skip_errors"),
		Charset: charsetOf(s), Compression: compressionOf(s)}
	delimiter := delimiterOf(s, "field_delimiter", ",")
	if len(delimiter) != 1 {
		s.Fail("field_delimiter", "%s has %d bytes; in CSV it is one ASCII character",
			ingest.FormatDelimiter(delimiter), len(delimiter))
	}
	form.Delimiter = delimiter[0]
	if texts := nullTexts(s, "null"); len(texts) == 1 {
		form.Null = texts[0]
	} else {
		form.Nulls = texts
	}
	return form
}

// quotedEmpty reads the meaning of a quoted empty value. The word null without quotes is YAML's null, but here it means
// the word itself.
func quotedEmpty(s *yamldoc.Section) string {
	if n, ok := s.Values["quoted_empty"]; ok && yamldoc.Resolve(n).Tag == "!!null" && yamldoc.Resolve(n).Value != "" {
		return "null"
	}
	return s.OneOf("quoted_empty", "value", "null")
}

// quoteOf reads the quote: one character, or 0 for none.
func quoteOf(s *yamldoc.Section) byte {
	switch quote := s.Text("quote"); {
	case quote == "":
		return '"'
	case quote == "none":
		return 0
	case len(quote) == 1:
		return quote[0]
	default:
		s.Fail("quote", "%q is neither one ASCII character nor none", quote)
		return '"'
	}
}
