package compressed

import (
	"bytes"
	"fmt"
	"path"
	"strings"
)

// Codec is a way in which a file is compressed.
type Codec int

// The codecs. HadoopSnappy and HadoopLZ4 are written by Hadoop's SnappyCodec and Lz4Codec
// (org.apache.hadoop.io.compress.BlockCompressorStream); SnappyFrames and LZ4Frames by the snappy and lz4 tools.
const (
	Auto Codec = iota // detected from content and name
	None              // plain text
	Gzip
	Bzip2
	Zstd
	Deflate // a zlib stream, Hadoop's .deflate
	HadoopSnappy
	HadoopLZ4
	SnappyFrames
	LZ4Frames
)

var codecNames = []string{"auto", "none", "gzip", "bzip2", "zstd", "deflate", "snappy", "lz4",
	"snappy-framed", "lz4-framed"}

// Names are the names of all codecs, as job files write them; the first is Auto's.
func Names() []string { return codecNames }

// String is the codec's name.
func (c Codec) String() string {
	if c < 0 || int(c) >= len(codecNames) {
		return fmt.Sprintf("codec %d", int(c))
	}
	return codecNames[c]
}

// Identity is the codec as it appears in a run's identity: its name, "" for Auto.
func (c Codec) Identity() string {
	if c == Auto {
		return ""
	}
	return c.String()
}

// Named returns the codec with this name; false if there is none.
func Named(name string) (Codec, bool) {
	for i, n := range codecNames {
		if n == name {
			return Codec(i), true
		}
	}
	return None, false
}

const lz4LegacyMagic = "\x02\x21\x4c\x18"

// magics identify a codec by the start of a file. Deflate and Hadoop's framings have none.
var magics = []struct {
	magic string
	codec Codec
}{
	{"\x1f\x8b\x08", Gzip},                   // RFC 1952, with its only method
	{"\x28\xb5\x2f\xfd", Zstd},               // RFC 8878
	{"\xff\x06\x00\x00sNaPpY", SnappyFrames}, // snappy's framing_format.txt
	{"\x04\x22\x4d\x18", LZ4Frames},          // lz4_Frame_format.md
	{lz4LegacyMagic, LZ4Frames},              // the legacy frame of the same document
}

// extensions map the extension of a file's name to a codec with a magic, and to the codec without a magic that it may
// stand for.
var extensions = map[string]struct{ magic, bare Codec }{
	".gz": {Gzip, None}, ".gzip": {Gzip, None}, ".bz2": {Bzip2, None}, ".bz": {Bzip2, None},
	".zst": {Zstd, None}, ".zstd": {Zstd, None},
	".snappy": {SnappyFrames, HadoopSnappy}, ".sz": {SnappyFrames, None}, ".lz4": {LZ4Frames, HadoopLZ4},
	".deflate": {None, Deflate}, ".zlib": {None, Deflate}, ".zz": {None, Deflate},
}

// Detect finds the codec of a file from its name and its first bytes (512 are enough); None for plain text. If name and
// content disagree, a magic in the content decides. A codec's extension on content that the codec can't have written is
// a *RefusedError, and so is everything that can't be read as text.
func Detect(name string, head []byte) (Codec, error) {
	ext := strings.ToLower(path.Ext(name))
	if codec := ofMagic(head, ext); codec != None {
		return codec, nil
	}
	if len(head) == 0 {
		return None, nil
	}
	if err := detectUnreadable(name, ext, head); err != nil {
		return None, err
	}
	of, named := extensions[ext]
	switch {
	case !named && looksLikeHadoop(head):
		return None, &RefusedError{Name: name,
			What: "probably compressed with snappy or lz4 in Hadoop's block framing (its name does not say which)",
			Do:   "name it .snappy or .lz4, or set input.compression to snappy, lz4 or none"}
	case !named:
		return None, nil
	case of.bare == Deflate && zlibHeader(head), of.bare == HadoopSnappy &&
		hadoopHeader(head), of.bare == HadoopLZ4 && hadoopHeader(head):
		return of.bare, nil
	}
	return None, mismatch(name, ext, head)
}

// ExpansionFactor estimates how many bytes of text one byte of a file with this name expands to, erring on the low
// side: table exports reach 4 to 8 with gzip, bzip2 and zstd, and 2 to 4 with snappy and lz4. For Auto the extension
// decides.
func ExpansionFactor(name string, as Codec) int64 {
	if as == Auto {
		as = max(extensions[strings.ToLower(path.Ext(name))].magic, extensions[strings.ToLower(path.Ext(name))].bare)
	}
	switch as {
	case Gzip, Bzip2, Zstd, Deflate:
		return 4
	case HadoopSnappy, HadoopLZ4, SnappyFrames, LZ4Frames:
		return 2
	}
	return 1
}

func ofMagic(head []byte, ext string) Codec {
	for _, m := range magics {
		if bytes.HasPrefix(head, []byte(m.magic)) {
			return m.codec
		}
	}
	switch {
	case string(head) == "\x1f\x8b": // cut short
		return Gzip
	case bzip2Header(head):
		return Bzip2
	// a skippable frame of zstd and lz4
	case len(head) >= 4 && head[0]&0xf0 == 0x50 && string(head[1:4]) == "\x2a\x4d\x18":
		if ext == ".lz4" {
			return LZ4Frames
		}
		return Zstd
	}
	return None
}

// bzip2Header requires the level and the magic of the first block, or of the end of an empty stream, because text may
// begin with BZh.
func bzip2Header(head []byte) bool {
	if len(head) < 10 || string(head[:3]) != "BZh" || head[3] < '1' || head[3] > '9' {
		return false
	}
	block := string(head[4:10])
	return block == "1AY&SY" || block == "\x17\x72\x45\x38\x50\x90"
}

// zlibHeader checks the header of RFC 1950: method 8, a window of at most 32 KiB, no dictionary, a multiple of 31.
func zlibHeader(head []byte) bool {
	return len(head) >= 2 && head[0]&0x0f == 8 && head[0]>>4 <= 7 && head[1]&0x20 == 0 &&
		(int(head[0])<<8|int(head[1]))%31 == 0
}
