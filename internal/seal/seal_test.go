package seal

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

type document struct {
	Name  string            `json:"name"`
	Count uint64            `json:"count"`
	Parts []part            `json:"parts"`
	Extra map[string]string `json:"extra,omitempty"`
}

type part struct {
	Checksum string `json:"checksum"`
}

func sample() document {
	return document{Name: `a "checksum":"x"} <&> ` + "\u2028\x00é", Count: 18446744073709551615,
		Parts: []part{{"one"}, {"two"}}, Extra: map[string]string{"checksum": "inner"}}
}

func mustSeal(t testing.TB, v any) []byte {
	t.Helper()
	text, err := Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestRoundTrip(t *testing.T) {
	for _, want := range []document{{}, sample()} {
		text := mustSeal(t, want)
		var got document
		if err := Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
		var plain document
		if err := json.Unmarshal(text, &plain); err != nil || !reflect.DeepEqual(plain, want) {
			t.Errorf("as plain JSON: %+v, %v", plain, err)
		}
	}
	var empty struct{}
	if err := Unmarshal(mustSeal(t, empty), &empty); err != nil {
		t.Errorf("no field: %v", err)
	}
}

// TestLayoutIsFree: white space between values may change, but not the order and the spelling of values.
func TestLayoutIsFree(t *testing.T) {
	text := mustSeal(t, sample())
	var narrow, wide bytes.Buffer
	if err := errors.Join(json.Compact(&narrow, text), json.Indent(&wide, text, "\t", "      ")); err != nil {
		t.Fatal(err)
	}
	var got document
	for _, other := range [][]byte{narrow.Bytes(), wide.Bytes(), append(bytes.Clone(text), " \r\n\t"...)} {
		if err := Unmarshal(other, &got); err != nil || !reflect.DeepEqual(got, sample()) {
			t.Errorf("%v for\n%s", err, other)
		}
	}
	for what, change := range map[string][2]string{
		"a digit": {"18446744073709551615", "18446744073709551614"}, "a space within a string": {" <", "  <"}, "a key's case": {`"name"`, `"Name"`},
		"a part": {`"two"`, `"twp"`}, "an escape": {`\u003c`, "<"}, "a field twice": {`"parts"`, `"count": 1, "parts"`},
	} {
		change[0] = strings.ReplaceAll(change[0], " <", ` \u003c`)
		change[1] = strings.ReplaceAll(change[1], "  <", `  \u003c`)
		changed := strings.Replace(string(text), change[0], change[1], 1)
		if changed == string(text) {
			t.Fatalf("%s: nothing was changed in\n%s", what, text)
		}
		if err := Unmarshal([]byte(changed), &got); !errors.Is(err, ErrMismatch) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestMalformed(t *testing.T) {
	sealed := string(mustSeal(t, map[string]int{"a": 1}))
	for _, text := range []string{"", "null", "[]", `"a"`, "{", sealed + "x", sealed + sealed, `{"a": 1}`, `{"checksum": 7}`, `{"a": {"checksum": "x"}}`,
		`{"checksum": "x", "a": 1}`, strings.Replace(sealed, "checksum", "checksun", 1)} {
		var v map[string]any
		if err := Unmarshal([]byte(text), &v); !errors.Is(err, ErrMalformed) || errors.Is(err, ErrMismatch) || v != nil {
			t.Errorf("%q: %v, %v", text, v, err)
		}
	}
	var number struct {
		A string `json:"a"`
	}
	if err := Unmarshal([]byte(sealed), &number); !errors.Is(err, ErrMalformed) || errors.Is(err, ErrUnsealed) {
		t.Errorf("another type: %v", err)
	}
	for _, v := range []any{nil, 1, []int{1}} {
		if text, err := Marshal(v); err == nil {
			t.Errorf("%v sealed as %s", v, text)
		}
	}
}

// TestSchema: the format of a document is known even if nothing else of it can be read.
func TestSchema(t *testing.T) {
	for text, want := range map[string]int{`{"schema": 2}`: 2, `{"a": [1], "schema":3, "checksum":"x"}`: 3, "": 0, "{}": 0, `{"schema": "1"}`: 0,
		`[{"schema": 1}]`: 0, `{"schema": 1`: 0, "null": 0} {
		if got := Schema([]byte(text)); got != want {
			t.Errorf("%s: %d", text, got)
		}
	}
}

// TestEveryByteCounts: no changed byte and no shorter text is read as other values.
func TestEveryByteCounts(t *testing.T) {
	text := mustSeal(t, sample())
	for at := range text {
		for bit := range 8 {
			changed := bytes.Clone(text)
			changed[at] ^= 1 << bit
			var got document
			if err := Unmarshal(changed, &got); err == nil && !reflect.DeepEqual(got, sample()) {
				t.Errorf("byte %d, bit %d: %+v", at, bit, got)
			} else if err != nil && !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrMismatch) {
				t.Errorf("byte %d, bit %d: %v", at, bit, err)
			}
		}
		var got document
		if err := Unmarshal(text[:at], &got); !errors.Is(err, ErrMalformed) {
			t.Errorf("cut at %d: %v", at, err)
		}
	}
}

// FuzzUnmarshal: after any change, a document has its values, or reading it returns an error of the package.
func FuzzUnmarshal(f *testing.F) {
	f.Add("a name", uint64(7), 3, byte(1), []byte("{}"))
	f.Add("\xff\u2028", uint64(1)<<63, 50, byte(0x20), []byte(`{"checksum":"`))
	f.Add(`,"checksum":"`, uint64(0), 0, byte(0), []byte(nil))
	f.Fuzz(func(t *testing.T, name string, count uint64, at int, flip byte, put []byte) {
		text := mustSeal(t, document{Name: name, Count: count, Parts: []part{{name}}})
		var want document // whose strings are valid UTF-8
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		i := int(uint(at) % uint(len(text)))
		flipped := bytes.Clone(text)
		flipped[i] ^= flip
		inserted := append(append(bytes.Clone(text[:i]), put...), text[i:]...)
		for _, changed := range [][]byte{flipped, inserted, put} {
			var got document
			switch err := Unmarshal(changed, &got); {
			case err == nil && !reflect.DeepEqual(got, want) && !bytes.Equal(changed, put):
				t.Fatalf("%+v, want %+v, from\n%s", got, want, changed)
			case err != nil && !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrMismatch):
				t.Fatal(err)
			}
		}
	})
}
