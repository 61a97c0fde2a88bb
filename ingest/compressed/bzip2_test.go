package compressed

import (
	"bytes"
	"cmp"
	"compress/bzip2"
	"encoding/binary"
	"errors"
	"io"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bulkload/internal/errcode"
	"bulkload/internal/test/testrand"
	"bulkload/internal/test/testwords"
)

// drawText returns text with runs of all lengths, rows that repeat, and noise.
func drawText(r *rand.Rand, size int) []byte {
	text := make([]byte, 0, size+600)
	for len(text) < size {
		switch r.IntN(3) {
		case 0:
			text = append(text, bytes.Repeat([]byte{byte(r.IntN(3))}, []int{1, 3, 4, 5, 254, 255, 256, 259, 260, r.IntN(600)}[r.IntN(10)])...)
		case 1:
			text = append(text, "1\x01规则\x01type-7\n"...)
		default:
			for range r.IntN(40) {
				text = append(text, byte(r.Uint32()))
			}
		}
	}
	return text[:size]
}

// bitWriter writes bits, the highest first.
type bitWriter struct {
	out  []byte
	kept byte
	n    int
}

func (w *bitWriter) bits(value uint64, n int) {
	for i := n - 1; i >= 0; i-- {
		w.kept = w.kept<<1 | byte(value>>i&1)
		if w.n++; w.n == 8 {
			w.out, w.kept, w.n = append(w.out, w.kept), 0, 0
		}
	}
}

func (w *bitWriter) end() []byte {
	for w.n > 0 {
		w.bits(0, 1)
	}
	return w.out
}

// bzBlock is what a test writes as a bzip2 block. The zero value of every field but text makes a sound block.
type bzBlock struct {
	text       []byte
	randomised bool
	sum        uint32 // added to the right one
	origin     int    // 0: the right one
	tables     int    // 0: 2
	selector   int    // 0: table 0
	noSelector bool
	comb       int // number of symbols with codes of 1, 2, 3 ... bits, before the others share what is left
	length     int // of all codes, 0: the fewest bits that suffice, and no code is left over
	endless    bool
	longer     int    // zeros that are inserted, as a run
	noSymbols  bool   // the block says that it has no byte values at all
	symbol     uint64 // if not 0, it comes instead of the last code, with length bits
}

// bzSum is the checksum of a block's text, bit by bit.
func bzSum(text []byte) uint32 {
	sum := ^uint32(0)
	for _, b := range text {
		sum ^= uint32(b) << 24
		for range 8 {
			sum = sum<<1 ^ 0x04c11db7&-(sum>>31)
		}
	}
	return ^sum
}

// shortened writes each run as four equal bytes and the number of further ones.
func shortened(text []byte) (out []byte) {
	for len(text) > 0 {
		n := 1
		for n < len(text) && n < 255 && text[n] == text[0] {
			n++
		}
		out = append(out, text[:min(n, 4)]...)
		if n >= 4 {
			out = append(out, byte(n-4))
		}
		text = text[n:]
	}
	return out
}

// write writes the block.
func (b bzBlock) write(w *bitWriter) {
	w.bits(bunzipBlockMagic, 48)
	w.bits(uint64(bzSum(b.text)+b.sum), 32)
	w.bits(uint64(btoi(b.randomised)), 1)
	text := shortened(b.text)
	if b.randomised {
		next, toGo := 0, 0
		for i := range text {
			if toGo == 0 {
				toGo, next = int(randomised[next]), (next+1)%len(randomised)
			}
			if toGo--; toGo == 1 {
				text[i] ^= 1
			}
		}
	}
	last, origin := rotated(text)
	w.bits(uint64(cmp.Or(b.origin, origin)), 24)
	symbols := slices.Compact(slices.Sorted(slices.Values(last)))
	if b.noSymbols {
		w.bits(0, 16)
		return
	}
	writeSymbols(w, symbols)
	codes := moved(last, symbols, b.longer)
	if !b.endless {
		codes = append(codes, len(symbols)+1)
	}
	lengths := b.lengths(len(symbols) + 2)
	b.writeTables(w, lengths, (len(codes)+bzip2GroupLen-1)/bzip2GroupLen)
	values := canonical(lengths)
	for i, c := range codes {
		if i == len(codes)-1 && b.symbol > 0 {
			w.bits(b.symbol, b.length)
			return
		}
		w.bits(values[c], lengths[c])
	}
}

