package charset

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/binary"
	"fmt"
	"io"
	"sort"
	"unicode/utf8"
)

// none marks a code that is not a character. No code of one or two bytes means U+FFFD itself.
const none = 0xfffd

// table maps each code to its character.
type table struct {
	single [256]uint16
	row    [256]uint8 // of a lead byte: 1 + its place in rows; 0 if it is not a lead byte
	rows   [][256]uint16
	four   []fourByteRange // GB18030's codes of four bytes below U+10000, in order; nil: the charset has none
	trail  [256]bool
}

// fourByteRange is a run of GB18030's four-byte codes for a run of characters.
type fourByteRange struct {
	number uint32 // of the first code, as fourByteNumber counts
	first  uint16
	length uint16
}

//go:embed tables/*.gz
var tableFiles embed.FS

// readTable reads a table written by testdata/Tables.java.
func readTable(name string) (*table, error) {
	file, err := tableFiles.ReadFile("tables/" + name + ".gz")
	if err != nil {
		return nil, err
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		return nil, fmt.Errorf("unpack the table of %s: %w", name, err)
	}
	content, err := io.ReadAll(unpacked)
	if err != nil {
		return nil, fmt.Errorf("unpack the table of %s: %w", name, err)
	}
	t := new(table)
	if err := t.parse(bytes.NewReader(content)); err != nil {
		return nil, fmt.Errorf("read the table of %s: %w", name, err)
	}
	return t, nil
}

func (t *table) parse(in *bytes.Reader) error {
	var leads uint16
	if err := read(in, &t.single, &leads); err != nil {
		return err
	}
	for range leads {
		var lead uint8
		var row [256]uint16
		if err := read(in, &lead, &row); err != nil {
			return err
		}
		t.rows = append(t.rows, row)
		t.row[lead] = uint8(len(t.rows))
		for b, r := range row {
			t.trail[b] = t.trail[b] || r != none
		}
	}
	if in.Len() == 0 {
		return nil
	}
	return t.parseRanges(in)
}

func (t *table) parseRanges(in *bytes.Reader) error {
	var n uint16
	if err := read(in, &n); err != nil {
		return err
	}
	for range n {
		var r fourByteRange
		if err := read(in, &r.number, &r.first, &r.length); err != nil {
			return err
		}
		t.four = append(t.four, r)
	}
	for b := byte('0'); b <= '9'; b++ {
		t.trail[b] = true
	}
	return nil
}

func read(in *bytes.Reader, values ...any) error {
	for _, v := range values {
		if err := binary.Read(in, binary.BigEndian, v); err != nil {
			return err
		}
	}
	return nil
}

// append decodes text onto dst, up to the first bytes that are not a character.
func (t *table) append(dst, text []byte) (out []byte, valid int) {
	for valid < len(text) {
		if text[valid] < utf8.RuneSelf {
			n := asciiLength(text[valid:])
			dst = append(dst, text[valid:valid+n]...)
			valid += n
			continue
		}
		r, n := t.decode(text[valid:])
		if n == 0 {
			break
		}
		if r >= 0x800 && r <= 0xffff { // most non-ASCII characters; no row holds a surrogate
			dst = append(dst, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
		} else {
			dst = utf8.AppendRune(dst, r)
		}
		valid += n
	}
	return dst, valid
}

// decode reads the first character of text, which must not be empty; the length is 0 if there is no valid character.
func (t *table) decode(text []byte) (r rune, length int) {
	b := text[0]
	if r := t.single[b]; r != none {
		return rune(r), 1
	}
	row := t.row[b]
	if len(text) < 2 {
		return 0, 0
	}
	if row != 0 {
		if r := t.rows[row-1][text[1]]; r != none {
			return rune(r), 2
		}
	}
	if t.four != nil && len(text) >= 4 {
		return t.decodeFour(text)
	}
	return 0, 0
}

// GB18030 writes the characters from U+10000 to U+10FFFF as the codes from 90 30 81 30 on, in order.
const (
	beyondBMP     = (0x90 - 0x81) * 10 * 126 * 10
	charactersOut = 0x110000 - 0x10000
)

func (t *table) decodeFour(text []byte) (r rune, length int) {
	n, ok := fourByteNumber(text)
	if !ok {
		return 0, 0
	}
	if n >= beyondBMP {
		if n-beyondBMP >= charactersOut {
			return 0, 0
		}
		return rune(0x10000 + n - beyondBMP), 4
	}
	i := sort.Search(len(t.four), func(i int) bool { return t.four[i].number > n }) - 1
	if i < 0 || n-t.four[i].number >= uint32(t.four[i].length) {
		return 0, 0
	}
	return rune(uint32(t.four[i].first) + n - t.four[i].number), 4
}

// fourByteNumber counts GB18030's four-byte codes from 81 30 81 30 on.
func fourByteNumber(text []byte) (n uint32, ok bool) {
	a, b, c, d := text[0]-0x81, text[1]-'0', text[2]-0x81, text[3]-'0'
	if a > 0xfe-0x81 || b > 9 || c > 0xfe-0x81 || d > 9 {
		return 0, false
	}
	return ((uint32(a)*10+uint32(b))*126+uint32(c))*10 + uint32(d), true
}
