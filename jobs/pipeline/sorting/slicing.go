package sorting

import (
	"cmp"
	"slices"

	"bulkload/jobs/base/counts"
	"bulkload/jobs/pipeline/targets"
	"bulkload/jobs/spec/jobfile"
	"bulkload/partition"
)

// A region is written and verified in slices, each with its own files, so that a region with most of the rows keeps all
// cores busy.
//
// The number of slices and their first rows must follow from the data and the job alone, because a slice is also the
// unit of resuming. A run that resumed with other boundaries would keep the recorded slices and write the rest from
// other places, so rows would be lost or written twice. Therefore Stage.Unfinished (package writing) compares the
// boundaries.
const (
	defaultSliceSize = 64 << 20 // minimum bytes of keys and packed columns in a slice
	SlicesOfAll      = 32       // a slice has at least 1/SlicesOfAll of all rows, which keeps 16 cores busy until the end
	MaxSlices        = 16       // of a region: as many files as hbase.hstore.blockingStoreFiles allows before flushes wait
)

// SliceWork is a slice to be written or verified.
type SliceWork struct {
	partition.Slice
	Start  []byte // its first row; empty: the region's first
	Number int    // index among its region's slices
	Size   int64  // approximate bytes of keys and columns
}

// SliceTasks lists all slices, largest first, so that no core is still busy with a large one when the others are done.
func (rows *Rows) SliceTasks(j *jobfile.Job, t *targets.Target) []SliceWork {
	var all []SliceWork
	size := rows.sliceSize(j)
	for region := range rows.Regions {
		cut := rows.Sorted.Slices(region, rows.slicesOf(region, size, t))
		for i, s := range cut {
			start, _, _ := t.SplitKey(s.Start) // no key for the first slice
			all = append(all, SliceWork{s, start, i, rows.Regions[region].Bytes / int64(len(cut))})
		}
	}
	slices.SortStableFunc(all, func(a, b SliceWork) int { return cmp.Compare(b.Size, a.Size) })
	return all
}

// sliceSize returns the minimum bytes of keys and columns in a slice of these rows.
func (rows *Rows) sliceSize(j *jobfile.Job) int64 {
	var total int64
	for i := range rows.Regions {
		total += rows.Regions[i].Bytes
	}
	return max(SliceSize(&j.HFile), total/SlicesOfAll)
}

// slicesOf returns into how many slices of at least size bytes a region is cut.
func (rows *Rows) slicesOf(region int, size int64, t *targets.Target) int {
	r := &rows.Regions[region]
	return int(min((r.Bytes+size-1)/size, sliceLimit(r, t), MaxSlices))
}

// sliceLimit returns how many slices keep a family's files within the site's limit, because each slice may have one
// file smaller than max_size. If even one slice is too many, writing.CheckFileCounts reports it.
func sliceLimit(r *counts.RegionCounts, t *targets.Target) int64 {
	return max(1, t.MaxFiles-RawSize(r, t)/t.MaxSize)
}

// RawSize returns how many KeyValue bytes of a family the region has, at most.
func RawSize(r *counts.RegionCounts, t *targets.Target) int64 {
	columns := int64(len(t.Layout.Sources))
	return r.Bytes + r.Keys*columns + r.Digest.Cells*int64(targets.KeyValueOverhead+t.Layout.Longest)
}

// SliceSize returns the minimum bytes of keys and columns in a slice.
func SliceSize(h *jobfile.HFileSettings) int64 {
	if h.SliceSize > 0 {
		return h.SliceSize
	}
	return defaultSliceSize
}
