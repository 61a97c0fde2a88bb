package parquet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"bulkload/ingest"
	"bulkload/internal/errcode"
	"bulkload/internal/test/testrand"
	"bulkload/internal/test/testwords"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/schema"
)

// written is a column as written, and the texts that reading it must return.
type written struct {
	name     string
	physical parquet.Type
	logical  schema.LogicalType
	length   int
	optional bool
	draw     func(r *rand.Rand) (value any, text string)

	values []any // of all rows; nil is a null
	texts  row
}

func (c *written) fill(r *rand.Rand, rows int) {
	c.values, c.texts = nil, nil
	nulls := []int{0, 10, 50, 97, 100}[r.IntN(5)] // a hundred rows
	few := r.IntN(2) == 0                         // so that a dictionary is worthwhile
	var seen []any
	var texts []string
	for range rows {
		if c.optional && r.IntN(100) < nulls {
			c.values, c.texts = append(c.values, nil), append(c.texts, nil)
			continue
		}
		value, text := c.draw(r)
		if few && len(seen) >= 5 {
			i := r.IntN(len(seen))
			value, text = seen[i], texts[i]
		}
		seen, texts = append(seen, value), append(texts, text)
		c.values, c.texts = append(c.values, value), append(c.texts, &text)
	}
}

func (c *written) node() schema.Node {
	repetition := parquet.Repetitions.Required
	if c.optional {
		repetition = parquet.Repetitions.Optional
	}
	return schema.Must(schema.NewPrimitiveNodeLogical(c.name, repetition, c.logical, c.physical, c.length, -1))
}

// typed returns the values that are not nulls as a slice of their type.
func typed[T any](values []any) (out []T) {
	for _, v := range values {
		if v != nil {
			out = append(out, v.(T))
		}
	}
	return out
}

// write writes the rows from from up to to.
func (c *written) write(group file.SerialRowGroupWriter, from, to int) error {
	w, err := group.NextColumn()
	if err != nil {
		return err
	}
	values, levels := c.values[from:to], []int16(nil)
	if c.optional {
		levels = make([]int16, len(values))
		for i, v := range values {
			if v != nil {
				levels[i] = 1
			}
		}
	}
	switch w := w.(type) {
	case *file.BooleanColumnChunkWriter:
		_, err = w.WriteBatch(typed[bool](values), levels, nil)
	case *file.Int32ColumnChunkWriter:
		_, err = w.WriteBatch(typed[int32](values), levels, nil)
	case *file.Int64ColumnChunkWriter:
		_, err = w.WriteBatch(typed[int64](values), levels, nil)
	case *file.Int96ColumnChunkWriter:
		_, err = w.WriteBatch(typed[parquet.Int96](values), levels, nil)
	case *file.Float32ColumnChunkWriter:
		_, err = w.WriteBatch(typed[float32](values), levels, nil)
	case *file.Float64ColumnChunkWriter:
		_, err = w.WriteBatch(typed[float64](values), levels, nil)
	case *file.ByteArrayColumnChunkWriter:
		_, err = w.WriteBatch(typed[parquet.ByteArray](values), levels, nil)
	case *file.FixedLenByteArrayColumnChunkWriter:
		_, err = w.WriteBatch(typed[parquet.FixedLenByteArray](values), levels, nil)
	}
	if err != nil {
		return err
	}
	return w.Close()
}

