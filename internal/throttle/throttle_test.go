package throttle

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestRate: in a bubble with its own clock, what several goroutines move together never exceeds the rate by more than a
// burst.
func TestRate(t *testing.T) {
	const perSecond, each, goroutines = 8_000_000, 5_000_003, 3
	synctest.Test(t, func(t *testing.T) {
		l := New(t.Context(), perSecond)
		begun := time.Now()
		var all sync.WaitGroup
		for range goroutines {
			all.Go(func() {
				for left := each; left > 0; {
					n := min(left, 300_000)
					l.Wait(n)
					left -= n
				}
			})
		}
		all.Wait()
		want := time.Duration(float64(goroutines*each-perSecond/8) / perSecond * float64(time.Second))
		if took := time.Since(begun); took < want-time.Millisecond || took > want+time.Millisecond {
			t.Errorf("%d bytes took %v, want %v", goroutines*each, took, want)
		}
	})
}

// TestTurns: a few bytes do not wait until another goroutine's many bytes have been moved.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(t.Context(), 8_000_000)
		go l.Wait(80_000_000) // ten seconds
		time.Sleep(time.Second)
		begun := time.Now()
		l.Wait(100)
		if took := time.Since(begun); took > 200*time.Millisecond {
			t.Errorf("100 bytes waited %v", took)
		}
	})
}

func TestNoLimitAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		l := New(ctx, Minimum)
		begun := time.Now()
		time.AfterFunc(time.Second, cancel)
		l.Wait(1 << 40)
		l.Wait(1 << 40)
		if took := time.Since(begun); took != time.Second {
			t.Errorf("waited %v, though the command ended after a second", took)
		}
	})
	var none *Limit
	none.Wait(1 << 40)
	if none.PerSecond() != 0 || New(t.Context(), 5<<20).PerSecond() != 5<<20 {
		t.Error("the rate of a limit is wrong")
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]int64{"50MB/s": 50e6, "20MiB/s": 20 << 20, "1MB/s": 1e6, "1.5 GB/s": 1.5e9, "2000000/s": 2e6} {
		if n, err := Parse(text); err != nil || n != want {
			t.Errorf("%s is %d, %v; want %d", text, n, err, want)
		}
	}
	for _, text := range []string{"", "50MB", "50", "50 MB/sec", "/s", "0MB/s", "999kB/s", "-5MB/s", "5Mbit/s"} {
		if n, err := Parse(text); err == nil {
			t.Errorf("%q is taken for %d", text, n)
		}
	}
}
