package verify

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"bulkload/ingest"
	"bulkload/internal/errcode"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/spec/jobfile"
	"bulkload/load"
	"bulkload/partition"
)

// Rows compares the rows of a job's source that lie in ranges, which must be in order, with the table of the job's
// output that is named output. Use only the counts and the differences of the report. Rows outside the ranges may be
// compared as well, since the source is compared in the slices that a run writes. The input must still consist of the
// given files, because rows of another input prove nothing (errcode.RunAgain).
func Rows(ctx context.Context, j *jobfile.Job, o options.Options, output string, files []ingest.SourceFile,
	ranges []load.RowRange) (report *Verification, err error) {
	report = &Verification{Outcome: failure.NewOutcome(), Differences: []Difference{}}
	v, err := openVerifyRun(ctx, j, o, true, func(out *jobfile.Job) []load.RowRange {
		if out.Output != output {
			return []load.RowRange{}
		}
		return ranges
	})
	defer func() { err = errors.Join(err, v.close()) }()
	if err != nil {
		return report, err
	}
	same := func(a, b ingest.SourceFile) bool {
		return a.Path == b.Path && a.Size == b.Size && a.ModTime.Equal(b.ModTime)
	}
	if !slices.EqualFunc(files, v.source.Files, same) {
		return report, errcode.RunAgain.Errorf("the input has changed since this command began; run it again")
	}
	if err := v.run(ctx, report); err != nil && failure.CodeOf(err) != errcode.VerifyDiffers {
		return report, err
	}
	return report, nil
}

// unasked reports whether no row of the output is to be compared.
func (v *outputVerifier) unasked() bool { return v.within != nil && len(v.within) == 0 }

// compares reports whether a slice is to be compared: it may have rows of the ranges, or all rows are compared.
func (v *outputVerifier) compares(slice partition.Slice) (bool, error) {
	if v.within == nil {
		return true, nil
	}
	start, end, err := v.bounds(slice)
	wide := v.target.Layout.Wide // a row may continue in the next slice
	return slices.ContainsFunc(v.within, func(r load.RowRange) bool {
		return bytes.Compare(start, r.Last) <= 0 &&
			(len(end) == 0 || bytes.Compare(end, r.First) > 0 || wide && bytes.Equal(end, r.First))
	}), err
}
