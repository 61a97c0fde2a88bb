package compressed

import (
	"bytes"
	"compress/bzip2"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/golang/snappy"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"bulkload/internal/errcode"
	"bulkload/internal/printable"
	"bulkload/internal/test/testwords"
)

// packed is a text in every codec, written by Go's libraries; bzip2 has no writer.
func packed(t testing.TB, text []byte) map[Codec][]byte {
	t.Helper()
	out := goPacked(t, text)
	out[Bzip2] = tool(t, text, "bzip2", "-c")
	return out
}

// goPacked is a text in every codec that Go's libraries write.
func goPacked(t testing.TB, text []byte) map[Codec][]byte {
	t.Helper()
	out := map[Codec][]byte{}
	for codec, open := range map[Codec]func(io.Writer) io.WriteCloser{
		Gzip:         func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
		Deflate:      func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) },
		SnappyFrames: func(w io.Writer) io.WriteCloser { return snappy.NewBufferedWriter(w) },
		LZ4Frames:    func(w io.Writer) io.WriteCloser { return lz4.NewWriter(w) },
		Zstd: func(w io.Writer) io.WriteCloser {
			z, err := zstd.NewWriter(w)
			if err != nil {
				t.Fatal(err)
			}
			return z
		},
	} {
		var b bytes.Buffer
		w := open(&b)
		if _, err := w.Write(text); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		out[codec] = b.Bytes()
	}
	out[HadoopSnappy] = block(len(text), snappy.Encode(nil, text))
	raw := make([]byte, lz4.CompressBlockBound(len(text)))
	n, err := lz4.CompressBlock(text, raw, nil)
	if err != nil {
		t.Fatal(err)
	}
	out[HadoopLZ4] = block(len(text), raw[:n])
	return out
}

// block is a block of Hadoop's framing.
func block(text int, chunks ...[]byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(text))
	for _, c := range chunks {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(c))), c...)
	}
	return b
}

// unpacked reads at most most bytes of a file in memory.
func unpacked(content []byte, as Codec, most int64) ([]byte, error) {
	r, err := NewReader(io.NopCloser(bytes.NewReader(content)), "/file", int64(len(content)), as)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(io.LimitReader(r, most))
}

// TestCutShort: a file of one block or member is an error wherever it is cut, and the text read before the cut is
// right.
func TestCutShort(t *testing.T) {
	text := []byte(strings.Repeat("1\x01规则\x10", 40))
	for codec, content := range packed(t, text) {
		if got, err := unpacked(content, codec, 1<<20); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s: %d bytes, %v", codec, len(got), err)
		}
		for n := 1; n < len(content); n++ {
			got, err := unpacked(content[:n], codec, 1<<20)
			if err == nil && !(codec == SnappyFrames && n == 10) { // a file without text may end after its magic
				t.Errorf("%s cut to %d of %d bytes: no error", codec, n, len(content))
			}
			if !bytes.HasPrefix(text, got) {
				t.Errorf("%s cut to %d of %d bytes: other text", codec, n, len(content))
			}
		}
	}
}

// TestDamaged: every flipped bit is found if the codec has a checksum. No flip makes another length claim memory, and
// none causes a panic.
func TestDamaged(t *testing.T) {
	text := []byte(strings.Repeat("1\x01规则 and so on\x10", 30))
	unchecked := map[Codec]bool{HadoopSnappy: true, HadoopLZ4: true}
	for codec, content := range packed(t, text) {
		for at := range content {
			for bit := range 8 {
				if testing.Short() && bit != at%8 {
					continue
				}
				damaged := bytes.Clone(content)
				damaged[at] ^= 1 << bit
				got, err := unpacked(damaged, codec, 1<<20)
				// a chunk's type, which no checksum covers, now means skip it
				padding := codec == SnappyFrames && at == 10 && bit == 7
				if err == nil && !bytes.Equal(got, text) && !unchecked[codec] && !padding {
					t.Errorf("%s: bit %d of byte %d of %d: other text, no error", codec, bit, at, len(content))
				}
			}
		}
	}
}

