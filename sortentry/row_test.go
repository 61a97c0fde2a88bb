package sortentry

import (
	"bytes"
	"testing"
)

func TestRowForm(t *testing.T) {
	for row, want := range map[string]string{
		"": "\x00\x00", "a": "a\x00\x00", "\x00": "\x00\xff\x00\x00", "a\x00\xffb": "a\x00\xff\xffb\x00\x00", "\x00\x00": "\x00\xff\x00\xff\x00\x00",
	} {
		if got := AppendRow([]byte("-"), []byte(row)); string(got) != "-"+want {
			t.Errorf("%q is %q, want %q", row, got, "-"+want)
		}
	}
	for _, key := range []string{"", "a", "\x00", "a\x00", "a\x00\x01\x00\x00", "\x00\xff", "\x00\xff\x00", "\x00\xffa\x00\x07"} {
		if row, rest, ok := CutRow(nil, []byte(key)); ok {
			t.Errorf("%q is cut into %q and %q", key, row, rest)
		}
	}
}

// FuzzRowForm: keys order as rows do and then as what comes after, and come apart again.
func FuzzRowForm(f *testing.F) {
	f.Add([]byte("a"), []byte("b"), []byte("a\x00"), []byte(""))
	f.Add([]byte(""), []byte("\x00"), []byte("\x00"), []byte("\xff"))
	f.Add([]byte("1"), []byte("2x"), []byte("12"), []byte("x"))
	f.Add([]byte("\x00\xff"), []byte(""), []byte("\x00"), []byte("\xff\xff"))
	f.Fuzz(func(t *testing.T, row, rest, otherRow, otherRest []byte) {
		key := append(AppendRow(nil, row), rest...)
		other := append(AppendRow(nil, otherRow), otherRest...)
		want := bytes.Compare(row, otherRow)
		if want == 0 {
			want = bytes.Compare(rest, otherRest)
		}
		if got := bytes.Compare(key, other); got != want {
			t.Errorf("%q + %q and %q + %q compare as %d, want %d", row, rest, otherRow, otherRest, got, want)
		}
		gotRow, gotRest, ok := CutRow([]byte("x")[:0], key)
		if !ok || !bytes.Equal(gotRow, row) || !bytes.Equal(gotRest, rest) {
			t.Errorf("%q + %q come apart as %q + %q, %v", row, rest, gotRow, gotRest, ok)
		}
		CutRow(nil, row) // whatever the bytes
	})
}
