package values

import (
	"encoding/hex"
	"os"
	"strings"
	"testing"
)

func reader(t testing.TB, kind TypeKind, format, zone string) *ColumnParser {
	t.Helper()
	r, err := NewReader(Type{kind, format, zone})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// stored is the hex of the stored bytes or, in parentheses, the reason why nothing is stored.
func stored(r *ColumnParser, text string) string {
	out, problem := r.AppendBinary([]byte{0xAA}, []byte(text))
	if problem != "" {
		return "(" + problem + ")"
	}
	return hex.EncodeToString(out[1:])
}

// TestAsJava: see testdata/README.md. One reader reads all values of a kind and zone, so that its cache is tested, too.
func TestAsJava(t *testing.T) {
	text, err := os.ReadFile("testdata/vectors.txt")
	if err != nil {
		t.Fatal(err)
	}
	readers := map[string]*ColumnParser{}
	tried, refused := 0, 0
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		kind, ok := ParseKind(f[0])
		if !ok {
			t.Fatalf("kind %q", f[0])
		}
		r := readers[f[0]+f[1]]
		if r == nil {
			r = reader(t, kind, "", f[1])
			readers[f[0]+f[1]] = r
		}
		got := stored(r, f[2])
		if f[3] == "-" {
			refused++
			if got[:1] != "(" {
				t.Errorf("%s %q of %s is %s; Java refuses it", f[0], f[2], f[1], got)
			}
		} else if got != f[3] {
			t.Errorf("%s %q of %s is %s, Java has %s", f[0], f[2], f[1], got, f[3])
		}
		if problem := r.Check([]byte(f[2])); (problem == "") != (got[:1] != "(") {
			t.Errorf("%s %q: Check says %q, AppendBinary gives %s", f[0], f[2], problem, got)
		}
		tried++
	}
	if tried != 2377 || refused != 356 {
		t.Errorf("%d values were tried, of which Java refuses %d", tried, refused)
	}
}

// TestByHand: values that Java does not read, or reads differently.
func TestByHand(t *testing.T) {
	for _, c := range []struct {
		kind               TypeKind
		format, zone, text string
		want               string
	}{
		{KindUnknown, "", "", "any\xff", "616e79ff"},
		{KindText, "", "", "", ""},
		{KindBytes, "", "", "\x00\xff", "00ff"},
		{KindBoolean, "", "", "Y", "ff"},
		{KindBoolean, "", "", "1", "ff"},
		{KindBoolean, "", "", "F", "00"},
		{KindBoolean, "", "", "No", "00"},
		{KindBoolean, "", "", "", "(neither true nor false)"},
		{KindBoolean, "", "", "trues", "(neither true nor false)"},
		{KindBoolean, "", "", "2", "(neither true nor false)"},
		{KindHex, "", "", "0a 1f", "0a1f"},
		{KindHex, "", "", "", ""},
		{KindHex, "", "", "0a1", "(hex text with an odd number of digits)"},
		{KindHex, "", "", "0a  1f", "(not hex digits)"},
		{KindHex, "", "", "0a1f ", "(not hex digits)"},
		{KindHex, "", "", "zz", "(not hex digits)"},
		{KindFloat64, "", "", "Nan", "7ff8000000000000"},
		{KindFloat64, "", "", "-Inf", "fff0000000000000"},
		{KindFloat64, "", "", "1e400", "(number outside float64)"},
		{KindFloat32, "", "", "1e39", "(number outside float32)"},
		{KindFloat64, "", "", "0x1p3", "(not a number)"},
		{KindFloat64, "", "", "1_0", "(not a number)"},
		{KindInt32, "", "", "2147483648", "(number outside int32)"},
		{KindInt32, "", "", "", "(not a whole number)"},
		{KindDecimal, "", "", "١٢", "(not a decimal number)"}, // Java reads these digits
		{KindDecimal, "", "", strings.Repeat("9", 4097), "(decimal number too long)"},
		{KindDecimal, "", "", strings.Repeat("0", 9999) + "1", "0000000001"},
		{KindDate, "", "", "2026-11-20", "000001a1f640bc00"},
		{KindDate, "", "", "2026/11/20", "000001a1f640bc00"},
		{KindDate, "", "", "2026-11-20 00:00:00.0", "000001a1f640bc00"},
		{KindDate, "", "Asia/Shanghai", "2026-11-20", "000001a1f4894800"},
		{KindDate, "", "", "2026-11-20 00:00:01", "(a date with a time of day, which is a timestamp)"},
		{KindDate, "", "", "2026-11-2", "(not a date such as 2026-11-20)"},
		{KindDate, "", "", "2026-11/20", "(not a date such as 2026-11-20)"},
		{KindDate, "", "", "20-NOV-26", "(" + problemNLS + ")"},
		{KindTimestamp, "", "", "20-11月-26 01.02.03.000000 上午", "(" + problemNLS + ")"},
		{KindDate, "", "", "20-11-2026", "(not a date such as 2026-11-20)"},
		{KindDate, "", "", "2026-02-29", "(a date or time that no calendar or clock shows)"},
		{KindDate, "", "", "0000-00-00", "(a date or time that no calendar or clock shows)"},
		{KindTimestamp, "", "", "2026-11-20", "000001a1f640bc00"},
		{KindTimestamp, "", "", "2026-11-20 00:00", "000001a1f640bc00"},
		{KindTimestamp, "", "", "2026-11-20T00:00:00.1239Z", "000001a1f640bc7b"},
		{KindTimestamp, "", "Asia/Shanghai", "2026-11-20T00:00:00Z", "000001a1f640bc00"},
		{KindTimestamp, "", "", "2026-11-20 08:00:00 +0800", "000001a1f640bc00"},
		{KindTimestamp, "", "", "2026-11-20 08:00:00+08", "000001a1f640bc00"},
		{KindTimestamp, "", "", "2026-11-20 08:00:00+19:00", "(not a date with a time such as 2026-11-20 01:02:03)"},
		{KindTimestamp, "", "", "2026-11-20 08:00:00 ", "(not a date with a time such as 2026-11-20 01:02:03)"},
		{KindTimestamp, "", "", "2026-11-20 08:00:00.", "(not a date with a time such as 2026-11-20 01:02:03)"},
		{KindTimestamp, "", "", "2026-11-20 08:00:00.1234567890", "(not a date with a time such as 2026-11-20 01:02:03)"},
		{KindTimestamp, "", "", "1795132800000", "(not a date with a time such as 2026-11-20 01:02:03)"},
		{KindTimestamp, "", "", "", "(not a date with a time such as 2026-11-20 01:02:03)"},
		{KindTimestamp, FormatMillis, "", "1795132800000", "000001a1f640bc00"},
		{KindTimestamp, FormatSeconds, "", "1795132800", "000001a1f640bc00"},
		{KindTimestamp, FormatSeconds, "", "-1", "fffffffffffffc18"},
		{KindTimestamp, FormatSeconds, "", "9223372036854776", "(number outside int64)"},
		{KindTimestamp, FormatSeconds, "", "1795132800.5", "(not a whole number)"},
	} {
		if got := stored(reader(t, c.kind, c.format, c.zone), c.text); got != c.want {
			t.Errorf("%v %q (%s, %s) is %s, want %s", c.kind, c.text, c.format, c.zone, got, c.want)
		}
	}
}

