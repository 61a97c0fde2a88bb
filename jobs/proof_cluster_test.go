package jobs

import (
	"context"
	"encoding/hex"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/loading"
	"bulkload/jobs/pipeline/manifest"
)

const night19 = "2026-11-19" // the night before night20

// laterNight makes night20's input of night19's: the records that hold the first and last rows of night19's files, and every
// share-th of the others.
func (l *live) laterNight(t *testing.T, m *manifest.Manifest, share int) {
	t.Helper()
	bounds := map[string]bool{} // IDs, with which row keys end: 1 digit of salt, 32 of MD5
	for _, f := range m.Files() {
		for _, p := range f.Probes {
			bounds[p.Row[33:]] = true
		}
	}
	text, err := os.ReadFile(filepath.Join(l.dir, "in", night19, "part-m-00000"))
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for i, record := range strings.SplitAfter(string(text), "\x10") {
		id, _, _ := strings.Cut(record, "\x01")
		if bounds[id] || i%share == 0 {
			kept = append(kept, record)
		}
	}
	in := filepath.Join(l.dir, "in", night20)
	if err := errors.Join(os.MkdirAll(in, 0o755), os.WriteFile(filepath.Join(in, "part-m-00000"), []byte(strings.Join(kept, "")), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// twoNights loads night19 and, over it, night20, which has every share-th row of it and all rows by which night19 could be proved.
func twoNights(t *testing.T, share int) *live {
	t.Helper()
	l := newLive(t)
	l.table10(t)
	l.night(t, night19, 600, 63)
	mustRun(t, l.job(t, night19), l.options())
	w := l.work(t, l.job(t, night19))
	l.laterNight(t, w.out.Manifest, share)
	if err := w.out.Close(); err != nil {
		t.Fatal(err)
	}
	mustRun(t, l.job(t, night20), l.options())
	return l
}

// wantCode runs a night's job, which must end with a code.
func (l *live) wantCode(t *testing.T, what, date string, want errcode.Code) {
	t.Helper()
	s, err := Run(context.Background(), l.job(t, date), l.options())
	if failure.CodeOf(err) != want || failure.KindOf(err) != failure.Refused {
		t.Errorf("%s: night %s is %s, %v; want %v", what, date, s.Status, err, want)
	}
}

// wantNothing runs a night's job, which must have nothing to do.
func (l *live) wantNothing(t *testing.T, what, date string) {
	t.Helper()
	if s, err := Run(context.Background(), l.job(t, date), l.options()); err != nil || s.Status != failure.StatusNothing {
		t.Errorf("%s: night %s is %s, %v", what, date, s.Status, err)
	}
}

// TestALaterNightProvesNothing: the table loses all rows and a later night is loaded again, which covers every cell by which the
// earlier night could be proved. The earlier night is not done for that; nor is it if its output or its input is gone.
func TestALaterNightProvesNothing(t *testing.T) {
	l := twoNights(t, 2)
	l.oracle(t, "truncate", l.table, "-preserve")
	l.wantCode(t, "truncated", night19, errcode.LoadLost)
	o := l.options()
	o.Force = true
	mustRun(t, l.job(t, night20), o)
	l.wantCode(t, "truncated, then the later night again", night19, errcode.LoadLost)
	l.wantNothing(t, "loaded again", night20)
	in, away := filepath.Join(l.dir, "in", night19), filepath.Join(l.dir, "archive")
	if err := os.Rename(in, away); err != nil {
		t.Fatal(err)
	}
	l.wantCode(t, "without its input", night19, errcode.LoadUnsure)
	l.withoutOutput(t, night19)
	l.wantCode(t, "without its input and its output", night19, errcode.LoadUnsure)
	if err := os.Rename(away, in); err != nil {
		t.Fatal(err)
	}
	l.wantCode(t, "without its output", night19, errcode.LoadLost)
	mustRun(t, l.job(t, night19), o)
	l.wantNothing(t, "loaded again", night19)
}

// TestATruncatedRegionIsNoticed: as TestALaterNightProvesNothing, but only one region loses its rows, which changes nothing of the
// table itself.
func TestATruncatedRegionIsNoticed(t *testing.T) {
	l := twoNights(t, 2)
	l.oracle(t, "truncate-region", l.table, "4")
	o := l.options()
	o.Force = true
	mustRun(t, l.job(t, night20), o)
	l.wantCode(t, "a region truncated, then the later night again", night19, errcode.LoadLost)
}

// TestWhatLosesNoRowsIsNoLoss: regions are moved, split, merged and opened again, and a compaction drops what a later night has
// covered. Both nights stay done, whether the later one has all rows of the earlier one or some of them.
func TestWhatLosesNoRowsIsNoLoss(t *testing.T) {
	for share, what := range map[int]string{1: "all rows covered", 2: "half of the rows covered"} {
		t.Run(what, func(t *testing.T) {
			l := twoNights(t, share)
			for _, change := range []struct {
				what string
				make func()
			}{
				{"compacted", func() { l.oracle(t, "compact", l.table) }},
				{"moved", func() {
					for _, row := range []string{"0", "4", "9"} {
						l.oracle(t, "move", l.table, row)
					}
				}},
				{"split", func() { l.oracle(t, "split", l.table, "48") }},
				{"merged", func() { l.oracle(t, "merge", l.table, "6", "7") }},
				{"disabled and enabled", func() { l.oracle(t, "disable", l.table); l.oracle(t, "enable", l.table) }},
				{"compacted again", func() { l.oracle(t, "compact", l.table) }},
			} {
				change.make()
				for _, night := range []string{night19, night20} {
					l.wantNothing(t, change.what, night)
				}
			}
			l.withoutOutput(t, night19)
			l.wantNothing(t, "without its output", night19)
		})
	}
}

// TestAFamilyThatLosesItsCells: of two families one is removed and added again, or gets a TTL. The table's state and its regions
// are the same, and cells of the other family are all there.
func TestAFamilyThatLosesItsCells(t *testing.T) {
	for what, change := range map[string]func(t *testing.T, l *live){
		"removed and added": func(t *testing.T, l *live) {
			l.oracle(t, "delete-family", l.table, "g")
			l.oracle(t, "add-family", l.table, "g", "COMPRESSION=SNAPPY", "DATA_BLOCK_ENCODING=FAST_DIFF", "BLOOMFILTER=ROW")
		},
		"a shorter TTL": func(t *testing.T, l *live) { l.oracle(t, "alter", l.table, "g", "TTL=5") },
	} {
		t.Run(what, func(t *testing.T) {
			l := newLive(t)
			l.rewrite(t, "rowkey:", "columns_map: {remark: {to: 'g:remark'}}\nrowkey:")
			l.table10(t)
			l.oracle(t, "add-family", l.table, "g", "COMPRESSION=SNAPPY", "DATA_BLOCK_ENCODING=FAST_DIFF", "BLOOMFILTER=ROW")
			l.night(t, night20, 600, 64)
			mustRun(t, l.job(t, night20), l.options())
			l.wantNothing(t, "loaded", night20)
			change(t, l)
			l.wantCode(t, what, night20, errcode.LoadLost)
		})
	}
}

// changedAt runs a night's job and calls change once, when the run reaches a point the n-th time: as if the run stood still while
// somebody changes the table.
func (l *live) changedAt(t *testing.T, date string, at options.Point, n int, o options.Options, change func()) error {
	t.Helper()
	var once sync.Mutex
	o.Failpoint = func(p options.Point) {
		once.Lock()
		defer once.Unlock()
		if p != at {
			return
		}
		if n--; n == 0 {
			change()
		}
	}
	s, err := Run(context.Background(), l.job(t, date), o)
	if n > 0 {
		t.Fatalf("the run did not reach %q so often: %s, %v", at, s.Status, err)
	}
	return err
}

// TestRestoredInTheMiddle: while a load is stopped, the table is restored to a snapshot of before the load. It has the same first
// and last cells then, or newer ones. The load must not take them for its own: it writes and loads the lost rows again, or says
// that it is not done.
func TestRestoredInTheMiddle(t *testing.T) {
	t.Run("a correction", func(t *testing.T) {
		l := changedTable(t, nil)
		mustRun(t, l.job(t, night20), l.options())
		l.oracle(t, "snapshot", "middle_"+l.table, l.table)
		l.correct(t, night20)
		o := l.options()
		o.OnChange = options.Reload
		err := l.changedAt(t, night20, options.FilesLoaded, 5, o, func() { l.oracle(t, "restore", "middle_"+l.table, l.table) })
		if err == nil {
			l.wantDigest(t, "restored in the middle of a correction", night20)
			l.wantNothing(t, "and again", night20)
		} else if failure.KindOf(err) != failure.Refused {
			t.Error(err)
		}
	})
	t.Run("an older night", func(t *testing.T) {
		l := newLive(t)
		l.table10(t)
		l.night(t, night19, 600, 63)
		w := l.written(t, night19)
		l.laterNight(t, w.out.Manifest, 2)
		if err := w.out.Close(); err != nil {
			t.Fatal(err)
		}
		mustRun(t, l.job(t, night20), l.options())
		l.oracle(t, "snapshot", "middle_"+l.table, l.table)
		err := l.changedAt(t, night19, options.FilesLoaded, 5, l.options(), func() { l.oracle(t, "restore", "middle_"+l.table, l.table) })
		if err == nil {
			l.wantReadable(t, night19)
		} else if failure.KindOf(err) != failure.Refused {
			t.Error(err)
		}
	})
}

// TestRowsDeletedUnderALoad: after the last file of a correction, its table is restored to what it was before, and then a row is deleted. All
// rows are asked for, found missing and loaded again. The marker still hides the one row, which is for a person.
func TestRowsDeletedUnderALoad(t *testing.T) {
	l := changedTable(t, nil)
	mustRun(t, l.job(t, night20), l.options())
	l.oracle(t, "snapshot", "deleted_"+l.table, l.table)
	l.correct(t, night20)
	row := l.middleRow(t, night20)
	o := l.options()
	o.OnChange = options.Reload
	err := l.changedAt(t, night20, options.FilesLoaded, 10, o, func() {
		l.oracle(t, "restore", "deleted_"+l.table, l.table)
		l.oracle(t, "delete", l.table, row)
	})
	if failure.CodeOf(err) != errcode.LoadLost || !strings.Contains(err.Error(), "written and loaded again, such as") {
		t.Fatal(err)
	}
	// HBase may have compacted the region meanwhile, without the marker.
	if _, err := Run(context.Background(), l.job(t, night20), o); err == nil {
		l.wantDigest(t, "loaded again", night20)
	} else if failure.CodeOf(err) != errcode.LoadLost {
		t.Error(err)
	}
}

// middleRow is the row in the middle of the fifth region's rows of a night, which no load records as a cell to ask for.
func (l *live) middleRow(t *testing.T, date string) string {
	t.Helper()
	var rows []string
	for _, line := range l.expected(t, date) {
		text, _, _ := strings.Cut(line, "\t")
		row, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		if row[0] == '4' && !slices.Contains(rows, string(row)) {
			rows = append(rows, string(row))
		}
	}
	slices.Sort(rows)
	return rows[len(rows)/2]
}

// TestForceOverDeletedRows: --force writes and loads a run's rows once more. A row that a client has deleted stays hidden, and the run must
// not be called done.
func TestForceOverDeletedRows(t *testing.T) {
	l := changedTable(t, nil)
	mustRun(t, l.job(t, night20), l.options())
	l.oracle(t, "delete", l.table, l.middleRow(t, night20))
	o := l.options()
	o.Force = true
	if _, err := Run(context.Background(), l.job(t, night20), o); failure.CodeOf(err) != errcode.LoadLost || !strings.Contains(err.Error(), "loaded again, such as") {
		t.Fatal(err)
	}
	l.oracle(t, "compact", l.table)
	mustRun(t, l.job(t, night20), o)
	l.wantDigest(t, "after a compaction without the marker", night20)
}

// TestForceDoesNotTrustASnapshot: a run is loaded once more by --force. Its table is restored to a snapshot of between the two loads, which
// lacks a row that had been deleted. The cells that the snapshot has of the first load prove nothing of the second one.
func TestForceDoesNotTrustASnapshot(t *testing.T) {
	l := changedTable(t, nil)
	mustRun(t, l.job(t, night20), l.options())
	l.oracle(t, "delete", l.table, l.middleRow(t, night20))
	l.oracle(t, "snapshot", "force_"+l.table, l.table)
	l.oracle(t, "truncate", l.table, "-preserve")
	o := l.options()
	o.Force = true
	mustRun(t, l.job(t, night20), o)
	l.oracle(t, "restore", "force_"+l.table, l.table)
	if _, err := Run(context.Background(), l.job(t, night20), l.options()); failure.CodeOf(err) != errcode.LoadLost {
		t.Error(err)
	}
}

// wantReadable checks that the table has each row of a night, as it was or newer, by a job that has nothing to do.
func (l *live) wantReadable(t *testing.T, date string) {
	t.Helper()
	l.wantNothing(t, "loaded", date)
	scanned := l.oracle(t, "scan", l.table)
	for _, line := range l.expected(t, date) {
		row, _, _ := strings.Cut(line, "\t")
		if !strings.Contains(scanned, row) {
			t.Fatalf("the table lacks row %s of night %s", row, date)
		}
	}
}

// TestAnOlderOutputComesBack: an output that was copied before its load is restored, as from a backup, after a correction was
// loaded. Neither the job nor load DIR loads the older rows over the newer ones, unless told to.
func TestAnOlderOutputComesBack(t *testing.T) {
	l := changedTable(t, nil)
	w := l.written(t, night20)
	copied := path.Join(path.Dir(w.out.Path), "copy")
	copyTree(t, w.out.FS, w.out.Path, copied)
	if err := w.out.Close(); err != nil {
		t.Fatal(err)
	}
	in := filepath.Join(l.dir, "in", night20, "part-m-00000")
	info, err := os.Stat(in)
	if err != nil {
		t.Fatal(err)
	}
	older, err := os.ReadFile(in)
	if err != nil {
		t.Fatal(err)
	}
	mustRun(t, l.job(t, night20), l.options())
	fsys, loaded := l.hdfsOf(t), path.Join(path.Dir(copied), "loaded")
	copyTree(t, fsys, path.Join(path.Dir(copied), night20), loaded)
	l.correct(t, night20)
	o := l.options()
	o.OnChange = options.Reload
	mustRun(t, l.job(t, night20), o)
	l.wantDigest(t, "corrected", night20)
	corrected, err := os.ReadFile(in)
	if err != nil {
		t.Fatal(err)
	}
	l.withoutOutput(t, night20)
	copyTree(t, fsys, copied, path.Join(path.Dir(copied), night20))
	if err := errors.Join(os.WriteFile(in, older, 0o600), os.Chtimes(in, info.ModTime(), info.ModTime())); err != nil {
		t.Fatal(err)
	}
	l.wantCode(t, "an older output", night20, errcode.LoadOther)
	l.withoutOutput(t, night20)
	copyTree(t, fsys, loaded, path.Join(path.Dir(copied), night20))
	l.wantCode(t, "an older output that was loaded", night20, errcode.LoadOther)
	if _, err := loading.Directory(context.Background(), l.out+"/"+night20, l.table, l.options()); failure.CodeOf(err) != errcode.LoadOther {
		t.Errorf("load DIR of an older output that was loaded: %v", err)
	}
	l.withoutOutput(t, night20)
	copyTree(t, fsys, copied, path.Join(path.Dir(copied), night20))
	if _, err := loading.Directory(context.Background(), l.out+"/"+night20, l.table, l.options()); failure.CodeOf(err) != errcode.LoadOther {
		t.Errorf("load DIR of an older output: %v", err)
	}
	if err := os.WriteFile(in, corrected, 0o600); err != nil {
		t.Fatal(err)
	}
	l.wantDigest(t, "refused", night20)
	if err := errors.Join(os.WriteFile(in, older, 0o600), os.Chtimes(in, info.ModTime(), info.ModTime())); err != nil {
		t.Fatal(err)
	}
	mustRun(t, l.job(t, night20), o)
	l.wantDigest(t, "told to load the older rows", night20)
}

// copyTree copies a directory.
func copyTree(t *testing.T, fsys storage.FS, from, to string) {
	t.Helper()
	infos, err := storage.List(fsys, from)
	if err != nil {
		t.Fatal(err)
	}
	if err := fsys.MkdirAll(to, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, info := range infos {
		a, b := path.Join(from, info.Name), path.Join(to, info.Name)
		if info.Dir {
			copyTree(t, fsys, a, b)
			continue
		}
		text, err := storage.ReadFile(fsys, a, 64<<20)
		if err == nil {
			err = storage.CreateFile(fsys, b, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestLoadOfMarkers: a file that begins and ends with delete markers is killed after HBase has taken it, and a compaction removes
// the markers. The same command ends: the file's rows are there.
func TestLoadOfMarkers(t *testing.T) {
	l := newLive(t)
	l.oracle(t, "create", l.table, "f", "m")
	dir := l.out + "/markers"
	var lines []string
	for _, row := range []string{"a", "b", "c"} {
		if row != "b" {
			lines = append(lines, hexOf(row)+"\tf\t\t1000\tDeleteFamily\t")
		} else {
			lines = append(lines, hexOf(row)+"\tf\t"+hexOf("q")+"\t2000\tPut\t"+hexOf("v"))
		}
	}
	l.otherTools(t, dir, lines)
	l.crashLoad(t, dir, options.FilesLoaded, 1)
	l.oracle(t, "compact", l.table)
	if r, err := loading.Directory(context.Background(), dir, l.table, l.options()); err != nil || r.Status != failure.StatusNothing {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestLoadDirOfALostTable: a load of a directory is killed in the middle, and the table is truncated. HBase has taken some of the
// files, and nobody can write them again, so a person must act, and is told how; then the same command goes on.
func TestLoadDirOfALostTable(t *testing.T) {
	l := changedTable(t, nil)
	w := l.written(t, night20)
	copied := path.Join(path.Dir(w.out.Path), "copy")
	fsys := l.hdfsOf(t)
	if err := errors.Join(storage.RemoveIfThere(w.out.FS, w.out.Path, manifest.Name), w.out.Close()); err != nil {
		t.Fatal(err)
	}
	dir := l.out + "/" + night20
	copyTree(t, fsys, w.out.Path, copied)
	l.crashLoad(t, dir, options.FilesLoaded, 4)
	l.oracle(t, "truncate", l.table, "-preserve")
	for range 2 {
		_, err := loading.Directory(context.Background(), dir, l.table, l.options())
		if failure.CodeOf(err) != errcode.LoadLost || failure.KindOf(err) != failure.Refused || !strings.Contains(err.Error(), "once more") || strings.Contains(err.Error(), "--force") {
			t.Errorf("truncated in the middle: %v", err)
		}
	}
	if err := fsys.RemoveAll(w.out.Path); err != nil {
		t.Fatal(err)
	}
	copyTree(t, fsys, copied, w.out.Path)
	if r, err := loading.Directory(context.Background(), dir, l.table, l.options()); err != nil || r.Status != failure.StatusDone {
		t.Errorf("with the files put there once more: %+v, %v", r, err)
	}
	l.wantDigest(t, "loaded", night20)
}

// TestDirectoriesAreKeptApart: a directory above an output is no load with nothing to do, and one whose load into a table was
// interrupted is not loaded into another.
func TestDirectoriesAreKeptApart(t *testing.T) {
	l := changedTable(t, nil)
	w := l.written(t, night20)
	if err := errors.Join(storage.RemoveIfThere(w.out.FS, w.out.Path, manifest.Name), w.out.Close()); err != nil {
		t.Fatal(err)
	}
	_, err := loading.Directory(context.Background(), l.out, l.table, l.options())
	if failure.CodeOf(err) != errcode.HFileNone || !strings.Contains(err.Error(), night20) {
		t.Errorf("the directory above: %v", err)
	}
	dir := l.out + "/" + night20
	l.crashLoad(t, dir, options.FilesLoaded, 3)
	other := l.table + "_other"
	l.oracle(t, "create", other, "f", "5")
	t.Cleanup(func() { l.oracle(t, "drop", other) })
	if _, err := loading.Directory(context.Background(), dir, other, l.options()); failure.CodeOf(err) != errcode.LoadInterrupted || !strings.Contains(err.Error(), l.table) {
		t.Errorf("another table: %v", err)
	}
	if r, err := loading.Directory(context.Background(), dir, l.table, l.options()); err != nil || r.Status != failure.StatusDone {
		t.Errorf("%+v, %v", r, err)
	}
	l.wantDigest(t, "loaded", night20)
}
