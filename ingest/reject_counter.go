package ingest

import (
	"bytes"
	"cmp"
)

// RejectCounter counts rejects, and keeps the details for the error about too many of them. All code that limits
// rejects uses it, so that trials, tasks and runs fail alike. It is not safe for concurrent use.
type RejectCounter struct {
	Limit Limit

	count int64
	first *BadRecord // of the input
	hint  *BadRecord // the first one with a hint
}

// Add counts a reject and reports whether there are more than a count allows. Exceeded applies a percentage at the end
// of reading.
func (c *RejectCounter) Add(b *BadRecord) (exceeded bool) {
	c.count++
	c.first = earlier(c.first, b)
	if b.Hint != "" {
		c.hint = earlier(c.hint, b)
	}
	return c.Limit.exceeded(c.count, 0, false)
}

// Count is the number of rejects so far.
func (c *RejectCounter) Count() int64 { return c.count }

// Exceeded reports whether there are too many rejects among all records read.
func (c *RejectCounter) Exceeded(read int64) bool { return c.Limit.Exceeded(c.count, read) }

// LimitError returns the error for too many rejects. Add must have been called. read is the number of records; 0 if
// reading did not end.
func (c *RejectCounter) LimitError(read int64) *LimitError {
	e := &LimitError{Limit: c.Limit, Rejects: c.count, Read: read, First: *c.first}
	if c.hint != nil {
		e.Hint, e.hinted = c.hint.Hint, c.hint.Code
	}
	return e
}

// earlier returns a copy of the bad record that comes first in the input.
func earlier(a, b *BadRecord) *BadRecord {
	if a != nil && cmp.Or(cmp.Compare(a.File.Ordinal, b.File.Ordinal), cmp.Compare(a.Offset, b.Offset)) <= 0 {
		return a
	}
	c := *b
	c.Raw = bytes.Clone(b.Raw[:min(len(b.Raw), 200)])
	return &c
}
