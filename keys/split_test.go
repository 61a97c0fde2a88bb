package keys

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"bulkload/cell"
	"bulkload/internal/test/testwords"
)

func TestSplits(t *testing.T) {
	for _, c := range []struct {
		text    string
		regions int
		want    string // Printable, separated by blanks; "!": an error with that
	}{
		{"salt(free, 4) + free", 4, "1 2 3"},
		{"salt(free, 4) + free", 1, "1 2 3"}, // a salt that crosses boundaries is refused by the run
		{"salt(free, 4) + free", 9, "1 2 3"},
		{"random_salt(12) + free", 5, "01 02 03 04 05 06 07 08 09 10 11"},
		{"long_salt(free, 2) + md5(free)", 4, "08 1 18"},
		{"salt(free, 3) + md5_bytes(free)", 4, `0\x80 1 1\x80 2 2\x80`},
		{"salt(free, 2) + mod(free, 3) + free", 100, "01 02 1 11 12"},
		{"md5(free)", 4, "4 8 c"},
		{"md5(free)", 16, "1 2 3 4 5 6 7 8 9 a b c d e f"},
		{"md5(free)", 3, "55 aa"},
		{"md5(free, 1) + free", 3, "5 a"},
		{"md5(free, 1) + free", 20, "1 2 3 4 5 6 7 8 9 a b c d e f"},
		{"upper(md5(free)) + free", 4, "4 8 C"},
		{"lower(upper(md5(free)))", 3, "55 aa"},
		{"md5_bytes(free)", 4, `@ \x80 \xC0`},
		{"unhex(md5(free, 6))", 2, `\x80`},
		{"substr(md5(free), 30) + free", 16, "1 2 3 4 5 6 7 8 9 a b c d e f"},
		{"substr(md5(free), 4, 1) + free", 3, "5 a"},
		{"reverse(md5(free, 2)) + free", 2, "8"},
		{"mod(free, 100) + free", 4, "25 50 75"},
		{"mod(free, 7) + free", 3, "2 4"},
		{"mod(free, 3) + reverse(int64, 20)", 6, "05 1 15 2 25"},
		{"reverse(int64, 12)", 5, "2 4 6 8"},
		{"reverse(int64)", 4, "25 50 75"},
		{"rotate(pad(int64, 12), 1) + free", 4, "2 5 7"},
		{"substr(reverse(int64, 12), 0, 2) + free", 4, "25 50 75"},
		{"'v1-' + md5(free)", 4, "v1-4 v1-8 v1-c"},
		{"'v1-' + '' + salt(free, 2)", 9, "v1-1"},
		{"md5(free)", 1, ""},
		{"'v1'", 4, "!the same"},
		{"free", 4, "!values of free"},
		{"'a' + reverse(text)", 4, "!values of reverse(text)"},
		{"pad(int64, 20)", 4, "!quantiles"},
		{"desc(epoch)", 4, "!quantiles"},
		{"rotate(salt(free, 100), 1)", 4, "!quantiles"}, // not all digits come, and no salt is found again
		{"substr(salt(free, 100), 1)", 4, "!quantiles"},
		{"md5(free)", 0, "!0 regions"},
		{"md5(free)", 65537, "!65537 regions"},
		{"salt(free, 100000) + free", 4, "!100000 values"},
	} {
		splits, err := parseTyped(t, c.text).Splits(c.regions)
		var got []string
		for _, s := range splits {
			got = append(got, cell.Printable(s))
		}
		if want, bad := strings.CutPrefix(c.want, "!"); bad && !testwords.Names(err, want) || !bad &&
			(err != nil || strings.Join(got, " ") != c.want) {
			t.Errorf("%s in %d regions: %v, %v; want %s", c.text, c.regions, got, err, c.want)
		}
	}
}

// TestSplitsSpread: keys of numbers fall evenly between the boundaries.
func TestSplitsSpread(t *testing.T) {
	counted := []int{2, 3, 7, 10, 16, 30}
	if testing.Short() {
		counted = []int{7, 16}
	}
	for _, text := range []string{"md5(free)", "md5_bytes(free)", "salt(free, 10) + md5(free)", "mod(free, 100) + free", "reverse(int64, 12)", "upper(md5(free, 3))"} {
		for _, regions := range counted {
			e := parseTyped(t, text)
			splits, err := e.Splits(regions)
			if err != nil || len(splits) < regions-1 {
				t.Fatalf("%s, %d regions: %d splits, %v", text, regions, len(splits), err)
			}
			counts := make([]int, len(splits)+1)
			const n = 20_000
			for i := range n {
				key, err := appended(t, e, fmt.Sprint(1_000_000+i))
				if err != nil {
					t.Fatal(err)
				}
				at := 0
				for at < len(splits) && bytes.Compare(splits[at], []byte(key)) <= 0 {
					at++
				}
				counts[at]++
			}
			for i, got := range counts {
				if mean := n / len(counts); got < mean*3/4 || got > mean*5/4 {
					t.Errorf("%s, %d regions: %d keys in region %d, mean %d", text, regions, got, i, mean)
				}
			}
		}
	}
}
