package verify

import (
	"bytes"
	"context"
	"errors"
	"time"

	"bulkload/cell"
	"bulkload/internal/bytesize"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/sorting"
	"bulkload/jobs/spec/jobfile"
	"bulkload/load"
)

// errPast ends a scan that has passed the source's last row.
var errPast = errors.New("past the last row")

// scanRows reads the rows of a slice from the source's first to its last, but only cells that this load or a later one
// may have put there: those of the job's families, with its timestamp or a later one. So HBase skips the store files of
// earlier loads, which are most of a large table if hashed keys scatter each night over all of it. If the table has
// only older versions of a cell, the cell is missing.
func (v *outputVerifier) scanRows(ctx context.Context, end []byte, j *joiner) error {
	first := j.first()
	if first == nil {
		return nil
	}
	visit := func(c *cell.Cell) error {
		if j.first() == nil && !j.has(c.Row) {
			return errPast
		}
		return j.visit(c)
	}
	since := v.job.Timestamp // 0 if each row has its own
	err := v.cluster.ScanSince(ctx, v.job.Table, v.job.Families(), bytes.Clone(first), end, since, visit)
	if errors.Is(err, errPast) {
		return nil
	}
	return err
}

// announce tells the user which part of the table is read.
func (v *outputVerifier) announce(ctx context.Context, rows *sorting.Rows, o options.Options) {
	if v.cluster == nil || v.unasked() {
		return
	}
	size := sizeText(ctx, v.cluster, v.job.Table, nil, "about")
	if v.stale != nil {
		o.Infof("reading the cells with timestamp %d from the %s of table %s (%s): "+
			"HBase skips files without such cells and reads all others",
			v.job.Timestamp, jobfile.Plural(v.target.Regions.Len(), "region"), v.job.Table, size)
		return
	}
	how := "one range scan per region"
	if v.whole {
		how = "scans of all regions"
	}
	n := jobfile.Plural(int(rows.Sorted.Stats().Entries), "source row")
	o.Infof("comparing %s with table %s (%s), %s", n, v.job.Table, size, how)
}

// sizeTimeout is how long to wait for the master's report of region sizes, which is only shown.
const sizeTimeout = 5 * time.Second

// sizeText returns the size of the regions that overlap ranges (nil: of the whole table) as text. HBase counts whole
// MiB, and at least one per region.
func sizeText(ctx context.Context, c *load.Cluster, table string, ranges []load.RowRange, about string) string {
	limited, cancel := context.WithTimeout(ctx, sizeTimeout)
	defer cancel()
	size, err := c.SizeOf(limited, table, ranges)
	if err != nil {
		return "size unknown"
	}
	return about + " " + bytesize.Format(size)
}
