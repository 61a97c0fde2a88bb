package partition

import (
	"strings"
	"testing"

	"bulkload/internal/test/testwords"
)

func regions(t testing.TB, splits ...string) *Regions {
	t.Helper()
	var b [][]byte
	for _, s := range splits {
		b = append(b, []byte(s))
	}
	r, err := NewRegions(b)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRegionsHoldRows(t *testing.T) {
	r := regions(t, "1", "2", "25", "9")
	for row, want := range map[string]int{"": 0, "0": 0, "0\xff": 0, "1": 1, "1zz": 1, "2": 2, "24": 2, "25": 3, "250": 3, "8": 3, "9": 4, "zz": 4} {
		if got := r.Find([]byte(row)); got != want {
			t.Errorf("row %q is in region %d, want %d", row, got, want)
		}
	}
	if r.Len() != 5 || len(r.Start(0)) != 0 || string(r.End(0)) != "1" || string(r.Start(4)) != "9" || len(r.End(4)) != 0 {
		t.Errorf("ends of the regions are wrong")
	}
}

func TestSplitsMustAscend(t *testing.T) {
	for _, splits := range [][][]byte{{{}}, {[]byte("b"), []byte("a")}, {[]byte("a"), []byte("a")}} {
		if _, err := NewRegions(splits); err == nil {
			t.Errorf("splits %q were taken", splits)
		}
	}
}

func TestSaltsBeginRegions(t *testing.T) {
	digits := strings.Split("0 1 2 3 4 5 6 7 8 9", " ")
	for _, c := range []struct {
		name   string
		splits []string
		salts  []string
		fault  string
	}{
		{"one region a salt", digits[1:], digits, ""},
		{"a boundary at the first salt, too", digits, digits, ""},
		{"later splits inside salts", []string{"1", "17f", "2", "3", "4", "5", "5a", "5b", "6", "7", "8", "9", "95"}, digits, ""},
		{"a split below the first salt's", []string{"0555", "1", "2"}, digits[:3], ""},
		{"one salt shares a region", []string{"1", "2", "3", "4", "6", "7", "8", "9"}, digits, `salt "5"`},
		{"boundaries are shifted", []string{"15", "25"}, digits[:3], `salt "1"`},
		{"no regions", nil, digits, `salt "1"`},
		{"one salt, one region", nil, []string{"0"}, ""},
		{"two digits", []string{"01", "02"}, []string{"00", "01", "02"}, ""},
		{"two digits in a table for one", []string{"1", "2"}, []string{"00", "01", "02"}, `salt "01"`},
		{"splits of another table", []string{"!", "1"}, []string{"0", "1"}, "another table"},
	} {
		var salts [][]byte
		for _, s := range c.salts {
			salts = append(salts, []byte(s))
		}
		err := regions(t, c.splits...).CheckSalts(salts)
		if (err == nil) != (c.fault == "") || err != nil && !testwords.Names(err, c.fault) {
			t.Errorf("%s: %v, want %q", c.name, err, c.fault)
		}
	}
}
