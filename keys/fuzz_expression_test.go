package keys

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/test/testwords"
	"bulkload/values"
)

// chooser draws choices from a fuzzer's bytes; when they are used up it always takes the first.
type chooser struct{ left []byte }

func (c *chooser) of(n int) int {
	if len(c.left) == 0 {
		return 0
	}
	b := int(c.left[0])
	c.left = c.left[1:]
	return b % n
}

func (c *chooser) one(list ...string) string { return list[c.of(len(list))] }

// sum is a random expression, of which the parser may refuse nothing but what columns are declared to be.
func (c *chooser) sum(depth int) string {
	terms := []string{c.term(depth)}
	for c.of(3) > 0 && len(terms) < 5 {
		terms = append(terms, c.term(depth))
	}
	return strings.Join(terms, c.one(" + ", "+"))
}

func (c *chooser) term(depth int) string {
	if depth > 3 {
		return c.one("int64", "'-'")
	}
	switch c.of(3) {
	case 0:
		return c.one("free", "text", "int64", "int32", "decimal", "guid", "epoch", "timestamp", "bytes", "hex", "date", "local")
	case 1:
		return c.one("'-'", "''", "'0'", `"\xff"`, "'中'")
	}
	call := c.one("salt(?, 10)", "long_salt(?, 16)", "short_salt(?, 7)", "short_salt(?, 16)", "random_salt(4)", "mod(?, 100)", "md5(?)", "md5(?, 4)", "md5_bytes(?)", "reverse(?)", "reverse(?, 40)", "rotate(?, 3)",
		"desc(?)", "desc(?, 9999999999)", "pad(?, 40)", "pad(?, 300, '_')", "substr(?, 2)", "substr(?, 0, 3)", "upper(?)", "lower(?)", "date(?, 'yyyyMMdd')", "date(?, 'MM-dd', 'Asia/Shanghai')",
		"millis(?)", "seconds(?, 'Asia/Shanghai')", "int64(?)", "int32(?)", "unhex(?)")
	return strings.ReplaceAll(call, "?", c.sum(depth+1))
}

// FuzzExpression makes expressions and records, and compares what is said of an expression with the keys that it makes.
func FuzzExpression(f *testing.F) {
	for _, seed := range []string{"", "\x02\x00\x02\x01", "\x02\x07\x01\x00\x02\x02\x02\x0a\x02\x14", "\x02\x02\x01\x00\x03\x02\x04", "\x02\x0a\x02\x14\x00\x06\x01\x01\x02", "\x00\x02\x00\x01\x00\x05\x00"} {
		f.Add([]byte(seed), "17", "1548938096123", "2019-01-31 12:34:56.7")
	}
	f.Add([]byte("\x00\x02"), "00000000000000000000010", "00000000000000000000010", "2019-01-31")
	f.Fuzz(func(t *testing.T, choices []byte, a, b, moment string) {
		text := (&chooser{choices}).sum(0)
		e, err := Parse(text, typedColumns())
		if err != nil {
			refused := slices.ContainsFunc([]string{" needs ", " subtracts ", " can't use "},
				func(why string) bool { return testwords.Names(err, why) })
			if !refused || !testwords.Names(err, "character ") {
				t.Fatalf("%s: %v", text, err)
			}
			return
		}
		fields := make([]values.Value, len(e.columns))
		for i := range fields {
			fields[i] = values.ValueOf([]byte([]string{a, b}[i%2]))
			if e.columns[i].Kind.Moment() && e.columns[i].Unit == 0 {
				fields[i] = values.ValueOf([]byte(moment))
			}
		}
		checkSplits(t, e)
		checkFindings(t, e)
		key, err := e.Append(nil, fields)
		if fault := (*ValueError)(nil); err != nil && !errors.As(err, &fault) {
			t.Fatalf("%s: %v is no ValueError", text, err)
		}
		if again, err2 := e.Evaluator().Append(nil, fields); !bytes.Equal(again, key) || fmt.Sprint(err) != fmt.Sprint(err2) {
			t.Fatalf("%s: %q, %v; the evaluator has %q, %v", text, key, err, again, err2)
		}
		if err == nil {
			checkFuzzedKey(t, e, fields)
			checkQueries(t, e, fields, key)
		}
	})
}

func checkSplits(t *testing.T, e *Expr) {
	t.Helper()
	for _, n := range []int{1, 5, 40} {
		splits, err := e.Splits(n)
		if err != nil {
			continue
		}
		for i, s := range splits {
			if len(s) == 0 || i > 0 && bytes.Compare(splits[i-1], s) >= 0 {
				t.Fatalf("%s in %d regions: %q", e, n, splits)
			}
		}
		if salts := e.Salts(); salts == nil {
			if len(splits) >= n {
				t.Fatalf("%s in %d regions: %d splits", e, n, len(splits))
			}
		} else if slices.ContainsFunc(salts[1:], func(s []byte) bool {
			return !slices.ContainsFunc(splits, func(b []byte) bool { return bytes.Equal(b, s) })
		}) {
			t.Fatalf("%s in %d regions: a salt crosses %q", e, n, splits)
		}
	}
}

func checkFindings(t *testing.T, e *Expr) {
	t.Helper()
	for _, f := range e.Findings([]string{"free", "int64"}) {
		if runes := []rune(e.String()); f.Position < 1 || f.Position > len(runes) || !strings.HasPrefix(string(runes[f.Position-1:]), f.Part) || f.Reason == "" {
			t.Fatalf("%s: %+v", e, f)
		}
	}
	var w Width
	for _, p := range e.Parts() {
		w = w.plus(p.Width)
	}
	if w != e.Width() {
		t.Fatalf("%s: the parts have the width %v, the key %v", e, w, e.Width())
	}
}

// checkQueries wants a record's key below one of the prefixes of every query of two columns.
func checkQueries(t *testing.T, e *Expr, fields []values.Value, key []byte) {
	t.Helper()
	for i := range e.columns {
		query := []string{e.columns[i].Name, "free"}
		q, err := e.Query(query)
		if err != nil {
			continue
		}
		asked := make([]values.Value, len(fields))
		for c := range fields {
			if slices.Contains(query, e.columns[c].Name) {
				asked[c] = fields[c]
			}
		}
		prefixes, err := q.Prefixes(asked)
		if err != nil {
			if len(prefixes) > 0 && len(prefixes[0]) == 0 {
				continue // empty values
			}
			t.Fatalf("%s by %v: %v", e, query, err)
		}
		if len(prefixes) != q.Scans() || !slices.ContainsFunc(prefixes, func(p []byte) bool { return bytes.HasPrefix(key, p) }) {
			t.Fatalf("%s by %v: %q is below none of %d prefixes %q", e, query, key, len(prefixes), prefixes)
		}
	}
}
