package compressed

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/storage"
	"bulkload/internal/test/testcluster"
)

// texts are the texts to compress: empty, short, repetitive, and random.
func texts() map[string][]byte {
	random := make([]byte, 300_000)
	r := rand.NewChaCha8([32]byte{7})
	_, _ = r.Read(random)
	var rows bytes.Buffer
	for i := range 20_000 {
		fmt.Fprintf(&rows, "%d\x01规则%d\x01%s\x10", i, i*7919, strings.Repeat("ab", i%17))
	}
	return map[string][]byte{"empty": {}, "one": []byte("x"), "short": []byte("1\x01规则\x10"), "rows": rows.Bytes(), "random": random, "zeros": make([]byte, 1<<20)}
}

// write writes a file for a test and returns its path.
func write(t testing.TB, name string, content []byte) string {
	t.Helper()
	full := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(full, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return full
}

// readFile reads a whole file, in pieces of many sizes.
func readFile(t testing.TB, name string, as Codec) ([]byte, Codec, error) {
	t.Helper()
	st, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(storage.Local, name, st.Size(), as)
	if err != nil {
		return nil, None, err
	}
	defer r.Close()
	var text bytes.Buffer
	for size := 1; ; size = size*3%100_003 + 1 {
		piece := make([]byte, size)
		n, err := r.Read(piece)
		text.Write(piece[:n])
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			if r.Consumed() != st.Size() {
				t.Errorf("%s: %d of %d bytes consumed", name, r.Consumed(), st.Size())
			}
			return text.Bytes(), r.Codec(), nil
		}
		if err != nil {
			return text.Bytes(), r.Codec(), err
		}
	}
}

// tool runs a command on content.
func tool(t testing.TB, content []byte, name string, args ...string) []byte {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		testcluster.Without(t, fmt.Sprintf("needs %s: apt-get install %s", name, cmp.Or(map[string]string{"gpg": "gnupg"}[name], name)))
	}
	cmd := exec.Command(name, args...)
	cmd.Stdin = bytes.NewReader(content)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v: %s", name, err, stderr.Bytes())
	}
	return out
}

// TestTools reads what the tools themselves write: alone, and two files concatenated.
func TestTools(t *testing.T) {
	for _, c := range []struct {
		ext   string
		codec Codec
		tool  []string
	}{
		{".gz", Gzip, []string{"gzip", "-1"}}, {".gz", Gzip, []string{"gzip", "-9"}}, {".bz2", Bzip2, []string{"bzip2"}},
		{".zst", Zstd, []string{"zstd", "-q"}}, {".zst", Zstd, []string{"zstd", "-q", "--long=27", "--check"}},
		{".lz4", LZ4Frames, []string{"lz4", "-q"}}, {".lz4", LZ4Frames, []string{"lz4", "-q", "-B4", "-BD"}}, {".lz4", LZ4Frames, []string{"lz4", "-q", "-9", "-B7"}},
		{".lz4", LZ4Frames, []string{"lz4", "-q", "-l"}}, {".lz4", LZ4Frames, []string{"lz4", "-q", "-BX", "-BD", "-B5"}},
	} {
		for name, text := range texts() {
			if testing.Short() && name != "short" || slices.Contains(c.tool, "--long=27") && name != "rows" { // 128 MiB a reader
				continue
			}
			t.Run(strings.Join(c.tool, " ")+"/"+name, func(t *testing.T) {
				packed := tool(t, text, c.tool[0], append(c.tool[1:], "-c")...)
				for _, file := range []string{"part" + c.ext, "part"} { // by content alone, too
					got, codec, err := readFile(t, write(t, file, packed), Auto)
					if err != nil || codec != c.codec || !bytes.Equal(got, text) {
						t.Errorf("%s: %s, %d bytes of %d, %v", file, codec, len(got), len(text), err)
					}
				}
				twice := append(bytes.Clone(packed), packed...)
				got, _, err := readFile(t, write(t, "part"+c.ext, twice), Auto)
				if err != nil || !bytes.Equal(got, append(bytes.Clone(text), text...)) {
					t.Errorf("twice: %d bytes of %d, %v", len(got), 2*len(text), err)
				}
			})
		}
	}
}
