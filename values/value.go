package values

// Value is a record's value in one column: bytes, possibly empty, or null. Only the zero Value is null; ValueOf makes
// an empty value even from nil. It is a view of the caller's bytes, as large as a slice.
type Value struct {
	bytes []byte // nil: null
}

// noBytes backs empty values.
var noBytes = make([]byte, 0)

// ValueOf returns the value with these bytes. It is never null.
func ValueOf(b []byte) Value {
	if b == nil {
		b = noBytes
	}
	return Value{b}
}

// Null reports whether the value is null.
func (v Value) Null() bool { return v.bytes == nil }

// Bytes returns the value's bytes; empty if it is null or empty.
func (v Value) Bytes() []byte { return v.bytes }

// Len is the number of bytes of the value.
func (v Value) Len() int { return len(v.bytes) }
