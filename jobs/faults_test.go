package jobs

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"bulkload/cell"
	"bulkload/ingest/delimited"
	"bulkload/internal/storage"
	"bulkload/jobs/dirlock"
	"bulkload/jobs/entry"
	"bulkload/jobs/failpoint"
	"bulkload/jobs/failure"
	"bulkload/jobs/hfile"
	"bulkload/jobs/hfiledir"
	"bulkload/jobs/jobfile"
	"bulkload/jobs/lookup"
	"bulkload/jobs/manifest"
	"bulkload/jobs/options"
	"bulkload/jobs/output"
	"bulkload/jobs/source"
	"bulkload/jobs/verify"
)

// watchedFS is the local disk with a hand in some of its calls; nil leaves one alone.
type watchedFS struct {
	storage.FS
	remove  func(name string) error
	create  func(name string) error
	listed  func(dir string)
	reading func(*watchedFile) error
	open    atomic.Int64 // files
}

type watchedFile struct {
	storage.File
	fs   *watchedFS
	busy atomic.Int64
}

func (w *watchedFS) Remove(name string) error {
	if w.remove != nil {
		if err := w.remove(name); err != nil {
			return err
		}
	}
	return w.FS.Remove(name)
}

func (w *watchedFS) Create(name string, perm os.FileMode) (storage.Writer, error) {
	if w.create != nil {
		if err := w.create(name); err != nil {
			return nil, err
		}
	}
	return w.FS.Create(name, perm)
}

func (w *watchedFS) ReadDir(name string) ([]storage.Info, error) {
	infos, err := w.FS.ReadDir(name)
	if w.listed != nil {
		w.listed(name)
	}
	return infos, err
}

func (w *watchedFS) Open(name string) (storage.File, error) {
	f, err := w.FS.Open(name)
	if err != nil {
		return nil, err
	}
	w.open.Add(1)
	return &watchedFile{File: f, fs: w}, nil
}

func (f *watchedFile) ReadAt(b []byte, at int64) (int, error) {
	defer f.busy.Add(-1)
	if f.busy.Add(1) > 1 {
		return 0, errors.New("two read one file at a time")
	}
	if f.fs.reading != nil {
		if err := f.fs.reading(f); err != nil {
			return 0, err
		}
	}
	return f.File.ReadAt(b, at)
}

func (f *watchedFile) Close() error {
	f.fs.open.Add(-1)
	return f.File.Close()
}

// TestExportThatCommitsWhileItIsListed: an export gets its last file and _SUCCESS when the folder was just listed. It is
// refused then, not taken for complete.
func TestExportThatCommitsWhileItIsListed(t *testing.T) {
	dir := t.TempDir()
	put := func(name string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Error(err)
		}
	}
	put("part-0")
	fsys := &watchedFS{FS: storage.Local}
	fsys.listed = func(string) { put("part-1"); put(source.SuccessName) }
	j := &jobfile.Job{}
	j.Input.RequireSuccess, j.Input.Form = true, &delimited.Form{}
	s := &source.Source{Job: j, FS: fsys}
	if err := s.Find(dir); failure.KindOf(err) != failure.NotYet || !strings.Contains(err.Error(), "its export is not finished") {
		t.Errorf("%d files, %v", len(s.Files), err)
	}
	put("part-1")
	put(source.SuccessName)
	s = &source.Source{Job: j, FS: storage.Local}
	if err := s.Find(dir); err != nil || len(s.Files) != 2 {
		t.Errorf("finished: %d files, %v", len(s.Files), err)
	}
}

// TestSuccessOfGlobsAndFiles: the folders of what was found must each be finished.
func TestSuccessOfGlobsAndFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/part-0", "a/part-1", "b/part-0"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700), os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	j := &jobfile.Job{}
	j.Input.RequireSuccess, j.Input.Form = true, &delimited.Form{}
	find := func(name string) (int, error) {
		s := &source.Source{Job: j, FS: storage.Local}
		err := s.Find(filepath.Join(dir, name))
		return len(s.Files), err
	}
	names := map[string]int{"*": 3, "a": 2, "a/part-0": 1, "*/part-0": 2, "a/*": 2}
	for name := range names {
		if _, err := find(name); failure.KindOf(err) != failure.NotYet || !strings.Contains(err.Error(), "its export is not finished") {
			t.Errorf("%s, unfinished: %v", name, err)
		}
	}
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(dir, name, source.SuccessName), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range names {
		if n, err := find(name); n != want || err != nil {
			t.Errorf("%s, finished: %d files, want %d (%v)", name, n, want, err)
		}
	}
}

