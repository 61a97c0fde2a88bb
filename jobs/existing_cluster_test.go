package jobs

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/errcode"
	"bulkload/internal/sample"
	"bulkload/internal/storage"
	"bulkload/jobs/failpoint"
	"bulkload/jobs/failure"
	"bulkload/jobs/jobfile"
	"bulkload/jobs/manifest"
	"bulkload/jobs/options"
	"bulkload/jobs/outcome"
	"bulkload/jobs/tasks"
	"bulkload/jobs/verify"
)

const night21 = "2026-11-21"

// existNight is a table with a night of 400 rows, and a second night of 700, of which 300 have keys of the first one.
// duplicates is what the job says of them. fresh is a file with the 400 others.
func existNight(t *testing.T, duplicates string) (l *live, fresh string) {
	t.Helper()
	l = newLive(t)
	l.table10(t)
	l.night(t, night20, 400, 50)
	mustRun(t, l.job(t, night20), l.options())
	l.night(t, night21, 400, 51)
	fresh = filepath.Join(t.TempDir(), "fresh")
	part := filepath.Join(l.dir, "in", night21, "part-m-00000")
	if err := os.Rename(part, fresh); err != nil {
		t.Fatal(err)
	}
	old := records(t, filepath.Join(l.dir, "in", night20, "part-m-00000"))
	both := append(append([]byte(nil), bytes.Join(old[:300], nil)...), bytes.Join(records(t, fresh), nil)...)
	if err := os.WriteFile(part, both, 0o600); err != nil {
		t.Fatal(err)
	}
	l.rewrite(t, "load: true", "load: true\nduplicates: "+duplicates)
	return l, fresh
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

// expectedOf are the cells that Java computes for a file of a night's records.
func (l *live) expectedOf(t *testing.T, date, file string) []string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "expected")
	l.oracle(t, "expect", file, strings.Join(sample.CheckColumns, ","), "check_id", "id", "10", "f", fmt.Sprint(l.job(t, date).Timestamp), "-o", out)
	return readLines(t, out)
}

// TestRowsThatExistAreLeftOutByTasks: the driver asks the table, and reduce tasks leave out what it has.
func TestRowsThatExistAreLeftOutByTasks(t *testing.T) {
	l, fresh := existNight(t, "{live: skip}")
	e := &inProcess{options: options.Options{WorkDir: t.TempDir(), Properties: map[string]string{"fs.defaultFS": l.FS()}}}
	sizes := tasks.Sizes{Task: 50_000, Memory: options.MinMemory} // a few tasks: each has its own connections
	s, err := RunBy(t.Context(), &ByTasks{Engine: e, Sizes: sizes}, l.job(t, night21), l.options())
	if err != nil {
		t.Fatal(err)
	}
	wantExisting(t, s, 300, 300)
	if len(e.ran) < 3 {
		t.Errorf("only these tasks ran: %v", e.ran)
	}
	l.wantTable(t, "left out", l.expected(t, night20), l.expectedOf(t, night21, fresh))
	l.wantAgain(t, night21)
}

func wantExisting(t *testing.T, s *Summary, found, left int64) {
	t.Helper()
	e := s.Existing
	if e == nil || e.Rows != 700 || e.Found != found || len(e.Samples) != 10 || s.Books.Existing != left || s.Books.Written != 700-left {
		t.Errorf("%+v of %v", e, s.Books)
	}
}

