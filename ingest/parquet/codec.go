package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/golang/snappy"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// codecReadable reports whether pages of a codec can be unpacked.
func codecReadable(c compress.Compression) bool {
	switch c {
	case compress.Codecs.Uncompressed, compress.Codecs.Snappy, compress.Codecs.Gzip,
		compress.Codecs.Brotli, compress.Codecs.Zstd:
		return true
	}
	return false
}

// codecName is a codec's name in parquet.thrift, whether or not v15 knows it.
func codecName(c compress.Compression) string {
	if c == 7 {
		return "LZ4_RAW"
	}
	return c.String()
}

// maxUnpacked is the largest unpacked size that a page of n compressed bytes may claim. Snappy's ratio is at most 22,
// that of deflate 1032. The other codecs can reach more, so they may claim as much as any page that a writer makes.
func maxUnpacked(c compress.Compression, n int) int64 {
	const header, room = 64, 64 << 20
	switch c {
	case compress.Codecs.Uncompressed:
		return int64(n)
	case compress.Codecs.Snappy:
		return 24*int64(n) + header
	case compress.Codecs.Gzip:
		return 1032*int64(n) + header
	}
	return max(room, 1032*int64(n))
}

// unpacker unpacks pages. It is not safe for concurrent use.
type unpacker struct {
	source bytes.Reader
	gzip   *gzip.Reader
	zstd   *zstd.Decoder
	brotli *brotli.Reader
}

var errLonger = errors.New("it unpacks to more bytes than its header says")

// unpack fills all of dst with the unpacked bytes of packed.
func (u *unpacker) unpack(c compress.Compression, dst, packed []byte) error {
	switch c {
	case compress.Codecs.Snappy:
		return unpackSnappy(dst, packed)
	case compress.Codecs.Zstd:
		return u.unpackZstd(dst, packed)
	case compress.Codecs.Gzip:
		u.source.Reset(packed)
		if u.gzip == nil {
			u.gzip = new(gzip.Reader)
		}
		if err := u.gzip.Reset(&u.source); err != nil {
			return err
		}
		return fillExactly(dst, u.gzip)
	case compress.Codecs.Brotli:
		u.source.Reset(packed)
		if u.brotli == nil {
			u.brotli = new(brotli.Reader)
		}
		if err := u.brotli.Reset(&u.source); err != nil {
			return err
		}
		return fillExactly(dst, u.brotli)
	}
	return fmt.Errorf("codec %s can't be read", codecName(c))
}

func unpackSnappy(dst, packed []byte) error {
	n, err := snappy.DecodedLen(packed)
	if err != nil {
		return err
	}
	if n != len(dst) {
		return fmt.Errorf("it unpacks to %d bytes, its header says %d", n, len(dst))
	}
	_, err = snappy.Decode(dst, packed)
	return err
}

func (u *unpacker) unpackZstd(dst, packed []byte) error {
	if u.zstd == nil {
		var err error
		u.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			return err
		}
	}
	out, err := u.zstd.DecodeAll(packed, dst[:0:len(dst)])
	if err == nil && len(out) != len(dst) {
		err = fmt.Errorf("it unpacks to %d bytes, its header says %d", len(out), len(dst))
	}
	return err
}

// fillExactly requires r to return exactly len(dst) bytes.
func fillExactly(dst []byte, r io.Reader) error {
	if _, err := io.ReadFull(r, dst); err != nil {
		return err
	}
	var more [1]byte
	switch n, err := r.Read(more[:]); {
	case n > 0:
		return errLonger
	case err != io.EOF:
		return err
	}
	return nil
}

func (u *unpacker) close() {
	if u.zstd != nil {
		u.zstd.Close()
		u.zstd = nil
	}
}
