package jobs

import (
	"context"

	"bulkload/internal/bytesize"
	"bulkload/internal/errcode"
	"bulkload/jobs/failure"
	"bulkload/jobs/sorting"
	"bulkload/jobs/target"
)

// HBase's loader refuses a region that gets more files of a family than the site's limit. So the number of a region's
// files is determined before the first of them is written.

// inputShrinks is how many times smaller than its text the cells of a row may be, at most. Mostly they are larger:
// each cell has the row key and 20 bytes besides its value.
const inputShrinks = 4

// checkInputSize refuses an input that is far too large for the table's regions with files of max_size, before it is
// read. How much a filter drops is not known then.
func (w *outputRun) checkInputSize() error {
	t, columns := w.target, max(len(w.out.Job.Columns), 1)
	if w.out.Job.Filter != nil || !w.out.Job.Load {
		return nil
	}
	part := min(w.part, float64(len(w.out.Job.CellColumns()))/float64(columns))
	raw := int64(part*float64(w.out.Source.Text)) / inputShrinks
	regions, families := int64(t.Regions.Len()), int64(len(t.Families))
	if raw/t.MaxSize <= regions*t.MaxFiles*families {
		return nil
	}
	return errcode.FilesLimit.Errorf("%s of input need at least %d files of %s. Table %s has %d regions with families %s, and each may have %d files: %s",
		bytesize.Format(w.out.Source.Text), raw/t.MaxSize, bytesize.Format(t.MaxSize), w.out.Job.Table, regions, familyNames(t), t.MaxFiles, t.FileLimitHelp(raw/regions))
}

// rowsShrink is how many times larger than its Parquet files the cells of an input are, at most. Columns with few
// different values take hardly any space in Parquet.
const rowsShrink = 64

// warnOfFiles says before the sort that the table's regions will most likely get too many files, going by the first records. The
// run is only refused once all are sorted: duplicates, which are not written, may leave fewer.
func (w *outputRun) warnOfFiles(ctx context.Context) {
	t, most := w.target, w.out.Source.Text*inputShrinks
	if w.out.Source.Job.Input.Form.RowOffsets() {
		most = w.out.Source.Bytes * rowsShrink
	}
	if !w.out.Job.Load || most/t.MaxSize < t.MaxFiles {
		return
	}
	raw := sorting.TrialSize(ctx, w.out.Source, w.out.Job, t)
	if files := raw / t.MaxSize; files > int64(t.Regions.Len())*t.MaxFiles*int64(len(t.Families)) {
		w.out.Options.Warnf("judging by its first records, the input needs about %d files of %s in %d regions of table %s. A region may have %d of a family. If the estimate is right, the run will be refused after the sort: %s",
			files, bytesize.Format(t.MaxSize), t.Regions.Len(), w.out.Job.Table, t.MaxFiles, t.FileLimitHelp(raw/int64(t.Regions.Len())))
	}
}

func familyNames(t *target.Target) string {
	names := make([]string, len(t.Families))
	for i, f := range t.Families {
		names[i] = f.Name
	}
	return failure.FirstFew(names)
}
