package keys

import "errors"

// Column is an input column as the key language sees it.
type Column struct {
	Name  string
	Width int // declared fixed width in bytes; 0 when not declared
}

// Expr is a compiled row-key expression. It is immutable and safe for concurrent use.
type Expr struct{}

// Width says how many bytes a key, or a part of one, takes.
type Width struct {
	Min int
	Max int // -1: unbounded
}

// Fixed tells whether every key has the same number of bytes.
func (w Width) Fixed() bool { return w.Min == w.Max }

var errSkeleton = errors.New("not built yet")

// Parse compiles a row-key expression over the given columns. Its errors name the position in text.
func Parse(text string, columns []Column) (*Expr, error) { return nil, errSkeleton }

// Append appends the row key of one record to dst. fields are the record's columns in the order given to Parse;
// nil is a null, which is an error in a column that the key uses. The error is a *ValueError. It allocates nothing
// where dst has room.
func (e *Expr) Append(dst []byte, fields [][]byte) ([]byte, error) { return nil, errSkeleton }

// Width is the width of the keys.
func (e *Expr) Width() Width { return Width{} }

// Salts lists every value of the salt that begins the key, in order; nil where the key does not begin with one.
func (e *Expr) Salts() [][]byte { return nil }

// Columns lists the indexes of the columns that the key uses, in order of first use.
func (e *Expr) Columns() []int { return nil }

// Prefix is the expression of the longest leading part that the query columns determine; its Append takes the same
// fields, of which only the query columns need be set. An error when not even the first part is determined.
func (e *Expr) Prefix(query []string) (*Expr, error) { return nil, errSkeleton }

// String is the expression as it was written.
func (e *Expr) String() string { return "" }

// ValueError says that one record's value cannot be used in a key: a null, a text where a number is wanted, a value
// that is too wide.
type ValueError struct {
	Column int    // index of the column at fault; -1 where it is the whole key
	Reason string // what is wrong, without the value
}

func (e *ValueError) Error() string { return e.Reason }
