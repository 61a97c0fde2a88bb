// Package verify compares a job's files or table with the job's source, cell by cell, and a directory of HFiles with
// its manifest.
package verify

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"bulkload/internal/digest"
	"bulkload/internal/errcode"
	"bulkload/internal/parallel"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/site"
	"bulkload/jobs/pipeline/entry"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/sorting"
	"bulkload/jobs/pipeline/source"
	"bulkload/jobs/pipeline/targets"
	"bulkload/jobs/spec/jobfile"
	"bulkload/load"
	"bulkload/partition"

	"golang.org/x/sync/errgroup"
)

// Verification is the result of a verification.
type Verification struct {
	failure.Outcome
	Against   string `json:"against"` // what was compared with the source, or checked alone
	Rows      int64  `json:"rows"`
	Cells     int64  `json:"cells"`
	Rejected  int64  `json:"rows_rejected"`
	Filtered  int64  `json:"rows_filtered"`
	Skipped   int64  `json:"lines_skipped,omitempty"` // lines of the source that are not records
	Missing   int64  `json:"cells_missing"`
	Different int64  `json:"cells_different"`
	Extra     int64  `json:"cells_extra"`
	// Superseded are cells of the source that newer versions hide in a table. Readers get the newer versions, so these
	// cells are no difference.
	Superseded int64 `json:"cells_superseded"`
	// ExtraRows are rows of a live table, which may hold more than this source.
	ExtraRows   int64        `json:"rows_extra"`
	Differences []Difference `json:"differences"`
	Files       []SoundFile  `json:"files,omitempty"`
	Digest      digest.Sum   `json:"digest,omitzero"` // of files, or of a table's cells that were compared with the ledger
	Stale       *Stale       `json:"stale,omitempty"`
	// Sharers are other loads that have put cells with the same timestamp into the table, as far as the ledger knows.
	Sharers []string `json:"sharers,omitempty"`
	// Resumed is what an interrupted verification had read of a loaded table; nil if this one has read everything.
	Resumed *ResumedVerification `json:"resumed,omitempty"`

	// Reason is why no row was compared, with the status "nothing to do" or "empty input".
	Reason string `json:"reason,omitempty"`

	Outputs []*Verification `json:"outputs,omitempty"` // of a job with several; their sums are above
}

// Job compares a job's files or, with live, its table with the source, cell by cell. Without live, it compares what was
// loaded with the digest in the ledger, which needs no source.
//
// It reads only the source's rows of the table, and perhaps rows between them, which are counted as extra.
func Job(ctx context.Context, j *jobfile.Job, o options.Options, live bool) (report *Verification, err error) {
	return verifyJob(ctx, j, o, live, false)
}

// WholeTable compares the whole table with the job's source. It also counts all rows that the source does not have.
func WholeTable(ctx context.Context, j *jobfile.Job, o options.Options) (report *Verification, err error) {
	return verifyJob(ctx, j, o, true, true)
}

func verifyJob(ctx context.Context, j *jobfile.Job, o options.Options, live,
	whole bool) (report *Verification, err error) {
	report = &Verification{Outcome: failure.NewOutcome(), Differences: []Difference{}}
	o, err = o.WithDefaults()
	if err != nil {
		return report, err
	}
	if !live {
		loaded, err := openLoaded(j, o)
		if err != nil {
			return report, err
		}
		if loaded != nil {
			return loaded.run(ctx, j, o, report)
		}
	}
	_, err = compare(ctx, j, o, report, live, whole)
	return report, err
}

// compare compares the source with what was written or, with live, with the table, and returns the comparison.
func compare(
	ctx context.Context, j *jobfile.Job, o options.Options, report *Verification, live, whole bool,
) (*verifyRun, error) {
	v, err := openVerifyRun(ctx, j, o, live, nil)
	if err == nil {
		for _, out := range v.outputs {
			out.whole = whole
		}
		err = v.run(ctx, report)
	}
	report.nameTarget(j, live)
	err = errors.Join(err, v.close())
	if ctx.Err() != nil && err != nil {
		err = failure.New(failure.Interrupted, err)
	}
	return v, err
}

// nameTarget names what was to be compared, if it could not be opened.
func (r *Verification) nameTarget(j *jobfile.Job, live bool) {
	if r.Against != "" {
		return
	}
	for i, out := range j.Feeds() {
		if i > 0 {
			r.Against += ", "
		}
		if live {
			r.Against += "table " + out.Table
		} else if path, local := strings.CutPrefix(out.Location(), "file:/"); local {
			r.Against += "file:///" + strings.TrimLeft(path, "/")
		} else {
			r.Against += strings.TrimRight(out.Output, "/") // a cleaned path would have one slash after hdfs:
		}
	}
}