// lengths are the code lengths of so many symbols.
func (b bzBlock) lengths(symbols int) []int {
	lengths := make([]int, symbols)
	comb := min(b.comb, symbols-2)
	rest := symbols - comb
	most := bits.Len(uint(rest - 1))
	for i := range lengths {
		switch {
		case b.length > 0:
			lengths[i] = b.length
		case i < comb:
			lengths[i] = i + 1
		case i-comb < 1<<most-rest:
			lengths[i] = comb + most - 1
		default:
			lengths[i] = comb + most
		}
	}
	return lengths
}

// canonical returns the codes of the given lengths: consecutive numbers, by length and then by symbol.
func canonical(lengths []int) []uint64 {
	codes := make([]uint64, len(lengths))
	next := uint64(0)
	for length := 1; length < 40; length++ {
		for symbol, l := range lengths {
			if l == length {
				codes[symbol] = next
				next++
			}
		}
		next <<= 1
	}
	return codes
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// writeTables writes tables that are all the same, and which of them are used.
func (b bzBlock) writeTables(w *bitWriter, lengths []int, groups int) {
	tables := cmp.Or(b.tables, 2)
	w.bits(uint64(tables), 3)
	if b.noSelector {
		groups = 0
	}
	w.bits(uint64(groups), 15)
	for range groups {
		w.bits(1<<(b.selector+1)-2, b.selector+1)
	}
	for range tables {
		at := lengths[0]
		w.bits(uint64(at), 5)
		for _, length := range lengths {
			for ; at < length; at++ {
				w.bits(0b10, 2)
			}
			for ; at > length; at-- {
				w.bits(0b11, 2)
			}
			w.bits(0, 1)
		}
	}
}

// rotated returns the last column of the sorted rotations of a text, and the place of the text itself among them.
func rotated(text []byte) (last []byte, origin int) {
	twice := append(bytes.Clone(text), text...)
	order := make([]int, len(text))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return bytes.Compare(twice[a:a+len(text)], twice[b:b+len(text)]) })
	for i, at := range order {
		last = append(last, twice[at+len(text)-1])
		if at == 0 {
			origin = i
		}
	}
	return last, origin
}

func writeSymbols(w *bitWriter, symbols []byte) {
	var has [16]uint64
	groups := uint64(0)
	for _, s := range symbols {
		groups |= 1 << (15 - s>>4)
		has[s>>4] |= 1 << (15 - s&15)
	}
	w.bits(groups, 16)
	for _, h := range has {
		if h > 0 {
			w.bits(h, 16)
		}
	}
}

// moved moves bytes to the front of a list and counts zeros, after adding more zeros in front.
func moved(last, symbols []byte, zeros int) (codes []int) {
	list := slices.Clone(symbols)
	flush := func() {
		for ; zeros > 0; zeros = (zeros - 1) / 2 {
			codes = append(codes, (zeros-1)%2)
		}
	}
	for _, b := range last {
		at := bytes.IndexByte(list, b)
		if at == 0 {
			zeros++
			continue
		}
		flush()
		codes = append(codes, at+1)
		toFront(list, at)
	}
	flush()
	return codes
}

// bzStream is a stream of blocks. The end's magic is xored with endMagic, and sum is added to its checksum.
func bzStream(level byte, endMagic uint64, sum uint32, blocks ...bzBlock) []byte {
	w := &bitWriter{out: []byte{'B', 'Z', 'h', level}}
	sums := uint32(0)
	for _, b := range blocks {
		b.write(w)
		sums = bits.RotateLeft32(sums, 1) ^ (bzSum(b.text) + b.sum)
	}
	w.bits(bunzipEndMagic^endMagic, 48)
	w.bits(uint64(sums+sum), 32)
	return w.end()
}

