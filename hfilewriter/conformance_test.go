package hfilewriter

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bulkload/cell"
	"bulkload/internal/test/testcluster"

	"google.golang.org/protobuf/encoding/protowire"
)

var typeNames = map[cell.KeyType]string{cell.Put: "Put", cell.Delete: "Delete", cell.DeleteFamilyVersion: "DeleteFamilyVersion", cell.DeleteColumn: "DeleteColumn", cell.DeleteFamily: "DeleteFamily"}

// cellLines are cells as the oracle reads them.
func cellLines(cells []cell.Cell) []byte {
	var b bytes.Buffer
	for _, c := range cells {
		fmt.Fprintf(&b, "%s\t%s\t%s\t%d\t%s\t%s\n", hex.EncodeToString(c.Row), c.Family, hex.EncodeToString(c.Qualifier), c.Timestamp, typeNames[c.Type], hex.EncodeToString(c.Value))
	}
	return b.Bytes()
}

// oracleSettings are settings as the oracle's arguments.
func oracleSettings(s Settings) []string {
	args := []string{"COMPRESSION=" + s.Compression.String(), "DATA_BLOCK_ENCODING=" + s.Encoding.String(), "BLOOMFILTER=" + s.Bloom.String(), "CREATED=1", "TIME=2", "TASK=test"}
	for _, n := range []struct {
		name  string
		value int
	}{{"BLOCKSIZE", s.BlockSize}, {"PREFIX", s.BloomPrefix}, {"INDEX_MAX", s.IndexBlockSize}, {"INDEX_MIN", s.IndexMinEntries}, {"BLOOM_BLOCK", s.BloomBlockSize}, {"BLOOM_FOLD", s.BloomMaxFold}, {"BYTES_PER_CHECKSUM", s.BytesPerChecksum}} {
		if n.value != 0 {
			args = append(args, n.name+"="+strconv.Itoa(n.value))
		}
	}
	if s.BloomErrorRate != 0 {
		args = append(args, "BLOOM_ERROR="+strconv.FormatFloat(float64(s.BloomErrorRate), 'g', -1, 32))
	}
	return append(args, "CHECKSUM="+s.Checksum.String())
}

