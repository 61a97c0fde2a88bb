package options

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"bulkload/internal/errcode"
)

// TestMemory: a run has enough memory, or does not begin.
func TestMemory(t *testing.T) {
	t.Parallel()
	for given, want := range map[int64]int64{0: DefaultMemory, MinMemory: MinMemory, 1 << 40: 1 << 40, MinMemory - 1: 0, 1: 0, -1: 0} {
		o, err := Options{Memory: given}.WithDefaults()
		var code errcode.Coder
		switch {
		case want == 0 && (!errors.As(err, &code) || code.ErrorCode() != errcode.Command):
			t.Errorf("%d bytes: %v", given, err)
		case want > 0 && (err != nil || o.Memory != want):
			t.Errorf("%d bytes: %d, %v", given, o.Memory, err)
		}
	}
}

// TestDefaultsTwice: WithDefaults does not change options that already have their defaults, and nothing is reported
// twice.
func TestDefaultsTwice(t *testing.T) {
	t.Parallel()
	var said []string
	o := Options{Say: func(text string) { said = append(said, text) }, Wait: Wait{QuietPeriod: -1}}
	for range 2 {
		var err error
		if o, err = o.WithDefaults(); err != nil {
			t.Fatal(err)
		}
	}
	o.Infof("%d files", 3)
	o.Warnf("no space")
	o.Watch(Progress{})
	if strings.Join(said, "; ") != "3 files; no space" || o.Wait.QuietPeriod != -1 || o.Wait.Clock.Now == nil || o.Wait.Clock.Sleep == nil {
		t.Errorf("%q, %+v", said, o.Wait)
	}
	if o, _ := (Options{}).WithDefaults(); o.Wait.QuietPeriod != time.Minute {
		t.Errorf("files must be unchanged for %v", o.Wait.QuietPeriod)
	}
}

// TestLogAndListener: messages go to the listener and, with their attributes, to the log. Details go only to the log,
// and without a log nothing fails.
func TestLogAndListener(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	var said []string
	o, err := Options{Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: LevelDetail})), Say: func(text string) { said = append(said, text) }}.WithDefaults()
	if err != nil {
		t.Fatal(err)
	}
	o = o.With("table", "ns:t")
	o.Infof("begun")
	o.Detail(LevelDetail, "file written", slog.Int("region", 7))
	o.Detail(LevelCall, "call")
	if text := log.String(); len(said) != 1 || said[0] != "begun" || strings.Count(text, "table=ns:t") != 2 || !strings.Contains(text, "region=7") || strings.Contains(text, "call") {
		t.Errorf("said %q, log %s", said, text)
	}
	var none Options
	none.Infof("x")
	none.With("a", 1).Detail(LevelDetail, "x")
}
