package keys

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"bulkload/values"
)

// javaVectors are described in testdata/README.md.
type javaVectors struct {
	Strings []struct {
		UTF16              []uint16
		UTF8, MD5, Reverse string
		Hash               int32
		Salt               map[string]string
	}
	Longs []struct {
		Value, Bytes string
		MaxMinus     string `json:"max_minus"`
		Hash         int32
		Salt         map[string]string
	}
	Ints []struct {
		Value int32
		Bytes string
	}
	LeftPad []struct {
		Input, Result string
		Size          int
	} `json:"left_pad"`
	Decode []struct {
		Bytes, UTF8 string
		Hash        int32
	}
}

func readVectors(t *testing.T) *javaVectors {
	t.Helper()
	data, err := os.ReadFile("testdata/java-vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	v := new(javaVectors)
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
	return v
}

// keyOf is the key that an expression over the column x makes of a value; the reason where it makes none.
func keyOf(t testing.TB, expression string, value []byte) (string, *ValueError) {
	t.Helper()
	e, err := Parse(expression, []KeyColumn{{Name: "x"}})
	if err != nil {
		t.Fatal(err)
	}
	key, err := e.Append(nil, []values.Value{values.ValueOf(value)})
	var fault *ValueError
	if err != nil && !errors.As(err, &fault) {
		t.Fatalf("%s of %q: %v is no ValueError", expression, value, err)
	}
	return string(key), fault
}

func wantKey(t *testing.T, expression string, value []byte, want string) {
	t.Helper()
	if got, fault := keyOf(t, expression, value); fault != nil || got != want {
		t.Errorf("%s of %q is %q (%v), Java has %q", expression, value, got, fault, want)
	}
}

func unhexed(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// pairedText is the text in UTF-8; false if it has half of a surrogate pair alone, which UTF-8 can't encode.
func pairedText(units []uint16) (text string, ok bool) {
	for i := 0; i < len(units); i++ {
		if utf16.IsSurrogate(rune(units[i])) {
			if i+1 == len(units) || utf16.DecodeRune(rune(units[i]), rune(units[i+1])) == '\uFFFD' {
				return "", false
			}
			i++
		}
	}
	return string(utf16.Decode(units)), true
}

func TestStringsAsJava(t *testing.T) {
	paired := 0
	for _, s := range readVectors(t).Strings {
		text, ok := pairedText(s.UTF16)
		if !ok {
			continue
		}
		paired++
		x := []byte(text)
		if got := stringHash(x); got != s.Hash {
			t.Errorf("hash of %q is %d, Java has %d", x, got, s.Hash)
		}
		if got := units(x); got != len(s.UTF16) {
			t.Errorf("%q has %d units, Java has %d", x, got, len(s.UTF16))
		}
		for n, salt := range s.Salt {
			wantKey(t, "salt(x, "+n+")", x, salt)
			short := strings.TrimLeft(salt, "0")
			if short == "" {
				short = "0"
			}
			wantKey(t, "short_salt(x, "+n+")", x, short)
		}
		wantKey(t, "md5(x)", x, s.MD5)
		wantKey(t, "md5_bytes(x)", x, string(unhexed(t, s.MD5)))
		wantKey(t, "md5(x, 4)", x, s.MD5[:4])
		if text != "" {
			wantKey(t, "reverse(x)", x, string(unhexed(t, s.Reverse)))
		}
	}
	if paired < 90 {
		t.Errorf("only %d texts were looked at", paired)
	}
}

func TestLongsAsJava(t *testing.T) {
	for _, l := range readVectors(t).Longs {
		x := []byte(l.Value)
		n, err := strconv.ParseInt(l.Value, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		wantKey(t, "int64(x)", x, string(unhexed(t, l.Bytes)))
		if got := longHash(n); got != l.Hash {
			t.Errorf("hash of %d is %d, Java has %d", n, got, l.Hash)
		}
		for count, salt := range l.Salt {
			wantKey(t, "long_salt(x, "+count+")", x, salt)
		}
		if n >= 0 {
			wantKey(t, "desc(x)", x, strings.Repeat("0", 19-len(l.MaxMinus))+l.MaxMinus)
		} else if key, fault := keyOf(t, "desc(x)", x); fault == nil {
			t.Errorf("desc of %d is %q; Java's subtraction overflows there", n, key)
		}
	}
}

func TestIntsAsJava(t *testing.T) {
	for _, i := range readVectors(t).Ints {
		wantKey(t, "int32(x)", []byte(strconv.Itoa(int(i.Value))), string(unhexed(t, i.Bytes)))
	}
}

func TestPadsAsJava(t *testing.T) {
	for _, p := range readVectors(t).LeftPad {
		if p.Size < 1 {
			continue // no width of a key
		}
		if units([]byte(p.Input)) > p.Size {
			if key, fault := keyOf(t, "pad(x, "+strconv.Itoa(p.Size)+")", []byte(p.Input)); fault == nil {
				t.Errorf("%q padded to %d is %q; leftPad would leave it wider", p.Input, p.Size, key)
			}
			continue
		}
		wantKey(t, "pad(x, "+strconv.Itoa(p.Size)+")", []byte(p.Input), p.Result)
	}
}

func TestBrokenUTF8AsJava(t *testing.T) {
	for _, d := range readVectors(t).Decode {
		x := unhexed(t, d.Bytes)
		if got := hex.EncodeToString(appendText(nil, x)); got != d.UTF8 {
			t.Errorf("%s is decoded to %s, Java has %s", d.Bytes, got, d.UTF8)
		}
		if got := stringHash(x); got != d.Hash {
			t.Errorf("hash of %s is %d, Java has %d", d.Bytes, got, d.Hash)
		}
	}
}

func TestCasesAsJava(t *testing.T) {
	f, err := os.Open("testdata/case.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	n := 0
	for ; lines.Scan(); n++ {
		words := strings.Fields(lines.Text())
		text := []byte(codePoints(t, words[0]))
		wantKey(t, "upper(x)", text, codePoints(t, words[1]))
		wantKey(t, "lower(x)", text, codePoints(t, words[2]))
	}
	if lines.Err() != nil || n != 2847 {
		t.Errorf("%d lines, %v", n, lines.Err())
	}
}

func codePoints(t *testing.T, hexes string) string {
	t.Helper()
	var text []rune
	for _, h := range strings.Split(hexes, "_") {
		n, err := strconv.ParseInt(h, 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, rune(n))
	}
	return string(text)
}
