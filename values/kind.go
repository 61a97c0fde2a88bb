package values

import "slices"

// Kind is what the values of a column are, as the job file declares it.
type Kind int

// The kinds of columns. KindUnknown is that of a column that the job file declares nothing of: its values are text, and
// each is looked at where something else is wanted.
const (
	KindUnknown Kind = iota
	KindText
	KindInt16     // a whole number that Java's short holds
	KindInt32     // int
	KindInt64     // long
	KindDecimal   // a decimal number of any length: BigDecimal
	KindFloat32   // float
	KindFloat64   // double
	KindBoolean   // true or false
	KindDate      // a day
	KindTimestamp // a moment, or a date with a time of day
	KindBytes     // bytes that are no text
	KindHex       // hex text that stands for bytes
)

var kindNames = []string{"unknown", "text", "int16", "int32", "int64", "decimal", "float32", "float64", "boolean", "date",
	"timestamp", "bytes", "hex"}

// ParseKind is the kind that a job file names; false where there is none of that name.
func ParseKind(name string) (Kind, bool) {
	i := slices.Index(kindNames, name)
	return Kind(i), i > 0
}

// KindNames lists the kinds that a job file may name.
func KindNames() []string { return slices.Clone(kindNames[1:]) }

func (k Kind) String() string { return kindNames[k] }

// Whole tells whether the values are whole numbers of a fixed size.
func (k Kind) Whole() bool { return k == KindInt16 || k == KindInt32 || k == KindInt64 }

// Number tells whether the values are numbers.
func (k Kind) Number() bool { return k >= KindInt16 && k <= KindFloat64 }

// Moment tells whether the values are dates or moments.
func (k Kind) Moment() bool { return k == KindDate || k == KindTimestamp }

// Holds tells whether a whole number of the kind can be n.
func (k Kind) Holds(n int64) bool {
	switch k {
	case KindInt16:
		return n == int64(int16(n))
	case KindInt32:
		return n == int64(int32(n))
	}
	return true
}
