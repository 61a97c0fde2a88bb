package keys

import (
	"fmt"
	"strings"
)

// distribution is how the values of a part are distributed: evenly over the texts of width characters of an alphabet,
// or over the first count of them. The zero value: unknown.
type distribution struct {
	alphabet string // ascending
	width    int    // leading characters that are evenly distributed
	count    int64  // 0: every text of that width
	salt     bool   // each value must begin a region
}

const (
	decimals       = "0123456789"
	upperHexDigits = "0123456789ABCDEF"
)

var allBytes = func() string {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return string(b)
}()

// ofHash is the distribution, or unknown for that of a salt or a remainder, of which only its own digits are known.
func (s distribution) ofHash() distribution {
	if s.count > 0 {
		return distribution{}
	}
	return s
}

func (s *distribution) known() bool { return s.width > 0 }

// MaxSplits is the largest number of boundaries that Splits returns.
const MaxSplits = 1 << 16

// Splits proposes the boundaries of a table of n regions from the expression alone. They are the values of a salt, or
// even steps of a hash, a remainder or low digits, after the literals before them. They ascend. There are n−1
// boundaries; fewer if the key's leading parts have fewer values, and more if there is a salt, because each of its
// values must begin a region. The error says why the leading part has no boundaries; quantiles of the keys themselves
// can be used then.
func (e *Expr) Splits(n int) ([][]byte, error) {
	if n < 1 || n > MaxSplits {
		return nil, fmt.Errorf("%d regions are asked for; 1 to %d can be suggested", n, MaxSplits)
	}
	front, parts := e.front()
	if len(parts) == 0 || !parts[0].props.spread.known() {
		return nil, e.notEven(parts)
	}
	if s := parts[0].props.spread; s.salt && s.count > MaxSplits {
		return nil, fmt.Errorf("%s has %d values, and each must begin a region; %d are possible",
			e.textOf(&parts[0]), s.count, MaxSplits)
	}
	return splitsOf(parts, front, n), nil
}

func (e *Expr) notEven(parts []part) error {
	if len(parts) == 0 {
		return fmt.Errorf("the row key is the same in every record")
	}
	return fmt.Errorf("how the values of %s lie is known from the data only: take quantiles of a sample's keys",
		e.textOf(&parts[0]))
}

// splitsOf are the boundaries of n regions of the keys that begin with front, without front itself.
func splitsOf(parts []part, front []byte, n int) [][]byte {
	if len(parts) == 0 || n == 1 && !parts[0].props.spread.salt {
		return nil
	}
	s := &parts[0].props.spread
	width, values := s.leading(int64(n))
	if !s.salt && int64(n) <= values {
		return s.steps(front, width, values, int64(n))
	}
	within := int((int64(n) + values - 1) / values)
	fits := width == parts[0].width.Max // otherwise more of this part is between them
	var out [][]byte
	for i := range values {
		value := s.text(front, width, i)
		if i > 0 {
			out = append(out, value)
		}
		if within > 1 && fits && len(parts) > 1 && parts[1].props.spread.even() {
			out = append(out, splitsOf(parts[1:], value, within)...)
		}
	}
	return out
}

// even reports whether a part can divide a range.
func (s *distribution) even() bool { return s.known() && !s.salt }

// leading is how many leading characters to use for n regions, and how many values these have. It takes enough that no
// region is larger than another by more than a 64th, if there are that many.
func (s *distribution) leading(n int64) (width int, values int64) {
	if s.count > 0 {
		return s.width, s.count
	}
	base := int64(len(s.alphabet))
	values = 1
	for width < s.width && (values < 64*n && (width == 0 || values%n != 0)) {
		values *= base
		width++
	}
	return width, values
}

func (s *distribution) steps(front []byte, width int, values, n int64) [][]byte {
	var out [][]byte
	for i := int64(1); i < n; i++ {
		out = append(out, s.text(front, width, i*values/n))
	}
	return out
}

// text is front and the i-th text of width characters.
func (s *distribution) text(front []byte, width int, i int64) []byte {
	base := int64(len(s.alphabet))
	out := append(make([]byte, 0, len(front)+width), front...)
	out = append(out, strings.Repeat(s.alphabet[:1], width)...)
	for at := len(out) - 1; i > 0; at-- {
		out[at] = s.alphabet[i%base]
		i /= base
	}
	return out
}
