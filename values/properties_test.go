package values

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/testrand"
)

func digits(r *rand.Rand, most int) string {
	b := make([]byte, r.IntN(most+1))
	for i := range b {
		b[i] = '0' + byte(r.IntN(10))
	}
	if len(b) > 0 && r.IntN(4) == 0 {
		copy(b, "0000"[:min(4, len(b))])
	}
	return string(b)
}

// decimalText draws a decimal number in any of the forms that BigDecimal reads, or in one that it does not.
func decimalText(r *rand.Rand) string {
	text := []string{"", "-", "+"}[r.IntN(3)] + digits(r, 45)
	if r.IntN(2) == 0 {
		text += "." + digits(r, 45)
	}
	if r.IntN(3) == 0 {
		text += []string{"e", "E", "e-", "E+"}[r.IntN(4)] + digits(r, 3)
	}
	return text
}

// exactly reads a decimal number in another way: as an unscaled number and its scale. It is nil for a text that is no
// number.
func exactly(text string) (unscaled *big.Int, scale int64) {
	mantissa, exponent, scaled := strings.Cut(strings.ToLower(text), "e")
	e, err := strconv.ParseInt(exponent, 10, 32)
	if scaled && err != nil {
		return nil, 0
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	unsigned := strings.TrimLeft(whole, "+-") + fraction
	if unsigned == "" {
		return nil, 0
	}
	unscaled, ok := new(big.Int).SetString(unsigned, 10)
	if !ok {
		return nil, 0
	}
	if strings.HasPrefix(whole, "-") {
		unscaled.Neg(unscaled)
	}
	return unscaled, int64(len(fraction)) - e
}

// twosComplement is BigInteger.toByteArray, found by trying ever larger sizes.
func twosComplement(n *big.Int) []byte {
	for size := uint(1); ; size++ {
		limit := new(big.Int).Lsh(big.NewInt(1), 8*size-1)
		if n.Cmp(limit) < 0 && n.Cmp(new(big.Int).Neg(limit)) >= 0 {
			if n.Sign() < 0 {
				n = new(big.Int).Add(n, new(big.Int).Lsh(limit, 1))
			}
			return n.FillBytes(make([]byte, size))
		}
	}
}

// TestEdgesAsJava: see testdata/README.md. The values are those next to the bounds of a type, the middle of two
// floating-point numbers, and the clocks of zones on both sides of each change.
func TestEdgesAsJava(t *testing.T) {
	text, err := os.ReadFile("testdata/edges.txt")
	if err != nil {
		t.Fatal(err)
	}
	tried := map[string]int{}
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		kind, ok := ParseKind(f[0])
		if !ok || len(f) != 4 {
			t.Fatalf("%q", line)
		}
		got := stored(reader(t, kind, "", f[1]), f[2])
		if got != f[3] && (f[3] != "-" || got[0] != '(') {
			t.Errorf("%s %q of %q is %s, Java has %s", f[0], f[2], f[1], got, f[3])
		}
		tried[f[0]]++
	}
	if len(tried) != 4 || tried["decimal"] < 300 || tried["timestamp"] < 500 || tried["float32"] < 300 || tried["float64"] < 150 {
		t.Errorf("tried %v", tried)
	}
}

// TestDecimalsAreExact: every decimal number is stored as its scale and its unscaled value, to the last digit, and
// shown as a number that equals it.
func TestDecimalsAreExact(t *testing.T) {
	r, read := testrand.New(t), reader(t, KindDecimal, "", "")
	numbers := 0
	for range 20_000 {
		text := decimalText(r)
		unscaled, scale := exactly(text)
		got := stored(read, text)
		if unscaled == nil {
			if got != "(not a decimal number)" {
				t.Fatalf("%q is not a number and stored as %s", text, got)
			}
			continue
		}
		numbers++
		want := binary.BigEndian.AppendUint32(nil, uint32(int32(scale)))
		if want = append(want, twosComplement(unscaled)...); got != hex.EncodeToString(want) {
			t.Fatalf("%q is stored as %s, want %x", text, got, want)
		}
		shown, ok := read.AppendText([]byte("<"), want)
		if !ok || shown[0] != '<' {
			t.Fatalf("%q is shown as %q, %v", text, shown, ok)
		}
		if again := stored(read, string(shown[1:])); again != got {
			t.Fatalf("%q is shown as %s, which is stored as %s, not %s", text, shown[1:], again, got)
		}
	}
	if numbers < 10_000 {
		t.Errorf("only %d numbers were drawn", numbers)
	}
}

