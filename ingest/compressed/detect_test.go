package compressed

import (
	"errors"
	"strings"
	"testing"

	"bulkload/internal/errcode"
	"bulkload/internal/test/testrand"
	"bulkload/internal/test/testwords"
)

// TestTextIsText: no text of a table is mistaken for anything else, whatever it begins with: a column's name may begin
// with any word that an encrypted or packed file begins with.
func TestTextIsText(t *testing.T) {
	for _, head := range []string{
		"LZIP_CODE,NAME\n1,2\n", "LZIP\n", "LZIP,1\n", "BZh9,1\n", "BZh91AY\n", "PK,NAME\n1,2\n", "PK\x01x", "Rar!,1", "AES,1\n", "AES\x01x\n", "7z,1\n", "AES\x1fx\n", "Salted,1\n",
		"age,name\n", "---\n", "-----\n", "$1,2\n", "xl/1", "\xef\xbb\xbfid,name\n", "\x00\n", "\n", "\x01\x02", "\x1f\x1f\x1f", "\x1f1\x1f2", "x\x9c\n", "x\x01\n", "\x78\x9c\x01",
		"\x1f\x9dA", "\x1f\x8b@", "é\x03a", "\xc3\xbf\x04", "\x1f\x9d",
	} {
		for _, name := range []string{"/part-m-00000", "/a.csv", "/a.txt", "/a.b/c", "/a."} {
			if codec, err := Detect(name, []byte(head)); codec != None || err != nil {
				t.Errorf("%s %q: %s, %v", name, head, codec, err)
			}
		}
	}
	r := testrand.New(t)
	for range 20_000 { // rows in UTF-8 with any delimiters below the blank
		var head strings.Builder
		for range r.IntN(30) + 1 {
			head.WriteString([]string{"a", "1", "规", "é", "\U0001F600", "\x01", "\x02", "\x03", "\x1e", "\x1f", "\n", ","}[r.IntN(12)])
		}
		if codec, err := Detect("/part", []byte(head.String())); codec != None || err != nil {
			t.Fatalf("%q: %s, %v", head.String(), codec, err)
		}
	}
}

// TestRefusalsSayWhatToDo: for each content and each name that can't be read, at every length from the magic on, the
// error names the file, what it is and a remedy. A refusal by name alone can be overridden.
func TestRefusalsSayWhatToDo(t *testing.T) {
	for _, c := range unreadableMagics {
		for _, rest := range []string{"", "\x00", "\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"} {
			_, err := Detect("/dir/part", []byte(c.magic+rest))
			var r *RefusedError
			if !errors.As(err, &r) || r.Name != "/dir/part" || r.What != c.what || r.Do != c.do ||
				!testwords.Names(err, r.Name, r.What, r.Do) {
				t.Errorf("%q: %v", c.magic, err)
			}
		}
	}
	for _, z := range []string{"\x1f\x9d\x90", "\x1f\x9d\x8c\x01", "\x1f\x9d\x10", "\xc1\x5e\x03\x01", "\xc3\x0d\x04\x09", "\x8c\x0d\x04\x09"} {
		if _, err := Detect("/part", []byte(z)); err == nil {
			t.Errorf("%q is text", z)
		}
	}
	for ext, c := range unreadableNames {
		for _, e := range []string{ext, strings.ToUpper(ext)} {
			_, err := Detect("/x"+e, []byte("1,2\n"))
			if errcode.Outermost(err) != errcode.InputFormat ||
				!testwords.Names(err, "/x"+e, c.what, c.do, "input.compression: none") {
				t.Errorf("%s: %v", e, err)
			}
		}
	}
	for ext := range extensions {
		_, err := Detect("/x"+ext, []byte("1,2,3,4,5,6\n"))
		if errcode.Outermost(err) != errcode.InputFormat || !testwords.Names(err, "/x"+ext) {
			t.Errorf("text in a file named %s: %v", ext, err)
		}
		if codec, err := Detect("/x"+ext, nil); codec != None || err != nil {
			t.Errorf("an empty file named %s: %s, %v", ext, codec, err)
		}
	}
}

// TestEveryCodecIsRecognised: each codec's files are recognised under any name that does not contradict it, from 16
// bytes on.
func TestEveryCodecIsRecognised(t *testing.T) {
	names := map[Codec][]string{
		Gzip: {"/a", "/a.gz", "/a.csv", "/a.GZIP"}, Bzip2: {"/a", "/a.bz2", "/a.bz"}, Zstd: {"/a", "/a.zst", "/a.zstd"}, Deflate: {"/a.deflate", "/a.zlib", "/a.zz"},
		HadoopSnappy: {"/a.snappy"}, HadoopLZ4: {"/a.lz4"}, SnappyFrames: {"/a", "/a.snappy", "/a.sz"}, LZ4Frames: {"/a", "/a.lz4"},
	}
	r := testrand.New(t)
	for _, text := range [][]byte{[]byte("x"), drawText(r, 100), drawText(r, 100_000)} {
		for codec, content := range packed(t, text) {
			for _, name := range names[codec] {
				for n := min(16, len(content)); n <= min(512, len(content)); n += 31 {
					if got, err := Detect(name, content[:n]); got != codec || err != nil {
						t.Errorf("%s of %s, %d bytes of %d: %s, %v", name, codec, n, len(content), got, err)
					}
				}
			}
		}
	}
}

// TestCodecNames: each codec has the name that selects it, and its name in a run's identity never changes.
func TestCodecNames(t *testing.T) {
	for i, name := range Names() {
		codec, ok := Named(name)
		if !ok || codec != Codec(i) || codec.String() != name || codec.Identity() != strings.TrimPrefix(name, "auto") {
			t.Errorf("%s is %d, %v, %s, %q", name, codec, ok, codec, codec.Identity())
		}
	}
	for _, name := range []string{"", "GZIP", "gz", "lz4 ", "codec 3"} {
		if codec, ok := Named(name); ok || codec != None {
			t.Errorf("%q is %s", name, codec)
		}
	}
	if got := Codec(-1).String() + Codec(10).String(); got != "codec -1codec 10" {
		t.Error(got)
	}
}

// TestGrowth: the text is never expected to be smaller than its file, and is expected to be larger for codecs that pack
// better.
func TestGrowth(t *testing.T) {
	for name, want := range map[string]int64{"/a": 1, "/a.csv": 1, "/a.gz": 4, "/a.GZ": 4, "/a.bz2": 4, "/a.zst": 4, "/a.deflate": 4, "/a.snappy": 2, "/a.lz4": 2, "/a.sz": 2, "/a.xz": 1, "/a.gz/b": 1} {
		if got := ExpansionFactor(name, Auto); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
	for codec, want := range map[Codec]int64{None: 1, Gzip: 4, Bzip2: 4, Zstd: 4, Deflate: 4, HadoopSnappy: 2, HadoopLZ4: 2, SnappyFrames: 2, LZ4Frames: 2} {
		if got := ExpansionFactor("/a.gz", codec); got != want {
			t.Errorf("%s: %d, want %d", codec, got, want)
		}
	}
}
