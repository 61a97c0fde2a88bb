package verify

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bulkload/internal/errcode"
	"bulkload/internal/printable"
	"bulkload/jobs/base/counts"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/ledger"
	"bulkload/jobs/env/site"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/spec/jobfile"
	"bulkload/load"
)

// After a load the files belong to HBase, and the ledger has the digest of all cells that were loaded. The table's
// cells with the run's timestamp, between the first and the last row of each file, must add up to it. That needs no
// source, and HBase skips files without cells of that timestamp, so before a major compaction it reads little more than
// what the run has loaded.
//
// If they don't add up to it, cells have disappeared or were added. A later load may have put newer versions of them
// into the table, so that a compaction dropped the older ones. Only the source tells which cells these are.

// loadedRun is what was loaded for a job and date.
type loadedRun struct {
	options options.Options
	site    *site.Site
	ledger  *ledger.Ledger
	cluster *load.Cluster
	entries []*ledger.Entry // one for each output
	jobs    []*jobfile.Job
	open    []error // by output: what is wrong unless the source shows otherwise; may be nil
}

// openLoaded opens what was loaded according to the ledger; nil unless that covers all outputs.
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
	for _, out := range j.Feeds() {
		if written, err := r.hasFiles(out); written || err != nil {
			return r, err
		}
	}
	if r.ledger, err = r.site.ReadLedger(); err != nil {
		return r, err
	}
	for _, out := range j.Feeds() {
		fsys, dir, err := r.site.Resolve(out.Output, out.Dir)
		if err != nil {
			return nil, fmt.Errorf("open the output %s: %w", out.Output, err)
		}
		e, err := r.ledger.Read(manifest.New(out).LedgerKey(fsys.URI(dir)))
		err = errors.Join(err, fsys.Close())
		if err != nil || e == nil || e.State != ledger.Loaded || len(e.Files) == 0 || !out.Load {
			return r, err
		}
		r.entries, r.jobs = append(r.entries, e), append(r.jobs, out)
	}
	return r, nil
}

// hasFiles reports whether the output has files that are not loaded, or a manifest that can't be trusted. Then the
// output is verified instead of the table.
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

// run compares the table with the ledger and, if that leaves something open, with the source.
func (r *loadedRun) run(ctx context.Context, j *jobfile.Job, o options.Options,
	report *Verification) (*Verification, error) {
	r.open = make([]error, len(r.entries))
	err := errors.Join(r.verify(ctx, report), r.close())
	open := failure.Several(r.open...)
	switch {
	case err != nil:
		return report, failure.Several(err, open)
	case open == nil:
		report.Status = failure.StatusDone
		return report, nil
	}
	o.Infof("%v. So table and source are compared cell by cell", open)
	again := &Verification{Outcome: failure.NewOutcome(), Differences: []Difference{}, Sharers: report.Sharers}
	v, err := compare(ctx, j, o, again, true, false)
	switch code := failure.CodeOf(err); {
	case failure.KindOf(err) == failure.NotYet:
		return report, fmt.Errorf("%w. There is no source to compare with: %w", open, err)
	case err != nil && code != errcode.VerifyDiffers && code != errcode.RejectsMany:
		return again, err
	}
	for i, out := range v.outputs {
		if want := r.entries[i].Digest; out.wantedSum != want {
			return report,
				fmt.Errorf("%w. The source is not what was loaded: table %s would get %d cells from it, with digest %v",
					open, out.job.Table, out.wantedSum.Cells, out.wantedSum)
		}
	}
	return again, err
}

// verify compares the table with the ledger for each output.
func (r *loadedRun) verify(ctx context.Context, report *Verification) (err error) {
	if r.cluster, err = r.site.Connect(ctx); err != nil {
		return err
	}
	var errs []error
	for i, e := range r.entries {
		one := report
		if len(r.entries) > 1 {
			one = &Verification{Outcome: failure.NewOutcome(), Differences: []Difference{}}
			report.Outputs = append(report.Outputs, one)
		}
		r.open[i], err = r.verifyOne(ctx, r.jobs[i], e, one)
		errs = append(errs, err)
		if one != report {
			report.Rows, report.Cells = report.Rows+one.Rows, report.Cells+one.Cells
		}
	}
	return failure.Several(errs...)
}