// verifyRun is a source and the outputs that are compared with it.
type verifyRun struct {
	job     *jobfile.Job
	options options.Options
	site    *site.Site
	source  *source.Source
	cluster *load.Cluster // nil if none is needed
	outputs []*outputVerifier
}

// outputVerifier compares one output with the source.
type outputVerifier struct {
	job       *jobfile.Job
	target    *targets.Target
	cluster   *load.Cluster      // nil if files are compared
	files     *hfiles.Directory  // nil if the table is compared
	record    *manifest.Manifest // of the files; nil if there is none
	report    *Verification
	stale     *staleList      // nil unless cells that the source no longer has are listed
	whole     bool            // the whole table is read, not only the source's rows
	kept      bool            // see scanAt; used with stale
	within    []load.RowRange // only slices with rows of these ranges are compared; nil: all
	wantedSum digest.Sum      // of the source's cells

	compared *options.Meter // rows
}

// openVerifyRun opens a job's source and what it is compared with. within returns the ranges of an output's rows to
// compare; nil: all rows.
func openVerifyRun(ctx context.Context, j *jobfile.Job, o options.Options, live bool,
	within func(*jobfile.Job) []load.RowRange) (v *verifyRun, err error) {
	v = &verifyRun{job: j, options: o}
	if v.site, err = site.Open(o, j.HBase, live || j.Remote(false)); err != nil {
		return v, err
	}
	if v.source, err = source.Open(j, v.site); err != nil {
		return v, err
	}
	if live || j.Connects(false) {
		if v.cluster, err = v.site.Connect(ctx); err != nil {
			return v, err
		}
	}
	for _, out := range j.Feeds() {
		one := &outputVerifier{job: out}
		if within != nil {
			one.within = within(out)
		}
		v.outputs = append(v.outputs, one)
		if err := one.open(ctx, v, live); err != nil {
			return v, err
		}
	}
	if v.cluster != nil {
		v.cluster.ReadReplica(o.Replica) // tables were looked up by the regions themselves
	}
	return v, nil
}

// open opens what is compared with the source: the table, or the output's files.
func (v *outputVerifier) open(ctx context.Context, of *verifyRun, live bool) (err error) {
	var table *load.Table
	if !v.unasked() && (live || v.job.Regions.From == "table") {
		if table, err = site.LookUp(ctx, of.cluster, v.job.Table); err != nil {
			return err
		}
	}
	if n := of.options.Replica; n > 0 && table != nil && n >= table.Replicas() {
		return errcode.TableSettings.Errorf("%w: table %s has no read replica %d of its regions: REGION_REPLICATION is %d",
			load.ErrRefused, table.Name, n, table.Replicas())
	}
	if live {
		v.cluster, v.kept = of.cluster, table != nil && keepsDeleted(table, nil)
		v.target, err = targets.Reading(v.job, of.site, table)
		return err
	}
	if v.target, err = targets.Resolve(ctx, v.job, of.site, of.source, table, nil, of.options); err != nil {
		return err
	}
	fsys, dir, err := of.site.Resolve(v.job.Output, v.job.Dir)
	if err != nil {
		return fmt.Errorf("open the output %s: %w", v.job.Output, err)
	}
	if v.files, err = hfiles.OpenDirectory(fsys, dir); err != nil {
		return err
	}
	v.record, err = manifest.Read(fsys, dir)
	if m := v.record; err == nil && m != nil && m.State == manifest.Loaded &&
		len(v.files.Files) == 0 && len(m.Files()) > 0 {
		err = errcode.HFileMissing.Errorf("HBase moved the files of %s into the table when it loaded them; use --live to "+
			"verify the table", fsys.URI(dir))
	}
	return err
}

func (v *verifyRun) close() error {
	var errs []error
	for _, out := range v.outputs {
		if out.files != nil {
			errs = append(errs, out.files.FS.Close())
		}
	}
	if v.cluster != nil {
		errs = append(errs, v.cluster.Close())
	}
	if v.source != nil {
		errs = append(errs, v.source.Close())
	}
	return errors.Join(errs...)
}

// sortShare is about how much of a verification's time reading the source takes.
const sortShare = 0.5