// TestBzip2ByHand reads streams that are put together bit by bit: sound ones, as Go's own reader does, and randomised
// ones, which that reader refuses.
func TestBzip2ByHand(t *testing.T) {
	r := testrand.New(t)
	for i := range 200 {
		var blocks []bzBlock
		var want []byte
		plain := true
		for range r.IntN(4) {
			b := bzBlock{text: drawText(r, r.IntN(3000)+1), randomised: r.IntN(3) == 0, tables: r.IntN(5) + 2, selector: r.IntN(2)}
			if r.IntN(2) == 0 {
				b.comb = r.IntN(13) // so that some codes have up to 20 bits, more than are looked up at once
			}
			plain = plain && !b.randomised
			want = append(want, b.text...)
			blocks = append(blocks, b)
		}
		content := bzStream('1'+byte(i%9), 0, 0, blocks...)
		got, err := unpacked(content, Auto, 1<<20)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%d blocks of %d bytes: %d bytes, %v", len(blocks), len(want), len(got), err)
		}
		if plain {
			if got, err := io.ReadAll(bzip2.NewReader(bytes.NewReader(content))); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("Go's own reader: %d bytes, %v: the test's writer is wrong", len(got), err)
			}
		}
	}
}

// TestBzip2Refuses: each contradiction in a stream is refused with its own reason.
func TestBzip2Refuses(t *testing.T) {
	text := []byte("a block of text")
	b := func(change func(b *bzBlock)) []byte {
		block := bzBlock{text: text}
		change(&block)
		return bzStream('1', 0, 0, block)
	}
	for _, c := range []struct {
		name    string
		content []byte
		want    string
	}{
		{"level 0", bzStream('0', 0, 0), "level"},
		{"level :", bzStream(':', 0, 0), "level"},
		{"another magic of the end", bzStream('1', 1, 0), "neither a block"},
		{"another sum of the stream", bzStream('1', 0, 1, bzBlock{text: text}), "checksum of the stream"},
		{"another sum of a block", b(func(b *bzBlock) { b.sum = 1 }), "checksum of a block"},
		{"an origin at the end", b(func(b *bzBlock) { b.origin = len(text) }), "15 bytes begins at byte"},
		{"an origin far away", b(func(b *bzBlock) { b.origin = 1<<24 - 1 }), "15 bytes begins at byte"},
		{"one table", b(func(b *bzBlock) { b.tables = 1 }), "1 tables and 1 selectors"},
		{"seven tables", b(func(b *bzBlock) { b.tables = 7 }), "7 tables and 1 selectors"},
		{"no selector", b(func(b *bzBlock) { b.noSelector = true }), "2 tables and 0 selectors"},
		{"a table that is not there", b(func(b *bzBlock) { b.selector = 2 }), "a selector of a table"},
		{"codes of 21 bits", b(func(b *bzBlock) { b.length = 21 }), "21 bits"},
		{"codes of 31 bits", b(func(b *bzBlock) { b.length = 31 }), "31 bits"},
		{"codes that are too short", b(func(b *bzBlock) { b.length = 2 }), "ambiguous"},
		{"a code of no symbol", b(func(b *bzBlock) { b.length = 20; b.symbol = 1<<20 - 1 }), "no code"},
		{"a block without an end", b(func(b *bzBlock) { b.text = bytes.Repeat([]byte("ab"), 200); b.endless = true }), ""},
		{"a run longer than the level", b(func(b *bzBlock) { b.longer = 100_001 }), "longer than its stream"},
		{"a run as long as can be said", b(func(b *bzBlock) { b.longer = 1 << 40 }), "longer than its stream"},
		{"no bytes", b(func(b *bzBlock) { b.noSymbols = true }), "no bytes"},
	} {
		got, err := unpacked(c.content, Bzip2, 1<<20)
		if errcode.Outermost(err) != errcode.InputDamaged || !testwords.Names(err, "/file", "bzip2", c.want) {
			t.Errorf("%s: %q, %v; want %q", c.name, got, err, c.want)
		}
		if _, err := io.ReadAll(bzip2.NewReader(bytes.NewReader(c.content))); err == nil {
			t.Errorf("%s: Go's own reader reads it", c.name)
		}
	}
}

// TestBzip2BlockBounds: a block of exactly as many bytes as the level allows is read, and one with one byte more is
// not.
func TestBzip2BlockBounds(t *testing.T) {
	for over := range 2 {
		block := bzBlock{text: []byte("b"), longer: 99_999 + over} // as links that are never followed to their end
		_, err := unpacked(bzStream('1', 0, 0, block), Bzip2, 1<<30)
		if err == nil || testwords.Names(err, "longer than its stream") != (over == 1) {
			t.Errorf("%d bytes in a block of level 1: %v", 100_000+over, err)
		}
	}
}

