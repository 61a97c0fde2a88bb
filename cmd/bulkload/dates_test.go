package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"
)

// TestDatesOfTheClock: a command reads the clock once for today and yesterday, in the requested zone.
func TestDatesOfTheClock(t *testing.T) {
	t.Chdir(t.TempDir())
	asked := 0
	defer func(before func() time.Time) { clock = before }(clock)
	clock = func() time.Time { // each time a day later
		asked++
		return time.Date(2026, 11, 19+asked, 18, 10, 0, 0, time.UTC)
	}
	job := "table: t\nfamily: f\ninput: {path: 'in/${date:20060102-15}', columns: [a]}\nrowkey: a\nregions: {from: splits, splits: []}\nhfile: {}\noutput: out\n"
	writeFile(t, "a.yaml", job)
	writeFile(t, "b.yaml", job)
	for _, c := range []struct {
		args string
		want []string
	}{
		{"--date today", []string{"a.yaml for 2026-11-20:", "in/20261120-00", "b.yaml for 2026-11-20:"}},
		{"--date yesterday --zone Asia/Shanghai", []string{"a.yaml for 2026-11-20:"}},
		{"--date -2d", []string{"a.yaml for 2026-11-18:"}},
		{"--date -1h --zone Asia/Shanghai", []string{"a.yaml for 2026-11-21T01+0800:", "in/20261121-01 does not exist"}},
		{"--from -3d --to yesterday", []string{"a.yaml for 2026-11-17:", "(2 more dates, 2026-11-18 to 2026-11-19, were not begun)"}},
	} {
		asked = 0
		var stdout, stderr bytes.Buffer
		code := execute(context.Background(), append([]string{"run", "a.yaml", "b.yaml"}, strings.Fields(c.args)...), &stdout, &stderr)
		for _, want := range c.want {
			if code != exitNotYet || !strings.Contains(stderr.String(), want) {
				t.Errorf("%s: exit code %d, want %q\n%s", c.args, code, want, &stderr)
			}
		}
		if asked != 1 {
			t.Errorf("%s: the clock was asked %d times", c.args, asked)
		}
	}
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