// verifyOne compares the table with one entry. open is what is wrong unless the source shows otherwise.
func (r *loadedRun) verifyOne(ctx context.Context, j *jobfile.Job, e *ledger.Entry,
	report *Verification) (open, err error) {
	report.Against = "table " + e.Table
	if j.Moments != "" {
		return nil, errcode.Command.Errorf("%s: each row of table %s has its own timestamp, so the cells of this load "+
			"can't be distinguished from others without the source: use --live", j.Path, e.Table)
	}
	ranges, err := rangesOf(e)
	if err != nil {
		return nil, err
	}
	sharers, loads, err := r.loadsOf(j, e)
	if report.Sharers = sharers; err != nil {
		return nil, err
	}
	if report.Sharers != nil {
		r.options.Infof("other loads have put cells with the same timestamp into table %s: %s", e.Table,
			strings.Join(report.Sharers, ", "))
	}
	rows := make([]load.RowRange, len(ranges))
	for i := range ranges {
		rows[i] = load.RowRange{First: ranges[i].first, Last: ranges[i].last}
	}
	r.options.Infof("counting the %d cells of %s with timestamp %d in table %s: %s (%s); the source is not read",
		e.Digest.Cells, jobfile.Plural(int(loadedRows(e)), "row"), j.Timestamp, e.Table,
		jobfile.Plural(len(ranges), "range scan"), sizeText(ctx, r.cluster, e.Table, rows, "at most"))
	reader := &rangeReader{options: r.options, cluster: r.cluster, ledger: r.ledger, job: j, want: columnsOf(j)}
	reader.read = options.NewCounter(r.options.Watch, "compare", loadedRows(e), "rows")
	if err = reader.resume(ctx, e, ranges, loads); err != nil {
		return nil, fmt.Errorf("verify table %s: %w", e.Table, err)
	}
	sum, earlier, err := reader.sum(ctx, e)
	report.Rows, report.Cells, report.Digest, report.Resumed = reader.rows(), sum.Cells, sum, earlier
	if err != nil {
		return nil, fmt.Errorf("verify table %s: %w", e.Table, err)
	}
	if sum == e.Digest {
		report.Status = failure.StatusDone
		return nil, nil
	}
	orNewer, err := reader.countSince(ctx, e)
	if err != nil {
		return nil, fmt.Errorf("verify table %s: %w", e.Table, err)
	}
	shared := ""
	if report.Sharers != nil {
		shared = "; the ledger has other loads of this timestamp: " + strings.Join(report.Sharers, ", ")
	}
	text := fmt.Sprintf("table %s has %d cells of the run's columns with timestamp %d, with digest %v; run %s has "+
		"loaded %d, with digest %v%s",
		e.Table, sum.Cells, j.Timestamp, sum, e.Run, e.Digest.Cells, e.Digest, shared)
	switch {
	case orNewer < e.Digest.Cells:
		return nil, errcode.VerifyDiffers.Errorf("%s; at least %d cells are gone without a newer version. verify --live "+
			"lists the differences, with the source", text, e.Digest.Cells-orNewer)
	case sum.Cells < e.Digest.Cells:
		return errcode.VerifySource.Errorf("%s; there are newer versions of up to %d others, and only the source shows "+
			"whether these are the missing ones", text, orNewer-sum.Cells), nil
	}
	return errcode.VerifyDiffers.Errorf("%s. Only the source shows which cells differ", text), nil
}

// loadedRows returns how many rows of the table a load has according to the ledger; 0 if unknown.
func loadedRows(e *ledger.Entry) int64 {
	var b counts.RowCounts
	if json.Unmarshal(e.Counts, &b) != nil {
		return 0
	}
	return cmp.Or(b.TableRows, b.Written)
}

// loadsOf names other loads that put cells with the same timestamp into the table. all is a hash that changes with each
// such load, including those of this job.
func (r *loadedRun) loadsOf(j *jobfile.Job, e *ledger.Entry) (others []string, all string, err error) {
	entries, damaged, err := r.ledger.Entries(e.Table)
	for _, err := range damaged {
		r.options.Warnf("%v", err)
	}
	h := sha256.New()
	for _, found := range entries {
		if !found.HasTimestamp(j.Timestamp) {
			continue
		}
		fmt.Fprintf(h, "%q %q %q %v\n", found.JobHash, found.Date, found.State, found.Time.UnixNano())
		if found.Run != e.Run || found.Date != e.Date || found.JobHash != e.JobHash {
			others = append(others, fmt.Sprintf("%s (run %s)", cmp.Or(found.Job, found.Output), cmp.Or(found.Run, "of files")))
		}
	}
	return others, hex.EncodeToString(h.Sum(nil)[:12]), err
}

// rangesOf returns the row ranges of an entry's files, in order and without overlaps.
func rangesOf(e *ledger.Entry) ([]keyRange, error) {
	var all []keyRange
	for _, f := range e.Files {
		first, err1 := printable.Parse(f.FirstRow)
		last, err2 := printable.Parse(f.LastRow)
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("read the ledger: %w", err)
		}
		all = append(all, keyRange{first: first, last: last})
	}
	slices.SortFunc(all, func(a, b keyRange) int { return bytes.Compare(a.first, b.first) })
	merged := all[:1]
	for _, next := range all[1:] {
		if at := &merged[len(merged)-1]; bytes.Compare(next.first, at.last) > 0 {
			merged = append(merged, next)
		} else if bytes.Compare(next.last, at.last) > 0 {
			at.last = next.last
		}
	}
	for i := range merged {
		merged[i].First, merged[i].Last = printable.Bytes(merged[i].first), printable.Bytes(merged[i].last)
	}
	return merged, nil
}

// columnsOf returns the columns of a job's cells as family:qualifier; nil for a wide table, where the records decide
// them.
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
