package jobfile

import "bulkload/ingest/charset"

// charsetOf is input.charset: the files' charset; UTF-8 by default.
func charsetOf(s *section) *charset.Charset {
	name := s.text("charset")
	if name == "" {
		return nil
	}
	c, err := charset.Named(name)
	if err != nil {
		s.fail("charset", "%v", err)
	}
	return c
}
