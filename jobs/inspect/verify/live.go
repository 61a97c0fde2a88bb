package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"bulkload/cell"
	"bulkload/internal/bytesize"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/sorting"
	"bulkload/jobs/spec/jobfile"
	"bulkload/load"
	"bulkload/partition"
)

// method is how a table is read for a comparison with the source.
type method int

const (
	byRanges method = iota // scans from the source's first row in a slice to its last one
	byGets                 // reads of the source's rows
	allRows                // scans of the whole table
)

// bytesPerGet is about how many bytes a region server reads for one row: a block of the store file that has it. Bloom filters
// spare it the others.
const bytesPerGet = 64 << 10

// choose decides by the sizes of the regions how the table is read, and says so. Keys that scatter a night over a large table
// are read one by one; keys that keep it together, and small tables, are scanned. A wide row may be far larger than what the
// source has of it, so it is only scanned.
func (v *outputVerifier) choose(ctx context.Context, rows *sorting.Rows, o options.Options) {
	if v.unasked() || v.cluster == nil || v.stale != nil {
		return
	}
	n := rows.Sorted.Stats().Entries
	limited, cancel := context.WithTimeout(ctx, sizeTimeout)
	defer cancel()
	size, err := v.cluster.SizeOf(limited, v.job.Table, []load.RowRange{{Last: bytes.Repeat([]byte{0xff}, 8)}})
	how := "one range scan per region"
	switch {
	case v.method == allRows:
		how = "scans of all regions"
	case err == nil && !v.target.Layout.Wide && size/bytesPerGet > n:
		v.method = byGets
		how = fmt.Sprintf("%d reads of single rows, in calls of up to %d", n, load.LookupsPerCall)
	}
	known := "size unknown"
	if err == nil {
		known = "about " + bytesize.Format(size) // as HBase last counted it: at least 1 MiB a region
	}
	o.Infof("comparing %s with table %s (%s), %s", jobfile.Plural(int(n), "source row"), v.job.Table, known, how)
}

// errPast ends a scan that has passed the source's last row.
var errPast = errors.New("past the last row")

// scanAround scans the rows of a slice from the source's first row to its last one.
func (v *outputVerifier) scanAround(ctx context.Context, slice partition.Slice, j *joiner) error {
	first := j.first()
	if first == nil {
		return nil
	}
	_, end, err := v.bounds(slice)
	if err != nil {
		return err
	}
	err = v.cluster.ScanRange(ctx, v.job.Table, bytes.Clone(first), end, func(c *cell.Cell) error {
		if j.first() == nil && !j.has(c.Row) {
			return errPast
		}
		return j.visit(c)
	})
	if errors.Is(err, errPast) {
		return nil
	}
	return err
}

// getRows reads the source's rows of a slice.
func (v *outputVerifier) getRows(ctx context.Context, sorted *partition.Sorted, slice partition.Slice, visit func(*cell.Cell) error) (err error) {
	run, err := sorted.Slice(slice)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, run.Close()) }()
	b := &getBatch{verifier: v, visit: visit}
	for _, family := range v.target.Layout.Families {
		b.columns = append(b.columns, load.Columns{Family: family.Bytes})
	}
	for {
		e, err := sorting.NextEntry(run)
		if err != nil {
			return err
		}
		if e == nil {
			return b.read(ctx)
		}
		if err := b.add(ctx, e.Key); err != nil {
			return err
		}
	}
}

// getBatch is the rows of one call.
type getBatch struct {
	verifier *outputVerifier
	visit    func(*cell.Cell) error
	columns  []load.Columns
	rows     []load.Lookup
	last     []byte
}

func (b *getBatch) add(ctx context.Context, key []byte) error {
	if bytes.Equal(b.last, key) {
		return nil
	}
	b.last = bytes.Clone(key)
	if b.rows = append(b.rows, load.Lookup{Row: b.last, Columns: b.columns, Other: -1}); len(b.rows) < load.LookupsPerCall {
		return nil
	}
	return b.read(ctx)
}

func (b *getBatch) read(ctx context.Context) error {
	if len(b.rows) == 0 {
		return ctx.Err()
	}
	all, err := b.verifier.cluster.Rows(ctx, b.verifier.job.Table, b.rows)
	if err != nil {
		return err
	}
	b.rows = b.rows[:0]
	for _, cells := range all {
		for i := range cells {
			if err := b.visit(&cells[i]); err != nil {
				return err
			}
		}
	}
	return nil
}