// TestNumbersCompareAsRationals: any two decimal numbers are ordered as math/big orders them.
func TestNumbersCompareAsRationals(t *testing.T) {
	r := testrand.New(t)
	rational := func(text string) *big.Rat {
		unscaled, scale := exactly(text)
		if unscaled == nil {
			return nil
		}
		power := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(max(scale, -scale)), nil))
		if scale > 0 {
			power.Inv(power)
		}
		return power.Mul(power, new(big.Rat).SetInt(unscaled))
	}
	orders := map[int]int{}
	for range 10_000 {
		a, b := decimalText(r), decimalText(r)
		switch r.IntN(3) {
		case 0: // equal, in another form
			if _, exponent, ok := strings.Cut(strings.ToLower(a), "e"); !ok && strings.Contains(a, ".") && exponent == "" {
				b = a + strings.Repeat("0", r.IntN(5))
			}
		case 1: // equal up to the last digits
			if len(a) > 1 && len(a) < 40 {
				b = a[:len(a)-1] + strconv.Itoa(r.IntN(10))
			}
		}
		x, y := rational(a), rational(b)
		if x == nil || y == nil {
			continue
		}
		n, p1 := ParseNumber([]byte(a), r.IntN(2) == 0)
		m, p2 := ParseNumber([]byte(b), r.IntN(2) == 0)
		got, ordered := n.Compare(m)
		if p1+p2 != "" || !ordered || got != x.Cmp(y) {
			t.Fatalf("%s and %s: %d, %v, %s%s; want %d", a, b, got, ordered, p1, p2, x.Cmp(y))
		}
		if back, _ := m.Compare(n); back != -got {
			t.Fatalf("%s and %s: %d, and the other way round %d", a, b, got, back)
		}
		orders[got]++
	}
	if len(orders) != 3 {
		t.Errorf("orders %v", orders)
	}
}

// TestSpecialNumbersAreOrdered: an infinity is beyond any finite number of any length; NaN is not ordered.
func TestSpecialNumbersAreOrdered(t *testing.T) {
	finite := []string{"0", "-0", "1e2147483646", "-1e2147483646", "1e-2147483646", strings.Repeat("9", maxDigits)}
	for _, text := range finite {
		n, problem := ParseNumber([]byte(text), true)
		if problem != "" {
			t.Fatalf("%.20s: %s", text, problem)
		}
		for special, want := range map[string]int{"Infinity": -1, "+Infinity": -1, "Inf": -1, "-Infinity": 1, "-Inf": 1} {
			s, _ := ParseNumber([]byte(special), true)
			if got, ok := n.Compare(s); got != want || !ok {
				t.Errorf("%.20s and %s: %d, %v", text, special, got, ok)
			}
		}
		for _, nan := range []string{"NaN", "Nan"} {
			s, _ := ParseNumber([]byte(nan), true)
			if _, ok := n.Compare(s); ok {
				t.Errorf("%.20s and %s are ordered", text, nan)
			}
		}
	}
	for _, text := range []string{"nan", "NAN", "inf", "INFINITY", "-NaN", "++Infinity", "Infinityx", " NaN"} {
		if _, problem := ParseNumber([]byte(text), true); problem == "" {
			t.Errorf("%q is a number", text)
		}
	}
}

// TestDecimalLimits: a number is refused beyond 4096 digits and beyond the scales of an int, and not before.
func TestDecimalLimits(t *testing.T) {
	nines := strings.Repeat("9", maxDigits)
	for text, want := range map[string]string{
		nines: "", "-" + nines: "", "." + nines: "", "000" + nines: "", nines + ".": "",
		nines + "9": "decimal number too long", nines + ".0": "decimal number too long", "1" + strings.Repeat("0", maxDigits): "decimal number too long",
		"0." + strings.Repeat("0", 2*maxDigits) + "1": "",
		"1e-2147483647": "", "1e2147483647": "", "0.01e-2147483645": "",
		"0.01e-2147483646": "decimal number too long", "1e-2147483648": "decimal number too long", "1e2147483648": "not a decimal number",
		"1e9223372036854775807": "not a decimal number", "1e-9223372036854775808": "not a decimal number", "1e9223372036854775808": "not a decimal number",
		"1" + "\x00": "not a decimal number", "１": "not a decimal number", "": "not a decimal number", "e": "not a decimal number", "1e": "not a decimal number",
	} {
		if got := reader(t, KindDecimal, "", "").Check([]byte(text)); got != want {
			t.Errorf("%.30q of %d bytes: %q, want %q", text, len(text), got, want)
		}
	}
}

