package partition

import (
	"bytes"
	"sort"
)

const (
	markEvery    = 256 << 10 // bytes of a run between two marks, at first
	maxMarks     = 256       // of a run
	maxMarkBytes = 64 << 10  // of their keys: at most 32 MiB for 512 open runs, and a hundredth of that with usual keys
)

// sparseIndex is a run's sparse index: offset and first key of some of its blocks, so that a slice can be read without
// the blocks before it. When there are too many marks, every second one is dropped.
type sparseIndex struct {
	marks []blockMark
	size  int   // of the keys
	step  int64 // distance of two marks, in bytes
	next  int64 // offset from which on the next block is marked
}

type blockMark struct {
	at  int64
	key []byte // of the block's first entry
}

// add offers a block that begins at an offset.
func (p *sparseIndex) add(at int64, key []byte) {
	if at < p.next {
		return
	}
	p.marks = append(p.marks, blockMark{at, bytes.Clone(key)})
	p.size += len(key)
	for len(p.marks) > maxMarks || p.size > maxMarkBytes {
		p.downsample()
	}
	p.next = at + max(p.step, markEvery)
}

// downsample drops every second mark.
func (p *sparseIndex) downsample() {
	p.step = 2 * max(p.step, markEvery)
	p.size = 0
	kept := p.marks[:0]
	for i := 1; i < len(p.marks); i += 2 {
		kept = append(kept, p.marks[i])
		p.size += len(p.marks[i].key)
	}
	clear(p.marks[len(kept):])
	p.marks = kept
}

// seek returns the last marked offset whose block begins with a key before row; 0 if there is none. It may be far
// before the row, but never after it: a cursor skips entries before its start, but can't find those that it did not
// read.
func (p *sparseIndex) seek(row []byte) int64 {
	n := sort.Search(len(p.marks), func(i int) bool { return bytes.Compare(p.marks[i].key, row) >= 0 })
	if n == 0 {
		return 0
	}
	return p.marks[n-1].at
}
