package hfilewriter

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bulkload/cell"
	"bulkload/values"
)

// writeCells writes a file in memory, a cell at a time.
func writeCells(t testing.TB, s Settings, cells []cell.Cell) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, s, Provenance{Created: 1, Loaded: 2, Task: "test"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range cells {
		if err := w.Append(&cells[i]); err != nil {
			t.Fatal(err)
		}
	}
	sum, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if sum.Bytes != int64(out.Len()) || sum.Cells != int64(len(cells)) {
		t.Fatalf("summary says %d bytes and %d cells; they are %d and %d", sum.Bytes, sum.Cells, out.Len(), len(cells))
	}
	if first, last := cells[0].Row, cells[len(cells)-1].Row; !bytes.Equal(sum.FirstRow, first) || !bytes.Equal(sum.LastRow, last) {
		t.Fatalf("summary says rows %q to %q; they are %q to %q", sum.FirstRow, sum.LastRow, first, last)
	}
	return out.Bytes()
}

func open(t testing.TB, file []byte) *Reader {
	t.Helper()
	r, err := Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// readCells copies all cells from a row on.
func readCells(t testing.TB, r *Reader, from []byte) (cells []cell.Cell) {
	t.Helper()
	s := r.Seek(from)
	for s.Next() {
		cells = append(cells, cloneCell(s.Cell()))
	}
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	return cells
}

func cloneCell(c *cell.Cell) cell.Cell {
	return cell.Cell{Row: bytes.Clone(c.Row), Family: bytes.Clone(c.Family), Qualifier: bytes.Clone(c.Qualifier), Timestamp: c.Timestamp, Type: c.Type, Value: bytes.Clone(c.Value)}
}

func sameCells(t testing.TB, got, want []cell.Cell) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d cells, want %d", len(got), len(want))
	}
	for i := range got {
		if g, w := &got[i], &want[i]; cell.Compare(g, w) != 0 || !bytes.Equal(g.Value, w.Value) {
			t.Fatalf("cell %d is %s = %q, want %s = %q", i, describe(g), g.Value, describe(w), w.Value)
		}
	}
}

// randomCells makes cells of one family that try the encodings: rows of equal and other lengths, common prefixes, many
// versions, deletes, empty values and qualifiers, equal values, the same cell twice.
func randomCells(r *rand.Rand, n int) []cell.Cell {
	alphabet := []byte{0, 1, 'a', 'b', 0x7f, 0x80, 0xff}
	word := func(most int) []byte {
		b := make([]byte, r.IntN(most+1))
		for i := range b {
			b[i] = alphabet[r.IntN(len(alphabet))]
		}
		return b
	}
	kinds := []cell.KeyType{cell.Put, cell.Put, cell.Put, cell.Put, cell.Delete, cell.DeleteColumn, cell.DeleteFamily, cell.DeleteFamilyVersion}
	rowLen, base := 1+r.IntN(12), int64(1_700_000_000_000)
	family := append([]byte("f"), word(3)...)
	cells := make([]cell.Cell, 0, n)
	for len(cells) < n {
		row := append([]byte{'r'}, word(rowLen)...)
		if r.IntN(3) == 0 {
			row = append(row, bytes.Repeat([]byte("long"), r.IntN(100))...)
		}
		for range 1 + r.IntN(6) {
			c := cell.Cell{Row: row, Family: family, Qualifier: word(4), Timestamp: base + r.Int64N(1<<uint(r.IntN(40))), Type: kinds[r.IntN(len(kinds))], Value: word(20)}
			switch r.IntN(12) {
			case 0:
				c.Timestamp = -r.Int64N(1 << 40)
			case 1:
				c.Timestamp = base
			case 2:
				c.Value = bytes.Repeat([]byte{'v'}, r.IntN(3000))
			}
			cells = append(cells, c)
			if r.IntN(20) == 0 {
				cells = append(cells, c)
			}
		}
	}
	slices.SortStableFunc(cells, func(a, b cell.Cell) int { return cell.Compare(&a, &b) })
	return cells
}

// smallIndex makes many levels and chunks out of few cells.
func smallIndex(s Settings) Settings {
	s.IndexBlockSize, s.IndexMinEntries, s.BloomBlockSize, s.BytesPerChecksum = 300, 3, 128, 100
	return s
}

func everySetting(visit func(Settings)) {
	for _, c := range []Compression{CompressNone, CompressSnappy, CompressGZ, CompressZSTD, CompressLZ4} {
		for _, e := range []Encoding{EncodeNone, EncodePrefix, EncodeDiff, EncodeFastDiff, EncodeRowIndexV1} {
			for _, b := range []Bloom{BloomNone, BloomRow, BloomRowCol, BloomRowPrefix} {
				visit(Settings{Compression: c, Encoding: e, Bloom: b, BloomPrefix: 4, BlockSize: 1024})
			}
		}
	}
}

