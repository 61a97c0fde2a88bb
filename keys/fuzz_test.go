package keys

import (
	"bytes"
	"slices"
	"testing"

	"bulkload/internal/test/testwords"
	"bulkload/values"
)

// FuzzParse holds that no text brings the parser down, that what parses is found again in its String, and that keys
// keep the width that was promised, whatever the values.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"salt(check_id, 10) + md5(check_id) + id", "md5(id, 4)+'-'+`order no`", "desc(rule_no, 99)", "reverse(phone, 20) + rotate(phone, 4)",
		"pad(rule_no, 9, '_') + substr(check_id, 1, 3)", "date(ctime, 'yyyyMMdd')", "random_salt(16) + int64(rule_no) + unhex(id)",
		`'\x00\'' + "é"`, "upper(lower(md5(id + phone)))", "salt(", "'", "`", "((", "mod(rule_no, 7),", "long_salt(rule_no, 3)",
	} {
		f.Add(text, []byte("7"))
	}
	f.Fuzz(func(t *testing.T, text string, value []byte) {
		e, err := Parse(text, checkColumns)
		if err != nil {
			if !testwords.Names(err, "character ") && !testwords.Names(err, "every key") {
				t.Fatalf("%q: %v names no position", text, err)
			}
			return
		}
		if e.String() != text {
			t.Fatalf("%q became %q", text, e)
		}
		fields := checkFields()
		fields[1], fields[2] = values.ValueOf(value), values.ValueOf(value)
		checkFuzzedKey(t, e, fields)
	})
}

func checkFuzzedKey(t *testing.T, e *Expr, fields []values.Value) {
	t.Helper()
	dst := []byte("dst")
	key, err := e.Append(dst, fields)
	if err != nil {
		if string(key) != "dst" {
			t.Fatalf("%q: %v leaves %q", e, err, key)
		}
		return
	}
	key, is := bytes.CutPrefix(key, dst)
	w := e.Width()
	if !is || len(key) < w.Min || ascii(key) == len(key) && w.Max >= 0 && len(key) > w.Max {
		t.Fatalf("%q: key %q, width %+v", e, key, w)
	}
	if salts := e.Salts(); salts != nil && !slices.ContainsFunc(salts, func(s []byte) bool { return bytes.HasPrefix(key, s) }) {
		t.Fatalf("%q: key %q begins with none of the salts", e, key)
	}
}

// FuzzText compares every text function with what Go says of the same text where it is valid.
func FuzzText(f *testing.F) {
	for _, s := range []string{"", "A208849559", "中文😀", "a\xffb", "\xed\xa0\x80", "\xf0\x9f\x98", "ΣΑΣ"} {
		f.Add([]byte(s), byte(3))
	}
	f.Fuzz(func(t *testing.T, x []byte, n byte) {
		text := appendText(nil, x)
		if units(text) != units(x) || stringHash(text) != stringHash(x) {
			t.Fatalf("%q and its clean form %q differ", x, text)
		}
		if twice := appendReversed(nil, appendReversed(nil, x)); !bytes.Equal(twice, text) {
			t.Fatalf("%q reversed twice is %q", x, twice)
		}
		count := units(x)
		if cut := int(n) % (count + 1); units(appendUnits(appendUnits(nil, x, 0, cut), x, cut, count)) < units(x)-1 {
			t.Fatalf("%q cut at %d loses units", x, cut)
		}
		for _, function := range []applier{applyUpper, applyLower, applyMod, applyUnhex, applyInt32, applyDate} {
			s := &step{n: int64(n) + 1, width: 3, layout: []datePart{{field: fieldYear}, {field: fieldDayOfYear}}}
			if out, _ := function(s, []byte("dst"), x); !bytes.HasPrefix(out, []byte("dst")) {
				t.Fatalf("%q: what stood before is gone: %q", x, out)
			}
		}
	})
}
