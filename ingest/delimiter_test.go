package ingest

import (
	"bytes"
	"testing"

	"bulkload/internal/test/testwords"
)

func TestParseDelimiter(t *testing.T) {
	for text, want := range map[string]string{
		`\x01`: "\x01", `\x10`: "\x10", `\xFF`: "\xff", `\x0d\x0a`: "\r\n", `\001`: "\x01", `\020`: "\x10", `\01`: "\x01", `\0`: "\x00",
		`\010`: "\x08", `\0177`: "\x7f", `\012`: "\n", `\101`: "A", `\0x1`: "\x01", `\0x01`: "\x01", `\0x10`: "\x10", `\0xA`: "\n",
		`0x01`: "\x01", `0x1`: "\x01", `0X10`: "\x10", `0x0d0A`: "\r\n", `\u0001`: "\x01", `\t`: "\t", `\r\n`: "\r\n", `\\`: `\`, `\"`: `"`,
		`,`: ",", `|`: "|", `||`: "||", `@#@`: "@#@", "\x01": "\x01", "\t": "\t", `|\t|`: "|\t|", `,\x01`: ",\x01", `；`: "；", `^|^`: "^|^", `\x01\x02`: "\x01\x02",
	} {
		got, err := ParseDelimiter(text)
		if err != nil || string(got) != want {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
		again, err := ParseDelimiter(FormatDelimiter(got))
		if err != nil || !bytes.Equal(again, got) {
			t.Errorf("%q is written %s, which is %q, %v", got, FormatDelimiter(got), again, err)
		}
	}
	for text, want := range map[string]string{
		``: "one byte", `020`: `\x10`, `001`: `\x01`, `01`: `\x01`, `10`: `\x10`, `9`: `\x09`, `^A`: `\x01`, `^P`: `\x10`, `x10`: `\x10`, `t`: `\t`, `n`: `\n`,
		`\`: "at the end", `\x1`: "1 digits, want 2", `\xg1`: "0 digits", `\16`: "want 3", `\q`: `\q is`, `\|`: `\| is`, `\8`: `\8 is`,
		`\u00e9`: `\xc3\xa9`, `\0xFE`: `\xc3\xbe`, `\377`: "UTF-8", `0xzz`: "two hex digits", `0x011`: "two hex digits", `\400`: `\4 is`, `\规`: `\规 is`,
	} {
		got, err := ParseDelimiter(text)
		if !testwords.Names(err, want) {
			t.Errorf("%q: %q, %v; want %q in the error", text, got, err, want)
		}
	}
}

// What the bare digits may have been is said for Sqoop's octal and for hex.
func TestBareNumber(t *testing.T) {
	_, err := ParseDelimiter("020")
	if !testwords.Names(err, `"020"`, `\x10 (octal 020`, `Sqoop's \020`, `\x20 (hex 020)`) {
		t.Error(err)
	}
}

func FuzzParseDelimiter(f *testing.F) {
	for _, s := range []string{`\x01`, `\001`, `0x0d0a`, `\0x1`, `020`, `\u0041`, `^A`, `\`, `,`, "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseDelimiter(text)
		if err != nil {
			return
		}
		if len(got) == 0 || len(got) > len(text) {
			t.Fatalf("%q gives %q", text, got)
		}
		again, err := ParseDelimiter(FormatDelimiter(got))
		if err != nil || !bytes.Equal(again, got) {
			t.Fatalf("%q gives %q, written %s, which gives %q, %v", text, got, FormatDelimiter(got), again, err)
		}
	})
}
