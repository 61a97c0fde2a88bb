package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"bulkload/internal/printable"

	"golang.org/x/term"
)

// screen is stderr: text for people and, on a terminal, a bar below it. Everything for stderr goes through it.
type screen struct {
	out     io.Writer
	width   func() int // of the terminal, in characters; nil: there is no bar
	colours bool

	mu    sync.Mutex
	drawn bool // the cursor is at the end of a bar
	ended bool // the bar is no longer wanted
}

// redrawn is how often the bar is redrawn.
const redrawn = 200 * time.Millisecond

// newScreen detects the abilities of stderr. A dumb terminal gets no bar and no colours; NO_COLOR turns off only
// colours.
func newScreen(stderr io.Writer) *screen {
	s := &screen{out: stderr, colours: coloured(stderr)}
	if f, ok := terminal(stderr); ok && os.Getenv("TERM") != "dumb" {
		s.width = func() int { return columns(f) }
	}
	return s
}

// terminal returns the file of a writer to a terminal.
func terminal(w io.Writer) (*os.File, bool) {
	f, ok := w.(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
}

// columns is the width of a terminal.
func columns(f *os.File) int {
	const usual = 80
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		return width
	}
	return usual
}

// coloured reports whether a writer shows colours (https://no-color.org).
func coloured(w io.Writer) bool {
	_, ok := terminal(w)
	return ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// The colours, as SGR codes.
const (
	red    = "31"
	yellow = "33"
)

// paint adds colour to a text.
func paint(on bool, colour, text string) string {
	if !on {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// continued indents all lines of a message but the first, so that a line break in the name of a folder, a job file or a
// server's text can't begin a line that looks like another message.
func continued(text string) string { return strings.ReplaceAll(text, "\n", "\n  ") }

// Write removes the bar and writes; the bar is drawn again below.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
	if _, err := s.out.Write(visible(p, s.colours)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// visible removes from a text everything that a terminal would obey, except for our own colours, because names of files
// and texts of servers may contain anything.
func visible(p []byte, colours bool) []byte {
	if !colours {
		return []byte(printable.Text(string(p)))
	}
	var out strings.Builder
	for rest := string(p); rest != ""; {
		at := strings.IndexByte(rest, '\x1b')
		if at < 0 {
			at = len(rest)
		}
		out.WriteString(printable.Text(rest[:at]))
		rest = rest[at:]
		for _, own := range []string{"\x1b[" + red + "m", "\x1b[" + yellow + "m", "\x1b[0m"} {
			if strings.HasPrefix(rest, own) {
				out.WriteString(own)
				rest = rest[len(own):]
			}
		}
		if strings.HasPrefix(rest, "\x1b") {
			out.WriteString(printable.Text(rest[:1]))
			rest = rest[1:]
		}
	}
	return []byte(out.String())
}

// begin returns a function that draws the bar for a tracker, and one that ends it.
func (s *screen) begin(t *tracker) (draw, end func()) {
	if s.width == nil {
		return func() {}, func() {}
	}
	draw = func() { s.draw(t) }
	return draw, every(redrawn, draw, s.end)
}

func (s *screen) draw(t *tracker) {
	state := t.state()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	// The last column stays empty, because otherwise some terminals continue on the next line.
	fmt.Fprintf(s.out, "\r\x1b[K%s", state.line(s.width()-1))
	s.drawn = true
}

// end removes the bar for good.
func (s *screen) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
	s.ended = true
}

func (s *screen) wipe() {
	if s.drawn {
		fmt.Fprintf(s.out, "\r\x1b[K")
	}
	s.drawn = false
}

// every calls do repeatedly, until the returned function is called. That function calls last; further calls of it do
// nothing.
func every(pause time.Duration, do, last func()) (stop func()) {
	stopped, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		ticker := time.NewTicker(pause)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				do()
			case <-stopped:
				return
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(stopped)
		<-gone
		last()
	})
}
