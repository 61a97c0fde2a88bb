package partition

import (
	"bytes"
	"errors"
	"io"
)

// source is one sorted run of a region, in memory or on disk.
type source struct {
	arena *arena // or
	refs  []ref
	disk  *runReader

	entry  Entry
	prefix uint64
	done   bool
}

// advance goes to the source's next entry.
func (s *source) advance() error {
	if s.disk != nil {
		err := s.disk.next(&s.entry)
		if errors.Is(err, io.EOF) {
			s.done = true
			return nil
		}
		s.prefix = prefixOf(s.entry.Key)
		return err
	}
	if len(s.refs) == 0 {
		s.done = true
		return nil
	}
	s.arena.entry(s.refs[0], &s.entry)
	s.prefix = s.refs[0].prefix
	s.refs = s.refs[1:]
	return nil
}

// before tells whether s's entry comes out first: by key, then by position. A source at its end comes last.
func (s *source) before(t *source) bool {
	if s.done || t.done {
		return !s.done
	}
	if s.prefix != t.prefix {
		return s.prefix < t.prefix
	}
	if c := bytes.Compare(s.entry.Key, t.entry.Key); c != 0 {
		return c < 0
	}
	return s.entry.Position.compare(t.entry.Position) < 0
}

// loserTree merges sources with one comparison a level for each entry. Node 0 is the winner; each other node keeps the
// source that lost there, and source i's path begins at the parent of leaf len(sources)+i.
type loserTree struct {
	sources []*source
	nodes   []int
}

// newLoserTree takes sources that have been advanced to their first entries.
func newLoserTree(sources []*source) *loserTree {
	t := &loserTree{sources: sources, nodes: make([]int, max(len(sources), 1))}
	if len(sources) > 0 {
		t.nodes[0] = t.play(1)
	}
	return t
}

// play finds the winner below a node and leaves the losers in it.
func (t *loserTree) play(node int) int {
	n := len(t.sources)
	if node >= n {
		return node - n
	}
	a, b := t.play(2*node), t.play(2*node+1)
	if t.sources[b].before(t.sources[a]) {
		a, b = b, a
	}
	t.nodes[node] = b
	return a
}

// winner is the source with the first entry; nil where all are at their ends.
func (t *loserTree) winner() *source {
	if len(t.sources) == 0 || t.sources[t.nodes[0]].done {
		return nil
	}
	return t.sources[t.nodes[0]]
}

// replay finds the next winner after the present one has been advanced.
func (t *loserTree) replay() {
	w := t.nodes[0]
	for node := (w + len(t.sources)) / 2; node > 0; node /= 2 {
		if t.sources[t.nodes[node]].before(t.sources[w]) {
			w, t.nodes[node] = t.nodes[node], w
		}
	}
	t.nodes[0] = w
}
