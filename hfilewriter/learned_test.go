package hfilewriter

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"bulkload/keys"
)

// tableCells are cells of a table whose rows have mostly the same columns: with holes, values of all lengths, rows of
// several lengths and timestamps, now and then versions and deletes.
func tableCells(r *rand.Rand, rows, columns, holes int) []keys.Cell {
	var cells []keys.Cell
	for i := range rows {
		row := fmt.Appendf(nil, "%06d", i)
		row = append(row, bytes.Repeat([]byte("x"), r.IntN(3)*60)...)
		stamp := int64(1_700_000_000_000 + r.IntN(2))
		for c := range columns {
			if r.IntN(100) < holes {
				continue
			}
			value := bytes.Repeat([]byte{byte(r.IntN(3))}, [...]int{0, 1, 1, 7, 200, 20_000, 3}[r.IntN(5+r.IntN(40)/39*2)])
			cell := keys.Cell{Row: row, Family: []byte("f"), Qualifier: fmt.Appendf(nil, "q%0*d", 1+c%3, c), Timestamp: stamp, Type: keys.Put, Value: value}
			if r.IntN(30) == 0 {
				cell.Type, cell.Value = keys.DeleteColumn, nil
			}
			cells = append(cells, cell)
			if r.IntN(20) == 0 {
				cell.Timestamp -= int64(r.IntN(300))
				cells = append(cells, cell)
			}
		}
	}
	slices.SortFunc(cells, func(a, b keys.Cell) int { return keys.Compare(&a, &b) })
	return cells
}

// decoded are a block's cells and the error behind them.
func decoded(d *blockDecoder, payload []byte) (cells []string, err error) {
	if err := d.begin(blockEncodedData, payload); err != nil {
		return nil, err
	}
	for {
		ok, err := d.next()
		if !ok || len(cells) > len(payload) {
			return cells, err
		}
		c := &d.cell
		cells = append(cells, fmt.Sprintf("%q %q %q %d %d %q %v", c.Row, c.Family, c.Qualifier, c.Timestamp, c.Type, c.Value, d.sameRow))
	}
}

// What a decoder has learned changes nothing but its speed, in sound blocks and in damaged ones.
func TestLearningChangesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 8))
	var known int
	for round := range 100 {
		cells := tableCells(r, 1+r.IntN(60), 1+r.IntN(9), r.IntN(3)*20)
		if len(cells) == 0 {
			continue
		}
		var e blockEncoder
		e.encoding = EncodeFastDiff
		e.begin()
		for i := range cells {
			e.add(&cells[i])
		}
		e.end()
		payload := e.buf[headerLen:]
		learning := blockDecoder{encoding: EncodeFastDiff, mvcc: true}
		for damage := range 30 {
			b := bytes.Clone(payload)
			if damage > 0 {
				b[6+r.IntN(len(b)-6)] ^= 1 << r.IntN(8)
			}
			if damage > 20 {
				b = b[:6+r.IntN(len(b)-6)]
			}
			plain := blockDecoder{encoding: EncodeFastDiff, mvcc: true}
			plain.learned.off = true
			want, wantErr := decoded(&plain, b)
			got, err := decoded(&learning, b) // which has seen the blocks before
			if !reflect.DeepEqual(got, want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Fatalf("round %d, damage %d: %d cells, then %v; without learning %d cells, then %v", round, damage, len(got), err, len(want), wantErr)
			}
		}
		known += len(learning.learned.columns)
	}
	if known == 0 {
		t.Error("nothing was learned")
	}
}

// A table whose qualifiers never come again is not learned.
func TestWideRowsAreNotLearned(t *testing.T) {
	var cells []keys.Cell
	for i := range 3 * maxLearned {
		cells = append(cells, keys.Cell{Row: []byte("r"), Family: []byte("f"), Qualifier: fmt.Appendf(nil, "%08d", i), Timestamp: 5, Type: keys.Put})
	}
	file := writeCells(t, Settings{Compression: CompressNone, Encoding: EncodeFastDiff, Bloom: BloomRow}, cells)
	r := open(t, file)
	n := 0
	report, err := r.Verify(func(c *keys.Cell, _ Again) error {
		if string(c.Qualifier) != fmt.Sprintf("%08d", n) {
			t.Fatalf("cell %d has qualifier %q", n, c.Qualifier)
		}
		n++
		return nil
	})
	if err != nil || report.Cells != 3*maxLearned {
		t.Errorf("%+v, %v", report, err)
	}
}