func TestZonesAreNames(t *testing.T) {
	for _, zone := range []string{"Local", "Asia/Beijing", "+08:00", "../etc/passwd"} {
		if _, err := NewReader(Type{KindTimestamp, "", zone}); err == nil {
			t.Errorf("%q is taken for a zone", zone)
		}
	}
}

func TestCompareNumbers(t *testing.T) {
	ascending := []string{"-Infinity", "-1e400", "-100", "-99.5", "-1", "-0.001", "0", "0.0009", "0.001", "0.1", "1", "1.5", "1.50000001",
		"2", "9.99", "10", "1.0E10", "99999999999999999999999999999999999999.9", "1e400", "Infinity"}
	for i, a := range ascending {
		for k, b := range ascending {
			x, p1 := ParseNumber([]byte(a), true)
			y, p2 := ParseNumber([]byte(b), true)
			want := 0
			if i < k {
				want = -1
			} else if i > k {
				want = 1
			}
			if got, ok := x.Compare(y); got != want || !ok || p1+p2 != "" {
				t.Errorf("%s and %s: %d, %v, %s%s", a, b, got, ok, p1, p2)
			}
		}
	}
	for _, same := range [][2]string{{"0", "-0.00"}, {"1.5", "1.500"}, {"100", "1e2"}, {"0.01", "1E-2"}, {"007", "7"}, {".5", "0.5"}, {"5.", "5"}, {"10.0e-1", "1"}} {
		x, _ := ParseNumber([]byte(same[0]), false)
		y, _ := ParseNumber([]byte(same[1]), false)
		if got, ok := x.Compare(y); got != 0 || !ok {
			t.Errorf("%s and %s: %d, %v", same[0], same[1], got, ok)
		}
	}
	nan, _ := ParseNumber([]byte("NaN"), true)
	if _, ok := nan.Compare(nan); ok {
		t.Error("NaN compares with NaN")
	}
	if _, problem := ParseNumber([]byte("NaN"), false); problem == "" {
		t.Error("NaN is a decimal number")
	}
}

