// Package values checks the values of columns with a declared type, and converts them to the bytes that Java's programs
// store for them (org.apache.hadoop.hbase.util.Bytes.toBytes).
//
// All sources yield text. A value is read in place, without a copy. Nothing here allocates for a value, except
// decimals of more than 38 digits.
package values

import (
	"fmt"
	"time"
	_ "time/tzdata" // the program must not depend on the installed time zones
)

// Type is the declared type of a column. The zero Type is that of an undeclared column: any bytes.
type Type struct {
	Kind   TypeKind
	Format string // of a date or a timestamp: one of Formats; "" is FormatClock
	Zone   string // of clocks without one, by its IANA name; "" is UTC
}

// The formats of dates and timestamps.
const (
	FormatClock   = "datetime" // 2026-11-20, 2026-11-20 01:02:03.0, 2026-11-20T01:02:03Z
	FormatMillis  = "millis"   // since 1970-01-01T00:00:00Z
	FormatSeconds = "seconds"  // likewise
)

// Formats lists the formats of dates and timestamps.
func Formats() []string { return []string{FormatClock, FormatMillis, FormatSeconds} }

// ColumnParser reads the values of one column. Only one goroutine may use it, since it caches the time zone's offset.
type ColumnParser struct {
	kind   TypeKind
	format string
	zone   zoneClocks
}

// NewReader makes a ColumnParser for values of a type. It fails if the type's zone is unknown.
func NewReader(t Type) (*ColumnParser, error) {
	r := &ColumnParser{kind: t.Kind, format: t.Format}
	var err error
	r.zone.location, err = t.Location()
	return r, err
}

// Location is the type's zone, nil for UTC. It fails if the zone is unknown.
func (t Type) Location() (*time.Location, error) { return Location(t.Zone) }

// Location is the zone with an IANA name; nil for UTC and for "". It fails if the zone is unknown.
func Location(zone string) (*time.Location, error) {
	if zone == "" || zone == "UTC" {
		return nil, nil
	}
	location, err := time.LoadLocation(zone)
	if err != nil || zone == "Local" {
		return nil, fmt.Errorf("%q is not a time zone; write a name such as Asia/Shanghai, or UTC", zone)
	}
	return location, nil
}

// Unit is the unit of a number since 1970; 0 for a clock.
func (t Type) Unit() time.Duration {
	switch t.Format {
	case FormatMillis:
		return time.Millisecond
	case FormatSeconds:
		return time.Second
	}
	return 0
}

// Check says what is wrong with a value without showing the value; "" if it is of the type.
func (r *ColumnParser) Check(x []byte) (problem string) {
	switch r.kind {
	case KindInt16, KindInt32, KindInt64:
		_, problem = parseWhole(x, r.kind)
	case KindDecimal:
		_, problem = parseDecimal(x)
	case KindFloat32:
		_, problem = parseFloat(x, 32)
	case KindFloat64:
		_, problem = parseFloat(x, 64)
	case KindBoolean:
		_, problem = ParseBoolean(x)
	case KindDate, KindTimestamp:
		_, problem = r.Moment(x)
	case KindHex:
		problem = checkHex(x)
	}
	return problem
}

// AppendBinary appends a value as Bytes.toBytes of its Java type encodes it: the big-endian bytes of short, int,
// long, float and double; -1 or 0 for a boolean; the scale (4 bytes) and the unscaled value of a BigDecimal; a date
// or timestamp as the long of its epoch milliseconds; text and bytes as they are; hex text as its bytes.
func (r *ColumnParser) AppendBinary(dst, x []byte) (out []byte, problem string) {
	switch r.kind {
	case KindInt16, KindInt32, KindInt64:
		return appendWhole(dst, x, r.kind)
	case KindDecimal:
		return appendDecimal(dst, x)
	case KindFloat32:
		return appendFloat32(dst, x)
	case KindFloat64:
		return appendFloat64(dst, x)
	case KindBoolean:
		return appendBoolean(dst, x)
	case KindDate, KindTimestamp:
		return r.appendMoment(dst, x)
	case KindHex:
		return AppendHex(dst, x)
	}
	return append(dst, x...), ""
}

// Checked reports whether the type refuses some values.
func (t Type) Checked() bool {
	return t.Kind != KindUnknown && t.Kind != KindText && t.Kind != KindBytes
}
