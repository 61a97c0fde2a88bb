package jobs

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
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/inspect/plan"
	"bulkload/jobs/inspect/verify"
	"bulkload/jobs/loading"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/run/preflight"
	"bulkload/jobs/spec/jobfile"
	"bulkload/load"
)

// TestCrashLiveChild is a process that other tests kill: it runs a job against the cluster until a point is reached the
// n-th time.
func TestCrashLiveChild(t *testing.T) {
	dir := os.Getenv(crashEnvironment + "_LIVE")
	if dir == "" {
		t.Skip("runs as a child of other tests")
	}
	day, err := jobfile.ParseText(os.Getenv(crashEnvironment + "_DATE"))
	if err != nil {
		t.Fatal(err)
	}
	j, err := jobfile.Read(filepath.Join(dir, "check.yaml"), jobfile.ReadOptions{Date: day})
	if err != nil {
		t.Fatal(err)
	}
	o := options.Options{Conf: os.Getenv(crashEnvironment + "_CONF"), Failpoint: killedByPoint(t)}
	if os.Getenv(crashEnvironment+"_POINT") == string(options.RangesSaved) {
		_, err = verify.Job(context.Background(), j, o, false)
	} else {
		_, err = Run(context.Background(), j, o)
	}
	t.Fatalf("the run came to its end: %v", err)
}

// crash runs a night's job in a process that is killed when it reaches a point the n-th time.
func (l *live) crash(t *testing.T, date string, at options.Point, times int) {
	t.Helper()
	if killed, output := l.child(date, at, times); !killed {
		t.Fatalf("the child was not killed when %q was reached %d times:\n%s", at, times, output)
	}
}

// child runs a night's job in a process that is killed when it reaches a point the n-th time. killed is false if it ended before.
func (l *live) child(date string, at options.Point, times int) (killed bool, output []byte) {
	return runChild("TestCrashLiveChild", at, times, "_LIVE="+l.dir, "_CONF="+l.ConfDir(), "_DATE="+date)
}

// wantStoreFiles counts the files that were loaded into the table, halves of regions that have split since left aside.
func (l *live) wantStoreFiles(t *testing.T, want int) {
	t.Helper()
	n := 0
	for _, line := range strings.Fields(l.oracle(t, "files", l.table)) {
		if !strings.Contains(line[strings.LastIndexByte(line, '/'):], ".") {
			n++
		}
	}
	if n != want {
		t.Errorf("the table has %d store files, want %d", n, want)
	}
}

const night20 = "2026-11-20"

// writtenNight is a table with ten regions, and a night for it whose files are written and not loaded.
func writtenNight(t *testing.T, rows int, seed uint64) *live {
	t.Helper()
	l := newLive(t)
	l.table10(t)
	l.night(t, night20, rows, seed)
	o := l.options()
	o.NoLoad = true
	mustRun(t, l.job(t, night20), o)
	return l
}

// TestFilesAreCutWhereRegionsSplit: regions split after their files were written. The files are cut, and each is loaded once.
func TestFilesAreCutWhereRegionsSplit(t *testing.T) {
	l := writtenNight(t, 2000, 40)
	for _, row := range []string{"15", "1a", "77"} {
		l.oracle(t, "split", l.table, row)
	}
	s := mustRun(t, l.job(t, night20), l.options())
	if s.Load.Files != 13 || len(s.Files) != 13 {
		t.Errorf("%d files were loaded, %d are listed", s.Load.Files, len(s.Files))
	}
	l.wantTable(t, "cut", l.expected(t, night20))
	l.wantStoreFiles(t, 13)
	l.wantAgain(t, night20)
	for _, row := range []string{"25", "45", "65"} { // the rows of a loaded file are in two regions from now on
		l.oracle(t, "split", l.table, row)
	}
	l.wantAgain(t, night20)
}

