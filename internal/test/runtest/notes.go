package runtest

import (
	"bytes"
	"slices"
	"strings"
	"sync"
)

// Notes collects messages from several goroutines.
type Notes struct {
	Said []string
	Seen func(string) // called with each note; nil: not called

	mu sync.Mutex // guards Said
}

// Say adds a note.
func (n *Notes) Say(text string) {
	n.mu.Lock()
	n.Said = append(n.Said, text)
	n.mu.Unlock()
	if n.Seen != nil {
		n.Seen(text)
	}
}

// Has reports whether a note has a text.
func (n *Notes) Has(text string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.ContainsFunc(n.Said, func(s string) bool { return strings.Contains(s, text) })
}

// Count is how many notes contain a text.
func (n *Notes) Count(text string) (found int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.Said {
		if strings.Contains(s, text) {
			found++
		}
	}
	return found
}

// LinesWith counts the lines of a log that contain a text. A handler writes one at a time.
type LinesWith struct {
	Text  string
	Count *int
}

// Write counts a line.
func (c LinesWith) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte(c.Text)) {
		*c.Count++
	}
	return len(line), nil
}
