package filter

import (
	"bulkload/internal/test/testvalues"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"bulkload/internal/test/testrand"
	"bulkload/internal/test/testwords"
	"bulkload/values"
)

// TestHostileFilters: whatever IS a filter EXP is read, or refused by an error that is text and names a
// place within the filter: each of many filters with each byte left out, doubled, or replaced by one that begins
// something.
func TestHostileFilters(t *testing.T) {
	read, refused := 0, 0
	for _, text := range []string{
		"name = 'a' and n > -3.5e2 or not (day is null)", "any in (1, 2.5) and `城 市` not like \"%\\\\_x\"", "flag = true and epoch >= '2026-11-20'",
		"amount <> 1é", "n = 1€", "n < 12\xff", "name = '\xff' and \xff = 1",
	} {
		for at := range len(text) {
			for _, put := range []string{"", text[at:at+1] + text[at:at+1], "'", "\"", "`", "(", ")", "\\", "\x00", "\xff", "é", "=", ",", "-", "1", " "} {
				changed := text[:at] + put + text[at+1:]
				e, err := Parse(changed, columns)
				if err == nil {
					read++
					if e.String() != changed {
						t.Errorf("%q is %q", changed, e)
					}
					continue
				}
				refused++
				var column int
				_, place, _ := strings.Cut(err.Error(), ": character ")
				if _, scan := fmt.Sscanf(place, "%d: ", &column); scan != nil || column < 1 || column > utf8.RuneCountInString(changed)+1 {
					t.Errorf("%q: %v names column %d", changed, err, column)
				}
				if !utf8.ValidString(err.Error()) {
					t.Errorf("%q: the error is no text: %q", changed, err)
				}
			}
		}
	}
	if read < 100 || refused < 1000 {
		t.Errorf("%d filters were read, %d refused", read, refused)
	}
}

// TestLongFilters: a filter may have any number of parts next to each other; what is nested too deep is refused, and a
// long one is cut in the error, not within a character.
func TestLongFilters(t *testing.T) {
	const parts = 20_000
	long := strings.Repeat("n = 1 or ", parts) + "name = 'x'"
	v := parsed(t, long).Evaluator()
	if wanted, err := v.Wanted(record(t, map[string]string{"n": "2", "name": "x"})); err != nil || !wanted {
		t.Errorf("%v, %v", wanted, err)
	}
	list := "name in (" + strings.Repeat("'a', ", parts) + "'x')"
	if wanted, err := parsed(t, list).Evaluator().Wanted(record(t, map[string]string{"name": "x"})); err != nil || !wanted {
		t.Errorf("%v, %v", wanted, err)
	}
	for _, deep := range []string{strings.Repeat("(", maxDepth-1) + "n = 1" + strings.Repeat(")", maxDepth-1), strings.Repeat("not ", maxDepth-1) + "n = 1"} {
		if _, err := Parse(deep, columns); err != nil {
			t.Error(err)
		}
		if _, err := Parse("("+deep+")", columns); !testwords.Names(err, "deeper than 64") {
			t.Errorf("one deeper: %v", err)
		}
	}
	if _, err := Parse(strings.Repeat("(not ", 1<<20), columns); err == nil {
		t.Error("a filter without an end is read")
	}
	_, err := Parse("name = '"+strings.Repeat("京", 200), columns)
	if !testwords.Names(err, "京\"…: character 8: ", "quote '") || testwords.Names(err, `\x`) {
		t.Error(err)
	}
}

// TestNumbersInFilters: where a number ends, and which are none.
func TestNumbersInFilters(t *testing.T) {
	for text, want := range map[string]string{
		"n=-1": "", "n>=-.5": "", "n<+1e+2": "", "n=1.": "", "n =1e-2and name='a'": "character 4: 1e-2and ",
		"n = 1-2": `character 6: found "-2"`, "n = --1": "character 5: - ", "n = -": "character 5: - ", "n = .": "character 5: . ",
		"n = 1e": "character 5: 1e ", "n = 1_000": "character 5: 1_000 ", "n = 1é": "character 5: 1é ",
		"n = 0x1F": "character 5: 0x1F ", "n = Infinity": "character 5: unknown column Infinity", "ratio = NaN": "character 9: unknown column NaN",
		"n = 1e2147483649": "character 5: 1e2147483649 ", "n = 1" + strings.Repeat("0", 4096): "too long",
		"n in (-1,+1,.5)": "", "n in (1 2)": `character 9: found "2"`, "n between 1 and 2": `character 3: found "between"`,
	} {
		_, err := Parse(text, columns)
		if (err == nil) != (want == "") || err != nil && !testwords.Names(err, want) {
			t.Errorf("%.40s: %v; want %s", text, err, want)
		}
	}
}