// TestCleaningCutShort: files that a killed run did not record are all found by the next cleaning, wherever the first one
// stopped.
func TestCleaningCutShort(t *testing.T) {
	for stop := range 4 {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "f"), 0o700); err != nil {
			t.Fatal(err)
		}
		m := &manifest.Manifest{State: manifest.Writing, Run: jobfile.RunInfo{ID: "run"}}
		for sequence := range 4 {
			if err := os.WriteFile(filepath.Join(dir, "f", hfile.Name("run", 0, 0, "f", sequence)), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		left := stop
		killed := &watchedFS{FS: storage.Local, remove: func(string) error {
			if left--; left < 0 {
				return errors.New("killed")
			}
			return nil
		}}
		if err := (&output.Dir{FS: killed, Path: dir}).RemoveUnrecorded(m, "f"); err == nil {
			t.Errorf("after %d: not stopped", stop)
		}
		if err := (&output.Dir{FS: storage.Local, Path: dir}).RemoveUnrecorded(m, "f"); err != nil {
			t.Error(err)
		}
		if names, err := os.ReadDir(filepath.Join(dir, "f")); err != nil || len(names) > 0 {
			t.Errorf("stopped after %d: %d are left for ever (%v)", stop, len(names), err)
		}
	}
}

// writtenDir is an output of one region's files.
func writtenDir(t *testing.T) string {
	t.Helper()
	job := strings.Replace(checkJob, "splits: ['1', '2', '3', '4', '5', '6', '7', '8', '9']", "splits: []", 1)
	dir := sampleDir(t, strings.Replace(job, "salt(check_id, 10) + ", "", 1), 2000)
	out := filepath.Join(dir, "out")
	mustRun(t, readCheck(t, dir, out), options.Options{})
	return out
}

