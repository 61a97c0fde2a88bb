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
	"bulkload/internal/parallel"
	"bulkload/internal/storage"
	"bulkload/jobs/books"
	"bulkload/jobs/checkpoint"
	"bulkload/jobs/failpoint"
	"bulkload/jobs/failure"
	"bulkload/jobs/hfile"
	"bulkload/jobs/jobfile"
	"bulkload/jobs/manifest"
	"bulkload/jobs/options"
	"bulkload/jobs/outcome"
	"bulkload/jobs/site"
	"bulkload/jobs/sorting"
	"bulkload/jobs/source"
	"bulkload/jobs/target"
	"bulkload/jobs/writing"
	"bulkload/load"
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
	var missing *source.MissingError
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
			err = w.lock.Explain(err)
		}
	}
	return err
}

func (r *jobRun) run(ctx context.Context, summary *Summary) error {
	var todo []*outputRun
	for i, w := range r.places {
		w.report = summary.output(i)
		w.report.Output = w.fsys.URI(w.dir)
		w.target = nil
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
	} else if err := checkpoint.RemoveFinished(r.options.WorkDir, r.uris()); err != nil {
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
func (w *outputDir) blank() bool {
	return w.wantsLoad() && !w.options.Force && !w.found
}

// stands says what there is of an output whose files are written, should another one fail.
func (w *outputRun) stands() {
	w.report.fill(w.manifest)
	w.report.Status = outcome.Done
	if w.wantsLoad() && w.manifest.State != manifest.Loaded {
		w.report.Status = outcome.Written
	}
}

func (w *outputDir) wantsLoad() bool { return w.job.Load && !w.options.NoLoad }

// end loads an output that wants it and says how it ended.
func (r *jobRun) end(ctx context.Context, w *outputRun, summary *Summary, written bool) error {
	wanted := w.wantsLoad()
	w.report.Load.Wanted = wanted
	switch {
	case wanted && w.manifest.State != manifest.Loaded:
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
func (r *jobRun) named(w *outputRun, err error) error {
	if len(r.places) == 1 {
		return err
	}
	if w.report != nil {
		w.report.Status = outcome.Failed
	}
	return fmt.Errorf("output %s of table %s: %w", w.job.Output, w.job.Table, err)
}

// write does the stages from the tables' plans to the finished manifests of the outputs that are not written yet.
func (r *jobRun) write(ctx context.Context, todo []*outputRun, summary *Summary) (err error) {
	for _, w := range todo {
		if err := w.plan(ctx); err != nil {
			return r.named(w, err)
		}
	}
	splits, err := source.Splits(&r.job.Input, r.source)
	if err != nil {
		return err
	}
	r.source.SayDoubts(r.options)
	r.keeper, err = checkpoint.Open(r.purposes(), r.source, splits, r.options)
	defer func() { err = errors.Join(err, r.keeper.Close(ctx, err)) }()
	if err != nil {
		return err
	}
	if err := r.ready(todo); err != nil {
		return err
	}
	rows, err := r.sort(ctx, summary)
	if err != nil {
		var wrongCount *sorting.RowsError // which another expect_rows mends
		r.keeper.Useless = errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || failure.KindOf(err) == failure.Refused && !errors.As(err, &wrongCount)
		return err
	}
	r.options.Failpoint.Reached(failpoint.Sorted)
	err = r.writeAll(ctx, todo, rows, summary)
	return errors.Join(err, sorting.CloseRows(rows))
}

// purposes are the outputs as sorted runs are kept for them.
func (r *jobRun) purposes() []checkpoint.Output {
	var all []checkpoint.Output
	for _, w := range r.places {
		p := checkpoint.Output{URI: w.fsys.URI(w.dir), Run: w.manifest.Run.ID}
		if w.target != nil {
			p.Splits, p.Regions = w.target.Splits, w.target.Regions.Len()
		}
		all = append(all, p)
	}
	return all
}

// uris names the outputs.
func (r *jobRun) uris() []string {
	var all []string
	for _, w := range r.places {
		all = append(all, w.fsys.URI(w.dir))
	}
	return all
}

// ready looks for room, and begins the manifests.
func (r *jobRun) ready(todo []*outputRun) error {
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
func (r *jobRun) rejectPlace() *outputRun { return r.places[0] }

// sort reads the input into an output's rows each; none for those that are written.
func (r *jobRun) sort(ctx context.Context, summary *Summary) ([]*sorting.Rows, error) {
	at := r.rejectPlace()
	temps, err := at.tempFolder()
	if err != nil {
		return nil, err
	}
	rejects := ingest.NewRejects(at.fsys, path.Join(at.dir, manifest.RejectsDir), r.job.Input.MaxRejects, r.job.Input.Form.RejectDelimiter())
	rejects.WriteIn(temps)
	s := sorting.Stage{Input: &r.job.Input, Source: r.source, Splits: r.keeper.Splits, Keeper: r.keeper,
		Rejects: rejects}
	for _, w := range r.places {
		s.Outputs = append(s.Outputs, sorting.Output{Job: w.job, Target: w.target})
	}
	var rows []*sorting.Rows
	err = summary.phase("sort", "", func() (_ int64, err error) {
		rows, err = s.Sort(ctx, r.options)
		return r.source.Bytes, err
	})
	at.sumRejects(summary, s.Rejects.Count())
	if err != nil {
		r.countFailed(rows)
		return nil, err
	}
	summary.sorted(rows)
	summary.Resumed = r.keeper.Resumed()
	return rows, nil
}

// countFailed says of a reading that failed how far it came: what was read until then, and what of it can't be used.
func (r *jobRun) countFailed(rows []*sorting.Rows) {
	for i, w := range r.places {
		if w.target != nil && i < len(rows) && rows[i] != nil {
			w.report.Books = books.Books{Read: rows[i].Read, Rejected: rows[i].Rejected, Filtered: rows[i].Filtered, Columns: len(w.job.CellColumns())}
		}
	}
}

// writeAll writes one output after the other, and frees what is written of rows.
func (r *jobRun) writeAll(ctx context.Context, todo []*outputRun, rows []*sorting.Rows, summary *Summary) error {
	for i, w := range r.places {
		if rows[i] == nil {
			continue
		}
		if err := writing.CheckFileCounts(ctx, w.job, w.target, rows[i], w.options.Say); err != nil {
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
		err := errors.Join(w.write(ctx, rows[i], summary), rows[i].Sorted.Close())
		rows[i] = nil
		if err == nil {
			err = r.keeper.Free(i)
		}
		if err != nil {
			return r.named(w, err)
		}
		w.stands()
	}
	return nil
}

// write writes one output's files and closes its books.
func (w *outputRun) write(ctx context.Context, rows *sorting.Rows, summary *Summary) error {
	writing := writing.New(&writing.Stage{Job: w.job, Target: w.target, Rows: rows, Inputs: w.source.Files, Place: hfile.Place{FS: w.fsys, Dir: w.dir, Temps: w.tempFolder},
		RunID: w.manifest.Run.ID, Records: manifestRecords{w.outputDir}, Say: w.options.Say, Failpoint: w.options.Failpoint}, w.options.Watch)
	err := summary.phase("write", w.report.name, func() (int64, error) {
		err := writing.Run(ctx)
		return writing.Checks.Sum(), err
	})
	summary.parts(w.report.name, writing.Times.Phases())
	w.report.Duplicates = writing.Samples
	if err != nil {
		return err
	}
	if err := w.balance(rows); err != nil {
		return err
	}
	w.options.Failpoint.Reached(failpoint.Balanced)
	return w.succeed()
}

// plan makes the target, for an output that it suits.
func (w *outputRun) plan(ctx context.Context) error {
	table, err := w.liveTable(ctx)
	if err != nil {
		return err
	}
	known, err := w.manifest.Planned()
	if err != nil {
		return err
	}
	if w.target, err = target.Of(ctx, w.job, w.site, w.source, table, known, w.options); err != nil {
		return err
	}
	if err := w.keepSplits(); err != nil {
		return err
	}
	return w.checkPlace(ctx, table)
}

// begin gets the output ready for its files.
func (w *outputRun) begin() error {
	if m := w.manifest; len(m.Slices) > 0 && !m.SameTable(w.target) {
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
		w.options.Sayf("going on with run %s: %s are written", m.Run.ID, manifest.Amount(m.Files()))
	}
	w.manifest.SetTable(w.target)
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

func (w *outputDir) clearRejects() error {
	if err := w.fsys.RemoveAll(path.Join(w.dir, manifest.RejectsDir)); err != nil {
		return fmt.Errorf("clean the output: %w", err)
	}
	return nil
}

func (w *outputRun) sumRejects(summary *Summary, records int64) {
	if records == 0 {
		return
	}
	dir := path.Join(w.dir, manifest.RejectsDir)
	summary.Rejects = []RejectFile{{w.fsys.URI(path.Join(dir, ingest.RejectsFile)), records}}
}

// balance closes the books: every row and cell is accounted for, before anything is loaded.
func (w *outputDir) balance(rows *sorting.Rows) error {
	m := w.manifest
	m.Books = books.Books{Read: rows.Read, Rejected: rows.Rejected, Filtered: rows.Filtered, Columns: len(w.job.CellColumns())}
	if err := w.recordContents(rows); err != nil {
		return err
	}
	m.Digest.Cells, m.Digest.Timed, m.Digest.Timeless = 0, 0, 0
	for _, r := range m.Slices {
		m.Books.Add(r.Books)
		m.Digest.Add(r.Digest)
	}
	for region, sum := range manifest.RegionSums(m.Slices, len(rows.Regions)) {
		if err := writing.BalanceRegion(rows, region, sum); err != nil {
			return err
		}
	}
	if m.Digest.Cells != m.Books.CellsWritten {
		return failure.Differsf("the books do not balance: %d cells written, %d read back", m.Books.CellsWritten, m.Digest.Cells)
	}
	return m.Books.Check()
}

// succeed marks the output as complete.
func (w *outputDir) succeed() error {
	w.manifest.State = manifest.Written
	w.manifest.Finished = time.Now().UTC().Truncate(time.Second)
	if err := w.save(); err != nil {
		return err
	}
	w.options.Failpoint.Reached(failpoint.Written)
	return w.markSuccess()
}

// markSuccess writes _SUCCESS where it is missing: a killed run may have come as far as the finished manifest.
func (w *outputDir) markSuccess() error {
	name := path.Join(w.dir, source.SuccessName)
	if _, err := w.fsys.Stat(name); err == nil {
		return nil
	}
	temps, err := w.tempFolder()
	var text []byte
	if err == nil {
		text, err = json.Marshal(w.manifest.Run)
	}
	if err == nil {
		err = storage.ReplaceFile(w.fsys, name, path.Join(temps, source.SuccessName), append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", source.SuccessName, err)
	}
	return nil
}

// liveTable looks the table up; nil without a cluster.
func (w *outputRun) liveTable(ctx context.Context) (*load.Table, error) {
	if w.cluster == nil {
		return nil, nil
	}
	return site.LookUp(ctx, w.cluster, w.job.Table)
}

// checkPlace refuses an output from which the load would be refused in the end.
func (w *outputRun) checkPlace(ctx context.Context, table *load.Table) error {
	if table == nil || !w.job.Load || w.options.NoLoad {
		return nil
	}
	var families []string
	for _, f := range w.target.Families {
		families = append(families, f.Name)
	}
	if err := w.cluster.CheckRead(ctx, table, families); err != nil {
		return err
	}
	return w.cluster.CheckPlace(ctx, w.fsys, table, w.fsys.URI(w.dir))
}
