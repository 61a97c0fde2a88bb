package jobs

import "bulkload/ingest"

var delimitedKeys = []string{"field_delimiter", "record_delimiter", "null"}

func readDelimited(s *section, columns []string) ingest.Form {
	form := &ingest.Delimited{Columns: columns, FieldDelimiter: delimiterOf(s, "field_delimiter", "\x01"),
		RecordDelimiter: delimiterOf(s, "record_delimiter", "\n"), Charset: charsetOf(s)}
	if s.has("null") {
		form.Null = []byte(s.text("null"))
	}
	return form
}

func delimiterOf(s *section, key, def string) []byte {
	if !s.has(key) {
		return []byte(def)
	}
	text, ok := s.scalar(key, s.values[key])
	if !ok {
		return []byte(def)
	}
	d, err := ingest.ParseDelimiter(text)
	if err != nil {
		s.fail(key, "%v", err)
		return []byte(def)
	}
	return d
}