// TestEachScanHasItsFile: several regions of one file are read side by side, each through a file of its own, and none is
// open afterwards.
func TestEachScanHasItsFile(t *testing.T) {
	fsys := &watchedFS{FS: storage.Local, reading: func(*watchedFile) error { time.Sleep(time.Millisecond); return nil }}
	d, err := hfiledir.Open(fsys, writtenDir(t))
	if err != nil || fsys.open.Load() != 0 {
		t.Fatalf("%d files are open (%v)", fsys.open.Load(), err)
	}
	var all atomic.Int64
	var group sync.WaitGroup
	bounds := []string{"", "4", "8", "c", ""}
	for i := range len(bounds) - 1 {
		group.Go(func() {
			err := d.Scan(context.Background(), []byte(bounds[i]), []byte(bounds[i+1]), func(*cell.Cell) error { all.Add(1); return nil })
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	var want int64
	if err := d.Scan(context.Background(), nil, nil, func(*cell.Cell) error { want++; return nil }); err != nil || want == 0 {
		t.Fatal(err)
	}
	if all.Load() != want || fsys.open.Load() != 0 {
		t.Errorf("%d cells, want %d; %d files are open", all.Load(), want, fsys.open.Load())
	}
}

// TestFaultIsNoDifference: a disk that fails is a failure; a damaged file is a difference.
func TestFaultIsNoDifference(t *testing.T) {
	out := writtenDir(t)
	var failing atomic.Bool
	fsys := &watchedFS{FS: storage.Local, reading: func(*watchedFile) error {
		if failing.Load() {
			return syscall.EIO
		}
		return nil
	}}
	d, err := hfiledir.Open(fsys, out)
	if err != nil {
		t.Fatal(err)
	}
	name := path.Join(out, d.Files[0].Path)
	failing.Store(true)
	_, opened := hfiledir.Open(fsys, out)
	for what, err := range map[string]error{
		"openDirectory":    opened,
		"directory.verify": verify.Opened(context.Background(), d, &verify.Report{}),
		"directory.scan":   d.Scan(context.Background(), nil, nil, func(*cell.Cell) error { return nil }),
		"hfile.verify":     (&hfile.File{FS: fsys, Temp: name}).ReadBack(context.Background()),
	} {
		if !errors.Is(err, syscall.EIO) || failure.KindOf(err) != failure.Failed {
			t.Errorf("%s: %v is of kind %d", what, err, failure.KindOf(err))
		}
	}
	failing.Store(false)
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	content[100] ^= 1
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	scanned := d.Scan(context.Background(), nil, nil, func(*cell.Cell) error { return nil })
	_, inspected := lookup.Inspect(context.Background(), name, options.Options{}, false, nil)
	for what, err := range map[string]error{
		"directory.verify": verify.Opened(context.Background(), d, &verify.Report{}), "directory.scan": scanned, "Inspect": inspected,
		"hfile.verify": (&hfile.File{FS: fsys, Temp: name}).ReadBack(context.Background()),
	} {
		if failure.KindOf(err) != failure.Differs || !strings.Contains(err.Error(), filepath.Base(name)) {
			t.Errorf("%s of a damaged file: %v is of kind %d", what, err, failure.KindOf(err))
		}
	}
}

// TestVerifyingStops: a verification ends in the middle of a file.
func TestVerifyingStops(t *testing.T) {
	d, err := hfiledir.Open(storage.Local, writtenDir(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	f := &hfile.File{FS: storage.Local, Temp: path.Join(d.Path, d.Files[0].Path)}
	if err := f.ReadBack(ctx); !errors.Is(err, context.Canceled) || failure.KindOf(err) != failure.Interrupted {
		t.Errorf("hfile.verify: %v", err)
	}
	if _, err := verify.CheckFile(ctx, d, d.Files[0]); !errors.Is(err, context.Canceled) {
		t.Errorf("directory.verifyFile: %v", err)
	}
	n := 0
	if err := d.Scan(ctx, nil, nil, func(*cell.Cell) error { n++; return nil }); !errors.Is(err, context.Canceled) || n >= entry.CheckEvery {
		t.Errorf("scan: %v after %d cells", err, n)
	}
}

// TestLostLock: a run whose lock another one holds, or may soon take, records nothing more.
func TestLostLock(t *testing.T) {
	dir := t.TempDir()
	var failing atomic.Bool
	fsys := &watchedFS{FS: storage.Local, create: func(string) error {
		if failing.Load() {
			return syscall.EIO
		}
		return nil
	}}
	l, err := dirlock.Take(context.Background(), fsys, dir, "tina", func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	w := &output.Dir{FS: l.Guarded(), Path: dir, Lock: l, Manifest: &manifest.Manifest{Schema: manifest.Schema}}
	if err := errors.Join(w.Save(), l.Touch()); err != nil {
		t.Fatal(err)
	}
	failing.Store(true)
	if err := l.Touch(); err != nil {
		t.Errorf("one failure to touch: %v", err)
	}
	l.SetTouched(time.Now().Add(-dirlock.LockStale/2 - time.Second))
	if err := l.Touch(); failure.KindOf(err) != failure.Later || !strings.Contains(err.Error(), "was not written for 5m1s") {
		t.Errorf("touch after a long time: %v", err)
	}
	failing.Store(false)
	if err := w.Save(); failure.KindOf(err) != failure.Later {
		t.Errorf("save after a long time: %v", err)
	}
	if err := errors.Join(l.Touch(), w.Save()); err != nil {
		t.Errorf("touched in time after all: %v", err)
	}
	saved, err := os.ReadFile(filepath.Join(dir, manifest.Name))
	if err != nil {
		t.Fatal(err)
	}
	w.Manifest.State = "changed"
	for what, text := range map[string]string{"taken": `{"host":"elsewhere","pid":7,"user":"otto"}`, "deleted": ""} {
		if err := os.Remove(filepath.Join(dir, dirlock.LockName)); err != nil {
			t.Fatal(err)
		}
		if text != "" {
			err = os.WriteFile(filepath.Join(dir, dirlock.LockName), []byte(text), 0o600)
		}
		if got := w.Save(); err != nil || failure.KindOf(got) != failure.Later || !strings.Contains(got.Error(), what) {
			t.Errorf("save with the lock %s: %v, %v", what, got, err)
		}
		if got := l.Touch(); failure.KindOf(got) != failure.Later {
			t.Errorf("touch with the lock %s: %v", what, got)
		}
		if err := os.WriteFile(filepath.Join(dir, dirlock.LockName), l.Text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if now, err := os.ReadFile(filepath.Join(dir, manifest.Name)); err != nil || string(now) != string(saved) {
		t.Errorf("the manifest was written without the lock (%v)", err)
	}
	if err := l.Release(); err != nil {
		t.Error(err)
	}
}

// TestForceBeginsAnew: --force helps where the run of the same input can't go on, however often it was tried without.
func TestForceBeginsAnew(t *testing.T) {
	dir := sampleDir(t, checkJob, 2000)
	base, out := filepath.Join(dir, "base"), filepath.Join(dir, "out")
	mustRun(t, readCheck(t, dir, base), options.Options{})
	crash(t, dir, failpoint.Recorded, 4)
	m, err := manifest.Read(storage.Local, out)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(out, m.Files()[0].Path)); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(context.Background(), readCheck(t, dir, out), options.Options{}); failure.KindOf(err) != failure.Refused || !strings.Contains(err.Error(), "--force") {
		t.Errorf("without --force: %v", err)
	}
	mustRun(t, readCheck(t, dir, out), options.Options{Force: true})
	sameFiles(t, "begun anew", base, out)
}

// TestMaxSizeOfTheSiteIsRecorded: where hbase.hregion.max.filesize has changed, the files of an unfinished run are written
// again.
func TestMaxSizeOfTheSiteIsRecorded(t *testing.T) {
	dir := sampleDir(t, strings.Replace(checkJob, ", max_size: 10GiB", "", 1), 4000)
	base, out := filepath.Join(dir, "base"), filepath.Join(dir, "out")
	small := options.Options{Properties: map[string]string{"hbase.hregion.max.filesize": "100000"}}
	mustRun(t, readCheck(t, dir, base), small)
	crash(t, dir, failpoint.Recorded, 4)
	mustRun(t, readCheck(t, dir, out), small)
	sameFiles(t, "with another size", base, out)
}