// TestBzip2AsTheTool: texts of about a block's length, where the tool shortens runs at the end.
func TestBzip2AsTheTool(t *testing.T) {
	r := testrand.New(t)
	for _, level := range []int{1, 2} {
		for _, size := range []int{100_000*level - 20, 100_000*level - 18, 100_000*level + 1} {
			for name, text := range map[string][]byte{"noise": randomText(r, size), "mixed": drawText(r, size), "one byte": bytes.Repeat([]byte("x"), size)} {
				content := tool(t, text, "bzip2", "-c", "-"+strconv.Itoa(level))
				if got, err := unpacked(content, Auto, 4<<20); err != nil || !bytes.Equal(got, text) {
					t.Errorf("level %d, %d bytes, %s: %d bytes, %v", level, size, name, len(got), err)
				}
			}
		}
	}
}

func randomText(r *rand.Rand, size int) []byte {
	text := make([]byte, size)
	for i := range text {
		text[i] = byte(r.Uint32())
	}
	return text
}

// libbz2 is Python's bzip2 module, which uses libbz2: it reads packed files, each after its length, and writes the
// length of each one's text and the text; 2^32-1 for a file that it refuses.
const libbz2 = `
import bz2, struct, sys
data = sys.stdin.buffer.read()
at = 0
while at < len(data):
    size, = struct.unpack_from(">I", data, at)
    packed, text = data[at + 4:at + 4 + size], b""
    at += 4 + size
    try:
        while packed:
            one = bz2.BZ2Decompressor()
            text += one.decompress(packed)
            if not one.eof:
                raise EOFError
            packed = one.unused_data
        sys.stdout.buffer.write(struct.pack(">I", len(text)) + text)
    except (OSError, EOFError):
        sys.stdout.buffer.write(struct.pack(">I", 0xffffffff))
`

// TestBzip2AsLibbz2: whatever damage a file has, this reader refuses what libbz2 refuses, and returns the same text for
// what it reads, also for randomised blocks. The only further files it refuses have invalid tables in which no code is
// used.
func TestBzip2AsLibbz2(t *testing.T) {
	r := testrand.New(t)
	var content []byte
	for _, text := range []string{"x", "a block\nof text, of text, of text", strings.Repeat("run", 2) + strings.Repeat("n", 300)} {
		content = append(content, bzStream('2', 0, 0, bzBlock{text: []byte(text), randomised: true}, bzBlock{text: []byte(text), tables: 6, comb: 9})...)
	}
	var files [][]byte
	var all []byte
	of := 8
	if testing.Short() {
		of = 2
	}
	for at := range content {
		for range of {
			damaged := bytes.Clone(content)
			switch r.IntN(6) {
			case 0:
				damaged = damaged[:at]
			case 1:
				damaged = slices.Delete(damaged, at, min(len(damaged), at+r.IntN(9)))
			case 2:
				damaged = slices.Insert(damaged, at, randomText(r, r.IntN(9))...)
			default:
				damaged[at] ^= 1 << r.IntN(8)
			}
			files = append(files, damaged)
			all = append(binary.BigEndian.AppendUint32(all, uint32(len(damaged))), damaged...)
		}
	}
	texts := tool(t, all, "python3", "-c", libbz2)
	read := 0
	for _, file := range files {
		size := binary.BigEndian.Uint32(texts)
		texts = texts[4:]
		got, err := unpacked(file, Bzip2, 1<<24)
		if size == 1<<32-1 {
			if err == nil {
				t.Fatalf("%x: %q, and libbz2 refuses it", file, got)
			}
			continue
		}
		if !errors.Is(err, errCodes) && (err != nil || !bytes.Equal(got, texts[:size])) {
			t.Fatalf("%x:\n%q, %v\nand libbz2 has %q", file, got, err, texts[:size])
		}
		texts = texts[size:]
		read++
	}
	if len(texts) > 0 || read == 0 || read == len(files) {
		t.Errorf("%d of %d damaged files are read; %d bytes are left", read, len(files), len(texts))
	}
}
