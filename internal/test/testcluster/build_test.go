package testcluster

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

func TestCached(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	var filled atomic.Int32
	fill := func(dir string) error {
		filled.Add(1)
		return os.WriteFile(filepath.Join(dir, "whole"), nil, 0o644)
	}
	whole := func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, "whole"))
		return err == nil
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			dir, err := cached("x", fill, whole)
			if err != nil || !whole(dir) {
				t.Errorf("%s, %v", dir, err)
			}
		})
	}
	wg.Wait()
	if n := filled.Load(); n != 1 {
		t.Errorf("filled %d times", n)
	}
	dir, err := cached("x", fill, whole)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "whole"), filepath.Join(dir, "half")); err != nil {
		t.Fatal(err)
	}
	failure := errors.New("no room")
	if _, err := cached("x", func(string) error { return failure }, whole); !errors.Is(err, failure) {
		t.Errorf("error %v, want %v", err, failure)
	}
	if _, err := cached("x", fill, whole); err != nil || filled.Load() != 2 || !whole(dir) {
		t.Errorf("a folder that is whole no more: filled %d times, %v", filled.Load(), err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(dir), "x.*"))
	if err != nil || len(left) != 1 { // the lock
		t.Errorf("not deleted: %v, %v", left, err)
	}
}

func TestLastLines(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"a\nb\nc\n", 2, "b\nc"}, {"a\nb", 5, "a\nb"}, {"", 3, ""}, {"a\n\nb\n\n", 2, "\nb"},
	} {
		if got := lastLines(c.text, c.n); got != c.want {
			t.Errorf("the last %d lines of %q: %q, want %q", c.n, c.text, got, c.want)
		}
	}
}