// run sorts the source once and joins it with the cells of every output.
func (v *verifyRun) run(ctx context.Context, report *Verification) error {
	rejects := &entry.CountedRejects{}
	splits, err := source.Splits(ctx, &v.job.Input, v.source)
	if err != nil {
		return err
	}
	s := sorting.SortStage{Input: &v.job.Input, Source: v.source, Splits: splits, Rejects: rejects}
	for _, out := range v.outputs {
		s.Outputs = append(s.Outputs, sorting.SortOutput{Job: out.job, Target: out.target})
	}
	sorting.WarnOfSpillsInMemory(v.options, sorting.SpillNeed(v.text(), v.options.Memory))
	sorts := v.options
	sorts.Watch = options.Within(v.options.Watch, 0, sortShare)
	all, err := s.Sort(ctx, sorts)
	if err != nil {
		return err
	}
	var differ []error
	for i, out := range v.outputs {
		out.report = report
		if len(v.outputs) > 1 {
			out.report = &Verification{Outcome: failure.NewOutcome(), Differences: []Difference{}}
			report.Outputs = append(report.Outputs, out.report)
		}
		out.report.Rejected, out.report.Filtered, out.report.Skipped = rejects.Count(), all[i].Filtered, all[i].Skipped
		o := v.options
		o.Watch = options.Within(v.options.Watch, sortShare+(1-sortShare)*float64(i)/float64(len(all)),
			sortShare+(1-sortShare)*float64(i+1)/float64(len(all)))
		if err := errors.Join(out.run(ctx, all[i], o), all[i].Sorted.Close()); failure.KindOf(err) == failure.Differs {
			differ = append(differ, err)
		} else if err != nil {
			return errors.Join(err, sorting.CloseRows(all[i+1:]))
		}
	}
	report.addOutput()
	tooMany := v.checkRejects(rejects.Count(), all[0].Read)
	if differ != nil {
		return errors.Join(append(differ, tooMany)...)
	}
	if tooMany != nil {
		if report.Rows > 0 {
			tooMany = fmt.Errorf("%w. Of the others no cell differs", tooMany)
		}
		report.Status = failure.StatusFailed // comparing a single output has set it to done
		return tooMany
	}
	report.Status = failure.StatusDone
	if report.Rows == 0 && report.Stale == nil {
		report.proveNothing(all[0].Read, v.options)
	}
	return nil
}

// checkRejects returns an error if there are more rejects than a run may have, because the run would load nothing. The
// caller compares the other records before it returns the error.
func (v *verifyRun) checkRejects(rejected, read int64) error {
	limit := v.job.Input.MaxRejects
	if !limit.Exceeded(rejected, read) {
		return nil
	}
	return errcode.RejectsMany.Errorf("%d of %d records of the source are rejected, more than max_rejects (%v): a run "+
		"would load none of them",
		rejected, read, limit)
}

// proveNothing reports that no row was compared, because a run would load no row of the source. That is no failure, but
// it proves nothing.
func (r *Verification) proveNothing(read int64, o options.Options) {
	r.Status = failure.StatusNothing
	if read == 0 {
		r.Status = failure.StatusEmpty
	}
	r.Reason = fmt.Sprintf("the source has no row to compare: %d records read, of which %d are rejected and %d filtered",
		read, r.Rejected, r.Filtered)
	o.Warnf("%s. So nothing is proved about %s", r.Reason, r.Against)
}

// text estimates how many bytes of the source's text are sorted.
func (v *verifyRun) text() (bytes float64) {
	for _, out := range v.outputs {
		bytes += v.job.Part(out.job) * float64(v.source.Text)
	}
	return bytes
}

// addOutput adds up the reports of several outputs.
func (r *Verification) addOutput() {
	for i, out := range r.Outputs {
		if i > 0 {
			r.Against += ", "
		}
		r.Against += out.Against
		r.Rows += out.Rows
		r.Cells += out.Cells
		r.Rejected, r.Skipped = out.Rejected, out.Skipped
		r.Filtered += out.Filtered
		r.Missing += out.Missing
		r.Different += out.Different
		r.Extra += out.Extra
		r.Superseded += out.Superseded
		r.ExtraRows += out.ExtraRows
	}
}

