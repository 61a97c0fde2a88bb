package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"bulkload/internal/errcode"
	"bulkload/internal/throttle"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/loading"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/output"
	"bulkload/jobs/pipeline/sorting"
	"bulkload/jobs/pipeline/targets"
	"bulkload/jobs/run/summary"
	"bulkload/jobs/spec/jobfile"
)

// defaultLookups is how many rows a second a run looks up in a table, unless Options.Lookups limits it.
const defaultLookups = 20_000

// question asks an output's table which of the sorted rows it has already.
type question struct {
	out    *output.Run
	loader *loading.Loader
	target *targets.Target
	report *summary.OutputReport
}

// ask looks up the sorted rows in the table, and refuses existing rows if the job says so. The answer is nil if the job
// does not ask, or if an earlier process has asked.
func (q *question) ask(ctx context.Context, rows *sorting.Rows, s *summary.Summary) (*manifest.Existing, error) {
	if q.out.Job.Live == jobfile.LiveUnasked {
		return nil, nil
	}
	if e := q.out.Manifest.Existing; e != nil {
		q.out.Options.Infof("which rows table %s has already was asked at %s, and counts", q.out.Job.Table, e.Asked.Format("2006-01-02 15:04:05 MST"))
		return nil, nil
	}
	again, err := q.loadedBefore()
	if err != nil {
		return nil, err
	}
	if again {
		if err := q.checkOwnRows(); err != nil {
			return nil, err
		}
	}
	found, err := q.find(ctx, rows, again, s)
	if err != nil {
		return nil, err
	}
	q.report.SetExisting(q.out.Job.Live, found)
	return found, q.judge(found)
}

// find looks up the rows.
func (q *question) find(ctx context.Context, rows *sorting.Rows, again bool, s *summary.Summary) (found *manifest.Existing, err error) {
	// If a user may read only some of the families or columns, HBase hides the other cells: rows would seem to be absent.
	if err := q.loader.Cluster.EnsureRead(ctx, q.out.Job.Table, q.families()); err != nil {
		return nil, err
	}
	q.warnOfBlooms()
	limit := q.out.Options.Lookups
	if limit == nil {
		limit = throttle.NewCount(ctx, defaultLookups)
	}
	f := Finder{Cluster: q.loader.Cluster, Job: q.out.Job, Target: q.target, Rows: rows, Limit: limit, Again: again,
		Watch: options.Within(q.out.Options.Watch, sortShare, sortShare)}
	end := s.Begin("look up", q.report.Name())
	found, err = f.Find(ctx)
	end(0, err)
	if err != nil {
		return nil, fmt.Errorf("find the rows that table %s has already: %w", q.out.Job.Table, err)
	}
	return found, nil
}

// families are the families of the job's cells.
func (q *question) families() (names []string) {
	for _, f := range q.target.Families {
		names = append(names, f.Name)
	}
	return names
}

// loadedBefore reports whether a load of this job and date may have put rows into the table. If so, it also refuses the
// look-up if other loads have cells with the same timestamp (checkOthers).
func (q *question) loadedBefore() (yes bool, err error) {
	if q.loader.Ledger == nil { // --no-load
		if q.loader.Ledger, err = q.out.Site.ReadLedger(); err != nil {
			return false, err
		}
		defer func() { err = errors.Join(err, q.loader.Ledger.Close()); q.loader.Ledger = nil }()
	}
	e, err := q.loader.Entry()
	if err != nil || e == nil && !q.replacesALoad() {
		return false, err
	}
	return true, q.checkOthers()
}

// checkOthers refuses a look-up if other loads have cells with the run's timestamp: their rows would count as this job's
// own. The load would overwrite them, and they would be lost.
func (q *question) checkOthers() error {
	j := q.out.Job
	if j.Moments != "" || j.Live == jobfile.LiveOverwrite { // see checkOwnRows
		return nil
	}
	others, err := q.loader.OthersWith(j.Timestamp)
	if err != nil || len(others) == 0 {
		return err
	}
	var named []string
	for _, e := range others {
		named = append(named, fmt.Sprintf("%s (run %s)", cmp.Or(e.Job, e.Output), cmp.Or(e.Run, "of files")))
	}
	return errcode.LoadUnsure.Errorf("other loads into table %s have cells with the timestamp of this run, or may have: %s. Rows of theirs can't be distinguished from rows that this job has loaded before, and would be loaded over (duplicates.live: %s). Nothing was loaded. If no row is in both, set duplicates.live to overwrite for this run; otherwise give the jobs different timestamps",
		j.Table, failure.FirstFew(named), j.Live)
}

// replacesALoad reports whether --force replaces a run that has put rows into the table, possibly of another version of the
// job. Rows of a job with another name are not this job's own.
func (q *question) replacesALoad() bool {
	old := q.out.Present
	return q.out.Replaces() && old.Run.Table == q.out.Job.Table && old.Run.Job == q.out.Manifest.Run.Job && old.MayBeLoaded()
}

// checkOwnRows refuses a look-up that would count rows of an earlier load of this job and date as rows of others. Only the
// timestamp distinguishes them, so both loads must have the same one.
func (q *question) checkOwnRows() error {
	if q.out.Job.Live == jobfile.LiveOverwrite || q.out.Job.Moments == "" && (!q.replacesALoad() || q.out.Present.Timestamp == q.out.Manifest.Timestamp) {
		return nil
	}
	return errcode.LoadUnsure.Errorf("this job and date may have rows in table %s from an earlier load, with other timestamps, and those can't be distinguished from rows of others (duplicates.live: %s). Nothing was loaded. Set duplicates.live to overwrite for this run",
		q.out.Job.Table, q.out.Job.Live)
}

// warnOfBlooms warns of families in which each look-up reads a block of each store file.
func (q *question) warnOfBlooms() {
	for _, f := range q.target.Families {
		if f.Settings.Bloom.HasRows() {
			continue
		}
		q.out.Options.Warnf("family %s of table %s has no bloom filter for rows: looking up a row reads a block of each store file", f.Name, q.out.Job.Table)
	}
}

// judge logs how many rows the table has already, or refuses them.
func (q *question) judge(e *manifest.Existing) error {
	table := q.out.Job.Table
	if e.Found == 0 {
		return nil
	}
	samples := "rows " + strings.Join(e.Samples, ", ")
	if e.Found > int64(len(e.Samples)) {
		samples += ", …"
	}
	if q.out.Job.Live == jobfile.LiveError {
		return errcode.RowsExist.Errorf("table %s has %d of the %d rows already (duplicates.live: error): %s. Nothing was loaded. Delete them from the input or the table, or set duplicates.live to overwrite",
			table, e.Found, e.Rows, samples)
	}
	q.out.Options.Infof("table %s has %d of the %d rows already; they are loaded over: %s", table, e.Found, e.Rows, samples)
	return nil
}

// keepExisting records what the table had of the rows, before the first slice is written; nil: nothing was asked.
func (w *outputRun) keepExisting(e *manifest.Existing) error {
	if e == nil {
		return nil
	}
	w.out.Manifest.Existing = e
	if err := w.out.Save(); err != nil {
		return err
	}
	w.out.Options.Failpoint.Reached(options.ExistingRecorded)
	return nil
}
