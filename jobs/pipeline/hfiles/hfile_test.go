package hfiles

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"bulkload/hfilewriter"
	"bulkload/internal/storage"
	"bulkload/internal/test/testvalues"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/timing"
	"bulkload/load"
)

// TestNames: a file's name follows from the run and its position in it, forever: outputs of earlier programs are
// continued by it.
func TestNames(t *testing.T) {
	if got := Name("3f2a", 7, 1, "f", 2); got != "dee3abde63c1cac3a090519615c44011" {
		t.Errorf("the name is %s now", got)
	}
	names := map[string]bool{}
	for _, name := range []string{Name("r", 1, 0, "f", 0), Name("r", 0, 1, "f", 0), Name("r", 0, 0, "f", 1), Name("r", 0, 0, "g", 0), Name("s", 0, 0, "f", 0),
		Name("r", 11, 0, "f", 0), Name("r", 1, 1, "f", 0), PartName("f/a", []byte("r")), PartName("f/a", []byte("s")), PartName("f/b", []byte("r"))} {
		if !IsName(name) || names[name] {
			t.Errorf("%s is no name, or comes twice", name)
		}
		names[name] = true
	}
}

var settings = hfilewriter.Settings{Compression: hfilewriter.CompressNone, Encoding: hfilewriter.EncodeFastDiff, Bloom: hfilewriter.BloomRow}

// written writes a file of rows, and finishes it.
func written(t *testing.T, fsys storage.FS, rows ...string) *TempFile {
	t.Helper()
	return writtenAt(t, fsys, func(row int) int64 { return int64(100 + row) }, rows...)
}

