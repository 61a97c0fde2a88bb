package lookup

import (
	"sync/atomic"

	"bulkload/internal/bytesize"
	"bulkload/internal/errcode"
)

// Memory is shared by the rows of all answers in progress. It is safe for concurrent use. A nil Memory has no
// limit.
type Memory struct {
	most int64
	used atomic.Int64
}

// NewMemory returns a memory of that many bytes.
func NewMemory(bytes int64) *Memory { return &Memory{most: bytes} }

// held is what one request has taken. Its scans share it.
type held struct {
	of    *Memory
	bytes atomic.Int64
}

// take takes some bytes. It fails if all requests together would have too many. Then the request fails, and gives back
// what it has.
func (h *held) take(n int) error {
	if h.of == nil {
		return nil
	}
	own, used := h.bytes.Add(int64(n)), h.of.used.Add(int64(n))
	switch {
	case own > h.of.most:
		return errcode.ServeLarge.Errorf("the rows of one answer need more than %s of memory", bytesize.Format(h.of.most))
	case used > h.of.most:
		return errcode.ServeBusy.Errorf("the rows of all answers in progress need more than %s", bytesize.Format(h.of.most))
	}
	return nil
}

func (h *held) give(n int) {
	if h.of != nil {
		h.bytes.Add(-int64(n))
		h.of.used.Add(-int64(n))
	}
}

func (h *held) release() {
	if h.of != nil {
		h.of.used.Add(-h.bytes.Swap(0))
	}
}
