package jobs

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/errcode"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/inspect/verify"
	"bulkload/jobs/run"
	"bulkload/jobs/run/summary"
	"bulkload/jobs/spec/jobfile"
	"bulkload/jobs/tasks"
)

const night21 = "2026-11-21"

// existNight is a table with a night of 400 rows, and a second night of 700, of which 300 have keys of the first one.
// duplicates is what the job says of them.
func existNight(t *testing.T, duplicates string) *live {
	t.Helper()
	l := newLive(t)
	l.table10(t)
	l.night(t, night20, 400, 50)
	mustRun(t, l.job(t, night20), l.options())
	l.night(t, night21, 400, 51)
	part := filepath.Join(l.dir, "in", night21, "part-m-00000")
	old := records(t, filepath.Join(l.dir, "in", night20, "part-m-00000"))
	both := append(bytes.Join(old[:300], nil), mustRead(t, part)...)
	if err := os.WriteFile(part, both, 0o600); err != nil {
		t.Fatal(err)
	}
	l.rewrite(t, "load: true", "load: true\nduplicates: "+duplicates)
	return l
}

// records are the records of a file, with their delimiters.
func records(t *testing.T, name string) [][]byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	all := bytes.SplitAfter(text, []byte{0x10})
	return all[:len(all)-1]
}

// TestRowsThatExistByTasks: the driver asks the table before any reduce task writes.
func TestRowsThatExistByTasks(t *testing.T) {
	l := existNight(t, "{live: overwrite}")
	e := &inProcess{options: options.Options{WorkDir: t.TempDir(), Properties: map[string]string{"fs.defaultFS": l.FS()}}}
	sizes := tasks.Sizes{Task: 50_000, Memory: options.MinMemory} // a few tasks: each has its own connections
	s, err := RunBy(t.Context(), &run.ByTasks{Engine: e, Sizes: sizes}, l.job(t, night21), l.options())
	if err != nil {
		t.Fatal(err)
	}
	wantExisting(t, s)
	if len(e.ran) < 3 {
		t.Errorf("only these tasks ran: %v", e.ran)
	}
	l.wantVerified(t, night21, int64(len(l.expected(t, night21))))
	l.wantAgain(t, night21)
}

// wantExisting wants 300 of the 700 rows to be counted as those that the table had, and all of them to be written.
func wantExisting(t *testing.T, s *summary.Summary) {
	t.Helper()
	e := s.Existing
	if e == nil || e.Rows != 700 || e.Found != 300 || len(e.Samples) != 10 || s.Books.Written != 700 {
		t.Errorf("%+v of %v", e, s.Books)
	}
}

// TestRowsThatExistAreRefused: nothing of the run is loaded, and the table may be put right, or the job changed.
func TestRowsThatExistAreRefused(t *testing.T) {
	l := existNight(t, "{live: error}")
	s, err := Run(context.Background(), l.job(t, night21), l.options())
	if failure.CodeOf(err) != errcode.RowsExist || failure.KindOf(err) != failure.Failed || !strings.Contains(err.Error(), "300 of the 700 rows") {
		t.Errorf("%v", err)
	}
	if s.Existing == nil || s.Existing.Found != 300 || len(s.Existing.Samples) != 10 || !strings.Contains(err.Error(), s.Existing.Samples[9]) {
		t.Errorf("%+v", s.Existing)
	}
	l.wantTable(t, "refused", l.expected(t, night20))
	l.oracle(t, "truncate", l.table, "-preserve") // the other way would be another input
	if s := mustRun(t, l.job(t, night21), l.options()); s.Status != failure.StatusDone || s.Existing.Found != 0 || s.Existing.Rows != 700 || s.Books.Written != 700 {
		t.Errorf("%s, %+v, %v", s.Status, s.Existing, s.Books)
	}
	l.wantTable(t, "accepted", l.expected(t, night21))
	l.wantAgain(t, night21)
}

// TestRowsThatExistAreAskedForOnce: a run that is killed when the table has some of its own rows does not count them, nor if
// a file must be written again then, or if all is loaded again with --force.
func TestRowsThatExistAreAskedForOnce(t *testing.T) {
	for _, c := range []struct {
		at    options.Point
		times int
	}{{"", 0}, {options.ExistingRecorded, 1}, {options.Recorded, 4}, {options.FilesLoaded, 3}} {
		t.Run("killed at "+string(c.at), func(t *testing.T) {
			l := existNight(t, "{live: overwrite}")
			if c.at != "" {
				l.crash(t, night21, c.at, c.times)
			}
			if c.at == options.FilesLoaded {
				l.loseFile(t, night21)
			}
			wantExisting(t, mustRun(t, l.job(t, night21), l.options()))
			l.wantVerified(t, night21, int64(len(l.expected(t, night21))))
			l.wantAgain(t, night21)
			if c.at == "" {
				o := l.options()
				o.Force = true
				wantExisting(t, mustRun(t, l.job(t, night21), o))
				l.wantVerified(t, night21, int64(len(l.expected(t, night21))))
			}
		})
	}
}

