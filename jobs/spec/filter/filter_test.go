package filter

import (
	"errors"
	"strings"
	"testing"

	"bulkload/internal/test/testwords"
	"bulkload/values"
)

// columns are those of all tests, a kind each.
var columns = []InputColumn{
	{"any", values.Type{}},
	{"name", values.Type{Kind: values.KindText}},
	{"n", values.Type{Kind: values.KindInt64}},
	{"amount", values.Type{Kind: values.KindDecimal}},
	{"ratio", values.Type{Kind: values.KindFloat64}},
	{"flag", values.Type{Kind: values.KindBoolean}},
	{"day", values.Type{Kind: values.KindDate}},
	{"at", values.Type{Kind: values.KindTimestamp, Zone: "Asia/Shanghai"}},
	{"epoch", values.Type{Kind: values.KindTimestamp, Format: values.FormatSeconds}},
	{"城 市", values.Type{Kind: values.KindText}},
	{"in", values.Type{}},
}

// record sets columns by name; the others are null.
func record(t testing.TB, set map[string]string) []values.Value {
	t.Helper()
	fields := make([]values.Value, len(columns))
	for i, c := range columns {
		if v, ok := set[c.Name]; ok {
			fields[i] = values.ValueOf([]byte(v))
			delete(set, c.Name)
		}
	}
	if len(set) > 0 {
		t.Fatalf("no columns %v", set)
	}
	return fields
}

