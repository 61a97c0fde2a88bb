package jobs

import (
	"bulkload/internal/bytesize"
	"bulkload/jobs/failure"
	"bulkload/jobs/manifest"
	"bulkload/jobs/target"
	"bulkload/load"
)

// HBase's loader refuses a region that gets more files of a family than the site's limit. So how many files a region gets is
// known before the first of them is written.

// inputShrinks is how many times smaller the cells of a row may be than its text, at most. Mostly they are larger: each
// cell has the row key and 20 bytes beside its value.
const inputShrinks = 4

// checkInputSize refuses an input that is far too large for the table's regions with files of max_size, before it is read.
// What a filter leaves of it is not known then.
func (w *outputRun) checkInputSize() error {
	t, columns := w.target, max(len(w.job.Columns), 1)
	if w.job.Filter != nil || !w.job.Load {
		return nil
	}
	part := min(w.part, float64(len(w.job.CellColumns()))/float64(columns))
	raw := int64(part*float64(w.source.Text)) / inputShrinks
	regions, families := int64(t.Regions.Len()), int64(len(t.Families))
	if raw/t.MaxSize <= regions*t.MaxFiles*families {
		return nil
	}
	return failure.Refusef("%s of input make at least %d files of %s, for %d regions and the families %s of table %s, which may have %d each: %s",
		bytesize.Format(w.source.Text), raw/t.MaxSize, bytesize.Format(t.MaxSize), regions, familyNames(t), w.job.Table, t.MaxFiles, t.FileLimitHelp(raw/regions))
}

func familyNames(t *target.Target) string {
	names := make([]string, len(t.Families))
	for i, f := range t.Families {
		names[i] = f.Name
	}
	return failure.Some(names)
}

// checkWritten refuses to load what was written under a higher limit.
func (w *outputDir) checkWritten(m *manifest.Manifest) error {
	limit, err := w.site.MaxFiles()
	if err != nil || !w.job.Load {
		return err
	}
	if family, region, n := m.MostFiles(); n > limit {
		return failure.Refusef("%s holds %d files of family %s for region %d of table %s, and HBase's loader refuses them: %s is %d. Raise the property (in the site files, or with -D); --force writes the files again, fewer of them where hfile.max_size allows",
			w.fsys.URI(w.dir), n, family, region, w.job.Table, load.MaxFilesProperty, limit)
	}
	return nil
}
