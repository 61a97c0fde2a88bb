package jobs

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"syscall"

	"bulkload/ingest"
	"bulkload/internal/parallel"
	"bulkload/jobs/books"
	"bulkload/jobs/checkpoint"
	"bulkload/jobs/failpoint"
	"bulkload/jobs/failure"
	"bulkload/jobs/hfile"
	"bulkload/jobs/jobfile"
	"bulkload/jobs/loading"
	"bulkload/jobs/manifest"
	"bulkload/jobs/options"
	"bulkload/jobs/outcome"
	"bulkload/jobs/output"
	"bulkload/jobs/progress"
	"bulkload/jobs/sorting"
	"bulkload/jobs/source"
	"bulkload/jobs/target"
	"bulkload/jobs/writing"
	"bulkload/load"
)

// RunBy runs a job: it reads, sorts, writes, verifies and loads what is not done yet. The summary is returned on
// failure too. Canceling the context stops it; the same call continues.
//
// If one reading feeds several outputs, all of them are written and balanced before the first is loaded. They are
// loaded in the order of the job file.
//
// If by is not nil, the run is done by tasks.
func RunBy(ctx context.Context, by *ByTasks, j *jobfile.Job, o options.Options) (*Summary, error) {
	summary := newSummary(j)
	o, err := o.WithDefaults()
	if err != nil {
		return summary, err
	}
	o = o.With("job", summary.Run.Job, "date", summary.Run.Date)
	summary.log = o
	by, free, err := by.of(j, o)
	if err != nil {
		return summary, err
	}
	defer free()
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r, err := newRunner(running, j, by, o, func(err error) { cancel(failure.New(failure.Later, err)) })
	var missing *source.MissingError
	switch {
	case err == nil:
		err = errors.Join(r.explainLock(running, r.runUntilServed(running, summary)), r.close())
	case errors.As(err, &missing) && mayBeArchived(j, o):
		err = loadedWithoutInput(running, j, o, r.site, summary, err)
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

// runUntilServed runs, and again if the table does not serve files that it took: they are written and loaded again.
func (r *runner) runUntilServed(ctx context.Context, summary *Summary) error {
	for rewrites := 0; ; rewrites++ {
		err := r.run(ctx, summary)
		var lost *loading.RewriteError
		if !errors.As(err, &lost) || rewrites == maxRewrites || ctx.Err() != nil {
			return err
		}
		r.options.Warnf("%v: writing and loading their rows again", lost.Lost)
		r.options.Force = false // the output has this run's own files now
		for _, w := range r.outputs {
			w.out.Options.Force = false
		}
	}
}

// explainLock replaces the error of a failure that is due to a lock which another run has taken over.
func (r *runner) explainLock(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	for _, w := range r.outputs {
		if w.out.Lock != nil {
			err = w.out.Lock.Explain(err)
		}
	}
	return err
}

func (r *runner) run(ctx context.Context, summary *Summary) error {
	var todo []*outputRun
	for i, w := range r.outputs {
		w.report = summary.output(i)
		w.report.Output = w.out.FS.URI(w.out.Path)
		w.target = nil
		finished, err := w.out.Resume(ctx)
		if w.report.manifest = w.out.Manifest; w.out.Manifest != nil {
			w.out.Options = r.options.With("table", w.out.Job.Table, "run", w.out.Manifest.Run.ID)
			w.share = r.shareOf(i)
		}
		if err == nil && !finished && w.out.IsEmpty() {
			finished, err = w.loader.LoadedElsewhere(ctx)
		} else if err == nil && finished {
			err = errors.Join(w.out.MarkSuccess(), sorting.CheckEmpty(&r.job.Input, w.out.Manifest.Books.Read))
		}
		if err != nil {
			return r.wrapOutput(w, r.inputFirst(ctx, err))
		}
		if finished {
			w.reportWritten()
		} else {
			todo = append(todo, w)
		}
	}
	if err := r.checkFirst(ctx, todo, summary); err != nil {
		return err
	}
	if len(todo) > 0 {
		if err := r.write(ctx, todo, summary); err != nil {
			return err
		}
	} else if err := errors.Join(checkpoint.RemoveFinished(r.options.WorkDir, r.uris()), r.clearTasks()); err != nil {
		return err
	}
	for _, w := range r.outputs {
		if err := r.finishOutput(ctx, w, summary, slices.Contains(todo, w)); err != nil {
			return r.wrapOutput(w, err)
		}
	}
	summary.setStatus()
	return nil
}

// inputFirst reports what is wrong with the input before the refusal of an output with another run: a job file that
// was edited and does not fit its input makes another run, too, but that is not the fault to correct.
func (r *runner) inputFirst(ctx context.Context, err error) error {
	var another *output.AnotherRunError
	if !errors.As(err, &another) {
		return err
	}
	if wrong := sorting.TryInput(ctx, r.source, r.options); wrong != nil {
		return fmt.Errorf("%w\nbesides, %v", wrong, err)
	}
	return err
}

// reportWritten reports an output whose files are written, in case another one fails.
func (w *outputRun) reportWritten() {
	w.report.fill(w.out.Manifest)
	if e := w.out.Manifest.Existing; e != nil {
		w.reportExisting(e)
	}
	w.report.Status = outcome.Done
	if w.out.WantsLoad() && w.out.Manifest.State != manifest.Loaded {
		w.report.Status = outcome.Written
	}
}

// finishOutput loads an output if required, and sets its final status.
func (r *runner) finishOutput(ctx context.Context, w *outputRun, summary *Summary, written bool) error {
	wanted := w.out.WantsLoad()
	w.report.Load.Requested = wanted
	switch {
	case wanted && w.out.Manifest.State != manifest.Loaded:
		if err := w.announce(ctx, r.lost); err != nil { // a load that was interrupted takes its turn, too
			return err
		}
		if err := w.load(ctx, summary); err != nil {
			return err
		}
		w.out.Options.Failpoint.Reached(failpoint.Loaded)
		w.report.fill(w.out.Manifest)
		w.report.Status = outcome.Done
	case !written:
		if wanted {
			if err := w.loader.CheckServed(ctx); err != nil {
				return err
			}
		}
		w.report.Status = outcome.Nothing
	default:
		if err := w.out.CheckLock(); err != nil { // the files may be another run's by now
			return err
		}
		w.report.Status = outcome.Done
	}
	if w.report.Books.Read == 0 && w.report.Status == outcome.Done {
		w.report.Status = outcome.Empty
	}
	return nil
}

// wrapOutput adds to an error which output it is about, if there are several.
func (r *runner) wrapOutput(w *outputRun, err error) error {
	if len(r.outputs) == 1 {
		return err
	}
	if w.report != nil {
		w.report.Status = outcome.Failed
	}
	return fmt.Errorf("output %s of table %s: %w", w.out.Job.Output, w.out.Job.Table, err)
}

// write performs the stages from the tables' plans to the finished manifests, for the outputs that are not written
// yet.
func (r *runner) write(ctx context.Context, todo []*outputRun, summary *Summary) error {
	for _, w := range todo {
		if err := w.plan(ctx); err != nil {
			return r.wrapOutput(w, err)
		}
	}
	splits, err := source.Splits(ctx, &r.job.Input, r.source)
	if err != nil {
		return err
	}
	r.source.LogWarnings(ctx, r.options)
	if r.by != nil {
		return r.writeByTasks(ctx, todo, splits, summary)
	}
	return r.writeHere(ctx, todo, splits, summary)
}

// writeHere sorts and writes in this process.
func (r *runner) writeHere(ctx context.Context, todo []*outputRun, splits []ingest.Split, summary *Summary) (err error) {
	if err := r.clearTasks(); err != nil {
		return err
	}
	r.checkpoints, err = checkpoint.Open(r.checkpointOutputs(), r.source, splits, r.options)
	defer func() { err = errors.Join(err, r.checkpoints.Close(ctx, err)) }()
	if err != nil {
		return err
	}
	if err := r.prepareOutputs(ctx, todo); err != nil {
		return err
	}
	rows, err := r.sort(ctx, summary)
	if err != nil {
		var wrongCount *sorting.RowsError // which another expect_rows corrects
		r.checkpoints.DiscardOnClose = errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || failure.KindOf(err) == failure.Refused && !errors.As(err, &wrongCount)
		return err
	}
	r.options.Failpoint.Reached(failpoint.Sorted)
	err = r.writeAll(ctx, todo, rows, summary)
	return errors.Join(err, sorting.CloseRows(rows))
}

// checkpointOutputs are the outputs for the checkpoint store.
func (r *runner) checkpointOutputs() []checkpoint.Output {
	var all []checkpoint.Output
	for _, w := range r.outputs {
		p := checkpoint.Output{URI: w.out.FS.URI(w.out.Path), Run: w.out.Manifest.Run.ID}
		if w.target != nil {
			p.Splits, p.Regions = w.target.Splits, w.target.Regions.Len()
		}
		all = append(all, p)
	}
	return all
}

// uris names the outputs.
func (r *runner) uris() []string {
	var all []string
	for _, w := range r.outputs {
		all = append(all, w.out.FS.URI(w.out.Path))
	}
	return all
}

// prepareOutputs begins the manifests.
func (r *runner) prepareOutputs(ctx context.Context, todo []*outputRun) error {
	if err := r.rejectsDir().out.ClearRejects(); err != nil {
		return err
	}
	for _, w := range todo {
		if w.out.Job.Regions.From == "plan" { // its regions were not known before
			if err := w.checkInputSize(); err != nil {
				return r.wrapOutput(w, err)
			}
			if err := r.checkDisk([]*outputRun{w}).Err(); err != nil {
				return r.wrapOutput(w, err)
			}
		}
		w.warnOfFiles(ctx)
	}
	for _, w := range todo {
		if err := w.begin(); err != nil {
			return r.wrapOutput(w, err)
		}
	}
	return nil
}

// rejectsDir is the output with the rejects: the first one.
func (r *runner) rejectsDir() *outputRun { return r.outputs[0] }

// sort reads the input and returns each output's rows; none for outputs that are written.
func (r *runner) sort(ctx context.Context, summary *Summary) ([]*sorting.Rows, error) {
	rejects, err := r.newRejects()
	if err != nil {
		return nil, err
	}
	s := sorting.Stage{Input: &r.job.Input, Source: r.source, Splits: r.checkpoints.Splits, Checkpoints: r.checkpoints,
		Rejects: rejects}
	for _, w := range r.outputs {
		s.Outputs = append(s.Outputs, sorting.Output{Job: w.out.Job, Target: w.target})
	}
	var rows []*sorting.Rows
	err = summary.phase("sort", "", func() (_ int64, err error) {
		o := r.options
		o.Watch = progress.Within(o.Watch, 0, sortShare)
		rows, err = s.Sort(ctx, o)
		return r.source.Bytes, err
	})
	r.sumRejects(summary, rejects)
	if err != nil {
		r.countFailed(rows)
		return nil, err
	}
	summary.sorted(rows)
	summary.Resumed = r.checkpoints.Resumed()
	return rows, nil
}

// newRejects begins the files of rejects, in the first output.
func (r *runner) newRejects() (*ingest.Rejects, error) {
	at := r.rejectsDir()
	temps, err := at.out.TempFolder()
	if err != nil {
		return nil, err
	}
	rejects := ingest.NewRejects(at.out.FS, path.Join(at.out.Path, manifest.RejectsDir), r.job.Input.MaxRejects, r.job.Input.Form.RejectDelimiter())
	rejects.WriteIn(temps)
	return rejects, nil
}

// sumRejects reports the rejects.
func (r *runner) sumRejects(summary *Summary, rejects *ingest.Rejects) {
	summary.reasons, summary.otherReasons = rejects.Reasons()
	if records := rejects.Count(); records > 0 {
		at := r.rejectsDir().out
		summary.Rejects = []RejectFile{{at.URI(path.Join(manifest.RejectsDir, ingest.RejectsFile)), records}}
	}
}

// countFailed reports the progress of a reading that failed: the records read until then, and the rejects.
func (r *runner) countFailed(rows []*sorting.Rows) {
	for i, w := range r.outputs {
		if w.target != nil && i < len(rows) && rows[i] != nil {
			w.report.Books = books.Books{Read: rows[i].Read, Rejected: rows[i].Rejected, Filtered: rows[i].Filtered, Columns: len(w.out.Job.CellColumns())}
		}
	}
}

// beforeWriting makes the checks that need the sorted rows, asks the tables for those that they have, and deletes the outputs
// that are replaced.
func (r *runner) beforeWriting(ctx context.Context, todo []*outputRun, rows []*sorting.Rows, summary *Summary) error {
	for i, w := range r.outputs {
		if rows[i] == nil {
			continue
		}
		if err := w.checkManifestSize(rows[i]); err != nil {
			return r.wrapOutput(w, err)
		}
		if err := writing.CheckFileCounts(ctx, w.out.Job, w.target, rows[i], w.out.Options.Warnf); err != nil {
			return r.wrapOutput(w, err)
		}
	}
	for i, w := range r.outputs { // all of them before the first file is written
		if rows[i] == nil {
			continue
		}
		if err := w.askExisting(ctx, rows[i], summary); err != nil {
			return r.wrapOutput(w, err)
		}
	}
	for _, w := range todo {
		if err := w.loader.Replace(ctx); err != nil {
			return r.wrapOutput(w, err)
		}
		if err := w.keepExisting(); err != nil {
			return r.wrapOutput(w, err)
		}
	}
	return nil
}

// checkManifestSize refuses an output whose slices the manifest can't have.
func (w *outputRun) checkManifestSize(rows *sorting.Rows) error {
	most := int64(len(rows.Regions)) * sorting.MaxSlices
	if w.out.Manifest.CheckSize(most, most) == nil {
		return nil
	}
	units := rows.SliceTasks(w.out.Job, w.target)
	var files int64
	for _, u := range units {
		if rows.Regions[u.Region].Keys > 0 {
			files++ // at least
		}
	}
	return w.out.Manifest.CheckSize(int64(len(units)), files)
}

// writeAll writes one output after another, and frees the rows that were written.
func (r *runner) writeAll(ctx context.Context, todo []*outputRun, rows []*sorting.Rows, summary *Summary) error {
	if err := r.beforeWriting(ctx, todo, rows, summary); err != nil {
		return err
	}
	for i, w := range r.outputs {
		if rows[i] == nil {
			continue
		}
		err := errors.Join(w.write(ctx, rows[i], summary), rows[i].Sorted.Close())
		rows[i] = nil
		if err == nil {
			err = r.checkpoints.Free(i)
		}
		if err != nil {
			return r.wrapOutput(w, err)
		}
		w.reportWritten()
	}
	return nil
}

// write writes one output's files and balances its counts.
func (w *outputRun) write(ctx context.Context, rows *sorting.Rows, summary *Summary) error {
	stage := w.writeStage(rows)
	err := summary.phase("write", w.report.name, func() (int64, error) {
		err := stage.Run(ctx)
		return stage.Checks.Sum(), err
	})
	w.reportStage(stage, summary)
	if err != nil {
		return err
	}
	return w.complete(rows)
}

// reportStage reports what the write stage did.
func (w *outputRun) reportStage(stage *writing.Stage, summary *Summary) {
	summary.parts(w.report.name, stage.Times.Phases())
	w.report.Duplicates = stage.Samples
}

// complete balances the counts of an output whose files are all written, and marks it as complete.
func (w *outputRun) complete(rows *sorting.Rows) error {
	if err := w.out.Balance(rows); err != nil {
		return err
	}
	w.out.Options.Failpoint.Reached(failpoint.Balanced)
	return w.out.Succeed()
}

// writeStage makes the write stage of an output.
func (w *outputRun) writeStage(rows *sorting.Rows) *writing.Stage {
	o := w.out.Options
	return writing.New(&writing.Writer{Job: w.out.Job, Target: w.target, Inputs: w.out.Source.Files, RunID: w.out.Manifest.Run.ID, LeftOut: w.leftOut(),
		Destination: hfile.Destination{FS: w.out.FS, Dir: w.out.Path, Temps: w.out.TempFolder}, Log: o.Log, Failpoint: o.Failpoint}, rows, w.out.Records(), w.share.write)
}

// plan completes the output's target: the checks have made it unless the input decides the regions.
func (w *outputRun) plan(ctx context.Context) error {
	if w.target == nil {
		known, err := w.out.Manifest.Planned()
		if err != nil {
			return err
		}
		if w.target, err = target.Of(ctx, w.out.Job, w.out.Site, w.out.Source, nil, known, w.out.Options); err != nil {
			return err
		}
	}
	return w.keepSplits()
}

// begin prepares the output for its files.
func (w *outputRun) begin() error {
	if m := w.out.Manifest; len(m.Slices) > 0 && !m.SameTable(w.target) {
		w.out.Options.Warnf("the table's regions or settings have changed since this run began: writing all files again")
		old := m.RemoveAll()
		if err := w.out.Save(); err != nil { // first, since a manifest names files that exist
			return err
		}
		if err := errors.Join(w.out.CleanFiles(old), w.out.FinishCuts()); err != nil {
			return err
		}
	} else if len(m.Slices) > 0 {
		w.out.Options.Infof("going on with run %s: %s are written", m.Run.ID, manifest.Amount(m.Files()))
	}
	if err := w.forgetExisting(); err != nil {
		return err
	}
	w.out.Manifest.SetTable(w.target)
	if err := w.out.Manifest.CheckSize(int64(w.target.Regions.Len()), 0); err != nil { // each region has a slice
		return err
	}
	if err := w.out.ClearTemps(); err != nil {
		return fmt.Errorf("clean the output: %w", err)
	}
	if err := w.out.ClearRejects(); err != nil {
		return err
	}
	if w.out.Replaced == nil {
		if err := w.out.Save(); err != nil {
			return err
		}
	}
	w.out.Options.Failpoint.Reached(failpoint.Planned)
	return nil
}

// outputRun is one output of a run: its directory, loader and target.
type outputRun struct {
	out    *output.Dir
	loader *loading.Loader
	target *target.Target // nil if the output is written
	part   float64        // about its share of the input's bytes
	tasks  bool           // what tasks leave is in it
	share  progressShare  // its share of the run
	report *OutputReport

	asked *manifest.Existing // the table's answers, until they are recorded; nil if it was not asked now
	temp  string             // the folder with their keys
}

func newOutputRun(d *output.Dir) *outputRun {
	return &outputRun{out: d, loader: &loading.Loader{Out: d}}
}

// load loads the files that HBase does not have yet. It succeeds only if the table serves all files.
func (w *outputRun) load(ctx context.Context, summary *Summary) (err error) {
	w.out.Options.Watch = w.share.load
	turn, err := w.loader.AwaitTurn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, turn.End()) }()
	recovered, err := turn.Recover(ctx)
	if err != nil {
		return err
	}
	var handed *loading.Handed
	var report *load.Report
	err = summary.phase("load", w.report.name, func() (_ int64, err error) {
		handed, report, err = recovered.Load(ctx)
		w.report.Load.Apply(report)
		return w.out.Manifest.LoadedBytes(), err
	})
	if err != nil {
		return err
	}
	err = summary.phase("probe", w.report.name, func() (int64, error) {
		return w.out.Manifest.LoadedBytes(), handed.Confirm(ctx)
	})
	summary.shift(report.Probed)
	return err
}

// keepSplits uses the boundaries that the run began with if some of its files are loaded: only what is missing is
// written then, and cut at the current boundaries.
func (w *outputRun) keepSplits() error {
	m := w.out.Manifest
	if len(m.LoadedBefore) == 0 && !slices.ContainsFunc(m.Files(), func(f *hfile.Summary) bool { return f.Loaded }) {
		return nil
	}
	splits, err := m.Boundaries()
	if err != nil {
		return err
	}
	return w.target.SetSplits(splits, w.out.Job.Wide != nil)
}
