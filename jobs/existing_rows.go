package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"bulkload/internal/errcode"
	"bulkload/internal/printable"
	"bulkload/internal/throttle"
	"bulkload/jobs/existing"
	"bulkload/jobs/failpoint"
	"bulkload/jobs/failure"
	"bulkload/jobs/jobfile"
	"bulkload/jobs/manifest"
	"bulkload/jobs/progress"
	"bulkload/jobs/sorting"
)

// DefaultLookups is how many rows a second a run looks up in a table if nothing else is said.
const DefaultLookups = 20_000

// ExistingRows is the part of a summary about rows that the table had before the load.
type ExistingRows struct {
	Live jobfile.LivePolicy `json:"live"`
	manifest.Existing
}

// existingFolder is the folder in that of temporary files where keys are gathered.
const existingFolder = "existing"

// askExisting looks up the sorted rows in the table, if the job wants that and no earlier process has done it. It refuses
// rows that exist if the job says so. Nothing in the output is changed yet.
func (w *outputRun) askExisting(ctx context.Context, rows *sorting.Rows, summary *Summary) error {
	w.asked = nil
	if w.out.Job.Live == jobfile.LiveUnasked {
		return nil
	}
	if e := w.out.Manifest.Existing; e != nil {
		if err := w.loader.CheckLeftOut(ctx); err != nil {
			return err
		}
		w.out.Options.Infof("which rows table %s has already was asked at %s, and counts", w.out.Job.Table, e.Asked.Format("2006-01-02 15:04:05 MST"))
		return existing.Check(w.out.FS, w.out.Path, e)
	}
	temps, err := w.out.TempFolder()
	if err != nil {
		return err
	}
	again, err := w.loadedBefore()
	if err != nil {
		return err
	}
	if again {
		if err := w.checkOwnRows(); err != nil {
			return err
		}
	}
	enabled, err := w.loader.Cluster.Enabled(ctx, w.out.Job.Table) // before the first answer
	if err != nil {
		return err
	}
	// HBase hides cells from a user who may read some of the families or columns only: their rows would seem to be absent.
	if err := w.loader.Cluster.EnsureRead(ctx, w.out.Job.Table, w.familyNames()); err != nil {
		return err
	}
	w.warnOfBlooms()
	w.temp = path.Join(temps, existingFolder)
	if err := w.out.FS.RemoveAll(w.temp); err != nil {
		return err
	}
	limit := w.out.Options.Lookups
	if limit == nil {
		limit = throttle.NewCount(ctx, DefaultLookups)
	}
	f := existing.Finder{Cluster: w.loader.Cluster, Job: w.out.Job, Target: w.target, Rows: rows, Limit: limit, Again: again, FS: w.out.FS, Temp: w.temp,
		Watch: progress.Within(w.out.Options.Watch, sortShare, sortShare)}
	err = summary.phase("look up", w.report.name, func() (int64, error) {
		w.asked, err = f.Find(ctx)
		return 0, err
	})
	if err != nil {
		return fmt.Errorf("find the rows that table %s has already: %w", w.out.Job.Table, err)
	}
	w.asked.Enabled = enabled
	w.reportExisting(w.asked)
	return w.judgeExisting()
}

// familyNames are the families of the job's cells.
func (w *outputRun) familyNames() (names []string) {
	for _, f := range w.target.Families {
		names = append(names, f.Name)
	}
	return names
}

// loadedBefore reports whether a load of this job and date may have put rows into the table.
func (w *outputRun) loadedBefore() (yes bool, err error) {
	if w.loader.Ledger == nil { // --no-load
		if w.loader.Ledger, err = w.out.Site.ReadLedger(); err != nil {
			return false, err
		}
		defer func() { err = errors.Join(err, w.loader.Ledger.Close()); w.loader.Ledger = nil }()
	}
	e, err := w.loader.Entry()
	if err != nil || e == nil && !w.replacesALoad() {
		return false, err
	}
	return true, w.checkOthers()
}

