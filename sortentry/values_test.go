package sortentry

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"bulkload/values"
)

// TestValues packs and cuts values of each length around those that are written in another way, with and without spare
// capacity.
func TestValues(t *testing.T) {
	for _, spare := range []int{0, 1, 16, 17, 1 << 12} {
		var all []values.Value
		for _, n := range []int{0, 1, 3, 4, 7, 8, 15, 16, 17, 126, 127, 128, 1000} {
			all = append(all, values.ValueOf(bytes.Repeat([]byte{byte(n)}, n)), values.Value{})
		}
		var packed []byte
		for _, v := range all {
			packed = AppendValue(append(make([]byte, 0, len(packed)+spare), packed...), v)
		}
		if cells, rest, err := CountValues(packed, len(all)); cells != len(all)/2 || len(rest) != 0 || err != nil {
			t.Errorf("%d cells, %d bytes more, %v", cells, len(rest), err)
		}
		rest := packed
		for i, want := range all {
			var got values.Value
			var err error
			if got, rest, err = CutValue(rest); err != nil || got.Null() != want.Null() || !bytes.Equal(got.Bytes(), want.Bytes()) {
				t.Fatalf("value %d of %d bytes, %d spare: %v, %v", i, want.Len(), spare, got, err)
			}
		}
		for n := range packed {
			if _, _, err := CountValues(packed[:n], len(all)); !errors.Is(err, ErrDamaged) {
				t.Fatalf("%d of %d bytes: %v", n, len(packed), err)
			}
		}
	}
}

func TestDamagedValues(t *testing.T) {
	for _, b := range [][]byte{nil, {2}, {3, 'a'}, {0x80}, {0x80, 0}, {0x81, 1}, bytes.Repeat([]byte{0xff}, 12), {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}} {
		if v, rest, err := CutValue(b); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s is cut into %v and %d bytes: %v", fmt.Sprintf("% x", b), v, len(rest), err)
		}
	}
}
