package keys_test

import (
	"bulkload/internal/test/testvalues"
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"bulkload/keys"
	"bulkload/values"
)

// TestKeysReadDatesAsCells: what Java's formatters read, in values' testdata, a key reads as a cell of the column does;
// what they refuse, it refuses in a column that is declared a timestamp. In another one 10 and 13 digits count from
// 1970 on.
func TestKeysReadDatesAsCells(t *testing.T) {
	text, err := os.ReadFile("../values/testdata/clocks.txt")
	if err != nil {
		t.Fatal(err)
	}
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	made := map[string]*keys.Expr{}
	for _, expression := range []string{"millis(x, 'Asia/Shanghai')", "date(x, 'yyyyMMddHHmmssSSS', 'Asia/Shanghai')"} {
		for name, kind := range map[string]values.TypeKind{"declared": values.KindTimestamp, "undeclared": values.KindUnknown} {
			if made[name+expression[:4]], err = keys.Parse(expression, []keys.KeyColumn{{Name: "x", Kind: kind}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	counted := map[string]int{}
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		for _, name := range []string{"declared", "undeclared"} {
			key, err := made[name+"mill"].Append(nil, testvalues.Of(f[0]))
			day, dayErr := made[name+"date"].Append(nil, testvalues.Of(f[0]))
			digits := values.Digits([]byte(f[0])) && (len(f[0]) == 10 || len(f[0]) == 13)
			if f[1] == "-" && name == "undeclared" && digits {
				counted["epochs"]++
				if err != nil || dayErr != nil {
					t.Errorf("%q in a column that is not declared: %v, %v", f[0], err, dayErr)
				}
				continue
			}
			if f[1] == "-" {
				counted["refused"]++
				if err == nil || dayErr == nil {
					t.Errorf("%q, %s, has keys %s, %s; Java refuses it", f[0], name, key, day)
				}
				continue
			}
			n, parseErr := strconv.ParseInt(f[1], 10, 64)
			if parseErr != nil {
				t.Fatal(parseErr)
			}
			counted["dates"]++
			wantDay := strings.Replace(time.UnixMilli(n).In(shanghai).Format("20060102150405.000"), ".", "", 1)
			if dayErr != nil || string(day) != wantDay && !clockSkips(f[0]) {
				t.Errorf("%q, %s, is the date %s, %v, want %s", f[0], name, day, dayErr, wantDay)
			}
			if n < 0 || n > 9_999_999_999_999 { // millis writes 13 digits
				if err == nil {
					t.Errorf("%q, %s, has the key %s: %d has no 13 digits", f[0], name, key, n)
				}
				continue
			}
			counted["millis"]++
			if err != nil || string(key) != fmt.Sprintf("%013d", n) {
				t.Errorf("%q, %s, has the key %s, %v; Java has %d", f[0], name, key, err, n)
			}
		}
	}
	want := map[string]int{"dates": 3184, "millis": 1430, "refused": 2795, "epochs": 21}
	if !maps.Equal(counted, want) {
		t.Errorf("compared %v, want %v", counted, want)
	}
}

// clockSkips: a date without an offset is shown as it was written, and Shanghai's clocks skipped some in 1940 and 1986.
func clockSkips(text string) bool {
	return strings.HasPrefix(text, "1986-05-04 02:30") || text == "1940-06-01 00:00:00"
}
