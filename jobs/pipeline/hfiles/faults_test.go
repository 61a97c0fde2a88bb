package hfiles_test

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"bulkload/cell"
	"bulkload/internal/storage"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/inspect/lookup"
	"bulkload/jobs/inspect/verify"
	"bulkload/jobs/pipeline/entry"
	"bulkload/jobs/pipeline/hfiles"
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

func (w *watchedFS) Create(name string, perm os.FileMode) (storage.FileWriter, error) {
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

// TestEachScanHasItsFile: several regions of one file are read in parallel, each through a file of its own, and none is
// open afterwards.
func TestEachScanHasItsFile(t *testing.T) {
	fsys := &watchedFS{FS: storage.Local, reading: func(*watchedFile) error { time.Sleep(time.Millisecond); return nil }}
	d, err := hfiles.OpenDirectory(fsys, runtest.OneRegion(t))
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
	out := runtest.OneRegion(t)
	var failing atomic.Bool
	fsys := &watchedFS{FS: storage.Local, reading: func(*watchedFile) error {
		if failing.Load() {
			return syscall.EIO
		}
		return nil
	}}
	d, err := hfiles.OpenDirectory(fsys, out)
	if err != nil {
		t.Fatal(err)
	}
	name := path.Join(out, d.Files[0].Path)
	failing.Store(true)
	_, opened := hfiles.OpenDirectory(fsys, out)
	for what, err := range map[string]error{
		"openDirectory":    opened,
		"directory.verify": verify.Opened(context.Background(), d, &verify.Verification{}),
		"directory.scan":   d.Scan(context.Background(), nil, nil, func(*cell.Cell) error { return nil }),
		"hfile.verify":     (&hfiles.TempFile{FS: fsys, Temp: name}).ReadBack(context.Background()),
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
		"directory.verify": verify.Opened(context.Background(), d, &verify.Verification{}), "directory.scan": scanned, "Inspect": inspected,
		"hfile.verify": (&hfiles.TempFile{FS: fsys, Temp: name}).ReadBack(context.Background()),
	} {
		if failure.KindOf(err) != failure.Differs || !testwords.Names(err, filepath.Base(name)) {
			t.Errorf("%s of a damaged file: %v is of kind %d", what, err, failure.KindOf(err))
		}
	}
}

// TestVerifyingStops: a verification ends in the middle of a file.
func TestVerifyingStops(t *testing.T) {
	d, err := hfiles.OpenDirectory(storage.Local, runtest.OneRegion(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	f := &hfiles.TempFile{FS: storage.Local, Temp: path.Join(d.Path, d.Files[0].Path)}
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
