package values

// Value is what a record has in one column: bytes, of which there may be none, or null. The zero Value is null, and no
// other one is: an empty value is made of any bytes, nil too. It is a view of somebody else's bytes, as large as a slice.
type Value struct {
	bytes []byte // nil: null
}

// noBytes is what an empty value is a view of.
var noBytes = make([]byte, 0)

// ValueOf is the value with these bytes. It is never null.
func ValueOf(b []byte) Value {
	if b == nil {
		b = noBytes
	}
	return Value{b}
}

// ValuesOf makes a value of each text.
func ValuesOf(texts ...string) []Value {
	values := make([]Value, len(texts))
	for i, text := range texts {
		values[i] = ValueOf([]byte(text))
	}
	return values
}

// Null tells whether there is no value.
func (v Value) Null() bool { return v.bytes == nil }

// Bytes are the value's bytes; none where it is null, as where it is empty.
func (v Value) Bytes() []byte { return v.bytes }

// Len is how many bytes the value has.
func (v Value) Len() int { return len(v.bytes) }
