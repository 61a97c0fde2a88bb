package cellblock_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"bulkload/cell"
	"bulkload/internal/hbase/cellblock"
	"bulkload/internal/test/hbasetest"
	"bulkload/internal/test/testwords"

	"github.com/tsuna/gohbase/hrpc"
	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
)

var cells = []cell.Cell{
	{Row: []byte("r"), Family: []byte("f"), Qualifier: []byte("q"), Timestamp: 1700000000000, Type: cell.Put, Value: []byte("value")},
	{Row: []byte("r"), Family: []byte("f"), Qualifier: []byte{}, Timestamp: -1, Type: cell.DeleteFamilyVersion, Value: []byte{}},
	{Row: bytes.Repeat([]byte("k"), 32767), Family: bytes.Repeat([]byte("f"), 127), Qualifier: bytes.Repeat([]byte("q"), 70000),
		Timestamp: 1, Type: cell.Put, Value: make([]byte, 1<<20)},
}

func block(cells []cell.Cell) []byte {
	var b []byte
	for i := range cells {
		b = hbasetest.AppendCell(b, &cells[i])
	}
	return b
}

func read(t testing.TB, b []byte) []cell.Cell {
	t.Helper()
	var got []cell.Cell
	r := cellblock.NewReader(b)
	for {
		var c cell.Cell
		ok, err := r.Next(&c)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return got
		}
		got = append(got, c)
	}
}

func equal(a, b *cell.Cell) bool {
	return bytes.Equal(a.Row, b.Row) && bytes.Equal(a.Family, b.Family) && bytes.Equal(a.Qualifier, b.Qualifier) &&
		a.Timestamp == b.Timestamp && a.Type == b.Type && bytes.Equal(a.Value, b.Value)
}

func TestCells(t *testing.T) {
	got := read(t, block(cells))
	if len(got) != len(cells) {
		t.Fatalf("%d cells, want %d", len(got), len(cells))
	}
	for i := range cells {
		if !equal(&got[i], &cells[i]) {
			t.Errorf("cell %d: got %.200v", i, got[i])
		}
	}
	if got := read(t, nil); got != nil {
		t.Errorf("an empty block has %v", got)
	}
}

// TestAsGohbase: gohbase's decoder reads the same cells in the same bytes.
func TestAsGohbase(t *testing.T) {
	some := []cell.Cell{cells[0], cells[2]}
	scan, err := hrpc.NewScan(t.Context(), []byte("t"))
	if err != nil {
		t.Fatal(err)
	}
	answer := &pb.ScanResponse{CellsPerResult: []uint32{2}, PartialFlagPerResult: []bool{false}}
	if _, err := scan.DeserializeCellBlocks(answer, block(some)); err != nil {
		t.Fatal(err)
	}
	for i, theirs := range answer.Results[0].Cell {
		want := pb.Cell{Row: some[i].Row, Family: some[i].Family, Qualifier: some[i].Qualifier,
			Timestamp: proto.Uint64(uint64(some[i].Timestamp)), CellType: pb.CellType(some[i].Type).Enum(), Value: some[i].Value}
		if !proto.Equal(theirs, &want) {
			t.Errorf("cell %d: gohbase reads %.200v", i, theirs)
		}
	}
}

// TestMalformed: each inconsistent length is refused, and the error has its position.
func TestMalformed(t *testing.T) {
	whole := block(cells[:1])
	change := func(at int, value byte) []byte {
		b := append(bytes.Clone(whole), whole...)
		b[len(whole)+at] = value
		return b
	}
	for what, b := range map[string][]byte{
		"cell's length too large":  change(3, 200),
		"cell's length too small":  change(3, 10),
		"cell's length huge":       change(0, 0xff),
		"key's length too small":   change(7, 5),
		"key's length huge":        change(4, 0xff),
		"value's length too large": change(11, 200),
		"no row":                   change(13, 0),
		"row longer than the key":  change(13, 99),
		"row's length negative":    change(12, 0x80),
		"family too long":          change(15, 128),
		"family longer than key":   change(15, 100),
	} {
		r := cellblock.NewReader(b)
		var c cell.Cell
		if ok, err := r.Next(&c); !ok || err != nil {
			t.Errorf("%s: first cell: %v", what, err)
		}
		if ok, err := r.Next(&c); ok || !testwords.Names(err, "byte 32:") {
			t.Errorf("%s: got %v, %v", what, c, err)
		}
	}
	for cut := 1; cut < len(whole); cut++ {
		r := cellblock.NewReader(whole[:cut])
		if ok, err := r.Next(new(cell.Cell)); ok || err == nil {
			t.Errorf("%d of %d bytes are a cell", cut, len(whole))
		}
	}
}

func TestAllocatesNothing(t *testing.T) {
	b := bytes.Repeat(block(cells[:1]), 1000)
	var c cell.Cell
	allocs := testing.AllocsPerRun(10, func() {
		r := cellblock.NewReader(b)
		for ok := true; ok; {
			ok, _ = r.Next(&c)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations for 1000 cells", allocs)
	}
}

// FuzzBlock: no bytes cause a panic, and the cells that are read are written as the same bytes.
func FuzzBlock(f *testing.F) {
	f.Add(block(cells[:2]))
	f.Add(block(cells[:1])[:20])
	f.Add(binary.BigEndian.AppendUint32(nil, 1<<31))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := cellblock.NewReader(b)
		var again []byte
		for {
			var c cell.Cell
			ok, err := r.Next(&c)
			if err != nil {
				break
			}
			if !ok {
				if r.Left() != 0 {
					t.Errorf("the end with %d bytes left", r.Left())
				}
				break
			}
			again = hbasetest.AppendCell(again, &c)
		}
		if !bytes.Equal(again, b[:len(b)-r.Left()]) {
			t.Errorf("read %x, wrote %x", b[:len(b)-r.Left()], again)
		}
	})
}

func BenchmarkCells(b *testing.B) {
	blocks := bytes.Repeat(block(cells[:1]), 1<<15)
	b.SetBytes(int64(len(blocks)))
	var c cell.Cell
	for b.Loop() {
		r := cellblock.NewReader(blocks)
		for ok := true; ok; {
			ok, _ = r.Next(&c)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(1<<15), "ns/cell")
}
