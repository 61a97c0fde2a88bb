package jobfile

import (
	"bulkload/ingest/charset"
	"bulkload/jobs/spec/yamldoc"
)

// charsetOf reads input.charset, the charset of the files; nil, which is UTF-8, by default.
func charsetOf(s *yamldoc.Section) *charset.Charset {
	name := s.Text("charset")
	if name == "" {
		return nil
	}
	c, err := charset.Named(name)
	if err != nil {
		s.Fail("charset", "%v", err)
	}
	return c
}
