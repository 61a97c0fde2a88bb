package compressed

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/test/testcluster"
)

// TestHadoopCodecs reads the output of Hadoop's own codecs, whose text was written in one call, by lines, and with
// small buffers: see ../delimited/testdata/java/Codecs.java.
func TestHadoopCodecs(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a JVM")
	}
	dir := t.TempDir()
	var names []string
	for name, text := range texts() {
		names = append(names, filepath.Join(dir, name))
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := testcluster.Program(t, os.DirFS("../delimited/testdata/java"), "300m", "ingest.Codecs", names...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.*.*"))
	if err != nil || len(files) != len(texts())*(3+2*3) {
		t.Fatalf("%d files, %v", len(files), err)
	}
	codecs := map[string]Codec{".gz": Gzip, ".bz2": Bzip2, ".deflate": Deflate, ".snappy": HadoopSnappy, ".lz4": HadoopLZ4}
	for _, file := range files {
		want := texts()[strings.Split(filepath.Base(file), ".")[0]]
		got, codec, err := readFile(t, file, Auto)
		if err != nil || codec != codecs[filepath.Ext(file)] || !bytes.Equal(got, want) {
			t.Errorf("%s: %s, %d bytes of %d, %v", filepath.Base(file), codec, len(got), len(want), err)
		}
		if !strings.Contains(file, "zeros") {
			checkCuts(t, file, codec)
		}
	}
}

// checkCuts requires an error for every cut in a file, except between two blocks of Hadoop's framing, which marks no
// end.
func checkCuts(t *testing.T, file string, codec Codec) {
	t.Helper()
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text, _, err := readFile(t, file, codec)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 3, 4, 7, 9, len(whole) / 2, len(whole) - 9, len(whole) - 5, len(whole) - 1} {
		if n <= 0 || n >= len(whole) {
			continue
		}
		got, _, err := readFile(t, write(t, "cut"+filepath.Ext(file), whole[:n]), codec)
		if err == nil && len(got) == len(text) && len(text) > 0 {
			t.Errorf("%s cut to %d of %d bytes: the whole text", filepath.Base(file), n, len(whole))
		}
		if err == nil && !restIsFile(t, whole[n:], codec, text[len(got):]) {
			t.Errorf("%s cut to %d of %d bytes: no error", filepath.Base(file), n, len(whole))
		}
		if !bytes.HasPrefix(text, got) {
			t.Errorf("%s cut to %d of %d bytes: other text", filepath.Base(file), n, len(whole))
		}
	}
}

// restIsFile reports whether a file was cut between two blocks of Hadoop's framing, where no reader can detect it.
func restIsFile(t *testing.T, rest []byte, codec Codec, text []byte) bool {
	t.Helper()
	if codec != HadoopSnappy && codec != HadoopLZ4 {
		return false
	}
	got, _, err := readFile(t, write(t, "rest", rest), codec)
	return err == nil && bytes.Equal(got, text)
}
