package testcluster

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// hfile writes cells with HBase's writer, uncompressed, and returns the file's bytes. TASK and times are set, so that
// they are the same each time.
func hfile(t *testing.T, o *Oracle, cells string, settings ...string) []byte {
	t.Helper()
	args := append([]string{"write", tempFile(t, cells), "file://" + t.TempDir(), "CREATED=1", "TIME=2", "TASK=x"}, settings...)
	b, err := os.ReadFile(strings.TrimPrefix(strings.TrimPrefix(run(t, o, args...), "file:"), "//"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestDiff(t *testing.T) {
	o := Java(t)
	base := hfile(t, o, someCells)
	for _, c := range []struct {
		name  string
		other []byte
		alike bool
	}{
		{"the same", base, true},
		{"clocks and task", hfile(t, o, someCells, "CREATED=7", "TIME=8", "TASK=longer"), true},
		{"a value", hfile(t, o, strings.Replace(someCells, "e4b8ad", "e4b8ae", 1)), false},
		{"a timestamp", hfile(t, o, strings.Replace(someCells, "1763596800000", "1763596800001", 1)), false},
		{"a cell less", hfile(t, o, someCells[:strings.LastIndex(someCells, "6232")]), false},
		{"the block size", hfile(t, o, someCells, "BLOCKSIZE=1"), false},
		{"the bloom", hfile(t, o, someCells, "BLOOMFILTER=ROWCOL"), false},
		{"the checksum", hfile(t, o, someCells, "BYTES_PER_CHECKSUM=64"), false},
		{"the encoding", hfile(t, o, someCells, "DATA_BLOCK_ENCODING=DIFF"), false},
		{"the codec", hfile(t, o, someCells, "COMPRESSION=SNAPPY"), false},
	} {
		out, err := o.Run("diff", "file://"+tempFile(t, string(base)), "file://"+tempFile(t, string(c.other)))
		if (err == nil) != c.alike || strings.HasPrefix(out, "0 differences, ") != c.alike {
			t.Errorf("%s: %v\n%s", c.name, err, out)
		}
	}
}

// TestDiffOfCompressed shows that entries of an index count if blocks are compressed.
func TestDiffOfCompressed(t *testing.T) {
	o := Java(t)
	file := func(settings ...string) string {
		return "file://" + tempFile(t, string(hfile(t, o, manyCells(2000), append(settings, "COMPRESSION=SNAPPY", "BLOCKSIZE=512")...)))
	}
	if out, err := o.Run("diff", file("INDEX_MAX=1024"), file("INDEX_MAX=1024", "TASK=longer")); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := o.Run("diff", file("INDEX_MAX=1024"), file("INDEX_MAX=2048")); err == nil {
		t.Errorf("another index is alike:\n%s", out)
	}
}

// manyCells returns n rows of one cell.
func manyCells(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%08x\tf\t63\t1\tPut\t%08x\n", i, i)
	}
	return b.String()
}

// TestCheckFindsEveryChangedByte changes bytes of the blocks, one in each file: every change must be found.
func TestCheckFindsEveryChangedByte(t *testing.T) {
	o := Java(t)
	good := hfile(t, o, someCells, "DATA_BLOCK_ENCODING=FAST_DIFF")
	if got := run(t, o, "check", "file://"+tempFile(t, string(good))); !strings.HasSuffix(got, " faults=0") {
		t.Fatalf("the good file has faults: %s", got)
	}
	blocks := len(good) - 4096 // FixedFileTrailer, version 3
	file := filepath.Join(t.TempDir(), "changed")
	for i := 0; i < blocks; i += 5 {
		bad := slices.Clone(good)
		bad[i] ^= 0x40
		if err := os.WriteFile(file, bad, 0o644); err != nil {
			t.Fatal(err)
		}
		if out, err := o.Run("check", "file://"+file); err == nil {
			t.Errorf("byte %d of %d changed: check says %s", i, blocks, out)
		}
	}
}

// TestCheckLooksBehindChecksums changes files and corrects the checksums.
func TestCheckLooksBehindChecksums(t *testing.T) {
	o := Java(t)
	good := hfile(t, o, manyCells(1000), "BLOCKSIZE=1024", "INDEX_MAX=512")
	for _, c := range []struct {
		name   string
		block  string // its magic
		change func(block []byte)
		want   string
	}{
		{"bloom without bits", "BLMFBLK2", func(b []byte) { clear(b[33:]) }, "the bloom filter denies"},
		{"chain", "DATABLK*", func(b []byte) { binary.BigEndian.PutUint64(b[16:], 77) }, "names the previous one 77"},
		// The first byte of its first row.
		{"order of cells", "DATABLK*", func(b []byte) { b[33+8+2] = 1 }, "out of order"},
		{"separator of a leaf index", "IDXLEAF2", lowerSecondKey, "seekTo"},
	} {
		bad := slices.Clone(good)
		changeBlock(t, bad, c.block, c.change)
		if out, err := o.Run("check", "file://"+tempFile(t, string(bad)), "-all"); err == nil || !strings.Contains(out, c.want) {
			t.Errorf("%s: %v; want a fault with %q:\n%.2000s", c.name, err, c.want, out)
		}
	}
}

// lowerSecondKey makes the second entry of a leaf index sort before the cells of its block. Format:
// HFileBlockIndex.BlockIndexChunkImpl.
func lowerSecondKey(b []byte) {
	p := b[33:]
	n := binary.BigEndian.Uint32(p)
	entry := 4 + 4*(n+1) + binary.BigEndian.Uint32(p[8:])
	row := entry + 12 + 2
	p[row+3]--
}

// changeBlock changes the second block that begins with magic, or the only one, and recomputes its checksums (CRC32C).
// Format: HFileBlock.
func changeBlock(t *testing.T, file []byte, magic string, change func([]byte)) {
	t.Helper()
	var found []byte
	for off, seen := 0, 0; off < len(file)-4096 && seen < 2; {
		size := 33 + int(binary.BigEndian.Uint32(file[off+8:]))
		if string(file[off:off+8]) == magic {
			found = file[off : off+size]
			seen++
		}
		off += size
	}
	if found == nil {
		t.Fatalf("no block %s", magic)
	}
	chunk, data := int(binary.BigEndian.Uint32(found[25:])), int(binary.BigEndian.Uint32(found[29:]))
	change(found[:data])
	for i := 0; i*chunk < data; i++ {
		sum := crc32.Checksum(found[i*chunk:min((i+1)*chunk, data)], crc32.MakeTable(crc32.Castagnoli))
		binary.BigEndian.PutUint32(found[data+4*i:], sum)
	}
}
