package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bulkload/jobs/base/options"
)

// TestProgressOfAGrowingTotal: the rate is that of the whole phase, also while its total grows.
func TestProgressOfAGrowingTotal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &tracker{begun: time.Now()}
		begun := 0
		m := options.NewMeter(func(p options.Progress) {
			if tr.show(p) {
				begun++
			}
		}, "verify", 100, false)
		for range 10 {
			m.AddUnplanned(100)
			time.Sleep(time.Second)
		}
		if got, want := tr.state().String(), "verify: 1,000 of 1,100 records, 90/s, 1s left"; got != want || begun != 1 {
			t.Errorf("%q after %d beginnings, want %q", got, begun, want)
		}
	})
}

// TestProgressInWords: amounts are in binary units, and a rate and the time left are shown only when they mean
// something.
func TestProgressInWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &tracker{begun: time.Now()}
		want := func(text string) {
			t.Helper()
			if got := tr.state().String(); got != text {
				t.Errorf("%q, want %q", got, text)
			}
		}
		time.Sleep(3 * time.Second)
		want("no progress yet after 3s")
		if !tr.show(options.Progress{Phase: "sort", Done: 1 << 30, Total: 4 << 30, Bytes: true}) {
			t.Error("the first phase does not begin")
		}
		want("sort: 1.0 GiB of 4.0 GiB") // what was done before this process does not count for the rate
		time.Sleep(time.Microsecond)
		tr.show(options.Progress{Phase: "sort", Done: 2 << 30, Total: 4 << 30, Bytes: true})
		want("sort: 2.0 GiB of 4.0 GiB") // nor do two reports in quick succession
		time.Sleep(10 * time.Second)
		want("sort: 2.0 GiB of 4.0 GiB, 102.4 MiB/s, 20s left")
		tr.show(options.Progress{Phase: "sort", Done: 1 << 30, Total: 4 << 30, Bytes: true}) // arrives late
		want("sort: 2.0 GiB of 4.0 GiB, 102.4 MiB/s, 20s left")
		time.Sleep(80 * time.Second)
		want("sort: 2.0 GiB of 4.0 GiB, 11.4 MiB/s, 3m0s left, no progress for 1m30s")
		if !tr.show(options.Progress{Phase: "load", Total: 1200, Unit: "files"}) {
			t.Error("the load does not begin")
		}
		want("load: 0 of 1,200 files")
	})
}

// TestBarLine: the bar is for the whole command, and never wider than the terminal.
func TestBarLine(t *testing.T) {
	s := state{Progress: options.Progress{Phase: "write", Done: 500, Total: 1000, Whole: 0.75}}
	if got, want := s.line(79), "[===============>    ]  75% write: 500 of 1,000 records"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := s.line(12); got != "[===========" {
		t.Errorf("in 12 columns: %q", got)
	}
	s.Whole = 1
	if got := s.line(29); got != "[====================] 100% w" {
		t.Errorf("at the end: %q", got)
	}
	if got := s.line(-1); got != "" {
		t.Errorf("without columns: %q", got)
	}
}

// quietSession is a session that writes to a buffer, as to a pipe.
func quietSession(out *bytes.Buffer, c common) *session {
	return &session{common: c, screen: &screen{out: out}, tracker: tracker{begun: time.Now()}}
}

// TestHeartbeat: without a terminal, one line a minute shows the command's progress.
func TestHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		s := quietSession(&out, common{})
		if err := s.openLog(); err != nil {
			t.Fatal(err)
		}
		stop := s.heartbeat()
		time.Sleep(59 * time.Second)
		s.tracker.show(options.Progress{Phase: "load", Done: 0, Total: 10, Unit: "files"})
		s.screen.mu.Lock() // the goroutine that writes may take its turn at any time
		if out.Len() > 0 {
			t.Errorf("before the first minute: %q", &out)
		}
		s.screen.mu.Unlock()
		time.Sleep(31 * time.Second)
		s.tracker.show(options.Progress{Phase: "load", Done: 5, Total: 10, Unit: "files"})
		time.Sleep(90*time.Second + time.Millisecond)
		stop()
		time.Sleep(time.Hour)
		lines := strings.Split(out.String(), "\n")
		if len(lines) != 4 || !strings.HasSuffix(lines[0], " load: 0 of 10 files") || !strings.Contains(lines[1], " load: 5 of 10 files, 0/s, ") ||
			!strings.HasSuffix(lines[2], ", no progress for 1m30s") {
			t.Errorf("%q", lines)
		}
	})
}

