package main

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"bulkload/internal/bytesize"
	"bulkload/jobs/base/options"
)

// tracker tracks the progress of a command. Its zero value has seen none yet.
type tracker struct {
	mu      sync.Mutex
	begun   time.Time // the command
	latest  options.Progress
	stage   time.Time // the latest phase
	before  int64     // done before the start, by the run that this one continues
	changed time.Time // the latest progress
}

// show takes progress from several goroutines, whose calls may arrive out of order. It reports whether a phase begins.
func (t *tracker) show(p options.Progress) (begins bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	begins = !p.SamePhase(t.latest)
	switch {
	case begins:
		t.stage, t.before = now, p.Done
	case p.Done < t.latest.Done:
		return false
	}
	t.latest, t.changed = p, now
	return begins
}

// state is the progress of a command at one moment.
type state struct {
	options.Progress
	running time.Duration // of the command
	silent  time.Duration // since the latest progress
	rate    float64       // units a second in this phase; 0: unknown
	left    time.Duration // of this phase; 0: unknown
}

// shortest is how long a phase must have run before its rate means something.
const shortest = time.Second

func (t *tracker) state() state {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	s := state{Progress: t.latest, running: now.Sub(t.begun)}
	if s.Phase == "" {
		s.silent = s.running
		return s
	}
	s.silent = now.Sub(t.changed)
	if lasted := now.Sub(t.stage); lasted >= shortest && s.Done > t.before {
		s.rate = float64(s.Done-t.before) / lasted.Seconds()
		s.left = time.Duration(float64(max(s.Total-s.Done, 0)) / s.rate * float64(time.Second))
	}
	return s
}

// String is the state in words: sort: 1.2 GiB of 3.4 GiB, 43.1 MiB/s, 51s left.
func (s state) String() string {
	if s.Phase == "" {
		return "no progress yet after " + s.running.Round(time.Second).String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s of %s", s.Phase, s.amount(min(s.Done, s.Total)), s.amount(s.Total))
	if !s.Bytes {
		b.WriteString(" " + s.unit())
	}
	switch {
	case s.Done >= s.Total:
	case s.Unit == "seconds": // a wait, whose only rate would be the clock's
		fmt.Fprintf(&b, ", %s left", time.Duration(s.Total-s.Done)*time.Second)
	case s.rate > 0:
		fmt.Fprintf(&b, ", %s/s, %s left", s.amount(int64(s.rate)), s.left.Round(time.Second))
	}
	if s.silent >= time.Minute {
		fmt.Fprintf(&b, ", no progress for %s", s.silent.Round(time.Second))
	}
	return b.String()
}

func (s state) unit() string {
	switch {
	case s.Bytes:
		return "bytes"
	case s.Unit != "":
		return s.Unit
	}
	return "records"
}

// amount formats a number in the unit that is counted.
func (s state) amount(n int64) string {
	if s.Bytes {
		return bytesize.Format(n)
	}
	return count(n)
}

// barWidth is the number of characters between a bar's brackets.
const barWidth = 20

// line is the state as a bar for the whole command, followed by text, in at most width characters.
func (s state) line(width int) string {
	full := int(s.Whole * barWidth)
	bar := strings.Repeat("=", full)
	if full < barWidth {
		bar += ">" + strings.Repeat(" ", barWidth-full-1)
	}
	line := []rune(fmt.Sprintf("[%s] %3.0f%% %v", bar, 100*s.Whole, s))
	return string(line[:min(len(line), max(width, 0))])
}
