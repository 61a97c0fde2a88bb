package lookup

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bulkload/cell"
	"bulkload/internal/errcode"
	"bulkload/internal/test/testrand"
	"bulkload/jobs/base/failure"
	"bulkload/load"
)

// orderedJob is a job whose query does not determine the salt, and whose rows are ordered by their number.
const orderedJob = `
input: {path: in.dat, columns: [id, user, n], record_delimiter: '\n', field_delimiter: '|'}
table: t
family: f
columns_map: {n: {type: int64}}
rowkey: salt(id, 7) + pad(user, 2) + %s + id
query: [user]
regions: {from: splits, splits: []}
timestamp: 2026-11-20
load: false
output: out
`

// orderedTable has rows of users 7 and 8 with random salts and numbers, in the order of their keys.
func orderedTable(random *rand.Rand, descending bool) (rows []string, users map[string]string) {
	users = map[string]string{}
	for i := range random.IntN(60) {
		user, n := 7+random.IntN(2), random.IntN(20)
		if descending {
			n = 9999 - n
		}
		row := fmt.Sprintf("%d%02d%04d%c", random.IntN(7), user, n, 'a'+i%26)
		if users[row] == "" {
			rows = append(rows, row)
		}
		users[row] = fmt.Sprint(user)
	}
	slices.Sort(rows)
	return rows, users
}

// TestPagesOfAQuery: the rows of all salts are merged in the order of the keys without the salt, or by the ordering
// column, ascending or descending, and within a range of it. However long the pages are, they have each row once.
func TestPagesOfAQuery(t *testing.T) {
	t.Parallel()
	random := testrand.New(t)
	for range 400 {
		descending := random.IntN(2) == 0
		rows, users := orderedTable(random, descending)
		part := "pad(n, 4)"
		if descending {
			part = "desc(n, 9999)"
		}
		j := parse(t, fmt.Sprintf(orderedJob, part))
		request := Request{Values: []string{"7"}, Order: RowOrder(random.IntN(3)), Rows: random.IntN(8), Bytes: random.IntN(2) * (20 + random.IntN(60))}
		numberOf := func(row string) int {
			var n int
			if _, err := fmt.Sscanf(row[3:7], "%d", &n); err != nil {
				t.Fatal(err)
			}
			if descending {
				return 9999 - n
			}
			return n
		}
		from, until := 0, 99
		if random.IntN(2) == 0 {
			from = random.IntN(20)
			text := fmt.Sprint(from)
			request.Since = &text
		}
		if random.IntN(2) == 0 {
			until = random.IntN(20)
			text := fmt.Sprint(until)
			request.Until = &text
		}
		var want []string
		for _, row := range rows {
			if n := numberOf(row); users[row] == "7" && n >= from && n < until {
				want = append(want, row)
			}
		}
		slices.SortFunc(want, func(a, b string) int {
			order := cmp.Or(strings.Compare(a[1:], b[1:]), strings.Compare(a, b))
			if request.Order != ByKey && (request.Order == Newest) != descending {
				return -order
			}
			return order
		})
		q, err := newQuery(j, request.Values)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for pages := 0; ; pages++ {
			found, err := q.find(t.Context(), &request, tableOf(users, rows...), random.IntN(2) == 0)
			if err != nil {
				t.Fatal(err)
			}
			size := 0
			for _, row := range found.Rows {
				got = append(got, string(row.Key))
				size += row.size
			}
			if request.Rows > 0 && len(found.Rows) > request.Rows || request.Bytes > 0 && size > request.Bytes && len(found.Rows) > 1 ||
				found.Next != "" && len(found.Rows) == 0 || found.Scans != 7 || pages > len(want) {
				t.Fatalf("page %d of %+v: %+v", pages, request, found)
			}
			if request.After = found.Next; found.Next == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%+v, descending %t: rows\n%q, want\n%q", request, descending, got, want)
		}
	}
}

