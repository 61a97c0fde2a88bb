package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"bulkload/internal/digest"

	"golang.org/x/sync/errgroup"
)

// maxSamples bounds how many differing duplicates are shown.
const maxSamples = 10

// DuplicateSample shows a row key that came with differing columns.
type DuplicateSample struct {
	Row    string `json:"row"`
	Kept   Place  `json:"kept"`
	Lost   Place  `json:"lost"`
	region int
}

// Place is where a record stands in the input.
type Place struct {
	File   string `json:"file"`
	Offset int64  `json:"offset"`
	Rows   bool   `json:"rows,omitempty"` // Offset is the row's number from 0, as in Parquet
}

// writing is the stage from sorted rows to verified files.
type writing struct {
	*workplace
	rows   *sortedRows
	writes *meter
	checks *meter

	merging chan struct{} // holds one for each slice whose runs are being merged: that takes the memory of the sort

	mu      sync.Mutex // guards what follows, and the manifest
	samples []DuplicateSample
	sums    []digest.Sum // of a region's verified slices and their dropped duplicates
	left    []int        // slices of a region that are not verified yet
	times   writeTimes
}

// writeSlices writes the slices that the manifest lacks, side by side.
func (w *writing) writeSlices(ctx context.Context) error {
	units, err := w.unfinished()
	if err != nil {
		return err
	}
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(workers() + 1) // one slice waits for its files to be on the disk, or reads them back, beside those that merge
	w.merging = make(chan struct{}, workers())
	for _, u := range units {
		if running.Err() != nil {
			break
		}
		group.Go(func() error { return w.writeSlice(running, u) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

// unfinished lists the slices that the manifest lacks. Those that it has must still begin and hold what they would now.
func (w *writing) unfinished() ([]unit, error) {
	units := w.rows.units(w.job, w.target)
	known := len(w.manifest.Slices)
	missing := slices.DeleteFunc(units, func(u unit) bool {
		if done := w.manifest.done(u.Region, u.number); done != nil && done.Start == Printable(u.start) {
			known--
			return true
		}
		w.left[u.Region]++
		return false
	})
	if known > 0 {
		return nil, differsf("%d of the slices written begin at other rows than they would now, with the same input files; use --force to write all files again", known)
	}
	for region := range w.sums {
		w.sums[region] = w.manifest.sum(region)
		if w.left[region] > 0 {
			continue
		}
		if err := w.balanceRegion(w.rows, region, w.sums[region]); err != nil {
			return nil, fmt.Errorf("%w; use --force to write all files again", err)
		}
	}
	for i := range w.manifest.Slices {
		w.writes.add(w.manifest.Slices[i].Entries)
	}
	return missing, nil
}

// writeSlice is one unit of work: its files are written, read back, compared with what was sorted, renamed and recorded,
// or none of them is there.
func (w *writing) writeSlice(ctx context.Context, u unit) (err error) {
	r := &sliceWriter{writing: w, unit: u, open: make([]*hfile, len(w.target.families)),
		sequence: make([]int, len(w.target.families)), values: make([][]byte, len(w.target.layout.sources))}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("region %d: %w", u.Region, err), r.abort())
		}
	}()
	w.options.reached(pointBegun)
	w.merging <- struct{}{}
	begun := time.Now()
	err = r.writeRows(ctx)
	<-w.merging
	if err != nil {
		return err
	}
	if err := r.finishAll(); err != nil {
		return err
	}
	r.times.total = time.Since(begun)
	if err := r.verify(ctx); err != nil {
		return err
	}
	r.options.reached(pointVerified)
	return r.commit()
}
