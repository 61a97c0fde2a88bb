package values

import "slices"

// TypeKind is the type of a column's values, as declared in the job file.
type TypeKind int

// The kinds of columns. KindUnknown is a column that the job file does not declare: its values are text, and each is
// parsed when another type is needed.
const (
	KindUnknown TypeKind = iota
	KindText
	KindInt16     // a whole number in the range of Java's short
	KindInt32     // int
	KindInt64     // long
	KindDecimal   // a decimal number of any length: BigDecimal
	KindFloat32   // float
	KindFloat64   // double
	KindBoolean   // true or false
	KindDate      // a day
	KindTimestamp // a point in time, or a date with a time of day
	KindBytes     // bytes that are not text
	KindHex       // hex text for bytes
)

var kindNames = []string{"unknown", "text", "int16", "int32", "int64", "decimal", "float32",
	"float64", "boolean", "date",
	"timestamp", "bytes", "hex"}

// ParseKind returns the kind with a job file's name; false if no kind has it.
func ParseKind(name string) (TypeKind, bool) {
	i := slices.Index(kindNames, name)
	return TypeKind(i), i > 0
}

// KindNames lists the kinds that a job file may name.
func KindNames() []string { return slices.Clone(kindNames[1:]) }

func (k TypeKind) String() string { return kindNames[k] }

// Whole reports whether the values are whole numbers of a fixed size.
func (k TypeKind) Whole() bool { return k == KindInt16 || k == KindInt32 || k == KindInt64 }

// Number reports whether the values are numbers.
func (k TypeKind) Number() bool { return k >= KindInt16 && k <= KindFloat64 }

// Moment reports whether the values are dates or timestamps.
func (k TypeKind) Moment() bool { return k == KindDate || k == KindTimestamp }

// Holds reports whether n is in the range of a kind of whole numbers.
func (k TypeKind) Holds(n int64) bool {
	switch k {
	case KindInt16:
		return n == int64(int16(n))
	case KindInt32:
		return n == int64(int32(n))
	}
	return true
}
