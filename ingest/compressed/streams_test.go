package compressed

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/internal/test/testrand"
	"bulkload/internal/test/testwords"

	"github.com/golang/snappy"
	"github.com/pierrec/lz4/v4"
)

// TestReadersAreReaders: every codec's reader is a proper io.Reader, whatever pieces the file arrives in.
func TestReadersAreReaders(t *testing.T) {
	text := drawText(testrand.New(t), 3_000)
	for codec, content := range packed(t, text) {
		for name, pieces := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader, "halves": iotest.HalfReader, "data and end at once": iotest.DataErrReader,
		} {
			r, err := NewReader(io.NopCloser(pieces(bytes.NewReader(content))), "/file", int64(len(content)), codec)
			if err != nil {
				t.Fatalf("%s, %s: %v", codec, name, err)
			}
			if err := iotest.TestReader(r, text); err != nil {
				t.Errorf("%s, %s: %v", codec, name, err)
			}
			if r.Consumed() != int64(len(content)) {
				t.Errorf("%s, %s: %d of %d bytes consumed", codec, name, r.Consumed(), len(content))
			}
			if err := errors.Join(r.Close(), r.Close()); err != nil {
				t.Errorf("%s, %s: %v", codec, name, err)
			}
			if n, err := r.Read(make([]byte, 10)); n > 0 || err == nil {
				t.Errorf("%s, %s: %d bytes and %v after the end", codec, name, n, err)
			}
		}
	}
}

// TestClosedEarly: a reader that is closed before its end returns no more text, and reports that it is closed.
func TestClosedEarly(t *testing.T) {
	text := drawText(testrand.New(t), 300_000)
	for codec, content := range packed(t, text) {
		r, err := NewReader(io.NopCloser(bytes.NewReader(content)), "/file", int64(len(content)), codec)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(r, make([]byte, 1000)); err != nil {
			t.Errorf("%s: %v", codec, err)
		}
		r.Close()
		if n, err := r.Read(make([]byte, 10)); n != 0 || !errors.Is(err, errClosed) {
			t.Errorf("%s: %d bytes, %v", codec, n, err)
		}
	}
}

// TestErrorsStay: after an error every call returns the same error, and no text.
func TestErrorsStay(t *testing.T) {
	text := drawText(testrand.New(t), 50_000)
	for codec, content := range packed(t, text) {
		r, err := NewReader(io.NopCloser(bytes.NewReader(content)), "/file", int64(len(content)-1), codec)
		if err != nil {
			t.Fatal(err)
		}
		got, first := io.ReadAll(r)
		n, second := r.Read(make([]byte, 10))
		if first == nil || n != 0 || second == nil || first.Error() != second.Error() || !bytes.HasPrefix(text, got) {
			t.Errorf("%s: %v, then %d bytes and %v", codec, first, n, second)
		}
		want := []string{"/file", codec.String(), fmt.Sprintf("byte %d of the file", len(content)-1),
			fmt.Sprintf("byte %d of the text", len(got))}
		if errcode.Outermost(first) != errcode.InputDamaged || !errors.Is(first, io.ErrUnexpectedEOF) ||
			!testwords.Names(first, want...) {
			t.Errorf("%s: %v\nwant %s", codec, first, want)
		}
	}
}

// TestMembers: concatenated files are read as their concatenated texts, whichever of them are empty.
func TestMembers(t *testing.T) {
	r := testrand.New(t)
	for _, codec := range []Codec{Gzip, Bzip2, Zstd, HadoopSnappy, HadoopLZ4, SnappyFrames, LZ4Frames} {
		var content, want []byte
		for range 6 {
			text := drawText(r, []int{0, 1, 70_000, r.IntN(1000)}[r.IntN(4)])
			content = append(content, one(t, codec, text)...)
			want = append(want, text...)
		}
		got, err := unpacked(content, codec, 1<<20)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes of %d, %v", codec, len(got), len(want), err)
		}
		if len(want) > 0 {
			if _, err := unpacked(append(content, 1), codec, 1<<20); err == nil {
				t.Errorf("%s: a byte after the last file is dropped", codec)
			}
		}
	}
}

// one is a text in a codec, in one member.
func one(t *testing.T, codec Codec, text []byte) []byte {
	t.Helper()
	switch {
	case codec == Bzip2:
		return bzStream('1', 0, 0, bzBlocks(text)...)
	case len(text) == 0 && (codec == HadoopSnappy || codec == HadoopLZ4):
		return block(0)
	case codec == HadoopLZ4:
		raw := make([]byte, lz4.CompressBlockBound(len(text)))
		n, err := lz4.CompressBlock(text, raw, nil)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 { // it can't be made shorter
			raw, n = lz4Literals(text), len(lz4Literals(text))
		}
		return block(len(text), raw[:n])
	}
	return packedAs(t, codec, text)
}

