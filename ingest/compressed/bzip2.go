package compressed

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// bzip2Reader reads bzip2's format, one stream after another. Go's own reader refuses randomised blocks, which Hadoop's
// codec (org.apache.hadoop.io.compress.bzip2.CBZip2OutputStream), like bzip2 0.1, writes for very repetitive text.
//
// A stream is BZh and its level, blocks, and a checksum over the blocks' checksums. A block encodes at most 900,000
// bytes of text in steps: runs are shortened, the text is Burrows-Wheeler transformed and move-to-front coded, zeros
// are run-length coded, and the result is coded with two to six Huffman tables, which may change every 50 symbols.
type bzip2Reader struct {
	in    bitReader
	level int // of the stream, in 100,000 bytes; 0 between streams
	sums  uint32
	block bzip2Block
	tree  [6]huffman
}

// bzip2Block is the rest of a block's text.
type bzip2Block struct {
	links  []uint32 // a byte of the text and, in the higher bits, the index of the next one
	at     uint32   // in links
	left   int      // of links
	last   byte
	run    int // length of the current run of last, at most 4
	repeat int // how many more copies of last follow
	sum    uint32
	want   uint32
	open   bool // its checksum has not been compared yet
	random bool
	toGo   int // bytes until the next changed byte, if the block is randomised
	next   int // in randomised
}

const (
	bunzipBlockMagic = 0x314159265359
	bunzipEndMagic   = 0x177245385090
	bzip2GroupLen    = 50 // symbols coded with one table
)

func (z *bzip2Reader) Read(p []byte) (int, error) {
	for {
		if n := z.block.read(p); n > 0 || len(p) == 0 {
			return n, nil
		}
		if z.block.open {
			z.block.open = false
			if z.block.sum != z.block.want {
				return 0, errors.New("the checksum of a block is wrong")
			}
			z.sums = (z.sums<<1 | z.sums>>31) ^ z.block.want
		}
		if err := z.next(); err != nil {
			return 0, err
		}
	}
}

// next begins a stream, ends one, or reads a block.
func (z *bzip2Reader) next() error {
	if z.level == 0 {
		return z.begin()
	}
	switch magic := z.in.bits(48); {
	case z.in.err != nil:
		return z.in.err
	case magic == bunzipBlockMagic:
		return z.readBlock()
	case magic != bunzipEndMagic:
		return errors.New("neither a block nor the end of the stream")
	}
	if sum := uint32(z.in.bits(32)); z.in.err == nil && sum != z.sums {
		return errors.New("the checksum of the stream is wrong")
	}
	z.in.align()
	z.level = 0
	return z.in.err
}

func (z *bzip2Reader) begin() error {
	if z.in.atEnd() {
		return io.EOF
	}
	if z.in.bits(24) != 'B'<<16|'Z'<<8|'h' && z.in.err == nil {
		return errors.New("no stream begins there")
	}
	level := int(z.in.bits(8)) - '0'
	switch {
	case z.in.err != nil:
		return z.in.err
	case level < 1 || level > 9:
		return errors.New("the stream has no level from 1 to 9")
	}
	z.level, z.sums = level, 0
	return nil
}

// readBlock reads a whole block and prepares its text for reading.
func (z *bzip2Reader) readBlock() error {
	b := &z.block
	if len(b.links) < z.level*100_000 {
		b.links = make([]uint32, z.level*100_000)
	}
	want, random, origin := uint32(z.in.bits(32)), z.in.bits(1) == 1, uint32(z.in.bits(24))
	symbols, err := z.readSymbols()
	if err != nil {
		return err
	}
	selectors, err := z.readTables(len(symbols) + 2)
	if err != nil {
		return err
	}
	n, err := z.readCodes(symbols, selectors)
	if err != nil {
		return err
	}
	if int64(origin) >= int64(n) {
		return fmt.Errorf("a block of %d bytes begins at byte %d", n, origin)
	}
	*b = bzip2Block{links: b.links, left: n, want: want, sum: ^uint32(0), open: true, random: random}
	b.link(n)
	b.at = b.links[origin] >> 8
	return nil
}

// readSymbols reads which byte values the block has. The first 16 bits say which groups of 16 bits follow.
func (z *bzip2Reader) readSymbols() ([]byte, error) {
	var symbols []byte
	groups := z.in.bits(16)
	for high := range 16 {
		if groups>>(15-high)&1 == 0 {
			continue
		}
		group := z.in.bits(16)
		for low := range 16 {
			if group>>(15-low)&1 == 1 {
				symbols = append(symbols, byte(high<<4|low))
			}
		}
	}
	if z.in.err == nil && len(symbols) == 0 {
		return nil, errors.New("a block of no bytes")
	}
	return symbols, z.in.err
}

// readTables reads the Huffman tables for that many symbols, and the order in which they are used.
func (z *bzip2Reader) readTables(symbols int) (selectors []byte, err error) {
	tables, n := int(z.in.bits(3)), int(z.in.bits(15))
	if z.in.err == nil && (tables < 2 || tables > len(z.tree) || n == 0) {
		return nil, fmt.Errorf("a block of %d tables and %d selectors", tables, n)
	}
	order := []byte{0, 1, 2, 3, 4, 5}
	for range n {
		place := 0
		for z.in.bits(1) == 1 {
			place++
			if place >= tables {
				return nil, errors.New("a selector of a table that is not there")
			}
		}
		if z.in.err != nil {
			return nil, z.in.err
		}
		selectors = append(selectors, toFront(order, place))
	}
	for i := range tables {
		if err := z.readTable(&z.tree[i], symbols); err != nil {
			return nil, err
		}
	}
	return selectors, z.in.err
}

