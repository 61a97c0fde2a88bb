package writing

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"bulkload/internal/errcode"
	"bulkload/internal/parallel"
	"bulkload/internal/printable"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/pipeline/entry"
	"bulkload/jobs/pipeline/sorting"
	"bulkload/jobs/pipeline/targets"
	"bulkload/jobs/spec/jobfile"
	"bulkload/partition"

	"golang.org/x/sync/errgroup"
)

// CheckFileCounts finds the regions that would get too many files. It refuses a job that loads; otherwise it only
// warns, since the limit is the loader's.
func CheckFileCounts(ctx context.Context, j *jobfile.Job, t *targets.Target, rows *sorting.Rows,
	warnf func(string, ...any)) error {
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(parallel.Workers())
	for region := range rows.Regions {
		raw := sorting.RawSize(&rows.Regions[region], t)
		if raw/t.MaxSize < t.MaxFiles { // sliceLimit in package sorting ensures the rest
			continue
		}
		group.Go(func() error {
			family, err := overfull(running, t, rows, region)
			if err != nil || family == "" {
				return err
			}
			err = tooManyFiles(j, t, region, family, raw)
			if !j.Load {
				warnf("%v", err)
				return nil
			}
			return failure.New(failure.Refused, err)
		})
	}
	return group.Wait()
}

// tooManyFiles returns the error for a region that gets too many files of a family.
func tooManyFiles(j *jobfile.Job, t *targets.Target, region int, family string, raw int64) error {
	return errcode.FilesLimit.Errorf("region %d of table %s (rows from '%s' to '%s') gets more than %d files of family "+
		"%s, and HBase's loader refuses it: %s",
		region, j.Table, printable.Bytes(t.Regions.Start(region)), printable.Bytes(t.Regions.End(region)), t.MaxFiles,
		family, t.FileLimitHelp(raw))
}

// overfull returns a family that gets too many files in a region; "" if there is none. It merges the region's rows as
// the write stage does, as far as necessary.
func overfull(ctx context.Context, t *targets.Target, rows *sorting.Rows, region int) (family string, err error) {
	all, err := sorting.NewCells(t, rows.Sorted, partition.Slice{Region: region}, sorting.AllFamilies)
	if err != nil {
		return "", fmt.Errorf("region %d: merge: %w", region, err)
	}
	defer func() { err = errors.Join(err, all.Close()) }()
	count := fileCount{maxSize: t.MaxSize, families: make([]familyCount, len(t.Families))}
	for n := 0; ; n++ {
		if n%entry.CheckEvery == 0 && ctx.Err() != nil {
			return "", ctx.Err()
		}
		cell, err := all.Next()
		if err != nil {
			return "", fmt.Errorf("region %d: merge: %w", region, err)
		}
		if cell == nil {
			return "", nil
		}
		i := t.Layout.FamilyNamed(cell.Family)
		size := targets.KeyValueOverhead + len(cell.Row) + len(cell.Family) + len(cell.Qualifier) + len(cell.Value)
		if count.add(i, cell.Row, int64(size)) > t.MaxFiles {
			return t.Families[i].Name, nil
		}
	}
}

// fileCount counts files by the rule of sliceWriter: a file that has reached MaxSize ends with its row.
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

// add counts a cell, and returns the number of its family's files so far.
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
