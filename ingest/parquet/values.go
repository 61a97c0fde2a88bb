package parquet

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"unicode/utf8"

	"bulkload/values"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/file"
)

// decoded are the values of a batch, in one of the slices.
type decoded struct {
	booleans []bool
	ints     []int32
	longs    []int64
	int96s   []parquet.Int96
	floats   []float32
	doubles  []float64
	arrays   []parquet.ByteArray
	fixed    []parquet.FixedLenByteArray
}

func (v *decoded) make(t parquet.Type) {
	switch t {
	case parquet.Types.Boolean:
		v.booleans = make([]bool, batch)
	case parquet.Types.Int32:
		v.ints = make([]int32, batch)
	case parquet.Types.Int64:
		v.longs = make([]int64, batch)
	case parquet.Types.Int96:
		v.int96s = make([]parquet.Int96, batch)
	case parquet.Types.Float:
		v.floats = make([]float32, batch)
	case parquet.Types.Double:
		v.doubles = make([]float64, batch)
	case parquet.Types.ByteArray:
		v.arrays = make([]parquet.ByteArray, batch)
	case parquet.Types.FixedLenByteArray:
		v.fixed = make([]parquet.FixedLenByteArray, batch)
	}
}

// bind returns the function that reads the next n values of a column; nil for a reader of unknown type.
func (v *decoded) bind(r file.ColumnChunkReader, levels []int16) func(n int64) (int64, int, error) {
	switch r := r.(type) {
	case *file.BooleanColumnChunkReader:
		return func(n int64) (int64, int, error) { return r.ReadBatch(n, v.booleans, levels, nil) }
	case *file.Int32ColumnChunkReader:
		return func(n int64) (int64, int, error) { return r.ReadBatch(n, v.ints, levels, nil) }
	case *file.Int64ColumnChunkReader:
		return func(n int64) (int64, int, error) { return r.ReadBatch(n, v.longs, levels, nil) }
	case *file.Int96ColumnChunkReader:
		return func(n int64) (int64, int, error) { return r.ReadBatch(n, v.int96s, levels, nil) }
	case *file.Float32ColumnChunkReader:
		return func(n int64) (int64, int, error) { return r.ReadBatch(n, v.floats, levels, nil) }
	case *file.Float64ColumnChunkReader:
		return func(n int64) (int64, int, error) { return r.ReadBatch(n, v.doubles, levels, nil) }
	case *file.ByteArrayColumnChunkReader:
		return func(n int64) (int64, int, error) { return r.ReadBatch(n, v.arrays, levels, nil) }
	case *file.FixedLenByteArrayColumnChunkReader:
		return func(n int64) (int64, int, error) { return r.ReadBatch(n, v.fixed, levels, nil) }
	}
	return nil
}

// formatFunc appends the text of one value of the batch, or says why the value is invalid.
type formatFunc func(dst []byte, value int) (out []byte, problem string)

// newFormat returns the formatFunc of a column. It does not check text that is checked a row at a time.
func (c *cursor) newFormat(f *FlatForm, old legacy, byRow bool) (formatFunc, error) {
	v, k := &c.buffer, c.kind
	var s formatFunc
	if k.null {
		return func(dst []byte, _ int) ([]byte, string) {
			return dst, "a value in a column of the type UNKNOWN, which is always null"
		}, nil
	}
	if byRow && k.shape == text && v.arrays != nil {
		return func(dst []byte, i int) ([]byte, string) { return append(dst, v.arrays[i]...), "" }, nil
	}
	switch c.descr.PhysicalType() {
	case parquet.Types.Boolean:
		s = v.formatBoolean
	case parquet.Types.Int32:
		s = v.formatInt(f, k, old)
	case parquet.Types.Int64:
		s = v.formatLong(f, k, old)
	case parquet.Types.Int96:
		s = v.formatInt96(f, old)
	case parquet.Types.Float:
		s = func(dst []byte, i int) ([]byte, string) { return appendFloat(dst, float64(v.floats[i]), 32), "" }
	case parquet.Types.Double:
		s = func(dst []byte, i int) ([]byte, string) { return appendFloat(dst, v.doubles[i], 64), "" }
	case parquet.Types.ByteArray:
		s = formatBytes(f, k, func(i int) []byte { return v.arrays[i] })
	case parquet.Types.FixedLenByteArray:
		s = formatBytes(f, k, func(i int) []byte { return v.fixed[i] })
	}
	if s == nil {
		return nil, fmt.Errorf("%s in %s can't be read", k, c.descr.PhysicalType())
	}
	return s, nil
}

func (v *decoded) formatBoolean(dst []byte, i int) ([]byte, string) {
	return strconv.AppendBool(dst, v.booleans[i]), ""
}