func TestNothingIsAllocated(t *testing.T) {
	dst := make([]byte, 0, 64)
	for _, c := range []struct {
		kind TypeKind
		text string
	}{
		{KindInt64, "-1234567890123"}, {KindDecimal, "-12345678901234567890123456789012345.678"}, {KindFloat64, "1.25E-7"}, {KindFloat32, "2.5"},
		{KindBoolean, "true"}, {KindTimestamp, "2026-11-20 01:02:03.0"}, {KindDate, "2026-11-20"}, {KindHex, "0a1f"},
	} {
		r, text := reader(t, c.kind, "", "America/New_York"), []byte(c.text)
		if n := testing.AllocsPerRun(100, func() { dst, _ = r.AppendBinary(dst[:0], text) }); n > 0 {
			t.Errorf("%v: %v allocations a value", c.kind, n)
		}
	}
}

func FuzzValues(f *testing.F) {
	for _, s := range []string{"", "0", "-1", "1.5e3", "NaN", "true", "2026-11-20 01:02:03.5+08:00", "1986-05-04 00:30:00", "0a 1f", "9999999999999999999999999999999999999999"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, x []byte) {
		for _, name := range KindNames() {
			kind, _ := ParseKind(name)
			for _, format := range Formats() {
				r := reader(t, kind, format, "Asia/Shanghai")
				_, problem := r.AppendBinary(nil, x)
				if check := r.Check(x); check != problem {
					t.Errorf("%v %q: Check says %q, AppendBinary %q", kind, x, check, problem)
				}
			}
		}
		n, problem := ParseNumber(x, false)
		if order, ok := n.Compare(n); problem == "" && (order != 0 || !ok) {
			t.Errorf("%q is not itself: %d, %v", x, order, ok)
		}
	})
}

func BenchmarkAppendBinary(b *testing.B) {
	for _, c := range []struct {
		kind TypeKind
		text string
	}{
		{KindInt64, "1234567890123"}, {KindDecimal, "12345678.90"}, {KindFloat64, "1234.25"}, {KindTimestamp, "2026-11-20 01:02:03.0"},
	} {
		b.Run(c.kind.String(), func(b *testing.B) {
			r, text := reader(b, c.kind, "", "Asia/Shanghai"), []byte(c.text)
			var dst []byte
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				dst, _ = r.AppendBinary(dst[:0], text)
			}
		})
	}
}

// TestTextOfBinary: the text shown for a stored value is the value, and is stored as the same bytes.
func TestTextOfBinary(t *testing.T) {
	for _, c := range []struct {
		kind             TypeKind
		zone, text, want string
	}{
		{KindInt16, "", "-5", "-5"}, {KindInt32, "", "+07", "7"}, {KindInt64, "", "-9223372036854775808", "-9223372036854775808"},
		{KindDecimal, "", "1.50", "1.50"}, {KindDecimal, "", "-0.001", "-0.001"}, {KindDecimal, "", "1e3", "1E3"}, {KindDecimal, "", "-129", "-129"},
		{KindDecimal, "", "-99999999999999999999999999999999999999999.5", "-99999999999999999999999999999999999999999.5"}, {KindDecimal, "", "0.00", "0.00"},
		{KindFloat32, "", "0.1", "0.1"}, {KindFloat64, "", "-1.5E300", "-1.5e+300"}, {KindFloat64, "", "NaN", "NaN"},
		{KindBoolean, "", "Y", "true"}, {KindBoolean, "", "0", "false"}, {KindHex, "", "0A 1f", "0a1f"}, {KindText, "", "é", "é"},
		{KindDate, "Asia/Shanghai", "2026-11-20", "2026-11-20"}, {KindTimestamp, "Asia/Shanghai", "2026-11-20 01:02:03.0", "2026-11-20T01:02:03.000+08:00"},
		{KindTimestamp, "", "2026-11-20 01:02:03.4567", "2026-11-20T01:02:03.456Z"},
	} {
		r := reader(t, c.kind, "", c.zone)
		stored, _ := r.AppendBinary(nil, []byte(c.text))
		got, ok := r.AppendText(nil, stored)
		if !ok || string(got) != c.want {
			t.Errorf("%v %s is shown as %q, want %q", c.kind, c.text, got, c.want)
		}
		if again, _ := r.AppendBinary(nil, got); !strings.EqualFold(hex.EncodeToString(again), hex.EncodeToString(stored)) && c.want[len(c.want)-1] != 'Z' {
			t.Errorf("%v %s is stored as %x, and %s, as which it is shown, as %x", c.kind, c.text, stored, got, again)
		}
	}
	for _, kind := range []TypeKind{KindInt16, KindInt32, KindInt64, KindDecimal, KindFloat32, KindFloat64, KindBoolean, KindTimestamp} {
		for _, wrong := range []string{"", "abc"} {
			if text, ok := reader(t, kind, "", "").AppendText(nil, []byte(wrong)); ok {
				t.Errorf("%v: %q is shown as %q", kind, wrong, text)
			}
		}
	}
}
