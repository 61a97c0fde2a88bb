package testfs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Read returns the content of a file on the local disk.
func Read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Lines returns the lines of a file on the local disk.
func Lines(t testing.TB, name string) []string {
	t.Helper()
	return strings.Split(strings.TrimSuffix(string(Read(t, name)), "\n"), "\n")
}

// Damage changes a byte in the middle of each file that matches a pattern.
func Damage(t testing.TB, pattern string) {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %v, %v", pattern, names, err)
	}
	for _, name := range names {
		content := Read(t, name)
		content[len(content)/2] ^= 0x55
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		at := len(content) / 2
		if _, err := f.WriteAt(content[at:at+1], int64(at)); err != nil || f.Close() != nil {
			t.Fatal(err)
		}
	}
}
