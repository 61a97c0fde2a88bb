package yarn

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"bulkload/partition"
)

// TestTicketsOfAKilledDriver: the next process that gets a ticket for Hadoop's commands deletes those of a process that
// was killed, and no others.
func TestTicketsOfAKilledDriver(t *testing.T) {
	bin, work := t.TempDir(), filepath.Join(t.TempDir(), "work")
	check(t, os.WriteFile(filepath.Join(bin, "kinit"), []byte("#!/bin/sh\necho ticket > \"$2\"\n"), 0o755))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	tickets := func() (e *Runner, file string) {
		e = &Runner{WorkDir: work, Principal: "loader", Keytab: "loader.keytab"}
		name, err := e.tickets.cache(t.Context(), e)
		check(t, err)
		return e, name[len("FILE:"):]
	}
	killed, stale := tickets()
	check(t, killed.tickets.lock.Close()) // as the kernel does
	living, used := tickets()
	last, own := tickets()
	foreign := filepath.Join(work, ticketsPrefix+"foreign")
	check(t, os.Mkdir(foreign, 0o777))
	check(t, os.Chmod(foreign, 0o777))
	holder, third := tickets()
	for file, stays := range map[string]bool{stale: false, used: true, own: true, third: true, foreign: true} {
		if _, err := os.Stat(file); (err == nil) != stays {
			t.Errorf("%s: %v", file, err)
		}
	}
	check(t, living.Close())
	check(t, last.Close())
	check(t, last.Close())
	for _, dir := range []string{filepath.Dir(used), filepath.Dir(own)} {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", dir, err)
		}
	}
	name, err := last.tickets.cache(t.Context(), last)
	check(t, err)
	if _, err := os.Stat(name[len("FILE:"):]); err != nil {
		t.Errorf("after a Close: %v", err)
	}
	check(t, last.Close())
	if lock, err := partition.LockFolder(filepath.Dir(third)); err == nil {
		t.Errorf("%s is not locked", lock.Name())
	}
	runtime.KeepAlive(holder) // the garbage collector would close its lock
}