// TestRegionsSplitBetweenNights: a job that names its boundaries loads every night, also after regions of the table have split.
// The checks and plan say where its files are cut.
func TestRegionsSplitBetweenNights(t *testing.T) {
	l := newLive(t)
	l.rewrite(t, "regions: {from: table}", "regions: {from: splits, splits: ['1', '2', '3', '4', '5', '6', '7', '8', '9']}")
	l.table10(t)
	nights := []string{night20, "2026-11-21"}
	for i, date := range nights {
		l.night(t, date, 2000, 44+uint64(i))
	}
	mustRun(t, l.job(t, night20), l.options())
	for _, row := range []string{"15", "25", "77"} {
		l.oracle(t, "split", l.table, row)
	}
	ctx, j := t.Context(), l.job(t, nights[1])
	all, err := Check(ctx, []*jobfile.Job{j}, l.options())
	if err != nil || !slices.ContainsFunc(all.Runs[0].Checks, func(f preflight.Finding) bool {
		return f.Name == "boundaries" && f.State == preflight.Warning && strings.Contains(f.Text(), "(15, 25, 77)")
	}) {
		t.Errorf("the checks: %+v, %v", all.Runs[0].Checks, err)
	}
	if r, err := plan.Run(ctx, j, l.options(), plan.Options{Create: true}); err != nil || !r.Existed || !slices.Contains(found(r), "table-regions") {
		t.Errorf("the plan: %+v, %v", r, err)
	}
	if s := mustRun(t, j, l.options()); s.Load.Files != 13 {
		t.Errorf("%d files were loaded", s.Load.Files)
	}
	l.wantTable(t, "two nights", l.expected(t, night20), l.expected(t, nights[1]))
	for _, date := range nights {
		l.wantAgain(t, date)
		if r, err := verify.Job(ctx, l.job(t, date), l.options(), true); err != nil || r.Cells == 0 {
			t.Errorf("verify --live of %s: %+v, %v", date, r, err)
		}
	}
}

// TestRegionsSplitDuringLoad: the load continues with the files cut, and loads none twice.
func TestRegionsSplitDuringLoad(t *testing.T) {
	l := newLive(t)
	l.table10(t)
	l.night(t, night20, 2000, 41)
	o := l.options()
	var begun, taken, cut atomic.Int64
	o.Failpoint = func(p options.Point) {
		if p == options.Staging && begun.Add(1) == 1 {
			l.oracle(t, "split", l.table, "85")
		}
		if p == options.FilesLoaded && taken.Add(1) == 1 {
			l.oracle(t, "split", l.table, "95")
		}
		if p == options.PartsRecorded && cut.Add(1) == 1 { // a part is cut again
			l.oracle(t, "split", l.table, "82")
		}
	}
	s := mustRun(t, l.job(t, night20), o)
	if s.Load.Files < 12 || s.Load.Files != len(s.Files) {
		t.Errorf("%d files were loaded, %d are listed", s.Load.Files, len(s.Files))
	}
	l.wantTable(t, "split during the load", l.expected(t, night20))
	l.wantAgain(t, night20)
}

// TestKilledCutGoesOn kills the run at each step of a cut.
func TestKilledCutGoesOn(t *testing.T) {
	for _, at := range []options.Point{options.Cut, options.PartNamed, options.PartsRecorded, options.CutCleaned} {
		t.Run(string(at), func(t *testing.T) {
			l := writtenNight(t, 2000, 40)
			l.oracle(t, "split", l.table, "15")
			l.oracle(t, "split", l.table, "77")
			times := 2
			l.crash(t, night20, at, times)
			s := mustRun(t, l.job(t, night20), l.options())
			if s.Load.Files != 12 {
				t.Errorf("%s: %d files were loaded", at, s.Load.Files)
			}
			l.wantTable(t, fmt.Sprintf("killed at %q", at), l.expected(t, night20))
			l.wantStoreFiles(t, 12)
			l.wantAgain(t, night20)
		})
	}
}

// TestAlteredFamilyIsNoticedBeforeTheLoad: files with the settings of another time are not loaded.
func TestAlteredFamilyIsNoticedBeforeTheLoad(t *testing.T) {
	l := writtenNight(t, 300, 42)
	for _, setting := range []string{"DATA_BLOCK_ENCODING=NONE", "COMPRESSION=GZ", "BLOOMFILTER=ROWCOL", "BLOCKSIZE=8192"} {
		l.oracle(t, "alter", l.table, "f", setting)
		if _, err := Run(context.Background(), l.job(t, night20), l.options()); failure.KindOf(err) != failure.Refused || !strings.Contains(err.Error(), "was altered after") {
			t.Errorf("%s: %v", setting, err)
		}
		if _, err := loading.Directory(context.Background(), l.out+"/"+night20, l.table, l.options()); failure.KindOf(err) != failure.Refused || !strings.Contains(err.Error(), "was altered after") {
			t.Errorf("load DIR, %s: %v", setting, err)
		}
	}
	l.wantTable(t, "nothing loaded", []string{""})
	o := l.options()
	o.Force = true
	mustRun(t, l.job(t, night20), o)
	l.wantTable(t, "written again", l.expected(t, night20))
}

