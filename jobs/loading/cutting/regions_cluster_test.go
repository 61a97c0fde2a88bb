package cutting_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"bulkload/internal/errcode"
	"bulkload/internal/test/livetest"
	"bulkload/internal/test/runtest"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/inspect/plan"
	"bulkload/jobs/inspect/verify"
	"bulkload/jobs/loading"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/run"
	"bulkload/jobs/run/preflight"
	"bulkload/jobs/spec/jobfile"
	"bulkload/jobs/stats"
	"bulkload/load"
)

// TestFilesAreCutWhereRegionsSplit: regions split after their files were written. The files are cut, and each is loaded
// once.
func TestFilesAreCutWhereRegionsSplit(t *testing.T) {
	l := livetest.WrittenNight(t, 2000, 40)
	for _, row := range []string{"15", "1a", "77"} {
		l.Ask(t, "split", l.Table, row)
	}
	s := runtest.Must(t, l.Job(t, livetest.Night20), l.Options())
	if s.Load.Files != 13 || len(s.Files) != 13 {
		t.Errorf("%d files were loaded, %d are listed", s.Load.Files, len(s.Files))
	}
	l.WantTable(t, "cut", l.Expected(t, livetest.Night20))
	l.WantStoreFiles(t, 13)
	l.WantNothing(t, "again", livetest.Night20)
	for _, row := range []string{"25", "45", "65"} { // the rows of a loaded file are in two regions from now on
		l.Ask(t, "split", l.Table, row)
	}
	l.WantNothing(t, "again", livetest.Night20)
}

// TestRegionsSplitBetweenNights: a job that names its boundaries loads every night, also after regions of the table
// have split. The checks and plan say where its files are cut.
func TestRegionsSplitBetweenNights(t *testing.T) {
	l := livetest.New(t)
	l.Rewrite(t, "regions: {from: table}", "regions: {from: splits, splits: ['1', '2', '3', '4', '5', '6', '7', '8', '9']}")
	l.Table10(t)
	nights := []string{livetest.Night20, "2026-11-21"}
	for i, date := range nights {
		l.Night(t, date, 2000, 44+uint64(i))
	}
	runtest.Must(t, l.Job(t, livetest.Night20), l.Options())
	for _, row := range []string{"15", "25", "77"} {
		l.Ask(t, "split", l.Table, row)
	}
	ctx, j := t.Context(), l.Job(t, nights[1])
	all, err := l.Findings(t, nights[1], l.Options())
	if err != nil {
		t.Errorf("the checks: %v", err)
	}
	livetest.WantFinding(t, all, "boundaries", preflight.Warning, "(15, 25, 77)")
	r, err := plan.Run(ctx, j, l.Options(), plan.PlanOptions{Create: true})
	if err != nil || !r.Existed || !slices.ContainsFunc(r.Checks, func(f stats.Finding) bool { return f.Code == "table-regions" }) {
		t.Errorf("the plan: %+v, %v", r, err)
	}
	if s := runtest.Must(t, j, l.Options()); s.Load.Files != 13 {
		t.Errorf("%d files were loaded", s.Load.Files)
	}
	l.WantTable(t, "two nights", l.Expected(t, livetest.Night20), l.Expected(t, nights[1]))
	for _, date := range nights {
		l.WantNothing(t, "again", date)
		if r, err := verify.Job(ctx, l.Job(t, date), l.Options(), true); err != nil || r.Cells == 0 {
			t.Errorf("verify --live of %s: %+v, %v", date, r, err)
		}
	}
}

