package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/testrand"
	"bulkload/internal/test/testwords"
	"bulkload/values"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
)

// TestDecimalsAsBigNumbers: unscaled values of 1 to 40 bytes, also with more bytes than they need, at every scale.
func TestDecimalsAsBigNumbers(t *testing.T) {
	r := testrand.New(t)
	for range 20_000 {
		value, _ := fixedDecimal(r.IntN(40)+1, 0)(r)
		b := []byte(value.(parquet.FixedLenByteArray))
		n := new(big.Int).SetBytes(b)
		if b[0] >= 0x80 {
			n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
		}
		d := decimals{scale: r.IntN(100), zeros: r.IntN(2) == 0}
		want := decimalText(n, d.scale)
		if !d.zeros {
			want = trimZeros(want)
		}
		if got := string(d.appendBytes([]byte("<"), b)); got != "<"+want {
			t.Fatalf("%x of scale %d, zeros %v: %s, want %s", b, d.scale, d.zeros, got, want)
		}
		if n.IsInt64() {
			if got := string(d.appendInt(nil, n.Int64())); got != want {
				t.Fatalf("%v of scale %d, zeros %v: %s, want %s", n, d.scale, d.zeros, got, want)
			}
		}
	}
	for n, want := range map[int64]string{math.MinInt64: "-92233720368547758.08", math.MaxInt64: "92233720368547758.07", 0: "0", -1: "-0.01", -100: "-1", 10: "0.1"} {
		if got := string(decimals{scale: 2}.appendInt(nil, n)); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

// TestDaysAsCalendars: each day of the years 1 to 9999 is shown as in Go's calendar, and before 1582-10-15 as in the
// Julian one, which the test counts from its first day with its own leap year rule; the days outside those years are
// refused.
func TestDaysAsCalendars(t *testing.T) {
	if testing.Short() {
		t.Skip("goes through ten thousand years")
	}
	day := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	first := floorDiv(day.Unix(), secondsOfDay)
	last := floorDiv(time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC).Unix(), secondsOfDay)
	for n := first; n <= last; n++ {
		got, problem := appendDate(nil, n, false)
		if want := day.AppendFormat(nil, time.DateOnly); problem != "" || !bytes.Equal(got, want) {
			t.Fatalf("day %d is %s, %s; want %s", n, got, problem, want)
		}
		day = day.AddDate(0, 0, 1)
	}
	for _, n := range []int64{first - 1, last + 1, math.MinInt32, math.MaxInt32, math.MinInt64, math.MaxInt64} {
		if got, problem := appendDate(nil, n, false); problem != problemYear {
			t.Errorf("day %d is %s, %s", n, got, problem)
		}
	}
	year, month, of := 1582, 10, 4 // the day before the first Gregorian one
	lengths := []int{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}
	for n := int64(gregorianDay - 1); year >= 1; n-- {
		got, problem := appendDate(nil, n, true)
		if want := fmt.Sprintf("%04d-%02d-%02d", year, month, of); problem != "" || string(got) != want {
			t.Fatalf("day %d of the Julian calendar is %s, %s; want %s", n, got, problem, want)
		}
		if of--; of == 0 {
			if month--; month == 0 {
				month, year = 12, year-1
			}
			if of = lengths[month-1]; month == 2 && year%4 == 0 {
				of = 29
			}
		}
	}
	if got, _ := appendDate(nil, gregorianDay, true); string(got) != "1582-10-15" {
		t.Errorf("the first Gregorian day is %s", got)
	}
}

// TestClocksAsGo: points in time in many zones, shown by one clock in any order, near changes of a zone's offset and
// far away.
func TestClocksAsGo(t *testing.T) {
	r := testrand.New(t)
	for _, name := range []string{"UTC", "Asia/Shanghai", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Europe/Dublin", "Asia/Kathmandu", "Africa/Casablanca"} {
		l, err := values.Location(name)
		if err != nil {
			t.Fatal(err)
		}
		c := clock{location: l}
		in := time.UTC
		if l != nil {
			in = l
		}
		for range 3_000 {
			n := drawMoment(r, 1e3)
			if _, end := at(n, 1e3).In(in).ZoneBounds(); r.IntN(2) == 0 && !end.IsZero() {
				n = end.UnixMilli() + r.Int64N(2000) - 1000
			}
			shown := at(n, 1e3).In(in)
			if shown.Year() < 1 || shown.Year() > 9999 {
				continue
			}
			seconds := floorDiv(n, 1000)
			if got, problem := c.append(nil, seconds, (n-seconds*1000)*1e6); problem != "" || string(got) != momentText(shown) {
				t.Fatalf("%d in %s is %s, %s; want %s", n, name, got, problem, momentText(shown))
			}
		}
		for _, seconds := range []int64{math.MinInt64, math.MaxInt64, 1 << 40, -1 << 40, 253_402_300_800 + 86400, -62_135_596_801 - 86400} {
			if got, problem := c.append(nil, seconds, 0); problem != problemYear {
				t.Errorf("%d in %s is %s, %s", seconds, name, got, problem)
			}
		}
	}
}

// TestHalfFloats: all 65,536 of them, by the formula of IEEE 754.
func TestHalfFloats(t *testing.T) {
	for b := range 1 << 16 {
		sign, exponent, fraction := 1-2*(b>>15), b>>10&31, float64(b&1023)
		want := float64(sign) * math.Ldexp(1024+fraction, exponent-25)
		switch {
		case exponent == 0:
			want = float64(sign) * math.Ldexp(fraction, -24)
			if fraction == 0 && sign < 0 {
				want = math.Copysign(0, -1)
			}
		case exponent == 31 && fraction == 0:
			want = math.Inf(sign)
		case exponent == 31:
			want = math.NaN()
		}
		got := float64(halfFloat(uint16(b)))
		if math.IsNaN(got) != math.IsNaN(want) || !math.IsNaN(want) && (got != want || math.Signbit(got) != math.Signbit(want)) {
			t.Fatalf("%04x is %v, want %v", b, got, want)
		}
	}
}

// TestFloatsComeBack: the text of a number is parsed as that number, has the form of Java's, and no text of fewer
// digits does.
func TestFloatsComeBack(t *testing.T) {
	r := testrand.New(t)
	for range 30_000 {
		size := []int{32, 64}[r.IntN(2)]
		f := math.Float64frombits(r.Uint64())
		if size == 32 {
			f = float64(math.Float32frombits(r.Uint32()))
		}
		if r.IntN(2) == 0 {
			f = float64(float32(r.IntN(1e9))) / math.Pow(10, float64(r.IntN(12)))
			if size == 32 {
				f = float64(float32(f))
			}
		}
		text := string(appendFloat(nil, f, size))
		again, err := strconv.ParseFloat(text, size)
		if err != nil || again != f && !math.IsNaN(f) {
			t.Fatalf("%v of %d bits is shown as %s", f, size, text)
		}
		if math.IsNaN(f) || math.IsInf(f, 0) {
			continue
		}
		mantissa, _, exponent := strings.Cut(strings.TrimPrefix(text, "-"), "E")
		whole, fraction, point := strings.Cut(mantissa, ".")
		if !point || whole == "" || fraction == "" || exponent && len(whole) != 1 || len(fraction) > 1 && strings.HasSuffix(fraction, "0") {
			t.Fatalf("%v of %d bits is shown as %s", f, size, text)
		}
		if abs := math.Abs(f); exponent != (f != 0 && (abs < 1e-3 || abs >= 1e7)) {
			t.Fatalf("%v of %d bits is shown as %s", f, size, text)
		}
	}
}

// hybrid writes numbers of a width as a random mix of runs and packed bits.
func hybrid(r *rand.Rand, numbers []uint32, width int) (out []byte) {
	for len(numbers) > 0 {
		n := 1
		for n < len(numbers) && numbers[n] == numbers[0] {
			n++
		}
		if r.IntN(2) == 0 {
			n = r.IntN(n) + 1
			out = binary.AppendUvarint(out, uint64(n)<<1)
			for i := range (width + 7) / 8 {
				out = append(out, byte(numbers[0]>>(8*i)))
			}
			numbers = numbers[n:]
			continue
		}
		groups := r.IntN(3) + 1
		if 8*groups > len(numbers) {
			groups = (len(numbers) + 7) / 8 // the last may be longer than what is left
		}
		out = binary.AppendUvarint(out, uint64(groups)<<1|1)
		packed := make([]byte, groups*width)
		for i, x := range numbers[:min(len(numbers), 8*groups)] {
			for bit := range width {
				packed[(i*width+bit)/8] |= byte(x>>bit&1) << ((i*width + bit) % 8)
			}
		}
		out = append(out, packed...)
		numbers = numbers[min(len(numbers), 8*groups):]
	}
	return out
}

// TestHybrid: levels are counted and indices are bounded correctly, however they are written; if they are cut anywhere,
// or any bit is flipped, no count exceeds the number asked for.
func TestHybrid(t *testing.T) {
	r := testrand.New(t)
	for range 3_000 {
		levels := make([]uint32, r.IntN(300)+1)
		present := 0
		for i := range levels {
			levels[i] = uint32(r.IntN(2))
			if i > 0 && r.IntN(3) > 0 {
				levels[i] = levels[i-1]
			}
			present += int(levels[i])
		}
		data := hybrid(r, levels, 1)
		if got, err := countPresent(data, len(levels)); got != present || err != nil {
			t.Fatalf("%v as %x: %d, %v; want %d", levels, data, got, err, present)
		}
		if _, err := countPresent(data[:r.IntN(len(data))], len(levels)); err != nil && !errors.Is(err, errLevels) {
			t.Fatal(err)
		}
		data[r.IntN(len(data))] ^= 1 << r.IntN(8)
		if got, err := countPresent(data, len(levels)); err == nil && (got < 0 || got > len(levels)) {
			t.Fatalf("%x: %d of %d", data, got, len(levels))
		}
		width := r.IntN(32)
		indices := make([]uint32, r.IntN(100)+1)
		for i := range indices {
			indices[i] = uint32(r.Uint64N(1 << width))
			if i > 0 && r.IntN(3) > 0 {
				indices[i] = indices[i-1]
			}
		}
		entries := int(slices.Max(indices)) + 1
		data = append([]byte{byte(width)}, hybrid(r, indices, width)...)
		if err := checkIndices(data, len(indices), entries); err != nil {
			t.Fatalf("%v of %d bits as %x: %v", indices, width, data, err)
		}
		err := checkIndices(data, len(indices), entries-1)
		if !testwords.Names(err, fmt.Sprintf("index %d ", entries-1), fmt.Sprintf("dictionary of %d ", entries-1)) {
			t.Fatalf("%v of %d bits as %x into %d values: %v", indices, width, data, entries-1, err)
		}
		if err := checkIndices(data[:r.IntN(len(data))], len(indices)+1000, entries); err == nil {
			t.Fatalf("%x cut short: no error", data)
		}
	}
	for _, broken := range [][]byte{nil, {32}, {1}, {1, 0}, {1, 1}, {1, 2}, {8, 2}, {1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, {1, 0xfe, 0xff, 0xff, 0xff, 0x1f, 0}} {
		if err := checkIndices(broken, 1, 10); !errors.Is(err, errIndices) {
			t.Errorf("%x: %v", broken, err)
		}
	}
}

// deltas writes numbers as DELTA_BINARY_PACKED.
func deltas(numbers []int64, block, minis int) []byte {
	out := binary.AppendUvarint(nil, uint64(block))
	out = binary.AppendUvarint(out, uint64(minis))
	out = binary.AppendUvarint(out, uint64(len(numbers)))
	if len(numbers) == 0 {
		return binary.AppendVarint(out, 0)
	}
	out = binary.AppendVarint(out, numbers[0])
	var steps []int64
	for i := 1; i < len(numbers); i++ {
		steps = append(steps, numbers[i]-numbers[i-1]) // which may wrap
	}
	for ; len(steps) > 0; steps = steps[min(block, len(steps)):] {
		one := steps[:min(block, len(steps))]
		least := slices.Min(one)
		out = binary.AppendVarint(out, least)
		size := block / minis
		var widths, parts []byte
		for m := range minis {
			part := one[min(m*size, len(one)):min((m+1)*size, len(one))]
			width := 0
			for _, s := range part {
				for width < 64 && uint64(s-least)>>width > 0 {
					width++
				}
			}
			widths = append(widths, byte(width))
			packed := make([]byte, size*width/8)
			for i, s := range part {
				for bit := range width {
					packed[(i*width+bit)/8] |= byte(uint64(s-least)>>bit&1) << ((i*width + bit) % 8)
				}
			}
			if len(part) > 0 {
				parts = append(parts, packed...)
			}
		}
		out = append(append(out, widths...), parts...)
	}
	return out
}

// TestDeltas: numbers of every size, also with differences that overflow, in blocks of many shapes; truncated streams
// and streams with another count are refused.
func TestDeltas(t *testing.T) {
	r := testrand.New(t)
	for range 2_000 {
		numbers := make([]int64, r.IntN(400)+1)
		shift := r.IntN(64)
		for i := range numbers {
			numbers[i] = int64(r.Uint64()) >> shift
		}
		minis := []int{1, 2, 4}[r.IntN(3)]
		data := deltas(numbers, minis*32*(r.IntN(4)+1), minis)
		end, err := walkDeltas(append(data, "after"...), len(numbers))
		if err != nil || end != len(data) {
			t.Fatalf("%d numbers: %d of %d bytes, %v", len(numbers), end, len(data), err)
		}
		d := readDeltas(data)
		for i, want := range numbers {
			if got := d.next(); got != want {
				t.Fatalf("number %d of %v is %d", i, numbers, got)
			}
		}
		for _, n := range []int{len(numbers) - 1, len(numbers) + 1, 0} {
			if _, err := walkDeltas(data, n); !errors.Is(err, errDelta) {
				t.Fatalf("%d numbers as %d: %v", len(numbers), n, err)
			}
		}
		if _, err := walkDeltas(data[:r.IntN(len(data))], len(numbers)); !errors.Is(err, errDelta) {
			t.Fatalf("cut short: %v", err)
		}
	}
	for name, head := range map[string][]uint64{
		"no block": {0, 1, 5, 0}, "no parts": {128, 0, 5, 0}, "parts of 4": {128, 32, 5, 0}, "parts that don't fit": {128, 3, 5, 0}, "a huge block": {1 << 20, 1, 5, 0}, "a block of 2^63": {1 << 63, 1, 5, 0},
	} {
		var data []byte
		for _, n := range head {
			data = binary.AppendUvarint(data, n)
		}
		if _, err := walkDeltas(append(data, make([]byte, 100)...), 5); !errors.Is(err, errDelta) {
			t.Errorf("%s: %v", name, err)
		}
	}
	wide := deltas([]int64{0, 1, 2}, 32, 1)
	wide[len(wide)-1-4] = 65 // bits a difference
	if _, err := walkDeltas(wide, 3); err == nil {
		t.Error("differences of 65 bits")
	}
}

// TestByteArraysByDeltas: texts by their lengths, and by the prefixes that they share; no text is read if lengths are
// false.
func TestByteArraysByDeltas(t *testing.T) {
	r := testrand.New(t)
	for range 1_000 {
		var prefixes, suffixes, lengths []int64
		var all, ends, want []byte
		last := ""
		for range r.IntN(50) + 1 {
			text := last[:r.IntN(len(last)+1)] + strconv.Itoa(r.IntN(1000)*r.IntN(2))
			prefix := 0
			for prefix < min(len(last), len(text)) && last[prefix] == text[prefix] {
				prefix++
			}
			prefix = r.IntN(prefix + 1)
			prefixes, suffixes, lengths = append(prefixes, int64(prefix)), append(suffixes, int64(len(text)-prefix)), append(lengths, int64(len(text)))
			all, ends = append(all, text...), append(ends, text[prefix:]...)
			want = append(binary.LittleEndian.AppendUint32(want, uint32(len(text))), text...)
			last = text
		}
		n := len(lengths)
		got, err := expandDeltas([]byte("<"), append(deltas(lengths, 128, 4), all...), n, 0, false)
		if err != nil || string(got) != "<"+string(want) {
			t.Fatalf("by lengths: %q, %v; want %q", got, err, want)
		}
		data := slices.Concat(deltas(prefixes, 128, 4), deltas(suffixes, 128, 4), ends)
		if got, err = expandDeltas([]byte("<"), data, n, 0, true); err != nil || string(got) != "<"+string(want) {
			t.Fatalf("by prefixes: %q, %v; want %q", got, err, want)
		}
		i := r.IntN(n)
		for _, lie := range []int64{-1, math.MinInt64, math.MaxInt64, int64(len(all)) + 1} {
			lengths := slices.Clone(lengths)
			lengths[i] = lie
			if _, err := expandDeltas(nil, append(deltas(lengths, 128, 4), all...), n, 0, false); !errors.Is(err, errDelta) {
				t.Fatalf("a length of %d: %v", lie, err)
			}
			prefixes := slices.Clone(prefixes)
			prefixes[i] = lie
			if _, err := expandDeltas(nil, slices.Concat(deltas(prefixes, 128, 4), deltas(suffixes, 128, 4), ends), n, 0, true); !errors.Is(err, errDelta) {
				t.Fatalf("a prefix of %d: %v", lie, err)
			}
		}
	}
	bomb := slices.Concat(deltas(append([]int64{0}, slices.Repeat([]int64{1 << 20}, 999)...), 128, 4), deltas(append([]int64{1 << 20}, make([]int64, 999)...), 128, 4), make([]byte, 1<<20))
	if _, err := expandDeltas(nil, bomb, 1000, 0, true); !testwords.Names(err, "268435456 bytes") {
		t.Errorf("a page of 1 MB that expands to 1 GB: %v", err)
	}
	if _, err := expandDeltas(nil, append(deltas([]int64{2, 3}, 128, 4), "abcde"...), 2, 2, false); !errors.Is(err, errDelta) {
		t.Errorf("a value of 3 bytes among values of 2: %v", err)
	}
}

// thriftField writes a field with its number in full.
func thriftField(id int16, kind byte, value ...byte) []byte {
	return append(binary.AppendVarint([]byte{kind}, int64(id)), value...)
}

func thriftI32(id int16, n int32) []byte {
	return thriftField(id, typeI32, binary.AppendVarint(nil, int64(n))...)
}

// TestPageHeaders: fields in any order, among fields of every type that a later version of the format may have; every
// prefix of a header is reported as too short, and never read as a whole one.
func TestPageHeaders(t *testing.T) {
	r := testrand.New(t)
	unknown := [][]byte{
		thriftField(90, typeTrue), thriftField(91, typeFalse), thriftField(92, typeByte, 0xff), thriftField(93, typeI16, 2), thriftField(94, typeI64, 0xff, 1),
		thriftField(95, typeDouble, 1, 2, 3, 4, 5, 6, 7, 8), thriftField(96, typeBinary, 3, 'a', 'b', 'c'), thriftField(97, typeList, 0x31, 1, 2, 1),
		thriftField(98, typeSet, 0xf3, 16, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16), thriftField(99, typeMap, 0), thriftField(100, typeMap, 2, 0x85, 1, 'k', 2, 1, 'l', 4),
		thriftField(101, typeStruct, 0x15, 2, 0x1c, 0, 0), thriftField(102, typeUUID, make([]byte, 16)...), thriftField(-5, typeTrue),
	}
	for range 500 {
		body := [][]byte{thriftI32(1, 100), thriftI32(2, 7), thriftI32(3, 100), thriftI32(4, 8), thriftI32(5, 13), thriftI32(6, 0), thriftField(7, typeFalse)}
		body = append(body, unknown[r.IntN(len(unknown))])
		r.Shuffle(len(body), func(i, j int) { body[i], body[j] = body[j], body[i] })
		fields := [][]byte{thriftI32(1, pageDataV2), thriftI32(2, 1000), thriftI32(3, 500), thriftI32(4, -2), thriftField(8, typeStruct, append(slices.Concat(body...), 0)...)}
		for range r.IntN(5) {
			fields = append(fields, unknown[r.IntN(len(unknown))])
		}
		r.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
		data := append(slices.Concat(fields...), 0)
		var h pageHeader
		n, err := h.parse(append(data, "page"...))
		want := pageHeader{kind: pageDataV2, unpacked: 1000, packed: 500, crc: math.MaxUint32 - 1, checked: true, body: true, values: 100, encoding: 8,
			nulls: 7, rows: 100, definitions: 13, plain: true}
		if err != nil || n != len(data) || h != want {
			t.Fatalf("%x: %+v, %d, %v", data, h, n, err)
		}
		for cut := range data {
			if _, err := h.parse(data[:cut]); !errors.Is(err, errShort) {
				t.Fatalf("%x cut to %d bytes: %v", data, cut, err)
			}
		}
		data[r.IntN(len(data))] ^= 1 << r.IntN(8)
		if n, err := h.parse(data); err == nil && (n > len(data) || h.packed < 0 || h.unpacked < 0 || h.kind < 0) {
			t.Fatalf("%x: %+v, %d", data, h, n)
		}
	}
	for name, data := range map[string][]byte{
		"no sizes": slices.Concat(thriftI32(1, 0), []byte{0}), "a negative size": slices.Concat(thriftI32(1, 0), thriftI32(2, 5), thriftI32(3, -5), []byte{0}),
		"a size as text": thriftField(2, typeBinary, 1, 'x', 0), "a size of 2^40": thriftField(2, typeI32, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1), "a body as a number": thriftI32(5, 1),
		"a number without end": thriftField(2, typeI32, bytes.Repeat([]byte{0xff}, 20)...), "a type 15": thriftField(90, 15), "structures in structures": bytes.Repeat([]byte{0x1c}, 100),
		"lists in lists": append(thriftField(90, typeList), bytes.Repeat([]byte{0x19}, 100)...),
	} {
		var h pageHeader
		if _, err := h.parse(data); !errors.Is(err, errThrift) {
			t.Errorf("%s: %v", name, err)
		}
	}
	list := thriftField(90, typeList, 0xf1, 0xff, 0xff, 0xff, 0xff, 0x0f)
	if _, err := new(pageHeader).parse(list); !errors.Is(err, errShort) {
		t.Errorf("a list of 4 billion: %v", err)
	}
}

// TestUnpackersWantTheirSize: a page that unpacks to more or fewer bytes than its header says, is truncated, or is not
// in the codec's format is refused; the unpacker can still read the next page.
func TestUnpackersWantTheirSize(t *testing.T) {
	text := bytes.Repeat([]byte("a page of text "), 100)
	for _, c := range []compress.Compression{compress.Codecs.Snappy, compress.Codecs.Gzip, compress.Codecs.Brotli, compress.Codecs.Zstd} {
		codec, err := compress.GetCodec(c)
		if err != nil {
			t.Fatal(err)
		}
		packed := codec.Encode(nil, text)
		var u unpacker
		dst := make([]byte, len(text))
		for name, b := range map[string]struct {
			size   int
			packed []byte
		}{
			"a byte less": {len(text) - 1, packed}, "nothing": {1, nil}, "cut": {len(text), packed[:len(packed)-1]}, "half": {len(text), packed[:len(packed)/2]},
			"text": {len(text), text}, "of no bytes": {0, packed},
		} {
			if err := u.unpack(c, dst[:b.size], b.packed); err == nil {
				t.Errorf("%s, %s: no error", c, name)
			}
			if err := u.unpack(c, dst, packed); err != nil || !bytes.Equal(dst, text) {
				t.Errorf("%s after %s: %v", c, name, err)
			}
		}
		if err := u.unpack(c, make([]byte, len(text)+1), packed); err == nil {
			t.Errorf("%s, a byte more: no error", c)
		}
		if most := maxUnpacked(c, len(packed)); most < int64(len(text)) {
			t.Errorf("%s: %d bytes are %d at most", c, len(packed), most)
		}
		u.close()
		u.close()
	}
	err := new(unpacker).unpack(compress.Codecs.Lz4, nil, nil)
	if !testwords.Names(err, "LZ4") {
		t.Error(err)
	}
}

// TestOldSparks: the versions that count days as java.util does.
func TestOldSparks(t *testing.T) {
	for version, want := range map[string][2]bool{ // before 3.0, before 3.1
		"2.4.8": {true, true}, "1.6": {true, true}, "3.0.0": {false, true}, "3.0": {false, true}, "3.1.0": {false, false}, "3.5.1-SNAPSHOT": {false, false},
		"4.0.0": {false, false}, "10.0": {false, false}, "3": {false, false}, "2": {true, true}, "": {false, false}, "x.y": {false, false}, "3.x": {false, false}, "-1.0": {true, true},
	} {
		if got := [2]bool{before(version, 3, 0), before(version, 3, 1)}; got != want {
			t.Errorf("%q: %v, want %v", version, got, want)
		}
	}
}
