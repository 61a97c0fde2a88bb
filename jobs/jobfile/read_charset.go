package jobfile

import (
	"bulkload/ingest/charset"
	"bulkload/jobs/jobfile/document"
)

// charsetOf is input.charset: the files' charset; UTF-8 by default.
func charsetOf(s *document.Section) *charset.Charset {
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