// TestEscapes: each byte can be written as \x and two digits, and is then that byte; what begins an escape and is none
// is refused at the backslash.
func TestEscapes(t *testing.T) {
	for b := range 256 {
		for _, form := range []string{`name = '\x%02x'`, `name = "\x%02X"`} {
			v := parsed(t, fmt.Sprintf(form, b)).Evaluator()
			if wanted, err := v.Wanted(record(t, map[string]string{"name": string([]byte{byte(b)})})); err != nil || !wanted {
				t.Errorf(form+": %v, %v", b, wanted, err)
			}
		}
		escape := string([]byte{'\\', byte(b)})
		_, err := Parse("name = 'é"+escape+"'", columns)
		if known := strings.IndexByte(`\'"nrt0`, byte(b)) >= 0; (err == nil) != known || err != nil &&
			!testwords.Names(err, "character 10: ", "escape") {
			t.Errorf("%q: %v", escape, err)
		}
	}
	for _, cut := range []string{`\`, `\x`, `\x4`, `\xg0`, `\x+1`, `\x4'`, `\x 4`} {
		if _, err := Parse("name = '"+cut, columns); !testwords.Names(err, "character 9: ", "escape", `\x`) {
			t.Errorf("%s: %v", cut, err)
		}
	}
}

// TestLikeOfAnyBytes: a pattern takes a byte that is no UTF-8 for a character, and U+FFFD, which Go reads such a byte
// as, for itself only.
func TestLikeOfAnyBytes(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"_", "\xff", true}, {"__", "\xff\xfe", true}, {"_", "\xe4\xb8", false}, {"__", "\xe4\xb8", true}, {"%_", "\xe4\xb8\xad\xe4", true},
		{"�", "\xff", false}, {"�", "�", true}, {"%�", "a\xff", false}, {"%�%", "\xff�\xff", true}, {"a%\U0001F600", "a\xf0\x9f\x98\U0001F600", true},
		{"%_京", "京", false}, {"_京%", "\x00京", true}, {"%%%", "", true}, {"_%_", "x", false}, {"", "", true}, {"", "x", false},
		{`\%\_\\%`, `%_\x`, true}, {`%\%`, "100%", true}, {`%\%`, "100", false}, {"%a%a%a", "aa", false}, {"%ab%ab", "ab", false}, {"a%a_a", "aaa", false},
		{"é", "e\u0301", false}, // no normal form is sought
	} {
		n, err := parseLike(c.pattern)
		if err != nil || n.matches([]byte(c.text)) != c.want {
			t.Errorf("%q like %q: not %v, %v", c.text, c.pattern, c.want, err)
		}
	}
	for pattern, want := range map[string]string{"a\xff": "UTF-8", `a\`: "backslash", `\a`: "backslash",
		`\é`: "backslash"} {
		if _, err := parseLike(pattern); !testwords.Names(err, want) {
			t.Errorf("%q: %v", pattern, err)
		}
	}
}

// TestLikeAsTheModel: patterns and texts drawn from few characters, so that parts overlap, against a plain recursion.
func TestLikeAsTheModel(t *testing.T) {
	r := testrand.New(t)
	matched := 0
	for range 50_000 {
		var pattern, text []rune
		for range r.IntN(8) {
			pattern = append(pattern, one(r, '%', '_', 'a', 'b', '京'))
		}
		for range r.IntN(12) {
			text = append(text, one(r, 'a', 'a', 'b', '京'))
		}
		n, err := parseLike(string(pattern))
		if err != nil {
			t.Fatal(err)
		}
		want := like(pattern, text)
		if n.matches([]byte(string(text))) != want {
			t.Fatalf("%q like %q: want %v", string(text), string(pattern), want)
		}
		if want {
			matched++
		}
	}
	if matched < 1000 {
		t.Errorf("only %d matched", matched)
	}
}

// TestLikeIsNotExponential: a pattern of many % over a text that almost matches looks at the text a bounded number of
// times.
func TestLikeIsNotExponential(t *testing.T) {
	n, err := parseLike(strings.Repeat("%a", 200) + "%b")
	if err != nil {
		t.Fatal(err)
	}
	if n.matches([]byte(strings.Repeat("a", 100_000))) {
		t.Error("it has no b")
	}
}

// TestColumnsByName: names are the whole name and no other case; in backticks any name; and words of the language need
// them.
func TestColumnsByName(t *testing.T) {
	some := []InputColumn{{"a", values.Type{}}, {"A", values.Type{}}, {"and", values.Type{}}, {"true", values.Type{}}, {"x$#1", values.Type{}}, {"1st", values.Type{}},
		{"with space", values.Type{}}, {"Éa", values.Type{}}, {"a.b", values.Type{}}, {"dup", values.Type{}}, {"dup", values.Type{Kind: values.KindInt32}}}
	for text, want := range map[string]int{
		"a = 'x'": 0, "A = 'x'": 1, "`and` = 'x'": 2, "`true` = 'x'": 3, "x$#1 = 'x'": 4, "`1st` = 'x'": 5, "`with space` = 'x'": 6, "Éa = 'x'": 7, "`a.b` = 'x'": 8, "dup = 'x'": 9,
	} {
		e, err := Parse(text, some)
		if err != nil {
			t.Error(err)
			continue
		}
		for i := range some {
			fields := make([]values.Value, len(some))
			fields[i] = values.ValueOf([]byte("x"))
			if wanted, err := e.Evaluator().Wanted(fields); err != nil || wanted != (i == want) {
				t.Errorf("%s with only column %d: %v, %v", text, i, wanted, err)
			}
		}
	}
	for text, want := range map[string]string{
		"and = 'x'": `character 1: found "and"`, "true = 'x'": "character 1: neither side", "a.b = 'x'": "character 2: ",
		"`a`b = 'x'": `character 4: found "b"`, "`A ` = 'x'": "character 1: unknown column A ", "AND = 'x'": "character 1: ", "null = a": "character 1: ",
	} {
		if _, err := Parse(text, some); !testwords.Names(err, want) {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
}

// TestColumnsAreCopied: a filter that was read does not change with the slice that it was read for; a column whose zone
// is none is refused by its name.
func TestColumnsAreCopied(t *testing.T) {
	some := []InputColumn{{"at", values.Type{Kind: values.KindTimestamp, Zone: "Asia/Shanghai"}}}
	e, err := Parse("at = '2026-11-20'", some)
	if err != nil {
		t.Fatal(err)
	}
	some[0].Type = values.Type{Kind: values.KindTimestamp, Zone: "America/New_York"}
	if wanted, err := e.Evaluator().Wanted(testvalues.Of("2026-11-19T16:00:00Z")); err != nil || !wanted {
		t.Errorf("%v, %v", wanted, err)
	}
	some[0].Type.Zone = "Asia/Nowhere"
	if _, err := Parse("at is null", some); !testwords.Names(err, "column at", `"Asia/Nowhere"`) {
		t.Error(err)
	}
}

// TestNothingIsAllocatedForAnyCondition: each kind of condition alone, true, false and unknown.
func TestNothingIsAllocatedForAnyCondition(t *testing.T) {
	for _, text := range []string{
		"name = 'a'", "name in ('a', 'b')", "n in (1, 2, 3)", "day in ('2026-11-20')", "at < day", "epoch >= '2026-11-20'", "n = amount", "ratio != 1",
		"flag = false", "name like '%a_c%'", "name starts_with 'a'", "name is not null", "not (n > 1 or n < 0) and any = name",
	} {
		v := parsed(t, text).Evaluator()
		full := record(t, map[string]string{"any": "x", "name": "abc", "n": "12345678901234567890", "amount": "1.5", "ratio": "NaN", "flag": "no",
			"day": "2026-11-20", "at": "2026-11-20 01:02:03.5", "epoch": "1795132800"})
		none := make([]values.Value, len(columns))
		if n := testing.AllocsPerRun(100, func() { _, _ = v.Wanted(full); _, _ = v.Wanted(none) }); n > 0 {
			t.Errorf("%s: %v allocations for two records", text, n)
		}
	}
}
