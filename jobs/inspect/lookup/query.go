package lookup

import (
	"bytes"
	"slices"

	"bulkload/cell"
	"bulkload/internal/errcode"
	"bulkload/jobs/spec/jobfile"
	"bulkload/keys"
	"bulkload/load"
	"bulkload/values"
)

// query holds the key prefixes of the rows with some values, and the cells that identify the rows if the prefixes do
// not.
type query struct {
	job      *jobfile.Job
	prefixes [][]byte
	wholeRow bool // the prefixes are whole row keys
	wanted   []wantedCell
	wide     wideQuery

	fields []values.Value // of the query columns, by the places of the input's columns
	next   keys.Part      // of the key, after the prefixes; without columns: nothing that orders rows
}

// wantedCell is a query column's cell and its required value.
type wantedCell struct {
	family, qualifier, value []byte
}

func newQuery(j *jobfile.Job, given []string) (*query, error) {
	if len(j.Query) == 0 {
		return nil, errcode.JobRowkey.Errorf("%s names no query columns; add query: [COLUMN, …]", j.Path)
	}
	if len(given) != len(j.Query) {
		return nil, errcode.Command.Errorf("the query has %s (%v), and %d values were given",
			jobfile.Plural(len(j.Query), "column"), j.Query, len(given))
	}
	rows, err := j.RowKey.Query(j.Query)
	if err != nil {
		return nil, errcode.JobRowkey.Errorf("rowkey %s: %w", j.RowKey, err)
	}
	q := &query{job: j, wholeRow: rows.String() == j.RowKey.String(), fields: make([]values.Value, len(j.Columns))}
	q.next, _ = rows.Next()
	for i, name := range j.Query {
		at, _ := j.Column(name) // checked when the job file was read
		q.fields[at] = values.ValueOf([]byte(given[i]))
		if c := j.Columns[at]; !c.Skip && j.Wide == nil {
			value, err := storedValue(&c, q.fields[at].Bytes())
			if err != nil {
				return nil, err
			}
			q.wanted = append(q.wanted, wantedCell{[]byte(c.Family), []byte(c.Qualifier), value})
		}
	}
	if q.prefixes, err = rows.Prefixes(q.fields); err != nil {
		return nil, errcode.Command.Errorf("build the key of %v: %w", given, err)
	}
	if j.Wide != nil {
		q.wide, err = newWideQuery(j, q.fields)
	}
	return q, err
}

// stopRow returns the first row after those that a prefix selects; nil if no row can follow.
func (q *query) stopRow(prefix []byte) []byte {
	if q.wholeRow {
		return append(bytes.Clone(prefix), 0)
	}
	return prefixEnd(prefix)
}

// prefixEnd returns the first row after all rows with a prefix; nil if no row can follow.
func prefixEnd(prefix []byte) []byte {
	end := bytes.Clone(prefix)
	for len(end) > 0 {
		if last := len(end) - 1; end[last] < 0xff {
			end[last]++
			return end
		}
		end = end[:len(end)-1]
	}
	return nil
}

// ranges are the rows of the prefixes: those of a request.
func (q *query) ranges(r *Request) ([]load.Range, error) {
	all := make([]load.Range, len(q.prefixes))
	for i, prefix := range q.prefixes {
		all[i] = load.Range{Start: prefix, End: q.stopRow(prefix)}
	}
	for _, limit := range []struct {
		value *string
		until bool
	}{{r.Since, false}, {r.Until, true}} {
		if limit.value == nil {
			continue
		}
		bounds, err := q.bounds(*limit.value)
		if err != nil {
			return nil, err
		}
		for i, bound := range bounds {
			descending := q.next.Order == keys.Descending
			if descending { // the rows with greater values are before this
				if bound = prefixEnd(bound); bound == nil {
					bound = all[i].End
				}
			}
			if limit.until == descending {
				all[i].Start = later(all[i].Start, bound)
			} else {
				all[i].End = earlierEnd(all[i].End, bound)
			}
		}
	}
	return all, nil
}

