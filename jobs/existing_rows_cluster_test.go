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
	"bulkload/internal/test/livetest"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/testfs"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/inspect/verify"
	"bulkload/jobs/run"
	"bulkload/jobs/run/summary"
	"bulkload/jobs/spec/jobfile"
	"bulkload/jobs/tasks"
)

// existNight is a table with a night of 400 rows, and a second night of 700, of which 300 have keys of the first one.
// duplicates is what the job says of them.
func existNight(t *testing.T, duplicates string) *livetest.Live {
	t.Helper()
	l := livetest.New(t)
	l.Table10(t)
	l.Night(t, livetest.Night20, 400, 50)
	runtest.Must(t, l.Job(t, livetest.Night20), l.Options())
	l.Night(t, livetest.Night21, 400, 51)
	part := filepath.Join(l.Folder, "in", livetest.Night21, "part-m-00000")
	old := records(t, filepath.Join(l.Folder, "in", livetest.Night20, "part-m-00000"))
	both := append(bytes.Join(old[:300], nil), testfs.Read(t, part)...)
	if err := os.WriteFile(part, both, 0o600); err != nil {
		t.Fatal(err)
	}
	l.Rewrite(t, "load: true", "load: true\nduplicates: "+duplicates)
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
	e := &runtest.InProcess{Options: options.Options{WorkDir: t.TempDir(), Properties: map[string]string{"fs.defaultFS": l.FS()}}}
	sizes := tasks.Sizes{Task: 50_000, Memory: options.MinMemory} // a few tasks: each has its own connections
	s, err := run.Job(t.Context(), (&run.TaskEngine{Engine: e, Sizes: sizes}).Always(), l.Job(t, livetest.Night21), l.Options())
	if err != nil {
		t.Fatal(err)
	}
	wantExisting(t, s)
	if len(e.Ran) < 3 {
		t.Errorf("only these tasks ran: %v", e.Ran)
	}
	wantVerifiedBothWays(t, l, livetest.Night21, int64(len(l.Expected(t, livetest.Night21))))
	l.WantNothing(t, "again", livetest.Night21)
}

// wantExisting wants 300 of the 700 rows to be counted as those that the table had, and all of them to be written.
func wantExisting(t *testing.T, s *summary.Summary) {
	t.Helper()
	e := s.Existing
	if e == nil || e.Rows != 700 || e.Found != 300 || len(e.Samples) != 10 || s.Counts.Written != 700 {
		t.Errorf("%+v of %v", e, s.Counts)
	}
}

// TestRowsThatExistAreRefused: nothing of the run is loaded, and the table may be put right, or the job changed.
func TestRowsThatExistAreRefused(t *testing.T) {
	l := existNight(t, "{live: error}")
	s, err := run.Job(context.Background(), nil, l.Job(t, livetest.Night21), l.Options())
	if failure.CodeOf(err) != errcode.RowsExist || failure.KindOf(err) != failure.Failed || !testwords.Names(err, "300", "700") {
		t.Errorf("%v", err)
	}
	if s.Existing == nil || s.Existing.Found != 300 || s.Existing.Rows != 700 || len(s.Existing.Samples) != 10 || !testwords.Names(err, s.Existing.Samples[9]) {
		t.Errorf("%+v", s.Existing)
	}
	l.WantTable(t, "refused", l.Expected(t, livetest.Night20))
	l.Ask(t, "truncate", l.Table, "-preserve") // the other way would be another input
	if s := runtest.Must(t, l.Job(t, livetest.Night21), l.Options()); s.Status != failure.StatusDone || s.Existing.Found != 0 || s.Existing.Rows != 700 || s.Counts.Written != 700 {
		t.Errorf("%s, %+v, %v", s.Status, s.Existing, s.Counts)
	}
	l.WantTable(t, "accepted", l.Expected(t, livetest.Night21))
	l.WantNothing(t, "again", livetest.Night21)
}

// TestRowsThatExistAreAskedForOnce: a run that is killed when the table has some of its own rows does not count them,
// nor if a file must be written again then, or if all is loaded again with --force.
func TestRowsThatExistAreAskedForOnce(t *testing.T) {
	for _, c := range []struct {
		at    options.Point
		times int
	}{{"", 0}, {options.ExistingRecorded, 1}, {options.Recorded, 4}, {options.FilesLoaded, 3}} {
		t.Run("killed at "+string(c.at), func(t *testing.T) {
			l := existNight(t, "{live: overwrite}")
			if c.at != "" {
				l.Crash(t, livetest.Night21, c.at, c.times)
			}
			if c.at == options.FilesLoaded {
				loseFile(t, l, livetest.Night21)
			}
			wantExisting(t, runtest.Must(t, l.Job(t, livetest.Night21), l.Options()))
			wantVerifiedBothWays(t, l, livetest.Night21, int64(len(l.Expected(t, livetest.Night21))))
			l.WantNothing(t, "again", livetest.Night21)
			if c.at == "" {
				o := l.Options()
				o.Force = true
				wantExisting(t, runtest.Must(t, l.Job(t, livetest.Night21), o))
				wantVerifiedBothWays(t, l, livetest.Night21, int64(len(l.Expected(t, livetest.Night21))))
			}
		})
	}
}

