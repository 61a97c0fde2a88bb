package compressed

import "errors"

const (
	maxCode  = 20 // bits of the longest code of a bzip2 table
	fastCode = 10 // bits of the longest code that is looked up at once
)

// huffman is a table of canonical codes: codes of one length are consecutive numbers, in the order of their symbols.
type huffman struct {
	// by the next bits: the symbol, and below it four bits with its code's length; 0 for a longer one
	fast   [1 << fastCode]uint16
	first  [maxCode + 2]int // code of each length
	count  [maxCode + 2]int // number of codes of each length
	offset [maxCode + 2]int // of each length's first symbol in sorted
	sorted [258]uint16
}

var errCodes = errors.New("a table of ambiguous codes")

// build makes the table for codes of the given lengths.
func (h *huffman) build(lengths []byte) error {
	h.count = [maxCode + 2]int{}
	for _, l := range lengths {
		h.count[l]++
	}
	code, offset := 0, 0
	for l := 1; l <= maxCode; l++ {
		h.first[l], h.offset[l] = code, offset
		code, offset = (code+h.count[l])<<1, offset+h.count[l]
		if code > 1<<(l+1) {
			return errCodes
		}
	}
	next := h.offset
	clear(h.fast[:])
	for symbol, length := range lengths {
		l := int(length)
		place := next[l]
		next[l]++
		h.sorted[place] = uint16(symbol)
		if l <= fastCode {
			from := (h.first[l] + place - h.offset[l]) << (fastCode - l)
			for i := range 1 << (fastCode - l) {
				h.fast[from+i] = uint16(symbol<<4 | l)
			}
		}
	}
	return nil
}

// read consumes a code and returns its symbol.
func (h *huffman) read(in *bitReader) (int, error) {
	in.fill(maxCode)
	if found := h.fast[in.kept>>(in.n-fastCode)&(1<<fastCode-1)]; found != 0 {
		in.bits(int(found & 15))
		return int(found >> 4), in.err
	}
	for l := fastCode + 1; l <= maxCode; l++ {
		code := int(in.kept >> (in.n - l) & (1<<l - 1))
		if place := code - h.first[l]; place < h.count[l] && place >= 0 {
			in.bits(l)
			return int(h.sorted[h.offset[l]+place]), in.err
		}
	}
	if in.bits(maxCode); in.err != nil {
		return 0, in.err
	}
	return 0, errors.New("bits that are no code")
}
