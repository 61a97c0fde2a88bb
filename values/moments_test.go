package values

import (
	"encoding/binary"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/testrand"
	"bulkload/internal/test/testwords"
)

// momentGrammar recognises the form of a date or a moment by a pattern, whether or not a calendar has it.
func momentGrammar() func(text string) bool {
	pattern := regexp.MustCompile(`^[0-9]{4}(-[0-9]{2}-|/[0-9]{2}/)[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?( ?(Z|[+-]([0-9]{2})(:?([0-9]{2}))?))?)?$`)
	return func(text string) bool {
		m := pattern.FindStringSubmatch(text)
		if m == nil {
			return false
		}
		hour, _ := strconv.Atoi(m[7])
		minute, _ := strconv.Atoi(m[9])
		return minute <= 59 && 60*hour+minute <= 18*60
	}
}

// TestClockBounds: times that no clock shows are refused for that reason: leap seconds, the 24th hour, the month 0.
func TestClockBounds(t *testing.T) {
	for text, want := range map[string]string{
		"2016-12-31 23:59:60": problemClock, "2016-12-31 23:59:60.5Z": problemClock, "2016-12-31 24:00": problemClock, "2016-12-31 23:60": problemClock,
		"0000-12-31": "", "0000-00-01": problemClock, "0001-01-01": "", "9999-12-31 23:59:59.999999999": "", "10000-01-01": problemMoment, "-001-01-01": problemMoment,
		"2026-11-20 01:02:03+18:00": "", "2026-11-20 01:02:03-18:00": "", "2026-11-20 01:02:03+18:01": problemMoment, "2026-11-20 01:02:03-18:59": problemMoment,
		"2026-11-20 01:02:03+17:60": problemMoment, "2026-11-20Z": problemMoment, "2026-11-20 Z": problemMoment, "2026-11-20 01": problemMoment,
		"2026-11-20 01:02:03,5": problemMoment, "2026-11-20t01:02": problemMoment, "20261120": "", "202611200": problemMoment, "2026-11-20  01:02": problemMoment,
		"2026-11-20 01:02:03  Z": problemMoment, "2026-11-20 01:02:03z": problemMoment, "2026-11-20 01:02:03 ": problemMoment, "２０２６-11-20": problemMoment,
	} {
		if got := reader(t, KindTimestamp, "", "").Check([]byte(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestFractions: digits after the second become the milliseconds and the rest, also before 1970.
func TestFractions(t *testing.T) {
	read := reader(t, KindTimestamp, "", "")
	for text, want := range map[string]Moment{
		"1970-01-01 00:00:00.000000001": {0, 1}, "1970-01-01 00:00:00.999999999": {999, 999_999}, "1970-01-01 00:00:00.1": {100, 0},
		"1969-12-31 23:59:59.999999999": {-1, 999_999}, "1969-12-31 23:59:59.0000005": {-1000, 500}, "1969-12-31 23:59:59.5": {-500, 0},
		"1970-01-01 08:00:00.001+08:00": {1, 0}, "1969-12-31 16:00:00.000001 -0800": {0, 1000}, "1970-01-01 00:00:00.000999999": {0, 999_999},
	} {
		if got, problem := read.Moment([]byte(text)); got != want || problem != "" {
			t.Errorf("%s is %v, %s; want %v", text, got, problem, want)
		}
	}
	ascending := []Moment{{math.MinInt64, 0}, {-1, 999_999}, {0, 0}, {0, 1}, {1, 0}, {math.MaxInt64, 999_999}}
	for i, a := range ascending {
		for k, b := range ascending {
			if got := a.Compare(b); (got < 0) != (i < k) || (got > 0) != (i > k) {
				t.Errorf("%v and %v: %d", a, b, got)
			}
		}
	}
}

// TestCountedMoments: seconds and milliseconds are read up to the last that fits into a long, and no further.
func TestCountedMoments(t *testing.T) {
	for _, c := range []struct {
		format, text string
		want         int64
		problem      string
	}{
		{FormatMillis, "9223372036854775807", math.MaxInt64, ""}, {FormatMillis, "-9223372036854775808", math.MinInt64, ""},
		{FormatMillis, "9223372036854775808", 0, "number outside int64"}, {FormatMillis, "", 0, "not a whole number"}, {FormatMillis, "1e3", 0, "not a whole number"},
		{FormatSeconds, "9223372036854775", 9223372036854775000, ""}, {FormatSeconds, "-9223372036854775", -9223372036854775000, ""},
		{FormatSeconds, "9223372036854776", 0, "number outside int64"}, {FormatSeconds, "-9223372036854776", 0, "number outside int64"},
		{FormatSeconds, "9223372036854775807", 0, "number outside int64"}, {FormatSeconds, "-", 0, "not a whole number"}, {FormatSeconds, "2026-11-20", 0, "not a whole number"},
	} {
		for _, kind := range []TypeKind{KindTimestamp, KindDate} {
			m, problem := reader(t, kind, c.format, "Asia/Shanghai").Moment([]byte(c.text))
			if problem != c.problem || problem == "" && m != (Moment{Millis: c.want}) {
				t.Errorf("%v %s %s is %v, %q; want %d, %q", kind, c.format, c.text, m, problem, c.want, c.problem)
			}
		}
	}
}

// TestRefusedLeavesTheBuffer: a refused value does not change the buffer, and the reason never shows the value.
func TestRefusedLeavesTheBuffer(t *testing.T) {
	const secret = "s3cr3t"
	for _, name := range KindNames() {
		kind, _ := ParseKind(name)
		for _, format := range Formats() {
			r := reader(t, kind, format, "Europe/Berlin")
			for _, x := range []string{secret, "12" + secret, "0a" + secret, "2026-11-20 " + secret, strings.Repeat("9", 5000), "0a1", "\xff"} {
				dst := append(make([]byte, 0, 100), "kept"...)
				out, problem := r.AppendBinary(dst, []byte(x))
				if problem != "" && string(out) != "kept" || !strings.HasPrefix(string(out), "kept") {
					t.Errorf("%v %.20q: %q, %s", kind, x, out, problem)
				}
				if strings.Contains(problem, "3cr") {
					t.Errorf("%v %.20q: the reason %q shows the value", kind, x, problem)
				}
				if checked := (Type{Kind: kind}).Checked(); !checked && problem != "" {
					t.Errorf("%v is never checked and refuses %.20q: %s", kind, x, problem)
				}
			}
		}
	}
}

// TestKindsHaveNames: a kind's name is read as the kind, and nothing else is.
func TestKindsHaveNames(t *testing.T) {
	names := KindNames()
	if len(names) != int(KindHex) {
		t.Fatalf("%d names", len(names))
	}
	for i, name := range names {
		kind, ok := ParseKind(name)
		if !ok || int(kind) != i+1 || kind.String() != name {
			t.Errorf("%s is %v, %v", name, kind, ok)
		}
		if kind.Whole() && !kind.Number() || kind.Number() && kind.Moment() {
			t.Errorf("%v: whole %v, number %v, moment %v", kind, kind.Whole(), kind.Number(), kind.Moment())
		}
	}
	for _, name := range []string{"", "unknown", "INT16", "int", "int16 ", "date\x00"} {
		if kind, ok := ParseKind(name); ok {
			t.Errorf("%q is %v", name, kind)
		}
	}
	names[0] = "changed"
	if KindNames()[0] == "changed" {
		t.Error("whoever lists the names may change them")
	}
}

// TestMomentsShowTheirOffset: the text of a stored moment is that moment, in any zone and year that a clock shows, even
// if the zone's offset had seconds, as all had before 1900.
func TestMomentsShowTheirOffset(t *testing.T) {
	r := testrand.New(t)
	withSeconds := 0
	for _, zone := range []string{"", "UTC", "Asia/Shanghai", "America/St_Johns", "Asia/Kathmandu", "Pacific/Apia", "Africa/Monrovia", "Europe/Amsterdam"} {
		read := reader(t, KindTimestamp, "", zone)
		for range 1_000 {
			millis := r.Int64N(253_000_000_000_000+62_000_000_000_000) - 62_000_000_000_000
			shown, ok := read.AppendText(nil, binary.BigEndian.AppendUint64(nil, uint64(millis)))
			layout := "2006-01-02T15:04:05.000Z07:00"
			if len(shown) > len("2006-01-02T15:04:05.000+07:00") {
				layout = "2006-01-02T15:04:05.000Z07:00:00"
				withSeconds++
			}
			at, err := time.Parse(layout, string(shown))
			if !ok || err != nil || at.UnixMilli() != millis {
				t.Fatalf("%d in %s is shown as %s, which is %d, %v", millis, zone, shown, at.UnixMilli(), err)
			}
		}
	}
	if withSeconds == 0 {
		t.Error("no offset had seconds")
	}
}

// TestTextOfAnyBytes: bytes that AppendBinary did not write are shown or refused, without a panic and without changing
// the buffer before them.
func TestTextOfAnyBytes(t *testing.T) {
	r := testrand.New(t)
	for _, name := range KindNames() {
		kind, _ := ParseKind(name)
		read := reader(t, kind, "", "America/New_York")
		for _, size := range []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 21, 40} {
			for range 50 {
				raw := make([]byte, size)
				for i := range raw {
					raw[i] = []byte{0, 0xff, 0x7f, 0x80, byte(r.Uint32())}[r.IntN(5)]
				}
				out, ok := read.AppendText([]byte("<"), raw)
				if out[0] != '<' || !ok && len(out) > 1 {
					t.Fatalf("%v %x: %q, %v", kind, raw, out, ok)
				}
				if want := binarySizes[kind]; ok && want > 0 && size != want {
					t.Fatalf("%v %x of %d bytes is shown as %q", kind, raw, size, out)
				}
			}
		}
	}
}

// TestNothingIsAllocatedForWhatIsRefused: a file full of wrong values allocates no memory for a value either.
func TestNothingIsAllocatedForWhatIsRefused(t *testing.T) {
	dst := make([]byte, 0, 64)
	for _, name := range KindNames() {
		kind, _ := ParseKind(name)
		r, text := reader(t, kind, "", "America/New_York"), []byte("2026-13-45 nonsense")
		if n := testing.AllocsPerRun(100, func() { dst, _ = r.AppendBinary(dst[:0], text); _ = r.Check(text) }); n > 0 {
			t.Errorf("%v: %v allocations a value", kind, n)
		}
	}
	a, b := []byte("12345678901234567890123456789012345678901234567890.5"), []byte("1e400")
	if n := testing.AllocsPerRun(100, func() {
		x, _ := ParseNumber(a, true)
		y, _ := ParseNumber(b, true)
		_, _ = x.Compare(y)
	}); n > 0 {
		t.Errorf("%v allocations a comparison", n)
	}
}

// TestZonesThatAreNone: the refusal of a zone has its name, and what to write instead.
func TestZonesThatAreNone(t *testing.T) {
	for _, zone := range []string{"Asia/Nowhere", "asia/nowhere\x00", "Local", "/etc/localtime", "..", "Asia/", "GMT+8:00"} {
		_, err := NewReader(Type{KindTimestamp, "", zone})
		if !testwords.Names(err, strconv.Quote(zone), "Asia/Shanghai", "UTC") {
			t.Errorf("%q: %v", zone, err)
		}
	}
	for _, zone := range []string{"", "UTC"} {
		if l, err := (Type{Zone: zone}).Location(); l != nil || err != nil {
			t.Errorf("%q: %v, %v", zone, l, err)
		}
	}
}