// TestFilesForOtherBoundariesAreCut: the table is made anew between writing and load. Most regions have merged; there are
// boundaries at a file's first row and at another one's last row, and three within one file. A region that would get too many
// files is noticed before anything is cut.
func TestFilesForOtherBoundariesAreCut(t *testing.T) {
	l := writtenNight(t, 1000, 43)
	before := l.manifest(t)
	files := before.Files()
	l.oracle(t, "drop", l.table)
	splits := []string{files[2].FirstRow, files[5].LastRow, "72", "75", "78"}
	l.oracle(t, "create", l.table, "f", strings.Join(splits, ","), keepAll, "COMPRESSION=SNAPPY", "DATA_BLOCK_ENCODING=FAST_DIFF", "BLOOMFILTER=ROW")
	o := l.options()
	o.Properties = map[string]string{load.MaxFilesProperty: "3"}
	if _, err := Run(context.Background(), l.job(t, night20), o); failure.CodeOf(err) != errcode.FilesLimit || !strings.Contains(err.Error(), "nothing was loaded") {
		t.Errorf("with a limit of 3 files: %v", err)
	}
	if m := l.manifest(t); m.State != manifest.Written || len(m.Files()) != len(files) {
		t.Errorf("after the refusal the manifest says %s, with %d files", m.State, len(m.Files()))
	}
	s := mustRun(t, l.job(t, night20), l.options())
	if s.Load.Files != 14 || s.Load.Regions != 6 {
		t.Errorf("loaded %+v, want the files 5 in two and 7 in four parts", s.Load)
	}
	after := map[string]bool{}
	for _, f := range l.manifest(t).Files() {
		after[f.Path] = true
	}
	for i, f := range files {
		if cut := i == 5 || i == 7; after[f.Path] == cut {
			t.Errorf("file %d, from %s: cut: %v", i, f.FirstRow, !cut)
		}
	}
	l.wantTable(t, "made anew", l.expected(t, night20))
	l.wantStoreFiles(t, 14)
	l.wantAgain(t, night20)
}

func (l *live) manifest(t *testing.T) *manifest.Manifest {
	t.Helper()
	fsys, name := l.hdfs(t, l.out+"/"+night20)
	m, err := manifest.Read(fsys, name)
	if err != nil || m == nil {
		t.Fatal(m, err)
	}
	return m
}

// TestMergedRegionsTakeFiles: regions merge between writing and load, and during the load. No file is cut.
func TestMergedRegionsTakeFiles(t *testing.T) {
	l := writtenNight(t, 600, 44)
	l.oracle(t, "merge", l.table, "0", "1")
	o := l.options()
	var request sync.Once
	o.Failpoint = func(p options.Point) {
		if p == options.BeforeRequest { // all requests wait for the merge
			request.Do(func() { l.oracle(t, "merge", l.table, "8", "9") })
		}
	}
	s := mustRun(t, l.job(t, night20), o)
	if s.Load.Files != 10 {
		t.Errorf("loaded %+v", s.Load)
	}
	l.wantTable(t, "merged", l.expected(t, night20))
	l.wantAgain(t, night20)
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

// TestWideRowsAreCutBetweenRows: a boundary within the first bytes of a wide row, and one right after it, leave the row whole.
func TestWideRowsAreCutBetweenRows(t *testing.T) {
	l := newLive(t)
	l.oracle(t, "create", l.table, "f", "", "COMPRESSION=SNAPPY", "DATA_BLOCK_ENCODING=FAST_DIFF")
	var text, want []string
	for _, row := range []string{"aa", "mm", "mmm", "z"} {
		for n := range 3000 {
			follower, since := fmt.Sprintf("%05d", n), fmt.Sprint(n*n)
			text = append(text, row+"|"+follower+"|"+since+"\n")
			want = append(want, fmt.Sprintf("%x\tf\t%x\t1700000000000\tPut\t%x", row, follower, since))
		}
	}
	for name, content := range map[string]string{"wide": strings.Join(text, ""), "wide.yaml": fmt.Sprintf(wideJob, l.table, l.out)} {
		if err := os.WriteFile(filepath.Join(l.dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	j, err := jobfile.Read(filepath.Join(l.dir, "wide.yaml"), jobfile.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	o := l.options()
	o.NoLoad = true
	mustRun(t, j, o)
	l.oracle(t, "drop", l.table)
	l.oracle(t, "create", l.table, "f", `m,mm\x00`, "COMPRESSION=SNAPPY", "DATA_BLOCK_ENCODING=FAST_DIFF")
	if s := mustRun(t, j, l.options()); s.Load.Files != 3 {
		t.Errorf("loaded %+v", s.Load)
	}
	l.wantTable(t, "wide", want)
}
