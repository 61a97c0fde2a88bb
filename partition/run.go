package partition

import (
	"fmt"
	"io"
)

// Run is one region's sorted entries. It belongs to one goroutine.
type Run struct {
	tree    *loserTree
	started bool
	out     [2]Entry
	room    [2][]byte
	n       int
	err     error
}

// newRun merges sources that stand before their first entries.
func newRun(sources []*source) (*Run, error) {
	for _, s := range sources {
		if err := s.advance(); err != nil {
			return nil, err
		}
	}
	return &Run{tree: newLoserTree(sources)}, nil
}

// Next is the next entry, valid until the next call but one, so that an entry can be compared with the one before it;
// io.EOF behind the last. An error sticks.
func (r *Run) Next() (*Entry, error) {
	if r.err != nil {
		return nil, r.err
	}
	if r.started {
		if r.err = r.tree.winner().advance(); r.err != nil {
			return nil, r.err
		}
		r.tree.replay()
	}
	r.started = true
	w := r.tree.winner()
	if w == nil {
		r.err = io.EOF
		return nil, io.EOF
	}
	r.n ^= 1
	e := &r.out[r.n]
	*e = w.entry
	if w.disk != nil {
		r.keep(e)
	}
	return e, nil
}

// keep copies an entry out of a reader's buffers, which go on.
func (r *Run) keep(e *Entry) {
	b := append(append(r.room[r.n][:0], e.Key...), e.Payload...)
	r.room[r.n] = b
	e.Key, e.Payload = b[:len(e.Key):len(e.Key)], b[len(e.Key):]
}

// Close gives the run's buffers back.
func (r *Run) Close() error {
	r.tree, r.room, r.err = nil, [2][]byte{}, fmt.Errorf("sorted run is closed")
	return nil
}