func TestWrittenCellsAreRead(t *testing.T) {
	seed, most := uint64(0), 1500
	if testing.Short() {
		most = 300
	}
	everySetting(func(s Settings) {
		for _, s := range []Settings{s, smallIndex(s)} {
			seed++
			r := rand.New(rand.NewPCG(seed, 7))
			cells := randomCells(r, 1+r.IntN(most))
			file := writeCells(t, s, cells)
			t.Run(fmt.Sprintf("%s,%s,%s,seed=%d", s.Compression, s.Encoding, s.Bloom, seed), func(t *testing.T) {
				in := open(t, file)
				var visited []cell.Cell
				report, err := in.Verify(func(run *CellBatch) error {
					return eachOf(run, func(c *cell.Cell) error { visited = append(visited, cloneCell(c)); return nil })
				})
				if err != nil {
					t.Fatal(err)
				}
				sameCells(t, visited, cells)
				sameCells(t, readCells(t, in, nil), cells)
				if report.Cells != int64(len(cells)) || in.trailer.cells != report.Cells {
					t.Fatalf("report of %d cells, trailer of %d, want %d", report.Cells, in.trailer.cells, len(cells))
				}
				for range 20 {
					seekOne(t, in, cells, cells[r.IntN(len(cells))].Row)
				}
				seekOne(t, in, cells, []byte{0})
				seekOne(t, in, cells, []byte{0xff, 0xff})
			})
		}
	})
}

// seekOne compares a seek with a walk from the start, and asks the bloom filter.
func seekOne(t *testing.T, in *Reader, cells []cell.Cell, row []byte) {
	t.Helper()
	at := slices.IndexFunc(cells, func(c cell.Cell) bool { return bytes.Compare(c.Row, row) >= 0 })
	if at < 0 {
		at = len(cells)
	}
	sameCells(t, readCells(t, in, row), cells[at:])
	if at < len(cells) && bytes.Equal(cells[at].Row, row) {
		if ok, err := in.MayContainRow(row); err != nil || !ok {
			t.Fatalf("bloom filter denies row %q: %v", row, err)
		}
	}
}

// TestRowAtATimeGivesTheSameBytes: also if other cores compress the blocks.
func TestRowAtATimeGivesTheSameBytes(t *testing.T) {
	seeds := uint64(6)
	if testing.Short() { // the race detector makes it thirty times slower
		seeds = 1
	}
	everySetting(func(s Settings) {
		for seed := range seeds {
			r := rand.New(rand.NewPCG(seed, 9))
			rows, qualifiers := randomRows(r)
			s.BlockSize = 100 + r.IntN(3000)
			want := writeCells(t, s, cellsOf(rows, "fam", qualifiers, benchTime))
			got := writeRows(t, s, rows, qualifiers, benchTime)
			if !bytes.Equal(got, want) {
				t.Fatalf("%s, %s, %s, seed %d: row at a time gives other bytes, from %d on", s.Compression, s.Encoding, s.Bloom, seed, commonPrefix(got, want))
			}
		}
	})
}

func randomRows(r *rand.Rand) ([]tableRow, [][]byte) {
	var qualifiers [][]byte
	for i := range 1 + r.IntN(20) {
		name := fmt.Sprintf("%c%0*d", 'a'+i/7, 1+r.IntN(3), i)
		if r.IntN(6) == 0 {
			name += strings.Repeat("_long", 1+r.IntN(40))
		}
		qualifiers = append(qualifiers, []byte(name))
	}
	holes := r.IntN(3) > 0
	text := bytes.Repeat([]byte("of one text "), 20)
	slices.SortFunc(qualifiers, bytes.Compare)
	var rows []tableRow
	for i := range 1 + r.IntN(300) {
		row := tableRow{row: []byte(fmt.Sprintf("%06d", i*7))}
		if r.IntN(5) == 0 {
			row.row = append(row.row, bytes.Repeat([]byte("x"), r.IntN(200))...)
		}
		for range qualifiers {
			switch r.IntN(8) {
			case 0:
				row.values = append(row.values, values.Value{})
				if !holes {
					row.values[len(row.values)-1] = values.ValueOf(nil)
				}
			case 3, 4:
				row.values = append(row.values, values.ValueOf(text[:r.IntN(10)*r.IntN(16)]))
			case 1:
				row.values = append(row.values, values.ValueOf(nil))
			case 2:
				row.values = append(row.values, values.ValueOf(bytes.Repeat([]byte("long value "), r.IntN(60))))
			default:
				row.values = append(row.values, values.ValueOf([]byte{'v', byte('0' + r.IntN(2))}))
			}
		}
		rows = append(rows, row)
	}
	rows[0].values[0] = values.ValueOf([]byte("never an empty file"))
	return rows, qualifiers
}