func packedAs(t *testing.T, codec Codec, text []byte) []byte {
	t.Helper()
	if codec == HadoopSnappy {
		return block(len(text), snappy.Encode(nil, text))
	}
	return goPacked(t, text)[codec]
}

// bzBlocks cuts a text into blocks that the test's slow writer can sort.
func bzBlocks(text []byte) (blocks []bzBlock) {
	for len(text) > 0 {
		n := min(len(text), 5000)
		blocks = append(blocks, bzBlock{text: text[:n]})
		text = text[n:]
	}
	return blocks
}

// lz4Literals is a block of lz4 without a match.
func lz4Literals(text []byte) []byte {
	if len(text) < 15 {
		return append([]byte{byte(len(text) << 4)}, text...)
	}
	b := []byte{0xf0}
	n := len(text) - 15
	for ; n >= 255; n -= 255 {
		b = append(b, 255)
	}
	return append(append(b, byte(n)), text...)
}

// TestGzipBeforeZeros: tapes and block devices fill their blocks with zeros, which gzip and Java ignore. Nothing else
// may follow.
func TestGzipBeforeZeros(t *testing.T) {
	text := []byte(strings.Repeat("1\x01规则\x10", 2000))
	one := packed(t, text)[Gzip]
	two := append(bytes.Clone(one), one...)
	for name, c := range map[string]struct {
		content []byte
		texts   int
		wrong   bool
	}{
		"alone": {one, 1, false}, "members": {two, 2, false}, "one zero": {append(bytes.Clone(one), 0), 1, false},
		"a block of zeros":     {append(bytes.Clone(two), make([]byte, 600<<10)...), 2, false},
		"a member after zeros": {append(append(bytes.Clone(one), make([]byte, 512)...), one...), 1, true},
		"text":                 {append(bytes.Clone(one), "x"...), 1, true}, "half a header": {append(bytes.Clone(one), 0x1f), 1, true},
		"a member that is cut": {two[:len(two)-5], 2, true},
	} {
		got, err := unpacked(c.content, Gzip, 1<<20)
		if (err != nil) != c.wrong || !c.wrong && !bytes.Equal(got, bytes.Repeat(text, c.texts)) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
}

// TestHadoopBlocks: blocks and chunks of all sizes, also with empty blocks between them, as Hadoop's writers make them
// when they are flushed.
func TestHadoopBlocks(t *testing.T) {
	r := testrand.New(t)
	for range 100 {
		for codec, pack := range map[Codec]func([]byte) []byte{HadoopSnappy: func(b []byte) []byte { return snappy.Encode(nil, b) }, HadoopLZ4: lz4Literals} {
			var content, want []byte
			for range r.IntN(6) {
				var chunks [][]byte
				size := 0
				for range r.IntN(4) {
					text := drawText(r, r.IntN(400)+1)
					size += len(text)
					want = append(want, text...)
					chunks = append(chunks, pack(text))
				}
				content = append(content, block(size, chunks...)...)
			}
			if got, err := unpacked(content, codec, 1<<20); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%s of %x: %d bytes of %d, %v", codec, content, len(got), len(want), err)
			}
		}
	}
}

// TestHadoopDamage: each inconsistent block is refused with its own reason, and with the place in file and text.
// Data that end too early, and data that are damaged before their end.
const cut, whole = "end too early", "are damaged"

// isDamage reports an error of the data in /file, which names what is wanted.
func isDamage(err error, want ...string) bool {
	early := slices.Contains(want, cut)
	return errcode.Outermost(err) == errcode.InputDamaged && errors.Is(err, io.ErrUnexpectedEOF) == early &&
		testwords.Names(err, "/file") && testwords.Names(err, want...)
}

