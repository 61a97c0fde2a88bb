package hfilewriter

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"sync"

	"github.com/golang/snappy"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/zeebo/xxh3"
)

// The Hadoop block framing of Snappy, LZ4 and ZSTD (BlockCompressorStream.write and finish):
//
//	int N                          length of the payload
//	{ int c, c bytes } …           one raw compressed slice for each sliceLen bytes of payload
//	int 0                          only where the payload is longer than one slice
//
// ingest/compressed reads the same framing of whole files: a stream of any length, of chunks of any size, of which
// nothing else is known. Here a block is in memory, its header says its length, and HBase writes slices of one size.
//
// An empty payload is the int 0 alone. The slices' lengths are those of the codecs' 256 KiB buffers, minus the bytes
// that a codec may add to incompressible data.
const (
	codecBuffer    = 256 << 10
	snappySliceLen = codecBuffer - (codecBuffer/6 + 32)   // 218,422
	lz4SliceLen    = codecBuffer - (codecBuffer/255 + 16) // 261,100
	zstdSliceLen   = codecBuffer - (codecBuffer >> 8)     // 261,120
)

// sliceLen is how much payload a codec compresses at a time; 0 for codecs without block framing.
func (c Compression) sliceLen() int {
	switch c {
	case CompressSnappy:
		return snappySliceLen
	case CompressLZ4:
		return lz4SliceLen
	case CompressZSTD:
		return zstdSliceLen
	}
	return 0
}

// codec compresses and decompresses payloads. It belongs to one goroutine.
type codec struct {
	kind Compression
	gz   *gzip.Writer
	lz   *lz4.Compressor
}

func newCodec(kind Compression) *codec { return &codec{kind: kind} }

// compress appends the stored form of payload to dst. Slice lengths are part of HBase's bytes: the same payload cut
// elsewhere would decompress to the same cells, but the file would not be the one that HBase writes.
func (c *codec) compress(dst, payload []byte) ([]byte, error) {
	switch c.kind {
	case CompressNone:
		return append(dst, payload...), nil
	case CompressGZ:
		return c.gzip(dst, payload)
	}
	slice := c.kind.sliceLen()
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(payload)))
	for rest := payload; len(rest) > 0; {
		n := min(slice, len(rest))
		at := len(dst)
		var err error
		if dst, err = c.compressSlice(append(dst, 0, 0, 0, 0), rest[:n]); err != nil {
			return dst, err
		}
		binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
		rest = rest[n:]
	}
	// BlockCompressorStream.finish writes a final length of 0 if write had filled more than one slice.
	if len(payload) > slice {
		dst = append(dst, 0, 0, 0, 0)
	}
	return dst, nil
}

// compressSlice appends one raw compressed slice.
func (c *codec) compressSlice(dst, src []byte) ([]byte, error) {
	at := len(dst)
	switch c.kind {
	case CompressSnappy:
		dst = grow(dst, s2.MaxEncodedLen(len(src)))
		return dst[:at+len(s2.EncodeSnappy(dst[at:cap(dst)], src))], nil
	case CompressLZ4:
		if c.lz == nil {
			c.lz = new(lz4.Compressor)
		}
		dst = grow(dst, lz4.CompressBlockBound(len(src)))
		n, err := c.lz.CompressBlock(src, dst[at:cap(dst)])
		return dst[:at+n], err
	case CompressZSTD:
		return zstdEncoder().EncodeAll(src, dst), nil
	}
	return dst, fmt.Errorf("compress: no codec for %s", c.kind)
}

// EncoderOf identifies this program's encoder for a compression by what it makes of texts of several lengths; "" for
// CompressNone. That depends on the library's version and, where the library has assembly, on the processor's
// architecture. Whatever it makes of a block is decoded to the same bytes.
func EncoderOf(kind Compression) (string, error) {
	if kind == CompressNone {
		return "", nil
	}
	var text, all []byte
	for i := range 32 << 10 {
		text = fmt.Appendf(text, "%d,", i*i%1009)
	}
	c := newCodec(kind)
	for n := 300; n < len(text); n *= 5 { // encoders have other ways for short blocks than for long ones
		var err error
		if all, err = c.compress(all, text[:n]); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%016x", xxh3.Hash(all)), nil
}

// gzip appends one whole RFC 1952 member (ReusableStreamGzipCodec).
func (c *codec) gzip(dst, payload []byte) ([]byte, error) {
	out := appendWriter{dst}
	if c.gz == nil {
		c.gz = gzip.NewWriter(&out)
	} else {
		c.gz.Reset(&out)
	}
	if _, err := c.gz.Write(payload); err != nil {
		return dst, fmt.Errorf("gzip: %w", err)
	}
	if err := c.gz.Close(); err != nil {
		return dst, fmt.Errorf("gzip: %w", err)
	}
	return out.buf, nil
}

// The zstd coders are costly to make and, used this way, safe for concurrent use, so the process has one of each.
// Their options can't fail.
var (
	zstdEncoder = sync.OnceValue(func() *zstd.Encoder {
		w, _ := zstd.NewWriter(nil, zstd.WithSingleSegment(true))
		return w
	})
	zstdDecoder = sync.OnceValue(func() *zstd.Decoder {
		r, _ := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(64*codecBuffer))
		return r
	})
)

