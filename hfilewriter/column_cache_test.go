package hfilewriter

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"bulkload/cell"
)

// tableCells are cells of a table whose rows have mostly the same columns: with holes, values of all lengths, rows of
// several lengths and timestamps, now and then versions and deletes.
func tableCells(r *rand.Rand, rows, columns, holes int) []cell.Cell {
	var cells []cell.Cell
	lengths := []int{0, 1, 128, 7, 200, 20_000, 127}
	if r.IntN(2) == 0 {
		lengths = []int{1, 2, 2, 5, 17, 17, 3} // so that damage hits more than values
	}
	for i := range rows {
		row := fmt.Appendf(nil, "%06d", i)
		row = append(row, bytes.Repeat([]byte("x"), r.IntN(3)*60)...)
		stamp := int64(1_700_000_000_000 + r.IntN(2))
		for c := range columns {
			if r.IntN(100) < holes {
				continue
			}
			value := bytes.Repeat([]byte{byte(r.IntN(3))}, lengths[r.IntN(5+r.IntN(40)/39*2)])
			qualifier := fmt.Appendf(nil, "q%0*d%s", 1+c%3, c, strings.Repeat("_long", c%5/4*(3+c)))
			next := cell.Cell{Row: row, Family: []byte("f"), Qualifier: qualifier, Timestamp: stamp, Type: cell.Put, Value: value}
			if r.IntN(30) == 0 {
				next.Type, next.Value = cell.DeleteColumn, nil
			}
			cells = append(cells, next)
			if r.IntN(20) == 0 {
				next.Timestamp -= int64(r.IntN(300))
				cells = append(cells, next)
			}
		}
	}
	slices.SortFunc(cells, func(a, b cell.Cell) int { return cell.Compare(&a, &b) })
	return cells
}

// decoded are a block's cells and the error after them.
func decoded(d *blockDecoder, payload []byte) (cells []string, err error) {
	if err := d.begin(blockEncodedData, payload); err != nil {
		return nil, err
	}
	for {
		ok, err := d.next()
		if !ok || len(cells) > len(payload) {
			return cells, err
		}
		cells = append(cells, shown(&d.cell, d.sameRow))
	}
}

func shown(c *cell.Cell, sameRow bool) string {
	return fmt.Sprintf("%q %q %q %d %d %q %v", c.Row, c.Family, c.Qualifier, c.Timestamp, c.Type, c.Value, sameRow)
}

// decodedInRuns is the same as the verifier reads a block.
func decodedInRuns(d *blockDecoder, payload []byte) (cells []string, err error) {
	if err := d.begin(blockEncodedData, payload); err != nil {
		return nil, err
	}
	var k cachedRun
	for {
		ok, err := d.next()
		if !ok || len(cells) > len(payload) {
			return cells, err
		}
		c := d.cell
		cells = append(cells, shown(&c, d.sameRow))
		k.clear()
		d.decodeCached(&k)
		var keyBytes, valueBytes, largest int64
		for i, column := range k.columns[:k.n] {
			c.Qualifier, c.Value = d.cache.columns[column].qualifier, k.values[i]
			cells = append(cells, shown(&c, true))
			size := int64(len(appendKey(nil, &c)))
			keyBytes, valueBytes, largest = keyBytes+size, valueBytes+int64(len(c.Value)), max(largest, size+int64(len(c.Value)))
		}
		if k.keyBytes != keyBytes || k.valueBytes != valueBytes || k.largest != largest {
			return cells, fmt.Errorf("%d bytes of keys, %d of values, %d the largest; counted %d, %d, %d", k.keyBytes, k.valueBytes, k.largest, keyBytes, valueBytes, largest)
		}
	}
}

// What a decoder has learned changes nothing but its speed, in sound blocks and in damaged ones.
func TestLearningChangesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 8))
	var known int
	rounds := 100
	if testing.Short() {
		rounds = 20
	}
	for round := range rounds {
		cells := tableCells(r, 1+r.IntN(60), 1+r.IntN(9), r.IntN(3)*20)
		if round%20 == 19 { // more than are decoded at once
			cells = tableCells(r, 3, maxCachedRun+r.IntN(300), 0)
		}
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
		running := blockDecoder{encoding: EncodeFastDiff, mvcc: true}
		for damage := range 60 {
			if testing.Short() && damage%4 > 0 {
				continue
			}
			b := bytes.Clone(payload)
			if damage > 0 {
				b[6+r.IntN(len(b)-6)] ^= 1 << [...]int{0, 1, 2, 3, 4, 5, 6, 7, 7, 7, 7}[r.IntN(11)]
			}
			if damage > 50 {
				b = b[:6+r.IntN(len(b)-6)]
			}
			if damage > 20 && damage <= 50 && len(payload) > 60 { // cut in the last cells
				b = bytes.Clone(payload[:len(payload)-damage+20])
			}
			plain := blockDecoder{encoding: EncodeFastDiff, mvcc: true}
			plain.cache.full = true
			want, wantErr := decoded(&plain, b)
			for way, decode := range []func() ([]string, error){ // by decoders that have seen the blocks before
				func() ([]string, error) { return decoded(&learning, b) },
				func() ([]string, error) { return decodedInRuns(&running, b) },
			} {
				got, err := decode()
				if !reflect.DeepEqual(got, want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
					t.Fatalf("round %d, damage %d, way %d: %d cells, then %v; without learning %d cells, then %v", round, damage, way, len(got), err, len(want), wantErr)
				}
			}
		}
		known += len(learning.cache.columns)
	}
	if known == 0 {
		t.Error("nothing was learned")
	}
}

// A table whose qualifiers never come again is not learned.
func TestWideRowsAreNotCached(t *testing.T) {
	var cells []cell.Cell
	for i := range 3 * maxCachedColumns {
		cells = append(cells, cell.Cell{Row: []byte("r"), Family: []byte("f"), Qualifier: fmt.Appendf(nil, "%08d", i), Timestamp: 5, Type: cell.Put})
	}
	file := writeCells(t, Settings{Compression: CompressNone, Encoding: EncodeFastDiff, Bloom: BloomRow}, cells)
	r := open(t, file)
	n := 0
	report, err := r.Verify(func(run *CellBatch) error {
		return eachOf(run, func(c *cell.Cell) error {
			if string(c.Qualifier) != fmt.Sprintf("%08d", n) {
				t.Fatalf("cell %d has qualifier %q", n, c.Qualifier)
			}
			n++
			return nil
		})
	})
	if err != nil || report.Cells != 3*maxCachedColumns {
		t.Errorf("%+v, %v", report, err)
	}
}