// TestWholeNumbersAreExact: any digits with any sign and zeros are read as math/big reads them, or are outside the
// kind.
func TestWholeNumbersAreExact(t *testing.T) {
	r := testrand.New(t)
	bits := map[TypeKind]uint{KindInt16: 16, KindInt32: 32, KindInt64: 64}
	for range 20_000 {
		kind := []TypeKind{KindInt16, KindInt32, KindInt64}[r.IntN(3)]
		n := new(big.Int).Lsh(big.NewInt(1), bits[kind]-1) // the first that is too large
		n.Add(n, big.NewInt(r.Int64N(5)-2))
		if r.IntN(3) == 0 {
			n.SetUint64(r.Uint64() >> r.IntN(64))
		}
		if r.IntN(2) == 0 {
			n.Neg(n)
		}
		text := strings.Repeat("0", r.IntN(30)) + new(big.Int).Abs(n).String()
		if n.Sign() < 0 {
			text = "-" + text
		} else if r.IntN(2) == 0 {
			text = "+" + text
		}
		limit := new(big.Int).Lsh(big.NewInt(1), bits[kind]-1)
		fits := n.Cmp(limit) < 0 && n.Cmp(new(big.Int).Neg(limit)) >= 0
		want := "(number outside " + kind.String() + ")"
		if !n.IsInt64() {
			want = "(number outside int64)"
		} else if fits {
			want = fmt.Sprintf("%016x", uint64(n.Int64()))[16-bits[kind]/4:]
		}
		if got := stored(reader(t, kind, "", ""), text); got != want {
			t.Fatalf("%v %s is %s, want %s", kind, text, got, want)
		}
		if n.IsInt64() && kind.Holds(n.Int64()) != fits {
			t.Fatalf("%v holds %v: %v", kind, n, !fits)
		}
	}
}

// TestFloatsKeepTheirBits: every number is read back to the bit from its shortest text, its longest, and the text shown
// for it.
func TestFloatsKeepTheirBits(t *testing.T) {
	r := testrand.New(t)
	for _, kind := range []TypeKind{KindFloat32, KindFloat64} {
		read, size := reader(t, kind, "", ""), map[TypeKind]int{KindFloat32: 4, KindFloat64: 8}[kind]
		for range 5_000 {
			bits := r.Uint64() >> (64 - 8*size) >> (r.IntN(2) * r.IntN(8*size)) // small ones are subnormal
			f := math.Float64frombits(bits)
			if size == 4 {
				f = float64(math.Float32frombits(uint32(bits)))
			}
			if math.IsNaN(f) || math.IsInf(f, 0) {
				continue
			}
			want := fmt.Sprintf("%0*x", 2*size, bits)
			raw, _ := hex.DecodeString(want)
			shown, ok := read.AppendText(nil, raw)
			for _, text := range []string{strconv.FormatFloat(f, 'E', -1, 8*size), strconv.FormatFloat(f, 'f', -1, 8*size), new(big.Float).SetFloat64(f).Text('e', 800), string(shown)} {
				if got := stored(read, text); got != want || !ok {
					t.Fatalf("%v %.60s is %s, want %s", kind, text, got, want)
				}
			}
		}
	}
}

