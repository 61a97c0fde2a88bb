package keys

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"bulkload/internal/test/testwords"
	"bulkload/values"
)

func TestQueries(t *testing.T) {
	for _, c := range []struct {
		text, query string
		scans       int
		prefixes    string // "!": an error with that
	}{
		{"salt(check_id, 10) + md5(check_id) + id", "check_id", 1, "77c9498b4a83974da56b252122b9752bf"},
		{"random_salt(3) + check_id + id", "check_id", 3, "0A208849559 1A208849559 2A208849559"},
		{"salt(id, 3) + check_id + '-' + id", "check_id", 3, "0A208849559- 1A208849559- 2A208849559-"},
		{"salt(id, 3) + check_id + '-' + id", "check_id id", 1, "0A208849559-59C1B6E4F7D501ECE053C5013807B6BE"},
		{"mod(rule_no, 2) + phone + long_salt(rule_no, 3) + check_id", "phone check_id", 6, "013800138000" + "0A208849559 0138001380001A208849559 0138001380002A208849559 1138001380000A208849559 1138001380001A208849559 1138001380002A208849559"},
		{"phone + salt(id, 10) + rule_no", "phone", 1, "13800138000"}, // one scan reads all salts after it
		{"'v1' + random_salt(2) + 'x' + check_id", "check_id", 2, "v10xA208849559 v11xA208849559"},
		{"'v1' + rule_no", "id", 1, "v1"},
		{"random_salt(2) + 'x' + check_id", "id", 0, "!random_salt(2)"},
		{"random_salt(2)", "id check_id rule_no phone ctime order_no", 1, "?"},
		{"check_id + id", "id", 0, "!needs check_id"},
		{"md5(id) + check_id", "check_id", 0, "!needs id"},
		{"salt(id, 200) + salt(rule_no, 200) + check_id", "check_id", 0, "!10000"},
		{"salt(id, 1000000) + mod(rule_no, 2147483647) + mod(rule_no, 2147483647) + check_id", "check_id", 0, "!"},
		{"random_salt(10000) + check_id", "check_id", 10000, "?"},
		{"id", "nobody", 0, "!column nobody"},
	} {
		q, err := parse(t, c.text).Query(strings.Fields(strings.ReplaceAll(c.query, "order_no", "order-no")))
		if strings.Contains(c.query, "order_no") {
			q, err = parse(t, c.text).Query([]string{"id", "check_id", "rule_no", "phone", "ctime", "order no"})
		}
		if want, bad := strings.CutPrefix(c.prefixes, "!"); bad {
			if !testwords.Names(err, want) {
				t.Errorf("%s by %s: %v, want %s", c.text, c.query, err, want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s by %s: %v", c.text, c.query, err)
			continue
		}
		prefixes, err := q.Prefixes(checkFields())
		if got := string(bytes.Join(prefixes, []byte(" "))); err != nil || q.Scans() != c.scans || len(prefixes) != c.scans || got != c.prefixes && c.prefixes != "?" {
			t.Errorf("%s by %s: %d scans %s, %v; want %d %s", c.text, c.query, q.Scans(), got, err, c.scans, c.prefixes)
		}
		if w := q.width(); len(prefixes[0]) < w.Min || w.Max >= 0 && len(prefixes[0]) > w.Max {
			t.Errorf("%s by %s: prefix %q, width %v", c.text, c.query, prefixes[0], w)
		}
	}
}

func TestQueriesOfBadValues(t *testing.T) {
	for text, value := range map[string]string{"mod(rule_no, 7) + id": "x", "rule_no + id": "", "pad(rule_no, 2) + id": "123", "rule_no": strings.Repeat("x", 40_000)} {
		q, err := parse(t, text).Query([]string{"rule_no"})
		if err != nil {
			t.Fatal(err)
		}
		fields := make([]values.Value, len(checkColumns))
		fields[2] = values.ValueOf([]byte(value))
		if got, err := q.Prefixes(fields); err == nil {
			t.Errorf("%s of %.10q: %q", text, value, got)
		}
	}
}

func TestQuerySaysWhatItIs(t *testing.T) {
	q, err := parse(t, "random_salt(3) + check_id + '-' + id").Query([]string{"check_id"})
	if err != nil || q.String() != "random_salt(3) + check_id + '-'" {
		t.Errorf("%v, %v", q, err)
	}
}

// TestRowsAreFoundInEveryScan: whatever the record, its key begins with one of the prefixes of its query.
func TestRowsAreFoundInEveryScan(t *testing.T) {
	e := parse(t, "random_salt(7) + md5(check_id, 4) + salt(id, 3) + phone + id")
	q, err := e.Query([]string{"check_id", "phone"})
	if err != nil || q.Scans() != 21 {
		t.Fatal(q, err)
	}
	found := map[int]int{}
	for i := range 500 {
		fields := checkFields()
		fields[0] = values.ValueOf(fmt.Appendf(nil, "%032d", i))
		key, err := e.Append(nil, fields)
		if err != nil {
			t.Fatal(err)
		}
		fields[0], fields[2], fields[4], fields[5] = values.Value{}, values.Value{}, values.Value{}, values.Value{}
		prefixes, err := q.Prefixes(fields)
		if err != nil {
			t.Fatal(err)
		}
		for p, prefix := range prefixes {
			if bytes.HasPrefix(key, prefix) {
				found[p]++
			}
		}
	}
	if len(found) != 21 {
		t.Errorf("rows below %d of 21 prefixes: %v", len(found), found)
	}
}

// width is the prefixes' width.
func (q *KeyQuery) width() Width {
	var w Width
	for i := range q.parts {
		w = w.plus(q.parts[i].width)
	}
	return w
}
