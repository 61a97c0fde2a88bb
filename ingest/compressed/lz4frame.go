package compressed

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/pierrec/lz4/v4"
)

// lz4Frames reads LZ4's frame format (lz4_Frame_format.md): frames, skippable frames and legacy frames, one after another.
// The library's own reader treats the end of a truncated frame as its proper end.
type lz4Frames struct {
	in     *bufio.Reader
	frame  *lz4Frame // nil between frames
	out    []byte    // the window of earlier text that a block may refer to, and the block
	data   []byte    // of a block
	unread []byte    // the rest of the block, not read yet
}

// lz4Frame is a frame's decoded header.
type lz4Frame struct {
	legacy        bool
	dependent     bool // blocks refer to earlier text
	blockSums     bool
	contentSum    bool
	sized         bool   // size is known
	size          uint64 // of the text
	maxBlock      int
	read          uint64
	sum           xxh32
	lastWasPartly bool // of a legacy frame: a block that is not full is the last
}

const (
	lz4Magic       = 0x184d2204
	lz4LegacyMagic = 0x184c2102
	lz4LegacyBlock = 8 << 20
	lz4Window      = 64 << 10
)

func (l *lz4Frames) Read(p []byte) (int, error) {
	for len(l.unread) == 0 && len(p) > 0 {
		if err := l.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, l.unread)
	l.unread = l.unread[n:]
	return n, nil
}

// next begins a frame or reads a block.
func (l *lz4Frames) next() error {
	if l.frame == nil {
		magic, err := l.word()
		if err != nil {
			return err // io.EOF here is the end of the file
		}
		return l.begin(magic)
	}
	size, err := l.word()
	if l.frame.legacy {
		return l.legacyBlock(size, err)
	}
	if err != nil {
		return cutOff(err)
	}
	if size == 0 {
		return l.end()
	}
	return l.block(int(size&^(1<<31)), size>>31 != 0)
}

func (l *lz4Frames) begin(magic uint32) error {
	switch {
	case magic == lz4Magic:
		return l.header()
	case magic == lz4LegacyMagic:
		l.frame = &lz4Frame{legacy: true, maxBlock: lz4LegacyBlock}
		return nil
	case magic&^0xf == 0x184d2a50: // skippable
		size, err := l.word()
		if err == nil {
			_, err = io.CopyN(io.Discard, l.in, int64(size))
		}
		return cutOff(err)
	}
	return fmt.Errorf("%08x is the magic number of no frame", magic)
}

// header reads a frame's descriptor.
func (l *lz4Frames) header() error {
	var b [2 + 8 + 1]byte
	if _, err := io.ReadFull(l.in, b[:2]); err != nil {
		return cutOff(err)
	}
	flags, limit := b[0], b[1]
	f := &lz4Frame{dependent: flags&0x20 == 0, blockSums: flags&0x10 != 0, contentSum: flags&4 != 0, sized: flags&8 != 0}
	switch {
	case flags>>6 != 1:
		return fmt.Errorf("version %d of the frame format is not known", flags>>6)
	case flags&2 != 0 || limit&0x8f != 0 || limit>>4 < 4:
		return errors.New("the frame's header has bits that mean nothing")
	case flags&1 != 0:
		return errors.New("the frame needs a dictionary")
	}
	f.maxBlock = 64 << 10 << (2 * (int(limit>>4) - 4))
	n := 2
	if f.sized {
		n += 8
	}
	if _, err := io.ReadFull(l.in, b[2:n+1]); err != nil {
		return cutOff(err)
	}
	if byte(sum32(b[:n])>>8) != b[n] {
		return errors.New("the checksum of the frame's header is wrong")
	}
	if f.sized {
		f.size = binary.LittleEndian.Uint64(b[2:])
	}
	f.sum.reset()
	l.frame, l.out = f, l.out[:0]
	return nil
}

// block reads a block of n bytes.
func (l *lz4Frames) block(n int, stored bool) error {
	if n > l.frame.maxBlock {
		return fmt.Errorf("a block of %d bytes in a frame whose blocks have at most %d", n, l.frame.maxBlock)
	}
	if err := l.readData(n); err != nil {
		return err
	}
	if l.frame.blockSums {
		sum, err := l.word()
		if err != nil {
			return cutOff(err)
		}
		if sum != sum32(l.data) {
			return errors.New("the checksum of a block is wrong")
		}
	}
	window := l.out
	if !l.frame.dependent {
		window = nil
	}
	return l.decode(window[max(0, len(window)-lz4Window):], stored)
}

// decode appends the block's text to the window that it may refer to.
func (l *lz4Frames) decode(window []byte, stored bool) error {
	most := lz4Window + l.frame.maxBlock
	if cap(l.out) < most {
		grown := make([]byte, most)
		window = grown[:copy(grown, window)]
		l.out = grown
	} else {
		window = l.out[:copy(l.out[:most], window)]
	}
	text := l.out[len(window) : len(window)+l.frame.maxBlock]
	n := 0
	if stored {
		n = copy(text, l.data)
	} else {
		var err error
		if n, err = lz4.UncompressBlockWithDict(l.data, text, window); err != nil {
			return err
		}
	}
	l.out = l.out[:len(window)+n]
	l.unread = text[:n]
	l.frame.read += uint64(n)
	if l.frame.contentSum {
		l.frame.sum.write(l.unread)
	}
	return nil
}

// end checks what follows a frame's last block.
func (l *lz4Frames) end() error {
	f := l.frame
	if f.contentSum {
		sum, err := l.word()
		if err != nil {
			return cutOff(err)
		}
		if sum != f.sum.sum() {
			return errors.New("the checksum of a frame's text is wrong")
		}
	}
	if f.sized && f.size != f.read {
		return fmt.Errorf("a frame of %d bytes of text says that it has %d", f.read, f.size)
	}
	l.frame = nil
	return nil
}

// legacyBlock reads a block of the legacy format, whose frames have no end mark: the file ends, or another frame begins.
func (l *lz4Frames) legacyBlock(size uint32, err error) error {
	switch {
	case err != nil:
		return err // io.EOF here is the end of the file
	case size == lz4Magic || size == lz4LegacyMagic || size&^0xf == 0x184d2a50:
		return l.begin(size)
	case l.frame.lastWasPartly || int64(size) > int64(lz4.CompressBlockBound(lz4LegacyBlock)):
		return errors.New("what follows the last block is not a frame")
	}
	if err := l.readData(int(size)); err != nil {
		return err
	}
	if err := l.decode(nil, false); err != nil {
		return err
	}
	l.frame.lastWasPartly = len(l.unread) < lz4LegacyBlock
	return nil
}

func (l *lz4Frames) readData(n int) error {
	l.data = room(l.data, n)
	_, err := io.ReadFull(l.in, l.data)
	return cutOff(err)
}

// word reads four bytes; io.EOF if no byte is left.
func (l *lz4Frames) word() (uint32, error) {
	var b [4]byte
	_, err := io.ReadFull(l.in, b[:])
	return binary.LittleEndian.Uint32(b[:]), err
}

// cutOff turns io.EOF into an error at a place where the file must not end.
func cutOff(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