func later(a, b []byte) []byte {
	if bytes.Compare(a, b) < 0 {
		return b
	}
	return a
}

// earlierEnd is the lesser of two ends; nil is the end of the table.
func earlierEnd(a, b []byte) []byte {
	if a == nil || b != nil && bytes.Compare(b, a) < 0 {
		return b
	}
	return a
}

// ordering is the column by whose values the rows of one query are ordered; "" if there is none. It must follow the
// prefixes, and be written with a fixed width, so that the order of the keys is that of the values.
func (q *query) ordering() string {
	p := &q.next
	if len(p.Columns) != 1 || p.Order == keys.Unordered || p.Cycle != 0 || !p.Width.Fixed() {
		return ""
	}
	return q.job.Columns[p.Columns[0]].Name
}

// bounds are the prefixes of the rows that also have a value of the ordering column.
func (q *query) bounds(value string) ([][]byte, error) {
	name := q.ordering()
	if name == "" {
		return nil, errcode.Command.Errorf("the rows of %v are not ordered by a column of fixed width in rowkey %s, so "+
			"they have no since and until", q.job.Query, q.job.RowKey)
	}
	rows, err := q.job.RowKey.Query(append(slices.Clone(q.job.Query), name))
	if err != nil {
		return nil, errcode.JobRowkey.Errorf("rowkey %s: %w", q.job.RowKey, err)
	}
	fields := slices.Clone(q.fields)
	fields[q.next.Columns[0]] = values.ValueOf([]byte(value))
	bounds, err := rows.Prefixes(fields)
	if err != nil {
		return nil, errcode.Command.Errorf("build the key of %s %q: %w", name, value, err)
	}
	if len(bounds) != len(q.prefixes) {
		return nil, errcode.Command.Errorf("rowkey %s has another salt after %s, so since and until don't apply",
			q.job.RowKey, name)
	}
	return bounds, nil
}

// reversed reports whether an order is that of descending keys.
func (q *query) reversed(o RowOrder) (bool, error) {
	if o == ByKey {
		return false, nil
	}
	if q.ordering() == "" {
		return false, errcode.Command.Errorf("the rows of %v are not ordered by a column of fixed width in rowkey %s, so "+
			"none of them is the newest", q.job.Query, q.job.RowKey)
	}
	return (o == Newest) == (q.next.Order == keys.Ascending), nil
}

// rowReader collects the wanted rows of one scan.
type rowReader struct {
	*query
	most   int // bytes of a row's cells; 0: no limit
	memory *held
	found  func(Row) (enough bool)
	read   int64 // rows
	row    Row   // the current one
	begun  bool
	match  int // of wanted
}

// visit adds the next cell of the range.
func (a *rowReader) visit(c *cell.Cell) error {
	if !a.begun || !bytes.Equal(c.Row, a.row.Key) {
		if a.end() {
			return errEnough
		}
		a.begun, a.row = true, Row{Key: bytes.Clone(c.Row)}
		a.read++
	}
	for _, w := range a.wanted {
		if bytes.Equal(c.Qualifier, w.qualifier) && bytes.Equal(c.Family, w.family) && bytes.Equal(c.Value, w.value) {
			a.match++
		}
	}
	if !a.wide.selects(c) {
		return nil
	}
	return a.row.add(c, a.most, a.memory)
}

// end passes on the current row if its query columns have the required values. It reports whether no later row is
// wanted.
func (a *rowReader) end() (enough bool) {
	if a.begun && len(a.row.Cells) > 0 && a.match >= len(a.wanted) {
		enough = a.found(a.row)
	} else {
		a.memory.give(a.row.held)
	}
	a.begun, a.match, a.row = false, 0, Row{}
	return enough
}

// OrderingOf is the column by whose values the rows of a job's query are ordered; "" if there is none, so that they
// have no newest and no range.
func OrderingOf(j *jobfile.Job) string {
	rows, err := j.RowKey.Query(j.Query)
	if err != nil {
		return ""
	}
	q := query{job: j}
	q.next, _ = rows.Next()
	return q.ordering()
}
