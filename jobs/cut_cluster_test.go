package jobs

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"bulkload/jobs/failpoint"
	"bulkload/jobs/failure"
	"bulkload/jobs/jobfile"
	"bulkload/jobs/loading"
	"bulkload/jobs/options"
)

// TestCrashLiveChild is a process that other tests kill: it runs a job against the cluster until a point is reached the
// n-th time.
func TestCrashLiveChild(t *testing.T) {
	dir := os.Getenv(crashEnvironment + "_LIVE")
	if dir == "" {
		t.Skip("runs as a child of other tests")
	}
	at := failpoint.Point(os.Getenv(crashEnvironment + "_POINT"))
	left, err := strconv.Atoi(os.Getenv(crashEnvironment + "_TIMES"))
	if err != nil {
		t.Fatal(err)
	}
	day, err := jobfile.ParseText(os.Getenv(crashEnvironment + "_DATE"))
	if err != nil {
		t.Fatal(err)
	}
	j, err := jobfile.Read(filepath.Join(dir, "check.yaml"), jobfile.ReadOptions{Date: day})
	if err != nil {
		t.Fatal(err)
	}
	var times atomic.Int64
	_, err = Run(context.Background(), j, options.Options{Conf: os.Getenv(crashEnvironment + "_CONF"), Failpoint: func(p failpoint.Point) {
		if p == at && times.Add(1) == int64(left) {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}})
	t.Fatalf("the run came to its end: %v", err)
}

// crash runs a night's job in a process that is killed when it reaches a point the n-th time.
func (l *live) crash(t *testing.T, date string, at failpoint.Point, times int) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestCrashLiveChild$")
	cmd.Env = append(os.Environ(), crashEnvironment+"_LIVE="+l.dir, crashEnvironment+"_CONF="+l.ConfDir(), crashEnvironment+"_DATE="+date,
		crashEnvironment+"_POINT="+string(at), crashEnvironment+"_TIMES="+strconv.Itoa(times))
	output, err := cmd.CombinedOutput()
	if err == nil || cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the child was not killed when %q was reached %d times (%v):\n%s", at, times, err, output)
	}
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

// TestFilesAreCutWhereRegionsSplit: regions split after their files were written. The files are cut, and each is loaded once.
func TestFilesAreCutWhereRegionsSplit(t *testing.T) {
	l := newLive(t)
	l.table10(t)
	l.night(t, night20, 2000, 40)
	o := l.options()
	o.NoLoad = true
	mustRun(t, l.job(t, night20), o)
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

// TestRegionsSplitDuringLoad: the load continues with the files cut, and loads none twice.
func TestRegionsSplitDuringLoad(t *testing.T) {
	l := newLive(t)
	l.table10(t)
	l.night(t, night20, 2000, 41)
	o := l.options()
	var begun, taken atomic.Int64
	o.Failpoint = func(p failpoint.Point) {
		if p == failpoint.Staging && begun.Add(1) == 1 {
			l.oracle(t, "split", l.table, "85")
		}
		if p == failpoint.FilesLoaded && taken.Add(1) == 1 {
			l.oracle(t, "split", l.table, "95")
		}
	}
	s := mustRun(t, l.job(t, night20), o)
	if s.Load.Files < 11 || s.Load.Files != len(s.Files) {
		t.Errorf("%d files were loaded, %d are listed", s.Load.Files, len(s.Files))
	}
	l.wantTable(t, "split during the load", l.expected(t, night20))
	l.wantAgain(t, night20)
}

// TestKilledCutGoesOn kills the run at each step of a cut.
func TestKilledCutGoesOn(t *testing.T) {
	for _, at := range []failpoint.Point{failpoint.Cut, failpoint.PartNamed, failpoint.PartsRecorded, failpoint.CutCleaned} {
		t.Run(string(at), func(t *testing.T) {
			l := newLive(t)
			l.table10(t)
			l.night(t, night20, 2000, 40)
			o := l.options()
			o.NoLoad = true
			mustRun(t, l.job(t, night20), o)
			l.oracle(t, "split", l.table, "15")
			l.oracle(t, "split", l.table, "77")
			times := 2
			if at == failpoint.CutCleaned {
				times = 1
			}
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
	l := newLive(t)
	l.table10(t)
	l.night(t, night20, 300, 42)
	o := l.options()
	o.NoLoad = true
	mustRun(t, l.job(t, night20), o)
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
	o = l.options()
	o.Force = true
	mustRun(t, l.job(t, night20), o)
	l.wantTable(t, "written again", l.expected(t, night20))
}
