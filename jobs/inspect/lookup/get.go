// Package lookup finds rows by a job's query columns, in the table or in HFiles, and describes HFiles.
package lookup

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"bulkload/cell"
	"bulkload/internal/errcode"
	"bulkload/internal/printable"
	"bulkload/internal/storage"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/site"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/spec/jobfile"
	"bulkload/values"

	"golang.org/x/sync/errgroup"
)

// GetReport holds the rows of one query key.
type GetReport struct {
	failure.Outcome
	Table string   `json:"table"`
	From  string   `json:"from"`
	Query []string `json:"query"`
	Scans int      `json:"scans"` // number of scans: more than one if the query's columns don't determine a salt
	Rows  []GotRow `json:"rows"`
}

// GotRow is one row.
type GotRow struct {
	Row   string    `json:"row"` // in the notation of cell.Printable
	Cells []GotCell `json:"cells"`
}

// GotCell is one cell. A value that is not UTF-8 is given only in base64. A value that the job stores in binary form is
// given as text with its type, and in base64.
type GotCell struct {
	Family    string `json:"family"`
	Qualifier string `json:"qualifier"`
	Timestamp int64  `json:"timestamp"`
	Value     string `json:"value"`
	Type      string `json:"type,omitempty"`
	Base64    string `json:"value_base64,omitempty"`
}

// Get finds the rows of a query key, which has a value for each of the job's query columns. It searches the live table,
// or the HFiles below the directory from. It can't search for null.
func Get(ctx context.Context, j *jobfile.Job, o options.Options, query []string, from string) (*GetReport, error) {
	report := &GetReport{Outcome: failure.NewOutcome(), Table: j.Table, Query: query, Rows: []GotRow{}}
	if j.Outputs != nil {
		var err error
		if j, err = pickFor(j, o, len(query), from); err != nil {
			return report, err
		}
		report.Table = j.Table
	}
	q, err := newQuery(j, query)
	if err != nil {
		return report, err
	}
	report.Scans = len(q.prefixes)
	s, err := site.Open(o, j.HBase, from == "" || storage.IsHDFS(from))
	if err != nil {
		return report, err
	}
	if from == "" {
		report.From = "table " + j.Table
		err = q.fromTable(ctx, s, j.Table)
	} else {
		err = q.fromDirectory(ctx, s, from, report)
	}
	if err != nil {
		return report, err
	}
	report.Rows, report.Status = append(report.Rows, q.rows...), failure.StatusDone
	return report, nil
}

// query holds the key prefixes of the rows, and the cells that identify the rows if the prefixes do not.
type query struct {
	prefixes [][]byte
	wholeRow bool // the prefixes are whole row keys
	wanted   []wantedCell
	wide     wideQuery
	shown    shownCells
	rows     []GotRow
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
	q := &query{wholeRow: rows.String() == j.RowKey.String(), shown: shownCells{binaryCells(j), j.Wide != nil}}
	fields := make([]values.Value, len(j.Columns))
	for i, name := range j.Query {
		at, _ := j.Column(name) // checked when the job file was read
		fields[at] = values.ValueOf([]byte(given[i]))
		if c := j.Columns[at]; !c.Skip && j.Wide == nil {
			value, err := storedValue(&c, fields[at].Bytes())
			if err != nil {
				return nil, err
			}
			q.wanted = append(q.wanted, wantedCell{[]byte(c.Family), []byte(c.Qualifier), value})
		}
	}
	if q.prefixes, err = rows.Prefixes(fields); err != nil {
		return nil, errcode.Command.Errorf("build the key of %v: %w", given, err)
	}
	if j.Wide != nil {
		q.wide, err = newWideQuery(j, fields)
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

func (q *query) fromTable(ctx context.Context, s *site.Site, table string) error {
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	return errors.Join(q.scan(ctx, func(ctx context.Context, start, end []byte, visit func(*cell.Cell) error) error {
		return c.ScanRange(ctx, table, start, end, visit)
	}), c.Close())
}

func (q *query) fromDirectory(ctx context.Context, s *site.Site, from string, report *GetReport) error {
	fsys, dir, err := s.Resolve(from, ".")
	if err != nil {
		return fmt.Errorf("open the directory %s: %w", from, err)
	}
	report.From = fsys.URI(dir)
	d, err := hfiles.OpenDirectory(fsys, dir)
	if err != nil {
		return errors.Join(err, fsys.Close())
	}
	return errors.Join(q.scan(ctx, d.Scan), fsys.Close())
}

// parallelScans is how many of a query's scans run at a time.
const parallelScans = 16

// rangeScan visits the cells of all rows from start to before end. Several may run at a time.
type rangeScan func(ctx context.Context, start, end []byte, visit func(*cell.Cell) error) error

// scan reads the rows of several prefixes at a time, and keeps the selected rows in the order of the table.
func (q *query) scan(ctx context.Context, scan rangeScan) error {
	answers := make([]answer, len(q.prefixes))
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(parallelScans)
	for i, prefix := range q.prefixes {
		a := &answers[i]
		a.wanted, a.wide, a.shown = q.wanted, &q.wide, &q.shown
		group.Go(func() error {
			err := scan(running, prefix, q.stopRow(prefix), a.visit)
			a.endRow()
			return err
		})
	}
	err := group.Wait()
	for i := range answers {
		q.rows = append(q.rows, answers[i].rows...)
	}
	return err
}

// answer collects the rows of one scan.
type answer struct {
	wanted  []wantedCell
	wide    *wideQuery
	shown   *shownCells
	rows    []GotRow
	row     []byte // the current one
	cells   []GotCell
	matched int
}

// visit adds the next cell of the range.
func (a *answer) visit(c *cell.Cell) error {
	if !bytes.Equal(c.Row, a.row) || a.cells == nil {
		a.endRow()
		a.row = append(a.row[:0], c.Row...)
	}
	for _, w := range a.wanted {
		if bytes.Equal(c.Qualifier, w.qualifier) && bytes.Equal(c.Family, w.family) && bytes.Equal(c.Value, w.value) {
			a.matched++
		}
	}
	if a.wide.selects(c) {
		a.cells = append(a.cells, a.shown.gotCell(c))
	}
	return nil
}

// endRow keeps the current row if its query columns have the required values.
func (a *answer) endRow() {
	if a.cells != nil && a.matched >= len(a.wanted) {
		a.rows = append(a.rows, GotRow{printable.Bytes(a.row), a.cells})
	}
	a.cells, a.matched = nil, 0
}
