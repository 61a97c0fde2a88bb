package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/ledger"
	"bulkload/jobs/env/lock"
	"bulkload/jobs/env/site"
	"bulkload/jobs/inspect/verify"
	"bulkload/jobs/loading"
	"bulkload/jobs/pipeline/checkpoint"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/output"
	"bulkload/jobs/pipeline/sorting"
	"bulkload/jobs/pipeline/source"
	"bulkload/jobs/pipeline/targets"
	"bulkload/jobs/run/preflight"
	"bulkload/jobs/spec/jobfile"
	"bulkload/jobs/tasks"
	"bulkload/load"
)

// opened is what a run, or a check alone, has opened: what the outputs share, and each output's directory.
type opened struct {
	job     *jobfile.Job
	options options.Options
	tasks   bool // tasks do the run, and spill where they run
	site    *site.Site
	source  *source.Source
	cluster *load.Cluster  // nil if the job needs none
	ledger  *ledger.Ledger // nil if nothing is loaded
	outputs []*outputRun
	lost    func(error)   // called if a lock is lost
	waited  time.Duration // for the input
}

// opening says how the parts of a run are opened: for the run itself (runner.open), for its checks alone (Check), or to
// find out whether it was loaded (loadedBefore).
type opening struct {
	input   func(context.Context) error // finds the input; nil: it is not needed
	connect bool                        // to HBase, if the job needs it
	ledger  func(*site.Site) (*ledger.Ledger, error)
	output  func(context.Context, *jobfile.Job) error // opens an output
	// step is called after the steps of site files, HBase and ledger, with a detail or an error. The error that it returns
	// ends the opening. A failure to open the site files ends it in any case.
	step func(name, detail string, err error) error
}

// openParts opens, step by step, what the outputs share, and then the outputs.
func (r *opened) openParts(ctx context.Context, how opening) (err error) {
	j, loads := r.job, !r.options.NoLoad
	if r.site == nil {
		if r.site, err = site.Open(r.options, j.HBase, j.Remote(loads)); err != nil {
			r.site = nil // it must not be used after a failed login, and nothing can be opened without it
			return how.step("site files", "", err)
		}
	}
	if how.input != nil {
		if err := how.input(ctx); err != nil {
			return err
		}
	}
	if how.connect && j.Connects(loads) {
		r.cluster, err = r.site.Connect(ctx)
		if err := how.step("hbase", "a master answers", err); err != nil {
			return err
		}
	}
	if r.loads(j) {
		var at string
		if r.ledger, err = how.ledger(r.site); err == nil {
			at = r.ledger.URI()
		}
		if err := how.step("ledger", at, err); err != nil {
			return err
		}
	}
	for _, out := range j.Feeds() {
		if err := how.output(ctx, out); err != nil {
			return err
		}
	}
	return nil
}

// lockOutput locks an output of a run.
func (r *opened) lockOutput(ctx context.Context, j *jobfile.Job) error {
	dir, err := output.Of(j, r.site, r.options)
	if err != nil {
		return about(j, len(r.outputs) > 0, err)
	}
	w := newOutputRun(output.NewRun(dir, j, r.source), r.clusterOf(j))
	r.outputs = append(r.outputs, w)
	w.loader.Rows = func(ctx context.Context, ranges []load.RowRange) (found loading.RowsFound, err error) {
		report, err := verify.Rows(ctx, r.job, r.options, j.Output, r.source.Files, ranges)
		found.Rows, found.Missing = report.Rows, report.Missing+report.Different
		if len(report.Differences) > 0 {
			found.Example = report.Differences[0].String()
		}
		return found, err
	}
	if w.out.WantsLoad() {
		w.loader.Ledger = r.ledger
	}
	if err := r.lock(ctx, dir); err != nil {
		return r.wrap(w, err)
	}
	return nil
}

// lock creates and locks an output's directory, unless it is the input's.
func (r *opened) lock(ctx context.Context, dir *output.Dir) error {
	if r.source != nil {
		if err := r.source.CheckApart(dir.FS, dir.Path); err != nil {
			return err
		}
	}
	return dir.Make(ctx, r.lost)
}

// clusterOf returns the cluster; nil if an output does not need it.
func (r *opened) clusterOf(j *jobfile.Job) *load.Cluster {
	if j.Connects(!r.options.NoLoad) {
		return r.cluster
	}
	return nil
}

// loads reports whether an output is to be loaded.
func (r *opened) loads(j *jobfile.Job) bool { return j.Load && !r.options.NoLoad }

// findInput finds the input, and waits for it if requested, but not for an input that was loaded and archived.
func (r *opened) findInput(ctx context.Context) (err error) {
	r.source, err = source.Open(r.job, r.site)
	if r.options.Wait.For <= 0 || r.wasArchived(ctx, err) {
		return err
	}
	if r.source != nil {
		err = errors.Join(err, r.source.Close())
		r.source = nil
	}
	if kind := failure.KindOf(err); err != nil && kind != failure.NotYet && kind != failure.Later {
		return err
	}
	from := r.options.Wait.Clock.Now()
	r.source, err = source.Await(ctx, r.job, r.site, r.options)
	r.waited = r.options.Wait.Clock.Now().Sub(from)
	return err
}

