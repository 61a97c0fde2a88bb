package filter

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"bulkload/internal/test/testrand"
	"bulkload/values"
)

func one[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// said is what a condition says of a record, in another form than the evaluator's: -1 is false, 0 unknown, 1 true. The
// column whose value can't be compared is set where one was looked at.
type said struct {
	truth int
	fault string
}

func saidIf(b bool) said {
	if b {
		return said{truth: 1}
	}
	return said{truth: -1}
}

// model is a condition as a tree: its text in a filter, and what it says of a record.
type model struct {
	text string
	says func(rec map[string]string) said
}

// number reads a number as a fraction, or as an infinity or NaN.
func number(text string, float bool) (n *big.Rat, special float64, ok bool) {
	switch {
	case float && text == "NaN":
		return nil, math.NaN(), true
	case float && text == "Infinity":
		return nil, math.Inf(1), true
	case float && text == "-Infinity":
		return nil, math.Inf(-1), true
	case !regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$`).MatchString(text):
		return nil, 0, false
	}
	n, ok = new(big.Rat).SetString(text)
	return n, 0, ok
}

// order compares two texts as values of a class. known is false if they have no order.
func order(class, a, b string, floatA, floatB bool) (order int, known bool) {
	switch class {
	case "text":
		return strings.Compare(a, b), true
	case "number":
		x, specialX, _ := number(a, floatA)
		y, specialY, _ := number(b, floatB)
		switch {
		case x != nil && y != nil:
			return x.Cmp(y), true
		case math.IsNaN(specialX) || math.IsNaN(specialY):
			return 0, false
		case specialX < specialY:
			return -1, true
		case specialX > specialY:
			return 1, true
		}
		return 0, true
	case "boolean":
		if truths[strings.ToLower(a)] == truths[strings.ToLower(b)] {
			return 0, true
		}
		return 1, true
	}
	panic(class)
}

var truths = map[string]bool{"true": true, "t": true, "yes": true, "y": true, "1": true, "false": false, "f": false, "no": false, "n": false, "0": false}

// classOfColumn is as what a column is compared with a literal of the class that its type asks for.
var classOfColumn = map[string]string{"any": "text", "name": "text", "n": "number", "amount": "number", "ratio": "number", "flag": "boolean",
	"day": "moment", "at": "moment", "epoch": "moment"}

var zones = map[string]string{"at": "Asia/Shanghai"}

// moment reads the few forms of moments that are drawn. A literal is what a clock of the column's zone shows, whatever
// the column's values are.
func moment(column, text string, literal bool) (time.Time, bool) {
	if n, err := strconv.ParseInt(text, 10, 64); column == "epoch" && !literal {
		return time.Unix(n, 0), err == nil
	}
	location, err := time.LoadLocation(zones[column])
	if err != nil {
		panic(err)
	}
	for _, layout := range []string{"2006-01-02", "2006-01-02 15:04:05", "2006-01-02T15:04:05Z07:00"} {
		at, err := time.ParseInLocation(layout, text, location)
		if err == nil && (column != "day" || literal || layout == "2006-01-02") {
			return at, true
		}
	}
	return time.Time{}, false
}

func canBe(class, column, text string) bool {
	switch class {
	case "number":
		_, _, ok := number(text, column == "ratio")
		return ok
	case "boolean":
		_, ok := truths[strings.ToLower(text)]
		return ok
	case "moment":
		_, ok := moment(column, text, false)
		return ok
	}
	return true
}

// literalOf draws a literal of a class, and gives its text in the filter too.
func literalOf(r *rand.Rand, class string) (value, text string) {
	switch class {
	case "number":
		value = one(r, "0", "-0.0", "1", "1.50", "+1.5", "-2", "1e2", "100", "99.999", ".5", "5.", "9223372036854775808", "1E-3")
		if r.IntN(3) == 0 {
			return value, quote(r, value)
		}
		return value, value
	case "boolean":
		value = one(r, "true", "false")
		return value, one(r, value, strings.ToUpper(value), quote(r, value))
	case "moment":
		value = one(r, "2026-11-20", "2026-11-20 08:00:00", "1969-12-31", "2026-11-20T00:00:00Z")
		return value, quote(r, value)
	}
	value = one(r, "", "a", "ab", "A", "é", "北京", "1", "1.0", "'", `"`, "\\", "\n\x00", "a%", "\xff")
	return value, quote(r, value)
}

// quote writes a text in quotes, each byte as itself or as an escape.
func quote(r *rand.Rand, text string) string {
	mark := one(r, byte('\''), byte('"'))
	out := []byte{mark}
	for i := range len(text) {
		switch c := text[i]; {
		case c == mark || c == '\\':
			out = append(out, '\\', c)
		case c == '\n':
			out = append(out, '\\', 'n')
		case c == 0:
			out = append(out, '\\', '0')
		case c < 0x80 && r.IntN(8) == 0 || c == 0xff:
			out = fmt.Appendf(out, `\x%02x`, c)
		default:
			out = append(out, c)
		}
	}
	return string(append(out, mark))
}

func word(r *rand.Rand, w string) string {
	return one(r, w, strings.ToUpper(w), strings.ToUpper(w[:1])+w[1:])
}

// compares draws a comparison of a column with a literal or with another column, or a list.
func compares(r *rand.Rand) model {
	column := one(r, "any", "name", "n", "amount", "ratio", "flag", "day", "at", "epoch")
	class := classOfColumn[column]
	if column == "any" {
		class = one(r, "text", "number", "boolean")
	}
	if r.IntN(4) == 0 {
		return lists(r, column, class)
	}
	operator := one(r, "=", "!=", "<>", "<", "<=", ">", ">=")
	if class == "boolean" {
		operator = one(r, "=", "!=", "<>")
	}
	holds := func(order int, known bool) bool {
		if !known {
			return operator == "!=" || operator == "<>"
		}
		switch operator {
		case "=":
			return order == 0
		case "<":
			return order < 0
		case "<=":
			return order <= 0
		case ">":
			return order > 0
		case ">=":
			return order >= 0
		}
		return order != 0
	}
	value, literal := literalOf(r, class)
	// a text in quotes asks for no number of a column without a type
	if column == "any" && class != "text" && literal[0] <= '\'' {
		class = "text"
	}
	other := ""
	if r.IntN(4) == 0 {
		other, literal = column, column
		if class == "number" && column != "any" {
			other = one(r, "n", "amount", "ratio")
			literal = other
		}
		if column == "any" {
			class = "text"
			operator = one(r, "=", "!=", "<", ">=")
		}
	}
	swapped := r.IntN(3) == 0
	text := column + one(r, "", " ") + operator + one(r, "", "  ") + literal
	if swapped {
		text = literal + one(r, "", " ") + operator + one(r, "", "\n") + column
	}
	return model{text, func(rec map[string]string) said {
		a, okA := rec[column]
		b, okB := value, true
		if other != "" {
			b, okB = rec[other]
		}
		if !okA || !okB {
			return said{}
		}
		left, right := column, other
		if swapped {
			left, right = right, left
			a, b = b, a
		}
		for _, side := range [][2]string{{left, a}, {right, b}} {
			if side[0] != "" && !canBe(class, side[0], side[1]) {
				return said{fault: side[0]}
			}
		}
		if class == "moment" {
			x, _ := moment(column, a, left == "")
			y, _ := moment(column, b, right == "")
			return saidIf(holds(x.Compare(y), true))
		}
		return saidIf(holds(order(class, a, b, left == "ratio" || left == "" && column == "ratio", right == "ratio" || right == "" && column == "ratio")))
	}}
}

func lists(r *rand.Rand, column, class string) model {
	var held, literals []string
	for range r.IntN(4) + 1 {
		value, literal := literalOf(r, class)
		if column == "any" && (class == "text") != (literal[0] == '\'' || literal[0] == '"') {
			literal = map[string]string{"number": "7", "boolean": "false"}[class]
			value = literal
		}
		held, literals = append(held, value), append(literals, literal)
	}
	negated := r.IntN(3) == 0
	text := column + " "
	if negated {
		text += word(r, "not") + " "
	}
	text += word(r, "in") + one(r, "", " ") + "(" + strings.Join(literals, one(r, ",", " , ")) + ")"
	return model{text, func(rec map[string]string) said {
		x, ok := rec[column]
		if !ok {
			return said{}
		}
		if !canBe(class, column, x) {
			return said{fault: column}
		}
		found := false
		for _, h := range held {
			if class == "moment" {
				a, _ := moment(column, x, false)
				b, _ := moment(column, h, true)
				found = found || a.Equal(b)
				continue
			}
			o, known := order(class, x, h, column == "ratio", column == "ratio")
			found = found || known && o == 0
		}
		return saidIf(found != negated)
	}}
}

// patterns draws "is null", "like" and "starts_with".
func patterns(r *rand.Rand) model {
	column := one(r, "any", "name", "n", "day")
	negated := r.IntN(3) == 0
	not := ""
	if negated {
		not = word(r, "not") + " "
	}
	switch r.IntN(3) {
	case 0:
		return model{column + " " + word(r, "is") + " " + not + word(r, "null"), func(rec map[string]string) said {
			_, ok := rec[column]
			return saidIf(ok == negated)
		}}
	case 1:
		prefix := one(r, "", "a", "北", "1", "2026", "\xff")
		return model{column + " " + not + word(r, "starts_with") + " " + quote(r, prefix), func(rec map[string]string) said {
			x, ok := rec[column]
			if !ok {
				return said{}
			}
			return saidIf(strings.HasPrefix(x, prefix) != negated)
		}}
	}
	pattern := one(r, "%", "_", "a%", "%a", "%b%", "__", "_京", "%_%_", "1%0", "")
	return model{column + " " + not + word(r, "like") + " " + quote(r, pattern), func(rec map[string]string) said {
		x, ok := rec[column]
		if !ok {
			return said{}
		}
		return saidIf(like([]rune(pattern), []rune(x)) != negated)
	}}
}

// draws makes a filter of conditions. "and" looks at its parts up to the first that is false, "or" up to the first that
// is true: values that come later are not looked at.
func draws(r *rand.Rand, depth int) model {
	if depth == 0 || r.IntN(3) == 0 {
		if r.IntN(3) == 0 {
			return patterns(r)
		}
		return compares(r)
	}
	if r.IntN(4) == 0 {
		of := draws(r, depth-1)
		return model{word(r, "not") + " (" + of.text + ")", func(rec map[string]string) said {
			s := of.says(rec)
			return said{-s.truth, s.fault}
		}}
	}
	decides, joined := -1, "and"
	if r.IntN(2) == 0 {
		decides, joined = 1, "or"
	}
	var parts []model
	var texts []string
	for range r.IntN(3) + 2 {
		parts = append(parts, draws(r, depth-1))
		texts = append(texts, "("+parts[len(parts)-1].text+")")
	}
	return model{strings.Join(texts, one(r, " ", "\t")+word(r, joined)+" "), func(rec map[string]string) said {
		all := said{truth: -decides}
		for _, p := range parts {
			s := p.says(rec)
			if all.fault == "" {
				all.fault = s.fault
			}
			if s.truth*decides > all.truth*decides {
				all.truth = s.truth
			}
			if all.truth == decides {
				break
			}
		}
		return all
	}}
}

// valuesOf are those that a column has in the records that are drawn: good ones, bounds, and some that are none.
var valuesOf = map[string][]string{
	"any":    {"", "a", "ab", "1", "1.0", "yes", "F", "7", "a%", "\xff", "'"},
	"name":   {"", "a", "ab", "A", "é", "北京", "1", "'", "\"", "\\", "\n\x00", "\xff"},
	"n":      {"0", "-0", "1", "+001", "-2", "100", "9223372036854775808", "x", "", "NaN"},
	"amount": {"0.00", "1.5", "1.50", "100.0", "1e2", "-2", ".5", "1,5", "99.9990"},
	"ratio":  {"0.0", "-0.0", "1.5", "NaN", "Infinity", "-Infinity", "1.0E2", "nan", "0.001"},
	"flag":   {"true", "F", "0", "1", "YES", "maybe", ""},
	"day":    {"2026-11-20", "1969-12-31", "0001-01-01", "9999-12-31", "2026-02-30", "", "2026-11-20 08:00:00"},
	"at":     {"2026-11-20 08:00:00", "2026-11-20", "2026-11-20T00:00:00Z", "1969-12-31 08:00:00", "soon"},
	"epoch":  {"0", "-86400", "1795132800", "1795161600", "1.5", ""},
}

func drawRecord(r *rand.Rand) map[string]string {
	rec := map[string]string{}
	for column, some := range valuesOf {
		if r.IntN(4) > 0 {
			rec[column] = one(r, some...)
		}
	}
	return rec
}

// TestAsTheModel: filters and records that are drawn at random are decided, and faults found in them, as by a plain
// model of SQL's three-valued logic over fractions, times and texts of the standard library.
func TestAsTheModel(t *testing.T) {
	r := testrand.New(t)
	outcomes := map[string]int{}
	for range 4_000 {
		m := draws(r, 3)
		e, err := Parse(m.text, columns)
		if err != nil {
			t.Fatalf("%s: %v", m.text, err)
		}
		v := e.Evaluator()
		for range 10 {
			rec := drawRecord(r)
			want := m.says(rec)
			shown := fmt.Sprintf("%s\nof %q", m.text, rec)
			fields := record(t, rec)
			wanted, err := v.Wanted(fields)
			var fault *Fault
			switch {
			case want.fault != "":
				if !errors.As(err, &fault) || columns[fault.Column].Name != want.fault || wanted {
					t.Fatalf("%s:\n%v, %v; want a fault in %s", shown, wanted, err, want.fault)
				}
				outcomes["fault"]++
			case err != nil || wanted != (want.truth == 1):
				t.Fatalf("%s:\n%v, %v; want %d", shown, wanted, err, want.truth)
			default:
				outcomes[strconv.Itoa(want.truth)]++
			}
		}
	}
	if len(outcomes) != 4 {
		t.Errorf("outcomes %v", outcomes)
	}
	t.Log(outcomes)
}

// TestEvaluatorsShareNothing: evaluators of one filter decide at the same time as each does alone.
func TestEvaluatorsShareNothing(t *testing.T) {
	e := parsed(t, "at < '2026-11-20 08:00' and name in ('a', 'b') or amount > 10 and name like '%x_'")
	var records [][]values.Value
	var want []bool
	alone := e.Evaluator()
	r := testrand.New(t)
	for range 200 {
		records = append(records, record(t, map[string]string{"name": one(r, "a", "axy", "c"), "amount": one(r, "9.99", "10.01"),
			"at": one(r, "2026-11-20 07:59:59", "1986-05-04 00:30:00", "2026-12-01")}))
		wanted, err := alone.Wanted(records[len(records)-1])
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, wanted)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			v := e.Evaluator()
			for i, fields := range records {
				if wanted, err := v.Wanted(fields); err != nil || wanted != want[i] {
					t.Errorf("record %d: %v, %v; want %v", i, wanted, err, want[i])
				}
			}
		})
	}
	all.Wait()
}

// TestFaultIsForgotten: a fault of one record is none of the next.
func TestFaultIsForgotten(t *testing.T) {
	v := parsed(t, "n > 1").Evaluator()
	bad, good := record(t, map[string]string{"n": "x"}), record(t, map[string]string{"n": "2"})
	for range 3 {
		var fault *Fault
		if _, err := v.Wanted(bad); !errors.As(err, &fault) || columns[fault.Column].Name != "n" {
			t.Error(err)
		}
		if wanted, err := v.Wanted(good); err != nil || !wanted {
			t.Errorf("%v, %v", wanted, err)
		}
	}
}