func parsed(t testing.TB, text string) *Filter {
	t.Helper()
	e, err := Parse(text, columns)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestWanted(t *testing.T) {
	type fields = map[string]string
	for _, c := range []struct {
		filter string
		fields fields
		want   bool
	}{
		{"name = 'a'", fields{"name": "a"}, true},
		{"name = 'a'", fields{"name": "A"}, false},
		{"name = 'a'", nil, false},
		{"not name = 'a'", nil, false},
		{"name != 'a'", nil, false},
		{"name <> 'a'", fields{"name": "b"}, true},
		{"'a' = name", fields{"name": "a"}, true},
		{"name = ''", fields{"name": ""}, true},
		{"name = ''", nil, false},
		{"name < 'b'", fields{"name": "a\xff"}, true},
		{"name >= 'é'", fields{"name": "z"}, false}, // by the bytes of UTF-8
		{`name = 'it\'s \x41'`, fields{"name": "it's A"}, true},
		{`name = "a"`, fields{"name": "a"}, true},
		{"name is null", nil, true},
		{"name is null", fields{"name": ""}, false},
		{"name IS NOT NULL", fields{"name": ""}, true},
		{"name is null or name = 'a'", nil, true},
		{"name is null or n > 3", fields{"name": "x"}, false},
		{"not (name is null)", nil, false},
		{"n > 3", fields{"n": "10"}, true},
		{"n > 3", fields{"n": "3"}, false},
		{"n >= 3", fields{"n": "+003"}, true},
		{"n = 3.0", fields{"n": "3"}, true},
		{"n < -1", fields{"n": "-2"}, true},
		{"n < 9223372036854775807", fields{"n": "9223372036854775806"}, true},
		{"n = '3'", fields{"n": "03"}, true},
		{"amount = 1.5", fields{"amount": "1.50"}, true},
		{"amount > 12345678901234567890123456789.1", fields{"amount": "12345678901234567890123456789.11"}, true},
		{"amount < 1e3", fields{"amount": "999.99"}, true},
		{"ratio > 0.1", fields{"ratio": "0.1"}, false},
		{"ratio < 1", fields{"ratio": "NaN"}, false},
		{"ratio != 1", fields{"ratio": "NaN"}, true},
		{"not ratio = 1", fields{"ratio": "NaN"}, true},
		{"ratio = 'NaN'", fields{"ratio": "NaN"}, false},
		{"ratio > 1e308", fields{"ratio": "Infinity"}, true},
		{"any > 9", fields{"any": "10"}, true},
		{"any > '9'", fields{"any": "10"}, false}, // texts
		{"any = n", fields{"any": "1e1", "n": "10"}, true},
		{"any = name", fields{"any": "1e1", "name": "10"}, false},
		{"any = true", fields{"any": "Y"}, true},
		{"flag = true", fields{"flag": "1"}, true},
		{"flag != true", fields{"flag": "1"}, false},
		{"flag = FALSE", fields{"flag": "N"}, true},
		{"flag = 'no'", fields{"flag": "0"}, true},
		{"day >= '2026-11-20'", fields{"day": "2026-11-20"}, true},
		{"day >= '2026-11-20'", fields{"day": "2026-11-19 00:00:00.0"}, false},
		{"day = '2026/11/20'", fields{"day": "2026-11-20"}, true},
		{"at < '2026-11-20 08:00'", fields{"at": "2026-11-20 07:59:59.999999999"}, true},
		{"at = '2026-11-20 08:00'", fields{"at": "2026-11-20T00:00:00Z"}, true},
		{"at = '2026-11-20 00:00:00Z'", fields{"at": "2026-11-20 08:00:00.0"}, true},
		{"epoch = '2026-11-20'", fields{"epoch": "1795132800"}, true},
		{"at > day", fields{"at": "2026-11-20 08:00:00.001", "day": "2026-11-20"}, true},
		{"name in ('a', 'b')", fields{"name": "b"}, true},
		{"name in ('a', 'b')", fields{"name": "c"}, false},
		{"name not in ('a', 'b')", fields{"name": "c"}, true},
		{"name not in ('a', 'b')", nil, false},
		{"n in (1, 2.0, 3)", fields{"n": "2"}, true},
		{"any in (1, 2)", fields{"any": "1.0"}, true},
		{"any in ('1', '2')", fields{"any": "1.0"}, false},
		{"day in ('2026-11-20', '2026-11-21')", fields{"day": "2026-11-21"}, true},
		{"name starts_with 'ab'", fields{"name": "abc"}, true},
		{"name starts_with 'ab'", fields{"name": "a"}, false},
		{"name not starts_with 'ab'", nil, false},
		{"name like 'ab'", fields{"name": "ab"}, true},
		{"name like 'ab'", fields{"name": "abc"}, false},
		{"name like 'a%'", fields{"name": "a"}, true},
		{"name like '%c'", fields{"name": "abc"}, true},
		{"name like '%b%'", fields{"name": "abc"}, true},
		{"name like '%b%b%'", fields{"name": "abc"}, false},
		{"name like 'a%a'", fields{"name": "a"}, false},
		{"name like 'a%ba'", fields{"name": "abababa"}, true},
		{"name like 'a%ab%ba'", fields{"name": "aabba"}, true},
		{"name like 'a%ab%ba'", fields{"name": "aaba"}, false},
		{"name like '_京'", fields{"name": "北京"}, true},
		{"name like '__%'", fields{"name": "北"}, false},
		{"name like '%'", fields{"name": ""}, true},
		{"name like '%'", nil, false},
		{`name like '10\\%'`, fields{"name": "10%"}, true},
		{`name like '10\\%'`, fields{"name": "100"}, false},
		{"name not like 'a%'", fields{"name": "b"}, true},
		{"`城 市` = '北京'", fields{"城 市": "北京"}, true},
		{"`in` = 'x'", fields{"in": "x"}, true},
		{"name = 'a' and n = 1 or n = 2", fields{"n": "2"}, true},
		{"name = 'a' and (n = 1 or n = 2)", fields{"n": "2"}, false},
		{"n = 2 and name = 'a'", fields{"n": "2"}, false},
		{"not not n = 2", fields{"n": "2"}, true},
		{"not n = 2 or n = 2", fields{"n": "2"}, true},
		{"not (n = 2 and name = 'a')", fields{"n": "2"}, false},            // not unknown
		{"not (n = 2 and name = 'a')", fields{"n": "3"}, true},             // false and unknown is false
		{"n = 1 or amount > 1", fields{"n": "1", "amount": "bad"}, true},   // the first decides
		{"n = 2 and amount > 1", fields{"n": "1", "amount": "bad"}, false}, // likewise
	} {
		wanted, err := parsed(t, c.filter).Evaluator().Wanted(record(t, c.fields))
		if err != nil || wanted != c.want {
			t.Errorf("%s of %v: %v, %v", c.filter, c.fields, wanted, err)
		}
	}
}

func TestFaults(t *testing.T) {
	for _, c := range []struct{ filter, column, value, reason string }{
		{"n > 1", "n", "x", "decimal"},
		{"any > 1", "any", "", "decimal"},
		{"n = 1 or name is null", "n", "x", "decimal"},
		{"day > '2026-01-01'", "day", "yesterday", "2026-11-20"},
		{"flag = true", "flag", "maybe", "true"},
	} {
		wanted, err := parsed(t, c.filter).Evaluator().Wanted(record(t, map[string]string{c.column: c.value}))
		var fault *Fault
		if wanted || !errors.As(err, &fault) || columns[fault.Column].Name != c.column ||
			!strings.Contains(fault.Reason, c.reason) {
			t.Errorf("%s of %q: %v, %v", c.filter, c.value, wanted, err)
		}
	}
}

func TestErrorsNameThePlace(t *testing.T) {
	for text, want := range map[string][]string{
		"":                                   {"character 1: ", "ends", "column or a value"},
		"name":                               {"character 5: ", "ends", "= != < <= > >="},
		"name =":                             {"character 7: ", "ends", "column or a value"},
		"name = xyzuvw":                      {"character 8: ", "column xyzuvw", "quotes"},
		"nam = 'a'":                          {"character 1: ", "column nam;", "name?", "quotes"},
		"name == 'a'":                        {"character 7: ", `"="`, "column or a value"},
		"name = 'a' & n = 1":                 {"character 12: ", "'&'"},
		"name = 'a' n = 1":                   {"character 12: ", `"n"`, "and, or"},
		"(name = 'a'":                        {"character 12: ", "ends", ") is expected"},
		"name = 'a":                          {"character 8: ", "quote '"},
		`name = 'a\q'`:                       {"character 10: ", "escape"},
		"`name = 'a'":                        {"character 1: ", "backtick"},
		"``= 'a'":                            {"character 1: ", "no column name"},
		"城 = 1":                              {"character 1: ", "column 城"},
		"'x' = 'x'":                          {"character 1: ", "side of ="},
		"'x' is null":                        {"character 1: ", "null"},
		"'x' in ('x')":                       {"character 5: ", `"in"`, "comparison"},
		"n is 3":                             {"character 6: ", `"3"`, "null"},
		"n = 1.2.3":                          {"character 5: 1.2.3 ", "decimal", "quotes"},
		"n = 12abc":                          {"character 5: 12abc ", "decimal"},
		"n = 'abc'":                          {"character 5: n ", "int64", "abc", "decimal"},
		"amount = 'NaN'":                     {"character 10: amount ", "type decimal", "NaN"},
		"name = 1":                           {"character 8: name ", "text:", "1 in quotes", "declare"},
		"1 = name":                           {"character 5: name ", "1 in quotes"},
		"day > 20261120":                     {"character 7: day ", "date,", "20261120", "number:"},
		"day > 'soon'":                       {"character 7: day ", "date,", "soon"},
		"any > day":                          {"character 7: any ", "no declared type", "day", "columns_map"},
		"flag > true":                        {"character 6: ", "= and !=", "with >"},
		"flag = 'maybe'":                     {"character 8: flag ", "boolean", "maybe"},
		"name = true":                        {"character 8: name ", "text,", "true is"},
		"name in ()":                         {"character 10: ", `")"`, "column or a value"},
		"name in ('a' 'b')":                  {"character 14: ", `"b"`, ", is expected"},
		"name in ('a', n)":                   {"character 15: ", "in (…)", "n is a column"},
		"any in (1, 'a')":                    {"character 12: ", "in (…)", "one type"},
		"name like 3":                        {"character 11: ", `"3"`, "quotes"},
		`name like 'a\\b'`:                   {"character 11: ", "backslash", "%, _"},
		"in = 'x'":                           {"character 1: ", `"in"`, "column or a value"},
		"not":                                {"character 4: ", "ends"},
		strings.Repeat("(", 70) + "n = 1":    {"character 65: ", "deeper than 64"},
		strings.Repeat("not ", 70) + "n = 1": {"character 257: ", "deeper than 64"},
	} {
		if e, err := Parse(text, columns); !testwords.Names(err, want...) {
			t.Errorf("%s: %v, %v; want %s", text, e, err, want)
		}
	}
}

func TestNothingIsAllocated(t *testing.T) {
	v := parsed(t, "name in ('a', 'b') and n > 3 and amount <= 10.5 and at < '2027-01-01' and any like '%x_' and flag = true").Evaluator()
	fields := record(t, map[string]string{"name": "b", "n": "12", "amount": "10.50", "at": "2026-11-20 01:02:03.0", "any": "wxyz", "flag": "Y"})
	fields[0] = values.ValueOf([]byte("wwxy"))
	if wanted, err := v.Wanted(fields); !wanted || err != nil {
		t.Fatalf("%v, %v", wanted, err)
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = v.Wanted(fields) }); n > 0 {
		t.Errorf("%v allocations a record", n)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"name = 'a' and n > 3 or not (day is null)", "any in (1, 2.5)", `name like '%\\_a' and amount != -1e5`, "`城 市` starts_with \"x\"", "((((", "n = +"} {
		f.Add(s, "1", "2026-11-20")
	}
	f.Fuzz(func(t *testing.T, text, a, b string) {
		e, err := Parse(text, columns)
		if err != nil {
			if !testwords.Names(err, "character ") {
				t.Errorf("%q: %v names no place", text, err)
			}
			return
		}
		if e.String() != text {
			t.Errorf("%q is %q", text, e)
		}
		v := e.Evaluator()
		fields := make([]values.Value, len(columns))
		for i := range fields {
			fields[i] = values.ValueOf([]byte([]string{a, b}[i%2]))
		}
		wanted, err1 := v.Wanted(fields)
		again, err2 := v.Wanted(fields)
		if wanted != again || (err1 == nil) != (err2 == nil) || wanted && err1 != nil {
			t.Errorf("%q: %v, %v and then %v, %v", text, wanted, err1, again, err2)
		}
		if _, err := v.Wanted(make([]values.Value, len(columns))); err != nil {
			t.Errorf("%q finds fault with nulls: %v", text, err)
		}
	})
}