// close closes everything.
func (r *opened) close() error {
	var errs []error
	for _, w := range r.outputs {
		errs = append(errs, w.loader.Table.Close(), w.out.Close())
	}
	if r.cluster != nil {
		errs = append(errs, r.cluster.Close())
	}
	if r.ledger != nil {
		errs = append(errs, r.ledger.Close())
	}
	if r.source != nil {
		errs = append(errs, r.source.Close())
	}
	return errors.Join(errs...)
}

// explainLock replaces an error with the loss of a lock, if another run has taken over one.
func (r *opened) explainLock(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	for _, w := range r.outputs {
		if w.out.Lock.Held() { // even if it was lost since
			err = w.out.Lock.Explain(err)
		}
	}
	return err
}

// wrap adds to an error which output it is about, if there are several.
func (r *opened) wrap(w *outputRun, err error) error {
	if several := len(r.outputs) > 1; several && w.report != nil {
		w.report.Status = failure.StatusFailed
	}
	return about(w.out.Job, len(r.outputs) > 1, err)
}

// about adds to an error which output it is about, if there are several.
func about(j *jobfile.Job, several bool, err error) error {
	if !several {
		return err
	}
	return fmt.Errorf("output %s of table %s: %w", j.Output, j.Table, err)
}

// label names the table in an output's findings, if there are several outputs.
func (r *opened) label(j *jobfile.Job, found preflight.CheckResults) preflight.CheckResults {
	if r.job.Outputs == nil {
		return found
	}
	var all preflight.CheckResults
	for _, f := range found {
		all = append(all, f.ForTable(j.Table))
	}
	return all
}

// uris returns the URIs of the outputs.
func (r *opened) uris() []string {
	var all []string
	for _, w := range r.outputs {
		all = append(all, w.out.FS.URI(w.out.Path))
	}
	return all
}

// checks prepares the checks of an output before a run; the caller adds the output's place. files are those that the
// output has, and written says that they are complete. table is nil if the output is not loaded.
func (r *opened) checks(j *jobfile.Job, files manifest.Files, written bool,
	table *lock.TableLock) *preflight.CheckedOutput {
	o := &preflight.CheckedOutput{Job: j, Site: r.site, Loads: r.loads(j), Cluster: r.clusterOf(j),
		Written: written, Now: time.Now()}
	if r.source != nil && !written {
		o.Need = func(t *targets.Target) int64 {
			d := preflight.OutputDisk{Text: r.source.Text, Part: r.job.Part(j), Written: files}
			return d.Files(t)
		}
	}
	if table != nil {
		o.Others = table.Others
	}
	return o
}

// fileLimit prepares the check of an output's number of files.
func (r *opened) fileLimit(j *jobfile.Job, t *targets.Target) *preflight.FileLimit {
	return &preflight.FileLimit{Job: j, Target: t, Source: r.source, Part: r.job.Part(j)}
}

// disk prepares the check of an output's disk. files are those that the output has.
func (r *opened) disk(j *jobfile.Job, dir *output.Dir, t *targets.Target, files manifest.Files) preflight.OutputDisk {
	d := preflight.OutputDisk{FS: dir.FS, Dir: dir.Path, Target: t, Text: r.source.Text,
		Part: r.job.Part(j), Written: files,
		Left: func() (int64, error) { return tasks.Left(dir.FS, dir.Path) }}
	if r.tasks && j == r.job.Feeds()[0] { // the output in which tasks leave what they have sorted
		d.Runs = int64(sorting.SpillRatio * float64(r.source.Text))
	}
	return d
}

// disks prepares the check of the disks that a run fills if it writes these outputs. spilled returns how many bytes the
// sort has spilled so far.
func (r *opened) disks(outputs []preflight.OutputDisk, spilled func() int64) *preflight.Disks {
	return &preflight.Disks{Options: r.options, Unchecked: r.job.Input.SpaceUnchecked,
		Spill: r.spillNeed(outputs, spilled), Outputs: outputs}
}

// spillNeed estimates how many bytes the sorts will still spill. It is 0 if the input fits in their memory, or if tasks
// sort it.
func (r *opened) spillNeed(outputs []preflight.OutputDisk, spilled func() int64) int64 {
	if r.tasks {
		return 0
	}
	var bytes float64
	for i := range outputs {
		bytes += outputs[i].Part * float64(outputs[i].Text)
	}
	need := sorting.SpillNeed(bytes, r.options.Memory)
	if need == 0 {
		return 0
	}
	return max(0, need-spilled())
}

// kept returns how many bytes an earlier process of this run has spilled.
func (r *opened) kept() int64 { return checkpoint.KeptBytes(r.options.WorkDir, r.uris()) }