type appendWriter struct{ buf []byte }

func (w *appendWriter) Write(p []byte) (int, error) {
	w.buf = append(w.buf, p...)
	return len(p), nil
}

// decompress returns the payload of stored bytes, n bytes long by the header, in dst's memory or new memory. It
// allocates by slice, not by n: a damaged length can't claim more memory than the stored bytes can decompress to.
func (c *codec) decompress(dst, stored []byte, n int) ([]byte, error) {
	switch c.kind {
	case CompressNone:
		if len(stored) != n {
			return nil, fmt.Errorf("%w: %d bytes stored, header says %d", ErrCorrupt, len(stored), n)
		}
		return stored, nil
	case CompressGZ:
		return c.gunzip(dst, stored, n)
	}
	if len(stored) == 0 && n == 0 {
		return dst[:0], nil
	}
	if len(stored) < 4 || int64(binary.BigEndian.Uint32(stored)) != int64(n) {
		return nil, fmt.Errorf("%w: %s frame does not say the header's length of %d", ErrCorrupt, c.kind, n)
	}
	stored = stored[4:]
	dst = dst[:0]
	for len(dst) < n {
		if len(stored) < 4 {
			return nil, fmt.Errorf("%w: %s frame ends after %d of %d bytes", ErrCorrupt, c.kind, len(dst), n)
		}
		length := int64(binary.BigEndian.Uint32(stored))
		if length > int64(len(stored)-4) {
			return nil, fmt.Errorf("%w: %s slice of %d bytes runs past the block", ErrCorrupt, c.kind, length)
		}
		var err error
		if dst, err = c.decompressSlice(dst, stored[4:4+length], n-len(dst)); err != nil {
			return nil, err
		}
		stored = stored[4+length:]
	}
	return dst, nil
}

// decompressSlice appends a slice's bytes, at least 1 and at most most.
func (c *codec) decompressSlice(dst, src []byte, most int) ([]byte, error) {
	most = min(most, codecBuffer)
	at := len(dst)
	var n int
	var err error
	switch c.kind {
	case CompressSnappy:
		if n, err = snappy.DecodedLen(src); err == nil && n <= most {
			dst = grow(dst, n)
			_, err = snappy.Decode(dst[at:at+n], src)
		}
	case CompressLZ4:
		dst = grow(dst, most)
		n, err = lz4.UncompressBlock(src, dst[at:at+most])
	case CompressZSTD:
		dst, err = zstdDecoder().DecodeAll(src, grow(dst, most))
		n = len(dst) - at
	}
	if err != nil || n < 1 || n > most {
		return nil, fmt.Errorf("%w: %s slice of %d bytes does not decompress (%d bytes, at most %d wanted): %v", ErrCorrupt,
			c.kind, len(src), n, most, err)
	}
	return dst[:at+n], nil
}

func (c *codec) gunzip(dst, stored []byte, n int) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(stored))
	if err != nil {
		return nil, fmt.Errorf("%w: gzip: %v", ErrCorrupt, err)
	}
	out := appendWriter{dst[:0]}
	if _, err := io.Copy(&out, io.LimitReader(z, int64(n)+1)); err != nil {
		return nil, fmt.Errorf("%w: gzip: %v", ErrCorrupt, err)
	}
	if len(out.buf) != n {
		return nil, fmt.Errorf("%w: gzip gives %d bytes or more, header says %d", ErrCorrupt, len(out.buf), n)
	}
	return out.buf, nil
}

// grow ensures capacity for n more bytes after dst.
func grow(dst []byte, n int) []byte {
	if cap(dst)-len(dst) >= n {
		return dst
	}
	bigger := make([]byte, len(dst), 2*cap(dst)+n)
	copy(bigger, dst)
	return bigger
}
