package parquet

import (
	"os"
	"path"
	"path/filepath"
	"testing"
	"time"

	"bulkload/ingest"
	"bulkload/internal/storage"
	"bulkload/internal/test/sample"
	"bulkload/internal/test/testfs"
)

// TestHDFS: a file is read from HDFS as from the local disk, whole and split by split, with separate streams for long
// column chunks.
func TestHDFS(t *testing.T) {
	fsys, root := testfs.HDFS(t, "parquet")
	local := filepath.Join(t.TempDir(), "check.parquet")
	writeCheck(t, local, 20_000)
	for _, c := range []struct {
		file string
		form *FlatForm
	}{
		{local, &FlatForm{Columns: sample.CheckColumns}},
		{"testdata/small.parquet", &FlatForm{Columns: smallColumns}},
	} {
		want, _, err := readAll(c.form, listed(t, c.file), 0)
		if err != nil {
			t.Fatal(err)
		}
		name := path.Join(root, filepath.Base(c.file))
		putFile(t, fsys, name, c.file)
		files, err := ingest.List(fsys, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range []int64{0, 1} {
			begun := time.Now()
			got, bad, err := readFrom(fsys, c.form, files, size)
			if err != nil || len(bad) > 0 {
				t.Fatal(bad, err)
			}
			t.Logf("%s, %d bytes: %d rows in %v", name, files[0].Size, len(got), time.Since(begun))
			compareRows(t, described{Columns: c.form.Columns, Rows: want}, got)
		}
	}
}

func putFile(t *testing.T, fsys storage.FS, name, from string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	w, err := fsys.Create(name, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