// conforms writes the same cells with HBase and with this package and has the oracle compare the files part by part,
// and HBase read ours. Files without compression must be the same to the byte.
func conforms(t *testing.T, o *testcluster.Oracle, s Settings, cells []cell.Cell) {
	t.Helper()
	dir := t.TempDir()
	lines, ours := filepath.Join(dir, "cells"), filepath.Join(dir, "ours")
	file := writeCells(t, s, cells)
	if err := os.WriteFile(lines, cellLines(cells), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(ours, file, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := o.Run(append([]string{"write", lines, "file://" + dir}, oracleSettings(s)...)...)
	if err != nil {
		t.Fatal(err)
	}
	theirs := strings.TrimPrefix(strings.TrimSpace(out), "file:")
	if out, err := o.Run("diff", "file://"+ours, "file://"+theirs); err != nil || !strings.HasPrefix(out, "0 differences") {
		t.Fatalf("%+v: %v\n%s", s, err, out)
	}
	readAlike(t, o, ours, theirs)
	want, err := os.ReadFile(theirs)
	if err != nil {
		t.Fatal(err)
	}
	if s.Compression == CompressNone && !bytes.Equal(file, want) {
		t.Fatalf("%+v: the files differ from byte %d on", s, commonPrefix(file, want))
	}
	in := open(t, want) // and we read HBase's
	if _, err := in.Verify(nil); err != nil {
		t.Fatalf("%+v: HBase's file: %v", s, err)
	}
	sameCells(t, readCells(t, in, nil), cells)
}

// readAlike has HBase's reader seek, walk and ask blooms in our file and in its own. What it finds must be the same:
// where a seek among cells of one key, or in an encoding's own way of seeking, goes elsewhere than to the cell, it does
// so in both.
func readAlike(t *testing.T, o *testcluster.Oracle, ours, theirs string) {
	t.Helper()
	got, gotErr := o.Run("check", "file://"+ours)
	if gotErr == nil {
		return
	}
	want, _ := o.Run("check", "file://"+theirs)
	if strings.ReplaceAll(got, ours, theirs) != want {
		t.Fatalf("HBase reads our file otherwise than its own: %v\n%s\nits own:\n%s", gotErr, got, want)
	}
}

// forHBase are random cells that HBase's client classes take: one family, no timestamp before 1970; repeated ones, or
// not.
func forHBase(r *rand.Rand, n int, repeats bool) []cell.Cell {
	cells := randomCells(r, n)
	for i := range cells {
		cells[i].Family = []byte("fam")
		cells[i].Timestamp = max(cells[i].Timestamp, -cells[i].Timestamp)
	}
	slices.SortStableFunc(cells, func(a, b cell.Cell) int { return cell.Compare(&a, &b) })
	if !repeats {
		cells = slices.CompactFunc(cells, func(a, b cell.Cell) bool { return cell.Compare(&a, &b) == 0 })
	}
	return cells
}

// TestMatrix compares all combinations of encoding, codec and bloom filter with HBase's writer, on data that varies
// with the combination. Each has two of the four block sizes, its neighbors the other two.
func TestMatrix(t *testing.T) {
	o := testcluster.Java(t)
	sets := namedCells()
	n, combinations := 0, 0
	everySetting(func(s Settings) {
		combinations++
		for i := combinations % 2; i < 4; i += 2 {
			n++
			set := sets[n%len(sets)]
			s.BlockSize = []int{1 << 10, 64 << 10, 5000, 1 << 20}[i]
			if i == 2 {
				s = smallIndex(s)
			}
			t.Run(fmt.Sprintf("%s,%s,%s,%d,%s", s.Compression, s.Encoding, s.Bloom, s.BlockSize, set.name), func(t *testing.T) {
				conforms(t, o, s, set.cells)
			})
		}
	})
	t.Logf("%d combinations", n)
}

type namedSet struct {
	name  string
	cells []cell.Cell
}

// namedCells are the kinds of data that a file may hold.
func namedCells() []namedSet {
	put := func(row, qualifier string, value []byte) cell.Cell {
		return cell.Cell{Row: []byte(row), Family: []byte("f"), Qualifier: []byte(qualifier), Timestamp: benchTime, Type: cell.Put, Value: value}
	}
	r := rand.New(rand.NewPCG(1, 1))
	noise := make([]byte, 400_000)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	var large, short, long, versions []cell.Cell
	for i := range 6 {
		large = append(large, put(fmt.Sprint("row", i), "big", noise[:i*70_000]))
	}
	for i := range 256 {
		short = append(short, put(string([]byte{byte(i)}), "", []byte{}))
		long = append(long, put(strings.Repeat("k", 997)+fmt.Sprintf("%03d", i), "q", []byte(fmt.Sprint(i/3))))
	}
	long = append(long, put(strings.Repeat("l", maxRowLen), "q", []byte("longest")))
	for i := range 300 {
		c := put(fmt.Sprint("row", 100+i/100), "q", []byte("same"))
		c.Timestamp -= int64(i%100) * 1000
		versions = append(versions, c)
	}
	return []namedSet{
		{"one cell", []cell.Cell{put("r", "q", []byte("v"))}},
		{"one row", cellsOf(checkRows(1, 1), "f", checkQualifiers, benchTime)},
		{"check rows", cellsOf(checkRows(500, 2), "f", checkQualifiers, benchTime)},
		{"random", forHBase(r, 2000, false)},
		{"large values", large},
		{"1-byte rows, empty qualifiers and values", short},
		{"1,000-byte rows", long},
		{"versions", versions},
		{"random, with repeated cells", forHBase(r, 400, true)},
	}
}

// TestLargeFiles are files with several leaf indexes and bloom chunks at HBase's own sizes.
func TestLargeFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	o := testcluster.Java(t)
	t.Run("10 MB value", func(t *testing.T) {
		cells := cellsOf(checkRows(100, 8), "f", checkQualifiers, benchTime)
		cells[70].Value = bytes.Repeat([]byte("ten million bytes of a value "), 10<<20/29)
		conforms(t, o, Settings{Compression: CompressSnappy, Encoding: EncodeFastDiff, Bloom: BloomRow}, cells)
	})
	for _, c := range []struct {
		rows int
		s    Settings
	}{
		{100_000, Settings{Compression: CompressSnappy, Encoding: EncodeFastDiff, Bloom: BloomRow}},
		{20_000, Settings{Compression: CompressNone, Encoding: EncodeNone, Bloom: BloomRowCol}},
	} {
		cells := cellsOf(checkRows(c.rows, 4), "f", checkQualifiers, benchTime)
		t.Run(fmt.Sprintf("%d rows,%s,%s,%s", c.rows, c.s.Compression, c.s.Encoding, c.s.Bloom), func(t *testing.T) { conforms(t, o, c.s, cells) })
	}
}

// TestRecipes draws cells and settings at random. A failure names its seed.
func TestRecipes(t *testing.T) {
	o := testcluster.Java(t)
	n := 200
	if testcluster.In("exhaustive") {
		n = 5000
	}
	for seed := range uint64(n) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			s, cells := recipe(rand.New(rand.NewPCG(seed, 99)))
			conforms(t, o, s, cells)
		})
	}
}