// TestHeartbeatRecords: log records have the figures as attributes.
func TestHeartbeatRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		s := quietSession(&out, common{Log: "json"})
		if err := s.openLog(); err != nil {
			t.Fatal(err)
		}
		stop := s.heartbeat()
		s.tracker.show(options.Progress{Phase: "sort", Done: 0, Total: 600, Bytes: true})
		time.Sleep(30 * time.Second)
		s.tracker.show(options.Progress{Phase: "sort", Done: 300, Total: 600, Bytes: true, Whole: 0.25})
		time.Sleep(30*time.Second + time.Millisecond)
		stop()
		var record map[string]any
		if err := json.Unmarshal(out.Bytes(), &record); err != nil {
			t.Fatalf("%v: %s", err, &out)
		}
		for name, want := range map[string]any{"msg": "progress", "phase": "sort", "done": 300.0, "total": 600.0, "unit": "bytes", "whole": 0.25,
			"per_second": 5.0, "left_seconds": 60.0, "running_seconds": 60.0, "silent_seconds": 30.0, "level": "INFO"} {
			if record[name] != want {
				t.Errorf("%s is %v, want %v", name, record[name], want)
			}
		}
	})
}

// TestBarAndNotes: a note replaces the bar's line, and the bar is drawn again below it; at the end no trace of it is
// left.
func TestBarAndNotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		s := quietSession(&out, common{})
		s.screen.width, s.screen.colours = func() int { return 40 }, true
		if err := s.openLog(); err != nil {
			t.Fatal(err)
		}
		s.draw, s.endBar = s.screen.begin(&s.tracker)
		s.watch(options.Progress{Phase: "sort", Total: 10, Whole: 0.5})
		const bar = "\r\x1b[K[==========>         ]  50% sort: 0 of "
		if out.String() != bar {
			t.Errorf("%q", &out)
		}
		s.log.Info("a note")
		s.log.Warn("a warning")
		time.Sleep(redrawn + time.Millisecond)
		s.endBar()
		s.endBar()
		s.draw()
		if want := bar + "\r\x1b[Ka note\n\x1b[33ma warning\x1b[0m\n" + bar + "\r\x1b[K"; out.String() != want {
			t.Errorf("%q\nwant %q", &out, want)
		}
	})
}

// TestLevels: -v and -vv add details to records, and -q keeps only errors.
func TestLevels(t *testing.T) {
	for _, c := range []struct {
		common
		want string
	}{
		{common{}, "note warning"},
		{common{Verbose: 1}, "note warning"},
		{common{Verbose: 2}, "call file stage note warning"},
		{common{Quiet: true}, ""},
		{common{Log: "text"}, "stage note warning"},
		{common{Log: "text", Verbose: 1}, "file stage note warning"},
		{common{Log: "text", Verbose: 2}, "call file stage note warning"},
		{common{Log: "text", Quiet: true}, ""},
	} {
		var out bytes.Buffer
		s := quietSession(&out, c.common)
		if err := s.openLog(); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range []struct {
			level slog.Level
			text  string
		}{{options.LevelCall, "call"}, {options.LevelDetail, "file"}, {options.LevelStage, "stage"}, {slog.LevelInfo, "note"}, {slog.LevelWarn, "warning"}} {
			out.Reset()
			if s.log.Log(t.Context(), l.level, l.text, "a", 1); out.Len() > 0 {
				got = append(got, l.text)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%+v: %q, want %q", c.common, got, c.want)
		}
	}
}
