package lookup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bulkload/cell"
	"bulkload/internal/errcode"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/spec/jobfile"
	"bulkload/load"
)

// jobText is a job with a salted key, whose query column does not determine the salt.
const jobText = `
input: {path: in.dat, columns: [id, user, city], record_delimiter: '\n', field_delimiter: '|'}
table: t
family: f
rowkey: %s
query: [user]
regions: {from: splits, splits: []}
timestamp: 2026-11-20
load: false
output: out
`

func parse(t *testing.T, text string) *jobfile.Job {
	t.Helper()
	j, err := jobfile.Parse("job.yaml", strings.NewReader(text), jobfile.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// put is a cell of family f.
func put(row, qualifier, value string) *cell.Cell {
	return &cell.Cell{Row: []byte(row), Family: []byte("f"), Qualifier: []byte(qualifier), Timestamp: 1, Type: cell.Put, Value: []byte(value)}
}

// tableOf returns a scan of a table, in order, with two cells in each row: its user, and the row key.
func tableOf(users map[string]string, rows ...string) scan {
	return func(_ context.Context, r load.Range, visit func(*cell.Cell) error) error {
		rows := slices.Clone(rows)
		if r.Reversed {
			slices.Reverse(rows)
		}
		for _, row := range rows {
			if row < string(r.Start) || r.End != nil && row >= string(r.End) {
				continue
			}
			for _, c := range []*cell.Cell{put(row, "id", row), put(row, "user", users[row])} {
				if err := visit(c); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// rowsBy has the rows of an answer as get shows them.
func rowsBy(t *testing.T, q *query, scan scan) (rows []GotRow) {
	t.Helper()
	found, err := q.find(t.Context(), &Request{}, scan, false)
	if err != nil {
		t.Fatal(err)
	}
	shown := shownBy(q.job)
	for i := range found.Rows {
		rows = append(rows, shown.gotRow(&found.Rows[i]))
	}
	return rows
}

func textOf(rows []GotRow) string {
	var all []string
	for _, r := range rows {
		all = append(all, fmt.Sprintf("%s:%d", r.Row, len(r.Cells)))
	}
	return strings.Join(all, " ")
}

// TestPrefixEnd: the rows with a prefix end before the next prefix of its length; after 0xff bytes there may be none.
func TestPrefixEnd(t *testing.T) {
	t.Parallel()
	for prefix, want := range map[string]string{"a": "b", "az": "a{", "a\xff": "b", "a\xff\xff": "b", "\x00": "\x01", "a\x00": "a\x01", "\xfe\xff": "\xff"} {
		given := []byte(prefix)
		if got := prefixEnd(given); string(got) != want || string(given) != prefix {
			t.Errorf("%q ends before %q, want %q", prefix, got, want)
		}
	}
	for _, prefix := range []string{"", "\xff", "\xff\xff"} {
		if got := prefixEnd([]byte(prefix)); got != nil {
			t.Errorf("%q ends before %q", prefix, got)
		}
	}
	if got := (&query{wholeRow: true}).stopRow([]byte("a")); string(got) != "a\x00" {
		t.Errorf("the row a ends before %q", got)
	}
}

// TestRowsOfAQuery: a row is found by its prefix, and counts only if its cells have the query's values: another user's
// key may begin in the same way. All of its cells are shown, even those of the last row of a scan.
func TestRowsOfAQuery(t *testing.T) {
	t.Parallel()
	users := map[string]string{"7": "7", "70": "70", "71": "7", "72": "7", "8": "8"}
	for rowkey, want := range map[string]string{"user + id": "7:2 71:2 72:2", "user": "7:2"} {
		q, err := newQuery(parse(t, fmt.Sprintf(jobText, rowkey)), []string{"7"})
		if err != nil {
			t.Fatal(err)
		}
		if got := textOf(rowsBy(t, q, tableOf(users, "6", "7", "70", "71", "72", "8"))); got != want {
			t.Errorf("%s: rows %s, want %s", rowkey, got, want)
		}
	}
}

// TestScansOfASaltedQuery: if the query does not determine the salt, there is a scan for each of its values. The rows
// are in the order of the table, and parallelScans scans run at a time, no more and no fewer.
func TestScansOfASaltedQuery(t *testing.T) {
	t.Parallel()
	q, err := newQuery(parse(t, fmt.Sprintf(jobText, "salt(id, 40) + user")), []string{"7"})
	if err != nil || len(q.prefixes) != 40 {
		t.Fatalf("%d prefixes, %v", len(q.prefixes), err)
	}
	var running, most atomic.Int64
	all := make(chan struct{}) // closed when as many scans run as may
	var full sync.Once
	limited, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	found, err := q.find(limited, &Request{}, func(ctx context.Context, r load.Range, visit func(*cell.Cell) error) error {
		n := running.Add(1)
		defer running.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		if n == parallelScans {
			full.Do(func() { close(all) })
		}
		select {
		case <-all:
		case <-ctx.Done(): // fewer run than may
			return ctx.Err()
		}
		return visit(put(string(r.Start), "user", "7"))
	}, false)
	if err != nil || most.Load() != parallelScans || len(found.Rows) != 40 {
		t.Fatalf("%+v by %d scans at a time, want %d: %v", found, most.Load(), parallelScans, err)
	}
	for i := 1; i < len(found.Rows); i++ {
		if string(found.Rows[i-1].Key) >= string(found.Rows[i].Key) {
			t.Errorf("row %s is before %s", found.Rows[i-1].Key, found.Rows[i].Key)
		}
	}
	broken := errors.New("no region")
	if _, err := q.find(t.Context(), &Request{}, func(context.Context, load.Range, func(*cell.Cell) error) error { return broken }, false); !errors.Is(err, broken) {
		t.Errorf("a scan that fails: %v", err)
	}
}

// TestQueriesThatCantBeAsked: a wrong number of values, and values that the key can't have, are refused before anything
// is read.
func TestQueriesThatCantBeAsked(t *testing.T) {
	t.Parallel()
	typed := strings.Replace(jobText, "query: [user]", "query: [user]\ncolumns_map: {user: {type: int64, store: binary}}", 1)
	for name, c := range map[string]struct {
		job   string
		given []string
		want  errcode.Code
	}{
		"no value":       {fmt.Sprintf(jobText, "user + id"), nil, errcode.Command},
		"two values":     {fmt.Sprintf(jobText, "user + id"), []string{"1", "2"}, errcode.Command},
		"too long":       {fmt.Sprintf(jobText, "pad(user, 2) + id"), []string{"123"}, errcode.Command},
		"no number":      {fmt.Sprintf(typed, "user + id"), []string{"x"}, errcode.Command},
		"no query":       {strings.Replace(fmt.Sprintf(jobText, "user + id"), "query: [user]\n", "", 1), []string{"1"}, errcode.JobRowkey},
		"a good one":     {fmt.Sprintf(jobText, "pad(user, 2) + id"), []string{"12"}, ""},
		"a good, binary": {fmt.Sprintf(typed, "user + id"), []string{"12"}, ""},
	} {
		_, err := newQuery(parse(t, c.job), c.given)
		if (err == nil) != (c.want == "") || err != nil && failure.CodeOf(err) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	report, err := Get(t.Context(), parse(t, fmt.Sprintf(jobText, "user + id")), options.Options{}, nil, t.TempDir())
	if err == nil || report.Status == failure.StatusDone || report.Rows == nil {
		t.Errorf("%+v, %v", report, err)
	}
}

// TestBinaryValuesOfAQuery: a query's text is compared with a cell in the cell's form, and shown as text again; a value
// that is no number of that form is shown as its bytes.
func TestBinaryValuesOfAQuery(t *testing.T) {
	t.Parallel()
	job := strings.Replace(fmt.Sprintf(jobText, "user + id"), "query: [user]", "query: [user]\ncolumns_map: {user: {type: int64, store: binary}}", 1)
	q, err := newQuery(parse(t, job), []string{"12"})
	if err != nil {
		t.Fatal(err)
	}
	rows := rowsBy(t, q, func(_ context.Context, _ load.Range, visit func(*cell.Cell) error) error {
		return errors.Join(visit(put("12a", "id", "\xff")), visit(put("12a", "user", "\x00\x00\x00\x00\x00\x00\x00\x0c")), visit(put("12b", "user", "12")))
	})
	if textOf(rows) != "12a:2" {
		t.Fatalf("rows %s", textOf(rows))
	}
	id, user := rows[0].Cells[0], rows[0].Cells[1]
	if id.Value != "" || id.Base64 != "/w==" || user.Value != "12" || user.Type != "int64" || user.Base64 != "AAAAAAAAAAw=" {
		t.Errorf("%+v, %+v", id, user)
	}
}

// TestCellsOfAWideQuery: in a wide table the query's values may determine the qualifiers, or how they begin; other
// cells of the row are another query's.
func TestCellsOfAWideQuery(t *testing.T) {
	t.Parallel()
	const wide = `
input: {path: in.dat, columns: [id, user, city], record_delimiter: '\n', field_delimiter: '|'}
table: t
family: f
rowkey: user
wide: {qualifier: "%s"}
columns_map: {id: {to: "_i"}, city: {to: "_c"}, user: {skip: true}}
query: [%s]
regions: {from: splits, splits: []}
timestamp: 2026-11-20
load: false
output: out
`
	for name, c := range map[string]struct {
		qualifier, query string
		given            []string
		want             string
	}{
		"whole":     {"pad(id, 2)", "user, id", []string{"u", "5"}, "05_c 05_i"},
		"beginning": {"pad(id, 2) + pad(city, 2)", "user, id", []string{"u", "5"}, "05_c 05_i 0555_i 05xx_c"},
		"none":      {"pad(id, 2)", "user", []string{"u"}, "04_c 05_c 05_i 0555_i 05xx_c"},
	} {
		q, err := newQuery(parse(t, fmt.Sprintf(wide, c.qualifier, c.query)), c.given)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		rows := rowsBy(t, q, func(_ context.Context, _ load.Range, visit func(*cell.Cell) error) error {
			for _, qualifier := range []string{"04_c", "05_c", "05_i", "0555_i", "05xx_c"} {
				if err := visit(put("u", qualifier, "v")); err != nil {
					return err
				}
			}
			return nil
		})
		if len(rows) != 1 {
			t.Fatalf("%s: %s", name, textOf(rows))
		}
		var got []string
		for _, c := range rows[0].Cells {
			got = append(got, c.Qualifier)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: cells %q, want %s", name, got, c.want)
		}
	}
}

// TestDirectoryOfAnOutput: a directory is recognized as an output's by each of its names: a relative or an absolute
// path, with or without a slash at the end.
func TestDirectoryOfAnOutput(t *testing.T) {
	t.Parallel()
	remote := parse(t, strings.Replace(fmt.Sprintf(jobText, "user"), "output: out", "output: hdfs://nn:8020/out", 1))
	for dir, is := range map[string]bool{"hdfs://nn:8020/out": true, "hdfs://nn:8020/out/": true, "hdfs://nn:8020/other": false, "out": false} {
		if got := isDirectory(dir, remote); got != is {
			t.Errorf("%s is the output of hdfs://nn:8020/out: %t", dir, got)
		}
	}
	if isDirectory("", &jobfile.Job{}) {
		t.Error("a job without an output has one")
	}
}
