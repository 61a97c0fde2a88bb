package ingest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"bulkload/internal/storage"
	"bulkload/internal/test/testfs"
)

func TestList(t *testing.T) {
	dir := testfs.Tree(t, map[string]string{
		"day/part-m-00001": "bb", "day/part-m-00000": "a", "day/_SUCCESS": "", "day/.part.crc": "x", "day/_logs/x": "x",
		"day/sub/part-1": "", "day/sub/_x/y": "y", "day2/part-m-00000": "ccc", "day.txt": "d", "_hidden/part-0": "h",
		"day2/[odd]*": "o", "empty/": "", "规则/部分": "e",
	})
	for _, c := range []struct {
		path string
		want []string
	}{
		{"day", []string{"day/part-m-00000", "day/part-m-00001", "day/sub/part-1"}},
		{"day/part-m-00001", []string{"day/part-m-00001"}},
		{"day*", []string{"day.txt", "day/part-m-00000", "day/part-m-00001", "day/sub/part-1", "day2/[odd]*", "day2/part-m-00000"}},
		{"day*/part-m-0000[01]", []string{"day/part-m-00000", "day/part-m-00001", "day2/part-m-00000"}},
		{"*/part-m-00000", []string{"day/part-m-00000", "day2/part-m-00000"}},
		{"day?/part*", []string{"day2/part-m-00000"}},
		{"day2/[odd]*", []string{"day2/[odd]*"}}, // exists as it is written
		{"_hidden", []string{"_hidden/part-0"}},  // named, not found
		{"_*/part-0", []string{"_hidden/part-0"}},
		{"day/_SUCCESS", []string{"day/_SUCCESS"}},
		{"empty", nil},
		{"*", []string{"day.txt", "day/part-m-00000", "day/part-m-00001", "day/sub/part-1", "day2/[odd]*", "day2/part-m-00000", "规则/部分"}},
	} {
		files, err := List(storage.Local, filepath.Join(dir, c.path))
		if err != nil {
			t.Errorf("%s: %v", c.path, err)
		}
		var names []string
		for i, f := range files {
			name, _ := filepath.Rel(dir, f.Path)
			names = append(names, name)
			if f.Ordinal != i || f.ModTime.IsZero() {
				t.Errorf("%s: %+v is number %d", c.path, f, i)
			}
		}
		if !reflect.DeepEqual(names, c.want) {
			t.Errorf("%s: %q, want %q", c.path, names, c.want)
		}
	}
	if files, _ := List(storage.Local, filepath.Join(dir, "day")); files[1].Size != 2 {
		t.Errorf("size %d", files[1].Size)
	}
	for _, name := range []string{"none", "none/part", "none*", "day/part-x*", "*/none"} {
		if files, err := List(storage.Local, filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v, %v", name, files, err)
		}
	}
	if _, err := List(storage.Local, filepath.Join(dir, "day[")); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a broken pattern: %v", err)
	}
}

// TestLoopOfLinks: a link to a folder above itself is named once, however it gets there. A link to another folder is
// followed.
func TestLoopOfLinks(t *testing.T) {
	for what, c := range map[string]struct{ link, target string }{
		"its folder":            {"in/l", "."},
		"the folder above that": {"in/sub/l", ".."},
		"above the input":       {"in/sub/l", "../.."},
		"by another folder":     {"other/l", "../in"},
	} {
		dir := testfs.Tree(t, map[string]string{"in/a": "", "in/sub/b": "", "other/c": ""})
		if err := errors.Join(os.Symlink("../other", filepath.Join(dir, "in/there")), os.Symlink(c.target, filepath.Join(dir, c.link))); err != nil {
			t.Fatal(err)
		}
		_, err := List(storage.Local, filepath.Join(dir, "in"))
		if !errors.Is(err, ErrLoop) || strings.Count(err.Error(), "/l") != 1 {
			t.Errorf("%s: %v", what, err)
		}
		if err := os.Remove(filepath.Join(dir, c.link)); err != nil {
			t.Fatal(err)
		}
		if files, err := List(storage.Local, filepath.Join(dir, "in")); err != nil || len(files) != 3 || filepath.Base(files[2].Path) != "c" {
			t.Errorf("%s, without the link: %v, %v", what, files, err)
		}
	}
}