// FuzzLike compares the matching with a plain recursive one.
func FuzzLike(f *testing.F) {
	f.Add("a%b_c%", "axxbyc")
	f.Add("%%_%", "北京")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) > 12 || len(text) > 40 {
			return
		}
		n, err := parseLike(pattern)
		if err != nil || strings.Contains(pattern, `\`) || strings.ToValidUTF8(text, "") != text {
			return
		}
		if got, want := n.matches([]byte(text)), like([]rune(pattern), []rune(text)); got != want {
			t.Errorf("%q like %q: %v, want %v", text, pattern, got, want)
		}
	})
}

func like(pattern, text []rune) bool {
	switch {
	case len(pattern) == 0:
		return len(text) == 0
	case pattern[0] == '%':
		return like(pattern[1:], text) || len(text) > 0 && like(pattern, text[1:])
	}
	return len(text) > 0 && (pattern[0] == '_' || pattern[0] == text[0]) && like(pattern[1:], text[1:])
}

func BenchmarkWanted(b *testing.B) {
	fields := map[string]string{"name": "shanghai", "n": "12", "amount": "10.50", "at": "2026-11-20 01:02:03.0"}
	for name, text := range map[string]string{
		"text": "name = 'shanghai'", "number": "n > 3", "decimal": "amount <= 10.5", "moment": "at < '2027-01-01'",
		"in": "name in ('beijing', 'shanghai')", "like": "name like '%hai'", "four": "name = 'shanghai' and n > 3 and amount <= 10.5 and at < '2027-01-01'",
	} {
		b.Run(name, func(b *testing.B) {
			v := parsed(b, text).Evaluator()
			set := map[string]string{}
			for k, x := range fields {
				set[k] = x
			}
			f := record(b, set)
			b.ReportAllocs()
			for b.Loop() {
				if ok, err := v.Wanted(f); !ok || err != nil {
					b.Fatal(ok, err)
				}
			}
		})
	}
}
