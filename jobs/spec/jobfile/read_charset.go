package jobfile

import (
	"bulkload/ingest/charset"
	"bulkload/jobs/spec/yamldoc"
)

// charsetOf is input.charset: the files' charset; UTF-8 by default.
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