// TestEditedJobKnowsItsRows: a job that is edited and loaded again with --force does not take its own rows for old
// ones.
func TestEditedJobKnowsItsRows(t *testing.T) {
	l := existNight(t, "{live: error}")
	l.Ask(t, "truncate", l.Table, "-preserve")
	runtest.Must(t, l.Job(t, livetest.Night21), l.Options())
	l.Rewrite(t, "load: true", "columns_map: {source: {constant: check}}\nload: true")
	o := l.Options()
	o.Force = true
	if s := runtest.Must(t, l.Job(t, livetest.Night21), o); s.Existing.Found != 0 || s.Counts.Written != 700 {
		t.Errorf("%+v, %v", s.Existing, s.Counts)
	}
	refusesRowsOfOthers(t, l)
}

// refusesRowsOfOthers lets another job load a row with the same timestamp. From then on it can't be distinguished from
// the job's own rows, so an export that also has the row is refused.
func refusesRowsOfOthers(t *testing.T, l *livetest.Live) {
	part := filepath.Join(l.Folder, "in", livetest.Night21, "part-m-00000")
	all := records(t, part)
	other := bytes.Replace(all[0], []byte("\x01"), []byte("\x01other"), 1) // another key
	if err := os.WriteFile(part, other, 0o600); err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer(l.Out, l.Out+"/other", "{live: error}", "last").Replace(string(testfs.Read(t, filepath.Join(l.Folder, "check.yaml"))))
	if err := os.WriteFile(filepath.Join(l.Folder, "other.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	day, err := jobfile.ParseText(livetest.Night21)
	if err != nil {
		t.Fatal(err)
	}
	j, err := jobfile.Read(filepath.Join(l.Folder, "other.yaml"), jobfile.ReadOptions{Date: day})
	if err != nil {
		t.Fatal(err)
	}
	runtest.Must(t, j, l.Options())
	if err := os.WriteFile(part, append(bytes.Join(all, nil), other...), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, o := range []options.Options{{Force: true}, {OnChange: options.Reload}} {
		o.Conf = l.ConfDir()
		_, err := run.Job(context.Background(), nil, l.Job(t, livetest.Night21), o)
		if failure.CodeOf(err) != errcode.LoadUnsure || !testwords.Names(err, "other.yaml") {
			t.Errorf("force %v: %v", o.Force, err)
		}
	}
	// As an operator who knows that no row is in both does it.
	l.Rewrite(t, "{live: error}", "{live: overwrite}")
	o := l.Options()
	o.Force = true
	if s := runtest.Must(t, l.Job(t, livetest.Night21), o); s.Counts.Written != 701 {
		t.Errorf("%v", s.Counts)
	}
}

// loseFile deletes a file of an interrupted load that the table does not have.
func loseFile(t *testing.T, l *livetest.Live, date string) {
	t.Helper()
	w := l.Open(t, l.Job(t, date))
	for _, f := range w.Dir.Manifest.Files() {
		if _, err := w.Dir.FS.Stat(path.Join(w.Dir.Path, f.Path)); err == nil && !f.Loaded {
			if err := w.Dir.FS.Remove(path.Join(w.Dir.Path, f.Path)); err != nil {
				t.Fatal(err)
			}
			if err := w.Dir.Close(); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("every file is loaded")
}

// wantVerifiedBothWays wants the table to be right by both ways of asking.
func wantVerifiedBothWays(t *testing.T, l *livetest.Live, date string, cells int64) {
	t.Helper()
	for _, live := range []bool{false, true} {
		if r, err := verify.Job(context.Background(), l.Job(t, date), l.Options(), live); err != nil || r.Cells != cells {
			t.Errorf("verify, live %v: %+v, %v", live, r, err)
		}
	}
}

// TestRowsThatExistAreReportedAgain: a command with nothing to do still says what the table had before the load.
func TestRowsThatExistAreReportedAgain(t *testing.T) {
	l := existNight(t, "{input: error, live: overwrite}")
	wantExisting(t, runtest.Must(t, l.Job(t, livetest.Night21), l.Options()))
	if again, err := run.Job(context.Background(), nil, l.Job(t, livetest.Night21), l.Options()); err != nil || again.Status != failure.StatusNothing || again.Existing.Found != 300 {
		t.Errorf("%s, %+v, %v", again.Status, again.Existing, err)
	}
}

// TestCostOfLookUps: a table is asked for a thousand rows in one call, but for those of a region apart.
func TestCostOfLookUps(t *testing.T) {
	l := livetest.New(t)
	l.Table10(t)
	l.Rewrite(t, "load: true", "load: true\nduplicates: {live: error}")
	for date, rows := range map[string]int{livetest.Night20: 10_000, livetest.Night21: 20_000} {
		l.Night(t, date, rows, 52)
		calls := 0
		o := l.Options()
		o.NoLoad = true // a load asks, too
		o.Log = slog.New(slog.NewJSONHandler(runtest.LinesWith{Text: `"method":"Multi"`, Count: &calls}, &slog.HandlerOptions{Level: options.LevelCall}))
		s := runtest.Must(t, l.Job(t, date), o)
		if e := s.Existing; e.Rows != int64(rows) || e.Found != 0 {
			t.Errorf("%d rows: %+v", rows, e)
		}
		if most := rows/1000 + 10; calls > most || calls < rows/1000 {
			t.Errorf("%d rows: %d calls, want at most %d", rows, calls, most)
		}
	}
}
