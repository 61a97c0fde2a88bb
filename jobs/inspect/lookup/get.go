// Package lookup finds rows by a job's query columns, in the table or in HFiles, and describes HFiles.
package lookup

import (
	"context"
	"errors"

	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/spec/jobfile"
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
func Get(ctx context.Context, j *jobfile.Job, o options.Options, query []string, from string) (report *GetReport,
	err error) {
	report = &GetReport{Outcome: failure.NewOutcome(), Table: j.Table, Query: query, Rows: []GotRow{}}
	if j.Outputs != nil {
		if j, err = pickFor(j, o, len(query), from); err != nil {
			return report, err
		}
		report.Table = j.Table
	}
	if _, err := newQuery(j, query); err != nil { // before anything is opened
		return report, err
	}
	var f *Finder
	if from == "" {
		f, err = OpenTable(ctx, j, o)
	} else {
		f, err = OpenFiles(j, o, from)
	}
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	report.From = f.From
	found, err := f.Find(ctx, &Request{Values: query})
	if err != nil {
		return report, err
	}
	report.Scans, report.Status = found.Scans, failure.StatusDone
	shown := shownBy(j)
	for i := range found.Rows {
		report.Rows = append(report.Rows, shown.gotRow(&found.Rows[i]))
	}
	return report, nil
}
