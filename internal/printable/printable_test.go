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