// writeFile writes columns in row groups that end at the given rows.
func writeFile(t testing.TB, columns []*written, ends []int, options ...parquet.WriterProperty) []byte {
	t.Helper()
	var nodes []schema.Node
	for _, c := range columns {
		nodes = append(nodes, c.node())
	}
	root, err := schema.NewGroupNode("schema", parquet.Repetitions.Required, nodes, -1)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := file.NewParquetWriter(&out, root, file.WithWriterProps(parquet.NewWriterProperties(options...)))
	from := 0
	for _, to := range ends {
		group := w.AppendRowGroup()
		for _, c := range columns {
			if err := c.write(group, from, to); err != nil {
				t.Fatalf("column %s: %v", c.name, err)
			}
		}
		from = to
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func trimZeros(text string) string {
	if strings.Contains(text, ".") {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	if text == "-0" {
		return "0"
	}
	return text
}

// decimalText returns an unscaled number with its point.
func decimalText(n *big.Int, scale int) string {
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)
	return new(big.Rat).SetFrac(n, power).FloatString(scale)
}

// momentText returns a moment as java.sql.Timestamp shows it.
func momentText(at time.Time) string {
	text := at.Format("2006-01-02 15:04:05.999999999")
	if at.Nanosecond() == 0 {
		text += ".0"
	}
	return text
}

func drawMoment(r *rand.Rand, unit int64) int64 {
	seconds := r.Int64N(253_402_300_799+62_135_596_800) - 62_135_596_800
	if unit == 1e9 {
		seconds = r.Int64N(1<<33) - 1<<32
	}
	return seconds*unit + r.Int64N(unit)*r.Int64N(2)
}

func at(n, unit int64) time.Time {
	seconds := n / unit
	if n%unit < 0 {
		seconds--
	}
	return time.Unix(seconds, (n-seconds*unit)*(1e9/unit)).UTC()
}

func fixedDecimal(length, scale int) func(r *rand.Rand) (any, string) {
	return func(r *rand.Rand) (any, string) {
		b := make([]byte, length)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		if r.IntN(3) == 0 {
			sign := byte(0) - b[0]>>7
			for i := range r.IntN(length) {
				b[i] = sign
			}
		}
		n := new(big.Int).SetBytes(b)
		if b[0] >= 0x80 {
			n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*length)))
		}
		return parquet.FixedLenByteArray(b), trimZeros(decimalText(n, scale))
	}
}

