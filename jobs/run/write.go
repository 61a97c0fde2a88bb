package run

import (
	"context"
	"errors"
	"path"
	"sync"
	"syscall"
	"time"

	"bulkload/ingest"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/checkpoint"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/output"
	"bulkload/jobs/pipeline/sorting"
	"bulkload/jobs/pipeline/source"
	"bulkload/jobs/pipeline/writing"
)

// forgetWork deletes what a killed process of this run has left for writing its outputs. All of them must be written.
func (r *opened) forgetWork() error {
	return errors.Join(checkpoint.RemoveFinished(r.options.WorkDir, r.uris()), r.endTasks())
}

// resolveTargets completes the targets, and divides the input into splits.
func (r *runner) resolveTargets(ctx context.Context, todo []*outputRun) (err error) {
	for _, w := range todo {
		if err := w.completeTarget(ctx); err != nil {
			return r.opened.wrap(w, err)
		}
	}
	r.splits, err = source.Splits(ctx, &r.opened.job.Input, r.opened.source)
	return err
}

// sort has the input sorted, and meanwhile logs where its files seem to contradict the job file. In HDFS, looking at
// the ends of many files takes a while.
func (r *runner) sort(ctx context.Context, e executor, todo []*outputRun) error {
	looking, stop := context.WithCancel(ctx)
	defer stop()
	var group sync.WaitGroup
	group.Go(func() { r.opened.source.LogWarnings(looking, r.opened.options) })
	err := e.sort(ctx, todo)
	if err != nil { // a warning may say why, but the ends of all files are not waited for
		defer time.AfterFunc(time.Second, stop).Stop()
	}
	group.Wait()
	return err
}

// beginOutputs makes the checks that need the targets, and begins the manifests. spilled returns how many bytes the
// sort has spilled so far.
func (r *runner) beginOutputs(ctx context.Context, todo []*outputRun, spilled func() int64) error {
	if err := r.opened.rejectsDir().ClearRejects(); err != nil {
		return err
	}
	for _, w := range todo {
		limit := r.opened.fileLimit(w.out.Job, w.target)
		if w.out.Job.Regions.From == "plan" { // its regions were not known before
			if err := limit.Check(); err != nil {
				return r.opened.wrap(w, err)
			}
			if err := r.opened.disksOf([]*outputRun{w}, spilled).Check().Err(); err != nil {
				return r.opened.wrap(w, err)
			}
		}
		limit.Warn(ctx, w.out.Options.Warnf)
	}
	for _, w := range todo {
		if err := w.begin(); err != nil {
			return r.opened.wrap(w, err)
		}
	}
	return nil
}

// prepare makes the checks that need the sorted rows, asks the tables which of the rows they already have, and deletes
// the outputs that are replaced.
func (r *runner) prepare(ctx context.Context, todo []*outputRun) error {
	r.opened.options.Failpoint.Reached(options.Sorted)
	for i, w := range r.opened.outputs {
		if r.rows[i] == nil {
			continue
		}
		if err := w.checkManifestSize(r.rows[i]); err != nil {
			return r.opened.wrap(w, err)
		}
		if err := writing.CheckFileCounts(ctx, w.out.Job, w.target, r.rows[i], w.out.Options.Warnf); err != nil {
			return r.opened.wrap(w, err)
		}
	}
	answers := map[*outputRun]*manifest.Existing{}
	for i, w := range r.opened.outputs { // for all of them before the first file is written
		if r.rows[i] == nil {
			continue
		}
		a, err := r.findExisting(ctx, w, r.rows[i])
		if err != nil {
			return r.opened.wrap(w, err)
		}
		answers[w] = a
	}
	for _, w := range todo {
		if err := w.loader.Replace(ctx, w.out); err != nil {
			return r.opened.wrap(w, err)
		}
		if err := w.keepExisting(answers[w]); err != nil {
			return r.opened.wrap(w, err)
		}
	}
	return nil
}

