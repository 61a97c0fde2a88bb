package delimited

import (
	"bytes"
	"fmt"
	"path"
	"reflect"
	"testing"

	"bulkload/ingest"
	"bulkload/internal/test/testfs"

	"github.com/klauspost/compress/gzip"
)

// TestHDFS: a compressed file and one with escapes are read from HDFS as from the local disk, whole; a plain one is
// cut.
func TestHDFS(t *testing.T) {
	fsys, root := testfs.HDFS(t, "ingest")
	var text, packed bytes.Buffer
	for i := range 400_000 {
		fmt.Fprintf(&text, "%d\x01规则%d\x10", i, i%1000)
	}
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(text.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"packed.gz": packed.Bytes(), "plain": text.Bytes()} {
		w, err := fsys.Create(path.Join(root, name), 0)
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
	files, err := ingest.List(fsys, root)
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	plain, escaped := sqoop("a", "b"), sqoop("a", "b")
	escaped.Escape = '\\'
	m := testfs.Memory{Content: text.Bytes()}
	want := readAll(t, plain, m, ingest.Split{File: fileOf(m), End: fileOf(m).Size})
	for name, d := range map[string]*Form{"plain": plain, "escaped": escaped} {
		splits := splitsOf(t, fsys, d, files, 1_000_000)
		cut := map[string]bool{"plain": true}[name]
		if (len(splits) > 2) != cut {
			t.Fatalf("%s: %d splits", name, len(splits))
		}
		if got := readAll(t, d, fsys, splits[0]); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %d records of the compressed file, want %d", name, len(got), len(want))
		}
		n := 0
		for _, s := range splits[1:] {
			n += len(readAll(t, d, fsys, s))
		}
		if n != len(want) {
			t.Errorf("%s: %d records of the plain file, want %d", name, n, len(want))
		}
	}
}