// TestRegionsSplitDuringLoad: the load continues with the files cut, and loads none twice.
func TestRegionsSplitDuringLoad(t *testing.T) {
	l := livetest.New(t)
	l.Table10(t)
	l.Night(t, livetest.Night20, 2000, 41)
	o := l.Options()
	var begun, taken, cut atomic.Int64
	o.Failpoint = func(p options.Point) {
		if p == options.Staging && begun.Add(1) == 1 {
			l.Ask(t, "split", l.Table, "85")
		}
		if p == options.FilesLoaded && taken.Add(1) == 1 {
			l.Ask(t, "split", l.Table, "95")
		}
		if p == options.PartsRecorded && cut.Add(1) == 1 { // a part is cut again
			l.Ask(t, "split", l.Table, "82")
		}
	}
	s := runtest.Must(t, l.Job(t, livetest.Night20), o)
	if s.Load.Files < 12 || s.Load.Files != len(s.Files) {
		t.Errorf("%d files were loaded, %d are listed", s.Load.Files, len(s.Files))
	}
	l.WantTable(t, "split during the load", l.Expected(t, livetest.Night20))
	l.WantNothing(t, "again", livetest.Night20)
}

// TestKilledCutGoesOn kills the run at each step of a cut.
func TestKilledCutGoesOn(t *testing.T) {
	for _, at := range []options.Point{options.Cut, options.PartNamed, options.PartsRecorded, options.CutCleaned} {
		t.Run(string(at), func(t *testing.T) {
			l := livetest.WrittenNight(t, 2000, 40)
			l.Ask(t, "split", l.Table, "15")
			l.Ask(t, "split", l.Table, "77")
			times := 2
			l.Crash(t, livetest.Night20, at, times)
			s := runtest.Must(t, l.Job(t, livetest.Night20), l.Options())
			if s.Load.Files != 12 {
				t.Errorf("%s: %d files were loaded", at, s.Load.Files)
			}
			l.WantTable(t, fmt.Sprintf("killed at %q", at), l.Expected(t, livetest.Night20))
			l.WantStoreFiles(t, 12)
			l.WantNothing(t, "again", livetest.Night20)
		})
	}
}

// TestAlteredFamilyIsNoticedBeforeTheLoad: files with the settings of another time are not loaded.
func TestAlteredFamilyIsNoticedBeforeTheLoad(t *testing.T) {
	l := livetest.WrittenNight(t, 300, 42)
	for _, setting := range []string{"DATA_BLOCK_ENCODING=NONE", "COMPRESSION=GZ", "BLOOMFILTER=ROWCOL", "BLOCKSIZE=8192"} {
		l.Ask(t, "alter", l.Table, "f", setting)
		if _, err := run.Job(context.Background(), nil, l.Job(t, livetest.Night20), l.Options()); failure.CodeOf(err) != errcode.OutputChanged {
			t.Errorf("%s: %v", setting, err)
		}
		if _, err := loading.Directory(context.Background(), l.Out+"/"+livetest.Night20, l.Table, l.Options()); failure.CodeOf(err) != errcode.OutputChanged {
			t.Errorf("load DIR, %s: %v", setting, err)
		}
	}
	l.WantTable(t, "nothing loaded", []string{""})
	o := l.Options()
	o.Force = true
	runtest.Must(t, l.Job(t, livetest.Night20), o)
	l.WantTable(t, "written again", l.Expected(t, livetest.Night20))
}

