package keys

import (
	"math"
	"slices"

	"bulkload/cell"
)

// applier appends a function's result for x to dst. x may be a part of dst, before its end. problem says why the value
// can't be used, and is empty if it can.
type applier func(s *step, dst, x []byte) (out []byte, problem string)

// function is an entry of the key language's vocabulary.
type function struct {
	name       string
	usage      string
	takesValue bool // the first argument is an expression
	params     []param
	required   int // number of arguments that must be written, with the value
	apply      applier
	// shape returns the result's width and the step, given the value's width w.
	shape   func(c *call, w Width) (Width, step)
	accepts accepts // of the value
	// props returns what is known about the result, given n, which is known about the value.
	props func(c *call, n props) props
}

type paramKind int

const (
	paramNumber paramKind = iota
	paramCharacter
	paramLayout
	paramZone
)

// param is an argument after the first, always a constant.
type param struct {
	kind     paramKind
	min, max int64 // of a number
}

const maxSalts = 1_000_000

var (
	saltCount    = param{paramNumber, 1, maxSalts}
	divisor      = param{paramNumber, 1, math.MaxInt32}
	offset       = param{paramNumber, 0, cell.MaxRowLen}
	textWidth    = param{paramNumber, 1, cell.MaxRowLen}
	descBase     = param{paramNumber, 0, math.MaxInt64}
	md5Digits    = param{paramNumber, 1, 32}
	padCharacter = param{kind: paramCharacter}
	dateLayout   = param{kind: paramLayout}
	timeZone     = param{kind: paramZone}
)

// functions is the vocabulary; the tables of docs/keys.md follow it.
var functions = []*function{
	{"salt", "salt(x, n)", true, []param{saltCount}, 2, applySalt, shapeSalt, wantsText, propsSalt},
	{"md5", "md5(x) or md5(x, digits)", true, []param{md5Digits}, 1, applyMD5, shapeMD5, wantsAny, propsHash},
	{"md5_bytes", "md5_bytes(x)", true, nil, 1, applyMD5Bytes, shapeBytes(16), wantsAny, propsHashBytes},
	{"mod", "mod(x, n)", true, []param{divisor}, 2, applyMod, shapeSalt, wantsWhole, propsMod},
	{"random_salt", "random_salt(n)", false, []param{saltCount}, 1, nil, shapeSalt, wantsAny, propsSalt},
	{"long_salt", "long_salt(x, n)", true, []param{saltCount}, 2, applyLongSalt, shapeSalt, wantsWhole, propsSalt},
	{"short_salt", "short_salt(x, n)", true, []param{saltCount}, 2, applySalt, shapeShortSalt, wantsText, propsShortSalt},
	{"reverse", "reverse(x) or reverse(x, width)", true, []param{textWidth}, 1, applyReverse,
		shapeReverse, wantsText, propsReversed},
	{"rotate", "rotate(x, n)", true, []param{offset}, 2, applyRotate, shapeSame, wantsText, propsReversed},
	{"desc", "desc(x) or desc(x, base)", true, []param{descBase}, 1, applyDesc, shapeDesc, wantsWhole, propsDesc},
	{"pad", "pad(x, width) or pad(x, width, 'c')", true, []param{textWidth, padCharacter}, 2, applyPad,
		shapePad, wantsText, propsPad},
	{"substr", "substr(x, from) or substr(x, from, length)", true, []param{offset, textWidth}, 2, applySubstr,
		shapeSubstr, wantsText, propsSubstr},
	{"upper", "upper(x)", true, nil, 1, applyUpper, shapeSame, wantsText, propsUpper},
	{"lower", "lower(x)", true, nil, 1, applyLower, shapeSame, wantsText, propsLower},
	{"date", "date(x, 'layout') or date(x, 'layout', 'zone')", true, []param{dateLayout, timeZone}, 2, applyDate,
		shapeDate, wantsMoment, propsDate},
	{"millis", "millis(x) or millis(x, 'zone')", true, []param{timeZone}, 1, applyMillis, shapeClock(13),
		wantsMoment, propsClock(mostMillis)},
	{"seconds", "seconds(x) or seconds(x, 'zone')", true, []param{timeZone}, 1, applySeconds, shapeClock(10),
		wantsMoment, propsClock(mostSeconds)},
	{"int64", "int64(x)", true, nil, 1, applyInt64, shapeBytes(8), wantsWhole, propsBinary},
	{"int32", "int32(x)", true, nil, 1, applyInt32, shapeBytes(4), wantsWhole, propsBinary},
	{"unhex", "unhex(x)", true, nil, 1, applyUnhex, shapeUnhex, wantsHex, propsUnhex},
}

