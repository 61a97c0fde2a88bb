package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"syscall"
	"time"

	"bulkload/ingest"
	"bulkload/internal/digest"
	"bulkload/internal/parallel"
	"bulkload/internal/storage"
	"bulkload/jobs/books"
	"bulkload/jobs/failpoint"
	"bulkload/jobs/failure"
	"bulkload/jobs/jobfile"
	"bulkload/jobs/options"
	"bulkload/jobs/outcome"
	"bulkload/jobs/progress"
)

// Run does a job: it reads, sorts, writes, verifies and loads what is not done yet. The summary is there on failure
// too. Canceling the context stops it; the same call goes on then.
//
// Where one reading feeds several outputs, all of them are written, and their books closed, before the first is loaded.
// They are loaded in the order of the job file.
func Run(ctx context.Context, j *jobfile.Job, o options.Options) (*Summary, error) {
	summary := newSummary(j)
	o, err := o.WithDefaults()
	if err != nil {
		return summary, err
	}
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r, err := openRun(running, j, o, func(err error) { cancel(failure.Laterf("%w", err)) })
	var missing *noInputError
	switch {
	case err == nil:
		err = errors.Join(r.explain(running, r.runUntilServed(running, summary)), r.close())
	case errors.As(err, &missing) && j.Load && !o.NoLoad && !o.Force:
		err = loadedWithoutInput(running, j, o, summary, err)
	}
	switch cause := context.Cause(running); {
	case err == nil:
		summary.bound(parallel.Workers())
		return summary, nil
	case ctx.Err() != nil:
		err = failure.New(failure.Interrupted, fmt.Errorf("stopped; the same command goes on from here: %w", err))
	case cause != nil && failure.KindOf(cause) == failure.Later:
		err = cause
	}
	return summary, err
}

// maxRewrites bounds how often a run writes files again that HBase took and does not serve.
const maxRewrites = 3

// runUntilServed runs, and again where the table does not serve files that it has taken: they are written and loaded again.
func (r *jobRun) runUntilServed(ctx context.Context, summary *Summary) error {
	for rewrites := 0; ; rewrites++ {
		err := r.run(ctx, summary)
		var lost *rewriteError
		if !errors.As(err, &lost) || rewrites == maxRewrites || ctx.Err() != nil {
			return err
		}
		r.options.Sayf("%v: their rows are written and loaded again now", lost.lost)
		r.options.Force = false // what is there now is this run's own
		for _, w := range r.places {
			w.options.Force = false
		}
	}
}

// explain gives the reason of a failure where that is a lock which another run has taken.
func (r *jobRun) explain(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	for _, w := range r.places {
		if w.lock != nil {
			err = w.lock.explain(err)
		}
	}
	return err
}

func (r *jobRun) run(ctx context.Context, summary *Summary) error {
	var todo []*workplace
	for i, w := range r.places {
		w.report = summary.output(i)
		w.report.Output = w.fsys.URI(w.dir)
		finished, err := w.resume(ctx)
		if err == nil && !finished && w.blank() {
			finished, err = w.loadedElsewhere(ctx)
		} else if err == nil && finished {
			err = w.markSuccess()
		}
		if err != nil {
			return r.named(w, err)
		}
		if finished {
			w.stands()
		} else {
			todo = append(todo, w)
		}
	}
	if len(todo) > 0 {
		if err := r.write(ctx, todo, summary); err != nil {
			return err
		}
	} else if err := removeFinished(r); err != nil {
		return err
	}
	for _, w := range r.places {
		if err := r.end(ctx, w, summary, slices.Contains(todo, w)); err != nil {
			return r.named(w, err)
		}
	}
	summary.settle()
	return nil
}

// blank tells whether nothing of a run is in the output, as before its first command, or after it was deleted.
func (w *workplace) blank() bool {
	return w.wantsLoad() && !w.options.Force && !w.found
}

// stands says what there is of an output whose files are written, should another one fail.
func (w *workplace) stands() {
	w.report.fill(w.manifest)
	w.report.Status = outcome.Done
	if w.wantsLoad() && w.manifest.State != stateLoaded {
		w.report.Status = outcome.Written
	}
}

func (w *workplace) wantsLoad() bool { return w.job.Load && !w.options.NoLoad }

// end loads an output that wants it and says how it ended.
func (r *jobRun) end(ctx context.Context, w *workplace, summary *Summary, written bool) error {
	wanted := w.wantsLoad()
	w.report.Load.Wanted = wanted
	switch {
	case wanted && w.manifest.State != stateLoaded:
		if err := w.load(ctx, summary); err != nil {
			return err
		}
		w.options.Failpoint.Reached(failpoint.Loaded)
		w.report.fill(w.manifest)
		w.report.Status = outcome.Done
	case !written:
		if wanted {
			if err := w.checkServed(ctx, w.job.Table); err != nil {
				return err
			}
		}
		w.report.Status = outcome.Nothing
	default:
		if err := w.checkLock(); err != nil { // what was written may be another run's by now
			return err
		}
		w.report.Status = outcome.Done
	}
	if w.report.Books.Read == 0 && w.report.Status == outcome.Done {
		w.report.Status = outcome.Empty
	}
	return nil
}