// TestTrailing: bytes after the end that are not another member are an error, and are never dropped.
func TestTrailing(t *testing.T) {
	text := []byte("1\x01规则\x10")
	for codec, content := range packed(t, text) {
		got, err := unpacked(append(bytes.Clone(content), "more\x10 and more"...), codec, 1<<20)
		if err == nil {
			t.Errorf("%s: %q, no error", codec, got)
		}
	}
}

// TestLengthsThatLie: a false length in a small file allocates no memory.
func TestLengthsThatLie(t *testing.T) {
	huge := binary.BigEndian.AppendUint32(nil, 1<<31-1)
	zeros := snappy.Encode(nil, make([]byte, 1000))
	for name, c := range map[string]struct {
		content []byte
		as      Codec
		want    string
	}{
		"a chunk longer than the file": {append(bytes.Clone(huge), huge...), HadoopSnappy, cut},
		"length, -":                    {[]byte{0xff, 0, 0, 1, 0, 0, 0, 1, 0}, HadoopLZ4, "length, -"},
		"an empty chunk":               {block(5, nil), HadoopSnappy, "empty"},
		"snappy of more than it can hold": {block(1<<30, []byte{0x80, 0x80, 0x80, 0x80, 0x04, 0, 'x'}), HadoopSnappy,
			"1073741824 bytes"},
		"snappy of more than the block": {block(999, zeros), HadoopSnappy,
			"1000 bytes of text where the block has 999"},
		"snappy of less than the block":      {block(1001, zeros), HadoopSnappy, cut},
		"lz4 of more than the block":         {block(3, []byte{0x50, 'a', 'b', 'c', 'd', 'e'}), HadoopLZ4, whole},
		"a block that is text":               {[]byte("1,2,3,4\n5,6,7,8\n"), HadoopSnappy, cut},
		"zstd with a window of 3.7 TB":       {[]byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xff, 0x01, 0x00, 0x00}, Zstd, "window size"},
		"zstd that wants a dictionary":       {[]byte{0x28, 0xb5, 0x2f, 0xfd, 0x03, 0x58, 1, 2, 3, 4, 0x01, 0, 0}, Zstd, "dictionary"},
		"zlib that wants a dictionary":       {[]byte{0x78, 0xbb, 1, 2, 3, 4, 3, 0, 0, 0, 0, 1}, Deflate, "dictionary"},
		"an lz4 frame of an unknown version": {[]byte{0x04, 0x22, 0x4d, 0x18, 0x00, 0x70, 0xa6, 0, 0, 0, 0}, LZ4Frames, "version 0"},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := unpacked(c.content, c.as, 1<<32)
			runtime.ReadMemStats(&after)
			if !isDamage(err, c.want) {
				t.Errorf("%v; want %s", err, c.want)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 12<<20 {
				t.Errorf("%d bytes allocated for a file of %d", used, len(c.content))
			}
		})
	}
}