func recipe(r *rand.Rand) (Settings, []cell.Cell) {
	one := func(v ...int) int { return v[r.IntN(len(v))] }
	s := Settings{
		Compression:      Compression(one(int(CompressNone), int(CompressNone), int(CompressNone), int(CompressSnappy), int(CompressGZ), int(CompressZSTD), int(CompressLZ4))),
		Encoding:         Encoding(one(int(EncodeNone), int(EncodePrefix), int(EncodeDiff), int(EncodeFastDiff), int(EncodeRowIndexV1))),
		Bloom:            Bloom(r.IntN(4)),
		BloomPrefix:      1 + r.IntN(6),
		BlockSize:        one(1, 100, 1<<10, 1<<10+r.IntN(4000), 64<<10, 1<<20),
		IndexBlockSize:   one(0, 64, 300, 1000, 5000),
		IndexMinEntries:  one(0, 2, 3, 16),
		BloomBlockSize:   one(0, 64, 128, 1000, 4096),
		BloomMaxFold:     one(0, 1, 3),
		BloomErrorRate:   []float32{0, 0.001, 0.01, 0.1}[r.IntN(4)],
		Checksum:         Checksum(r.IntN(3)),
		BytesPerChecksum: one(0, 33, 100, 4096),
	}
	return s, forHBase(r, 1+r.IntN(one(3, 50, 3000)), r.IntN(3) == 0)
}

// TestEveryFlippedBitOfATrailer: the trailer has no checksum. A flipped bit of it is found, or HBase opens the file and
// reads the same cells.
func TestEveryFlippedBitOfATrailer(t *testing.T) {
	o := testcluster.Java(t)
	for _, s := range []Settings{
		{Compression: CompressNone, Encoding: EncodeNone, Bloom: BloomRowCol, BlockSize: 512},
		smallIndex(Settings{Compression: CompressSnappy, Encoding: EncodeFastDiff, Bloom: BloomRow, BlockSize: 512}),
		{Compression: CompressGZ, Encoding: EncodePrefix, Bloom: BloomNone},
	} {
		file := writeCells(t, s, forHBase(rand.New(rand.NewPCG(7, 7)), 150, false))
		name := filepath.Join(t.TempDir(), "file")
		writeFile(t, name, file)
		want, err := o.Run("cells", "file://"+name)
		if err != nil {
			t.Fatal(err)
		}
		missed := 0
		for bit := range trailerLen * 8 {
			if at := bit / 8; at >= 128 && at < trailerVersionOffset && bit%8 != at%8 {
				continue // one bit of each byte of padding
			}
			damaged := bytes.Clone(file)
			damaged[len(file)-trailerLen+bit/8] ^= 1 << (bit % 8)
			if err := readAll(damaged); err != nil {
				if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrUnsupported) {
					t.Errorf("%s: byte %d of the trailer, bit %d: %v is not marked as corruption", s.Compression, bit/8, bit%8, err)
				}
				continue
			}
			missed++
			writeFile(t, name, damaged)
			if got, err := o.Run("cells", "file://"+name); err != nil || got != want {
				t.Errorf("%s: byte %d of the trailer, bit %d, and nothing found; but HBase: %v", s.Compression, bit/8, bit%8, err)
			}
		}
		t.Logf("%s: HBase reads the same cells where nothing is found: %d bits", s.Compression, missed)
	}
}

// TestComparators: HBase opens files with each of the comparators' names that Open takes, and files that name none.
func TestComparators(t *testing.T) {
	o := testcluster.Java(t)
	cells := forHBase(rand.New(rand.NewPCG(7, 7)), 150, false)
	file := writeCells(t, Settings{Compression: CompressNone, Encoding: EncodeNone, Bloom: BloomRow}, cells)
	name := filepath.Join(t.TempDir(), "file")
	writeFile(t, name, file)
	want, err := o.Run("cells", "file://"+name)
	if err != nil {
		t.Fatal(err)
	}
	for comparator := range comparators {
		tail, err := parseTrailer(file[len(file)-trailerLen:])
		if err != nil {
			t.Fatal(err)
		}
		tail.comparator = comparator
		renamed := tail.appendTo(bytes.Clone(file[:len(file)-trailerLen]))
		writeFile(t, name, renamed)
		if got, err := o.Run("cells", "file://"+name); err != nil || got != want {
			t.Errorf("%s: %v", comparator, err)
		}
		sameCells(t, readCells(t, open(t, renamed), nil), cells)
		field := func(number protowire.Number) []byte {
			return protowire.AppendString(protowire.AppendTag(nil, number, protowire.BytesType), comparator)
		}
		other := bytes.Replace(renamed, field(11), field(15), 1)
		writeFile(t, name, other)
		if got, err := o.Run("cells", "file://"+name); err != nil || got != want {
			t.Errorf("no comparator: %v", err)
		}
		sameCells(t, readCells(t, open(t, other), nil), cells)
	}
}