// checkOthers refuses a look-up in which rows of other loads would pass for this job's own: those with cells of the run's
// timestamp. They would be loaded over, and be lost.
func (w *outputRun) checkOthers() error {
	j := w.out.Job
	if j.Moments != "" || j.Live == jobfile.LiveOverwrite { // see checkOwnRows
		return nil
	}
	others, err := w.loader.OthersWith(j.Timestamp)
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

// replacesALoad reports whether --force replaces a run that has put rows into the table, maybe by another version of the job.
// Rows of a job with another name are not this job's own.
func (w *outputRun) replacesALoad() bool {
	old := w.out.Replaced
	return old != nil && old.Run.Table == w.out.Job.Table && old.Run.Job == w.out.Manifest.Run.Job && old.MayBeLoaded()
}

// checkOwnRows refuses a look-up that would take rows of an earlier load of this job and date for those of others. They are
// distinguished by their timestamp, so it must be the same in both loads.
func (w *outputRun) checkOwnRows() error {
	if w.out.Job.Live == jobfile.LiveOverwrite || w.out.Job.Moments == "" && (!w.replacesALoad() || w.out.Replaced.Timestamp == w.out.Manifest.Timestamp) {
		return nil
	}
	return errcode.LoadUnsure.Errorf("this job and date may have rows in table %s from an earlier load, with other timestamps, and those can't be distinguished from rows of others (duplicates.live: %s). Nothing was loaded. Set duplicates.live to overwrite for this run",
		w.out.Job.Table, w.out.Job.Live)
}

// warnOfBlooms warns of families in which each look-up reads a block of each store file.
func (w *outputRun) warnOfBlooms() {
	for _, f := range w.target.Families {
		if f.Settings.Bloom.HasRows() {
			continue
		}
		w.out.Options.Warnf("family %s of table %s has no bloom filter for rows: looking up a row reads a block of each store file", f.Name, w.out.Job.Table)
	}
}

// judgeExisting says what the table has, or refuses it.
func (w *outputRun) judgeExisting() error {
	e, table := w.asked, w.out.Job.Table
	if e.Found == 0 {
		return nil
	}
	samples := "rows " + strings.Join(e.Samples, ", ")
	if e.Found > int64(len(e.Samples)) {
		samples += ", …"
	}
	switch w.out.Job.Live {
	case jobfile.LiveError:
		return errcode.RowsExist.Errorf("table %s has %d of the %d rows already (duplicates.live: error): %s. Nothing was loaded. Delete them from the input or the table, or set duplicates.live to skip or overwrite",
			table, e.Found, e.Rows, samples)
	case jobfile.LiveSkip:
		w.out.Options.Infof("table %s has %d of the %d rows already; they are left out: %s", table, e.Found, e.Rows, samples)
	default:
		w.out.Options.Infof("table %s has %d of the %d rows already; they are loaded over: %s", table, e.Found, e.Rows, samples)
	}
	return nil
}

// keepExisting records what askExisting found, before the first slice is written.
func (w *outputRun) keepExisting() error {
	if w.asked == nil {
		return nil
	}
	if err := existing.Keep(w.out.FS, w.out.Path, w.temp, w.asked); err != nil {
		return err
	}
	w.out.Options.Failpoint.Reached(failpoint.ExistingKept)
	w.out.Manifest.Existing = w.asked
	if err := w.out.Save(); err != nil {
		return err
	}
	w.out.Options.Failpoint.Reached(failpoint.ExistingRecorded)
	return nil
}

// forgetExisting drops what was found by other region boundaries, by which the files of keys are named, and deletes files
// of keys that the manifest does not name.
func (w *outputRun) forgetExisting() error {
	m := w.out.Manifest
	if m.Existing != nil && !slices.Equal(m.Splits, printable.All(w.target.Splits)) {
		m.Existing = nil
	}
	if m.Existing != nil || w.out.Replaced != nil {
		return nil
	}
	return existing.Remove(w.out.FS, w.out.Path)
}

// leftOut is how the write stage finds the rows of a region that are left out; nil if there are none.
func (w *outputRun) leftOut() func(region int) (*existing.Keys, error) {
	e := w.out.Manifest.Existing
	if !e.LeftOut() {
		return nil
	}
	return func(region int) (*existing.Keys, error) { return existing.Open(w.out.FS, w.out.Path, e, region) }
}

// reportExisting puts the counts and the samples into the summary.
func (w *outputRun) reportExisting(e *manifest.Existing) {
	shown := *e
	shown.Files = nil
	w.report.Existing = &ExistingRows{w.out.Job.Live, shown}
}
