package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"bulkload/cell"
	"bulkload/internal/digest"
	"bulkload/internal/errcode"
	"bulkload/internal/parallel"
	"bulkload/internal/printable"
	"bulkload/jobs/failure"
	"bulkload/jobs/jobfile"
	"bulkload/jobs/ledger"
	"bulkload/jobs/loading"
	"bulkload/jobs/manifest"
	"bulkload/jobs/options"
	"bulkload/jobs/outcome"
	"bulkload/jobs/progress"
	"bulkload/jobs/site"
	"bulkload/load"

	"golang.org/x/sync/errgroup"
)

// After a load the files are HBase's, and the ledger has the digest of all cells that were loaded. The table's cells with the
// run's timestamp, between the first and the last row of each file, must add up to it. That needs no source, and HBase skips
// files that have no cell of that timestamp: before a major compaction it reads little more than what the run has loaded.

// loadedRun is what was loaded for a job and date.
type loadedRun struct {
	options options.Options
	site    *site.Site
	ledger  *ledger.Ledger
	cluster *load.Cluster
	entries []*ledger.Entry // one for each output
	jobs    []*jobfile.Job
}

// openLoaded opens what the ledger says was loaded; nil if it does not say that of all outputs.
func openLoaded(j *jobfile.Job, o options.Options) (r *loadedRun, err error) {
	if !j.Load {
		return nil, nil
	}
	r = &loadedRun{options: o}
	defer func() {
		if err != nil || len(r.entries) < len(j.Feeds()) {
			err = errors.Join(err, r.close())
			r = nil
		}
	}()
	if r.site, err = site.Open(o, j.HBase, true); err != nil {
		return r, err
	}
	for _, out := range j.Feeds() { // before the ledger, which needs a right to write
		if written, err := r.hasFiles(out); written || err != nil {
			return r, err
		}
	}
	if r.ledger, err = loading.OpenLedger(r.site); err != nil {
		return r, err
	}
	for _, out := range j.Feeds() {
		e, err := r.ledger.Read(out.Table, out.DateText(), out.Hash())
		if err != nil || e == nil || e.State != ledger.Loaded || len(e.Files) == 0 || !out.Load {
			return r, err
		}
		r.entries, r.jobs = append(r.entries, e), append(r.jobs, out)
	}
	return r, nil
}

// hasFiles reports whether the output has files that are not loaded, or a manifest that can't be believed: then these are
// to be verified.
func (r *loadedRun) hasFiles(out *jobfile.Job) (bool, error) {
	fsys, dir, err := r.site.Resolve(out.Output, out.Dir)
	if err != nil {
		return false, fmt.Errorf("open the output %s: %w", out.Output, err)
	}
	m, err := manifest.Read(fsys, dir)
	return err != nil || m != nil && m.State != manifest.Loaded, fsys.Close()
}

func (r *loadedRun) close() error {
	var err error
	if r.cluster != nil {
		err = r.cluster.Close()
	}
	if r.ledger != nil {
		err = errors.Join(err, r.ledger.Close())
	}
	return err
}

// verify compares the table with the ledger for each output.
func (r *loadedRun) verify(ctx context.Context, report *Report) (err error) {
	if r.cluster, err = r.site.Connect(ctx); err != nil {
		return err
	}
	var errs []error
	for i, e := range r.entries {
		one := report
		if len(r.entries) > 1 {
			one = &Report{Outcome: outcome.New(), Differences: []Difference{}}
			report.Outputs = append(report.Outputs, one)
		}
		errs = append(errs, r.verifyOne(ctx, r.jobs[i], e, one))
		if one != report {
			report.Rows, report.Cells = report.Rows+one.Rows, report.Cells+one.Cells
		}
	}
	if err = errors.Join(errs...); err == nil {
		report.Status = outcome.Done
	}
	return err
}