// inProcess sorts and writes in this process.
type inProcess struct {
	*runner
	checkpoints *checkpoint.RunStore
}

func (p *inProcess) begin(ctx context.Context, todo []*outputRun) (err error) {
	if err := p.opened.clearTasks(); err != nil {
		return err
	}
	var outputs []checkpoint.StoredOutput
	for _, w := range p.opened.outputs {
		o := checkpoint.StoredOutput{URI: w.out.FS.URI(w.out.Path), Run: w.out.Manifest.Run.ID}
		if w.target != nil {
			o.Splits, o.Regions = w.target.Splits, w.target.Regions.Len()
		}
		outputs = append(outputs, o)
	}
	if p.checkpoints, err = checkpoint.Open(outputs, p.opened.source, p.splits, p.opened.options); err != nil {
		return err
	}
	return p.beginOutputs(ctx, todo, p.checkpoints.Spilled)
}

func (p *inProcess) sort(ctx context.Context, _ []*outputRun) error {
	rejects, err := p.opened.newRejects()
	if err != nil {
		return p.sortFailed(err)
	}
	s := sorting.SortStage{Input: &p.opened.job.Input, Source: p.opened.source, Splits: p.checkpoints.Splits,
		Checkpoints: p.checkpoints,
		Rejects:     rejects}
	for _, w := range p.opened.outputs {
		s.Outputs = append(s.Outputs, sorting.SortOutput{Job: w.out.Job, Target: w.target})
	}
	end := p.summary.Begin("sort", "")
	o := p.opened.options
	o.Watch = options.Within(o.Watch, 0, sortShare)
	rows, err := s.Sort(ctx, o)
	end(p.opened.source.Bytes, err)
	p.summary.SetRejects(rejects, p.opened.rejectsFile())
	if err != nil {
		p.countFailed(rows)
		return p.sortFailed(err)
	}
	p.rows = rows
	p.summary.SetSort(rows)
	p.summary.Resumed = p.checkpoints.Resumed()
	return nil
}

// sortFailed has the sorted runs deleted after an error that would occur again, because no later process of this run
// could use them, and because a full disk needs the space.
func (p *inProcess) sortFailed(err error) error {
	var wrongCount *sorting.RowsError // another expect_rows corrects it
	p.checkpoints.DiscardOnClose = errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) ||
		failure.KindOf(err) == failure.Refused && !errors.As(err, &wrongCount)
	return err
}

// countFailed reports how many records were read, rejected and filtered before the reading failed.
func (p *inProcess) countFailed(rows []*sorting.Rows) {
	for i, w := range p.opened.outputs {
		if w.target != nil && i < len(rows) && rows[i] != nil {
			w.report.Counts = w.out.Counts(rows[i])
		}
	}
}

// write writes one output after another, and frees the rows that were written.
func (p *inProcess) write(ctx context.Context, _ []*outputRun) error {
	for i, w := range p.opened.outputs {
		if p.rows[i] == nil {
			continue
		}
		err := errors.Join(w.write(ctx, p.rows[i], p.summary), p.rows[i].Sorted.Close())
		p.rows[i] = nil
		if err == nil {
			err = p.checkpoints.Free(i)
		}
		if err != nil {
			return p.opened.wrap(w, err)
		}
		w.reportWritten()
	}
	return nil
}

func (p *inProcess) end(ctx context.Context, err error) error {
	if p.checkpoints == nil {
		return err
	}
	return errors.Join(err, p.checkpoints.Close(ctx, err))
}

// rejectsDir returns the output that has the rejects: the first one.
func (r *opened) rejectsDir() *output.Dir { return r.outputs[0].out.Dir }

// rejectsFile returns the URI of the file with the rejects.
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
	rejects := ingest.NewRejects(at.FS, path.Join(at.Path, manifest.RejectsDir), r.job.Input.MaxRejects,
		r.job.Input.Form.RejectDelimiter())
	rejects.WriteIn(temps)
	return rejects, nil
}
