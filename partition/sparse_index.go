package partition

import (
	"bytes"
	"sort"
)

const (
	markEvery    = 256 << 10 // bytes of a run from one place to the next, at first
	maxMarks     = 256       // of a run
	maxMarkBytes = 64 << 10  // of their keys: 512 open runs have 32 MiB at most, and a hundredth of it with usual keys
)

// sparseIndex are a run's sparse index: where some of its blocks begin, and with which key. They lie twice as far apart as
// soon as they are too many.
type sparseIndex struct {
	marks []blockMark
	size  int   // of the keys
	step  int64 // bytes from one to the next
	next  int64 // offset from which on a block is noted
}

type blockMark struct {
	at  int64
	key []byte // of the block's first entry
}

// add takes a block that begins at an offset.
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

// downsample drops every second place.
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

// seek is the last noted offset whose block begins with a key before row; 0 where there is none.
func (p *sparseIndex) seek(row []byte) int64 {
	n := sort.Search(len(p.marks), func(i int) bool { return bytes.Compare(p.marks[i].key, row) >= 0 })
	if n == 0 {
		return 0
	}
	return p.marks[n-1].at
}
