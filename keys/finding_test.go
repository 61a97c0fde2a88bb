package keys

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/values"
)

func TestFindings(t *testing.T) {
	for _, c := range []struct {
		text, query string
		want        string // code@position, with ! where it is a warning
	}{
		{"salt(free, 10) + md5(free) + guid", "free", ""},
		{"timestamp + '-' + free", "", "monotonic!@1"},
		{"'v1' + date(free, 'yyyyMMdd') + free", "", "monotonic!@8"},
		{"millis(free) + guid", "", "monotonic!@1"},
		{"int64(epoch) + guid", "", "monotonic!@1"},
		{"pad(int64, 20) + guid", "int64", "monotonic@1"},
		{"int64 + '-' + guid", "int64", "monotonic@1 unpadded@1"},
		{"substr(millis(free), 0, 5) + guid", "", "monotonic!@1"},
		{"desc(int64) + guid", "", "monotonic!@1"},
		{"desc(seconds(free), 9999999999) + guid", "", "monotonic!@1"},
		{"desc(desc(epoch)) + guid", "", "monotonic!@1"},
		{"date(free, 'MMdd') + '-' + guid", "", "cycle!@1"},
		{"date(free, 'HH') + guid", "", "cycle!@1"},
		{"date(free, 'ddMMyyyy') + guid", "", ""},
		{"random_salt(4) + guid", "guid", "random-salt!@1"},
		{"salt(guid, 4) + free + '-' + guid", "free", "open-salt!@1"},
		{"salt(free, 4) + text + '-' + guid", "free", ""},
		{"guid + salt(free, 4)", "guid", "late-salt@8"},
		{"'v' + salt(free, 4) + guid", "free", ""},
		{"short_salt(free, 16) + md5(free) + guid", "free", ""},
		{"short_salt(guid, 4) + free + '-' + guid", "free", "open-salt!@1"},
		{"guid + text", "", ""},
		{"text + free", "", "no-separator!@1"},
		{"guid + text + free + '-' + free", "", "no-separator!@8"},
		{"text + '-' + free", "", ""},
		{"text + guid", "text", "open-prefix!@1"},
		{"text + '-' + guid", "text", ""},
		{"text", "text", ""},
		{"guid + text + '-' + free", "guid free", "unused-query!@1"},
		{"guid + text + '-' + free", "nobody", "open-salt!@1"},
		{"reverse(text) + '-' + guid", "", "turned-unfixed!@1"},
		{"reverse(text, 12) + guid", "", ""},
		{"reverse(guid)", "", ""},
		{"'x' + rotate(free, 4)", "", "turned-unfixed!@7"},
		{"md5(reverse(text), 4) + guid", "", "turned-unfixed!@5"},
		{"rotate(pad(text, 8), 4)", "", ""},
		{"guid + desc(int64, 9999999999)", "", "complement!@8"},
		{"guid + desc(int32, 9999999999)", "", ""},
		{"guid + desc(epoch_seconds, 9999999999)", "", ""},
		{"guid + desc(decimal)", "", ""},
		{"guid + int32(int32)", "", ""},
		{"guid + int64(free)", "", ""},
		{"'only'", "", "constant!@1"},
		{"md5(free) + '中文' + text + free", "", "no-separator!@20"},
	} {
		e := parseTyped(t, c.text)
		var got []string
		for _, f := range e.Findings(strings.Fields(c.query)) {
			mark := ""
			if f.Warning {
				mark = "!"
			}
			got = append(got, fmt.Sprintf("%s%s@%d", f.Code, mark, f.Position))
			at := string([]rune(c.text)[f.Position-1:])
			if !strings.HasPrefix(at, f.Part) || f.Part == "" || f.Reason == "" || f.Remedy == "" {
				t.Errorf("%s: %+v", c.text, f)
			}
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s by %q: %s, want %s", c.text, c.query, s, c.want)
		}
	}
}

func TestParts(t *testing.T) {
	parts := parseTyped(t, "'中' + salt(free, 10)+ md5(free, 4) + desc( millis(date) ) + date(free, 'MMdd') + random_salt(3) + mod(free, 7) + guid").Parts()
	free, guid, date := 12, 13, 8
	want := []Part{
		{Text: "'中'", Position: 1, Literal: true, Width: Width{3, 3}},
		{Text: "salt(free, 10)", Position: 7, Columns: []int{free}, Width: Width{1, 1}, Values: 10, Even: true},
		{Text: "md5(free, 4)", Position: 23, Columns: []int{free}, Width: Width{4, 4}, Even: true},
		{Text: "desc( millis(date) )", Position: 38, Columns: []int{date}, Unzoned: []int{date}, Width: Width{19, 19}, Order: Descending, Moment: true},
		{Text: "date(free, 'MMdd')", Position: 61, Columns: []int{free}, Width: Width{4, 4}, Order: Ascending, Moment: true, Cycle: 365 * 24 * time.Hour},
		{Text: "random_salt(3)", Position: 82, Record: true, Width: Width{1, 1}, Values: 3, Even: true},
		{Text: "mod(free, 7)", Position: 99, Columns: []int{free}, Width: Width{1, 1}, Values: 7, Even: true},
		{Text: "guid", Position: 114, Columns: []int{guid}, Width: Width{32, 32}},
	}
	if len(parts) != len(want) {
		t.Fatalf("%d parts", len(parts))
	}
	for i, got := range parts {
		if w := want[i]; fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", w) {
			t.Errorf("part %d is\n%+v, want\n%+v", i, got, w)
		}
	}
}