// everyType returns a column of each supported type.
func everyType() []*written {
	moments := func(unit schema.TimeUnitType, per int64) func(r *rand.Rand) (any, string) {
		return func(r *rand.Rand) (any, string) {
			n := drawMoment(r, per)
			return n, momentText(at(n, per))
		}
	}
	texts := func(r *rand.Rand) (any, string) {
		text := strings.Repeat([]string{"a", "规则", "\U0001F600", "\n\x01\\", "\x00"}[r.IntN(5)], r.IntN(4)) + strconv.Itoa(r.IntN(1000))
		if r.IntN(10) == 0 {
			text = ""
		}
		return parquet.ByteArray(text), text
	}
	return []*written{
		{name: "flag", physical: parquet.Types.Boolean, draw: func(r *rand.Rand) (any, string) { b := r.IntN(2) == 0; return b, strconv.FormatBool(b) }},
		{name: "int", physical: parquet.Types.Int32, draw: func(r *rand.Rand) (any, string) {
			n := int32(r.Uint32()) >> r.IntN(32)
			return n, strconv.Itoa(int(n))
		}},
		{name: "uint", physical: parquet.Types.Int32, logical: schema.NewIntLogicalType(32, false), draw: func(r *rand.Rand) (any, string) {
			n := r.Uint32()
			return int32(n), strconv.FormatUint(uint64(n), 10)
		}},
		{name: "long", physical: parquet.Types.Int64, draw: func(r *rand.Rand) (any, string) {
			n := r.Int64() >> r.IntN(64) * []int64{1, -1}[r.IntN(2)]
			if r.IntN(20) == 0 {
				n = []int64{math.MinInt64, math.MaxInt64}[r.IntN(2)]
			}
			return n, strconv.FormatInt(n, 10)
		}},
		{name: "ulong", physical: parquet.Types.Int64, logical: schema.NewIntLogicalType(64, false), draw: func(r *rand.Rand) (any, string) {
			n := r.Uint64()
			return int64(n), strconv.FormatUint(n, 10)
		}},
		{name: "price", physical: parquet.Types.Int32, logical: schema.NewDecimalLogicalType(9, 2), draw: func(r *rand.Rand) (any, string) {
			n := int32(r.Uint32()) % 1_000_000_000
			return n, trimZeros(decimalText(big.NewInt(int64(n)), 2))
		}},
		{name: "amount", physical: parquet.Types.FixedLenByteArray, length: 16, logical: schema.NewDecimalLogicalType(38, 10), draw: fixedDecimal(16, 10)},
		{name: "wide", physical: parquet.Types.FixedLenByteArray, length: 33, logical: schema.NewDecimalLogicalType(76, 76), draw: fixedDecimal(33, 76)},
		{name: "day", physical: parquet.Types.Int32, logical: schema.DateLogicalType{}, draw: func(r *rand.Rand) (any, string) {
			n := r.Int32N(2_932_897+719_162) - 719_162
			return n, time.Unix(int64(n)*86400, 0).UTC().Format(time.DateOnly)
		}},
		{name: "clock", physical: parquet.Types.Int32, logical: schema.NewTimeLogicalType(true, schema.TimeUnitMillis), draw: func(r *rand.Rand) (any, string) {
			n := r.Int32N(86_400_000)
			return n, time.UnixMilli(int64(n)).UTC().Format("15:04:05.999")
		}},
		{name: "millis", physical: parquet.Types.Int64, logical: schema.NewTimestampLogicalType(true, schema.TimeUnitMillis), draw: moments(schema.TimeUnitMillis, 1e3)},
		{name: "micros", physical: parquet.Types.Int64, logical: schema.NewTimestampLogicalType(false, schema.TimeUnitMicros), draw: moments(schema.TimeUnitMicros, 1e6)},
		{name: "nanos", physical: parquet.Types.Int64, logical: schema.NewTimestampLogicalType(true, schema.TimeUnitNanos), draw: moments(schema.TimeUnitNanos, 1e9)},
		{name: "int96", physical: parquet.Types.Int96, draw: func(r *rand.Rand) (any, string) {
			n := drawMoment(r, 1e6)
			day := floorDiv(n, 86_400e6)
			var v parquet.Int96
			binary.LittleEndian.PutUint64(v[:], uint64(n-day*86_400e6)*1000)
			binary.LittleEndian.PutUint32(v[8:], uint32(day+julianEpoch))
			return v, momentText(at(n, 1e6))
		}},
		{name: "half", physical: parquet.Types.FixedLenByteArray, length: 2, logical: schema.Float16LogicalType{}, draw: func(r *rand.Rand) (any, string) {
			n := r.IntN(2048)
			b := binary.LittleEndian.AppendUint16(nil, uint16(bitsOfHalf(n)))
			return parquet.FixedLenByteArray(b), strconv.Itoa(n) + ".0"
		}},
		{name: "float", physical: parquet.Types.Float, draw: func(r *rand.Rand) (any, string) { n := r.IntN(1 << 22); return float32(n) / 4, javaQuarter(n) }},
		{name: "double", physical: parquet.Types.Double, draw: func(r *rand.Rand) (any, string) { n := r.IntN(1 << 25); return float64(n) / 4, javaQuarter(n) }},
		{name: "text", physical: parquet.Types.ByteArray, logical: schema.StringLogicalType{}, draw: texts},
		{name: "bytes", physical: parquet.Types.ByteArray, draw: texts},
		{name: "uuid", physical: parquet.Types.FixedLenByteArray, length: 16, logical: schema.UUIDLogicalType{}, draw: func(r *rand.Rand) (any, string) {
			b := make([]byte, 16)
			for i := range b {
				b[i] = byte(r.Uint32())
			}
			return parquet.FixedLenByteArray(b), fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
		}},
	}
}

// bitsOfHalf returns the bits of a whole number below 2048 as a binary16.
func bitsOfHalf(n int) int {
	if n == 0 {
		return 0
	}
	exponent := 0
	for n>>(exponent+1) > 0 {
		exponent++
	}
	return (exponent+15)<<10 | n<<(10-exponent)&0x3ff
}

// javaQuarter returns n/4 as Double.toString shows it.
func javaQuarter(n int) string {
	text := strconv.Itoa(n/4) + []string{".0", ".25", ".5", ".75"}[n%4]
	switch f := float64(n) / 4; {
	case f >= 1e7:
		digits := strings.TrimRight(strings.ReplaceAll(text, ".", ""), "0")
		if len(digits) < 2 {
			digits += "0"
		}
		return digits[:1] + "." + digits[1:] + "E" + strconv.Itoa(len(strconv.Itoa(n/4))-1)
	}
	return text
}

