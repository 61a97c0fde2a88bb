package hfilewriter

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"bulkload/cell"
	"bulkload/sortentry"
	"bulkload/values"
)

// FuzzPacked passes any bytes to the writer as packed values: it treats them as AppendRow does the values, or returns
// sortentry.ErrDamaged.
func FuzzPacked(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 3))
	for range 8 {
		var b []byte
		for range 12 {
			b = sortentry.AppendValue(b, values.ValueOf(bytes.Repeat([]byte("v"), r.IntN(40)*r.IntN(8))))
			if r.IntN(3) == 0 {
				b = sortentry.AppendValue(b, values.Value{})
			}
		}
		f.Add(b, byte(r.IntN(12)))
	}
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, byte(1))
	f.Add([]byte{0x80, 0, 0x81, 1}, byte(2))
	f.Fuzz(func(t *testing.T, packed []byte, n byte) {
		var qualifiers [][]byte
		for i := range int(n % 20) {
			qualifiers = append(qualifiers, fmt.Appendf(nil, "q%02d", i))
		}
		columns, err := NewColumns([]byte("f"), qualifiers)
		if err != nil {
			t.Fatal(err)
		}
		var cut []values.Value
		rest := bytes.Clone(packed)
		for range qualifiers {
			var v values.Value
			if v, rest, err = sortentry.CutValue(rest); err != nil {
				break
			}
			cut = append(cut, v)
		}
		for _, encoding := range []Encoding{EncodeFastDiff, EncodeNone, EncodePrefix} {
			var whole, single bytes.Buffer
			s := Settings{Compression: CompressNone, Encoding: encoding, Bloom: BloomRow, BlockSize: 300}
			w, x := begun(t, &whole, s), begun(t, &single, s)
			cells, after, packedErr := w.AppendPacked(columns, []byte("row"), 7, packed)
			if (packedErr == nil) != (err == nil) || packedErr != nil && !errors.Is(packedErr, sortentry.ErrDamaged) {
				t.Fatalf("%v: %v, cut one by one: %v", encoding, packedErr, err)
			}
			if packedErr != nil {
				continue
			}
			count := 0
			for i, v := range cut {
				if v.Null() {
					continue
				}
				count++
				c := cell.Cell{Row: []byte("row"), Family: []byte("f"), Qualifier: qualifiers[i], Timestamp: 7, Type: cell.Put, Value: v.Bytes()}
				if err := x.Append(&c); err != nil {
					t.Fatal(err)
				}
			}
			if cells != count || !bytes.Equal(after, rest) {
				t.Fatalf("%v: %d cells and %d bytes after them, want %d and %d", encoding, cells, len(after), count, len(rest))
			}
			if count == 0 {
				continue // no empty file can be closed
			}
			for _, w := range []*Writer{w, x} {
				if _, err := w.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(whole.Bytes(), single.Bytes()) {
				t.Fatalf("%v: the files differ", encoding)
			}
		}
	})
}

func begun(t *testing.T, out *bytes.Buffer, s Settings) *Writer {
	w, err := NewWriter(out, s, Provenance{Created: 1, Loaded: 2, Task: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return w
}
