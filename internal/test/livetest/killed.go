package livetest

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"bulkload/internal/storage"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/testfs"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
)

// child is a night's job in a process that kills itself when it reaches a point for the n-th time. If the point belongs
// to verification, the process verifies what the job has loaded.
func (l *Live) child(date string, at options.Point, times int) runtest.Killed {
	return runtest.Killed{Dir: l.Folder, Date: date, Conf: l.ConfDir(), At: at, Times: times, Verify: at == options.RangesSaved}
}

// Crash runs a night's job in a process that is killed when it reaches a point for the n-th time.
func (l *Live) Crash(t *testing.T, date string, at options.Point, times int) {
	t.Helper()
	l.child(date, at, times).Kill(t)
}

// Died is Crash, but the job may complete first.
func (l *Live) Died(t *testing.T, date string, at options.Point, times int) (died bool, output []byte) {
	t.Helper()
	return l.child(date, at, times).Died(t)
}

// CrashLoad loads a directory in a process that is killed when it reaches a point for the n-th time.
func (l *Live) CrashLoad(t *testing.T, dir string, at options.Point, times int) {
	t.Helper()
	runtest.Killed{Load: dir, Table: l.Table, Conf: l.ConfDir(), At: at, Times: times}.Kill(t)
}

// Faulted loads while the n-th call of storage fails (0: no call does), and repeats the load without a fault if it
// ended with an error. It returns how many calls the first load made.
func (l *Live) Faulted(t *testing.T, n int64, load func(options.Options) error) (calls int64) {
	t.Helper()
	f := new(testfs.Fault)
	f.Left.Store(n)
	o := l.Options()
	o.Storage = func(fsys storage.FS) storage.FS { return &testfs.Failing{FS: fsys, Fault: f} }
	err := load(o)
	calls = n - f.Left.Load()
	what := fmt.Sprintf("call %d of %d, %v", n, calls, f.Failed())
	if n > 0 {
		t.Logf("%s: %v", what, err)
	}
	if err == nil {
		if n > 0 {
			runtest.WantHarmless(t, f, n)
		}
		return calls
	}
	if kind := failure.KindOf(err); !errors.Is(err, syscall.EIO) || kind != failure.Failed && kind != failure.Later {
		t.Errorf("%s: kind %d: %v", what, kind, err)
	}
	if err := load(l.Options()); err != nil {
		t.Errorf("%s: the same command again: %v", what, err)
	}
	return calls
}
