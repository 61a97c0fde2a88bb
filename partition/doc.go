// Package partition knows a table's regions and sorts records into them within a memory budget. The result is one
// sorted run for each region. It knows nothing of file formats.
//
//	Sorter, whose Shards accept entries in any order   sorter.go, shard.go, arena.go, order.go, spill.go, folder.go
//	Sorted, all entries by region                      sorted.go, merge_plan.go, block.go
//	Slice, a part of a region                          slice.go, split_sample.go, sparse_index.go
//	RunReader, a region's or slice's entries in order  sorted.go, cursor.go, tree.go
//	PersistentRuns, which outlive the process          persist.go
//	Forecast of what a future sort will spill          forecast.go
//	Store, the place of spilled runs                   store.go
//
// The result depends on the entries alone: not on memory, number of shards or timing.
//
// # How the sort works
//
// Each shard fills an arena of plain byte chunks and an index of pointer-free entries: the first 8 bytes of the key as
// a number, and the position of the record. A full arena is sorted by its index and written to the work folder as a
// run, in compressed blocks that never span two regions, so that regions can be read independently and in parallel.
// Entries left in the arenas at the end are sorted and stay there. Reading a region merges its part of all runs.
//
// # Memory
//
// An eighth of the budget is reserved for the blocks being written and merged; the shards divide the rest. A merge
// needs two blocks for each run, and is assumed to read as many regions at once as there are shards, at least two. If
// that is more than the arenas leave, the arenas are spilled too; if even the whole budget is not enough, the smallest
// runs are merged into larger ones first. A record is always held in full, so one that is larger than the budget
// exceeds it.
//
// # Slices
//
// A region with most of the rows would keep one core busy long after the others. So a region can be cut into slices
// that are read independently, like regions. The cuts follow from the row keys alone. Rows whose key hashes to a rare
// value are candidates. Each shard collects its own; together they are reduced to at most 4,096 keys and 1 MiB for the
// whole sort, evenly distributed over its distinct rows. A key's entries are never in two slices. A spilled run has a
// sparse index, with a key for every 256 KiB and at most 64 KiB of keys, so that a slice is found without reading the
// blocks before it. The candidates and the index are outside the budget: at most 3 MiB a shard and 64 KiB a run, and
// usually a tenth of that.
//
// # Runs that outlive the process
//
// With SortOptions.Persistent the caller decides when shards are spilled, between two records, and records the content
// of each run. A persistent run ends with a footer: offsets of the regions, sparse index, counts, candidates for cuts.
// A later sort begins with such runs as if its own shards had spilled them. Runs that were merged are deleted only
// after the caller has recorded the run that replaces them.
package partition