// TestRowsThatExistAreRefused: nothing of the run is loaded, and the table may be put right, or the job changed.
func TestRowsThatExistAreRefused(t *testing.T) {
	l, _ := existNight(t, "{live: error}")
	s, err := Run(context.Background(), l.job(t, night21), l.options())
	if failure.CodeOf(err) != errcode.RowsExist || failure.KindOf(err) != failure.Failed || !strings.Contains(err.Error(), "300 of the 700 rows") {
		t.Errorf("%v", err)
	}
	if s.Existing == nil || s.Existing.Found != 300 || len(s.Existing.Samples) != 10 || !strings.Contains(err.Error(), s.Existing.Samples[9]) {
		t.Errorf("%+v", s.Existing)
	}
	l.wantTable(t, "refused", l.expected(t, night20))
	l.oracle(t, "truncate", l.table, "-preserve") // the other way would be another input
	if s := mustRun(t, l.job(t, night21), l.options()); s.Status != outcome.Done || s.Existing.Found != 0 || s.Existing.Rows != 700 || s.Books.Written != 700 {
		t.Errorf("%s, %+v, %v", s.Status, s.Existing, s.Books)
	}
	l.wantTable(t, "accepted", l.expected(t, night21))
	l.wantAgain(t, night21)
}

// TestRowsThatExistAreLeftOut: also if the run is killed where its own rows are in the table, if a file must be written again
// then, and if all is loaded again with --force.
func TestRowsThatExistAreLeftOut(t *testing.T) {
	for _, c := range []struct {
		at    failpoint.Point
		times int
	}{{"", 0}, {failpoint.ExistingKept, 1}, {failpoint.ExistingRecorded, 1}, {failpoint.Recorded, 4}, {failpoint.FilesLoaded, 3}} {
		t.Run("killed at "+string(c.at), func(t *testing.T) {
			l, fresh := existNight(t, "{live: skip}")
			if c.at != "" {
				l.crash(t, night21, c.at, c.times)
			}
			if c.at == failpoint.FilesLoaded {
				l.loseFile(t, night21)
			}
			s := mustRun(t, l.job(t, night21), l.options())
			wantExisting(t, s, 300, 300)
			want := l.expectedOf(t, night21, fresh)
			l.wantTable(t, "left out", l.expected(t, night20), want)
			l.wantAgain(t, night21)
			if c.at == "" {
				l.wantVerified(t, night21, int64(len(want)))
				o := l.options()
				o.Force = true
				wantExisting(t, mustRun(t, l.job(t, night21), o), 300, 300)
				l.wantTable(t, "again", l.expected(t, night20), want)
			}
		})
	}
}

// TestLeftOutRowsAreGone: rows were left out because the table had them, and then the table is truncated: no run says "done"
// until they are looked up again. Files without them are for no other table.
func TestLeftOutRowsAreGone(t *testing.T) {
	l, _ := existNight(t, "{live: skip}")
	o := l.options()
	o.NoLoad = true
	wantExisting(t, mustRun(t, l.job(t, night21), o), 300, 300)
	other := l.table
	l.table = l.UniqueTable(t)
	l.table10(t)
	if _, err := LoadDir(context.Background(), l.job(t, night21).Output, l.table, l.options()); failure.CodeOf(err) != errcode.LoadOther {
		t.Errorf("into another table: %v", err)
	}
	l.table = other
	l.oracle(t, "truncate", l.table, "-preserve")
	if _, err := Run(context.Background(), l.job(t, night21), l.options()); failure.CodeOf(err) != errcode.LoadUnsure {
		t.Errorf("after the table was truncated: %v", err)
	}
	o = l.options()
	o.Force = true
	if s := mustRun(t, l.job(t, night21), o); s.Books.Written != 700 || s.Existing.Found != 0 {
		t.Errorf("%v, %+v", s.Books, s.Existing)
	}
	l.wantTable(t, "looked up again", l.expected(t, night21))
	l.wantAgain(t, night21)
}