// TestNoNaNButOne: Java's Bytes has only one NaN, and a zero keeps its sign.
func TestNoNaNButOne(t *testing.T) {
	for text, want := range map[string][2]string{
		"NaN": {"7fc00000", "7ff8000000000000"}, "Nan": {"7fc00000", "7ff8000000000000"},
		"-0": {"80000000", "8000000000000000"}, "-0.0e5": {"80000000", "8000000000000000"}, "+0": {"00000000", "0000000000000000"},
		// too small becomes 0, as in Java
		"-1e-400": {"80000000", "8000000000000000"}, "1e-400": {"00000000", "0000000000000000"},
		"3.4028235677973367e38": {"(number outside float32)", "47effffff0000000"}, "3.4028235677973366e38": {"7f7fffff", "47effffff0000000"},
		"1.7976931348623159e308": {"(number outside float32)", "(number outside float64)"},
	} {
		for i, kind := range []TypeKind{KindFloat32, KindFloat64} {
			if got := stored(reader(t, kind, "", ""), text); got != want[i] {
				t.Errorf("%v %s is %s, want %s", kind, text, got, want[i])
			}
		}
	}
}

// TestHexIsEncodingHex: hex is read with and without blanks between bytes, in any case, and nothing else is.
func TestHexIsEncodingHex(t *testing.T) {
	r, read := testrand.New(t), reader(t, KindHex, "", "")
	for range 5_000 {
		raw := make([]byte, r.IntN(6))
		for i := range raw {
			raw[i] = byte(r.Uint32())
		}
		text := ""
		for i, b := range raw {
			if i > 0 && r.IntN(2) == 0 {
				text += " "
			}
			text += fmt.Sprintf([]string{"%02x", "%02X"}[r.IntN(2)], b)
		}
		if got := stored(read, text); got != hex.EncodeToString(raw) {
			t.Fatalf("%q is %s, want %x", text, got, raw)
		}
		broken := []byte(text + "?")
		copy(broken[r.IntN(len(broken)):], []string{"g", "\x00", "\xff", "-", "/", ":", "@", "`"}[r.IntN(8)])
		if got := stored(read, string(broken)); got[0] != '(' {
			t.Fatalf("%q is %s", broken, got)
		}
	}
}

// TestBooleanWords: the ten words are read in any case, and no other text of up to three letters or with one more byte.
func TestBooleanWords(t *testing.T) {
	words := map[string]bool{"true": true, "t": true, "yes": true, "y": true, "1": true, "false": false, "f": false, "no": false, "n": false, "0": false}
	for word, want := range words {
		for mask := range 1 << len(word) {
			text := []byte(word)
			for i := range text {
				if mask>>i&1 == 1 {
					text[i] = byte(strings.ToUpper(word)[i])
				}
			}
			if got, problem := ParseBoolean(text); got != want || problem != "" {
				t.Errorf("%s: %v, %s", text, got, problem)
			}
		}
		for b := range 256 {
			for _, text := range []string{word + string([]byte{byte(b)}), string([]byte{byte(b)}) + word} {
				_, known := words[strings.ToLower(text)]
				if _, problem := ParseBoolean([]byte(text)); (problem == "") != known {
					t.Errorf("%q: %q", text, problem)
				}
			}
		}
	}
	if _, problem := ParseBoolean([]byte("ſ")); problem == "" { // its upper case is S
		t.Error("a letter beyond ASCII")
	}
}

// instants finds the time for which java.time.ZonedDateTime.of reads a clock time, by trying every offset that the zone
// had around it: the first of the instants at which clocks showed it or, if none did, that of the offset before the
// change.
func instants(location *time.Location, shown int64) int64 {
	offsets := map[int64]bool{}
	change := int64(math.MaxInt64)
	_, last := time.Unix(shown-3*secondsOfDay, 0).In(location).Zone()
	before := int64(last)
	for at := shown - 3*secondsOfDay; at <= shown+3*secondsOfDay; at += 300 {
		_, offset := time.Unix(at, 0).In(location).Zone()
		offsets[int64(offset)] = true
	}
	first := change
	for offset := range offsets {
		if _, real := time.Unix(shown-offset, 0).In(location).Zone(); int64(real) == offset {
			first = min(first, shown-offset)
		}
	}
	if first != math.MaxInt64 {
		return first
	}
	return shown - before
}

