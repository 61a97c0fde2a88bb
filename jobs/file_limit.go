package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"bulkload/internal/bytesize"
	"bulkload/internal/parallel"
	"bulkload/internal/printable"
	"bulkload/jobs/failure"
	"bulkload/load"
	"bulkload/partition"

	"golang.org/x/sync/errgroup"
)

// HBase's loader refuses a region that gets more files of a family than the site's limit. So how many files a region gets is
// known before the first of them is written.

// maxFiles is how many files of a family a region may get.
func (s *site) maxFiles() (int64, error) {
	n, err := load.MaxFiles(s.conf)
	if err != nil {
		return 0, failure.Refusef("%w", err)
	}
	return int64(n), nil
}

// fileLimitHelp says what to do about too many files of so many KeyValue bytes: the largest number of them in a region.
func (t *target) fileLimitHelp(raw int64) string {
	return fmt.Sprintf("%s is %d. Set hfile.max_size, which is %s, to %s or more, raise the property (in the site files, or with -D), or split the region",
		load.MaxFilesProperty, t.maxFiles, bytesize.Format(t.maxSize), bytesize.Format(raw/t.maxFiles+1))
}

// inputShrinks is how many times smaller the cells of a row may be than its text, at most. Mostly they are larger: each
// cell has the row key and 20 bytes beside its value.
const inputShrinks = 4

// checkInputSize refuses an input that is far too large for the table's regions with files of max_size, before it is read.
// What a filter leaves of it is not known then.
func (w *workplace) checkInputSize() error {
	t, columns := w.target, max(len(w.job.Columns), 1)
	if w.job.Filter != nil || !w.job.Load {
		return nil
	}
	part := min(w.part, float64(len(w.job.CellColumns()))/float64(columns))
	raw := int64(part*float64(w.source.text)) / inputShrinks
	regions, families := int64(t.regions.Len()), int64(len(t.families))
	if raw/t.maxSize <= regions*t.maxFiles*families {
		return nil
	}
	return failure.Refusef("%s of input make at least %d files of %s, for %d regions and the families %s of table %s, which may have %d each: %s",
		bytesize.Format(w.source.text), raw/t.maxSize, bytesize.Format(t.maxSize), regions, familyNames(t), w.job.Table, t.maxFiles, t.fileLimitHelp(raw/regions))
}

func familyNames(t *target) string {
	names := make([]string, len(t.families))
	for i, f := range t.families {
		names[i] = f.name
	}
	return some(names)
}

// checkFileCounts finds the regions that would get too many files. A job that loads is refused; one that does not is only
// told, since the limit is its loader's.
func (w *workplace) checkFileCounts(ctx context.Context, rows *sortedRows) error {
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(parallel.Workers())
	for region := range rows.regions {
		raw := rawSize(&rows.regions[region], w.target)
		if raw/w.target.maxSize < w.target.maxFiles { // slicesOf sees to the rest
			continue
		}
		group.Go(func() error {
			family, err := w.overfull(running, rows, region)
			if err != nil || family == "" {
				return err
			}
			return w.tooManyFiles(region, family, raw)
		})
	}
	return group.Wait()
}

// tooManyFiles is the error, or the note, about a region that gets too many files of a family.
func (w *workplace) tooManyFiles(region int, family string, raw int64) error {
	t := w.target
	err := fmt.Errorf("region %d of table %s (rows from '%s' to '%s') gets more than %d files of family %s, and HBase's loader refuses it: %s",
		region, w.job.Table, printable.Bytes(t.regions.Start(region)), printable.Bytes(t.regions.End(region)), t.maxFiles, family, t.fileLimitHelp(raw))
	if w.job.Load {
		return failure.New(failure.Refused, err)
	}
	w.options.Sayf("%v", err)
	return nil
}

// overfull names a family of which a region gets too many files; "" where there is none. It merges the region's rows as
// writing does, as far as it must.
func (w *workplace) overfull(ctx context.Context, rows *sortedRows, region int) (family string, err error) {
	t := w.target
	all, err := newExpected(w.job, t, rows.sorted, partition.Slice{Region: region}, allFamilies)
	if err != nil {
		return "", fmt.Errorf("region %d: merge: %w", region, err)
	}
	defer func() { err = errors.Join(err, all.close()) }()
	count := fileCount{maxSize: t.maxSize, families: make([]familyCount, len(t.families))}
	for n := 0; ; n++ {
		if n%checkEvery == 0 && ctx.Err() != nil {
			return "", ctx.Err()
		}
		cell, err := all.cell()
		if err != nil {
			return "", fmt.Errorf("region %d: merge: %w", region, err)
		}
		if cell == nil {
			return "", nil
		}
		i := t.layout.familyNamed(cell.Family)
		size := keyValueOverhead + len(cell.Row) + len(cell.Family) + len(cell.Qualifier) + len(cell.Value)
		if count.add(i, cell.Row, int64(size)) > t.maxFiles {
			return t.families[i].name, nil
		}
	}
}

// fileCount counts the files that cells go to, as sliceWriter ends them: a file that has reached maxSize ends with its row.
type fileCount struct {
	maxSize  int64
	row      []byte
	families []familyCount
}

type familyCount struct {
	files int64
	raw   int64 // of the last file
	open  bool
}

// add adds a cell, and gives its family's files so far.
func (c *fileCount) add(family int, row []byte, size int64) int64 {
	if !bytes.Equal(c.row, row) {
		c.row = append(c.row[:0], row...)
		for i := range c.families {
			if f := &c.families[i]; f.raw >= c.maxSize {
				f.open = false
			}
		}
	}
	f := &c.families[family]
	if !f.open {
		f.open, f.raw = true, 0
		f.files++
	}
	f.raw += size
	return f.files
}

// mostFiles is the family and region of which a finished run has the most files, and how many.
func (m *manifest) mostFiles() (family string, region int, n int64) {
	type place struct {
		family string
		region int
	}
	counts := map[place]int64{}
	for _, f := range m.files() {
		at := place{f.Family, f.Region}
		counts[at]++
		if counts[at] > n {
			family, region, n = f.Family, f.Region, counts[at]
		}
	}
	return family, region, n
}

// checkWritten refuses to load what was written under a higher limit.
func (w *workplace) checkWritten(m *manifest) error {
	limit, err := w.site.maxFiles()
	if err != nil || !w.job.Load {
		return err
	}
	if family, region, n := m.mostFiles(); n > limit {
		return failure.Refusef("%s holds %d files of family %s for region %d of table %s, and HBase's loader refuses them: %s is %d. Raise the property (in the site files, or with -D); --force writes the files again, fewer of them where hfile.max_size allows",
			w.fsys.URI(w.dir), n, family, region, w.job.Table, load.MaxFilesProperty, limit)
	}
	return nil
}
