package preflight

import (
	"context"

	"bulkload/internal/bytesize"
	"bulkload/internal/errcode"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/pipeline/sorting"
	"bulkload/jobs/pipeline/source"
	"bulkload/jobs/pipeline/targets"
	"bulkload/jobs/spec/jobfile"
)

// FileLimit checks how many files the regions of an output's table would get. HBase's loader refuses a region that gets
// more files of a family than the site's limit, so the number is estimated before the first file is written.
type FileLimit struct {
	Job    *jobfile.Job
	Target *targets.Target
	Source *source.Source
	Part   float64 // about the output's share of the input's bytes
}

const (
	// textShrinks is how many times smaller than its text the cells of an input are, at most. They are hardly ever
	// smaller, but empty values have no cell, and quotes are not stored.
	textShrinks = 4
	// inputGrows is how many times larger than its text, or than its Parquet files, the cells of an input are, at most.
	// Each cell has the row key and 20 bytes in addition to its value, which may be a single byte, and columns with few
	// different values take hardly any space in Parquet.
	inputGrows = 64
)

// Check refuses an input that is far too large for the table's regions with files of max_size, before it is read. It
// accepts any input of a job with a filter, because how much that drops is not known yet.
func (l *FileLimit) Check() error {
	t, columns := l.Target, max(len(l.Job.Columns), 1)
	if l.Job.Filter != nil || !l.Job.Load {
		return nil
	}
	part := min(l.Part, float64(len(l.Job.CellColumns()))/float64(columns))
	raw := int64(part*float64(l.Source.Text)) / textShrinks
	regions, families := int64(t.Regions.Len()), int64(len(t.Families))
	if raw/t.MaxSize <= regions*t.MaxFiles*families {
		return nil
	}
	return errcode.FilesLimit.Errorf("%s of input need at least %d files of %s. Table %s has %d regions with families "+
		"%s, and each may have %d files: %s",
		bytesize.Format(l.Source.Text), raw/t.MaxSize, bytesize.Format(t.MaxSize), l.Job.Table, regions, familyNames(t),
		t.MaxFiles, t.FileLimitHelp(raw/regions))
}

// Findings returns the error of Check as a finding; nil if there is none, or no target yet.
func (l *FileLimit) Findings() CheckResults {
	if l.Target == nil {
		return nil
	}
	if err := l.Check(); err != nil {
		return CheckResults{Fail("number of files", err, "")}
	}
	return nil
}

// Warn warns before the sort if the table's regions will most likely get too many files, judging by the first records.
// The run is refused only once all records are sorted, because duplicates are not written and there may be fewer files.
func (l *FileLimit) Warn(ctx context.Context, warnf func(format string, args ...any)) {
	t, most := l.Target, l.Source.Text*inputGrows
	if l.Source.Job.Input.Form.RowOffsets() {
		most = l.Source.Bytes * inputGrows
	}
	if !l.Job.Load || most/t.MaxSize < t.MaxFiles {
		return
	}
	raw := sorting.TrialSize(ctx, l.Source, l.Job, t)
	if files := raw / t.MaxSize; files > int64(t.Regions.Len())*t.MaxFiles*int64(len(t.Families)) {
		warnf("judging by its first records, the input needs about %d files of %s in %d regions of table %s. A region may "+
			"have %d of a family. If the estimate is right, the run will be refused after the sort: %s",
			files, bytesize.Format(t.MaxSize), t.Regions.Len(), l.Job.Table, t.MaxFiles,
			t.FileLimitHelp(raw/int64(t.Regions.Len())))
	}
}

func familyNames(t *targets.Target) string {
	names := make([]string, len(t.Families))
	for i, f := range t.Families {
		names[i] = f.Name
	}
	return failure.FirstFew(names)
}
