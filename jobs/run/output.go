package run

import (
	"context"

	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/lock"
	"bulkload/jobs/loading"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/output"
	"bulkload/jobs/pipeline/sorting"
	"bulkload/jobs/pipeline/targets"
	"bulkload/jobs/pipeline/writing"
	"bulkload/jobs/run/preflight"
	"bulkload/jobs/run/summary"
	"bulkload/jobs/spec/jobfile"
	"bulkload/load"
)

// outputRun is one output of a run: its directory, loader and target.
type outputRun struct {
	out    *output.Run
	loader *loading.Loader
	target *targets.Target // nil for an output that was written before
	share  progressShare   // its share of the run's progress
	report *summary.OutputReport
}

func newOutputRun(out *output.Run, c *load.Cluster) *outputRun {
	return &outputRun{out: out, loader: &loading.Loader{Out: out.Output, Cluster: c}}
}

// waitsForLoad reports whether the files are written and none was submitted yet. An interrupted load does not count,
// because it must be recovered before it is checked.
func (w *outputRun) waitsForLoad() bool {
	return w.out.WantsLoad() && w.out.Manifest.State == manifest.Written && !w.out.Manifest.Interrupted()
}

// unloaded reports whether the job loads the files but has not done so yet: --no-load may have put that off.
func (w *outputRun) unloaded() bool { return w.out.Job.Load && w.out.Manifest.State != manifest.Loaded }

// checksOf prepares the checks of an output at the beginning of a run.
func (r *opened) checksOf(w *outputRun) *preflight.CheckedOutput {
	o := r.checks(w.out.Job, w.out.Present.Files(), w.out.Manifest.State == manifest.Written, w.loader.Table)
	o.FS, o.Dir, o.Temps, o.Brief = w.out.FS, w.out.Path, w.out.TempFolder, true
	return o
}

// disksOf prepares the check of the disks of some outputs.
func (r *opened) disksOf(all []*outputRun, spilled func() int64) *preflight.Disks {
	var disks []preflight.OutputDisk
	for _, w := range all {
		disks = append(disks, r.disk(w.out.Job, w.out.Dir, w.target, w.out.Present.Files()))
	}
	return r.disks(disks, spilled)
}

// announce makes the run known to other runs into the same table.
func (w *outputRun) announce(ctx context.Context, lost func(error)) error {
	if w.loader.Ledger == nil || w.loader.Table != nil {
		return nil
	}
	w.loader.Table = lock.OpenTable(w.loader.Ledger, w.out.Job.Table, lock.Request{
		User: w.out.Site.User, Purpose: w.out.Job.Title(), Output: w.out.FS.URI(w.out.Path), Lost: lost})
	return w.loader.Table.Announce(ctx)
}

// completeTarget completes the output's target, which the checks have made unless the input decides the regions. If
// some of the run's files are loaded, or may be, it uses the boundaries that the run began with, because only missing
// files are written then. The load cuts them at the current boundaries.
func (w *outputRun) completeTarget(ctx context.Context) error {
	m := w.out.Manifest
	if w.target == nil {
		known, err := m.Planned()
		if err != nil {
			return err
		}
		if w.target, err = targets.Resolve(ctx, w.out.Job, w.out.Site, w.out.Source, nil, known, w.out.Options); err != nil {
			return err
		}
	}
	if !m.MayBeLoaded() {
		return nil
	}
	splits, err := m.Boundaries()
	if err != nil {
		return err
	}
	return w.target.SetSplits(splits, w.out.Job.Wide != nil)
}