// encodingsOf returns the encodings that v15's writer has for a type, besides dictionaries.
func encodingsOf(t parquet.Type) []parquet.Encoding {
	switch t {
	case parquet.Types.Int32, parquet.Types.Int64:
		return []parquet.Encoding{parquet.Encodings.Plain, parquet.Encodings.DeltaBinaryPacked}
	case parquet.Types.ByteArray:
		return []parquet.Encoding{parquet.Encodings.Plain, parquet.Encodings.DeltaLengthByteArray, parquet.Encodings.DeltaByteArray}
	}
	return []parquet.Encoding{parquet.Encodings.Plain}
}

// drawFile writes a file of random rows of all types in a random way.
func drawFile(t testing.TB, r *rand.Rand, rows int) (columns []*written, content []byte, how string) {
	t.Helper()
	columns = everyType()
	version := []parquet.DataPageVersion{parquet.DataPageV1, parquet.DataPageV2}[r.IntN(2)]
	codec := []compress.Compression{compress.Codecs.Uncompressed, compress.Codecs.Snappy, compress.Codecs.Gzip, compress.Codecs.Zstd, compress.Codecs.Brotli}[r.IntN(5)]
	dictionary, page, stats := r.IntN(2) == 0, int64(1)<<(4+r.IntN(15)), version == parquet.DataPageV2 || r.IntN(2) == 0
	// Without statistics, which INT96 never has, v15 writes headers of version 2 that say that no value is null. Such
	// pages are refused, like pages whose levels are damaged.
	how = fmt.Sprintf("%v %v dictionary %v pages of %d statistics %v", version, codec, dictionary, page, stats)
	options := []parquet.WriterProperty{parquet.WithDataPageVersion(version), parquet.WithCompression(codec), parquet.WithDictionaryDefault(dictionary),
		parquet.WithDataPageSize(page), parquet.WithDictionaryPageSizeLimit(1 << r.IntN(14)), parquet.WithBatchSize(int64(r.IntN(200) + 1)), parquet.WithStats(stats)}
	for _, c := range columns {
		c.optional = r.IntN(2) == 0 && (version == parquet.DataPageV1 || c.physical != parquet.Types.Int96)
		c.fill(r, rows)
		of := encodingsOf(c.physical)
		if c.optional { // v15's writer fails if a page of deltas has only nulls; matrix.py writes such pages
			of = of[:1]
		}
		// the first value of a page of v15's DELTA_BYTE_ARRAY continues with the page before
		if page < 1<<17 && len(of) == 3 {
			of = of[:2]
		}
		options = append(options, parquet.WithEncodingFor(c.name, of[r.IntN(len(of))]))
	}
	var ends []int
	for end := 0; end < rows; {
		end = min(rows, end+1+r.IntN(rows))
		ends = append(ends, end)
	}
	return columns, writeFile(t, columns, ends, options...), how
}

// compareWritten reads a file in splits of about size bytes and compares each value.
func compareWritten(t *testing.T, how string, columns []*written, content []byte, size int64) {
	t.Helper()
	form := &FlatForm{}
	for _, c := range columns {
		form.Columns = append(form.Columns, c.name)
	}
	rows, bad, err := readFrom(memoryFS{content: content}, form, []ingest.SourceFile{{Path: "/it", Size: int64(len(content))}}, size)
	if err != nil || len(bad) > 0 || len(rows) != len(columns[0].values) {
		t.Fatalf("%s: %d rows of %d, %v, %v", how, len(rows), len(columns[0].values), bad, err)
	}
	for i, got := range rows {
		for j, c := range columns {
			if want := c.texts[i]; (got[j] == nil) != (want == nil) || want != nil && *got[j] != *want {
				t.Fatalf("%s: row %d, column %s is %s, want %s", how, i, c.name, quote(got[j]), quote(want))
			}
		}
	}
}

// TestAsWritten: files of all types, written by v15's own writer, in both page versions, with all codecs and encodings,
// with and without dictionaries, overflowing dictionaries, statistics and nulls, in pages of one byte to a whole
// column, and read in various splits and column orders: each value is the one that was written.
func TestAsWritten(t *testing.T) {
	r := testrand.New(t)
	files := 24
	if testing.Short() {
		files = 6
	}
	for i := range files {
		columns, content, how := drawFile(t, r, []int{1, 2, 1023, 1024, 1025, r.IntN(1500) + 1}[i%6])
		r.Shuffle(len(columns), func(i, j int) { columns[i], columns[j] = columns[j], columns[i] })
		compareWritten(t, how, columns[:r.IntN(len(columns))+1], content, int64(r.IntN(2)*r.IntN(len(content))))
	}
}