// readTable reads the lengths of a table's codes. Each is stored as the difference from the length before it.
func (z *bzip2Reader) readTable(h *huffman, symbols int) error {
	var lengths [258]byte
	length := int(z.in.bits(5))
	for i := range symbols {
		for {
			if length < 1 || length > maxCode {
				return errors.Join(z.in.err, fmt.Errorf("a code of %d bits", length))
			}
			if z.in.bits(1) == 0 {
				break
			}
			length += 1 - 2*int(z.in.bits(1))
		}
		lengths[i] = byte(length)
	}
	if z.in.err != nil {
		return z.in.err
	}
	return h.build(lengths[:symbols])
}

// readCodes decodes a block's symbols into links and returns how many bytes they yield. The first two symbols are the
// digits 1 and 2 of a count of zeros; the last one ends the block; the others are the position of a byte in the list of
// recently used ones.
func (z *bzip2Reader) readCodes(symbols, selectors []byte) (int, error) {
	var recent [256]byte
	copy(recent[:], symbols)
	links := z.block.links[:z.level*100_000]
	n, run, digit := 0, 0, 1
	for _, table := range selectors {
		for range bzip2GroupLen {
			symbol, err := z.tree[table].read(&z.in)
			if err != nil {
				return 0, err
			}
			if symbol < 2 {
				run += digit << symbol
				if digit <<= 1; run > len(links)-n {
					return 0, errors.New("a block longer than its stream's level says")
				}
				continue
			}
			for range run {
				links[n] = uint32(recent[0])
				n++
			}
			run, digit = 0, 1
			if symbol == len(symbols)+1 {
				return n, z.in.err
			}
			if n == len(links) {
				return 0, errors.New("a block longer than its stream's level says")
			}
			links[n] = uint32(toFront(recent[:], symbol-1))
			n++
		}
	}
	return 0, errors.Join(z.in.err, errors.New("a block without an end"))
}

// toFront moves the byte at a position of the list to its front and returns it.
func toFront(list []byte, place int) byte {
	b := list[place]
	copy(list[1:place+1], list[:place])
	list[0] = b
	return b
}

// link undoes the transform: the n-th occurrence of a byte is followed by its n-th occurrence among the sorted bytes.
func (b *bzip2Block) link(n int) {
	var starts [256]uint32
	for _, l := range b.links[:n] {
		starts[l]++
	}
	sum := uint32(0)
	for i, count := range starts {
		starts[i] = sum
		sum += count
	}
	for i := range uint32(n) {
		c := byte(b.links[i])
		b.links[starts[c]] |= i << 8
		starts[c]++
	}
}

// read returns text of the block; 0 at its end. A byte after four equal ones says how often these are repeated further.
func (b *bzip2Block) read(p []byte) int {
	n, sum := 0, b.sum
	for n < len(p) {
		switch {
		case b.repeat > 0:
			b.repeat--
			p[n] = b.last
		case b.left == 0:
			b.sum = ^sum
			if n > 0 {
				b.sum = sum
			}
			return n
		default:
			c := b.symbol()
			if b.run == 4 {
				b.run, b.repeat = 0, int(c)
				continue
			}
			if b.run++; c != b.last {
				b.run = 1
			}
			b.last, p[n] = c, c
		}
		sum = sum<<8 ^ bzip2CRC[byte(sum>>24)^p[n]]
		n++
	}
	b.sum = sum
	return n
}

// symbol follows a link and returns its byte.
func (b *bzip2Block) symbol() byte {
	link := b.links[b.at]
	b.at = link >> 8
	b.left--
	c := byte(link)
	if b.random {
		if b.toGo == 0 {
			b.toGo = int(randomised[b.next])
			b.next = (b.next + 1) % len(randomised)
		}
		if b.toGo--; b.toGo == 1 {
			c ^= 1
		}
	}
	return c
}

// bzip2CRC is the table of CRC-32 with the highest bit first.
var bzip2CRC = func() (table [256]uint32) {
	for i := range table {
		sum := uint32(i) << 24
		for range 8 {
			if sum>>31 == 1 {
				sum = sum<<1 ^ 0x04c11db7
			} else {
				sum <<= 1
			}
		}
		table[i] = sum
	}
	return table
}()

// bitReader reads bits, the highest bit of a byte first. After the end of the file it reads zeros, and sets err once
// one of them is consumed.
type bitReader struct {
	in     *bufio.Reader
	kept   uint64
	n      int // bits in kept
	beyond int // of these, bits after the end of the file
	err    error
}

// fill loads at least n bits, at most 56.
func (r *bitReader) fill(n int) {
	for r.n < n {
		b, err := r.in.ReadByte()
		if err != nil {
			b = 0
			r.beyond += 8
		}
		r.kept = r.kept<<8 | uint64(b)
		r.n += 8
	}
}

// bits consumes and returns n bits, at most 48.
func (r *bitReader) bits(n int) uint64 {
	r.fill(n)
	r.n -= n
	if r.n < r.beyond && r.err == nil {
		r.err = io.ErrUnexpectedEOF
	}
	return r.kept >> r.n & (1<<n - 1)
}

// align skips to the next byte boundary.
func (r *bitReader) align() { r.n -= r.n % 8 }

// atEnd reports whether the file ends at the current byte boundary.
func (r *bitReader) atEnd() bool {
	r.fill(8)
	return r.n == r.beyond
}