func (v *decoded) formatInt(f *FlatForm, k kind, old legacy) formatFunc {
	switch k.shape {
	case signed:
		return func(dst []byte, i int) ([]byte, string) { return strconv.AppendInt(dst, int64(v.ints[i]), 10), "" }
	case unsigned:
		return func(dst []byte, i int) ([]byte, string) {
			return strconv.AppendUint(dst, uint64(uint32(v.ints[i])), 10), ""
		}
	case decimal:
		d := decimals{scale: k.scale, zeros: f.KeepZeros}
		return func(dst []byte, i int) ([]byte, string) { return d.appendInt(dst, int64(v.ints[i])), "" }
	case date:
		return func(dst []byte, i int) ([]byte, string) { return appendDate(dst, int64(v.ints[i]), old.dates) }
	case timeOfDay:
		return func(dst []byte, i int) ([]byte, string) { return appendTimeOfDay(dst, int64(v.ints[i]), k.unit) }
	}
	return nil
}

func (v *decoded) formatLong(f *FlatForm, k kind, old legacy) formatFunc {
	switch k.shape {
	case signed:
		return func(dst []byte, i int) ([]byte, string) { return strconv.AppendInt(dst, v.longs[i], 10), "" }
	case unsigned:
		return func(dst []byte, i int) ([]byte, string) { return strconv.AppendUint(dst, uint64(v.longs[i]), 10), "" }
	case decimal:
		d := decimals{scale: k.scale, zeros: f.KeepZeros}
		return func(dst []byte, i int) ([]byte, string) { return d.appendInt(dst, v.longs[i]), "" }
	case timeOfDay:
		return func(dst []byte, i int) ([]byte, string) { return appendTimeOfDay(dst, v.longs[i], k.unit) }
	case timestamp, instant:
		c := clock{julian: old.dates}
		if k.shape == instant {
			c.location, _ = values.Location(f.Zone) // Check has validated it
		}
		return func(dst []byte, i int) ([]byte, string) {
			seconds := floorDiv(v.longs[i], k.unit)
			return c.append(dst, seconds, (v.longs[i]-seconds*k.unit)*(1e9/k.unit))
		}
	}
	return nil
}

// formatInt96 shows the nanoseconds of a day (8 bytes) and its Julian day (4), as Hive, Impala and Spark write
// timestamps.
func (v *decoded) formatInt96(f *FlatForm, old legacy) formatFunc {
	zone := f.Int96Zone
	if zone == "" {
		zone = f.Zone
	}
	c := clock{julian: old.int96}
	c.location, _ = values.Location(zone) // Check has validated it
	return func(dst []byte, i int) ([]byte, string) {
		raw := v.int96s[i][:]
		nanos := int64(binary.LittleEndian.Uint64(raw))
		day := int64(int32(binary.LittleEndian.Uint32(raw[8:]))) - julianEpoch
		seconds := floorDiv(nanos, 1e9)
		return c.append(dst, day*secondsOfDay+seconds, nanos-seconds*1e9)
	}
}

// appendTimeOfDay appends a time such as 01:02:03 or 01:02:03.5.
func appendTimeOfDay(dst []byte, n, unit int64) ([]byte, string) {
	if n < 0 || n >= secondsOfDay*unit {
		return dst, "not a time of day"
	}
	dst = appendTime(dst, n/unit)
	if nanos := n % unit * (1e9 / unit); nanos > 0 {
		dst = appendFraction(append(dst, '.'), nanos, 1)
	}
	return dst, ""
}

func formatBytes(f *FlatForm, k kind, at func(int) []byte) formatFunc {
	switch k.shape {
	case text:
		return func(dst []byte, i int) ([]byte, string) {
			if b := at(i); !utf8.Valid(b) {
				return append(dst, b...), notUTF8(b)
			}
			return append(dst, at(i)...), ""
		}
	case binaryBytes:
		return func(dst []byte, i int) ([]byte, string) { return append(dst, at(i)...), "" }
	case binaryHex:
		return func(dst []byte, i int) ([]byte, string) { return appendHex(dst, at(i)), "" }
	case decimal:
		d := decimals{scale: k.scale, zeros: f.KeepZeros}
		return func(dst []byte, i int) ([]byte, string) {
			if len(at(i)) == 0 {
				return dst, "a decimal without bytes"
			}
			return d.appendBytes(dst, at(i)), ""
		}
	case uuid:
		return func(dst []byte, i int) ([]byte, string) { return appendUUID(dst, at(i)), "" }
	case float16Shape:
		return func(dst []byte, i int) ([]byte, string) {
			return appendFloat(dst, float64(halfFloat(binary.LittleEndian.Uint16(at(i)))), 32), ""
		}
	}
	return nil
}

// notUTF8 describes the first position at which text is not UTF-8.
func notUTF8(b []byte) string {
	i := 0
	for i < len(b) {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		i += n
	}
	return fmt.Sprintf("not UTF-8: % x at byte %d of the value", b[i:min(i+4, len(b))], i)
}

const hexDigits = "0123456789abcdef"

// appendHex appends bytes as pairs of hex digits with blanks between them.
func appendHex(dst, b []byte) []byte {
	for i, x := range b {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = append(dst, hexDigits[x>>4], hexDigits[x&15])
	}
	return dst
}

// appendUUID appends 16 bytes in the form 01234567-89ab-cdef-0123-456789abcdef.
func appendUUID(dst, b []byte) []byte {
	for i, x := range b {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			dst = append(dst, '-')
		}
		dst = append(dst, hexDigits[x>>4], hexDigits[x&15])
	}
	return dst
}