func writeRows(t testing.TB, s Settings, rows []tableRow, qualifiers [][]byte, timestamp int64) []byte {
	t.Helper()
	columns, err := NewColumns([]byte("fam"), qualifiers)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := NewWriter(&out, s, Provenance{Created: 1, Loaded: 2, Task: "test"})
	if err != nil {
		t.Fatal(err)
	}
	w.UseCores(make(Cores, 2))
	for _, r := range rows {
		if err := w.AppendRow(columns, r.row, timestamp, r.values); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestDisorderIsRefused(t *testing.T) {
	put := func(row, qualifier string, ts int64) cell.Cell {
		return cell.Cell{Row: []byte(row), Family: []byte("f"), Qualifier: []byte(qualifier), Timestamp: ts, Type: cell.Put}
	}
	deleted := put("b", "b", 5)
	deleted.Type = cell.Delete
	first := put("b", "b", 5)
	for _, c := range []struct {
		name string
		next cell.Cell
		want error
	}{
		{"row before", put("a", "z", 9), ErrOrder},
		{"row is a prefix", put("", "z", 9), nil},
		{"qualifier before", put("b", "a", 5), ErrOrder},
		{"newer timestamp", put("b", "b", 6), ErrOrder},
		{"delete after its put", deleted, ErrOrder},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, _ := NewWriter(new(bytes.Buffer), Settings{Compression: CompressNone}, Provenance{})
			if err := w.Append(&first); err != nil {
				t.Fatal(err)
			}
			err := w.Append(&c.next)
			if err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Fatalf("error %v, want %v", err, c.want)
			}
			if _, again := w.Close(); again != err {
				t.Fatalf("close after it says %v", again)
			}
		})
	}
}

func TestNoEmptyFile(t *testing.T) {
	w, err := NewWriter(new(bytes.Buffer), Settings{Compression: CompressSnappy}, Provenance{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(); err == nil {
		t.Fatal("a file without cells was finished")
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	rows := checkRows(4000, 3)
	columns, _ := NewColumns([]byte("f"), checkQualifiers)
	w, err := NewWriter(discard{}, Settings{Compression: CompressSnappy, Encoding: EncodeFastDiff, Bloom: BloomRow}, Provenance{})
	if err != nil {
		t.Fatal(err)
	}
	i := 0
	add := func() {
		if err := w.AppendRow(columns, rows[i].row, benchTime, rows[i].values); err != nil {
			t.Fatal(err)
		}
		i++
	}
	for range 1000 {
		add()
	}
	// A block allocates its index key; a row, nothing: 2,000 rows make some 60 blocks.
	if n := testing.AllocsPerRun(2000, add); n > 0.1 {
		t.Fatalf("%v allocations a row", n)
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// failAfter takes n writes.
type failAfter struct{ n int }

var errFull = errors.New("disk full")

func (f *failAfter) Write(p []byte) (int, error) {
	if f.n--; f.n < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestEveryFailedWriteIsTold(t *testing.T) {
	rows := checkRows(400, 6)
	columns, err := NewColumns([]byte("f"), checkQualifiers)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("this core only", func(t *testing.T) { eachWriteFails(t, rows, columns, nil) })
	t.Run("with others", func(t *testing.T) {
		cores := make(Cores, 3)
		eachWriteFails(t, rows, columns, cores)
		for range cap(cores) { // all of them are given back, which the last ones may do later
			cores <- struct{}{}
		}
	})
}

func eachWriteFails(t *testing.T, rows []tableRow, columns *Columns, cores Cores) {
	for n := 0; ; n++ {
		w, err := NewWriter(&failAfter{n}, Settings{Compression: CompressSnappy, Encoding: EncodeFastDiff, Bloom: BloomRow, BlockSize: 8192}, Provenance{})
		if err != nil {
			t.Fatal(err)
		}
		w.UseCores(cores)
		for _, r := range rows {
			if err = w.AppendRow(columns, r.row, benchTime, r.values); err != nil {
				break
			}
		}
		_, closing := w.Close()
		if closing == nil {
			if n < 10 || err != nil {
				t.Fatalf("%d writes were enough, or an error was forgotten: %v", n, err)
			}
			break
		}
		if !errors.Is(closing, errFull) || err != nil && !errors.Is(err, errFull) {
			t.Fatalf("write %d fails: %v, then %v", n, err, closing)
		}
	}
}

// eachOf visits a run's cells one by one. The cell is valid during the call.
func eachOf(r *CellBatch, visit func(*cell.Cell) error) error {
	c := *r.Cell
	for i := -1; i < len(r.Columns); i++ {
		if i >= 0 {
			c.Qualifier, c.Value = r.cache.columns[r.Columns[i]].qualifier, r.Values[i]
		}
		if err := visit(&c); err != nil {
			return err
		}
	}
	return nil
}