func TestHadoopDamage(t *testing.T) {
	good := block(5, lz4Literals([]byte("12345")))
	at := func(n int, b ...byte) []byte {
		c := bytes.Clone(good)
		copy(c[n:], b)
		return append(block(3, lz4Literals([]byte("abc"))), c...)
	}
	for _, c := range []struct {
		name    string
		content []byte
		want    []string
	}{
		{"a negative block", at(0, 0x80), []string{whole, "byte 26 of the file", "byte 3 of the text", "-2147483643"}},
		{"a negative chunk", at(4, 0xff, 0xff, 0xff, 0xff), []string{whole, "length, -1"}},
		{"an empty chunk", at(7, 0), []string{whole, "empty"}},
		{"a chunk that is too long", at(7, 7), []string{cut, "byte 26 of the file", "byte 3 of the text"}},
		{"a chunk of a gigabyte", at(4, 0x40), []string{cut, "byte 26 of the file", "byte 3 of the text"}},
		{"more text than the block", at(3, 4), []string{whole}},
		{"less text than the block", at(3, 6), []string{cut, "byte 26 of the file", "byte 8 of the text"}},
		{"a chunk of no text", at(7, 1, 0)[:12+9], []string{whole, "0 bytes", "5 left"}},
		{"a block that ends at its length", at(0)[:12+4], []string{cut, "byte 16 of the file", "byte 3 of the text"}},
		{"half a length", at(0)[:12+2], []string{cut}}, {"half a chunk", at(0)[:12+10], []string{cut}},
	} {
		got, err := unpacked(c.content, HadoopLZ4, 1<<20)
		if !isDamage(err, c.want...) || !bytes.HasPrefix([]byte("abc12345"), got) {
			t.Errorf("%s: %q, %v; want %s", c.name, got, err, c.want)
		}
	}
}

// lz4Options are the options of a frame's header. The library writes no dependent blocks; the lz4 tool does.
func lz4Options(r *rand.Rand, size int) []lz4.Option {
	options := []lz4.Option{
		lz4.BlockSizeOption([]lz4.BlockSize{lz4.Block64Kb, lz4.Block256Kb, lz4.Block1Mb, lz4.Block4Mb}[r.IntN(4)]),
		lz4.ChecksumOption(r.IntN(2) == 0),
		lz4.BlockChecksumOption(r.IntN(2) == 0),
		lz4.CompressionLevelOption([]lz4.CompressionLevel{lz4.Fast, lz4.Level1, lz4.Level9}[r.IntN(3)]),
	}
	if r.IntN(2) == 0 {
		options = append(options, lz4.SizeOption(uint64(size)))
	}
	return options
}