// TestSplitsHaveEachRowOnce: whatever the size of splits, each row is in exactly one of them, in order, with its
// number.
func TestSplitsHaveEachRowOnce(t *testing.T) {
	c := &written{name: "n", physical: parquet.Types.Int64, draw: func(r *rand.Rand) (any, string) { return r.Int64(), "" }}
	r := testrand.New(t)
	c.fill(r, 5000)
	for i := range c.values {
		c.values[i] = int64(i)
	}
	var ends []int
	for end := 0; end < 5000; end = min(5000, end+1+r.IntN(500)) {
		if end > 0 {
			ends = append(ends, end)
		}
	}
	content := writeFile(t, []*written{c}, append(ends, 5000))
	fsys, form := memoryFS{content: content}, &FlatForm{Columns: []string{"n"}}
	listed := []ingest.SourceFile{{Path: "/it", Size: int64(len(content))}}
	for _, size := range []int64{0, 1, 100, 1000, 10_000, math.MaxInt64} {
		splits, err := form.Splits(fsys, listed, size)
		if err != nil {
			t.Fatal(err)
		}
		next := int64(0)
		end := int64(0)
		for _, s := range splits {
			if s.Start != end || s.End <= s.Start {
				t.Errorf("size %d: a split from %d to %d after one to %d", size, s.Start, s.End, end)
			}
			end = s.End
			records, err := form.Open(fsys, s)
			if err != nil {
				t.Fatal(err)
			}
			last := int64(-1)
			err = drain(records, func(rec *ingest.Record) {
				if string(rec.Fields[0].Bytes()) != strconv.FormatInt(next, 10) || rec.Position.Offset != next || !rec.Rows {
					t.Fatalf("size %d: row %s at %+v, want %d", size, rec.Fields[0].Bytes(), rec.Position, next)
				}
				next++
				if got := records.Bytes(); got < last || got > s.End-s.Start {
					t.Fatalf("size %d: %d bytes after %d of %d", size, got, last, s.End-s.Start)
				} else {
					last = got
				}
			}, func(b *ingest.BadRecord) { t.Fatal(b) })
			if err != nil || records.Bytes() != s.End-s.Start {
				t.Errorf("size %d: %d bytes of %d at the end, %v", size, records.Bytes(), s.End-s.Start, err)
			}
			records.Close()
			if _, err := records.Next(); !testwords.Names(err, "closed") {
				t.Errorf("a closed reader: %v", err)
			}
		}
		if next != 5000 || end != int64(len(content)) {
			t.Errorf("size %d: %d rows in %d splits up to byte %d", size, next, len(splits), end)
		}
	}
}

// TestLargeValues: a value larger than all buffers, whose page header has it as statistics, and an empty value beside
// it.
func TestLargeValues(t *testing.T) {
	large := strings.Repeat("规则", 3<<20/6)
	for _, version := range []parquet.DataPageVersion{parquet.DataPageV1, parquet.DataPageV2} {
		c := &written{name: "text", physical: parquet.Types.ByteArray, logical: schema.StringLogicalType{}}
		for _, text := range []string{"", large, "x", large + "y", ""} {
			c.values, c.texts = append(c.values, parquet.ByteArray(text)), append(c.texts, &text)
		}
		for _, codec := range []compress.Compression{compress.Codecs.Uncompressed, compress.Codecs.Zstd} {
			content := writeFile(t, []*written{c}, []int{5}, parquet.WithDataPageVersion(version), parquet.WithStats(true), parquet.WithMaxStatsSize(1<<30),
				parquet.WithDictionaryDefault(false), parquet.WithCompression(codec))
			compareWritten(t, fmt.Sprint(version, codec), []*written{c}, content, 0)
		}
	}
}

