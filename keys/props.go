package keys

import (
	"time"

	"bulkload/values"
)

// content is what a value's text consists of, as far as that is known without a record.
type content int

const (
	contentUnknown content = iota // decided for each record
	contentText
	contentDigits // a whole number that is not negative
	contentWhole  // a whole number
	contentNumber // a number that may have a fraction
	contentFloat  // a number as a double prints it
	contentBoolean
	contentMoment
	contentBytes
	contentHex
)

var contentOf = map[values.TypeKind]content{
	values.KindText: contentText, values.KindInt16: contentWhole, values.KindInt32: contentWhole,
	values.KindInt64: contentWhole, values.KindDecimal: contentNumber,
	values.KindFloat32: contentFloat, values.KindFloat64: contentFloat, values.KindBoolean: contentBoolean,
	values.KindDate:      contentMoment,
	values.KindTimestamp: contentMoment, values.KindBytes: contentBytes, values.KindHex: contentHex,
}

var contentNames = [...]string{
	contentText: "text", contentDigits: "digits", contentWhole: "whole numbers", contentNumber: "decimal numbers",
	contentFloat: "floating-point numbers", contentBoolean: "true or false", contentMoment: "dates", contentBytes: "bytes",
	contentHex: "hex text",
}

// numeric reports whether the values sort by size once they are padded.
func (c content) numeric() bool { return c >= contentDigits && c <= contentNumber }

// props are the properties of a value that follow from the expression and the declared columns.
type props struct {
	content content
	most    int64 // the greatest number that it can be; 0: unknown
	order   Order
	moment  bool
	cycle   time.Duration
	spread  distribution
}

// propsOfColumn is the properties of a column's own value.
func propsOfColumn(c KeyColumn) props {
	n := props{content: contentOf[c.Kind], most: greatest[c.Kind]}
	n.moment = n.content == contentMoment
	if n.moment && c.Unit != 0 {
		n.content, n.most = contentWhole, mostSeconds
		if c.Unit == time.Millisecond {
			n.most = mostMillis
		}
	}
	if n.moment || n.content.numeric() {
		n.order = Ascending
	}
	return n
}

// The greatest times that are written with 13 and with 10 digits.
const (
	mostMillis  = 9_999_999_999_999
	mostSeconds = 9_999_999_999
)

// propsOfLiteral knows nothing of a constant: whether a function has a result for it is decided when it is parsed.
func propsOfLiteral() props { return props{} }

// propsOfSum is the properties of several concatenated terms, as the argument of a function.
func propsOfSum(all []props) props {
	if len(all) == 1 {
		return all[0]
	}
	sum := props{content: all[0].content, order: all[0].order, moment: all[0].moment, cycle: all[0].cycle}
	for _, n := range all[1:] {
		if n.content != sum.content {
			sum.content = contentUnknown
		}
	}
	if sum.content != contentDigits && sum.content != contentText && sum.content != contentBytes &&
		sum.content != contentHex {
		sum.content = contentUnknown
	}
	return sum
}

// These functions return the properties of a function's result, given n, those of its argument.

func propsHash(c *call, _ props) props {
	digits := 32
	if len(c.numbers) > 0 {
		digits = int(c.numbers[0])
	}
	return props{content: contentHex, spread: distribution{alphabet: hexDigits, width: digits}}
}

func propsHashBytes(*call, props) props {
	return props{content: contentBytes, spread: distribution{alphabet: allBytes, width: 16}}
}

// propsSalt is the properties of salts. Each of their values must begin a region.
func propsSalt(c *call, n props) props {
	n = propsMod(c, n)
	n.spread.salt = true
	return n
}

// propsShortSalt is the properties of salts without leading zeros. Salts of different widths interleave: rows of salt 1
// are before and after those of salt 10. So a salt has no region of its own, and its number can't be sorted by.
func propsShortSalt(c *call, n props) props {
	if c.numbers[0] <= 10 {
		return propsSalt(c, n)
	}
	return props{content: contentText}
}

func propsMod(c *call, _ props) props {
	n := c.numbers[0]
	return props{content: contentDigits, most: n - 1,
		spread: distribution{alphabet: decimals, width: digits(n - 1), count: n}}
}

// propsReversed is the properties of functions that bring the last characters to the front: low digits are evenly
// distributed, and a hash stays one.
func propsReversed(c *call, n props) props {
	out := props{content: n.content, spread: n.spread}
	if n.content.numeric() && n.content != contentDigits {
		out.content = contentUnknown // because the minus then follows the number
	}
	switch {
	case n.spread.count > 0:
		out.spread = distribution{} // a few numbers do not have every digit
	case n.content.numeric():
		out.spread = distribution{alphabet: decimals, width: lowDigits}
		if c.name == "rotate" {
			out.spread.width = min(lowDigits, int(c.numbers[0]))
		}
	}
	return out
}

// lowDigits is how many of the last digits are assumed to be evenly distributed.
const lowDigits = 4

func propsDesc(c *call, n props) props {
	out := props{content: contentDigits, most: c.base(), order: Descending, moment: n.moment}
	if n.order == Descending {
		out.order = Ascending
	}
	return out
}

func propsPad(c *call, n props) props {
	out := props{content: n.content, most: n.most, order: n.order, moment: n.moment, cycle: n.cycle}
	if c.character != 0 && c.character != '0' {
		out.content = contentText
	}
	return out
}

func propsSubstr(c *call, n props) props {
	out := props{content: n.content, order: n.order, moment: n.moment, cycle: n.cycle, spread: n.spread}
	if n.content != contentDigits && n.content != contentHex {
		out.content = contentUnknown
	}
	if c.numbers[0] > 0 {
		out.order = Unordered
	}
	if out.spread.count > 0 || out.spread.width <= int(c.numbers[0]) {
		out.spread = distribution{}
		return out
	}
	out.spread.width -= int(c.numbers[0])
	if len(c.numbers) > 1 {
		out.spread.width = min(out.spread.width, int(c.numbers[1]))
	}
	return out
}

func propsUpper(_ *call, n props) props {
	n.spread = n.spread.ofHash()
	if n.spread.alphabet == hexDigits {
		n.spread.alphabet = upperHexDigits
	}
	return n
}

func propsLower(_ *call, n props) props {
	n.spread = n.spread.ofHash()
	if n.spread.alphabet == upperHexDigits {
		n.spread.alphabet = hexDigits
	}
	return n
}

// propsDate: a date ascends with time if its greatest field comes first; without a year it repeats.
func propsDate(c *call, _ props) props {
	out := props{content: contentDigits, moment: true, cycle: cycleOf(c.layout)}
	for _, p := range c.layout {
		if p.field == fieldLiteral {
			out.content = contentText
		}
	}
	if greatestFirst(c.layout) {
		out.order = Ascending
	}
	return out
}

func propsClock(most int64) func(*call, props) props {
	return func(*call, props) props {
		return props{content: contentDigits, most: most, order: Ascending, moment: true}
	}
}

func propsBinary(_ *call, n props) props {
	return props{content: contentBytes, order: n.order, moment: n.moment}
}

func propsUnhex(_ *call, n props) props {
	out := props{content: contentBytes, order: n.order, moment: n.moment}
	if s := n.spread; s.alphabet == hexDigits || s.alphabet == upperHexDigits {
		out.spread = distribution{alphabet: allBytes, width: s.width / 2}
	}
	return out
}
