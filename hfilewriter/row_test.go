package hfilewriter

import (
	"bytes"
	"testing"
)

// TestRowsWithTimestampsOfTheirOwn: rows as wholes and cell by cell give the same bytes where each row has its own
// timestamp.
func TestRowsWithTimestampsOfTheirOwn(t *testing.T) {
	rows := checkRows(3000, 7)
	stamp := func(i int) int64 { // some rows have that of the row before, some differ in one byte, some in all
		switch i % 5 {
		case 0, 1:
			return 1_700_000_000_000 + int64(i/5)<<8
		case 2:
			return 1_700_000_000_000 + int64(i)
		case 3:
			return int64(i) * 7_777_777_777_777
		}
		return 1
	}
	columns, err := NewColumns([]byte("f"), checkQualifiers)
	if err != nil {
		t.Fatal(err)
	}
	for _, encoding := range []Encoding{EncodeNone, EncodeFastDiff, EncodeDiff, EncodePrefix, EncodeRowIndexV1} {
		write := func(fill func(*Writer) error) []byte {
			var out bytes.Buffer
			w, err := NewWriter(&out, Settings{Compression: CompressNone, Encoding: encoding, Bloom: BloomRow, BlockSize: 4096}, Provenance{Created: 1, Loaded: 2, Task: "test"})
			if err == nil {
				err = fill(w)
			}
			if err == nil {
				_, err = w.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
			return out.Bytes()
		}
		whole := write(func(w *Writer) error {
			for i, r := range rows {
				if err := w.AppendRow(columns, r.row, stamp(i), r.values); err != nil {
					return err
				}
			}
			return nil
		})
		single := write(func(w *Writer) error {
			for i := range rows {
				for _, c := range cellsOf(rows[i:i+1], "f", checkQualifiers, stamp(i)) {
					if err := w.Append(&c); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if !bytes.Equal(whole, single) {
			t.Errorf("%v: the files differ", encoding)
		}
	}
}

// BenchmarkRowTimestamps writes rows with one timestamp and with one each.
func BenchmarkRowTimestamps(b *testing.B) {
	rows := benchRows()
	columns, err := NewColumns([]byte("f"), checkQualifiers)
	if err != nil {
		b.Fatal(err)
	}
	for _, encoding := range []Encoding{EncodeNone, EncodeFastDiff} {
		for name, step := range map[string]int64{"same": 0, "own": 7919} {
			b.Run(encoding.String()+"/"+name, func(b *testing.B) {
				benchWrite(b, Settings{Compression: CompressNone, Encoding: encoding}, len(rows)*len(checkQualifiers), func(w *Writer) error {
					for i := range rows {
						if err := w.AppendRow(columns, rows[i].row, benchTime+int64(i)*step, rows[i].values); err != nil {
							return err
						}
					}
					return nil
				})
			})
		}
	}
}