// lz4Frame is a text in one frame.
func lz4Frame(t *testing.T, text []byte, options ...lz4.Option) []byte {
	t.Helper()
	var b bytes.Buffer
	w := lz4.NewWriter(&b)
	err := w.Apply(options...)
	if err == nil {
		_, err = w.Write(text)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestLZ4Frames: frames with every flag, empty ones, and skippable ones of all 16 kinds before, between and after them.
func TestLZ4Frames(t *testing.T) {
	r := testrand.New(t)
	for range 60 {
		var content, want []byte
		for range r.IntN(3) + 1 {
			if r.IntN(2) == 0 {
				skipped := randomText(r, r.IntN(300))
				content = binary.LittleEndian.AppendUint32(content, 0x184d2a50+r.Uint32N(16))
				content = append(binary.LittleEndian.AppendUint32(content, uint32(len(skipped))), skipped...)
			}
			text := drawText(r, []int{0, 1, r.IntN(1000), 65_536, 65_537, 300_000}[r.IntN(6)])
			content, want = append(content, lz4Frame(t, text, lz4Options(r, len(text))...)...), append(want, text...)
		}
		if got, err := unpacked(content, LZ4Frames, 1<<24); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%d bytes of %d, %v", len(got), len(want), err)
		}
	}
}

// TestLZ4FramesCutShort: a file of two frames of two blocks each is an error wherever it is cut, whatever their flags,
// unless it ends with the first frame. Without the text's checksum and size only the end mark says that a frame is
// whole.
func TestLZ4FramesCutShort(t *testing.T) {
	text := bytes.Repeat([]byte("1\x01规则\x10"), 8_000)
	frames := map[string][]byte{
		"dependent blocks":    tool(t, text, "lz4", "-q", "-c", "-B4", "-BD", "--no-frame-crc"),
		"and their checksums": tool(t, text, "lz4", "-q", "-c", "-B4", "-BD", "-BX"),
	}
	for flags := range 8 {
		options := []lz4.Option{
			lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(flags&1 != 0), lz4.BlockChecksumOption(flags&2 != 0),
		}
		if flags&4 != 0 {
			options = append(options, lz4.SizeOption(uint64(len(text))))
		}
		frames[fmt.Sprintf("flags %03b", flags)] = lz4Frame(t, text, options...)
	}
	for name, one := range frames {
		two, want := append(bytes.Clone(one), one...), append(bytes.Clone(text), text...)
		for n := 1; n <= len(two); n++ {
			if testing.Short() && n%10 > 0 && len(two)-n > 10 && n != len(one) {
				continue
			}
			got, err := unpacked(two[:n], LZ4Frames, 1<<20)
			whole := n == len(one) || n == len(two)
			if whole != (err == nil) || whole && len(got) != n/len(one)*len(text) || !bytes.HasPrefix(want, got) {
				t.Errorf("%s, cut to %d of %d bytes: %d bytes of text, %v", name, n, len(two), len(got), err)
			}
		}
	}
}

// TestLZ4FramesRefused: each contradiction in a frame is refused.
func TestLZ4FramesRefused(t *testing.T) {
	header := func(descriptor string) []byte { // with its checksum
		b, err := hex.DecodeString("04224d18" + descriptor)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	stored := func(text string) []byte {
		return append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))|1<<31), text...)
	}
	frame := func(parts ...[]byte) []byte { return slices.Concat(parts...) }
	end := []byte{0, 0, 0, 0}
	for _, c := range []struct {
		name    string
		content []byte
		want    string // "": it is read as the text "abc"
	}{
		{"sound", frame(header("604082"), stored("abc"), end), ""},
		{"a block of no bytes", frame(header("604082"), stored("abc"), stored(""), end), ""},
		{"its size", frame(header("6840030000000000000087"), stored("abc"), end), ""},
		{"another size", frame(header("68400400000000000000cd"), stored("abc"), end),
			"content size mismatch: got 3; expected 4"},
		{"a size of 2^63", frame(header("684000000000000000803b"), stored("abc"), end),
			"content size mismatch: got 3; expected 9223372036854775808"},
		{"version 2", frame(header("a0400f"), stored("abc"), end), "version 2"},
		{"a reserved flag", frame(header("6240f0"), stored("abc"), end), "reserved bits 0x0002 set"},
		{"blocks of size 3", frame(header("6030d4"), stored("abc"), end), "invalid block size"},
		{"blocks of size 8", frame(header("60c02a"), stored("abc"), end), "reserved bits 0x8000 set"},
		{"a dictionary", frame(header("614001000000d0"), stored("abc"), end), "dictionary ID 0x1"},
		{"another sum of the header", frame(header("604000"), stored("abc"), end), "invalid header checksum"},
		{"another sum of a block", frame(header("7040ad"), stored("abc"), end, end), "invalid block checksum"},
		{"another sum of the text", frame(header("6440a7"), stored("abc"), end, end), "invalid frame checksum"},
		{"a block longer than all", frame(header("604082"), stored(strings.Repeat("x", 1<<16+1)), end),
			"invalid block size"},
		{"a match before the text", frame(header("604082"), []byte{4, 0, 0, 0, 0x10, 'a', 2, 0}, end), whole},
		{"another magic", frame(header("604082"), stored("abc"), end, []byte("more")), "bad magic number"},
		{"no end", frame(header("604082"), stored("abc")), cut},
		{"a skippable frame cut short",
			frame(header("604082"), stored("abc"), end, []byte("\x50\x2a\x4d\x18\x05\x00\x00\x00four")), cut},
		{"a skippable frame of 4 GB", frame([]byte("\x50\x2a\x4d\x18\xff\xff\xff\xff")), cut},
		{"a legacy block of 4 GB", []byte("\x02\x21\x4c\x18\xff\xff\xff\xff"), "invalid block size"},
		{"a frame after a legacy one",
			frame([]byte(lz4LegacyMagic+"\x04\x00\x00\x00\x30abc"), header("604082"), stored("def"), end), "invalid block size"},
		{"empty legacy frames", []byte(strings.Repeat(lz4LegacyMagic, 1000) + "\x04\x00\x00\x00\x30abc"), ""},
		{"too many empty legacy frames", []byte(strings.Repeat(lz4LegacyMagic, 16<<20)),
			"more than 1000 empty legacy frames"},
	} {
		got, err := unpacked(c.content, LZ4Frames, 1<<20)
		if c.want == "" && (err != nil || string(got) != "abc") || c.want != "" && !isDamage(err, c.want) {
			t.Errorf("%s: %.20q, %v; want %s", c.name, got, err, c.want)
		}
	}
}