// TestEditedJobKnowsItsRows: a job that is edited and loaded again with --force does not take its own rows for old ones.
func TestEditedJobKnowsItsRows(t *testing.T) {
	l := existNight(t, "{live: error}")
	l.oracle(t, "truncate", l.table, "-preserve")
	mustRun(t, l.job(t, night21), l.options())
	l.rewrite(t, "load: true", "columns_map: {source: {constant: check}}\nload: true")
	o := l.options()
	o.Force = true
	if s := mustRun(t, l.job(t, night21), o); s.Existing.Found != 0 || s.Books.Written != 700 {
		t.Errorf("%+v, %v", s.Existing, s.Books)
	}
	l.refusesRowsOfOthers(t)
}

// refusesRowsOfOthers lets another job load a row with the same timestamp. From then on it can't be distinguished from the
// job's own rows, so an export that also has the row is refused.
func (l *live) refusesRowsOfOthers(t *testing.T) {
	part := filepath.Join(l.dir, "in", night21, "part-m-00000")
	all := records(t, part)
	other := bytes.Replace(all[0], []byte("\x01"), []byte("\x01other"), 1) // another key
	if err := os.WriteFile(part, other, 0o600); err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer(l.out, l.out+"/other", "{live: error}", "last").Replace(string(mustRead(t, filepath.Join(l.dir, "check.yaml"))))
	if err := os.WriteFile(filepath.Join(l.dir, "other.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	day, err := jobfile.ParseText(night21)
	if err != nil {
		t.Fatal(err)
	}
	j, err := jobfile.Read(filepath.Join(l.dir, "other.yaml"), jobfile.ReadOptions{Date: day})
	if err != nil {
		t.Fatal(err)
	}
	mustRun(t, j, l.options())
	if err := os.WriteFile(part, append(bytes.Join(all, nil), other...), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, o := range []options.Options{{Force: true}, {OnChange: options.Reload}} {
		o.Conf = l.ConfDir()
		_, err := Run(context.Background(), l.job(t, night21), o)
		if failure.CodeOf(err) != errcode.LoadUnsure || !strings.Contains(err.Error(), "or may have: other.yaml (run ") {
			t.Errorf("force %v: %v", o.Force, err)
		}
	}
	// As an operator who knows that no row is in both does it.
	l.rewrite(t, "{live: error}", "{live: overwrite}")
	o := l.options()
	o.Force = true
	if s := mustRun(t, l.job(t, night21), o); s.Books.Written != 701 {
		t.Errorf("%v", s.Books)
	}
}

// loseFile deletes a file of an interrupted load that the table does not have.
func (l *live) loseFile(t *testing.T, date string) {
	t.Helper()
	w := l.work(t, l.job(t, date))
	for _, f := range w.out.Manifest.Files() {
		if _, err := w.out.FS.Stat(path.Join(w.out.Path, f.Path)); err == nil && !f.Loaded {
			if err := w.out.FS.Remove(path.Join(w.out.Path, f.Path)); err != nil {
				t.Fatal(err)
			}
			if err := w.out.Close(); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("every file is loaded")
}

// wantVerified wants the table to be right by both ways of asking.
func (l *live) wantVerified(t *testing.T, date string, cells int64) {
	t.Helper()
	for _, live := range []bool{false, true} {
		if r, err := verify.Job(context.Background(), l.job(t, date), l.options(), live); err != nil || r.Cells != cells {
			t.Errorf("verify, live %v: %+v, %v", live, r, err)
		}
	}
}

// TestRowsThatExistAreReportedAgain: a command with nothing to do still says what the table had before the load.
func TestRowsThatExistAreReportedAgain(t *testing.T) {
	l := existNight(t, "{input: error, live: overwrite}")
	wantExisting(t, mustRun(t, l.job(t, night21), l.options()))
	if again, err := Run(context.Background(), l.job(t, night21), l.options()); err != nil || again.Status != failure.StatusNothing || again.Existing.Found != 300 {
		t.Errorf("%s, %+v, %v", again.Status, again.Existing, err)
	}
}

// TestCostOfLookUps: a table is asked for a thousand rows in one call, but for those of a region apart.
func TestCostOfLookUps(t *testing.T) {
	l := newLive(t)
	l.table10(t)
	l.rewrite(t, "load: true", "load: true\nduplicates: {live: error}")
	for date, rows := range map[string]int{night20: 10_000, night21: 20_000} {
		l.night(t, date, rows, 52)
		calls := 0
		o := l.options()
		o.NoLoad = true // a load asks, too
		o.Log = slog.New(slog.NewJSONHandler(callCounter{`"method":"Multi"`, &calls}, &slog.HandlerOptions{Level: options.LevelCall}))
		s := mustRun(t, l.job(t, date), o)
		if e := s.Existing; e.Rows != int64(rows) || e.Found != 0 {
			t.Errorf("%d rows: %+v", rows, e)
		}
		if most := rows/1000 + 10; calls > most || calls < rows/1000 {
			t.Errorf("%d rows: %d calls, want at most %d", rows, calls, most)
		}
	}
}

// callCounter counts the lines of a log that contain a text. A handler writes one at a time.
type callCounter struct {
	text string
	n    *int
}

func (c callCounter) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte(c.text)) {
		*c.n++
	}
	return len(line), nil
}
