package jobs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/test/livetest"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/run/summary"
)

// TestRangeIsAskedAgain: what a range of dates has loaded is asked for at its end, since the table may have changed while the later dates
// were loaded; also if each date has replaced the output of the one before.
func TestRangeIsAskedAgain(t *testing.T) {
	for _, share := range []bool{false, true} {
		t.Run(fmt.Sprintf("one output %t", share), func(t *testing.T) {
			l := livetest.New(t)
			l.Table10(t)
			l.Night(t, livetest.Night19, 600, 63)
			l.Night(t, livetest.Night20, 400, 64)
			both := Series{l.Job(t, livetest.Night19), l.Job(t, livetest.Night20)}
			for _, j := range both {
				if share {
					j.Output = l.Out + "/both"
				}
			}
			var heard []string
			run := func(change func()) error {
				heard = nil
				o := SeveralOptions{Options: l.Options()}
				o.Force = share
				o.Ended = func(s *summary.Summary, err error, _ time.Duration) {
					if heard = append(heard, fmt.Sprintf("%s %t", s.Run.Date, err == nil)); len(heard) == len(both) {
						change()
					}
				}
				_, err := RunSeveral(context.Background(), []Series{both}, o)
				return err
			}
			if err := run(func() {
				l.Ask(t, "move", l.Table, "4")
				l.Ask(t, "split", l.Table, "48")
			}); err != nil || len(heard) != 2 {
				t.Errorf("a region was moved and split: %v, %v", heard, err)
			}
			err := run(func() { l.Ask(t, "truncate", l.Table, "-preserve") })
			if failure.CodeOf(err) != errcode.LoadLost || !strings.Contains(err.Error(), "for "+livetest.Night19) || !slices.Equal(heard, []string{livetest.Night19 + " true", livetest.Night20 + " true", livetest.Night19 + " false"}) {
				t.Errorf("truncated: %v, %v", heard, err)
			}
		})
	}
}

// TestRangeWithAnEmptyDate: a date without rows, whose output a later date of the range has replaced, is nothing to ask for.
func TestRangeWithAnEmptyDate(t *testing.T) {
	l := livetest.New(t)
	l.Table10(t)
	l.Night(t, livetest.Night19, 0, 63)
	l.Night(t, livetest.Night20, 100, 64)
	both := Series{l.Job(t, livetest.Night19), l.Job(t, livetest.Night20)}
	for _, j := range both {
		j.Output = l.Out + "/both"
	}
	o := SeveralOptions{Options: l.Options()}
	o.Force = true
	if _, err := RunSeveral(context.Background(), []Series{both}, o); err != nil {
		t.Error(err)
	}
}
