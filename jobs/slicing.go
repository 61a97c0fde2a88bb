package jobs

import (
	"cmp"
	"slices"

	"bulkload/jobs/books"
	"bulkload/jobs/jobfile"
	"bulkload/partition"
)

// A region is written and verified in slices, and written into files of their own, so that a region with most of the rows keeps all cores busy.
// How many there are follows from the data and the job alone. A slice is the unit of resuming, too.
const (
	defaultSliceSize = 64 << 20 // bytes of keys and packed columns that a slice has at least
	slicesOfAll      = 32       // and it has at least this part of all rows: enough for 16 cores to the end
	defaultMaxFiles  = 32       // of a region and family: HBase's default
	maxSlices        = 16       // of a region: as many files as hbase.hstore.blockingStoreFiles lets stand before flushes wait
)

// unit is a slice to be written or verified.
type unit struct {
	partition.Slice
	start  []byte // its first row; empty: the region's
	number int    // of its region's slices
	alone  bool   // its region has no other
	size   int64  // bytes, about
}

// units lists all slices, largest first, so that none of them is left for one core at the end.
func (rows *sortedRows) units(j *jobfile.Job, t *target) []unit {
	var all []unit
	for region := range rows.regions {
		cut := rows.sorted.Slices(region, rows.slicesOf(region, j, t))
		for i, s := range cut {
			start, _, _ := t.splitKey(s.Start) // no key for the first slice
			all = append(all, unit{s, start, i, len(cut) == 1, rows.regions[region].Bytes / int64(len(cut))})
		}
	}
	slices.SortStableFunc(all, func(a, b unit) int { return cmp.Compare(b.size, a.size) })
	return all
}

// slicesOf is into how many slices a region is cut.
func (rows *sortedRows) slicesOf(region int, j *jobfile.Job, t *target) int {
	var total int64
	for i := range rows.regions {
		total += rows.regions[i].Bytes
	}
	size := max(sliceSize(&j.HFile), total/slicesOfAll)
	r := &rows.regions[region]
	return int(min((r.Bytes+size-1)/size, sliceLimit(r, t), maxSlices))
}

// sliceLimit is how many slices keep a family's files within the site's limit: each slice may have one file that is not as
// large as max_size. Where even one slice is too many, checkFileCounts says so.
func sliceLimit(r *books.Region, t *target) int64 {
	return max(1, t.maxFiles-rawSize(r, t)/t.maxSize)
}

// rawSize is how many KeyValue bytes of a family the region has, at most.
func rawSize(r *books.Region, t *target) int64 {
	largest := 0
	for _, f := range t.layout.families {
		for _, q := range f.qualifiers {
			largest = max(largest, len(f.name)+len(q))
		}
	}
	columns := int64(len(t.layout.sources))
	return r.Bytes + r.Keys*columns + r.Digest.Cells*int64(keyValueOverhead+largest)
}

func sliceSize(h *jobfile.HFile) int64 {
	if h.SliceSize > 0 {
		return h.SliceSize
	}
	return defaultSliceSize
}