// arguments is the largest number of arguments that a call may have.
func (f *function) arguments() int {
	if f.takesValue {
		return len(f.params) + 1
	}
	return len(f.params)
}

func findFunction(name string) *function {
	for _, f := range functions {
		if f.name == name {
			return f
		}
	}
	return nil
}

func functionNames() []string {
	names := make([]string, len(functions))
	for i, f := range functions {
		names[i] = f.name
	}
	return names
}

func shapeBytes(n int) func(*call, Width) (Width, step) {
	return func(*call, Width) (Width, step) { return Width{n, n}, step{} }
}

// shapeSalt is the shape of every remainder: as many digits as the greatest one has.
func shapeSalt(c *call, _ Width) (Width, step) {
	n := digits(c.numbers[0] - 1)
	return Width{n, n}, step{n: c.numbers[0], width: n}
}

// shapeShortSalt is the shape of a remainder without leading zeros.
func shapeShortSalt(c *call, _ Width) (Width, step) {
	return Width{1, digits(c.numbers[0] - 1)}, step{n: c.numbers[0], width: 1}
}

func shapeMD5(c *call, _ Width) (Width, step) {
	n := 32
	if len(c.numbers) > 0 {
		n = int(c.numbers[0])
	}
	return Width{n, n}, step{width: n}
}

// countsCharacters reports whether the width of a value comes from pad, reverse or substr. These count characters, so
// text outside ASCII has more bytes. Other fixed widths are those of columns and of ASCII.
func countsCharacters(value []term) bool {
	return slices.ContainsFunc(value, func(t term) bool {
		if t.call == nil || !t.call.takesValue {
			return false
		}
		switch c := t.call; c.name {
		case "pad":
			return true
		case "reverse":
			return len(c.numbers) > 0 || countsCharacters(c.value)
		case "substr":
			return len(c.numbers) > 1 || countsCharacters(c.value)
		case "rotate", "upper", "lower":
			return countsCharacters(c.value)
		}
		return false
	})
}

// shapeSame is the shape of functions that keep the number of bytes of plain text. If a fixed width depends on that,
// the step checks each value's bytes, or its characters where these are counted.
func shapeSame(c *call, w Width) (Width, step) {
	s := step{}
	if len(c.numbers) > 0 {
		s.n = c.numbers[0]
	}
	if !w.Fixed() {
		return Width{0, -1}, s
	}
	if s.sameUnits = countsCharacters(c.value); !s.sameUnits {
		s.check = w.Max
	}
	return w, s
}

func shapeReverse(c *call, w Width) (Width, step) {
	if len(c.numbers) == 0 {
		return shapeSame(c, w)
	}
	return shapePad(c, w)
}

func shapePad(c *call, _ Width) (Width, step) {
	n := int(c.numbers[0])
	s := step{width: n, pad: '0'}
	if c.character != 0 {
		s.pad = c.character
	}
	return Width{n, n}, s
}

func shapeDesc(c *call, _ Width) (Width, step) {
	s := step{n: c.base()}
	s.width = digits(s.n)
	return Width{s.width, s.width}, s
}

// base is the number that desc subtracts from.
func (c *call) base() int64 {
	if len(c.numbers) > 0 {
		return c.numbers[0]
	}
	return math.MaxInt64
}

func shapeSubstr(c *call, w Width) (Width, step) {
	from := int(c.numbers[0])
	if len(c.numbers) > 1 {
		n := int(c.numbers[1])
		return Width{n, n}, step{n: int64(from), width: n}
	}
	if w.Fixed() && w.Max > from {
		n := w.Max - from
		s := step{n: int64(from), width: -1}
		if !countsCharacters(c.value) {
			s.check = n
		}
		return Width{n, n}, s
	}
	return Width{0, -1}, step{n: int64(from), width: -1}
}

func shapeDate(c *call, _ Width) (Width, step) {
	n := 0
	for _, p := range c.layout {
		n += p.width()
	}
	return Width{n, n}, step{layout: c.layout, zone: c.zone}
}

func shapeClock(digits int) func(*call, Width) (Width, step) {
	return func(c *call, _ Width) (Width, step) { return Width{digits, digits}, step{width: digits, zone: c.zone} }
}

// shapeUnhex: if there is a space between bytes, a value has three characters for two digits, except for the last two.
// A fixed width proves that there are spaces only if it is odd.
func shapeUnhex(_ *call, w Width) (Width, step) {
	switch {
	case w.Max < 0:
		return Width{(w.Min + 1) / 3, -1}, step{}
	case !w.Fixed():
		return Width{(w.Min + 1) / 3, w.Max / 2}, step{}
	}
	n := w.Max / 2
	if w.Max%2 != 0 {
		n = (w.Max + 1) / 3
	}
	return Width{n, n}, step{check: n}
}
