package partition

import (
	"bytes"
	"sort"
)

const (
	placeEvery    = 256 << 10 // bytes of a run from one place to the next, at first
	maxPlaces     = 256       // of a run
	maxPlaceBytes = 64 << 10  // of their keys: 512 open runs have 32 MiB at most, and a hundredth of it with usual keys
)

// places are a run's sparse index: where some of its blocks begin, and with which key. They lie twice as far apart as
// soon as they are too many.
type places struct {
	all  []blockPlace
	size int   // of the keys
	step int64 // bytes from one to the next
	next int64 // offset from which on a block is noted
}

type blockPlace struct {
	at  int64
	key []byte // of the block's first entry
}

// note takes a block that begins at an offset.
func (p *places) note(at int64, key []byte) {
	if at < p.next {
		return
	}
	p.all = append(p.all, blockPlace{at, bytes.Clone(key)})
	p.size += len(key)
	for len(p.all) > maxPlaces || p.size > maxPlaceBytes {
		p.thin()
	}
	p.next = at + max(p.step, placeEvery)
}

// thin drops every second place.
func (p *places) thin() {
	p.step = 2 * max(p.step, placeEvery)
	p.size = 0
	kept := p.all[:0]
	for i := 1; i < len(p.all); i += 2 {
		kept = append(kept, p.all[i])
		p.size += len(p.all[i].key)
	}
	clear(p.all[len(kept):])
	p.all = kept
}

// before is the last noted offset whose block begins with a key before row; 0 where there is none.
func (p *places) before(row []byte) int64 {
	n := sort.Search(len(p.all), func(i int) bool { return bytes.Compare(p.all[i].key, row) >= 0 })
	if n == 0 {
		return 0
	}
	return p.all[n-1].at
}
