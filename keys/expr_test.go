package keys

import (
	"bulkload/internal/test/testvalues"
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"bulkload/internal/test/testwords"
	"bulkload/values"
)

// checkColumns are some of the check table's.
var checkColumns = []KeyColumn{{Name: "id", Width: 32}, {Name: "check_id"}, {Name: "rule_no"}, {Name: "phone", Width: 11}, {Name: "ctime"}, {Name: "order no"}}

func parse(t testing.TB, text string) *Expr {
	t.Helper()
	e, err := Parse(text, checkColumns)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func checkFields() []values.Value {
	return testvalues.Of("59C1B6E4F7D501ECE053C5013807B6BE", "A208849559", "7", "13800138000", "2019-01-31 12:34:56.789", "42")
}

func TestCheckKey(t *testing.T) {
	key, err := parse(t, "salt(check_id, 10) + md5(check_id) + id").Append([]byte("before "), checkFields())
	if want := "before 7" + "7c9498b4a83974da56b252122b9752bf" + "59C1B6E4F7D501ECE053C5013807B6BE"; err != nil || string(key) != want {
		t.Errorf("key %q, %v; want %q", key, err, want)
	}
}

func TestExpressions(t *testing.T) {
	const check, hash = "A208849559", "7c9498b4a83974da56b252122b9752bf"
	for _, c := range []struct {
		text  string
		key   string
		width Width
		salts int
		query string // columns, separated by blanks
		part  string // that they determine; "": none
	}{
		{"salt(check_id, 10) + md5(check_id) + id", "7" + hash + "59C1B6E4F7D501ECE053C5013807B6BE", Width{65, 65}, 10, "check_id", "salt(check_id, 10) + md5(check_id)"},
		{" salt(check_id,10)+md5( check_id )+id ", "7" + hash + "59C1B6E4F7D501ECE053C5013807B6BE", Width{65, 65}, 10, "check_id id", " salt(check_id,10)+md5( check_id )+id"},
		{"md5(check_id, 4) + '-' + check_id", "7c94-A208849559", Width{5, -1}, 0, "rule_no", ""},
		{"md5(check_id, 4) + '-' + rule_no", "7c94-7", Width{5, -1}, 0, "check_id", "md5(check_id, 4) + '-'"},
		{"'v1' + rule_no", "v17", Width{2, -1}, 0, "id", "'v1'"},
		{"'v1' + rule_no", "v17", Width{2, -1}, 0, "", "'v1'"},
		{"md5_bytes(check_id)", string(unhexed(t, hash)), Width{16, 16}, 0, "check_id", "md5_bytes(check_id)"},
		{"mod(rule_no, 4) + id", "359C1B6E4F7D501ECE053C5013807B6BE", Width{33, 33}, 0, "rule_no", "mod(rule_no, 4)"},
		{"mod(phone, 1000)", "000", Width{3, 3}, 0, "phone", "mod(phone, 1000)"},
		{"reverse(phone)", "00083100831", Width{11, 11}, 0, "phone", "reverse(phone)"},
		{"reverse(`order no`, 6)", "240000", Width{6, 6}, 0, "order no", "reverse(`order no`, 6)"},
		{"rotate(phone, 4)", "80001380013", Width{11, 11}, 0, "phone", "rotate(phone, 4)"},
		{"rotate(rule_no, 4)", "7", Width{0, -1}, 0, "", ""},
		{"desc(rule_no)", "9223372036854775800", Width{19, 19}, 0, "rule_no", "desc(rule_no)"},
		{"desc(rule_no, 9999999999)", "9999999992", Width{10, 10}, 0, "rule_no", "desc(rule_no, 9999999999)"},
		{"pad(rule_no, 3)", "007", Width{3, 3}, 0, "rule_no", "pad(rule_no, 3)"},
		{`pad(rule_no, 3, "_")`, "__7", Width{3, 3}, 0, "rule_no", `pad(rule_no, 3, "_")`},
		{"substr(check_id, 1, 3)", "208", Width{3, 3}, 0, "check_id", "substr(check_id, 1, 3)"},
		{"substr(phone, 7)", "8000", Width{4, 4}, 0, "phone", "substr(phone, 7)"},
		{"substr(check_id, 7)", "559", Width{0, -1}, 0, "check_id", "substr(check_id, 7)"},
		{"lower(id)", "59c1b6e4f7d501ece053c5013807b6be", Width{32, 32}, 0, "id", "lower(id)"},
		{"upper('ab' + check_id)", "ABA208849559", Width{0, -1}, 0, "check_id", "upper('ab' + check_id)"},
		{"date(ctime, '0102')", "0131", Width{4, 4}, 0, "ctime", "date(ctime, '0102')"},
		{"date(ctime, 'yyyy-MM-dd HH:mm:ss.SSS')", "2019-01-31 12:34:56.789", Width{23, 23}, 0, "ctime", "date(ctime, 'yyyy-MM-dd HH:mm:ss.SSS')"},
		{"int64(rule_no) + int32('-2')", "\x00\x00\x00\x00\x00\x00\x00\x07\xff\xff\xff\xfe", Width{12, 12}, 0, "rule_no", "int64(rule_no) + int32('-2')"},
		{"unhex(id)", "\x59\xC1\xB6\xE4\xF7\xD5\x01\xEC\xE0\x53\xC5\x01\x38\x07\xB6\xBE", Width{16, 16}, 0, "id", "unhex(id)"},
		{"unhex(`order no`)", "B", Width{0, -1}, 0, "", ""},
		{`'\x00\t\'' + "\"\\"`, "\x00\t'\"\\", Width{5, 5}, 0, "", `'\x00\t\'' + "\"\\"`},
		{"salt(rule_no + '-' + check_id, 50)", "09", Width{2, 2}, 50, "check_id", ""},
		{"long_salt(rule_no, 100) + rule_no", "077", Width{2, -1}, 100, "rule_no", "long_salt(rule_no, 100) + rule_no"},
		{"md5(upper(reverse(phone)) + lower(check_id), 8)", "4fbb4fca", Width{8, 8}, 0, "phone check_id", "md5(upper(reverse(phone)) + lower(check_id), 8)"},
		{"short_salt(check_id, 10) + id", "759C1B6E4F7D501ECE053C5013807B6BE", Width{33, 33}, 10, "check_id", "short_salt(check_id, 10)"},
		{"short_salt(check_id, 16)", "5", Width{1, 2}, 0, "check_id", "short_salt(check_id, 16)"},
		{"id + salt(check_id, 10)", "59C1B6E4F7D501ECE053C5013807B6BE7", Width{33, 33}, 0, "id", "id"},
	} {
		t.Run(c.text, func(t *testing.T) {
			e := parse(t, c.text)
			key, err := e.Append(nil, checkFields())
			if err != nil || string(key) != c.key {
				t.Errorf("key %q, %v; want %q", key, err, c.key)
			}
			if got := e.Width(); got != c.width {
				t.Errorf("width %+v, want %+v", got, c.width)
			}
			if got := len(e.Salts()); got != c.salts {
				t.Errorf("%d salts, want %d", got, c.salts)
			}
			if e.String() != c.text {
				t.Errorf("it says it is %q", e)
			}
			checkPrefix(t, e, strings.Fields(strings.ReplaceAll(c.query, "order no", "order_no")), c.part, c.key)
		})
	}
}

func checkPrefix(t *testing.T, e *Expr, query []string, part, key string) {
	t.Helper()
	fields := make([]values.Value, len(checkColumns))
	for i := range query {
		query[i] = strings.ReplaceAll(query[i], "order_no", "order no")
		c := findColumn(checkColumns, query[i])
		fields[c] = checkFields()[c]
	}
	prefix, err := e.Prefix(query)
	if part == "" {
		if err == nil {
			t.Errorf("columns %v determine %q", query, prefix)
		}
		return
	}
	if err != nil || prefix.String() != part {
		t.Fatalf("columns %v determine %q, %v; want %q", query, prefix, err, part)
	}
	got, err := prefix.Append(nil, fields)
	if err != nil || !strings.HasPrefix(key, string(got)) || len(got) < prefix.Width().Min {
		t.Errorf("prefix %q, %v of the key %q", got, err, key)
	}
	again, err := prefix.Prefix(query)
	if err != nil || again.String() != part {
		t.Errorf("the prefix's prefix is %q, %v", again, err)
	}
}

func TestSaltsAreListed(t *testing.T) {
	for text, want := range map[string]string{
		"salt(id, 3) + id":        "0 1 2",
		"salt(id, 1)":             "0",
		"long_salt(rule_no, 4)":   "0 1 2 3",
		"'v' + '-' + salt(id, 2)": "v-0 v-1",
		"'v' + id":                "",
		"random_salt(11) + id":    "00 01 02 03 04 05 06 07 08 09 10",
	} {
		if got := string(bytes.Join(parse(t, text).Salts(), []byte(" "))); got != want {
			t.Errorf("%s: salts %s, want %s", text, got, want)
		}
	}
}

func TestColumnsInOrderOfUse(t *testing.T) {
	got := parse(t, "salt(check_id + id, 10) + md5(check_id) + upper(phone) + id").Columns()
	if want := []int{1, 0, 3}; !reflect.DeepEqual(got, want) {
		t.Errorf("columns %v, want %v", got, want)
	}
}

func TestFaultyExpressions(t *testing.T) {
	for text, want := range map[string][]string{
		"":                                 {"character 1: ", "column", "the end"},
		"id +":                             {"character 5: ", "column"},
		"id id":                            {"character 4: ", "+ or the end", "found id"},
		"chek_id":                          {"character 1: ", "column chek_id", "check_id?"},
		"ID":                               {"column ID", " id?"},
		"id + `order_no`":                  {"character 6: ", "column order_no", "order no?"},
		"entirely_else":                    {"column entirely_else"},
		"slat(id, 10)":                     {"character 1: ", "function slat", "salt?"},
		"SALT(id, 10)":                     {"function SALT", "salt?"},
		"md5":                              {"column md5", "md5(x)"},
		"salt(id)":                         {"character 8: ", "too few", "salt(x, n)"},
		"salt(id, 0)":                      {"character 10: 0 ", "1 to 1000000", "salt(x, n)"},
		"salt(id, 99999999999999)":         {"99999999999999 is outside"},
		"salt(id, x)":                      {"character 10: ", "number", "salt(x, n)", "found x"},
		"salt(id, 10, 3)":                  {"character 12: ", ") of salt(x, n)", "found ,"},
		"salt(id, 10":                      {") of salt(x, n)", "found the end"},
		"md5(id":                           {", or ) of md5(x)"},
		"salt(10, id)":                     {"character 6: ", "column", "found 10"},
		"salt()":                           {"character 6: ", "column"},
		"random_salt(id)":                  {"number", "found id"},
		"md5(id, 33)":                      {"33 is outside", "1 to 32"},
		"pad(id, 3, '00')":                 {"character 12: ", "ASCII"},
		"pad(id, 3, '中')":                  {"character 12: ", "ASCII"},
		"date(ctime, 'quarter')":           {`"quarter" is not`, "layout"},
		"date(ctime, '-')":                 {`"-" names no part`},
		"date(ctime, 20060102)":            {"layout in quotes", "found 20060102"},
		"'中文' + idd":                       {"character 8: ", "column idd", " id?"},
		"'abc":                             {"character 1: ", "quote '"},
		`"a\q"`:                            {"character 3: ", "escape"},
		`'\x0g'`:                           {"character 2: ", "escape"},
		"`id":                              {"character 1: ", "backtick"},
		"id + ``":                          {"character 6: ", "no column name"},
		"id - rule_no":                     {"character 4: ", "'-'"},
		"id + \xff":                        {"character 6: ", "unexpected"},
		strings.Repeat("md5(", 17):         {"deeper than 16"},
		strings.Repeat("id+", 1024) + "id": {"32800 bytes"},
	} {
		if _, err := Parse(text, checkColumns); !testwords.Names(err, want...) {
			t.Errorf("%q gives\n  %v\nwant %s", text, err, want)
		}
	}
}

func TestDeepNestingWithinTheLimit(t *testing.T) {
	text := strings.Repeat("md5('-' + ", maxDepth) + "id" + strings.Repeat(")", maxDepth)
	if _, err := parse(t, text).Append(nil, checkFields()); err != nil {
		t.Error(err)
	}
}

func TestUnknownQueryColumn(t *testing.T) {
	e := parse(t, "salt(check_id, 10) + id")
	for _, c := range []struct{ query, want string }{
		{"chek_id", " check_id?"},
		{"id", "needs check_id"},
	} {
		if _, err := e.Prefix([]string{c.query}); !testwords.Names(err, c.want) {
			t.Errorf("query %s gives %v, want %s", c.query, err, c.want)
		}
	}
}

func TestFaultyValues(t *testing.T) {
	for _, c := range []struct {
		text, value string
		column      int
		want        string
	}{
		{"desc(rule_no)", "-1", 2, "" + problemBase + ", in desc(rule_no)"},
		{"desc(rule_no)", "9223372036854775808", 2, problemBase},
		{"desc(rule_no, 99)", "100", 2, problemBase},
		{"desc(rule_no)", "", 2, "not a whole number"},
		{"desc(rule_no)", "+", 2, "not a whole number"},
		{"desc(rule_no)", "1.0", 2, "not a whole number"},
		{"desc(rule_no)", " 1", 2, "not a whole number"},
		{"desc(rule_no)", "99999999999999999999x", 2, "not a whole number"},
		{"int64(rule_no)", "-9223372036854775809", 2, "out of range"},
		{"int32(rule_no)", "2147483648", 2, "out of range"},
		{"mod(rule_no, 7)", "1e3", 2, "not a whole number"},
		{"mod(rule_no, 7)", "-", 2, "not a whole number"},
		{"long_salt(rule_no, 7)", "abc", 2, "not a whole number"},
		{"unhex(rule_no)", "abc", 2, "odd number"},
		{"unhex(rule_no)", "0x", 2, "not hex digits"},
		{"pad(rule_no, 3)", "1234", 2, "too wide"},
		{"reverse(rule_no, 3)", "1234", 2, "too wide"},
		{"substr(rule_no, 2, 3)", "1234", 2, "too short"},
		{"substr(rule_no, 5)", "1234", 2, "too short"},
		{"date(rule_no, '2006')", "2019-02-29", 2, "not a date"},
		{"date(rule_no, '2006')", "20-NOV-26", 2, "nls_date_format"},
		{"millis(rule_no)", "20-11月-26 01.02.03.000000 上午", 2, "nls_date_format"},
		{"int64(rule_no + '0')", "x", 2, "in int64(rule_no + '0')"},
		{"int64(rule_no + id)", "x", -1, "in int64(rule_no + id)"},
		{"upper(rule_no + id) + phone", "x", -1, ""},
		{"rule_no", "", -1, " 0 bytes"},
		{"rule_no", strings.Repeat("x", 32768), -1, "32768 bytes; 1 to 32767"},
	} {
		fields := checkFields()
		fields[2] = values.ValueOf([]byte(c.value))
		dst := []byte("dst")
		got, err := parse(t, c.text).Append(dst, fields)
		var fault *ValueError
		if c.want == "" {
			if err != nil {
				t.Errorf("%s of %q: %v", c.text, c.value, err)
			}
			continue
		}
		if !errors.As(err, &fault) || fault.Column != c.column || !strings.Contains(fault.Reason, c.want) || string(got) != "dst" {
			t.Errorf("%s of %.20q gives %q, %#v; want column %d, %s", c.text, c.value, got, err, c.column, c.want)
		}
		if fault != nil && fault.Beyond != strings.Contains(c.want, problemBase) {
			t.Errorf("%s of %.20q: beyond the base of desc: %v", c.text, c.value, fault.Beyond)
		}
		if len(c.value) > 2 && fault != nil && strings.Contains(fault.Reason, c.value) {
			t.Errorf("%q holds the value", fault.Reason)
		}
	}
}

func TestLongestKey(t *testing.T) {
	fields := checkFields()
	fields[2] = values.ValueOf(bytes.Repeat([]byte("k"), 32767))
	if key, err := parse(t, "rule_no").Append(nil, fields); err != nil || len(key) != 32767 {
		t.Errorf("%d bytes, %v", len(key), err)
	}
}

func TestNullsAreRefused(t *testing.T) {
	for text, column := range map[string]int{"rule_no": 2, "id + check_id": 1, "md5(check_id)": 1, "upper('a' + rule_no) + id": 2} {
		fields := checkFields()
		fields[column] = values.Value{}
		_, err := parse(t, text).Append(nil, fields)
		var fault *ValueError
		if !errors.As(err, &fault) || fault.Column != column || !strings.Contains(fault.Reason, "it is null") {
			t.Errorf("%s: %#v", text, err)
		}
	}
	fields := checkFields()
	fields[4] = values.Value{} // not used
	if _, err := parse(t, "id").Append(nil, fields); err != nil {
		t.Errorf("a null in an unused column: %v", err)
	}
}

func TestDeclaredWidthsAreHeld(t *testing.T) {
	fields := checkFields()
	fields[3] = values.ValueOf([]byte("1380013800"))
	for text, want := range map[string]string{"phone": "width 11", "lower(phone)": "width 11", "md5(phone)": ""} {
		_, err := parse(t, text).Append(nil, fields)
		if (err == nil) != (want == "") || err != nil && !testwords.Names(err, want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestWidthsInCharacters: pad, reverse and substr count characters. What is around them must not count bytes, as Java
// does not.
func TestWidthsInCharacters(t *testing.T) {
	columns := []KeyColumn{{Name: "x"}, {Name: "declared", Width: 6}}
	for _, c := range []struct{ text, value, want string }{
		{"upper(pad(x, 4))", "中", "000中"},
		{"lower(pad(x, 4))", "É中", "00é中"},
		{"rotate(pad(x, 4), 1)", "中", "中000"},
		{"substr(pad(x, 4), 1)", "中", "00中"},
		{"reverse(pad(x, 4))", "中a", "a中00"},
		{"upper(reverse(x, 4))", "中a", "A中00"},
		{"lower(substr(x, 0, 2))", "中ÉA", "中é"},
		{"upper(rotate(pad(x, 4), 1) + '-')", "a中", "中00A-"},
		{"substr(pad(x, 4) + declared, 2)", "中é1", "é1中é1"},
		{"upper(pad(x, 4))", "ß", "!number of characters"},
		{"upper(declared)", "abcdef", "ABCDEF"},
		{"upper(declared)", "中é1", "中É1"},
		{"upper(declared)", "abc", "!3 bytes, declared width 6"},
		{"substr(declared, 1)", "中é1", "!3 bytes, and its width"},
		{"declared", "abc", "!3 bytes, declared width 6"},
		{"unhex(x)", "de ad be ef", "\xde\xad\xbe\xef"},
		{"unhex(x)", "DEADbeef", "\xde\xad\xbe\xef"},
		{"unhex(x)", "d ea", "!not hex digits"},
		{"unhex(declared)", "dea dbe", "!"},
		{"unhex(declared)", "deadbe", "\xde\xad\xbe"},
		{"unhex(declared)", "de ad ", "!not hex digits"},
	} {
		e, err := Parse(c.text, columns)
		if err != nil {
			t.Fatal(err)
		}
		got, err := e.Append(nil, []values.Value{values.ValueOf([]byte(c.value)), values.ValueOf([]byte(c.value))})
		if want, bad := strings.CutPrefix(c.want, "!"); bad && !testwords.Names(err, want) || !bad &&
			(err != nil || string(got) != c.want) {
			t.Errorf("%s of %q: %q, %v; want %q", c.text, c.value, got, err, c.want)
		}
	}
	e, err := Parse("unhex(x)", []KeyColumn{{Name: "x", Width: 8}})
	if err != nil || e.Width() != (Width{4, 4}) {
		t.Errorf("unhex of eight digits has width %v, %v", e.Width(), err)
	}
	if e, err = Parse("unhex(x)", []KeyColumn{{Name: "x", Width: 11}}); err != nil || e.Width() != (Width{4, 4}) {
		t.Errorf("unhex of four bytes with spaces has width %v, %v", e.Width(), err)
	}
}

// TestEmptyQualifier: HBase accepts an empty qualifier, and no empty row key.
func TestEmptyQualifier(t *testing.T) {
	e, err := Parse("x", []KeyColumn{{Name: "x"}})
	if err != nil {
		t.Fatal(err)
	}
	empty := []values.Value{values.ValueOf(nil)}
	if got, err := e.AppendQualifier([]byte("row"), empty); err != nil || string(got) != "row" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := e.Evaluator().AppendQualifier([]byte("row"), empty); err != nil || string(got) != "row" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := e.Append(nil, empty); err == nil {
		t.Error("an empty row key is accepted")
	}
}

func TestTooFewFields(t *testing.T) {
	if _, err := parse(t, "id").Append(nil, checkFields()[:3]); err == nil {
		t.Error("a record of three columns was taken")
	}
}

func TestTextFunctionsOutsideASCII(t *testing.T) {
	for _, c := range []struct{ text, value, want string }{
		{"rotate(x, 1)", "ab中", "中ab"},
		{"rotate(x, 4)", "ab中", "中ab"},
		{"rotate(x, 1)", "a😀", "?a?"}, // cut through a surrogate pair, as getBytes writes its halves
		{"rotate(x, 2)", "a😀", "😀a"},
		{"substr(x, 1, 2)", "中😀文", "😀"},
		{"substr(x, 1, 1)", "中😀文", "?"},
		{"substr(x, 2, 2)", "中😀文", "?文"},
		{"reverse(x, 5)", "中😀", "😀中00"},
		{"upper(x)", "straße ŉ ﬁ", "STRASSE ʼN FI"},
		{"lower(x)", "ΟΔΥΣΣΕΥΣ ΣΑΣ. Σ 1Σ aΣb ΑΣ'", "οδυσσευς σας. σ 1σ aσb ας'"},
		{"lower(x)", "İI", "i̇i"},
	} {
		wantKey(t, c.text, []byte(c.value), c.want)
	}
}

func TestDates(t *testing.T) {
	const layout = "20060102150405000"
	for _, c := range []struct{ value, want string }{
		{"2019-01-31", "20190131000000000"},
		{"2019/01/31", "20190131000000000"},
		{"20190131", "20190131000000000"},
		{"20190131123456", "20190131123456000"},
		{"2019-01-31 12:34", "20190131123400000"},
		{"2019-01-31 12:34:56", "20190131123456000"},
		{"2019-01-31 12:34:56.0", "20190131123456000"},
		{"2019-01-31T12:34:56.78", "20190131123456780"},
		{"2019-01-31T12:34:56.123456789Z", "20190131123456123"},
		{"2019-01-31 12:34:56 +08:00", "20190131123456000"},
		{"2019-01-31 12:34:56-0330", "20190131123456000"},
		{"2019-01-31 12:34:56+08", "20190131123456000"},
		{"1546300800", "20190101000000000"},
		{"1546346096123", "20190101123456123"},
		{"9999-12-31 23:59:59", "99991231235959000"},
		{"2000-02-29", "20000229000000000"},
		{"1900-02-29", ""}, {"2019-13-01", ""}, {"2019-00-10", ""}, {"2019-01-00", ""}, {"2019-04-31", ""}, {"2019-1-1", ""},
		{"2019-01/31", ""}, {"2019-01-31x", ""}, {"2019-01-31 24:00:00", ""}, {"2019-01-31 12:60", ""}, {"2019-01-31 12:00:60", ""},
		{"2019-01-31 12", ""}, {"2019-01-31 12:34:56.", ""}, {"2019-01-31 12:34:56.1234567890", ""}, {"2019-01-31 12:34:56+8", ""},
		{"2019-01-31 12:34:56+08:0", ""}, {"2019-01-31 12:34:56 ", ""}, {"2019-01-31 12:34:56Zz", ""}, {"", ""}, {"2019", ""}, {"31-JAN-19", ""}, {"20191301", ""},
	} {
		got, fault := keyOf(t, "date(x, '"+layout+"')", []byte(c.value))
		if c.want == "" && fault == nil || c.want != "" && got != c.want {
			t.Errorf("date %q is %q (%v), want %q", c.value, got, fault, c.want)
		}
	}
	wantKey(t, "date(x, 'yy DDD')", []byte("2020-12-31"), "20 366")
	wantKey(t, "date(x, '06002')", []byte("2019-03-01"), "19060")
}

func TestRandomSaltRestsOnTheWholeRecord(t *testing.T) {
	e := parse(t, "random_salt(1000) + id")
	salt := func(fields []values.Value) string {
		t.Helper()
		key, err := e.Append(nil, fields)
		if err != nil {
			t.Fatal(err)
		}
		return string(key[:3])
	}
	// The literal results hold stored keys: they must never change.
	if got := salt(checkFields()); got != "755" {
		t.Errorf("salt %s of the check record", got)
	}
	seen := map[string]string{salt(checkFields()): "unchanged"}
	for name, change := range map[string]func(f []values.Value){
		"a byte":          func(f []values.Value) { f[0].Bytes()[31]++ },
		"moved":           func(f []values.Value) { f[1], f[2] = longer(f[1], f[2].Bytes()[0]), values.Value{} },
		"moved, kept":     func(f []values.Value) { f[1], f[2] = longer(f[1], f[2].Bytes()[0]), values.ValueOf(nil) },
		"zeros after":     func(f []values.Value) { f[5] = longer(f[5], 0) },
		"columns swapped": func(f []values.Value) { f[1], f[2] = f[2], f[1] },
	} {
		fields := checkFields()
		change(fields)
		got := salt(fields)
		if other, twice := seen[got]; twice {
			t.Errorf("%s: the same salt as %s", name, other)
		}
		seen[got] = name
	}
	if _, err := e.Prefix([]string{"id"}); !testwords.Names(err, "random_salt(") {
		t.Errorf("prefix of a random salt: %v", err)
	}
}

// longer is a value with one more byte.
func longer(v values.Value, b byte) values.Value { return values.ValueOf(append(v.Bytes(), b)) }

func TestRandomSaltSpreads(t *testing.T) {
	e, counts := parse(t, "random_salt(10)"), [10]int{}
	const n = 20_000
	for i := range n {
		fields := checkFields()
		fields[0] = values.ValueOf(fmt.Appendf(nil, "%032d", i))
		key, err := e.Append(nil, fields)
		if err != nil {
			t.Fatal(err)
		}
		counts[key[0]-'0']++
	}
	for salt, got := range counts {
		if got < n/10*9/10 || got > n/10*11/10 {
			t.Errorf("salt %d: %d of %d records", salt, got, n)
		}
	}
}

func TestExpressionsAllocateNothing(t *testing.T) {
	fields := checkFields()
	fields[1] = values.ValueOf([]byte("中文😀 A208849559"))
	dst := make([]byte, 0, 1024)
	for _, text := range []string{
		"salt(check_id, 10) + md5(check_id) + id",
		"random_salt(10) + md5_bytes(upper(check_id) + lower(id)) + date(ctime, '0102') + desc(rule_no) + int64(rule_no)",
		"reverse(check_id, 40) + rotate(check_id, 3) + substr(check_id, 1, 4) + pad(check_id, 40) + mod(phone, 7) + long_salt(phone, 9) + unhex(id)",
	} {
		e := parse(t, text)
		if n := testing.AllocsPerRun(100, func() {
			if _, err := e.Append(dst, fields); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations a key", text, n)
		}
	}
}

func TestEvaluatorsGiveTheSameKeys(t *testing.T) {
	for _, text := range []string{
		"salt(check_id, 10) + md5(check_id) + id", "md5(check_id, 4) + md5(check_id, 6) + reverse(rule_no) + upper(md5(check_id))", "desc(rule_no)", "lower(phone) + rule_no",
	} {
		e := parse(t, text)
		evaluator := e.Evaluator()
		buffer := checkFields() // whose bytes change under the evaluator, as a reader's do
		for i, value := range []string{"1", "1", "2", "", "2", "x", "x", "2", strings.Repeat("9", 300), "12"} {
			for c, text := range []string{1: value, 2: value, 3: "1380013800"} {
				if c > 0 {
					buffer[c] = values.ValueOf(append(buffer[c].Bytes()[:0], text...))
				}
			}
			if i%2 == 0 {
				buffer[3] = longer(buffer[3], '0')
			}
			if i == 8 {
				buffer[1] = values.Value{}
			}
			want, wantErr := e.Append(nil, buffer)
			got, err := evaluator.Append(nil, buffer)
			if !bytes.Equal(got, want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Errorf("%s of %q: %q, %v; want %q, %v", text, value, got, err, want, wantErr)
			}
			if i == 8 {
				buffer[1] = values.ValueOf(nil)
			}
		}
	}
}

func TestEvaluatorsAllocateNothing(t *testing.T) {
	e := parse(t, "salt(check_id, 10) + md5(check_id) + id").Evaluator()
	records, dst, i := benchRecords(64, 3), make([]byte, 0, 1024), 0
	if n := testing.AllocsPerRun(200, func() {
		if _, err := e.Append(dst, records[i%len(records)]); err != nil {
			t.Fatal(err)
		}
		i++
	}); n != 0 {
		t.Errorf("%v allocations a key", n)
	}
}
