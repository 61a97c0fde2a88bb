package lex

import (
	"strings"
	"testing"
	"unicode/utf8"

	"bulkload/internal/test/testwords"
)

func TestQuoted(t *testing.T) {
	for text, want := range map[string]string{
		`'a'`: "a", `"it's"`: "it's", `'\'\"\\\n\r\t\0\x4aZ'`: "'\"\\\n\r\t\x00JZ", `''`: "", `'值'`: "值",
	} {
		l := Lexer{Text: "  " + text + "rest"}
		if !l.SkipSpace() {
			t.Fatal("nothing follows the spaces")
		}
		if got, err := l.Quoted(); err != nil || got != want || l.Text[l.Pos:] != "rest" {
			t.Errorf("%s: %q, %v, then %q", text, got, err, l.Text[l.Pos:])
		}
	}
	const open, escape = "not closed", "escape"
	for text, want := range map[string][]string{
		`'a`: {"character 3: ", open}, `'值\q'`: {"character 5: ", escape}, `'\x4'`: {"character 4: ", escape},
		`'\x4`: {"character 4: ", escape}, `'\x+1'`: {"character 4: ", escape}, `'\`: {"character 4: ",
			escape}, `'`: {"character 3: ", open},
	} {
		l := Lexer{Text: "  " + text, Pos: 2}
		if got, err := l.Quoted(); !testwords.Names(err, want...) {
			t.Errorf("%s: %q, %v; want %s", text, got, err, want)
		}
	}
}

func TestNames(t *testing.T) {
	l := Lexer{Text: "_A$1#值-`a b` ``"}
	if name, err := l.Name(); err != nil || name != "_A$1#值" {
		t.Errorf("%q, %v", name, err)
	}
	if name, err := l.Name(); !testwords.Names(err, "character 7: ", "'-'") {
		t.Errorf("%q, %v", name, err)
	}
	l.Pos++
	if name, err := l.Backticked(); err != nil || name != "a b" {
		t.Errorf("%q, %v", name, err)
	}
	l.SkipSpace()
	if name, err := l.Backticked(); !testwords.Names(err, "character 14: ", "no column name") {
		t.Errorf("%q, %v", name, err)
	}
	l.Pos = len(l.Text) - 1
	if name, err := l.Backticked(); !testwords.Names(err, "character 15: ", "not closed") {
		t.Errorf("%q, %v", name, err)
	}
}

// TestErrorsAreUTF8: an error about a text that is not UTF-8 is UTF-8.
func TestErrorsAreUTF8(t *testing.T) {
	l := Lexer{Text: "a \xff\xfe", Pos: 2}
	if err := l.Fail(2, "unexpected %s", l.Text[2:]); !utf8.ValidString(err.Error()) || !strings.HasPrefix(err.Error(), "character 3: ") {
		t.Errorf("%q", err)
	}
	if got := Shown(strings.Repeat("值", 100)); !utf8.ValidString(got) || len(got) > 205 {
		t.Errorf("%d bytes: %s", len(got), got)
	}
	if got := Shown("a\xff\n"); got != `"a\xff\n"` {
		t.Error(got)
	}
}
