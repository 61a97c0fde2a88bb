package testcluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// someCells are two rows of one family, in HBase's order.
const someCells = "6131\tf\t63\t1763596800000\tPut\t76\n" +
	"6131\tf\t64\t1763596800000\tPut\t\n" +
	"6232\tf\t63\t1763596800000\tPut\te4b8ade69687\n"

func cellsFile(t testing.TB) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "cells")
	if err := os.WriteFile(file, []byte(someCells), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// run runs a command that must succeed.
func run(t testing.TB, o *Oracle, args ...string) string {
	t.Helper()
	out, err := o.Run(args...)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return strings.TrimSuffix(out, "\n")
}

func TestWriteAndRead(t *testing.T) {
	o := Java(t)
	dir := "file://" + t.TempDir()
	for _, settings := range [][]string{
		{"COMPRESSION=NONE"},
		{"COMPRESSION=SNAPPY", "DATA_BLOCK_ENCODING=FAST_DIFF", "BLOOMFILTER=ROW"},
		{"COMPRESSION=ZSTD", "DATA_BLOCK_ENCODING=DIFF", "BLOOMFILTER=ROWCOL"},
		{"COMPRESSION=LZ4", "DATA_BLOCK_ENCODING=PREFIX", "BLOOMFILTER=NONE", "CHECKSUM=CRC32"},
		{"DATA_BLOCK_ENCODING=ROW_INDEX_V1", "BLOOMFILTER=ROWPREFIX_FIXED_LENGTH", "PREFIX=1", "BLOCKSIZE=1", "INDEX_MAX=32", "INDEX_MIN=2", "BYTES_PER_CHECKSUM=100"},
	} {
		file := run(t, o, append([]string{"write", cellsFile(t), dir}, settings...)...)
		if got := run(t, o, "cells", file); got != strings.TrimSuffix(someCells, "\n") {
			t.Errorf("%v: read back\n%s\nwant\n%s", settings, got, someCells)
		}
		if got := run(t, o, "check", file, "-all"); !strings.Contains(got, " cells=3 rows=2 ") || !strings.HasSuffix(got, " faults=0") {
			t.Errorf("%v: check says %s", settings, got)
		}
	}
}
