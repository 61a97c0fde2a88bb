package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"time"

	"bulkload/ingest"
	"bulkload/internal/digest"
)

// Run does a job: it reads, sorts, writes, verifies and loads what is not done yet. The summary is there on failure
// too. Canceling the context stops it; the same call goes on then.
func Run(ctx context.Context, j *Job, o Options) (*Summary, error) {
	summary := newSummary(j)
	o, err := o.withDefaults()
	if err != nil {
		return summary, err
	}
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w, err := openWorkplace(running, j, o, func(err error) { cancel(laterf("%w", err)) })
	if err == nil {
		err = errors.Join(w.run(running, summary), w.close())
	}
	switch cause := context.Cause(running); {
	case err == nil:
		summary.bound(workers())
		return summary, nil
	case ctx.Err() != nil:
		err = &kindError{Interrupted, fmt.Errorf("stopped; the same command goes on from here: %w", err)}
	case cause != nil && KindOf(cause) == Later:
		err = cause
	}
	return summary, err
}

func (w *workplace) run(ctx context.Context, summary *Summary) error {
	summary.Output = w.fsys.URI(w.dir)
	finished, err := w.resume()
	if err != nil {
		return err
	}
	if finished {
		err = w.markSuccess()
	} else {
		err = w.write(ctx, summary)
	}
	if err != nil {
		return err
	}
	summary.fill(w.manifest)
	wanted := w.job.Load && !w.options.NoLoad
	summary.Load.Wanted = wanted
	switch {
	case wanted && w.manifest.State != stateLoaded:
		if err := w.load(ctx, summary); err != nil {
			return err
		}
		summary.fill(w.manifest)
		summary.Status = StatusDone
	case finished:
		summary.Status = StatusNothing
	default:
		summary.Status = StatusDone
	}
	if summary.Books.Read == 0 && summary.Status == StatusDone {
		summary.Status = StatusEmpty
	}
	return nil
}

// write does the stages from the table's plan to the finished manifest.
func (w *workplace) write(ctx context.Context, summary *Summary) error {
	t, err := w.plan(ctx)
	if err != nil {
		return err
	}
	rejects := ingest.NewRejects(w.fsys, path.Join(w.dir, rejectsDir), w.job.Input.MaxRejects, w.job.Input.Form.RejectDelimiter())
	var rows *sortedRows
	err = summary.phase("sort", func() (int64, error) {
		s := sorting{input: &w.job.Input, source: w.source, outputs: []sortOutput{{job: w.job, target: t}}, rejects: rejects}
		all, err := s.sortRows(ctx, w.options)
		if err == nil {
			rows = all[0]
		}
		return w.source.bytes, err
	})
	w.sumRejects(summary, rejects.Count())
	if err != nil {
		return err
	}
	w.options.reached(pointSorted)
	if err := w.replace(); err != nil {
		return errors.Join(err, rows.sorted.Close())
	}
	stats := rows.sorted.Stats()
	summary.Sort = &SortSummary{stats.Entries, stats.Bytes, stats.Runs, stats.SpilledBytes}
	summary.Phases = append(summary.Phases, rows.times.phases(rows)...)
	writing := &writing{workplace: w, target: t, rows: rows, sums: make([]digest.Sum, t.regions.Len()), left: make([]int, t.regions.Len()),
		writes: &meter{watch: w.options.Watch, phase: "write", total: stats.Entries},
		checks: &meter{watch: func(Progress) {}}}
	err = summary.phase("write", func() (int64, error) {
		err := writing.writeSlices(ctx)
		return writing.checks.done.Load(), err
	})
	summary.Phases = append(summary.Phases, writing.times.phases()...)
	summary.Duplicates = writing.samples
	if err := errors.Join(err, rows.sorted.Close()); err != nil {
		return err
	}
	if err := w.balance(rows); err != nil {
		return err
	}
	w.options.reached(pointBalanced)
	return w.succeed()
}

// plan makes the target and gets the output ready for it.
func (w *workplace) plan(ctx context.Context) (*target, error) {
	table, err := w.liveTable(ctx)
	if err != nil {
		return nil, err
	}
	t, err := planTarget(w.job, w.site, table)
	if err != nil {
		return nil, err
	}
	if err := w.checkPlace(ctx, table); err != nil {
		return nil, err
	}
	if err := w.checkRoom(t); err != nil {
		return nil, err
	}
	if m := w.manifest; len(m.Slices) > 0 && !m.sameTable(t) {
		sayf(w.options, "the table's regions or settings have changed since this run began: writing all files again")
		if err := w.clean(m); err != nil {
			return nil, err
		}
		m.Slices = nil
	} else if len(m.Slices) > 0 {
		sayf(w.options, "going on with run %s: %s are written", m.Run.ID, written(m.files()))
	}
	w.manifest.setTable(t)
	for _, dir := range []string{tempDir, rejectsDir} {
		if err := w.fsys.RemoveAll(path.Join(w.dir, dir)); err != nil {
			return nil, fmt.Errorf("clean the output: %w", err)
		}
	}
	if w.replaced == nil {
		if err := w.save(); err != nil {
			return nil, err
		}
	}
	w.options.reached(pointPlanned)
	return t, nil
}

func (w *workplace) sumRejects(summary *Summary, records int64) {
	if records == 0 {
		return
	}
	dir := path.Join(w.dir, rejectsDir)
	summary.Rejects = []RejectFile{{w.fsys.URI(path.Join(dir, "rejects.dat")), records}}
}

// balance closes the books: every row and cell is accounted for, before anything is loaded.
func (w *workplace) balance(rows *sortedRows) error {
	m := w.manifest
	m.Books = Books{Read: rows.read, Rejected: rows.rejected, Columns: len(w.job.cellColumns())}
	m.Digest.Cells, m.Digest.Timed, m.Digest.Timeless = 0, 0, 0
	for _, r := range m.Slices {
		m.Books.add(r.Books)
		m.Digest.Add(r.Digest)
	}
	for region := range rows.regions {
		if err := w.balanceRegion(rows, region, m.sum(region)); err != nil {
			return err
		}
	}
	if m.Digest.Cells != m.Books.CellsWritten {
		return differsf("the books do not balance: %d cells written, %d read back", m.Books.CellsWritten, m.Digest.Cells)
	}
	return m.Books.check()
}

// balanceRegion holds what a region's files and its dropped duplicates are together against what was sorted.
func (w *workplace) balanceRegion(rows *sortedRows, region int, written digest.Sum) error {
	if sorted := rows.regions[region].digest; written != sorted {
		return differsf("the files of region %d read back and the dropped duplicates hold %d cells with digest %v; sorted were %d with %v",
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
	w.options.reached(pointWritten)
	return w.markSuccess()
}

// markSuccess writes _SUCCESS where it is missing: a killed run may have come as far as the finished manifest.
func (w *workplace) markSuccess() error {
	name := path.Join(w.dir, successName)
	if _, err := w.fsys.Stat(name); err == nil {
		return nil
	}
	text, err := json.Marshal(w.manifest.Run)
	if err == nil {
		err = w.fsys.MkdirAll(path.Join(w.dir, tempDir), dirPerm)
	}
	if err == nil {
		err = replaceFile(w.fsys, name, path.Join(w.dir, tempDir, successName), append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", successName, err)
	}
	return nil
}
