package compressed

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/golang/snappy"
	"github.com/pierrec/lz4/v4"
)

// hadoopReader reads Hadoop's block framing (org.apache.hadoop.io.compress.BlockCompressorStream). A block is the
// length of its text as four big-endian bytes, followed by chunks, each preceded by the length of its data, until the
// text is complete. A block without text has no chunks; Hadoop writes one for an empty file. Unlike Hadoop's own reader
// it accepts concatenated files and refuses truncated ones. hfilewriter's codec reads the same framing of an HFile's
// block, which is in memory and whose length is known from the header.
type hadoopReader struct {
	in     *bufio.Reader
	left   int64 // of the file
	decode decoder
	owed   int64  // text of the block that is not decoded yet
	data   []byte // of a chunk
	text   []byte // of a chunk
	unread []byte // the rest of text, not read yet
}

// decoder appends a chunk's text, at most owed bytes, to dst.
type decoder func(dst, chunk []byte, owed int64) ([]byte, error)

// maxChunk is the longest text of a chunk: 256 times what Hadoop's codecs write with their default buffer size.
const maxChunk = 64 << 20

func newBlocks(in *bufio.Reader, size int64, decode decoder) *hadoopReader {
	return &hadoopReader{in: in, left: size, decode: decode}
}

// hadoopHeader reports whether a file may begin with a block. This proves nothing, because the framing has no magic.
func hadoopHeader(head []byte) bool {
	if len(head) == 4 {
		return binary.BigEndian.Uint32(head) == 0
	}
	if len(head) < 9 {
		return false
	}
	text, chunk := binary.BigEndian.Uint32(head), binary.BigEndian.Uint32(head[4:])
	if text == 0 { // an empty file, with another one after it
		return hadoopHeader(head[4:])
	}
	return text < 1<<31 && chunk > 0 && chunk < maxChunk+maxChunk/4
}

// looksLikeHadoop requires a block of at most 1 MiB whose first chunk is no longer than its text can become. Such a
// header has zero bytes in at least two places. Text has none, and UTF-16 has them in other places.
func looksLikeHadoop(head []byte) bool {
	if len(head) < 9 || head[0] != 0 || head[4] != 0 {
		return false
	}
	text, chunk := binary.BigEndian.Uint32(head), binary.BigEndian.Uint32(head[4:])
	return text > 0 && chunk > 0 && chunk <= text+text/6+64 && head[1] < 0x10 && head[5] < 0x10
}

func (b *hadoopReader) Read(p []byte) (int, error) {
	for len(b.unread) == 0 && len(p) > 0 {
		if err := b.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, b.unread)
	b.unread = b.unread[n:]
	return n, nil
}

// next reads the length of a block, or a chunk.
func (b *hadoopReader) next() error {
	n, err := b.length()
	switch {
	case err != nil:
		return err
	case b.owed == 0:
		b.owed = n
		return nil
	case n > b.left:
		return fmt.Errorf("a chunk of %d bytes where the file has %d left: %w", n, b.left, io.ErrUnexpectedEOF)
	case n == 0:
		return errors.New("an empty chunk")
	}
	if b.data, err = b.read(n); err != nil {
		return err
	}
	if b.text, err = b.decode(b.text[:0], b.data, b.owed); err != nil {
		return err
	}
	if len(b.text) == 0 || int64(len(b.text)) > b.owed {
		return fmt.Errorf("a chunk of %d bytes of text where the block has %d left", len(b.text), b.owed)
	}
	b.unread = b.text
	b.owed -= int64(len(b.text))
	return nil
}

// length reads four bytes. The file may end before a block, but nowhere else.
func (b *hadoopReader) length() (int64, error) {
	var four [4]byte
	n, err := io.ReadFull(b.in, four[:])
	b.left -= int64(n)
	if errors.Is(err, io.EOF) && b.owed > 0 {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return 0, err
	}
	length := int64(binary.BigEndian.Uint32(four[:]))
	if length >= 1<<31 {
		return 0, fmt.Errorf("a negative length, %d", int32(length))
	}
	return length, nil
}

// read reads a chunk's data.
func (b *hadoopReader) read(n int64) ([]byte, error) {
	if n > maxChunk+maxChunk/4 {
		return nil, fmt.Errorf("a chunk of %d bytes, more than %d", n, maxChunk+maxChunk/4)
	}
	data := b.data
	if int64(cap(data)) < n {
		data = make([]byte, n)
	}
	data = data[:n]
	got, err := io.ReadFull(b.in, data)
	b.left -= int64(got)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return data, err
}

// snappyBlock decodes a raw snappy block, which begins with the length of its text. Each byte expands to at most 32.
func snappyBlock(dst, chunk []byte, owed int64) ([]byte, error) {
	n, err := snappy.DecodedLen(chunk)
	if err != nil {
		return nil, err
	}
	if int64(n) > min(owed, maxChunk, 32*int64(len(chunk))) {
		return nil, fmt.Errorf("%d bytes say that they are %d bytes of text where the block has %d left", len(chunk), n, owed)
	}
	return snappy.Decode(room(dst, n), chunk)
}

// lz4Block decodes a raw lz4 block, which does not store the length of its text. Each byte expands to at most 255.
func lz4Block(dst, chunk []byte, owed int64) ([]byte, error) {
	most := int(min(owed, maxChunk, 255*int64(len(chunk))))
	for size := min(most, max(256<<10, 4*len(chunk))); ; size = min(most, 4*size) {
		dst = room(dst, size)
		n, err := lz4.UncompressBlock(chunk, dst)
		if err == nil {
			return dst[:n], nil
		}
		if size == most {
			return nil, err
		}
	}
}

func room(dst []byte, n int) []byte {
	if cap(dst) < n {
		return make([]byte, n)
	}
	return dst[:n]
}
