package storage

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestLocal(t *testing.T) {
	conforms(t, Local, t.TempDir())
}

// TestRenameByLink: on file systems without RENAME_NOREPLACE, Rename keeps its promise, too.
func TestRenameByLink(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	write(t, Local, a, []byte("a"))
	write(t, Local, b, []byte("b"))
	if err := linkNew(a, b); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a taken name: %v", err)
	}
	check(t, linkNew(a, filepath.Join(dir, "c")))
	if _, err := Local.Stat(a); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the old name: %v", err)
	}
	check(t, Local.MkdirAll(filepath.Join(dir, "d"), 0))
	if err := linkNew(filepath.Join(dir, "d"), b); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a directory to a taken name: %v", err)
	}
	check(t, linkNew(filepath.Join(dir, "d"), filepath.Join(dir, "e")))
}

func TestLocalLinks(t *testing.T) {
	dir := t.TempDir()
	write(t, Local, filepath.Join(dir, "real"), []byte("1234"))
	check(t, os.Symlink("real", filepath.Join(dir, "good")))
	check(t, os.Symlink("gone", filepath.Join(dir, "bad")))
	infos, err := Local.ReadDir(dir)
	check(t, err)
	if len(infos) != 3 || infos[0].Name != "bad" || infos[1].Name != "good" || infos[1].Size != 4 || !infos[1].Mode.IsRegular() {
		t.Errorf("listed %+v", infos)
	}
}

func TestLocalNoPermission(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may write everywhere")
	}
	dir := t.TempDir()
	check(t, os.Chmod(dir, 0o500))
	_, err := Local.Create(filepath.Join(dir, "f"), 0)
	wants(t, err, fs.ErrPermission)
}