// TestRequestsThatCantBe: a token is only for the request that it came from, only rows that are ordered by a column have
// newest ones and ranges, and a row that is too large for an answer is named.
func TestRequestsThatCantBe(t *testing.T) {
	t.Parallel()
	rows, users := []string{"1070001a", "2070002b", "3070003c"}, map[string]string{"1070001a": "7", "2070002b": "7", "3070003c": "7"}
	q, err := newQuery(parse(t, fmt.Sprintf(orderedJob, "pad(n, 4)")), []string{"7"})
	if err != nil {
		t.Fatal(err)
	}
	table := tableOf(users, rows...)
	first, err := q.find(t.Context(), &Request{Values: []string{"7"}, Rows: 1}, table, false)
	if err != nil || first.Next == "" {
		t.Fatalf("%+v, %v", first, err)
	}
	other, one, x := "8", "1", "12345"
	for name, r := range map[string]Request{
		"another value":            {Values: []string{other}, After: first.Next},
		"another order":            {Values: []string{"7"}, After: first.Next, Order: Newest},
		"another range":            {Values: []string{"7"}, After: first.Next, Since: &one},
		"no token":                 {Values: []string{"7"}, After: "x"},
		"not base64":               {Values: []string{"7"}, After: "!"},
		"a changed token":          {Values: []string{"7"}, After: "A" + first.Next[1:]},
		"a limit that is too long": {Values: []string{"7"}, Since: &x},
	} {
		if _, err := q.find(t.Context(), &r, table, false); failure.KindOf(err) != failure.Usage {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := q.find(t.Context(), &Request{Values: []string{"7"}, Bytes: 5}, table, false); failure.CodeOf(err) != errcode.ServeLarge || !strings.Contains(err.Error(), "1070001a") {
		t.Errorf("a large row: %v", err)
	}
	q, err = newQuery(parse(t, fmt.Sprintf(jobText, "user + id")), []string{"7"})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []Request{{Order: Newest}, {Since: &one}, {Until: &one}} {
		if _, err := q.find(t.Context(), &r, table, false); failure.KindOf(err) != failure.Usage || !strings.Contains(err.Error(), "not ordered") {
			t.Errorf("%+v of an unordered query: %v", r, err)
		}
	}
}

// FuzzToken: no token makes a query read other rows than its own.
func FuzzToken(f *testing.F) {
	p := position{[]byte("0001a"), 3}
	f.Add(p.text(1), uint64(1))
	f.Add("", uint64(0))
	f.Fuzz(func(t *testing.T, text string, mark uint64) {
		at, err := parsePosition(text, mark, 7)
		if err != nil || at == nil {
			return
		}
		for i := range 7 {
			for _, reversed := range []bool{false, true} {
				r := load.Range{Start: []byte{'0' + byte(i), '7'}, End: []byte{'0' + byte(i), '8'}}
				at.restrict(&r, r.Start, i, reversed)
				if string(r.Start) < string([]byte{'0' + byte(i), '7'}) || string(r.End) > string([]byte{'0' + byte(i), '8'}) {
					t.Errorf("%q reads from %q to %q", text, r.Start, r.End)
				}
			}
		}
	})
}

// TestLargeRow: a row that is too large for an answer is an error of the page that would begin with it, and of no other.
func TestLargeRow(t *testing.T) {
	t.Parallel()
	rows := []string{"1070001a", "2070002b", "3070003c"}
	users := map[string]string{"1070001a": "7", "2070002b": "7", "3070003c": "7"}
	q, err := newQuery(parse(t, fmt.Sprintf(orderedJob, "pad(n, 4)")), []string{"7"})
	if err != nil {
		t.Fatal(err)
	}
	table := func(ctx context.Context, r load.Range, visit func(*cell.Cell) error) error {
		return tableOf(users, rows...)(ctx, r, func(c *cell.Cell) error {
			if c.Row[0] == '2' && string(c.Qualifier) == "id" {
				c = put(string(c.Row), "id", strings.Repeat("x", 1000))
			}
			return visit(c)
		})
	}
	for _, order := range []RowOrder{ByKey, Oldest, Newest} {
		r := Request{Values: []string{"7"}, Order: order, Bytes: 100}
		found, err := q.find(t.Context(), &r, table, false)
		if err != nil || len(found.Rows) != 1 || found.Next == "" {
			t.Fatalf("%+v, %v", found, err)
		}
		r.After = found.Next
		if _, err = q.find(t.Context(), &r, table, false); failure.CodeOf(err) != errcode.ServeLarge || !strings.Contains(err.Error(), "2070002b") {
			t.Errorf("%d: %v", order, err)
		}
	}
}

// TestMemoryOfAnswers: requests whose rows together need more than the memory are refused for now, and one that alone
// needs more for good. What a request no longer needs, such as rows that newer ones have replaced, is given back at once, and the rest in the end.
func TestMemoryOfAnswers(t *testing.T) {
	t.Parallel()
	var rows []string
	users := map[string]string{}
	for n := range 500 {
		row := fmt.Sprintf("%d07%04d%c", n%7, n, 'a'+n%26)
		rows, users[row] = append(rows, row), "7"
	}
	slices.Sort(rows)
	q, err := newQuery(parse(t, fmt.Sprintf(orderedJob, "pad(n, 4)")), []string{"7"})
	if err != nil {
		t.Fatal(err)
	}
	table := tableOf(users, rows...)
	find := func(m *Memory, n int, order RowOrder) (*Found, error) {
		return q.find(t.Context(), &Request{Values: []string{"7"}, Rows: n, Order: order, Memory: m}, table, true)
	}
	m := NewMemory(1 << 40)
	all, err := find(m, 0, ByKey)
	if err != nil || len(all.Rows) != len(rows) {
		t.Fatalf("%d rows, %v", len(all.Rows), err)
	}
	whole := m.used.Load()
	all.Release()
	if used := m.used.Load(); used != 0 || whole < int64(len(rows))*cellMemory {
		t.Errorf("%d bytes are taken for all rows, and then %d", whole, used)
	}
	m = NewMemory(whole / 4)
	if _, err := find(m, 0, ByKey); failure.CodeOf(err) != errcode.ServeLarge || m.used.Load() != 0 {
		t.Errorf("all rows: %v; %d bytes are still taken", err, m.used.Load())
	}
	newest, err := find(m, len(rows)/10, Newest) // all are read, in ascending order
	if err != nil || len(newest.Rows) != len(rows)/10 || newest.Read != int64(len(rows)) {
		t.Fatalf("%+v, %v", newest, err)
	}
	others, err := find(m, len(rows)/10, ByKey)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := find(m, len(rows)/10, ByKey); failure.CodeOf(err) != errcode.ServeBusy {
		t.Errorf("while two answers are in work: %v", err)
	}
	newest.Release()
	others.Release()
	if used := m.used.Load(); used != 0 {
		t.Errorf("%d bytes are still taken", used)
	}
}
