package calllog

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// TestLevels: calls are logged at their level only, with the error, and without a log nothing happens.
func TestLevels(t *testing.T) {
	for _, c := range []struct {
		level slog.Level
		lines int
	}{{slog.LevelDebug, 0}, {Level, 3}} {
		var out bytes.Buffer
		log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: c.level}))
		Call(t.Context(), log, "host:1", "Scan", time.Now(), nil)
		Call(t.Context(), log, "host:1", "Get", time.Now(), errors.New("gone"))
		Again(t.Context(), log, "a read", time.Second, errors.New("later"))
		if got := strings.Count(out.String(), "\n"); got != c.lines {
			t.Errorf("%v: %d lines, want %d\n%s", c.level, got, c.lines, &out)
		}
		if c.lines > 0 {
			for _, want := range []string{"method=Scan took=", "method=Get", "error=gone", `what="a read" pause=1s error=later`} {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %s in\n%s", want, &out)
				}
			}
		}
	}
	Call(t.Context(), nil, "host:1", "Scan", time.Now(), nil)
	Again(t.Context(), nil, "a read", time.Second, nil)
}
