package csv

import (
	"fmt"
	"path"
	"strings"
	"testing"

	"bulkload/ingest"
	"bulkload/internal/test/testfs"
)

// TestHDFS: files of a folder in HDFS, longer than the window and not, give their records.
func TestHDFS(t *testing.T) {
	fsys, root := testfs.HDFS(t, "csv")
	for i, rows := range []int{3, 100_000} {
		content := "\"ID\",\"NOTE\"\n" + strings.Repeat("1,\"line\nbreak \"\"x\"\"\"\n", rows)
		w, err := fsys.Create(path.Join(root, fmt.Sprintf("part-%d.csv", i)), 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	files, err := ingest.List(fsys, root)
	if err != nil {
		t.Fatal(err)
	}
	f := form("note", "id")
	splits, err := f.Splits(fsys, files, 1<<20)
	if err != nil || len(splits) != 2 {
		t.Fatal(splits, err)
	}
	var n int
	for _, s := range splits {
		in, err := f.Open(fsys, s)
		if err != nil {
			t.Fatal(err)
		}
		for {
			rec, err := in.Next()
			if err != nil {
				break
			}
			if n++; joined(rec.Fields) != "line\nbreak \"x\"|1" {
				t.Fatalf("record %d: %q", n, joined(rec.Fields))
			}
		}
		if in.Bytes() != s.File.Size {
			t.Errorf("%s: read to byte %d of %d", s.File.Path, in.Bytes(), s.File.Size)
		}
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if n != 100_003 {
		t.Errorf("%d records, want 100003", n)
	}
}
