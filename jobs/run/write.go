package run

import (
	"context"
	"errors"
	"path"
	"syscall"

	"bulkload/ingest"
	"bulkload/jobs/base/books"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/checkpoint"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/output"
	"bulkload/jobs/pipeline/sorting"
	"bulkload/jobs/pipeline/source"
	"bulkload/jobs/pipeline/writing"
)

// write sorts the input and writes the outputs that are not written yet.
func (c *checked) write(ctx context.Context) (*written, error) {
	r := c.run
	if len(c.todo) == 0 {
		err := errors.Join(checkpoint.RemoveFinished(r.opened.options.WorkDir, r.opened.uris()), r.opened.endTasks())
		return &written{run: r}, err
	}
	t, err := c.aim(ctx)
	if err != nil {
		return nil, err
	}
	if r.by != nil {
		err = t.byTasks(ctx)
	} else {
		err = t.here(ctx)
	}
	return &written{r, c.todo}, err
}

// targeted is a run whose outputs have their targets.
type targeted struct {
	run    *runner
	todo   []*outputRun
	splits []ingest.Split // of the input
}

// aim completes the targets, and divides the input into splits.
func (c *checked) aim(ctx context.Context) (*targeted, error) {
	opened := c.run.opened
	for _, w := range c.todo {
		if err := w.completeTarget(ctx); err != nil {
			return nil, opened.wrap(w, err)
		}
	}
	splits, err := source.Splits(ctx, &opened.job.Input, opened.source)
	if err != nil {
		return nil, err
	}
	opened.source.LogWarnings(ctx, opened.options)
	return &targeted{c.run, c.todo, splits}, nil
}

// here sorts and writes in this process.
func (t *targeted) here(ctx context.Context) (err error) {
	opened := t.run.opened
	if err := opened.clearTasks(); err != nil {
		return err
	}
	checkpoints, err := checkpoint.Open(t.checkpointOutputs(), opened.source, t.splits, opened.options)
	defer func() { err = errors.Join(err, checkpoints.Close(ctx, err)) }()
	if err != nil {
		return err
	}
	if err := t.prepare(ctx, checkpoints.Spilled); err != nil {
		return err
	}
	sorted, err := t.sort(ctx, checkpoints)
	if err != nil {
		var wrongCount *sorting.RowsError // which another expect_rows corrects
		checkpoints.DiscardOnClose = errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || failure.KindOf(err) == failure.Refused && !errors.As(err, &wrongCount)
		return err
	}
	opened.options.Failpoint.Reached(options.Sorted)
	ready, err := sorted.prepare(ctx)
	if err == nil {
		err = ready.write(ctx, checkpoints)
	}
	return errors.Join(err, sorted.close())
}

// checkpointOutputs are the outputs for the checkpoint store.
func (t *targeted) checkpointOutputs() []checkpoint.Output {
	var all []checkpoint.Output
	for _, w := range t.run.opened.outputs {
		p := checkpoint.Output{URI: w.out.FS.URI(w.out.Path), Run: w.out.Manifest.Run.ID}
		if w.target != nil {
			p.Splits, p.Regions = w.target.Splits, w.target.Regions.Len()
		}
		all = append(all, p)
	}
	return all
}

// prepare makes the checks that need the targets, and begins the manifests. spilled returns how many bytes the sort has
// spilled so far.
func (t *targeted) prepare(ctx context.Context, spilled func() int64) error {
	opened := t.run.opened
	if err := opened.rejectsDir().ClearRejects(); err != nil {
		return err
	}
	for _, w := range t.todo {
		limit := w.fileLimit()
		if w.out.Job.Regions.From == "plan" { // its regions were not known before
			if err := limit.Check(); err != nil {
				return opened.wrap(w, err)
			}
			if err := opened.disks([]*outputRun{w}, spilled).Check().Err(); err != nil {
				return opened.wrap(w, err)
			}
		}
		limit.Warn(ctx, w.out.Options.Warnf)
	}
	for _, w := range t.todo {
		if err := w.begin(); err != nil {
			return opened.wrap(w, err)
		}
	}
	return nil
}