// run joins the sorted source with the present cells, slice by slice. The join sees what a scan would see. The
// soundness of files, including their bloom filters, is verified separately; it explains cells that a scan misses
// because of a bad index.
func (v *outputVerifier) run(ctx context.Context, rows *sorting.Rows, o options.Options) error {
	report := v.report
	report.Against = "table " + v.job.Table
	if o.Replica > 0 {
		report.Against += fmt.Sprintf(", read replica %d", o.Replica)
	}
	if v.files != nil {
		report.Against = v.files.FS.URI(v.files.Path)
	}
	found := &differences{}
	v.announce(ctx, rows, o)
	joined, err := v.joinAll(ctx, rows, o, found)
	if err != nil {
		return err
	}
	for _, j := range joined {
		report.ExtraRows += j.extraRows
		report.Extra += j.extraCells
	}
	if v.stale != nil && found.count() > 0 {
		// Among the cells with the job's timestamp only the extra ones are certain: cells that differ may have newer
		// versions.
		v.stale, found = nil, &differences{}
		v.announce(ctx, rows, o)
		if joined, err = v.joinAll(ctx, rows, o, found); err != nil {
			return err
		}
	}
	for _, j := range joined {
		report.Rows += j.rows()
		report.Cells += j.matched
		report.Superseded += j.superseded
		v.wantedSum.Add(j.sum())
	}
	report.Missing, report.Different, report.Extra = found.missing, found.different, report.Extra+found.extra
	report.Differences = append(report.Differences, found.listed...)
	if n := found.count(); n > 0 {
		err = errcode.VerifyDiffers.Errorf("%s differs from the source in %d cells: %d missing, %d different, %d extra",
			report.Against, n, found.missing, found.different, found.extra)
	}
	if v.files != nil {
		err = errors.Join(err, verifySound(ctx, v.files, v.record, report))
	}
	if err == nil {
		report.Status = failure.StatusDone
	}
	return err
}

func (v *outputVerifier) joinAll(ctx context.Context, rows *sorting.Rows, o options.Options,
	found *differences) ([]*joiner, error) {
	group, ctx := errgroup.WithContext(ctx)
	// The sort leaves memory for as many readers of its rows as there are workers.
	group.SetLimit(max(1, parallel.Workers()/len(v.orders())))
	var units []sorting.SliceWork
	for _, u := range rows.SliceTasks(v.job, v.target) {
		if compared, err := v.compares(u.Slice); err != nil {
			return nil, err
		} else if compared {
			units = append(units, u)
		}
	}
	total := rows.Sorted.Stats().Entries
	v.compared = options.NewCounter(o.Watch, "compare", total, "rows")
	joined := make([]*joiner, len(units))
	for i, u := range units {
		group.Go(func() error {
			j, err := v.join(ctx, rows.Sorted, u.Slice, found)
			joined[i] = j
			if err != nil {
				return fmt.Errorf("region %d: %w", u.Region, err)
			}
			return nil
		})
	}
	err := group.Wait()
	if repeated := total - v.compared.Sum(); err == nil && repeated > 0 {
		v.compared.Add(repeated) // a run writes only one of several rows with the same key
	}
	return joined, err
}

// orders returns the families whose cells the source has in order: all together or, in a wide table with several
// families, each by itself.
func (v *outputVerifier) orders() []int {
	if !v.target.Layout.Wide || len(v.target.Layout.Families) == 1 {
		return []int{sorting.AllFamilies}
	}
	var each []int
	for i := range v.target.Layout.Families {
		each = append(each, i)
	}
	return each
}

// join compares a slice with the present cells. It reads the present cells once, and the source's rows once for each of
// orders.
func (v *outputVerifier) join(ctx context.Context, sorted *partition.Sorted, slice partition.Slice,
	found *differences) (j *joiner, err error) {
	var want []*sorting.Cells
	for _, family := range v.orders() {
		cells, err := sorting.NewCells(v.target, sorted, slice, family)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, cells.Close()) }()
		want = append(want, cells)
	}
	j, err = newJoiner(want, v.target.Layout.FamilyNamed, found, v)
	if err == nil {
		err = v.present(ctx, slice, j)
	}
	if err == nil {
		err = j.end()
	}
	return j, err
}

// bounds returns the first row of a slice and the first row after it; nil at the table's ends.
func (v *outputVerifier) bounds(slice partition.Slice) (start, end []byte, err error) {
	start, end = v.target.Regions.Start(slice.Region), v.target.Regions.End(slice.Region)
	if len(slice.Start) > 0 {
		start, _, err = v.target.SplitKey(slice.Start)
	}
	if len(slice.End) > 0 && err == nil {
		end, _, err = v.target.SplitKey(slice.End)
	}
	return start, end, err
}

// present gives the joiner the present cells of a slice.
func (v *outputVerifier) present(ctx context.Context, slice partition.Slice, j *joiner) error {
	start, end, err := v.bounds(slice)
	switch {
	case err != nil:
		return err
	case v.files != nil:
		return v.files.Scan(ctx, start, end, j.visit)
	case v.stale != nil:
		return scanAt(ctx, v.cluster, v.job.Table, nil, v.kept, start, end, v.job.Timestamp, j.visit)
	case v.whole:
		return v.cluster.ScanRange(ctx, v.job.Table, start, end, j.visit)
	}
	return v.scanRows(ctx, end, j)
}