// named says of which output an error is, where there are several.
func (r *jobRun) named(w *workplace, err error) error {
	if len(r.places) == 1 {
		return err
	}
	if w.report != nil {
		w.report.Status = outcome.Failed
	}
	return fmt.Errorf("output %s of table %s: %w", w.job.Output, w.job.Table, err)
}

// write does the stages from the tables' plans to the finished manifests of the outputs that are not written yet.
func (r *jobRun) write(ctx context.Context, todo []*workplace, summary *Summary) (err error) {
	for _, w := range todo {
		if err := w.plan(ctx); err != nil {
			return r.named(w, err)
		}
	}
	splits, err := cutInput(&r.job.Input, r.source)
	if err != nil {
		return err
	}
	r.source.sayDoubts(r.options)
	r.keeper, err = openKeeper(r, splits)
	defer func() { err = errors.Join(err, r.keeper.close(ctx, err)) }()
	if err != nil {
		return err
	}
	if err := r.ready(todo); err != nil {
		return err
	}
	rows, err := r.sort(ctx, summary)
	if err != nil {
		var wrongCount *rowsError // which another expect_rows mends
		r.keeper.useless = errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || failure.KindOf(err) == failure.Refused && !errors.As(err, &wrongCount)
		return err
	}
	r.options.Failpoint.Reached(failpoint.Sorted)
	err = r.writeAll(ctx, todo, rows, summary)
	return errors.Join(err, closeRows(rows))
}

// ready looks for room, and begins the manifests.
func (r *jobRun) ready(todo []*workplace) error {
	if err := r.checkRoom(todo); err != nil {
		return err
	}
	if err := r.rejectPlace().clearRejects(); err != nil {
		return err
	}
	for _, w := range todo {
		if err := w.checkInputSize(); err != nil {
			return r.named(w, err)
		}
	}
	for _, w := range todo {
		if err := w.begin(); err != nil {
			return r.named(w, err)
		}
	}
	return nil
}

// rejectPlace is the output that has the rejects: the first, whose table the others belong to.
func (r *jobRun) rejectPlace() *workplace { return r.places[0] }

// sort reads the input into an output's rows each; none for those that are written.
func (r *jobRun) sort(ctx context.Context, summary *Summary) ([]*sortedRows, error) {
	at := r.rejectPlace()
	temps, err := at.tempFolder()
	if err != nil {
		return nil, err
	}
	rejects := ingest.NewRejects(at.fsys, path.Join(at.dir, rejectsDir), r.job.Input.MaxRejects, r.job.Input.Form.RejectDelimiter())
	rejects.WriteIn(temps)
	s := sorting{input: &r.job.Input, source: r.source, splits: r.keeper.splits, keeper: r.keeper,
		rejects: rejects}
	for _, w := range r.places {
		s.outputs = append(s.outputs, sortOutput{job: w.job, target: w.target})
	}
	var rows []*sortedRows
	err = summary.phase("sort", "", func() (_ int64, err error) {
		rows, err = s.sortRows(ctx, r.options)
		return r.source.bytes, err
	})
	at.sumRejects(summary, s.rejects.Count())
	if err != nil {
		r.countFailed(rows)
		return nil, err
	}
	summary.sorted(rows)
	summary.Resumed = r.keeper.resumed()
	return rows, nil
}

// countFailed says of a reading that failed how far it came: what was read until then, and what of it can't be used.
func (r *jobRun) countFailed(rows []*sortedRows) {
	for i, w := range r.places {
		if w.target != nil && i < len(rows) && rows[i] != nil {
			w.report.Books = books.Books{Read: rows[i].read, Rejected: rows[i].rejected, Filtered: rows[i].filtered, Columns: len(w.job.CellColumns())}
		}
	}
}

// writeAll writes one output after the other, and frees what is written of rows.
func (r *jobRun) writeAll(ctx context.Context, todo []*workplace, rows []*sortedRows, summary *Summary) error {
	for i, w := range r.places {
		if rows[i] == nil {
			continue
		}
		if err := w.checkFileCounts(ctx, rows[i]); err != nil {
			return r.named(w, err)
		}
	}
	for _, w := range todo {
		if err := w.replace(ctx); err != nil {
			return r.named(w, err)
		}
	}
	for i, w := range r.places {
		if rows[i] == nil {
			continue
		}
		err := errors.Join(w.write(ctx, rows[i], summary), rows[i].sorted.Close())
		rows[i] = nil
		if err == nil {
			err = r.keeper.free(i)
		}
		if err != nil {
			return r.named(w, err)
		}
		w.stands()
	}
	return nil
}

