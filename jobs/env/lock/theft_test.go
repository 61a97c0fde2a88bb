package lock_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/runtest"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/lock"
	"bulkload/jobs/env/site"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/output"
	"bulkload/jobs/run"
	"bulkload/jobs/spec/jobfile"
)

// theft is another run of the same job that comes into the lock of one that is still at work, and does all of it.
type theft struct {
	dir, out string
	old      bool // the lock's owner is believed to be gone: its files are removed, so that none can come later
	once     sync.Once
	after    map[string]string // the output when the thief was done
}

// strike takes the lock away, and runs.
func (s *theft) strike(t *testing.T, work string) {
	s.once.Do(func() {
		name := filepath.Join(s.out, lock.LockName)
		if err := s.giveUp(name); err != nil {
			t.Error(err)
			return
		}
		j := jobtest.Check(t, s.dir, s.out)
		j.Input.MaxRejects.Count = 1000
		if sum, err := run.Job(context.Background(), nil, j, options.Options{WorkDir: work}); err != nil || sum.Status != failure.StatusDone && sum.Status != failure.StatusNothing {
			t.Errorf("the thief: %+v, %v", sum, err)
		}
		s.after = traces(t, s.out)
	})
}

// giveUp deletes the lock, as an operator may, or makes it that of a process which was not seen for long.
func (s *theft) giveUp(name string) error {
	if !s.old {
		return os.Remove(name)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var o lock.Owner
	if err := json.Unmarshal(text, &o); err != nil {
		return err
	}
	o.Boot = "another"
	if text, err = json.Marshal(o); err != nil {
		return err
	}
	then := time.Now().Add(-lock.LockStale - time.Minute)
	return errors.Join(os.WriteFile(name, text, 0o600), os.Chtimes(name, then, then))
}

// traces shows of each file of an output what changes when it is written again, even with the same bytes.
func traces(t *testing.T, out string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(out, func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && e.Name() == lock.TempDir {
			return fs.SkipDir
		}
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil && !e.IsDir() {
			rel, _ := filepath.Rel(out, name)
			all[rel] = fmt.Sprint(info.Size(), info.ModTime(), info.Sys())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return all
}

// stolenPoints are those at which something is published next.
var stolenPoints = []struct {
	at    options.Point
	times int
}{
	{options.Planned, 1}, {options.Sorted, 1}, {options.Begun, 1}, {options.Verified, 1}, {options.Verified, 6}, {options.Renamed, 1},
	{options.Renamed, 7}, {options.Recorded, 1}, {options.Recorded, 10}, {options.Balanced, 1}, {options.Written, 1}, {"rejects", 1},
}

// TestLockTakenOver takes the lock of a run away at each point after which it publishes something: it publishes nothing
// more, says so as a thing to be tried again, and what the thief has made stays as it is.
func TestLockTakenOver(t *testing.T) {
	dir := jobdir.Check(t, jobdir.CheckJob, 4000)
	jobdir.RejectsEvery(t, dir, 100)
	base := filepath.Join(dir, "base")
	job := func(out string) *jobfile.Job {
		j := jobtest.Check(t, dir, out)
		j.Input.MaxRejects.Count = 1000
		return j
	}
	runtest.Must(t, job(base), options.Options{})
	for _, c := range stolenPoints {
		for _, old := range []bool{false, true} {
			t.Run(fmt.Sprint(c.at, c.times, map[bool]string{false: " deleted", true: " given up"}[old]), func(t *testing.T) {
				out := filepath.Join(t.TempDir(), "out")
				s := &theft{dir: dir, out: out, old: old}
				var times atomic.Int64
				work := t.TempDir()
				hit := func(p options.Point) {
					if p == c.at && times.Add(1) == int64(c.times) {
						s.strike(t, work)
					}
				}
				o := options.Options{Failpoint: hit, Watch: func(p options.Progress) {
					if p.Phase == "sort" {
						hit("rejects") // which are published at the end of the reading
					}
				}}
				_, err := run.Job(context.Background(), nil, job(out), o)
				if s.after == nil {
					t.Fatalf("no theft: %v", err)
				}
				if failure.CodeOf(err) != errcode.RunAgain {
					t.Errorf("the run that lost its lock: kind %d, %v", failure.KindOf(err), err)
				}
				now := traces(t, out)
				for name, was := range s.after {
					if now[name] != was {
						t.Errorf("%s was changed after the theft: %s, now %s", name, was, now[name])
					}
				}
				for name := range now {
					if s.after[name] == "" {
						t.Errorf("%s was published after the theft", name)
					}
				}
				runtest.SameFiles(t, "stolen", base, out)
				if left, err := os.ReadDir(filepath.Join(out, lock.TempDir)); err == nil && len(left) > 0 {
					t.Errorf("left: %v", left)
				}
				if again := runtest.Must(t, job(out), options.Options{}); again.Status != failure.StatusNothing {
					t.Errorf("a run after that says %s", again.Status)
				}
			})
		}
	}
}

// replacingFS does something between the look at the lock and a rename.
type replacingFS struct {
	storage.FS
	before func(to string)
}

func (r *replacingFS) Replace(from, to string) error {
	if r.before != nil {
		r.before(to)
	}
	return r.FS.Replace(from, to)
}

// TestRunWithoutLockRenamesNothing: a run that sleeps between its look at the lock and its rename finds nothing to
// rename when it wakes up: who has taken the lock over meanwhile has removed its files.
func TestRunWithoutLockRenamesNothing(t *testing.T) {
	dir := t.TempDir()
	take := func() *output.Output {
		w := output.New(output.At(&replacingFS{FS: storage.Local}, dir, &site.Site{User: "tina"}, options.Options{}),
			&manifest.Manifest{Schema: manifest.Schema, State: manifest.Writing})
		if err := w.TakeLock(context.Background(), func(error) {}); err != nil {
			t.Fatal(err)
		}
		return w
	}
	var second *output.Output
	first := take()
	s := &theft{out: dir, old: true}
	first.Lock.FS.(*replacingFS).before = func(to string) {
		if filepath.Base(to) != manifest.Name || second != nil {
			return
		}
		if err := s.giveUp(filepath.Join(dir, lock.LockName)); err != nil {
			t.Error(err)
		}
		second = take()
		second.Manifest.State = manifest.Written
		if err := second.Save(); err != nil {
			t.Error(err)
		}
	}
	err := first.Save()
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the sleeper's rename: %v", err)
	}
	if err := first.Lock.Explain(err); failure.KindOf(err) != failure.Later {
		t.Errorf("of kind %d: %v", failure.KindOf(err), err)
	}
	text, err := os.ReadFile(filepath.Join(dir, manifest.Name))
	if err != nil || !strings.Contains(string(text), `"state": "written"`) {
		t.Errorf("the manifest is now (%v)\n%s", err, text)
	}
	if err := errors.Join(first.Close(), second.Close()); err != nil {
		t.Error(err)
	}
}