// TestEditedJobKnowsItsRows: a job that is edited and loaded again with --force does not take its own rows for old ones.
func TestEditedJobKnowsItsRows(t *testing.T) {
	l, _ := existNight(t, "{live: skip}")
	wantExisting(t, mustRun(t, l.job(t, night21), l.options()), 300, 300)
	l.rewrite(t, "load: true", "columns_map: {source: {constant: check}}\nload: true")
	o := l.options()
	o.Force = true
	wantExisting(t, mustRun(t, l.job(t, night21), o), 300, 300)
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
	text := strings.NewReplacer(l.out, l.out+"/other", "{live: skip}", "last").Replace(string(mustRead(t, filepath.Join(l.dir, "check.yaml"))))
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
	for _, c := range []struct {
		live string
		o    options.Options
	}{{"skip", options.Options{Force: true}}, {"skip", options.Options{OnChange: options.Reload}}, {"error", options.Options{Force: true}}} {
		c.o.Conf = l.ConfDir()
		l.rewrite(t, "{live: skip}", "{live: "+c.live+"}")
		_, err := Run(context.Background(), l.job(t, night21), c.o)
		l.rewrite(t, "{live: "+c.live+"}", "{live: skip}")
		if failure.CodeOf(err) != errcode.LoadUnsure || !strings.Contains(err.Error(), "or may have: other.yaml (run ") {
			t.Errorf("%s, force %v: %v", c.live, c.o.Force, err)
		}
	}
	// As an operator who knows that no row is in both does it.
	l.rewrite(t, "{live: skip}", "{live: overwrite}")
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

// TestRowsThatExistAreLoadedOver: their number is reported.
func TestRowsThatExistAreLoadedOver(t *testing.T) {
	l, _ := existNight(t, "{input: error, live: overwrite}")
	s := mustRun(t, l.job(t, night21), l.options())
	wantExisting(t, s, 300, 0)
	l.wantVerified(t, night21, int64(len(l.expected(t, night21))))
	if again, err := Run(context.Background(), l.job(t, night21), l.options()); err != nil || again.Status != outcome.Nothing || again.Existing.Found != 300 {
		t.Errorf("%s, %+v, %v", again.Status, again.Existing, err)
	}
}

// TestFilesOfRowsThatExist: files that are written now and loaded later leave out the rows, too; verify without a load
// compares the others; a damaged file of keys is found before anything is written.
func TestFilesOfRowsThatExist(t *testing.T) {
	l, fresh := existNight(t, "{live: skip}")
	o := l.options()
	o.NoLoad = true
	wantExisting(t, mustRun(t, l.job(t, night21), o), 300, 300)
	want := l.expectedOf(t, night21, fresh)
	if r, err := verify.Job(context.Background(), l.job(t, night21), l.options(), false); err != nil || r.Cells != int64(len(want)) {
		t.Errorf("verify the files: %+v, %v", r, err)
	}
	l.damageKeys(t)
	if _, err := verify.Job(context.Background(), l.job(t, night21), l.options(), false); failure.CodeOf(err) != errcode.ManifestChanged || failure.KindOf(err) != failure.Differs {
		t.Errorf("verify with damaged keys: %v", err)
	}
	mustRun(t, l.job(t, night21), l.options()) // the files are written: it needs no keys
	l.wantTable(t, "loaded later", l.expected(t, night20), want)
}

// damageKeys changes the kept keys of a region.
func (l *live) damageKeys(t *testing.T) {
	t.Helper()
	w := l.work(t, l.job(t, night21))
	dir := path.Join(w.out.Path, manifest.ExistingDir)
	files, err := storage.List(w.out.FS, dir)
	if err != nil || len(files) != 10 {
		t.Fatal(files, err)
	}
	name := path.Join(dir, files[3].Name)
	content, err := storage.ReadFile(w.out.FS, name, 1<<20)
	if err == nil {
		content[len(content)/2]++
		err = storage.ReplaceFile(w.out.FS, name, name+".temp", content)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := w.out.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestCostOfLookUps: a table is asked for a thousand rows in one call, but for those of a region apart.
func TestCostOfLookUps(t *testing.T) {
	l := newLive(t)
	l.table10(t)
	l.rewrite(t, "load: true", "load: true\nduplicates: {live: skip}")
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
