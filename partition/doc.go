// Package partition knows a table's regions and sorts records into them within a memory budget: one sorted run a
// region comes out. It knows nothing of file formats.
//
//	Sorter, whose Lanes take entries in any order   sorter.go, lane.go, arena.go, order.go, spill.go, folder.go
//	Sorted, all entries by region                   sorted.go, fit.go, block.go
//	Slice, a part of a region                       slice.go, cuts.go, places.go
//	Run, a region's or slice's entries in order     sorted.go, cursor.go, tree.go
//	Kept, runs that outlive the process             kept.go
//	Store, where spilled runs are                   store.go
//
// What comes out depends on the entries alone: not on memory, lanes or timing.
//
// # How the sort works
//
// Each lane fills an arena of plain byte chunks and an index of pointer-free entries: the first 8 bytes of the key as a
// number, and where the record stands. A full arena is sorted by its index and written to the work folder as a run, in
// compressed blocks that never span two regions, so that regions are read independently and side by side. What is in the
// arenas at the end is sorted and stays where it is. Reading a region merges its part of all runs.
//
// # Where the memory goes
//
// An eighth of the budget is kept for the blocks that are being written and merged; the lanes share the rest. A merge
// needs two blocks a run, and it is taken that as many regions are read at once as there are lanes, at least two. Where
// this is more than what the arenas leave, the arenas are written out too; where even the whole budget isn't enough, the
// smallest runs are merged into larger ones first. A record is always held whole: one that is larger than the budget
// passes it.
//
// # Slices
//
// A region with most of the rows would keep one core busy long after the others. So a region can be cut into slices that
// are read independently, as regions are. The cuts follow from the row keys alone: rows whose key hashes to a rare value
// are candidates, each lane keeps its own, and what they keep is joined to at most 4,096 keys and 1 MiB of the whole
// sort, evenly spread over its distinct rows. A key's entries are never in two slices. A spilled run has a sparse index,
// a key for every 256 KiB and at most 64 KiB of keys, so that a slice of it is found without reading what is before. Both
// stand beside the budget: at most 3 MiB a lane and 64 KiB a run, and usually a tenth of that.
//
// # Runs that outlive the process
//
// With Options.Kept the caller says when lanes are spilled, between two records, and keeps account of what each run holds.
// A kept run describes itself behind its blocks: where the regions begin, its sparse index, how many entries, the
// candidates for cuts among them. A later sort begins with such runs as if its own lanes had spilled them. Runs that are
// merged are deleted only when the caller has recorded the one that takes their place.
package partition