// TestEveryByteOfAFile: each byte of a small file is changed in turn, and the file is cut there. Nothing panics; each
// error names the file, and a file read without an error has all its rows.
func TestEveryByteOfAFile(t *testing.T) {
	r := testrand.New(t)
	all := everyType()
	columns := []*written{all[3], all[6], all[17], all[0]}
	for i, c := range columns {
		c.optional = i%2 == 1
		c.fill(r, 20)
	}
	outcomes := map[string]int{}
	for _, version := range []parquet.DataPageVersion{parquet.DataPageV1, parquet.DataPageV2} {
		content := writeFile(t, columns, []int{12, 20}, parquet.WithDataPageVersion(version), parquet.WithCompression(compress.Codecs.Uncompressed))
		form := &FlatForm{Columns: []string{"long", "amount", "text", "flag"}}
		step := 1
		if testing.Short() {
			step = 5
		}
		for i := 0; i < len(content); i += step {
			for _, b := range []byte{content[i] ^ 1, 0xff, byte(r.Uint32())} {
				damaged := bytes.Clone(content)
				damaged[i] = b
				rows, err := readBytes(form, damaged, func(rec *ingest.Record) {
					if len(rec.Fields) != len(columns) {
						t.Fatalf("%d fields", len(rec.Fields))
					}
				})
				switch {
				case err == nil && rows != 20:
					t.Errorf("byte %d of %d set to %02x: %d rows and no error", i, len(content), b, rows)
				case err != nil && (!testwords.Names(err, "/it") || testwords.Names(err, "index out of range")):
					t.Errorf("byte %d of %d set to %02x: %v", i, len(content), b, err)
				case err != nil:
					outcomes["refused"]++
				default:
					outcomes["read"]++
				}
			}
			if _, err := readBytes(form, content[:i], func(*ingest.Record) {}); err == nil {
				t.Errorf("cut to %d of %d bytes: no error", i, len(content))
			}
		}
	}
	t.Log(outcomes)
}

// TestColumnsAreFoundByName: by the exact name or, if no column has it, in any case. A name that two columns have is
// refused. So is a missing name; the error suggests the one that was probably meant.
func TestColumnsAreFoundByName(t *testing.T) {
	var columns []*written
	for _, name := range []string{"id", "Name", "NAME", "Straße", "a.b", " ", "ITEM_NO"} {
		text := name
		columns = append(columns, &written{name: name, physical: parquet.Types.ByteArray, logical: schema.StringLogicalType{},
			values: []any{parquet.ByteArray(text)}, texts: row{&text}})
	}
	content := writeFile(t, columns, []int{1})
	for name, want := range map[string]string{
		"id": "id", "ID": "id", "Name": "Name", "NAME": "NAME", "Straße": "Straße", "STRASSE": "no column STRASSE;", "a.b": "a.b", "A.B": "a.b", " ": " ", "item_no": "ITEM_NO",
		"name": "two columns", "a": "no column a; ", "": "no column ", "item_n0": " ITEM_NO?", "identification": "it has id, Name, NAME, Straße, a.b,  , ITEM_NO",
	} {
		got := ""
		_, err := readBytes(&FlatForm{Columns: []string{name}}, content, func(rec *ingest.Record) { got = string(rec.Fields[0].Bytes()) })
		if err != nil && errcode.Outermost(err) == errcode.InputColumns {
			got = err.Error()
		}
		if !strings.Contains(got, want) || (err == nil) != slices.ContainsFunc(columns, func(c *written) bool { return c.name == want }) {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}

// TestNullsThatAreNotCounted: a header of version 2 says that no value is null, but the levels say that some are: the
// page is damaged, or comes from v15's writer without statistics. It is refused with its place and both numbers.
func TestNullsThatAreNotCounted(t *testing.T) {
	one := "1"
	c := &written{name: "n", physical: parquet.Types.Int64, optional: true, values: []any{int64(1), nil, nil}, texts: row{&one, nil, nil}}
	for _, stats := range []bool{true, false} {
		content := writeFile(t, []*written{c}, []int{3}, parquet.WithDataPageVersion(parquet.DataPageV2), parquet.WithStats(stats))
		rows, err := readBytes(&FlatForm{Columns: []string{"n"}}, content, func(*ingest.Record) {})
		refused := errcode.Outermost(err) == errcode.InputDamaged &&
			testwords.Names(err, "column n: ", "page at byte ", "has 1 values", "0 of 3 in 3 rows")
		if stats && (rows != 3 || err != nil) || !stats && !refused {
			t.Errorf("statistics %v: %d rows, %v", stats, rows, err)
		}
	}
}
