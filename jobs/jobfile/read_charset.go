package jobfile

import "bulkload/ingest/charset"

// charsetOf is input.charset: how the files write characters; UTF-8 where it is not given.
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
