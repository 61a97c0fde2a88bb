package parquet

import (
	"fmt"
	"slices"

	"bulkload/internal/errcode"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/schema"
)

// logicalKind is the meaning of a column's values.
type logicalKind int

const (
	boolean logicalKind = iota
	signed
	unsigned
	float32Shape
	float64Shape
	float16Shape
	decimal
	date
	timeOfDay
	timestamp // of the clocks in no zone
	instant   // a point in time, shown as a zone's clocks do
	instant96 // likewise, as INT96
	text
	binaryBytes
	binaryHex
	uuid
)

var shapeNames = [...]string{"BOOLEAN", "INTEGER", "unsigned INTEGER", "FLOAT", "DOUBLE",
	"FLOAT16", "DECIMAL", "DATE", "TIME",
	"local TIMESTAMP", "UTC TIMESTAMP", "INT96 timestamp", "STRING", "BINARY", "BINARY", "UUID"}

// kind is a column's type, as far as it determines how values are shown.
type kind struct {
	shape  logicalKind
	scale  int   // of a decimal
	unit   int64 // of times: units a second
	single bool  // 32 bits
	null   bool  // UNKNOWN: no row has a value, so nothing shows what the type was
}

// String is the type in words. If columns of two files have types of the same name, they are shown in the same way.
func (k kind) String() string {
	if k.null {
		return "UNKNOWN (always null)"
	}
	name := shapeNames[k.shape]
	switch k.shape {
	case decimal:
		return fmt.Sprintf("%s of scale %d", name, k.scale)
	case timeOfDay, timestamp, instant:
		return name + map[int64]string{1e3: " in milliseconds", 1e6: " in microseconds", 1e9: " in nanoseconds"}[k.unit]
	}
	return name
}

// kindOf reads a column's type: its logical type, or an old file's converted type, which v15 returns as a logical one.
func (f *FlatForm) kindOf(name string, c *schema.Column) (kind, error) {
	k, err := f.annotated(c)
	if err != nil {
		return k, err
	}
	if slices.Contains(f.Millis, name) && !k.null {
		if c.PhysicalType() != parquet.Types.Int64 || k.shape != signed {
			return k, refusef(errcode.ParquetUnsupported,
				"is %s; only INT64 can hold the milliseconds that millis_columns says", k)
		}
		return kind{shape: instant, unit: 1e3}, nil
	}
	return k, nil
}

func (f *FlatForm) annotated(c *schema.Column) (kind, error) {
	if c.ConvertedType() == schema.ConvertedTypes.Interval {
		return kind{}, refusef(errcode.ParquetUnsupported, "INTERVAL can't be read; export it as a number or text")
	}
	single := c.PhysicalType() == parquet.Types.Int32
	switch t := c.LogicalType().(type) {
	case *schema.DecimalLogicalType:
		return kind{shape: decimal, scale: int(t.Scale())}, checkScale(t)
	case *schema.IntLogicalType:
		if !t.IsSigned() {
			return kind{shape: unsigned, single: single}, nil
		}
	case schema.DateLogicalType:
		return kind{shape: date}, nil
	case *schema.TimeLogicalType:
		return kind{shape: timeOfDay, unit: unitOf(t.TimeUnit()), single: single}, nil
	case *schema.TimestampLogicalType:
		if t.IsAdjustedToUTC() {
			return kind{shape: instant, unit: unitOf(t.TimeUnit())}, nil
		}
		return kind{shape: timestamp, unit: unitOf(t.TimeUnit())}, nil
	case schema.StringLogicalType, schema.EnumLogicalType, schema.JSONLogicalType:
		return kind{shape: text}, nil
	case schema.UUIDLogicalType:
		return kind{shape: uuid}, checkLength(c, 16)
	case schema.NullLogicalType:
		k, err := f.physical(c)
		k.null = true
		return k, err
	case schema.Float16LogicalType:
		return kind{shape: float16Shape}, checkLength(c, 2)
	}
	return f.physical(c)
}

// physical is the type of a column without a logical type.
func (f *FlatForm) physical(c *schema.Column) (kind, error) {
	switch c.PhysicalType() {
	case parquet.Types.Boolean:
		return kind{shape: boolean}, nil
	case parquet.Types.Int32, parquet.Types.Int64:
		return kind{shape: signed, single: c.PhysicalType() == parquet.Types.Int32}, nil
	case parquet.Types.Int96:
		return kind{shape: instant96}, nil
	case parquet.Types.Float:
		return kind{shape: float32Shape}, nil
	case parquet.Types.Double:
		return kind{shape: float64Shape}, nil
	case parquet.Types.FixedLenByteArray, parquet.Types.ByteArray:
		return kind{shape: map[Binary]logicalKind{BinaryText: text, BinaryHex: binaryHex,
			BinaryBytes: binaryBytes}[f.Binary]}, checkFixed(c)
	}
	return kind{}, refusef(errcode.ParquetUnsupported, "type %s can't be read", c.PhysicalType())
}

func checkFixed(c *schema.Column) error {
	if n := c.TypeLength(); c.PhysicalType() == parquet.Types.FixedLenByteArray && (n < 1 || n > 1<<20) {
		return refusef(errcode.ParquetUnsupported, "values of %d bytes can't be read", n)
	}
	return nil
}

func checkLength(c *schema.Column, want int) error {
	if c.PhysicalType() != parquet.Types.FixedLenByteArray || c.TypeLength() != want {
		return fmt.Errorf("the schema is damaged: values of %d bytes of %s, not %d", c.TypeLength(), c.PhysicalType(), want)
	}
	return nil
}

func checkScale(t *schema.DecimalLogicalType) error {
	if t.Scale() < 0 || t.Scale() > 1000 {
		return refusef(errcode.ParquetUnsupported, "a decimal of scale %d can't be read", t.Scale())
	}
	return nil
}

func unitOf(u schema.TimeUnitType) int64 {
	switch u {
	case schema.TimeUnitMillis:
		return 1e3
	case schema.TimeUnitMicros:
		return 1e6
	}
	return 1e9
}
