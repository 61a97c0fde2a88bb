package jobs

import (
	"cmp"
	"slices"

	"bulkload/partition"
)

// A region is written in slices, each into files of its own, so that a region with most of the rows keeps all cores busy.
// How many there are follows from the data and the job alone. A slice is the unit of resuming, too.
const (
	defaultSliceSize = 64 << 20 // bytes of keys and packed columns that a slice has at least
	slicesOfAll      = 32       // and it has at least this part of all rows: enough for 16 cores to the end
	maxSlices        = 16       // of a region: as many files as hbase.hstore.blockingStoreFiles lets stand before flushes wait
	maxRegionFiles   = 32       // hbase.mapreduce.bulkload.max.hfiles.perRegion.perFamily, beyond which HBase's loader refuses
)

// unit is a slice to be written.
type unit struct {
	partition.Slice
	number int   // of its region's slices
	size   int64 // bytes, about
}

// units lists all slices, largest first, so that none of them is left for one core at the end.
func (w *writing) units() []unit {
	var all []unit
	for region := range w.target.regions.Len() {
		cut := w.rows.sorted.Slices(region, w.slicesOf(region))
		for i, s := range cut {
			all = append(all, unit{s, i, w.rows.regions[region].bytes / int64(len(cut))})
		}
	}
	slices.SortStableFunc(all, func(a, b unit) int { return cmp.Compare(b.size, a.size) })
	return all
}

// slicesOf is into how many slices a region is cut.
func (w *writing) slicesOf(region int) int {
	var total int64
	for i := range w.rows.regions {
		total += w.rows.regions[i].bytes
	}
	size := max(w.job.HFile.sliceSize(), total/slicesOfAll)
	r := &w.rows.regions[region]
	return int(min((r.bytes+size-1)/size, w.sliceLimit(r), maxSlices))
}

// sliceLimit is how many slices keep a family's files below what HBase takes: each slice may have one file that is not as
// large as max_size.
func (w *writing) sliceLimit(r *sortedRegion) int64 {
	largest := 0
	for _, f := range w.target.layout.families {
		for _, q := range f.qualifiers {
			largest = max(largest, len(f.name)+len(q))
		}
	}
	columns := int64(len(w.target.layout.sources))
	raw := r.bytes + r.keys*columns + r.digest.Cells*int64(keyValueOverhead+largest) // at most
	return max(1, maxRegionFiles-raw/w.target.maxSize)
}

func (h *HFile) sliceSize() int64 {
	if h.SliceSize > 0 {
		return h.SliceSize
	}
	return defaultSliceSize
}
