package charset

import (
	"strings"
	"testing"
	"unicode/utf8"

	"bulkload/internal/test/testwords"
)

// TestValid: decoding stops at the first bytes that are no character, and reports where.
func TestValid(t *testing.T) {
	for _, c := range []struct {
		charset, text string
		valid         int
		want          string
	}{
		{"gbk", "a\xd6\xd0|\xce\xc4", 6, "a中|文"},
		{"gbk", "\x81\x7c|", 3, "亅|"}, // a second byte that is ASCII's |
		{"gbk", "\x95\x5c\\", 3, "昞\\"},
		{"gbk", "ok\xff", 2, "ok"},
		{"gbk", "ok\xd6", 2, "ok"}, // cut in the middle
		{"gbk", "\xd6\x20", 0, ""},
		{"gbk", "\x80", 0, ""}, // the euro sign only of Microsoft's code page
		{"gbk", "\xfe\xfe", 2, "\ue4c5"},
		{"gb18030", "\x81\x30\x81\x30x", 5, "\u0080x"},
		{"gb18030", "\x90\x30\x81\x30", 4, "\U00010000"},
		{"gb18030", "\xe3\x32\x9a\x35", 4, "\U0010ffff"},
		{"gb18030", "\xe3\x32\x9a\x36", 0, ""},
		{"gb18030", "\x84\x31\xa4\x37", 4, "\ufffd"}, // the character itself, not a mistake
		{"windows-1252", "\x80\x93x\x94", 4, "€“x”"},
		{"windows-1252", "x\x81", 1, "x"},
		{"iso-8859-15", "\xa4", 1, "€"},
		{"us-ascii", "a\x80", 1, "a"},
		{"cesu-8", "\xed\xa0\xbd\xed\xb8\x80", 6, "😀"},
		{"cesu-8", "\xf0\x9f\x98\x80", 0, ""},
		{"utf-8", "中\xff", 3, "中"},
		{"utf-8", "\ufffd", 3, "\ufffd"},
	} {
		cs, err := Named(c.charset)
		if err != nil {
			t.Fatal(err)
		}
		got, valid := cs.Append([]byte("before"), []byte(c.text))
		if valid != c.valid || string(got) != "before"+c.want {
			t.Errorf("%s % x: %q, %d bytes; want %q, %d", c.charset, c.text, got, valid, c.want, c.valid)
		}
	}
}

// TestLength: the lengths of characters add up to what Append reads.
func TestLength(t *testing.T) {
	for _, name := range Names() {
		c, err := Named(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range random(2000) {
			_, valid := c.Append(nil, text)
			at := 0
			for n := c.Length(text); n > 0; n = c.Length(text[at:]) {
				for _, b := range text[at+1 : at+n] {
					if !c.CanTrail(b) {
						t.Fatalf("%s: %x follows in % x, and CanTrail denies it", name, b, text[at:at+n])
					}
				}
				at += n
			}
			if at != valid {
				t.Errorf("%s % x: %d bytes by Length, %d by Append", name, text, at, valid)
			}
		}
	}
}

func TestTrails(t *testing.T) {
	for _, c := range []struct {
		charset string
		trail   string
		never   string
	}{
		{"gbk", "|\\~@A\x81\xfe", "\x01\x10\n\r\t,;\"0"},
		{"gb18030", "|\\0", "\x01\x10\n\r\t,;\""},
		{"big5", "|\\", "\x01\x10\n\r\t,;\"0"},
		{"shift_jis", "|\\", "\x01\x10\n\r\t,;\"0"},
		{"windows-949", "Az", "\x01\x10\n\r\t,;\"0|\\"},
		{"euc-kr", "\xa1", "|\\Az\x01"},
		{"windows-1252", "", "|\\\xa4\x01"},
		{"utf-8", "\x80", "|\\\xc0\x01"},
	} {
		cs, err := Named(c.charset)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 256 {
			b := byte(i)
			if got := cs.CanTrail(b); strings.IndexByte(c.trail, b) >= 0 && !got || strings.IndexByte(c.never, b) >= 0 && got {
				t.Errorf("%s: CanTrail(%q) is %v", c.charset, b, got)
			}
		}
	}
}

func TestNamed(t *testing.T) {
	for _, name := range []string{"utf-8", "UTF-8", "utf8", "AL32UTF8"} {
		if c, err := Named(name); err != nil || c != nil || c.Name() != "utf-8" {
			t.Errorf("%s is %v (%v)", name, c.Name(), err)
		}
	}
	if c, err := Named("zhs16gbk"); err != nil || c.Name() != "gbk" {
		t.Errorf("ZHS16GBK is %v (%v)", c.Name(), err)
	}
	_, err := Named("utf-16")
	if !testwords.Names(err, `"utf-16"`, "gb18030") {
		t.Errorf("utf-16: %v", err)
	}
}

// TestASCII: in every charset the bytes below 0x80 are ASCII, on which decoding and delimiters rely.
func TestASCII(t *testing.T) {
	for _, name := range Names() {
		c, err := Named(name)
		if err != nil {
			t.Fatal(err)
		}
		for b := range byte(utf8.RuneSelf) {
			if got, _ := c.Append(nil, []byte{b}); string(got) != string(rune(b)) {
				t.Errorf("%s: %x is %q", name, b, got)
			}
		}
	}
}

func FuzzAppend(f *testing.F) {
	f.Add(3, []byte("a\xd6\xd0|\xce\xc4"))
	f.Add(4, []byte("\x81\x30\x81\x30x\x84\x31\xa4\x37"))
	f.Add(1, []byte("\xed\xa0\xbd\xed\xb8\x80"))
	f.Fuzz(func(t *testing.T, which int, text []byte) {
		names := Names()
		c, err := Named(names[uint(which)%uint(len(names))])
		if err != nil {
			t.Fatal(err)
		}
		got, valid := c.Append(nil, text)
		if !utf8.Valid(got) || valid > len(text) {
			t.Fatalf("%s % x: %q, %d bytes", c.Name(), text, got, valid)
		}
		if valid < len(text) && c.Length(text[valid:]) != 0 {
			t.Fatalf("%s % x: ended at %d before a character", c.Name(), text, valid)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	for _, c := range []struct{ name, charset, text string }{
		{"ascii", "gbk", strings.Repeat("a plain text of letters", 20)},
		{"chinese", "gbk", strings.Repeat("\xd6\xd0\xce\xc4\xd7\xd6\xb7\xfb", 60)},
		{"chinese", "gb18030", strings.Repeat("\xd6\xd0\xce\xc4\xd7\xd6\xb7\xfb", 60)},
		{"latin", "windows-1252", strings.Repeat("Stra\xdfe 4 \x80", 40)},
	} {
		cs, err := Named(c.charset)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(c.charset+"/"+c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.text)))
			b.ReportAllocs()
			var out []byte
			text := []byte(c.text)
			for b.Loop() {
				out, _ = cs.Append(out[:0], text)
			}
		})
	}
}