// verifyOne compares the table with one entry.
func (r *loadedRun) verifyOne(ctx context.Context, j *jobfile.Job, e *ledger.Entry, report *Report) error {
	report.Against = "table " + e.Table
	if j.Moments != "" {
		return errcode.Command.Errorf("%s: each row of table %s has its own timestamp, so the cells of this load can't be distinguished from others without the source: use --live", j.Path, e.Table)
	}
	ranges, err := rangesOf(e)
	if err != nil {
		return err
	}
	r.options.Infof("reading the cells with timestamp %d in %s of table %s, without the source: HBase skips files without such cells and reads all others",
		j.Timestamp, jobfile.Plural(len(ranges), "range")+" of rows", e.Table)
	sum, rows, err := r.digest(ctx, j, ranges)
	report.Rows, report.Cells, report.Digest = rows, sum.Cells, sum
	if err != nil {
		return fmt.Errorf("verify table %s: %w", e.Table, err)
	}
	if sum == e.Digest {
		report.Status = outcome.Done
		return nil
	}
	return errcode.VerifyDiffers.Errorf("table %s has %d cells of the run's columns with timestamp %d, with digest %v; run %s has loaded %d, with digest %v%s. verify --live lists the differences, with the source",
		e.Table, sum.Cells, j.Timestamp, sum, e.Run, e.Digest.Cells, e.Digest, r.sharers(e))
}

// sharers names other loads of the same date into the table: their cells may have the same timestamp.
func (r *loadedRun) sharers(e *ledger.Entry) string {
	all, _, err := r.ledger.Entries(e.Table)
	var names []string
	for _, other := range all {
		if other.Date == e.Date && other.JobHash != e.JobHash {
			names = append(names, fmt.Sprintf("%s (run %s)", other.Job, other.Run))
		}
	}
	if err != nil || names == nil {
		return ""
	}
	return "; the ledger has other loads of this date, whose cells may have the same timestamp: " + strings.Join(names, ", ")
}

// rowRange is a range of rows, with both ends.
type rowRange struct{ first, last []byte }

// rangesOf are the ranges of rows of an entry's files, in order and without overlaps.
func rangesOf(e *ledger.Entry) ([]rowRange, error) {
	var all []rowRange
	for _, f := range e.Files {
		first, err1 := printable.Parse(f.FirstRow)
		last, err2 := printable.Parse(f.LastRow)
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("read the ledger: %w", err)
		}
		all = append(all, rowRange{first, last})
	}
	slices.SortFunc(all, func(a, b rowRange) int { return bytes.Compare(a.first, b.first) })
	merged := all[:1]
	for _, next := range all[1:] {
		if at := &merged[len(merged)-1]; bytes.Compare(next.first, at.last) > 0 {
			merged = append(merged, next)
		} else if bytes.Compare(next.last, at.last) > 0 {
			at.last = next.last
		}
	}
	return merged, nil
}

// digest adds up the table's cells of the job's columns in ranges of rows.
func (r *loadedRun) digest(ctx context.Context, j *jobfile.Job, ranges []rowRange) (sum digest.Sum, rows int64, err error) {
	compared := progress.NewCounter(r.options.Watch, "compare", int64(len(ranges)), "ranges")
	columns := columnsOf(j)
	var mu sync.Mutex
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(parallel.Workers())
	for _, one := range ranges {
		group.Go(func() error {
			s := &rangeSum{columns: columns}
			err := r.cluster.ScanTimestamp(running, j.Table, one.first, append(bytes.Clone(one.last), 0), j.Timestamp, s.add)
			mu.Lock()
			defer mu.Unlock()
			sum.Add(s.stream.Sum)
			rows += s.rows
			compared.Add(1)
			return err
		})
	}
	err = group.Wait() // before sum and rows are read
	return sum, rows, failure.Early(err)
}

// columnsOf are the columns of a job's cells, as family:qualifier; nil if the records decide them.
func columnsOf(j *jobfile.Job) map[string]bool {
	if j.Wide != nil {
		return nil
	}
	all := map[string]bool{}
	for _, c := range j.CellColumns() {
		all[c.Family+":"+c.Qualifier] = true
	}
	return all
}

// rangeSum adds up the cells of one range.
type rangeSum struct {
	columns map[string]bool // nil: all
	stream  digest.Stream
	rows    int64
	row     []byte
	name    []byte
}

func (s *rangeSum) add(c *cell.Cell) error {
	if s.columns != nil {
		s.name = append(append(append(s.name[:0], c.Family...), ':'), c.Qualifier...)
		if !s.columns[string(s.name)] {
			return nil
		}
	}
	if s.rows == 0 || !bytes.Equal(s.row, c.Row) {
		s.row = append(s.row[:0], c.Row...)
		s.rows++
	}
	s.stream.Add(c)
	return nil
}