// TestTurned: which columns a part turns round as they are, wherever in it that is.
func TestTurned(t *testing.T) {
	columns := []KeyColumn{{Name: "reverse_id"}, {Name: "rotated"}, {Name: "id", Width: 10}}
	for text, want := range map[string][]int{
		"reverse_id":                        nil,
		"upper(reverse_id)":                 nil,
		"reverse(reverse_id)":               {0},
		"upper( reverse(rotated) )":         {1},
		"upper(reverse(rotated) + 'x')":     {1},
		"rotate(reverse_id, 2)":             {0},
		"reverse(reverse_id, 12)":           nil,
		"reverse(id)":                       nil,
		"reverse(substr(reverse_id, 0, 3))": nil,
		"reverse(rotated + id)":             nil,
		"md5(reverse(reverse_id), 4)":       {0},
		"random_salt(3)":                    nil,
		"'reverse(id)'":                     nil,
	} {
		e, err := Parse(text, columns)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Parts()[0].Reversed; !slices.Equal(got, want) {
			t.Errorf("%s turns columns %v, want %v", text, got, want)
		}
	}
}

func TestUnzonedColumns(t *testing.T) {
	columns := []KeyColumn{{Name: "id"}, {Name: "paid"}, {Name: "zoned", Zone: time.FixedZone("CST", 8*60*60)},
		{Name: "epoch", Kind: values.KindTimestamp, Unit: time.Second}}
	for text, want := range map[string][]int{
		"millis(paid)":                  {1},
		"seconds(paid)":                 {1},
		"desc(millis(paid))":            {1},
		"millis(paid, 'Asia/Shanghai')": nil,
		"millis(paid, 'UTC')":           nil,
		"millis(zoned)":                 nil,
		"millis(epoch)":                 nil,
		"date(paid, 'yyyyMMdd')":        nil, // the clock as it is written
		"md5(paid)":                     nil,
	} {
		e, err := Parse(text+" + id", columns)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Parts()[0].Unzoned; !slices.Equal(got, want) {
			t.Errorf("%s reads columns %v as UTC, want %v", text, got, want)
		}
	}
}

func TestCycles(t *testing.T) {
	const day = 24 * time.Hour
	for layout, want := range map[string]time.Duration{"yyyyMMdd": 0, "ddMMyy": 0, "MMdd": 365 * day, "DDD": 365 * day, "dd": 28 * day, "HHmm": day, "mm": time.Hour, "ss SSS": time.Minute, "SSS": time.Second} {
		if got := parseTyped(t, "date(free, '"+layout+"')").Parts()[0].Cycle; got != want {
			t.Errorf("%s comes again after %v, want %v", layout, got, want)
		}
	}
	for layout, want := range map[string]bool{"yyyyMMddHHmmssSSS": true, "yyyyDDDHH": true, "MMdd": true, "HH": true, "ddMM": false, "MMyyyy": false} {
		if got := parseTyped(t, "date(free, '"+layout+"')").Parts()[0].Order == Ascending; got != want {
			t.Errorf("%s goes up with time: %v", layout, got)
		}
	}
}

// TestOrders compares what the parts say of their order with keys of growing numbers and moments.
func TestOrders(t *testing.T) {
	for text, want := range map[string]int{
		"pad(int64, 19)": 1, "int64(int64)": 1, "int32(int32)": 1, "desc(int64)": -1, "desc(int64, 9999999999)": -1, "millis(epoch)": 1, "seconds(epoch_seconds)": 1,
		"desc(millis(epoch))": -1, "desc(seconds(epoch_seconds), 9999999999)": -1, "date(epoch_seconds, 'yyyyMMddHHmmssSSS')": 1, "desc(date(epoch_seconds, 'yyyyMMdd'))": -1,
		"substr(pad(int64, 19), 0, 15)": 1, "upper(pad(int64, 12))": 1, "unhex(pad(int64, 20))": 1,
	} {
		e := parseTyped(t, text)
		var made []string
		for _, n := range []string{"0", "7", "10", "99", "100", "86399", "86400", "999999", "1548938096", "2147483647"} {
			key, err := appended(t, e, n)
			if err != nil {
				t.Fatalf("%s of %s: %v", text, n, err)
			}
			made = append(made, key)
		}
		if want < 0 {
			slices.Reverse(made)
		}
		if !slices.IsSorted(made) {
			t.Errorf("%s: %q", text, made)
		}
		if got := e.Parts()[0].Order; got == Ascending != (want > 0) || got == Descending != (want < 0) {
			t.Errorf("%s says its order is %v", text, got)
		}
	}
}

// TestNegativeNumbersSortAsBytesDo: as Bytes.toBytes has it, and not as numbers do.
func TestNegativeNumbersSortAsBytesDo(t *testing.T) {
	var made []string
	for _, n := range []string{"0", "1", "2147483647", "-2147483648", "-2", "-1"} {
		for _, text := range []string{"int64(free)", "int32(free)"} {
			key, err := appended(t, parseTyped(t, text), n)
			if err != nil {
				t.Fatal(err)
			}
			if text == "int32(free)" {
				made = append(made, key)
			}
		}
	}
	if !slices.IsSorted(made) {
		t.Errorf("%q", made)
	}
}
