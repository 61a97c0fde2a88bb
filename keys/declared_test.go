package keys

import (
	"errors"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/testwords"
	"bulkload/values"
)

// typedColumns has a column of each kind, called as it is, and some more.
func typedColumns() (columns []KeyColumn) {
	for _, name := range values.KindNames() {
		kind, _ := values.ParseKind(name)
		columns = append(columns, KeyColumn{Name: name, Kind: kind})
	}
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		panic(err)
	}
	return append(columns, KeyColumn{Name: "free"}, KeyColumn{Name: "guid", Width: 32}, KeyColumn{Name: "epoch", Kind: values.KindTimestamp, Unit: time.Millisecond},
		KeyColumn{Name: "epoch_seconds", Kind: values.KindTimestamp, Unit: time.Second}, KeyColumn{Name: "local", Kind: values.KindTimestamp, Zone: shanghai},
		KeyColumn{Name: "local_epoch", Kind: values.KindTimestamp, Unit: time.Millisecond, Zone: shanghai})
}

func parseTyped(t testing.TB, text string) *Expr {
	t.Helper()
	e, err := Parse(text, typedColumns())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// appended is the key of a record that has value in every column.
func appended(t testing.TB, e *Expr, value string) (string, error) {
	t.Helper()
	fields := make([]values.Value, len(e.columns))
	for i := range fields {
		fields[i] = values.ValueOf([]byte(value))
	}
	key, err := e.Append(nil, fields)
	return string(key), err
}

// TestDeclaredKindsAreHeldAgainstFunctions: by function, the kinds of which it can make nothing.
func TestDeclaredKindsAreHeldAgainstFunctions(t *testing.T) {
	const numeric = "text float32 float64 boolean date timestamp bytes hex"
	for call, refused := range map[string]string{
		"mod(?, 7)": numeric, "long_salt(?, 7)": numeric, "desc(?)": numeric, "int64(?)": numeric, "int32(?)": numeric,
		"salt(?, 7)": "bytes", "reverse(?)": "bytes", "reverse(?, 9)": "bytes", "rotate(?, 2)": "bytes", "pad(?, 40)": "bytes",
		"substr(?, 1)": "bytes", "upper(?)": "bytes", "lower(?)": "bytes", "md5(?)": "", "md5_bytes(?)": "",
		"date(?, 'yyyy')": "float32 float64 boolean bytes hex", "millis(?)": "float32 float64 boolean bytes hex", "seconds(?)": "float32 float64 boolean bytes hex",
		"unhex(?)": "decimal float32 float64 boolean date timestamp bytes",
		"?":        "",
	} {
		for _, kind := range append(values.KindNames(), "free", "epoch") {
			text := "'k' + " + strings.ReplaceAll(call, "?", kind)
			_, err := Parse(text, typedColumns())
			name, _, _ := strings.Cut(call, "(")
			switch wanted := strings.Contains(" "+refused+" ", " "+kind+" "); {
			case wanted && !testwords.Names(err, "column "+kind, "declared "+kind),
				wanted && !testwords.Names(err, "character 8: "+name) && len(name) == 1,
				!wanted && err != nil:
				t.Errorf("%s: %v", text, err)
			}
		}
	}
}

func TestRefusalsSayWhereAndWhatInstead(t *testing.T) {
	for text, want := range map[string][]string{
		"free + mod(text, 7)": {"character 12: mod", "column text", "text;", "salt(x, n)"},
		"desc(timestamp)": {"character 6: desc", "column timestamp", "timestamp;",
			"millis(x)", "seconds(x)"},
		"int64(md5(free))":                          {"character 7: int64", "md5(free)", "hex text"},
		"mod(date(free, 'yyyy-MM'), 7)":             {"date(free, 'yyyy-MM')", "text"},
		"upper(md5_bytes(free))":                    {"upper", "md5_bytes(free)", "bytes;", "md5(x) and md5_bytes(x)"},
		"pad(int64(int64), 20)":                     {"int64(int64)", "bytes"},
		"unhex(boolean)":                            {"unhex", "hex text", "column boolean"},
		"desc(millis(timestamp), 9999999999)":       {"millis(timestamp)", "13 digits", "seconds(x)"},
		"desc(epoch, 9999999999)":                   {"epoch is greater"},
		"'a' + desc(seconds(timestamp), 999999999)": {"10 digits"},
		"millis(free, 'Asia/Beijing')":              {`character 14: "Asia/Beijing"`, "zone"},
		"millis(free, 'Local')":                     {`"Local"`, "zone"},
		"millis(free, '')":                          {`""`, "zone"},
		"millis(free, 8)":                           {"zone in quotes", "found 8"},
		"free + int64('x' + '1')":                   {"character 14: int64", "'x' + '1'"},
		"mod(date('2019-02-29', 'yyyy'), 7)":        {"character 10: date", "'2019-02-29'"},
		"date(free, 'yyyy', 'UTC', 'UTC')":          {") of date(x, 'layout')"},
	} {
		if _, err := Parse(text, typedColumns()); !testwords.Names(err, want...) {
			t.Errorf("%s gives\n  %v\nwant %s", text, err, want)
		}
	}
	for _, text := range []string{"desc(seconds(timestamp), 9999999999)", "desc(epoch)", "desc(epoch_seconds, 9999999999)", "mod(pad(int64, 20), 7)",
		"int32(date(date, 'yyyyMMdd'))", "long_salt(substr(int64, 0, 3), 7)", "mod(decimal, 7)", "desc(free + '000')", "unhex(md5(free))", "desc(mod(free, 9))"} {
		parseTyped(t, text)
	}
}

func TestWidthsOfDeclaredNumbers(t *testing.T) {
	for text, want := range map[string]Width{
		"int64": {1, -1}, "int32 + int16": {2, -1}, "decimal": {0, -1}, "guid + int64": {33, -1}, "millis(timestamp)": {13, 13}, "desc(seconds(date), 9999999999)": {10, 10},
		"pad(int64, 20) + free": {20, -1},
	} {
		if got := parseTyped(t, text).Width(); got != want {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}

func TestNumbersInKeysAreOfTheirKind(t *testing.T) {
	for _, c := range []struct{ column, value, want string }{
		{"int16", "-32768", ""}, {"int16", "32768", "int16"}, {"int32", "2147483647", ""}, {"int32", "-2147483649",
			"int32"},
		{"int64", "9223372036854775807", ""}, {"int64", "9223372036854775808", "int64"}, {"int64", "12a",
			"int64"}, {"int64", "", "int64"},
		{"decimal", "12345678901234567890123456789012345678", ""}, {"free", "12a", ""},
	} {
		_, err := appended(t, parseTyped(t, "'k' + "+c.column), c.value)
		var fault *ValueError
		if (err == nil) != (c.want == "") || err != nil && (!errors.As(err, &fault) || !testwords.Names(err, c.want)) {
			t.Errorf("%s of %q: %v, want %q", c.column, c.value, err, c.want)
		}
	}
}

func TestMoments(t *testing.T) {
	for _, c := range []struct{ text, value, want string }{
		{"millis(free)", "2019-01-31 12:34:56.7", "1548938096700"},
		{"millis(free, 'UTC')", "2019-01-31 12:34:56.7", "1548938096700"},
		{"millis(free, 'Asia/Shanghai')", "2019-01-31 12:34:56.7", "1548909296700"},
		{"millis(local)", "2019-01-31 12:34:56.7", "1548909296700"},
		{"millis(local, 'UTC')", "2019-01-31 12:34:56.7", "1548938096700"},
		{"millis(free, 'Asia/Shanghai')", "2019-01-31T12:34:56+01:30", "1548932696000"},
		{"millis(free)", "2019-01-31T12:34:56-0330", "1548950696000"},
		{"millis(free)", "2001-09-09", "0999993600000"},
		{"seconds(free)", "1970-01-01", "0000000000"},
		{"millis(free)", "1548938096", "1548938096000"},
		{"seconds(free)", "1548938096999", "1548938096"},
		{"millis(epoch)", "999999999999", "0999999999999"},
		{"seconds(epoch_seconds)", "999999999", "0999999999"},
		{"millis(free)", "2286-11-20 17:46:39.999", "9999999999999"},
		{"millis(free)", "2286-11-20 17:46:40", "!before 1970 or after 2286"},
		{"seconds(free)", "1969-12-31 23:59:59", "!before 1970 or after 2286"},
		{"millis(free)", "1970-01-01 07:59:59", "0000028799000"},
		{"millis(local)", "1970-01-01 07:59:59", "!before 1970"},
		{"millis(epoch)", "2019-01-31", "!not a date"},
		{"millis(epoch)", "9223372036854775807", "!not a date"},
		{"millis(epoch_seconds)", "9223372036854775807", "!not a date"},
		{"date(epoch, 'yyyy')", "-99999999999999", "!not a date"},
		{"date(epoch_seconds, 'yyyyMMdd')", "-1", "19691231"},
		{"millis(free)", "2019-01-31 12:00:00+18:01", "!not a date"},
		{"date(free, 'yyyyMMddHH')", "1548950399999", "2019013115"},
		{"date(free, 'yyyyMMddHH', 'Asia/Shanghai')", "1548950399999", "2019013123"},
		{"date(local_epoch, 'yyyyMMddHH')", "1548950399999", "2019013115"},
		{"date(local, 'yyyyMMddHH')", "2019-01-31T20:00:00Z", "2019013120"},
		{"date(local, 'yyyyMMddHH', 'Asia/Shanghai')", "2019-01-31T20:00:00Z", "2019020104"},
		{"millis(local)", "2019-01-31T20:00:00Z", "1548964800000"},
		{"date(free, 'yyyyMMddHH', 'Asia/Shanghai')", "2019-01-31T20:00:00Z", "2019020104"},
		{"date(free, 'yyyyMMddHH', 'Asia/Shanghai')", "2019-01-31T20:00:00", "2019013120"},
		{"date(free, 'yyyyMMddHH')", "2019-01-31T20:00:00Z", "2019013120"},
		{"date(local, 'yyyyMMddHH')", "2019-01-31 20:00:00", "2019013120"},
		{"date(free, 'yyyyMMddHH', 'UTC')", "0000-01-01T00:00:00+01:00", "!not a date"},
	} {
		got, err := appended(t, parseTyped(t, c.text), c.value)
		if want, bad := strings.CutPrefix(c.want, "!"); bad && !testwords.Names(err, want) || !bad &&
			(err != nil || got != c.want) {
			t.Errorf("%s of %q is %q, %v; want %s", c.text, c.value, got, err, c.want)
		}
	}
}

func TestKindsHaveNames(t *testing.T) {
	names := values.KindNames()
	for _, name := range names {
		if kind, ok := values.ParseKind(name); !ok || kind == values.KindUnknown || kind.String() != name {
			t.Errorf("%s is %v, %v", name, kind, ok)
		}
		if kind, _ := values.ParseKind(name); contentOf[kind] == contentUnknown || contentNames[contentOf[kind]] == "" {
			t.Errorf("nobody knows what %s is made of", name)
		}
	}
	for _, name := range []string{"", "unknown", "INT64", "varchar"} {
		if kind, ok := values.ParseKind(name); ok {
			t.Errorf("%q is %v", name, kind)
		}
	}
	if len(names) != int(values.KindHex) {
		t.Errorf("%d names of %d kinds", len(names), values.KindHex)
	}
}