// TestClocksOfZones: near changes of the clocks and far from them, with one reader's values in any order, a clock time
// is the instant that a search over all offsets finds.
func TestClocksOfZones(t *testing.T) {
	r := testrand.New(t)
	for _, name := range []string{"Asia/Shanghai", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Europe/Dublin", "Africa/Casablanca",
		"Antarctica/Troll", "America/St_Johns", "Asia/Kathmandu", "America/Caracas", "Africa/Monrovia", "Asia/Gaza", "America/Scoresbysund"} {
		location, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		read := reader(t, KindTimestamp, "", name)
		for range 400 {
			at := time.Unix(r.Int64N(2_500_000_000)-300_000_000, 0).In(location)
			_, offset := at.Zone()
			shown := at.Unix() + int64(offset)
			if start, end := at.ZoneBounds(); r.IntN(3) > 0 && !start.IsZero() && !end.IsZero() {
				shown = []time.Time{start, end}[r.IntN(2)].Unix() + int64(offset) + r.Int64N(7200*2) - 7200
			}
			text := time.Unix(shown, 0).UTC().Format("2006-01-02 15:04:05")
			m, problem := read.Moment([]byte(text))
			if want := instants(location, shown) * 1000; problem != "" || m.Millis != want {
				t.Fatalf("%s in %s is %d, %s; want %d", text, name, m.Millis, problem, want)
			}
			if fresh, _ := reader(t, KindTimestamp, "", name).Moment([]byte(text)); fresh != m {
				t.Fatalf("%s in %s is %v, and %v to a reader that has seen other times", text, name, fresh, m)
			}
		}
	}
}

// TestEveryDay: each day of the years 1 to 9999 is the same as in Go's calendar; days that do not exist are refused.
func TestEveryDay(t *testing.T) {
	read := reader(t, KindDate, "", "")
	day := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	for ; day.Year() < 10000; day = day.AddDate(0, 0, 1) {
		if testing.Short() && day.Year()%100 > 4 {
			day = day.AddDate(95, 0, 0)
			continue
		}
		text := day.AppendFormat(nil, time.DateOnly)
		if m, problem := read.Moment(text); problem != "" || m.Millis != day.UnixMilli() || m.Nanos != 0 {
			t.Fatalf("%s is %v, %s; want %d", text, m, problem, day.UnixMilli())
		}
		if shown, ok := read.AppendText(nil, binary.BigEndian.AppendUint64(nil, uint64(day.UnixMilli()))); !ok || !bytes.Equal(shown, text) {
			t.Fatalf("%s is shown as %s", text, shown)
		}
	}
	for _, year := range []int{1, 4, 100, 400, 1582, 1900, 2000, 2023, 2024, 9999} {
		for month := 0; month <= 13; month++ {
			for of := 0; of <= 32; of++ {
				real := time.Date(year, time.Month(month), of, 0, 0, 0, 0, time.UTC)
				valid := real.Day() == of && real.Month() == time.Month(month) && real.Year() == year
				text := fmt.Sprintf("%04d/%02d/%02d", year, month, of)
				if problem := read.Check([]byte(text)); (problem == "") != valid || !valid && problem != problemClock {
					t.Errorf("%s: %q", text, problem)
				}
			}
		}
	}
}

// TestMomentGrammar: each text with one byte changed, removed or inserted is read with its new meaning, or refused; no
// text outside the grammar is read.
func TestMomentGrammar(t *testing.T) {
	read := reader(t, KindTimestamp, "", "")
	grammar := momentGrammar()
	for _, text := range []string{"2026-11-20", "2026/11/20 01:02", "2026-11-20T01:02:03", "2026-11-20 01:02:03.123456789", "2026-11-20 01:02:03Z",
		"2026-11-20 01:02:03.5 +08:00", "2026-11-20 01:02-0330", "2026-11-20 01:02:03+18"} {
		if problem := read.Check([]byte(text)); problem != "" {
			t.Errorf("%s: %s", text, problem)
		}
		for at := range len(text) + 1 {
			for _, put := range []string{"", "0", "9", " ", ":", "-", "+", "T", "Z", ".", "/", "\x00", "\xff", "t"} {
				for _, gone := range []int{0, 1} {
					if at+gone > len(text) {
						continue
					}
					changed := text[:at] + put + text[at+gone:]
					problem := read.Check([]byte(changed))
					if (problem == problemMoment) == grammar(changed) {
						t.Errorf("%q: %q", changed, problem)
					}
				}
			}
		}
	}
}
