package keys

import (
	"time"

	"bulkload/values"
)

// content is what the text of a value is made of, as far as it is known before there is a record.
type content int

const (
	contentUnknown content = iota // looked at a record at a time
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

var contentOf = map[values.Kind]content{
	values.KindText: contentText, values.KindInt16: contentWhole, values.KindInt32: contentWhole, values.KindInt64: contentWhole, values.KindDecimal: contentNumber,
	values.KindFloat32: contentFloat, values.KindFloat64: contentFloat, values.KindBoolean: contentBoolean, values.KindDate: contentMoment,
	values.KindTimestamp: contentMoment, values.KindBytes: contentBytes, values.KindHex: contentHex,
}

var contentNames = [...]string{
	contentText: "text", contentDigits: "digits", contentWhole: "whole numbers", contentNumber: "decimal numbers",
	contentFloat: "floating-point numbers", contentBoolean: "true or false", contentMoment: "dates", contentBytes: "bytes",
	contentHex: "hex text",
}

// numeric tells whether the values sort by size when they are padded.
func (c content) numeric() bool { return c >= contentDigits && c <= contentNumber }

// nature is what the expression and the declared columns tell of a value.
type nature struct {
	content content
	most    int64 // the greatest number that it can be, where that is known; 0: unknown
	order   Order
	moment  bool
	cycle   time.Duration
	spread  spread
}

// natureOfColumn is that of a column as it stands.
func natureOfColumn(c Column) nature {
	n := nature{content: contentOf[c.Kind], most: greatest[c.Kind]}
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

// The greatest moments that are written with 13 and with 10 digits.
const (
	mostMillis  = 9_999_999_999_999
	mostSeconds = 9_999_999_999
)

// natureOfLiteral leaves open what a constant is: what a function can't make of it is found when it is parsed.
func natureOfLiteral() nature { return nature{} }

// natureOfSum is that of several terms one behind the other, as the argument of a function.
func natureOfSum(all []nature) nature {
	if len(all) == 1 {
		return all[0]
	}
	sum := nature{content: all[0].content, order: all[0].order, moment: all[0].moment, cycle: all[0].cycle}
	for _, n := range all[1:] {
		if n.content != sum.content {
			sum.content = contentUnknown
		}
	}
	if sum.content != contentDigits && sum.content != contentText && sum.content != contentBytes && sum.content != contentHex {
		sum.content = contentUnknown
	}
	return sum
}

// The natures of the functions' results, of n of the argument.

func natureHash(c *call, _ nature) nature {
	digits := 32
	if len(c.numbers) > 0 {
		digits = int(c.numbers[0])
	}
	return nature{content: contentHex, spread: spread{alphabet: hexDigits, width: digits}}
}

func natureHashBytes(*call, nature) nature {
	return nature{content: contentBytes, spread: spread{alphabet: allBytes, width: 16}}
}

// natureSalt is that of the salts, whose every value must begin a region.
func natureSalt(c *call, n nature) nature {
	n = natureMod(c, n)
	n.spread.salt = true
	return n
}

func natureMod(c *call, _ nature) nature {
	n := c.numbers[0]
	return nature{content: contentDigits, most: n - 1, spread: spread{alphabet: decimals, width: digits(n - 1), count: n}}
}

// natureTurned is that of what brings the last characters to the front: low digits are spread evenly, and a hash stays
// one.
func natureTurned(c *call, n nature) nature {
	out := nature{content: n.content, spread: n.spread}
	if n.content.numeric() && n.content != contentDigits {
		out.content = contentUnknown // the minus comes to stand behind the number
	}
	switch {
	case n.spread.count > 0:
		out.spread = spread{} // of a few numbers not every digit comes
	case n.content.numeric():
		out.spread = spread{alphabet: decimals, width: lowDigits}
		if c.name == "rotate" {
			out.spread.width = min(lowDigits, int(c.numbers[0]))
		}
	}
	return out
}

// lowDigits is how many of the last digits are taken to be spread evenly: the higher ones are few.
const lowDigits = 4

func natureDesc(c *call, n nature) nature {
	out := nature{content: contentDigits, most: c.base(), order: Descending, moment: n.moment}
	if n.order == Descending {
		out.order = Ascending
	}
	return out
}

func naturePad(c *call, n nature) nature {
	out := nature{content: n.content, most: n.most, order: n.order, moment: n.moment, cycle: n.cycle}
	if c.character != 0 && c.character != '0' {
		out.content = contentText
	}
	return out
}

func natureSubstr(c *call, n nature) nature {
	out := nature{content: n.content, order: n.order, moment: n.moment, cycle: n.cycle, spread: n.spread}
	if n.content != contentDigits && n.content != contentHex {
		out.content = contentUnknown
	}
	if c.numbers[0] > 0 {
		out.order = Unordered
	}
	if out.spread.count > 0 || out.spread.width <= int(c.numbers[0]) {
		out.spread = spread{}
		return out
	}
	out.spread.width -= int(c.numbers[0])
	if len(c.numbers) > 1 {
		out.spread.width = min(out.spread.width, int(c.numbers[1]))
	}
	return out
}

func natureUpper(_ *call, n nature) nature {
	n.spread = n.spread.ofHash()
	if n.spread.alphabet == hexDigits {
		n.spread.alphabet = upperHexDigits
	}
	return n
}

func natureLower(_ *call, n nature) nature {
	n.spread = n.spread.ofHash()
	if n.spread.alphabet == upperHexDigits {
		n.spread.alphabet = hexDigits
	}
	return n
}

// natureDate: a date goes up with time where its greatest field stands in front; without its year it comes again.
func natureDate(c *call, _ nature) nature {
	out := nature{content: contentDigits, moment: true, cycle: cycleOf(c.layout)}
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

func natureClock(most int64) func(*call, nature) nature {
	return func(*call, nature) nature {
		return nature{content: contentDigits, most: most, order: Ascending, moment: true}
	}
}

func natureBinary(_ *call, n nature) nature {
	return nature{content: contentBytes, order: n.order, moment: n.moment}
}

func natureUnhex(_ *call, n nature) nature {
	out := nature{content: contentBytes, order: n.order, moment: n.moment}
	if s := n.spread; s.alphabet == hexDigits || s.alphabet == upperHexDigits {
		out.spread = spread{alphabet: allBytes, width: s.width / 2}
	}
	return out
}
