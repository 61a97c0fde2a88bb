package lock_test

import (
	"context"
	"fmt"
	"path"
	"sync/atomic"
	"testing"

	"bulkload/internal/storage"
	"bulkload/internal/test/livetest"
	"bulkload/internal/test/runtest"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/lock"
	"bulkload/jobs/env/site"
	"bulkload/jobs/run"
	"bulkload/jobs/spec/jobfile"
)

// TestStolenLockOfALoad takes the lock of a run away while it loads: it sends no request and records nothing any more,
// and the thief loads what is left.
func TestStolenLockOfALoad(t *testing.T) {
	const date = "2026-11-20"
	for _, c := range []struct {
		at    options.Point
		times int
	}{{options.Renamed, 3}, {options.Written, 1}, {options.BeforeRequest, 1}, {options.BeforeRequest, 3}, {options.FilesLoaded, 1}, {options.FilesLoaded, 4}} {
		t.Run(fmt.Sprint(c.at, c.times), func(t *testing.T) {
			l := livetest.New(t)
			l.Table10(t)
			l.Night(t, date, 1000, 31)
			o := l.Options()
			o.Properties = map[string]string{"hbase.loadincremental.threads.max": "1"}
			j := l.Job(t, date)
			fsys, dir := outputOf(t, l, j)
			var times atomic.Int64
			var after string
			o.Failpoint = func(p options.Point) {
				if p != c.at || times.Add(1) != int64(c.times) {
					return
				}
				if err := fsys.Remove(path.Join(dir, lock.LockName)); err != nil {
					t.Error(err)
				}
				thief := l.Options()
				thief.WorkDir = t.TempDir()
				if s, err := run.Job(context.Background(), nil, l.Job(t, date), thief); err != nil || s.Status != failure.StatusDone {
					t.Errorf("the thief: %v, %v", s.Status, err)
				}
				after = tracesOf(t, fsys, dir)
			}
			_, err := run.Job(context.Background(), nil, j, o)
			if failure.KindOf(err) != failure.Later || after == "" {
				t.Errorf("the run that lost its lock: kind %d, %v", failure.KindOf(err), err)
			}
			if now := tracesOf(t, fsys, dir); now != after {
				t.Errorf("the output was\n%s\nand is\n%s", after, now)
			}
			l.WantTable(t, "after the theft", l.Expected(t, date))
			if s := runtest.Must(t, l.Job(t, date), l.Options()); s.Status != failure.StatusNothing {
				t.Errorf("a run after that says %s", s.Status)
			}
		})
	}
}

// outputOf is the place of a job's output.
func outputOf(t *testing.T, l *livetest.Live, j *jobfile.Job) (storage.FS, string) {
	t.Helper()
	s, err := site.Open(l.Options(), j.HBase, true)
	if err != nil {
		t.Fatal(err)
	}
	fsys, dir, err := s.Resolve(j.Output, j.Dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = fsys.Close() })
	return fsys, dir
}

// tracesOf shows what changes when anything in an output is written again.
func tracesOf(t *testing.T, fsys storage.FS, dir string) (all string) {
	t.Helper()
	infos, err := storage.List(fsys, dir)
	if err != nil {
		t.Error(err)
	}
	for _, info := range infos {
		if info.Name == lock.TempDir {
			continue
		}
		all += fmt.Sprintf("%s %d %v\n", path.Join(dir, info.Name), info.Size, info.ModTime)
		if info.Dir {
			all += tracesOf(t, fsys, path.Join(dir, info.Name))
		}
	}
	return all
}