// sort reads the input and sorts each output's rows.
func (t *targeted) sort(ctx context.Context, checkpoints *checkpoint.Store) (*sorted, error) {
	opened, summary := t.run.opened, t.run.summary
	rejects, err := opened.newRejects()
	if err != nil {
		return nil, err
	}
	s := sorting.Stage{Input: &opened.job.Input, Source: opened.source, Splits: checkpoints.Splits, Checkpoints: checkpoints,
		Rejects: rejects}
	for _, w := range opened.outputs {
		s.Outputs = append(s.Outputs, sorting.Output{Job: w.out.Job, Target: w.target})
	}
	var rows []*sorting.Rows
	err = summary.Phase("sort", "", func() (_ int64, err error) {
		o := opened.options
		o.Watch = options.Within(o.Watch, 0, sortShare)
		rows, err = s.Sort(ctx, o)
		return opened.source.Bytes, err
	})
	summary.SetRejects(rejects, opened.rejectsFile())
	if err != nil {
		t.countFailed(rows)
		return nil, err
	}
	summary.SetSort(rows)
	summary.Resumed = checkpoints.Resumed()
	return &sorted{t.run, t.todo, rows}, nil
}

// countFailed reports how far a failed reading came: the records that were read, rejected and filtered.
func (t *targeted) countFailed(rows []*sorting.Rows) {
	for i, w := range t.run.opened.outputs {
		if w.target != nil && i < len(rows) && rows[i] != nil {
			w.report.Books = books.Books{Read: rows[i].Read, Rejected: rows[i].Rejected, Filtered: rows[i].Filtered, Skipped: rows[i].Skipped, Columns: len(w.out.Job.CellColumns())}
		}
	}
}

// sorted is a run whose input is sorted.
type sorted struct {
	run  *runner
	todo []*outputRun
	rows []*sorting.Rows // of each output; nil for those that were written before
}

func (s *sorted) close() error { return sorting.CloseRows(s.rows) }

// ready is a sorted run whose outputs may be written.
type ready struct{ sorted *sorted }

// prepare makes the checks that need the sorted rows, asks the tables which of the rows they have already, and deletes
// the outputs that are replaced.
func (s *sorted) prepare(ctx context.Context) (*ready, error) {
	opened, summary := s.run.opened, s.run.summary
	for i, w := range opened.outputs {
		if s.rows[i] == nil {
			continue
		}
		if err := w.checkManifestSize(s.rows[i]); err != nil {
			return nil, opened.wrap(w, err)
		}
		if err := writing.CheckFileCounts(ctx, w.out.Job, w.target, s.rows[i], w.out.Options.Warnf); err != nil {
			return nil, opened.wrap(w, err)
		}
	}
	answers := map[*outputRun]*manifest.Existing{}
	for i, w := range opened.outputs { // all of them before the first file is written
		if s.rows[i] == nil {
			continue
		}
		q := &question{out: w.out, loader: w.loader, target: w.target, report: w.report}
		a, err := q.ask(ctx, s.rows[i], summary)
		if err != nil {
			return nil, opened.wrap(w, err)
		}
		answers[w] = a
	}
	for _, w := range s.todo {
		if err := w.loader.Replace(ctx); err != nil {
			return nil, opened.wrap(w, err)
		}
		if err := w.keepExisting(answers[w]); err != nil {
			return nil, opened.wrap(w, err)
		}
	}
	return &ready{s}, nil
}

// write writes one output after another, and frees the rows that were written.
func (r *ready) write(ctx context.Context, checkpoints *checkpoint.Store) error {
	run, rows := r.sorted.run, r.sorted.rows
	for i, w := range run.opened.outputs {
		if rows[i] == nil {
			continue
		}
		err := errors.Join(w.write(ctx, rows[i], run.summary), rows[i].Sorted.Close())
		rows[i] = nil
		if err == nil {
			err = checkpoints.Free(i)
		}
		if err != nil {
			return run.opened.wrap(w, err)
		}
		w.reportWritten()
	}
	return nil
}

// rejectsDir is the output with the rejects: the first one.
func (r *opened) rejectsDir() *output.Dir { return r.outputs[0].out }

// rejectsFile is the URI of the file with the rejects.
func (r *opened) rejectsFile() string {
	return r.rejectsDir().URI(path.Join(manifest.RejectsDir, ingest.RejectsFile))
}

// newRejects begins the files of rejects.
func (r *opened) newRejects() (*ingest.Rejects, error) {
	at := r.rejectsDir()
	temps, err := at.TempFolder()
	if err != nil {
		return nil, err
	}
	rejects := ingest.NewRejects(at.FS, path.Join(at.Path, manifest.RejectsDir), r.job.Input.MaxRejects, r.job.Input.Form.RejectDelimiter())
	rejects.WriteIn(temps)
	return rejects, nil
}
