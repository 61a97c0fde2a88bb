package loading_test

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
	"bulkload/internal/test/livetest"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/testcluster"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/loading"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/run"
)

// laterNight makes night20's input of night19's: the records that hold the first and last rows of night19's files, and
// every share-th of the others.
func laterNight(t *testing.T, l *livetest.Live, m *manifest.Manifest, share int) {
	t.Helper()
	bounds := map[string]bool{} // IDs, with which row keys end: 1 digit of salt, 32 of MD5
	for _, f := range m.Files() {
		for _, p := range f.Probes {
			bounds[p.Row[33:]] = true
		}
	}
	text, err := os.ReadFile(filepath.Join(l.Folder, "in", livetest.Night19, "part-m-00000"))
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
	in := filepath.Join(l.Folder, "in", livetest.Night20)
	if err := errors.Join(os.MkdirAll(in, 0o755), os.WriteFile(filepath.Join(in, "part-m-00000"), []byte(strings.Join(kept, "")), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// twoNights loads night19 and, over it, night20, which has every share-th row of it and all rows by which night19 could
// be proved.
func twoNights(t *testing.T, share int) *livetest.Live {
	t.Helper()
	return nightsOf(t, livetest.New(t), share)
}

func nightsOf(t *testing.T, l *livetest.Live, share int) *livetest.Live {
	t.Helper()
	l.Table10(t)
	l.Night(t, livetest.Night19, 600, 63)
	runtest.Must(t, l.Job(t, livetest.Night19), l.Options())
	w := l.Open(t, l.Job(t, livetest.Night19))
	laterNight(t, l, w.Dir.Manifest, share)
	if err := w.Dir.Close(); err != nil {
		t.Fatal(err)
	}
	runtest.Must(t, l.Job(t, livetest.Night20), l.Options())
	return l
}

// TestALaterNightProvesNothing: the table loses all rows and a later night is loaded again, which covers every cell by
// which the earlier night could be proved. The earlier night is not done for that; nor is it if its output or its input
// is gone.
func TestALaterNightProvesNothing(t *testing.T) {
	l := twoNights(t, 2)
	l.Ask(t, "truncate", l.Table, "-preserve")
	l.WantCode(t, "truncated", livetest.Night19, errcode.LoadLost)
	o := l.Options()
	o.Force = true
	runtest.Must(t, l.Job(t, livetest.Night20), o)
	l.WantCode(t, "truncated, then the later night again", livetest.Night19, errcode.LoadLost)
	l.WantNothing(t, "loaded again", livetest.Night20)
	in, away := filepath.Join(l.Folder, "in", livetest.Night19), filepath.Join(l.Folder, "archive")
	if err := os.Rename(in, away); err != nil {
		t.Fatal(err)
	}
	l.WantCode(t, "without its input", livetest.Night19, errcode.LoadUnsure)
	l.WithoutOutput(t, livetest.Night19)
	l.WantCode(t, "without its input and its output", livetest.Night19, errcode.LoadUnsure)
	if err := os.Rename(away, in); err != nil {
		t.Fatal(err)
	}
	l.WantCode(t, "without its output", livetest.Night19, errcode.LoadLost)
	runtest.Must(t, l.Job(t, livetest.Night19), o)
	l.WantNothing(t, "loaded again", livetest.Night19)
}

// TestATruncatedRegionIsNoticed: as TestALaterNightProvesNothing, but only one region loses its rows, which changes
// nothing of the table itself.
func TestATruncatedRegionIsNoticed(t *testing.T) {
	l := twoNights(t, 2)
	l.Ask(t, "truncate-region", l.Table, "4")
	o := l.Options()
	o.Force = true
	runtest.Must(t, l.Job(t, livetest.Night20), o)
	l.WantCode(t, "a region truncated, then the later night again", livetest.Night19, errcode.LoadLost)
}

// TestEqualCellsOfALaterNightProveNothing: the records' timestamps are those of a column, so each night that has a
// record has equal cells. A region is truncated, and a later night with all known cells of the earlier one is loaded:
// its other rows are gone. As long as nothing was opened again, or only before the later night, the earlier night is
// done.
func TestEqualCellsOfALaterNightProveNothing(t *testing.T) {
	l := livetest.New(t)
	l.Rewrite(t, "timestamp: ${date}", "timestamp: column:created_at\ncolumns_map: {created_at: {type: timestamp, zone: Asia/Shanghai}}\n#")
	nightsOf(t, l, 2)
	l.WantNothing(t, "both loaded", livetest.Night19)
	l.Ask(t, "move", l.Table, "4")
	l.WantNothing(t, "a region moved", livetest.Night19)
	l.WantNothing(t, "a region moved", livetest.Night20)
	l.Ask(t, "truncate-region", l.Table, "4")
	l.WantCode(t, "a region truncated", livetest.Night20, errcode.LoadLost)
	o := l.Options()
	o.Force = true
	runtest.Must(t, l.Job(t, livetest.Night20), o)
	l.WantCode(t, "then the later night again", livetest.Night19, errcode.LoadLost)
	l.WithoutOutput(t, livetest.Night19)
	l.WantCode(t, "without its output", livetest.Night19, errcode.LoadLost)
	in := filepath.Join(l.Folder, "in", livetest.Night19)
	if err := os.Rename(in, in+".archived"); err != nil {
		t.Fatal(err)
	}
	l.WantCode(t, "without its output and its input", livetest.Night19, errcode.LoadUnsure)
}

// TestWhatLosesNoRowsIsNoLoss: regions are moved, split, merged and opened again, and a compaction drops what a later
// night has covered. Both nights stay done, whether the later one has all rows of the earlier one or some of them. In
// make search-cluster, whose cluster has no other users, the servers are restarted, too.
func TestWhatLosesNoRowsIsNoLoss(t *testing.T) {
	for share, what := range map[int]string{1: "all rows covered", 2: "half of the rows covered"} {
		t.Run(what, func(t *testing.T) {
			l := twoNights(t, share)
			type change struct {
				what string
				make func()
			}
			changes := []change{
				{"compacted", func() { l.Ask(t, "compact", l.Table) }},
				{"moved", func() {
					for _, row := range []string{"0", "4", "9"} {
						l.Ask(t, "move", l.Table, row)
					}
				}},
				{"split", func() { l.Ask(t, "split", l.Table, "48") }},
				{"merged", func() { l.Ask(t, "merge", l.Table, "6", "7") }},
				{"disabled and enabled", func() { l.Ask(t, "disable", l.Table); l.Ask(t, "enable", l.Table) }},
			}
			if testcluster.In("search-cluster") {
				for _, server := range []string{"rs1", "rs2"} {
					changes = append(changes, change{server + " restarted", func() {
						if err := errors.Join(l.Kill(server), l.StartRole(t.Context(), server)); err != nil {
							t.Fatal(err)
						}
						l.Ask(t, "scan", l.Table) // waits for the regions
					}})
				}
			}
			for _, change := range append(changes, change{"compacted again", func() { l.Ask(t, "compact", l.Table) }}) {
				change.make()
				for _, night := range []string{livetest.Night19, livetest.Night20} {
					l.WantNothing(t, change.what, night)
				}
			}
			l.WithoutOutput(t, livetest.Night19)
			l.WantNothing(t, "without its output", livetest.Night19)
		})
	}
}

// TestAFamilyThatLosesItsCells: of two families one is removed and added again, or gets a TTL. The table's state and
// its regions are the same, and cells of the other family are all there.
func TestAFamilyThatLosesItsCells(t *testing.T) {
	for what, change := range map[string]func(t *testing.T, l *livetest.Live){
		"removed and added": func(t *testing.T, l *livetest.Live) {
			l.Ask(t, "delete-family", l.Table, "g")
			l.Ask(t, "add-family", l.Table, "g", "COMPRESSION=SNAPPY", "DATA_BLOCK_ENCODING=FAST_DIFF", "BLOOMFILTER=ROW")
		},
		"a shorter TTL": func(t *testing.T, l *livetest.Live) { l.Ask(t, "alter", l.Table, "g", "TTL=5") },
	} {
		t.Run(what, func(t *testing.T) {
			l := livetest.New(t)
			l.Rewrite(t, "rowkey:", "columns_map: {remark: {to: 'g:remark'}}\nrowkey:")
			l.Table10(t)
			l.Ask(t, "add-family", l.Table, "g", "COMPRESSION=SNAPPY", "DATA_BLOCK_ENCODING=FAST_DIFF", "BLOOMFILTER=ROW")
			l.Night(t, livetest.Night20, 600, 64)
			runtest.Must(t, l.Job(t, livetest.Night20), l.Options())
			l.WantNothing(t, "loaded", livetest.Night20)
			change(t, l)
			l.WantCode(t, what, livetest.Night20, errcode.LoadLost)
		})
	}
}

// changedAt runs a night's job and calls change once, when the run reaches a point the n-th time: as if the run stood
// still while somebody changes the table.
func changedAt(t *testing.T, l *livetest.Live, date string, at options.Point, n int, o options.Options, change func()) error {
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
	s, err := run.Job(context.Background(), nil, l.Job(t, date), o)
	if n > 0 {
		t.Fatalf("the run did not reach %q so often: %s, %v", at, s.Status, err)
	}
	return err
}

// TestRestoredInTheMiddle: while a load is stopped, the table is restored to a snapshot of before the load. It has the
// same first and last cells then, or newer ones. The load must not take them for its own: it finds that rows are lost,
// writes and loads them again, and ends with 0. One request is sent at a time, so that none is under way then: it would
// be refused, as by a table that is disabled.
func TestRestoredInTheMiddle(t *testing.T) {
	t.Run("a correction", func(t *testing.T) {
		l := livetest.NewNight(t, nil)
		runtest.Must(t, l.Job(t, livetest.Night20), l.Options())
		l.Ask(t, "snapshot", "middle_"+l.Table, l.Table)
		l.Correct(t, livetest.Night20)
		l.Properties = map[string]string{"hbase.loadincremental.threads.max": "1"}
		o := l.Options()
		o.OnChange = options.Reload
		err := changedAt(t, l, livetest.Night20, options.FilesLoaded, 5, o, func() { l.Ask(t, "restore", "middle_"+l.Table, l.Table) })
		if err != nil {
			t.Fatal(err)
		}
		l.WantDigest(t, "restored in the middle of a correction", livetest.Night20)
		l.WantNothing(t, "and again", livetest.Night20)
	})
	t.Run("an older night", func(t *testing.T) {
		l := livetest.New(t)
		l.Table10(t)
		l.Night(t, livetest.Night19, 600, 63)
		w := l.Written(t, livetest.Night19)
		laterNight(t, l, w.Dir.Manifest, 2)
		if err := w.Dir.Close(); err != nil {
			t.Fatal(err)
		}
		runtest.Must(t, l.Job(t, livetest.Night20), l.Options())
		l.Ask(t, "snapshot", "middle_"+l.Table, l.Table)
		l.Properties = map[string]string{"hbase.loadincremental.threads.max": "1"}
		err := changedAt(t, l, livetest.Night19, options.FilesLoaded, 5, l.Options(), func() { l.Ask(t, "restore", "middle_"+l.Table, l.Table) })
		if err != nil {
			t.Fatal(err)
		}
		wantReadable(t, l, livetest.Night19)
	})
}

// TestRowsDeletedUnderALoad: after the last file of a correction, its table is restored to what it was before, and then
// a row is deleted. All rows are asked for, found missing and loaded again. The marker still hides the one row, which
// is for a person.
func TestRowsDeletedUnderALoad(t *testing.T) {
	l := livetest.NewNight(t, nil)
	runtest.Must(t, l.Job(t, livetest.Night20), l.Options())
	l.Ask(t, "snapshot", "deleted_"+l.Table, l.Table)
	l.Correct(t, livetest.Night20)
	row := middleRow(t, l, livetest.Night20)
	o := l.Options()
	o.OnChange = options.Reload
	err := changedAt(t, l, livetest.Night20, options.FilesLoaded, 10, o, func() {
		l.Ask(t, "restore", "deleted_"+l.Table, l.Table)
		l.Ask(t, "delete", l.Table, row)
	})
	if failure.CodeOf(err) != errcode.LoadLost || !testwords.Names(err, row) {
		t.Fatal(err)
	}
	// HBase may have compacted the region meanwhile, without the marker.
	if _, err := run.Job(context.Background(), nil, l.Job(t, livetest.Night20), o); err == nil {
		l.WantDigest(t, "loaded again", livetest.Night20)
	} else if failure.CodeOf(err) != errcode.LoadLost {
		t.Error(err)
	}
}

// middleRow is the row in the middle of the fifth region's rows of a night, which no load records as a cell to ask for.
func middleRow(t *testing.T, l *livetest.Live, date string) string {
	t.Helper()
	var rows []string
	for _, line := range l.Expected(t, date) {
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

// TestForceOverDeletedRows: --force writes and loads a run's rows once more. A row that a client has deleted stays
// hidden, and the run must not be called done.
func TestForceOverDeletedRows(t *testing.T) {
	l := livetest.NewNight(t, nil)
	runtest.Must(t, l.Job(t, livetest.Night20), l.Options())
	row := middleRow(t, l, livetest.Night20)
	l.Ask(t, "delete", l.Table, row)
	o := l.Options()
	o.Force = true
	if _, err := run.Job(context.Background(), nil, l.Job(t, livetest.Night20), o); failure.CodeOf(err) != errcode.LoadLost || !testwords.Names(err, row) {
		t.Fatal(err)
	}
	l.Ask(t, "compact", l.Table)
	runtest.Must(t, l.Job(t, livetest.Night20), o)
	l.WantDigest(t, "after a compaction without the marker", livetest.Night20)
}

// TestForceDoesNotTrustASnapshot: a run is loaded once more by --force. Its table is restored to a snapshot of between
// the two loads, which lacks a row that had been deleted. The cells that the snapshot has of the first load prove
// nothing of the second one.
func TestForceDoesNotTrustASnapshot(t *testing.T) {
	l := livetest.NewNight(t, nil)
	runtest.Must(t, l.Job(t, livetest.Night20), l.Options())
	l.Ask(t, "delete", l.Table, middleRow(t, l, livetest.Night20))
	l.Ask(t, "snapshot", "force_"+l.Table, l.Table)
	l.Ask(t, "truncate", l.Table, "-preserve")
	o := l.Options()
	o.Force = true
	runtest.Must(t, l.Job(t, livetest.Night20), o)
	l.Ask(t, "restore", "force_"+l.Table, l.Table)
	if _, err := run.Job(context.Background(), nil, l.Job(t, livetest.Night20), l.Options()); failure.CodeOf(err) != errcode.LoadLost {
		t.Error(err)
	}
}

// wantReadable checks that the table has each row of a night, as it was or newer, by a job that has nothing to do.
func wantReadable(t *testing.T, l *livetest.Live, date string) {
	t.Helper()
	l.WantNothing(t, "loaded", date)
	scanned := l.Ask(t, "scan", l.Table)
	for _, line := range l.Expected(t, date) {
		row, _, _ := strings.Cut(line, "\t")
		if !strings.Contains(scanned, row) {
			t.Fatalf("the table lacks row %s of night %s", row, date)
		}
	}
}

// TestAnOlderOutputComesBack: an output that was copied before its load is restored, as from a backup, after a
// correction was loaded. Neither the job nor load DIR loads the older rows over the newer ones, unless it is asked to.
func TestAnOlderOutputComesBack(t *testing.T) {
	l := livetest.NewNight(t, nil)
	w := l.Written(t, livetest.Night20)
	copied := path.Join(path.Dir(w.Dir.Path), "copy")
	copyTree(t, w.Dir.FS, w.Dir.Path, copied)
	if err := w.Dir.Close(); err != nil {
		t.Fatal(err)
	}
	in := filepath.Join(l.Folder, "in", livetest.Night20, "part-m-00000")
	info, err := os.Stat(in)
	if err != nil {
		t.Fatal(err)
	}
	older, err := os.ReadFile(in)
	if err != nil {
		t.Fatal(err)
	}
	runtest.Must(t, l.Job(t, livetest.Night20), l.Options())
	fsys, _ := l.HDFS(t, l.Out)
	loaded := path.Join(path.Dir(copied), "loaded")
	copyTree(t, fsys, path.Join(path.Dir(copied), livetest.Night20), loaded)
	l.Correct(t, livetest.Night20)
	o := l.Options()
	o.OnChange = options.Reload
	runtest.Must(t, l.Job(t, livetest.Night20), o)
	l.WantDigest(t, "corrected", livetest.Night20)
	corrected, err := os.ReadFile(in)
	if err != nil {
		t.Fatal(err)
	}
	l.WithoutOutput(t, livetest.Night20)
	copyTree(t, fsys, copied, path.Join(path.Dir(copied), livetest.Night20))
	if err := errors.Join(os.WriteFile(in, older, 0o600), os.Chtimes(in, info.ModTime(), info.ModTime())); err != nil {
		t.Fatal(err)
	}
	l.WantCode(t, "an older output", livetest.Night20, errcode.LoadOther)
	l.WithoutOutput(t, livetest.Night20)
	copyTree(t, fsys, loaded, path.Join(path.Dir(copied), livetest.Night20))
	l.WantCode(t, "an older output that was loaded", livetest.Night20, errcode.LoadOther)
	if _, err := loading.Directory(context.Background(), l.Out+"/"+livetest.Night20, l.Table, l.Options()); failure.CodeOf(err) != errcode.LoadOther {
		t.Errorf("load DIR of an older output that was loaded: %v", err)
	}
	l.WithoutOutput(t, livetest.Night20)
	copyTree(t, fsys, copied, path.Join(path.Dir(copied), livetest.Night20))
	if _, err := loading.Directory(context.Background(), l.Out+"/"+livetest.Night20, l.Table, l.Options()); failure.CodeOf(err) != errcode.LoadOther {
		t.Errorf("load DIR of an older output: %v", err)
	}
	if err := os.WriteFile(in, corrected, 0o600); err != nil {
		t.Fatal(err)
	}
	l.WantDigest(t, "refused", livetest.Night20)
	if err := errors.Join(os.WriteFile(in, older, 0o600), os.Chtimes(in, info.ModTime(), info.ModTime())); err != nil {
		t.Fatal(err)
	}
	runtest.Must(t, l.Job(t, livetest.Night20), o)
	l.WantDigest(t, "asked to load the older rows", livetest.Night20)
}

// TestTwoNamesOfATable: jobs that name a table with and without the default namespace take turns, and know each other's
// loads.
func TestTwoNamesOfATable(t *testing.T) {
	l := livetest.NewNight(t, nil)
	l.Night(t, livetest.Night19, 100, 63)
	named := func() { l.Rewrite(t, "table: "+l.Table, "table: default:"+l.Table) }
	fails := l.Options()
	fails.OnBusy = options.BusyFail
	if err := changedAt(t, l, livetest.Night20, options.FilesLoaded, 3, l.Options(), func() {
		named()
		if _, err := run.Job(context.Background(), nil, l.Job(t, livetest.Night19), fails); failure.CodeOf(err) != errcode.TableBusy {
			t.Errorf("while the table is loaded under its other name: %v", err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	l.WantNothing(t, "under the other name", livetest.Night20)
	l.WithoutOutput(t, livetest.Night20)
	l.WantNothing(t, "under the other name, without the output", livetest.Night20)
	runtest.Must(t, l.Job(t, livetest.Night19), fails)
	all, damaged, err := l.Ledger(t).Entries(l.Table)
	if err != nil || len(damaged) > 0 || len(all) != 2 || all[0].Table != l.Table || all[1].Table != l.Table {
		t.Errorf("the ledger has %+v, %+v, %v", all, damaged, err)
	}
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

// TestLoadOfMarkers: a file that begins and ends with delete markers is killed after HBase has taken it, and a
// compaction removes the markers. The same command ends the load: the file's rows are there.
func TestLoadOfMarkers(t *testing.T) {
	l := livetest.New(t)
	l.Ask(t, "create", l.Table, "f", "m")
	dir := l.Out + "/markers"
	var lines []string
	for _, row := range []string{"a", "b", "c"} {
		if row != "b" {
			lines = append(lines, livetest.Hex(row)+"\tf\t\t1000\tDeleteFamily\t")
		} else {
			lines = append(lines, livetest.Hex(row)+"\tf\t"+livetest.Hex("q")+"\t2000\tPut\t"+livetest.Hex("v"))
		}
	}
	l.OtherTools(t, dir, lines)
	l.CrashLoad(t, dir, options.FilesLoaded, 1)
	l.Ask(t, "compact", l.Table)
	if r, err := loading.Directory(context.Background(), dir, l.Table, l.Options()); err != nil || r.Status != failure.StatusDone {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestLoadOfMarkersAlone: a file of delete markers alone is killed after HBase has taken it, and a compaction removes
// the markers with what they hide. Nobody can tell then whether HBase had the file, so a person must act. With the file
// put there once more the command ends.
func TestLoadOfMarkersAlone(t *testing.T) {
	l := livetest.New(t)
	l.Ask(t, "create", l.Table, "f", "m")
	l.Ask(t, "put", l.Table, "a,f,q,500,v")
	dir := l.Out + "/markers"
	lines := []string{livetest.Hex("a") + "\tf\t\t1000\tDeleteFamily\t", livetest.Hex("b") + "\tf\t\t1000\tDeleteFamily\t"}
	l.OtherTools(t, dir, lines)
	fsys, name := l.HDFS(t, dir)
	copyTree(t, fsys, name, name+"_copied")
	l.CrashLoad(t, dir, options.FilesLoaded, 1)
	l.Ask(t, "compact", l.Table)
	if scanned := l.Ask(t, "scan", l.Table); strings.Contains(scanned, livetest.Hex("a")) {
		t.Fatalf("the row is still there: %s", scanned)
	}
	for range 2 {
		if _, err := loading.Directory(context.Background(), dir, l.Table, l.Options()); failure.CodeOf(err) != errcode.LoadUnsure && failure.CodeOf(err) != errcode.LoadLost ||
			!strings.Contains(err.Error(), "delete marker") || !strings.Contains(err.Error(), "once more") {
			t.Errorf("compacted: %v", err)
		}
	}
	if err := fsys.RemoveAll(name); err != nil {
		t.Fatal(err)
	}
	copyTree(t, fsys, name+"_copied", name)
	if r, err := loading.Directory(context.Background(), dir, l.Table, l.Options()); err != nil || r.Status != failure.StatusDone {
		t.Errorf("with the file put there once more: %+v, %v", r, err)
	}
}

// TestLoadDirOfALostTable: a load of a directory is killed in the middle, and the table is truncated. HBase has taken
// some of the files, and nobody can write them again, so a person must act, and the error says how; then the same
// command goes on.
func TestLoadDirOfALostTable(t *testing.T) {
	l := livetest.NewNight(t, nil)
	w := l.Written(t, livetest.Night20)
	copied := path.Join(path.Dir(w.Dir.Path), "copy")
	fsys, _ := l.HDFS(t, l.Out)
	if err := errors.Join(storage.RemoveIfThere(w.Dir.FS, w.Dir.Path, manifest.Name), w.Dir.Close()); err != nil {
		t.Fatal(err)
	}
	dir := l.Out + "/" + livetest.Night20
	copyTree(t, fsys, w.Dir.Path, copied)
	l.CrashLoad(t, dir, options.FilesLoaded, 4)
	l.Ask(t, "truncate", l.Table, "-preserve")
	for range 2 {
		_, err := loading.Directory(context.Background(), dir, l.Table, l.Options())
		if failure.CodeOf(err) != errcode.LoadLost || failure.KindOf(err) != failure.Refused || !strings.Contains(err.Error(), "once more") || strings.Contains(err.Error(), "--force") {
			t.Errorf("truncated in the middle: %v", err)
		}
	}
	if err := fsys.RemoveAll(w.Dir.Path); err != nil {
		t.Fatal(err)
	}
	copyTree(t, fsys, copied, w.Dir.Path)
	if r, err := loading.Directory(context.Background(), dir, l.Table, l.Options()); err != nil || r.Status != failure.StatusDone {
		t.Errorf("with the files put there once more: %+v, %v", r, err)
	}
	l.WantDigest(t, "loaded", livetest.Night20)
}

// TestDirectoriesAreKeptApart: a directory above an output is no load with nothing to do, and one whose load into a
// table was interrupted is not loaded into another.
func TestDirectoriesAreKeptApart(t *testing.T) {
	l := livetest.NewNight(t, nil)
	w := l.Written(t, livetest.Night20)
	if err := errors.Join(storage.RemoveIfThere(w.Dir.FS, w.Dir.Path, manifest.Name), w.Dir.Close()); err != nil {
		t.Fatal(err)
	}
	_, err := loading.Directory(context.Background(), l.Out, l.Table, l.Options())
	if failure.CodeOf(err) != errcode.HFileMissing || !testwords.Names(err, livetest.Night20) {
		t.Errorf("the directory above: %v", err)
	}
	dir := l.Out + "/" + livetest.Night20
	l.CrashLoad(t, dir, options.FilesLoaded, 3)
	other := l.Table + "_other"
	l.Ask(t, "create", other, "f", "5")
	t.Cleanup(func() { l.Ask(t, "drop", other) })
	if _, err := loading.Directory(context.Background(), dir, other, l.Options()); failure.CodeOf(err) != errcode.OutputUnfinished || !testwords.Names(err, l.Table) {
		t.Errorf("another table: %v", err)
	}
	if r, err := loading.Directory(context.Background(), dir, l.Table, l.Options()); err != nil || r.Status != failure.StatusDone {
		t.Errorf("%+v, %v", r, err)
	}
	l.WantDigest(t, "loaded", livetest.Night20)
}