// pythonStreams packs texts in every way that Python's zlib has: each after its length, as deflate and gzip in turn.
const pythonStreams = `
import sys, zlib, struct
text = sys.stdin.buffer.read()
for wbits in (15, 31):
    for level in (0, 1, 6, 9):
        for strategy in (zlib.Z_DEFAULT_STRATEGY, zlib.Z_FILTERED, zlib.Z_HUFFMAN_ONLY, zlib.Z_RLE, zlib.Z_FIXED):
            for small in (0, 6):
                c = zlib.compressobj(level, zlib.DEFLATED, wbits - small, 1 + 8 * (small == 0), strategy)
                half = len(text) // 2
                out = c.compress(text[:half]) + c.flush(zlib.Z_SYNC_FLUSH) + c.flush(zlib.Z_FULL_FLUSH) + c.compress(text[half:]) + c.flush()
                sys.stdout.buffer.write(struct.pack(">I", len(out)) + out)
`

// TestDeflateAsPython: each level, strategy and window of zlib, with flushes between.
func TestDeflateAsPython(t *testing.T) {
	text := drawText(testrand.New(t), 100_000)
	out := tool(t, text, "python3", "-c", pythonStreams)
	read := 0
	for ; len(out) > 0; read++ {
		content := out[4 : 4+binary.BigEndian.Uint32(out)]
		out = out[4+len(content):]
		codec, name := Deflate, "/x.deflate"
		if read >= 40 {
			codec, name = Gzip, "/x"
		}
		if got, err := Detect(name, content[:min(len(content), 512)]); got != codec || err != nil {
			t.Errorf("stream %d is %s, %v", read, got, err)
		}
		if got, err := unpacked(content, codec, 1<<20); err != nil || !bytes.Equal(got, text) {
			t.Errorf("stream %d: %d bytes of %d, %v", read, len(got), len(text), err)
		}
	}
	if read != 80 {
		t.Errorf("%d streams", read)
	}
}

// TestGzipHeaders: every field that a header may have, by RFC 1952, is read, and fields that it may not have are
// refused.
func TestGzipHeaders(t *testing.T) {
	body := goPacked(t, []byte("text"))[Gzip][10:]
	header := func(flags byte, fields ...string) []byte {
		return slices.Concat([]byte{0x1f, 0x8b, 8, flags, 1, 2, 3, 4, 0, 255}, []byte(strings.Join(fields, "")), body)
	}
	for name, content := range map[string][]byte{
		"plain": header(0), "said to be text": header(1), "extra": header(4, "\x05\x00extra"), "name": header(8, "a name\x00"), "comment": header(16, "one\x00"),
		"all": header(4|8|16, "\x00\x00", "name\x00", "\x00"),
	} {
		if got, err := unpacked(content, Auto, 100); err != nil || string(got) != "text" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for name, content := range map[string][]byte{
		"a name without an end": header(8), "extra that is too long": header(4, "\xff\xff"), "a wrong sum of the header": header(2, "\x00\x00"),
		"another method": append([]byte{0x1f, 0x8b, 7}, header(0)[3:]...), "two bytes": {0x1f, 0x8b},
	} {
		if got, err := unpacked(content, Gzip, 100); errcode.Outermost(err) != errcode.InputDamaged ||
			!testwords.Names(err, "/file", "gzip") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// TestOpenNeedsTheListedFile: a file that is gone, or has grown or shrunk since it was listed, is reported.
func TestOpenNeedsTheListedFile(t *testing.T) {
	name := write(t, "part.gz", goPacked(t, []byte("text"))[Gzip])
	st, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int64{0, st.Size() - 1, st.Size() + 1} {
		_, err := Open(storage.Local, name, size, Auto)
		if errcode.Outermost(err) != errcode.InputChanged ||
			!testwords.Names(err, name, fmt.Sprintf("had %d ", size), fmt.Sprintf("has %d ", st.Size())) {
			t.Errorf("%v, want %d bytes and %d", err, size, st.Size())
		}
	}
	if _, err := Open(storage.Local, filepath.Join(t.TempDir(), "none"), 1, Auto); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	_, err = NewReader(io.NopCloser(strings.NewReader("x")), "/file", 1, Codec(99))
	if !testwords.Names(err, "codec 99") {
		t.Error(err)
	}
	closed := &closing{Reader: bytes.NewReader([]byte("1,2"))}
	if _, err := NewReader(closed, "/x.gz", 3, Auto); err == nil || closed.times != 0 {
		t.Errorf("%v; closed %d times: who opened it closes it", err, closed.times)
	}
}

type closing struct {
	io.Reader
	times int
}

func (c *closing) Close() error { c.times++; return nil }