// writtenAt is written with a timestamp for each row.
func writtenAt(t *testing.T, fsys storage.FS, at func(row int) int64, rows ...string) *TempFile {
	t.Helper()
	dir := t.TempDir()
	to := Destination{FS: fsys, Dir: dir, Temps: func() (string, error) { return dir, nil }}
	f, err := Create(to, FileMeta{Path: "f/" + Name("r", 0, 0, "f", 0), Family: "f"}, settings, hfilewriter.Provenance{}, new(timing.Stopwatch))
	if err != nil {
		t.Fatal(err)
	}
	columns, err := hfilewriter.NewColumns([]byte("f"), [][]byte{[]byte("a"), []byte("b")})
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range rows {
		if err := f.Writer.AppendRow(columns, []byte(row), at(i), testvalues.Of("x"+row, "")); err != nil {
			t.Fatal(err)
		}
		f.CountRow(at(i))
	}
	if err := f.Finish(); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestFileIsReadBack: the summary says what is in the file, and its probes are the first cells of the first and the
// last row.
func TestFileIsReadBack(t *testing.T) {
	f := written(t, storage.Local, "a", "b", "c\x00")
	if err := f.ReadBack(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f.Rows != 3 || f.Cells != 6 || f.FirstRow != "a" || f.LastRow != `c\x00` || f.First != 100 || f.Last != 102 || f.Digest.Cells != 6 || len(f.Probes) != 2 {
		t.Errorf("%+v", f.FileMeta)
	}
	h, err := f.Loadable()
	if err != nil || string(h.LastRow) != "c\x00" || len(h.Probes) != 2 || string(h.Probes[1].Row) != "c\x00" || h.Probes[1].Timestamp != 102 ||
		h.Probes[1].Value != load.SumValue([]byte("xc\x00")) || string(h.Probes[0].Qualifier) != "a" {
		t.Errorf("%+v, %v", h, err)
	}
	if err := f.Check(); err != nil {
		t.Errorf("the summary contradicts itself: %v", err)
	}
	if one := written(t, storage.Local, "a"); one.ReadBack(t.Context()) != nil || len(one.Probes) != 1 {
		t.Errorf("the probes of one row are %+v", one.Probes)
	}
}

// TestOldestCell: the oldest timestamp of a file is known even if it is neither the first row's nor the last's.
func TestOldestCell(t *testing.T) {
	for want, at := range map[int64][]int64{0: {100, 200, 150}, 50: {100, 50, 150}, 7: {100, 120, 7, 100}} {
		f := writtenAt(t, storage.Local, func(row int) int64 { return at[row] }, []string{"a", "b", "c", "d"}[:len(at)]...)
		h, err := f.Loadable()
		if err != nil || f.Oldest != want || h.Oldest != want {
			t.Errorf("%v: %d, for the load %d, %v; want %d", at, f.Oldest, h.Oldest, err, want)
		}
		dir := t.TempDir()
		name := filepath.Join(dir, "f", "1")
		if err := errors.Join(os.Mkdir(filepath.Dir(name), 0o700), os.Rename(f.Temp, name)); err != nil {
			t.Fatal(err)
		}
		if d, err := OpenDirectory(storage.Local, dir); err != nil || d.Files[0].Oldest != slices.Min(at) {
			t.Errorf("%v: the directory has %+v, %v", at, d.Files, err)
		}
	}
}

// TestWrongFilesAreFound: another number of rows, cells or bytes than were written, or a changed bit, is a difference.
func TestWrongFilesAreFound(t *testing.T) {
	for what, change := range map[string]func(*TempFile){
		"rows": func(f *TempFile) { f.Rows++ }, "cells": func(f *TempFile) { f.Cells-- }, "bytes": func(f *TempFile) { f.Bytes++ },
	} {
		f := written(t, storage.Local, "a", "b")
		change(f)
		if err := f.ReadBack(t.Context()); failure.KindOf(err) != failure.Differs || !testwords.Names(err, f.Temp) {
			t.Errorf("other %s: %v", what, err)
		}
	}
	f := written(t, storage.Local, "a", "b")
	sound, err := os.ReadFile(f.Temp)
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.Clone(sound)
	changed[50] ^= 0x10
	if err := os.WriteFile(f.Temp, changed, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.ReadBack(t.Context()); failure.KindOf(err) != failure.Differs || !testwords.Names(err, f.Temp) {
		t.Errorf("a bit of the first block: %v", err)
	}
}

// brokenFS is a disk that fails at the n-th read of a file.
type brokenFS struct {
	storage.FS
	left int
}

type brokenFile struct {
	storage.File
	fs *brokenFS
}

func (f *brokenFS) Open(name string) (storage.File, error) {
	file, err := f.FS.Open(name)
	return &brokenFile{file, f}, err
}

func (f *brokenFile) ReadAt(b []byte, at int64) (int, error) {
	if f.fs.left--; f.fs.left == 0 {
		return 0, syscall.EIO
	}
	return f.File.ReadAt(b, at)
}

// TestBrokenDiskIsNoDifference: whichever read fails, the error is the disk's, and says nothing of what the file
// contains.
func TestBrokenDiskIsNoDifference(t *testing.T) {
	fsys := &brokenFS{FS: storage.Local}
	f := written(t, fsys, "a", "b")
	if err := f.ReadBack(t.Context()); err != nil {
		t.Fatal(err)
	}
	reads := -fsys.left
	if reads < 3 {
		t.Fatalf("%d reads", reads)
	}
	for n := 1; n <= reads; n++ {
		fsys.left = n
		err := f.ReadBack(t.Context())
		if !errors.Is(err, syscall.EIO) || failure.KindOf(err) != failure.Failed || testwords.Names(err, "not in it") {
			t.Errorf("read %d of %d fails: kind %d, %v", n, reads, failure.KindOf(err), err)
		}
	}
}

// TestFileThatIsNotFinished: an aborted file is gone, and so is one that an earlier process has left under its name.
func TestFileThatIsNotFinished(t *testing.T) {
	dir := t.TempDir()
	to := Destination{FS: storage.Local, Dir: dir, Temps: func() (string, error) { return dir, nil }}
	name := Name("r", 0, 0, "f", 0)
	if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Create(to, FileMeta{Path: "f/" + name}, settings, hfilewriter.Provenance{}, new(timing.Stopwatch))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Abort(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v are left, %v", left, err)
	}
}

// TestReadBackIsInterruptible: a walk over cells ends with its context.
func TestReadBackIsInterruptible(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	visited := 0
	visit := Interruptible(ctx, func(*hfilewriter.CellBatch) error {
		if visited++; visited == 10 {
			cancel()
		}
		return nil
	})
	for range 1 << 20 {
		if err := visit(nil); err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			return
		}
	}
	t.Errorf("%d cells are visited", visited)
}