// TestErrorsOfTheFile: errors of the file itself are distinguished from errors in its data.
func TestErrorsOfTheFile(t *testing.T) {
	boom := errors.New("boom")
	content := packed(t, bytes.Repeat([]byte("some text"), 100))[Gzip]
	in := io.MultiReader(bytes.NewReader(content[:20]), failing{boom})
	r, err := NewReader(io.NopCloser(in), "/file", int64(len(content)), Gzip)
	if err == nil {
		_, err = io.ReadAll(r)
	}
	if !errors.Is(err, boom) || errcode.Outermost(err) != "" || !testwords.Names(err, "/file", "byte 20") {
		t.Error(err)
	}
	r, err = NewReader(io.NopCloser(bytes.NewReader(content)), "/file", int64(len(content))+5, Gzip)
	if err == nil {
		_, err = io.ReadAll(r)
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a file shorter than it was: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestDetect(t *testing.T) {
	framed := string(block(1000, make([]byte, 60)))
	for _, c := range []struct {
		name, head string
		want       Codec
		refused    string
	}{
		{"/a", "1,2\n", None, ""}, {"/a.csv", "", None, ""}, {"/a.gz", "", None, ""}, {"/a.lzo", "", None, ""},
		{"/a", "\x1f\x8b\x08", Gzip, ""}, {"/a.bz2", "\x1f\x8b\x08", Gzip, ""}, {"/a.snappy", "\x1f\x8b\x08", Gzip, ""},
		{"/a.gz", "BZh91AY&SY", Bzip2, ""}, {"/a", "BZh9\x17\x72\x45\x38\x50\x90", Bzip2, ""}, {"/a", "BZh9 is a name", None, ""},
		{"/a", "\x28\xb5\x2f\xfd", Zstd, ""}, {"/a", "\x52\x2a\x4d\x18", Zstd, ""}, {"/a.lz4", "\x52\x2a\x4d\x18", LZ4Frames, ""},
		{"/a.lz4", "\x04\x22\x4d\x18", LZ4Frames, ""}, {"/a.LZ4", framed, HadoopLZ4, ""}, {"/a.snappy", framed, HadoopSnappy, ""},
		{"/a.snappy", "\xff\x06\x00\x00sNaPpY", SnappyFrames, ""}, {"/a.snappy", "\x00\x00\x00\x00", HadoopSnappy, ""},
		{"/a.deflate", "\x78\x9c\x01", Deflate, ""}, {"/a", "\x78\x9c\x01", None, ""},
		{"/a", framed, None, "Hadoop's block framing"},
		{"/a", "\x001\x00,\x002\x00\n\x003", None, ""},
		{"/a.gz", "1,2\n", None, "named .gz"}, {"/a.deflate", "1,2\n", None, "named .deflate"}, {"/a.sz", framed, None,
			"named .sz"},
		{"/a.snappy", "1,2,3,4,5,6\n", None, "neither of Hadoop's"},
		{"/a.snappy", string(snappy.Encode(nil, make([]byte, 4000))), None, "raw snappy"},
		{"/a.lzo", "x", None, "compressed with lzo by its name"}, {"/a", "\x89LZO\x00\r\n\x1a\n", None, "compressed with lzop"},
		{"/a", "Salted__12345678", None, "openssl"}, {"/a.enc", "xyz", None, "encrypted by its name"},
		{"/a", "\x85\x02\x0c\x03abc", None, "encrypted with GPG"}, {"/a", "\x8c\x0d\x04\x09", None, "encrypted with GPG"},
		{"/a", "-----BEGIN PGP MESSAGE-----\n", None, "encrypted with PGP"}, {"/a", "age-encryption.org/v1\n", None, "encrypted with age"},
		{"/a", "7z\xbc\xaf\x27\x1c", None, "a 7z archive"}, {"/a", "\xfd7zXZ\x00", None, "compressed with xz"},
		{"/a", "PK\x03\x04\x14\x00\x00\x00", None, "a zip archive"}, {"/a", "PK\x03\x04\x14\x00\x01\x00", None,
			"encrypted zip"},
		{"/a", "PK\x03\x04\x14\x00\x06\x00[Content_Types].xml", None, "an Excel workbook"}, {"/a.xlsx", "PK\x03\x04\x14\x00\x00\x00", None, "an Excel workbook"},
		{"/a", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", None, "old Office"},
		{"/a", "…\x01规则", None, ""}, {"/a", "\xc1\xcb\xbd\xe2\n", None, ""}, {"/a", "\xb9\xe6\xd4\xf2|\n", None, ""},
	} {
		codec, err := Detect(c.name, []byte(c.head))
		var refused *RefusedError
		errors.As(err, &refused)
		if codec != c.want || (err != nil) != (c.refused != "") || refused != nil && !strings.Contains(refused.What, c.refused) {
			t.Errorf("%s %q: %s, %v; want %s %s", c.name, c.head[:min(len(c.head), 20)], codec, err, c.want, c.refused)
		}
	}
}

// encrypted is what commands that encrypt files wrote, whether they are installed here or not.
var encrypted = []struct {
	command []string
	output  string // its first bytes
}{
	{[]string{"openssl", "enc", "-aes-256-cbc", "-pbkdf2", "-pass", "pass:x"}, "Salted__\xa0\xbf\x2d\x62\x3e\x38\x2b\xa5\x8a\xa4\xc5\xee\xc8\xfb\x50\x04"},
	{[]string{"gpg", "--batch", "--pinentry-mode", "loopback", "--passphrase", "x", "-c"}, "\x8c\x0d\x04\x09\x03\x02\x5f\xfe\xc9\x60\xf2\x85\x2e\xee\xff\xd2\x39\x01\x1e\x91"},
}

// TestEncrypted: the output of commands that encrypt files is refused.
func TestEncrypted(t *testing.T) {
	refused := func(t *testing.T, head []byte) {
		if _, err := Detect("/part", head); errcode.Outermost(err) != errcode.InputFormat ||
			!testwords.Names(err, "decrypt") {
			t.Error(err)
		}
	}
	for _, c := range encrypted {
		t.Run(c.command[0], func(t *testing.T) { refused(t, []byte(c.output)) })
		t.Run("this "+c.command[0], func(t *testing.T) {
			if c.command[0] == "gpg" {
				t.Setenv("GNUPGHOME", t.TempDir())
			}
			refused(t, tool(t, []byte("1\x01规则\x10"), c.command[0], c.command[1:]...))
		})
	}
}

// FuzzUnpack: no content causes a panic, a hang, or endless text; and content of an unknown codec is refused.
func FuzzUnpack(f *testing.F) {
	for codec, content := range packed(f, []byte(strings.Repeat("1\x01规则\x10", 20))) {
		f.Add(content, uint8(codec))
		f.Add(append(bytes.Clone(content), content...), uint8(Auto))
	}
	f.Add([]byte("Salted__abcdefgh"), uint8(Auto))
	f.Fuzz(func(t *testing.T, content []byte, as uint8) {
		codec := Codec(as % uint8(len(codecNames)))
		got, err := unpacked(content, codec, 4<<20)
		if codec == None && (err != nil || !bytes.Equal(got, content)) {
			t.Fatalf("plain text: %v", err)
		}
		if err == nil && codec == Bzip2 && len(content) > 0 {
			if want, err := io.ReadAll(io.LimitReader(bzip2.NewReader(bytes.NewReader(content)), 4<<20)); err == nil && !bytes.Equal(got, want) {
				t.Fatalf("bzip2: %d bytes, want %d", len(got), len(want))
			}
		}
	})
}

// FuzzDetect: no name and content cause a panic, and a file whose codec is detected by content alone can be opened.
func FuzzDetect(f *testing.F) {
	f.Add("/a.gz", []byte("\x1f\x8b\x08"))
	f.Add("/a.snappy", []byte{0, 0, 0, 0})
	f.Add("/a.lzo", []byte("x"))
	f.Add("/a.xlsx", []byte("PK\x03\x04\x14\x00\x06\x00"))
	f.Fuzz(func(t *testing.T, name string, head []byte) {
		codec, err := Detect(name, head)
		var refused *RefusedError
		if err != nil && !errors.As(err, &refused) || codec == Auto {
			t.Fatalf("%s, %v", codec, err)
		}
		if refused != nil && (refused.What == "" || refused.Do == "" || !testwords.Names(err, printable.Name(name))) {
			t.Fatal(err)
		}
	})
}

func BenchmarkUnpack(b *testing.B) {
	var text bytes.Buffer
	for i := range 200_000 {
		fmt.Fprintf(&text, "%d\x01R%06d\x01type-%d\x01规则%d: %x\x10", i, i*7919%1_000_000, i%7, i%100, i*2654435761)
	}
	size := 256 << 10
	for codec, content := range packed(b, text.Bytes()[:size]) {
		b.Run(codec.String(), func(b *testing.B) {
			whole := bytes.Repeat(content, 16)
			if codec == Deflate {
				whole = content
			}
			b.SetBytes(int64(len(whole) / len(content) * size))
			b.ReportAllocs()
			for b.Loop() {
				r, err := NewReader(io.NopCloser(bytes.NewReader(whole)), "/file", int64(len(whole)), codec)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
