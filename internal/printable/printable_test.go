package printable

import "testing"

func TestPrintable(t *testing.T) {
	for _, b := range []string{"", "abc", "a\x00\xff", `back\slash`, "号", "7:a,b"} {
		got, err := Parse(Bytes([]byte(b)))
		if err != nil || string(got) != b {
			t.Errorf("%q is printed as %s and read back as %q, %v", b, Bytes([]byte(b)), got, err)
		}
	}
	if p := Bytes([]byte("a\x00\xff\\")); p != `a\x00\xFF\x5C` {
		t.Errorf("printed as %s", p)
	}
	for _, bad := range []string{`\`, `\x`, `\x0`, `\xzz`, `\n`} {
		if b, err := Parse(bad); err == nil {
			t.Errorf("%s is read as %q", bad, b)
		}
	}
}

// TestNames: what a terminal obeys or a log takes for its own is escaped in names, and all else stays.
func TestNames(t *testing.T) {
	for name, want := range map[string]string{
		"/in/part-m-00000": "/in/part-m-00000", "/规则/a b é": "/规则/a b é", "": "", `a\b`: `a\b`,
		"p\x1b[2J.txt": `p\x1B[2J.txt`, "a\nb\tc\r": `a\x0Ab\x09c\x0D`, "\x1b]0;pwn\a": `\x1B]0;pwn\x07`, "\xff\xc3": `\xFF\xC3`,
		"a\u009bb": `a\xC2\x9Bb`, "a\u202eb": `a\xE2\x80\xAEb`, "a\u2028b": `a\xE2\x80\xA8b`, "a\x7f": `a\x7F`, "\ufffd": "\ufffd",
	} {
		if got := Name(name); got != want {
			t.Errorf("%q is shown as %s", name, got)
		}
	}
	if got := Text("a\nb\tc\x1b\r"); got != "a\nb\tc\\x1B\\x0D" {
		t.Errorf("%q", got)
	}
}
