package hfilewriter

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/cell"
)

var update = flag.Bool("update", false, "write the annotated dumps in testdata/dumps anew")

// TestAnnotatedDumps writes small files and compares them, byte by byte with what each byte means, with the dumps in
// testdata. Conformance tests say that the bytes are HBase's; these show which change when something does.
func TestAnnotatedDumps(t *testing.T) {
	for _, c := range []struct {
		name string
		s    Settings
	}{
		{"none", Settings{Compression: CompressNone, Bloom: BloomRow}},
		{"prefix", Settings{Compression: CompressNone, Encoding: EncodePrefix}},
		{"diff", Settings{Compression: CompressNone, Encoding: EncodeDiff}},
		{"fast_diff", Settings{Compression: CompressNone, Encoding: EncodeFastDiff, Bloom: BloomRowCol}},
		{"row_index_v1", Settings{Compression: CompressNone, Encoding: EncodeRowIndexV1}},
		{"fast_diff,snappy", Settings{Compression: CompressSnappy, Encoding: EncodeFastDiff, Bloom: BloomRow}},
		{"levels", Settings{Compression: CompressNone, Encoding: EncodeFastDiff, Bloom: BloomRow, BlockSize: 40, IndexBlockSize: 60, IndexMinEntries: 2, BloomBlockSize: 2, BloomMaxFold: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := annotate(t, writeCells(t, c.s, dumpedCells()))
			name := filepath.Join("testdata", "dumps", c.name+".txt")
			if *update {
				if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("the dump differs from %s; if that is meant: go test ./hfilewriter -run Annotated -update\n%s", name, firstDifference(got, string(want)))
			}
		})
	}
}

// dumpedCells try what an encoding does: the same row, another row, another length, another timestamp, the same value,
// a delete, an empty value.
func dumpedCells() []cell.Cell {
	made := func(row, qualifier string, ts int64, kind cell.KeyType, value string) cell.Cell {
		return cell.Cell{Row: []byte(row), Family: []byte("f"), Qualifier: []byte(qualifier), Timestamp: ts, Type: kind, Value: []byte(value)}
	}
	const ts = 1_700_000_000_000
	return []cell.Cell{
		made("row1", "qa", ts, cell.Put, "v1"), made("row1", "qb", ts, cell.Put, "v1"), made("row2", "qa", ts-5, cell.Put, "val2"),
		made("row2", "qa", ts-90_000, cell.Put, ""), made("row22", "qa", ts+70_000, cell.DeleteColumn, ""),
	}
}

// annotate lists a file's bytes with their meaning.
func annotate(t *testing.T, file []byte) string {
	in := open(t, file)
	var out strings.Builder
	src, dec := newSource(in), in.decoder
	for offset := int64(0); offset < in.end(); {
		b, err := src.read(offset)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%04x %s: %d bytes on disk, payload %d, previous %d, %s a %d bytes\n", offset, b.kind, b.onDiskSize, b.rawSize, b.prev, b.checksum, b.bytesPerChecksum)
		line(&out, "header", file[offset:offset+headerLen])
		if b.kind.chain() == blockData {
			annotateCells(t, &out, &dec, &b)
		} else {
			line(&out, "payload", b.payload)
		}
		line(&out, "checksums", file[offset+int64(b.onDiskData):offset+int64(b.onDiskSize)])
		offset += int64(b.onDiskSize)
	}
	for _, key := range in.info.Keys() {
		fmt.Fprintf(&out, "file info %s = %x\n", key, in.info[key])
	}
	end := file[in.end():]
	fmt.Fprintf(&out, "%04x trailer: %+v\n", in.end(), *in.trailer)
	line(&out, "message", bytes.TrimRight(end[:trailerVersionOffset], "\x00"))
	line(&out, "version", end[trailerVersionOffset:])
	return out.String()
}

// annotateCells lists a data block's payload, a cell a line.
func annotateCells(t *testing.T, out *strings.Builder, dec *blockDecoder, b *block) {
	if err := dec.begin(b.kind, b.payload); err != nil {
		t.Fatal(err)
	}
	line(out, "block's own", b.payload[:dec.in.at])
	for {
		from := dec.in.at
		ok, err := dec.next()
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			line(out, "behind the cells", b.payload[from:])
			return
		}
		line(out, fmt.Sprintf("%s = %q", describe(&dec.cell), dec.cell.Value), b.payload[from:dec.in.at])
	}
}

// line prints up to 32 bytes a line, the meaning after the first.
func line(out *strings.Builder, meaning string, b []byte) {
	for len(b) > 0 {
		n := min(len(b), 32)
		fmt.Fprintf(out, "  %-64x  %s\n", b[:n], meaning)
		b, meaning = b[n:], ""
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range g {
		if i >= len(w) || g[i] != w[i] {
			return fmt.Sprintf("line %d is\n%s\nwant\n%s", i+1, g[i], strings.Join(w[i:min(i+1, len(w))], ""))
		}
	}
	return "the dump is shorter"
}