// write writes one output's files and closes its books.
func (w *workplace) write(ctx context.Context, rows *sortedRows, summary *Summary) error {
	regions := w.target.regions.Len()
	writing := &writing{workplace: w, rows: rows, sums: make([]digest.Sum, regions), left: make([]int, regions), unbalanced: map[int]bool{},
		writes: progress.NewMeter(w.options.Watch, "write", rows.sorted.Stats().Entries, false),
		checks: progress.NewMeter(nil, "", 0, true)}
	err := summary.phase("write", w.report.name, func() (int64, error) {
		err := writing.writeSlices(ctx)
		return writing.checks.Sum(), err
	})
	summary.parts(w.report.name, writing.times.Phases())
	w.report.Duplicates = writing.samples
	if err != nil {
		return err
	}
	if err := w.balance(rows); err != nil {
		return err
	}
	w.options.Failpoint.Reached(failpoint.Balanced)
	return w.succeed()
}

// closeRows frees the rows that are not written yet.
func closeRows(all []*sortedRows) error {
	var errs []error
	for _, rows := range all {
		if rows != nil {
			errs = append(errs, rows.sorted.Close())
		}
	}
	return errors.Join(errs...)
}

// plan makes the target, for an output that it suits.
func (w *workplace) plan(ctx context.Context) error {
	table, err := w.liveTable(ctx)
	if err != nil {
		return err
	}
	if w.target, err = targetOf(ctx, w.job, w.site, w.source, table, w.manifest, w.options); err != nil {
		return err
	}
	if err := w.keepSplits(); err != nil {
		return err
	}
	return w.checkPlace(ctx, table)
}

// begin gets the output ready for its files.
func (w *workplace) begin() error {
	if m := w.manifest; len(m.Slices) > 0 && !m.sameTable(w.target) {
		w.options.Sayf("the table's regions or settings have changed since this run began: writing all files again")
		old := *m
		m.Slices = nil
		if err := w.save(); err != nil { // before the files go: a manifest names what is there
			return err
		}
		if err := w.cleanFiles(&old); err != nil {
			return err
		}
	} else if len(m.Slices) > 0 {
		w.options.Sayf("going on with run %s: %s are written", m.Run.ID, written(m.files()))
	}
	w.manifest.setTable(w.target)
	if err := w.clearTemps(); err != nil {
		return fmt.Errorf("clean the output: %w", err)
	}
	if err := w.clearRejects(); err != nil {
		return err
	}
	if w.replaced == nil {
		if err := w.save(); err != nil {
			return err
		}
	}
	w.options.Failpoint.Reached(failpoint.Planned)
	return nil
}

func (w *workplace) clearRejects() error {
	if err := w.fsys.RemoveAll(path.Join(w.dir, rejectsDir)); err != nil {
		return fmt.Errorf("clean the output: %w", err)
	}
	return nil
}

func (w *workplace) sumRejects(summary *Summary, records int64) {
	if records == 0 {
		return
	}
	dir := path.Join(w.dir, rejectsDir)
	summary.Rejects = []RejectFile{{w.fsys.URI(path.Join(dir, ingest.RejectsFile)), records}}
}

// balance closes the books: every row and cell is accounted for, before anything is loaded.
func (w *workplace) balance(rows *sortedRows) error {
	m := w.manifest
	m.Books = books.Books{Read: rows.read, Rejected: rows.rejected, Filtered: rows.filtered, Columns: len(w.job.CellColumns())}
	if err := w.recordContents(rows); err != nil {
		return err
	}
	m.Digest.Cells, m.Digest.Timed, m.Digest.Timeless = 0, 0, 0
	for _, r := range m.Slices {
		m.Books.Add(r.Books)
		m.Digest.Add(r.Digest)
	}
	for region := range rows.regions {
		if err := w.balanceRegion(rows, region, m.sum(region)); err != nil {
			return err
		}
	}
	if m.Digest.Cells != m.Books.CellsWritten {
		return failure.Differsf("the books do not balance: %d cells written, %d read back", m.Books.CellsWritten, m.Digest.Cells)
	}
	return m.Books.Check()
}

// balanceRegion holds what a region's files and its dropped duplicates are together against what was sorted.
func (w *workplace) balanceRegion(rows *sortedRows, region int, written digest.Sum) error {
	if sorted := rows.regions[region].Digest; written != sorted {
		return failure.Differsf("the files of region %d read back and the dropped duplicates hold %d cells with digest %v; sorted were %d with %v",
			region, written.Cells, written, sorted.Cells, sorted)
	}
	return nil
}

// succeed marks the output as complete.
func (w *workplace) succeed() error {
	w.manifest.State = stateWritten
	w.manifest.Finished = time.Now().UTC().Truncate(time.Second)
	if err := w.save(); err != nil {
		return err
	}
	w.options.Failpoint.Reached(failpoint.Written)
	return w.markSuccess()
}

// markSuccess writes _SUCCESS where it is missing: a killed run may have come as far as the finished manifest.
func (w *workplace) markSuccess() error {
	name := path.Join(w.dir, successName)
	if _, err := w.fsys.Stat(name); err == nil {
		return nil
	}
	temps, err := w.tempFolder()
	var text []byte
	if err == nil {
		text, err = json.Marshal(w.manifest.Run)
	}
	if err == nil {
		err = storage.ReplaceFile(w.fsys, name, path.Join(temps, successName), append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", successName, err)
	}
	return nil
}
