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
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/sorting"
	"bulkload/jobs/spec/jobfile"
)

// defaultLookups is how many rows a second a run looks up in a table, unless Options.Lookups says otherwise.
const defaultLookups = 20_000

// findExisting asks an output's table which of the sorted rows it already has (duplicates.live), and refuses them if
// the job says so. The result is nil if the job does not want to know, or if an earlier process has asked.
func (r *runner) findExisting(ctx context.Context, w *outputRun, rows *sorting.Rows) (*manifest.Existing, error) {
	j, o := w.out.Job, w.out.Options
	if j.Live == jobfile.LiveUnasked {
		return nil, nil
	}
	if e := w.out.Manifest.Existing; e != nil {
		asked := e.Asked.Format("2006-01-02 15:04:05 MST")
		o.Infof("the rows that table %s already has were looked up at %s; that result is used again", j.Table, asked)
		return nil, nil
	}
	again, err := w.loadedBefore()
	if err != nil {
		return nil, err
	}
	var families []string
	for _, f := range w.target.Families {
		families = append(families, f.Name)
	}
	// If a user may read only some of the families or columns, HBase hides the other cells: rows would seem to be absent.
	if err := w.loader.Cluster.EnsureRead(ctx, j.Table, families); err != nil {
		return nil, err
	}
	for _, f := range w.target.Families {
		if !f.Settings.Bloom.HasRows() {
			o.Warnf("family %s of table %s has no bloom filter for rows: looking up a row reads a block of each store file",
				f.Name, j.Table)
		}
	}
	limit := o.Lookups
	if limit == nil {
		limit = throttle.NewCount(ctx, defaultLookups)
	}
	end := r.summary.Begin("look up", w.report.Name())
	found, err := (&finder{outputRun: w, rows: rows, limit: limit, again: again}).find(ctx)
	end(0, err)
	if err != nil {
		return nil, fmt.Errorf("find the rows that table %s has already: %w", j.Table, err)
	}
	w.report.SetExisting(j.Live, found)
	if found.Found == 0 {
		return found, nil
	}
	samples := "rows " + strings.Join(found.Samples, ", ")
	if found.Found > int64(len(found.Samples)) {
		samples += ", …"
	}
	if j.Live == jobfile.LiveError {
		return nil, errcode.RowsExist.Errorf("table %s has %d of the %d rows already (duplicates.live: error): %s. "+
			"Nothing was loaded. Delete them from the input or the table, or set duplicates.live to overwrite",
			j.Table, found.Found, found.Rows, samples)
	}
	o.Infof("table %s has %d of the %d rows already; they are loaded over: %s", j.Table, found.Found, found.Rows, samples)
	return found, nil
}

// loadedBefore reports whether an earlier load of this job and date may have put rows into the table. Only their
// timestamp distinguishes those from the rows of others, which the job asks for. So, unless existing rows may be
// overwritten, loadedBefore refuses the look-up if other loads may have cells with the same timestamp: their rows would
// count as this job's own, be loaded over, and be lost. It also refuses if an earlier load of this job and date may
// have had other timestamps, because its rows would count as rows of others.
func (w *outputRun) loadedBefore() (yes bool, err error) {
	if w.loader.Ledger == nil { // --no-load
		if w.loader.Ledger, err = w.out.Site.ReadLedger(); err != nil {
			return false, err
		}
		defer func() { err = errors.Join(err, w.loader.Ledger.Close()); w.loader.Ledger = nil }()
	}
	e, err := w.loader.Entry()
	if err != nil {
		return false, err
	}
	// --force may replace a run, perhaps of another version of the job, that has put rows into the table. Rows of a job
	// with another name are not this job's own.
	j, old := w.out.Job, w.out.Present
	replaces := w.out.Replaces() && old.Run.Table == j.Table && old.Run.Job == w.out.Manifest.Run.Job && old.MayBeLoaded()
	if e == nil && !replaces {
		return false, nil
	}
	if j.Live == jobfile.LiveOverwrite {
		return true, nil
	}
	if j.Moments == "" {
		others, err := w.loader.OthersWith(j.Timestamp)
		if err != nil {
			return false, err
		}
		if len(others) > 0 {
			var named []string
			for _, e := range others {
				named = append(named, fmt.Sprintf("%s (run %s)", cmp.Or(e.Job, e.Output), cmp.Or(e.Run, "of files")))
			}
			return false, errcode.LoadUnsure.Errorf(
				"other loads into table %s have, or may have, cells with the timestamp of this run: %s. Their rows can't be "+
					"distinguished from rows that this job has loaded before, and would be loaded over (duplicates.live: %s). "+
					"Nothing was loaded. If no row is in both, set duplicates.live to overwrite for this run; otherwise give the "+
					"jobs different timestamps",
				j.Table, failure.FirstFew(named), j.Live)
		}
		if !replaces || old.Timestamp == w.out.Manifest.Timestamp {
			return true, nil
		}
	}
	return false,
		errcode.LoadUnsure.Errorf("this job and date may have rows in table %s from an earlier load, with other timestamps, "+
			"and those can't be distinguished from rows of others (duplicates.live: %s). Nothing was loaded. "+
			"Set duplicates.live to overwrite for this run", j.Table, j.Live)
}

// keepExisting records which rows the table had, before the first slice is written; nil: it was not asked.
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