// begin prepares the output for its files.
func (w *outputRun) begin() error {
	m := w.out.Manifest
	same := m.SameTable(w.target)
	// Loaded files stay, whatever other files look like.
	if same && len(m.Slices) > 0 && !m.MayBeLoaded() {
		var err error
		if same, err = m.SameEncoders(w.target); err != nil {
			return err
		}
	}
	if len(m.Slices) > 0 && !same {
		w.out.Options.Warnf("the table's regions or settings, or how this program compresses, have changed since this run " +
			"began: writing all files again")
		old := m.RemoveAll()
		if err := w.out.Save(); err != nil { // first, since a manifest may name only files that exist
			return err
		}
		if err := w.out.CleanFiles(old); err != nil {
			return err
		}
		if err := w.out.FinishCuts(); err != nil {
			return err
		}
	} else if len(m.Slices) > 0 {
		w.out.Options.Infof("going on with run %s: %s are written", m.Run.ID, m.Files().Amount())
	}
	if err := m.SetTable(w.target); err != nil {
		return err
	}
	if err := w.out.Manifest.CheckSize(int64(w.target.Regions.Len()), 0); err != nil { // each region has a slice
		return err
	}
	if err := w.out.ClearRejects(); err != nil {
		return err
	}
	if !w.out.Replaces() {
		if err := w.out.Save(); err != nil {
			return err
		}
	}
	w.out.Options.Failpoint.Reached(options.Planned)
	return nil
}

// checkManifestSize refuses an output if its slices would make the manifest too large to be read.
func (w *outputRun) checkManifestSize(rows *sorting.Rows) error {
	most := int64(len(rows.Regions)) * sorting.MaxSlices
	if w.out.Manifest.CheckSize(most, most) == nil {
		return nil
	}
	units := rows.SliceTasks(w.out.Job, w.target)
	var files int64
	for _, u := range units {
		if rows.Regions[u.Region].Keys > 0 {
			files++ // it has at least one
		}
	}
	return w.out.Manifest.CheckSize(int64(len(units)), files)
}

// writeStage makes the write stage of an output.
func (w *outputRun) writeStage(rows *sorting.Rows) *writing.Stage {
	o := w.out.Options
	return writing.New(writing.Config{Job: w.out.Job, Target: w.target, Inputs: w.out.Source.Files,
		RunID:       w.out.Manifest.Run.ID,
		Destination: hfiles.Destination{FS: w.out.FS, Dir: w.out.Path, Temps: w.out.TempFolder},
		Log:         o.Log, Failpoint: o.Failpoint, Watch: w.share.write}, rows, w.out.Records())
}

// write writes one output's files and balances its counts.
func (w *outputRun) write(ctx context.Context, rows *sorting.Rows, s *summary.Summary) error {
	stage := w.writeStage(rows)
	end := s.Begin("write", w.report.Name())
	err := stage.Run(ctx)
	done := stage.Report()
	end(done.ReadBack, err)
	w.reportStage(done, s)
	if err != nil {
		return err
	}
	return w.complete(rows)
}

// reportStage reports what the write stage did.
func (w *outputRun) reportStage(done writing.WriteReport, s *summary.Summary) {
	s.AddParts(w.report.Name(), done.Times.Phases())
	w.report.Duplicates = done.Samples
}

// complete balances the counts of an output whose files are all written, and marks it as complete.
func (w *outputRun) complete(rows *sorting.Rows) error {
	if err := w.out.Reconcile(rows); err != nil {
		return err
	}
	if n := w.out.Manifest.Counts.Differing; n > 0 {
		w.out.Options.Warnf("table %s: %s dropped, because a later record has the same row key and other values; if these "+
			"are not corrections, the key is too short or the export cut its values (duplicates: error refuses them)",
			w.out.Job.Table, jobfile.Plural(int(n), "record"))
	}
	w.out.Options.Failpoint.Reached(options.Balanced)
	return w.out.Succeed()
}

// reportWritten reports an output once its files are written, in case another output fails.
func (w *outputRun) reportWritten() {
	w.report.Fill(w.out.Manifest)
	if e := w.out.Manifest.Existing; e != nil {
		w.report.SetExisting(w.out.Job.Live, e)
	}
	w.report.Status = failure.StatusDone
	if w.out.WantsLoad() && w.out.Manifest.State != manifest.Loaded {
		w.report.Status = failure.Written
	}
}
