package storage

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"bulkload/internal/test/testwords"
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
	dir := t.TempDir()
	check(t, os.Chmod(dir, 0o500))
	var err error
	asNobody(t, func() { _, err = Local.Create(filepath.Join(dir, "f"), 0) })
	wants(t, err, fs.ErrPermission)
}

// asNobody does something without root's rights to files, which would open everything. They are dropped on one thread
// of the system, which ends with its goroutine.
func asNobody(t *testing.T, do func()) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends
		var err error
		if os.Getuid() == 0 {
			err = syscall.Setfsuid(65534)
		}
		if err == nil {
			do()
		}
		done <- err
	}()
	check(t, <-done)
}

// TestLinksStay: deleting an empty directory does not delete a symbolic link to one, nor a link to nothing.
func TestLinksStay(t *testing.T) {
	dir := t.TempDir()
	real, link, lost, file := filepath.Join(dir, "real"), filepath.Join(dir, "link"), filepath.Join(dir, "lost"), filepath.Join(dir, "file")
	if err := errors.Join(os.Mkdir(real, 0o700), os.Symlink(real, link), os.Symlink(filepath.Join(dir, "nothing"), lost), os.Symlink("/etc/passwd", file)); err != nil {
		t.Fatal(err)
	}
	if err := Local.Remove(link); !testwords.Names(err, link, "symbolic link") {
		t.Errorf("a link to a directory: %v", err)
	}
	missing, err := Missing(Local, lost)
	if err != nil {
		t.Fatal(err)
	}
	RemoveEmpty(Local, append(missing, link))
	for _, name := range []string{real, link, lost} {
		if _, err := os.Lstat(name); err != nil {
			t.Error(err)
		}
	}
	if err := Local.Remove(file); err != nil { // a link to a file is as a file
		t.Error(err)
	}
	RemoveEmpty(Local, []string{real})
	if _, err := os.Lstat(real); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty directory stays: %v", err)
	}
}
