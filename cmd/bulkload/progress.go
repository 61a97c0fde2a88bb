package main

import (
	"io"
	"os"
	"sync"
	"time"

	"bulkload/jobs"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progressBar shows a phase's progress, on a terminal only.
type progressBar struct {
	out   io.Writer // nil: show nothing
	mu    sync.Mutex
	phase string
	bar   *progressbar.ProgressBar
}

func newProgressBar(stderr io.Writer, quiet bool) *progressBar {
	f, ok := stderr.(*os.File)
	if quiet || !ok || !term.IsTerminal(int(f.Fd())) {
		return &progressBar{}
	}
	return &progressBar{out: stderr}
}

func (b *progressBar) show(p jobs.Progress) {
	if b.out == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.phase != p.Phase || b.bar == nil {
		b.clear()
		b.phase = p.Phase
		b.bar = progressbar.NewOptions64(p.Total, progressbar.OptionSetWriter(b.out), progressbar.OptionSetDescription(p.Phase),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(), progressbar.OptionShowBytes(p.Bytes))
	}
	// A bar that can't be drawn is no reason to stop a load.
	_ = b.bar.Set64(min(p.Done, p.Total))
}

// clear takes the bar off the screen.
func (b *progressBar) clear() {
	if b.bar != nil {
		_ = b.bar.Clear() // see show
	}
	b.bar = nil
}

func (b *progressBar) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clear()
}
