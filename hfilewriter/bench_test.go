package hfilewriter

import (
	"bytes"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"bulkload/values"

	"golang.org/x/sync/errgroup"
)

const benchTime = 1_700_000_000_000

var benchRows = sync.OnceValue(func() []tableRow { return checkRows(50_000, 1) })

var benchSettings = []struct {
	name string
	s    Settings
}{
	{"SNAPPY+FAST_DIFF+ROW", Settings{Compression: CompressSnappy, Encoding: EncodeFastDiff, Bloom: BloomRow}},
	{"NONE+FAST_DIFF+ROW", Settings{Compression: CompressNone, Encoding: EncodeFastDiff, Bloom: BloomRow}},
	{"NONE+NONE+NONE", Settings{Compression: CompressNone}},
}

// BenchmarkAppendRow writes whole files, a row at a time. MB/s counts KeyValue bytes.
func BenchmarkAppendRow(b *testing.B) {
	rows := benchRows()
	columns, err := NewColumns([]byte("f"), checkQualifiers)
	if err != nil {
		b.Fatal(err)
	}
	for _, bs := range benchSettings {
		b.Run(bs.name, func(b *testing.B) {
			benchWrite(b, bs.s, len(rows)*len(checkQualifiers), func(w *Writer) error {
				for i := range rows {
					if err := w.AppendRow(columns, rows[i].row, benchTime, rows[i].values); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
}

// benchUneven are rows as of a table of texts: of the columns every third is long and every fifth null, each row at
// another one.
var benchUneven = sync.OnceValue(func() []tableRow {
	rows := checkRows(20_000, 2)
	for i := range rows {
		rows[i].values = slices.Clone(rows[i].values)
		for j := range rows[i].values {
			switch {
			case (i+j)%5 == 0:
				rows[i].values[j] = values.Value{}
			case (i+j)%3 == 0:
				rows[i].values[j] = values.ValueOf(bytes.Repeat(append(rows[i].values[j].Bytes(), byte('a'+j)), 150)[:150])
			}
		}
	}
	return packed(rows)
})

// BenchmarkUnevenRows writes rows and reads them back to which neither the writer's nor the reader's fastest way
// applies often.
func BenchmarkUnevenRows(b *testing.B) {
	rows := benchUneven()
	for _, bs := range benchSettings {
		b.Run("write "+bs.name, func(b *testing.B) { benchWrite(b, bs.s, len(rows)*len(checkQualifiers), fillRows(b, rows)) })
		in := open(b, writeRows(b, bs.s, rows, checkQualifiers, benchTime))
		b.Run("verify "+bs.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := in.Verify(nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkAppend writes the same files a cell at a time.
func BenchmarkAppend(b *testing.B) {
	cells := cellsOf(benchRows(), "f", checkQualifiers, benchTime)
	for _, bs := range benchSettings {
		b.Run(bs.name, func(b *testing.B) {
			benchWrite(b, bs.s, len(cells), func(w *Writer) error {
				for i := range cells {
					if err := w.Append(&cells[i]); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
}

func benchWrite(b *testing.B, s Settings, cells int, fill func(*Writer) error) {
	b.ReportAllocs()
	for range b.N {
		w, err := NewWriter(io.Discard, s, Provenance{})
		if err == nil {
			err = fill(w)
		}
		if err != nil {
			b.Fatal(err)
		}
		sum, err := w.Close()
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(sum.RawSize)
	}
	b.ReportMetric(float64(cells)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mcells/s")
}

// BenchmarkTwoFiles writes one file and two in parallel, turn by turn, so that both see the same machine. The figure is
// what two files give over one.
func BenchmarkTwoFiles(b *testing.B) {
	rows := checkRows(200_000, 1)
	fill := fillRows(b, rows)
	write := func() error {
		w, err := NewWriter(io.Discard, benchSettings[0].s, Provenance{})
		if err == nil {
			err = fill(w)
		}
		if err == nil {
			_, err = w.Close()
		}
		return err
	}
	both := func() error {
		var group errgroup.Group
		for range 2 {
			group.Go(write)
		}
		return group.Wait()
	}
	var one, pair []float64
	for b.Loop() {
		one = append(one, seconds(b, write))
		pair = append(pair, seconds(b, both))
	}
	b.ReportMetric(2*median(one)/median(pair), "x-two-files")
}

func seconds(b *testing.B, f func() error) float64 {
	begun := time.Now()
	if err := f(); err != nil {
		b.Fatal(err)
	}
	return time.Since(begun).Seconds()
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// fillRows writes rows of the check table.
func fillRows(b *testing.B, rows []tableRow) func(*Writer) error {
	columns, err := NewColumns([]byte("f"), checkQualifiers)
	if err != nil {
		b.Fatal(err)
	}
	return func(w *Writer) error {
		for i := range rows {
			if err := w.AppendRow(columns, rows[i].row, benchTime, rows[i].values); err != nil {
				return err
			}
		}
		return nil
	}
}

// BenchmarkVerify reads a whole file back with all checks.
func BenchmarkVerify(b *testing.B) {
	cells := cellsOf(benchRows(), "f", checkQualifiers, benchTime)
	for _, bs := range benchSettings {
		b.Run(bs.name, func(b *testing.B) {
			in := open(b, writeCells(b, bs.s, cells))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := in.Verify(nil); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(cells))*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mcells/s")
		})
	}
}