// TestFilesForOtherBoundariesAreCut: the table is made anew between writing and load. Most regions have merged; there
// are boundaries at a file's first row and at another one's last row, and three within one file. A region that would
// get too many files is noticed before anything is cut.
func TestFilesForOtherBoundariesAreCut(t *testing.T) {
	l := livetest.WrittenNight(t, 1000, 43)
	before := l.Manifest(t)
	files := before.Files()
	l.Ask(t, "drop", l.Table)
	splits := []string{files[2].FirstRow, files[5].LastRow, "72", "75", "78"}
	l.Ask(t, "create", l.Table, "f", strings.Join(splits, ","), livetest.KeepAll, "COMPRESSION=SNAPPY", "DATA_BLOCK_ENCODING=FAST_DIFF", "BLOOMFILTER=ROW")
	o := l.Options()
	o.Properties = map[string]string{load.MaxFilesProperty: "3"}
	if _, err := run.Job(context.Background(), nil, l.Job(t, livetest.Night20), o); failure.CodeOf(err) != errcode.FilesLimit {
		t.Errorf("with a limit of 3 files: %v", err)
	}
	if m := l.Manifest(t); m.State != manifest.Written || len(m.Files()) != len(files) {
		t.Errorf("after the refusal the manifest says %s, with %d files", m.State, len(m.Files()))
	}
	s := runtest.Must(t, l.Job(t, livetest.Night20), l.Options())
	if s.Load.Files != 14 || s.Load.Regions != 6 {
		t.Errorf("loaded %+v, want the files 5 in two and 7 in four parts", s.Load)
	}
	after := map[string]bool{}
	for _, f := range l.Manifest(t).Files() {
		after[f.Path] = true
	}
	for i, f := range files {
		if cut := i == 5 || i == 7; after[f.Path] == cut {
			t.Errorf("file %d, from %s: cut: %v", i, f.FirstRow, !cut)
		}
	}
	l.WantTable(t, "made anew", l.Expected(t, livetest.Night20))
	l.WantStoreFiles(t, 14)
	l.WantNothing(t, "again", livetest.Night20)
}

// TestMergedRegionsTakeFiles: regions merge between writing and load, and during the load. No file is cut.
func TestMergedRegionsTakeFiles(t *testing.T) {
	l := livetest.WrittenNight(t, 600, 44)
	l.Ask(t, "merge", l.Table, "0", "1")
	o := l.Options()
	var request sync.Once
	o.Failpoint = func(p options.Point) {
		if p == options.BeforeRequest { // all requests wait for the merge
			request.Do(func() { l.Ask(t, "merge", l.Table, "8", "9") })
		}
	}
	s := runtest.Must(t, l.Job(t, livetest.Night20), o)
	if s.Load.Files != 10 {
		t.Errorf("loaded %+v", s.Load)
	}
	l.WantTable(t, "merged", l.Expected(t, livetest.Night20))
	l.WantNothing(t, "again", livetest.Night20)
}

const wideJob = `table: %[1]s
family: f
input: {path: wide, format: delimited, columns: [user, follower, since], field_delimiter: '|'}
timestamp: 1700000000000
rowkey: user
wide: {qualifier: follower, value: since}
regions: {from: table}
output: %[2]s/wide
load: true
`

// TestWideRowsAreCutBetweenRows: a boundary within the first bytes of a wide row, and one right after it, leave the row
// whole.
func TestWideRowsAreCutBetweenRows(t *testing.T) {
	l := livetest.New(t)
	l.Ask(t, "create", l.Table, "f", "", "COMPRESSION=SNAPPY", "DATA_BLOCK_ENCODING=FAST_DIFF")
	var text, want []string
	for _, row := range []string{"aa", "mm", "mmm", "z"} {
		for n := range 3000 {
			follower, since := fmt.Sprintf("%05d", n), fmt.Sprint(n*n)
			text = append(text, row+"|"+follower+"|"+since+"\n")
			want = append(want, fmt.Sprintf("%x\tf\t%x\t1700000000000\tPut\t%x", row, follower, since))
		}
	}
	for name, content := range map[string]string{"wide": strings.Join(text, ""), "wide.yaml": fmt.Sprintf(wideJob, l.Table, l.Out)} {
		if err := os.WriteFile(filepath.Join(l.Folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	j, err := jobfile.Read(filepath.Join(l.Folder, "wide.yaml"), jobfile.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	o := l.Options()
	o.NoLoad = true
	runtest.Must(t, j, o)
	l.Ask(t, "drop", l.Table)
	l.Ask(t, "create", l.Table, "f", `m,mm\x00`, "COMPRESSION=SNAPPY", "DATA_BLOCK_ENCODING=FAST_DIFF")
	if s := runtest.Must(t, j, l.Options()); s.Load.Files != 3 {
		t.Errorf("loaded %+v", s.Load)
	}
	l.WantTable(t, "wide", want)
}
