package loading

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/errcode"
	"bulkload/internal/test/simcluster"
	"bulkload/jobs/base/failure"
	"bulkload/load"
)

// whileAsked asks the proof for a loaded output, of which the table is to be asked for all rows in some ranges. It
// finds them, and then change is called, as if that had happened before the answer was put together. It returns the
// ranges of each question, and what was said.
func (s *simulation) whileAsked(ranges []string, change func(question int) error, ask func(p proof, c claim) error) (asked []string, said string, err error) {
	s.Helper()
	l := s.loader()
	c, err := l.claim(l.Out.Manifest.Files().Loaded())
	s.do(err)
	for _, r := range ranges {
		first, last, _ := strings.Cut(r, "-")
		c.missing = append(c.missing, load.RowRange{First: []byte(first), Last: []byte(last)})
	}
	var text strings.Builder
	p := l.proof()
	p.options.Log = slog.New(slog.NewTextHandler(&text, nil))
	p.rows = func(_ context.Context, ranges []load.RowRange) (RowsFound, error) {
		var texts []string
		for _, r := range ranges {
			texts = append(texts, fmt.Sprintf("%s-%s", r.First, r.Last))
		}
		asked = append(asked, strings.Join(texts, " "))
		return RowsFound{Rows: int64(len(ranges))}, change(len(asked))
	}
	err = ask(p, c)
	return asked, text.String(), err
}

// questions are both ways to ask the proof.
var questions = map[string]func(ctx context.Context, p proof, c claim) error{
	"check":   func(ctx context.Context, p proof, c claim) error { return p.check(ctx, c) },
	"confirm": func(ctx context.Context, p proof, c claim) error { _, err := p.confirm(ctx, c, 0, 1); return err },
}

// TestTableChangesWhileAllRowsAreAsked: the answer for all rows of a run counts only if no region of the run was opened
// meanwhile, also one whose rows were not asked for. Regions that were not opened are not asked a second time. What was
// asked for is said.
func TestTableChangesWhileAllRowsAreAsked(t *testing.T) {
	t.Parallel()
	once := func(do func(s *simulation) error) func(s *simulation, question int) error {
		return func(s *simulation, question int) error {
			if question > 1 {
				return nil
			}
			return do(s)
		}
	}
	for name, c := range map[string]struct {
		ranges string // in which all rows are asked for
		change func(s *simulation, question int) error
		asked  []string // the ranges of each question
		code   errcode.Code
	}{
		"nothing changes":   {"a-z", func(*simulation, int) error { return nil }, []string{"a-a h-h x-x"}, ""},
		"a region moves":    {"a-z", once(func(s *simulation) error { return s.sim.Move("t", []byte("h")) }), []string{"a-a h-h x-x", "h-h"}, ""},
		"another one moves": {"h-h", once(func(s *simulation) error { return s.sim.Move("t", []byte("x")) }), []string{"h-h"}, ""},
		"a region splits":   {"a-z", once(func(s *simulation) error { return s.sim.Split("t", []byte("j")) }), []string{"a-a h-h x-x", "h-h"}, ""},
		"a family is altered": {"a-z", once(func(s *simulation) error {
			return s.sim.Alter("t", simcluster.Family{Name: "f", Attributes: map[string]string{"VERSIONS": "2"}})
		}), []string{"a-a h-h x-x", "a-a h-h x-x"}, ""},
		"the table is disabled and enabled": {"a-z", once(func(s *simulation) error {
			return errors.Join(s.sim.Disable("t"), s.sim.Enable("t"))
		}), []string{"a-a h-h x-x", "a-a h-h x-x"}, ""},
		"a region is truncated":    {"a-z", once(func(s *simulation) error { return s.sim.TruncateRegion("t", []byte("h")) }), []string{"a-a h-h x-x"}, errcode.LoadLost},
		"another one is truncated": {"h-h", once(func(s *simulation) error { return s.sim.TruncateRegion("t", []byte("x")) }), []string{"h-h"}, errcode.LoadLost},
		"the table is truncated":   {"a-z", once(func(s *simulation) error { return s.sim.Truncate("t", true) }), []string{"a-a h-h x-x"}, errcode.LoadLost},
		"a region moves each time": {"a-z", func(s *simulation, _ int) error { return s.sim.Move("t", []byte("h")) },
			[]string{"a-a h-h x-x", "h-h", "h-h", "h-h", "h-h"}, errcode.HBaseRegion},
	} {
		for how, ask := range questions {
			t.Run(name+"/"+how, func(t *testing.T) {
				simulated(t, func(s *simulation) {
					_, err := s.load(s.loader())
					s.do(err)
					asked, said, err := s.whileAsked([]string{c.ranges}, func(question int) error { return c.change(s, question) },
						func(p proof, c claim) error { return ask(s.Context(), p, c) })
					if err != nil && failure.CodeOf(err) != c.code || (err == nil) != (c.code == "") || !slices.Equal(asked, c.asked) {
						s.Errorf("asked for %q, want %q: %v, want %q", asked, c.asked, err, c.code)
					}
					if again := c.code == errcode.HBaseRegion; errors.Is(err, errMoved) != again || errors.Is(err, load.ErrUnavailable) != again {
						s.Errorf("it is for a person, or not: %v", err)
					}
					for _, ranges := range c.asked {
						n := strings.Count(ranges, " ") + 1
						for _, line := range []string{
							fmt.Sprintf("reading the input again, to ask the table for all rows of the run in %d range", n),
							fmt.Sprintf("table t was asked for %d row", n),
						} {
							if !strings.Contains(said, line) {
								s.Errorf("%q is not said in\n%s", line, said)
							}
						}
					}
				})
			})
		}
	}
}

// TestMovesAfterAnAnswer: of two regions one moves while all rows are asked for, and the other one at any call between
// that answer and the next question. The answer for the other one does not count any more, since it was for an opening
// that is over.
func TestMovesAfterAnAnswer(t *testing.T) {
	t.Parallel()
	for how, ask := range questions {
		calls := 0
		for isDone := false; !isDone; calls++ {
			simulated(t, func(s *simulation) {
				_, err := s.load(s.loader())
				s.do(err)
				questions, movedAfter := 0, 0
				asked, _, err := s.whileAsked([]string{"a-z"}, func(question int) error {
					if questions = question; question > 1 {
						return nil
					}
					s.sim.Interrupt(calls, func() { movedAfter = questions; s.do(s.sim.Move("t", []byte("h"))) })
					return s.sim.Move("t", []byte("x"))
				}, func(p proof, c claim) error { return ask(s.Context(), p, c) })
				s.sim.Interrupt(0, nil)
				s.do(err)
				if isDone = movedAfter != 1; !isDone && (len(asked) < 2 || asked[1] != "h-h x-x") {
					s.Errorf("%s: a region moved at call %d after the answer: asked for %q", how, calls, asked)
				}
			})
		}
		if calls < 8 {
			t.Errorf("%s: only %d calls between two questions", how, calls)
		}
	}
}
