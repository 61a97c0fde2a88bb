// Package partition knows a table's regions and sorts records into them within a memory budget: one sorted run a region
// comes out. It knows nothing of file formats.
//
// A record is one entry: its row key, where it came from, and its columns packed by the caller. Entries go through
// three types, each made from the one before:
//
//	Sorter, whose Lanes take entries in any order   regions.go, sorter.go, arena.go, radix.go
//	Sorted, all entries by region                   sorted.go, spill.go
//	Run, one region's entries in order              run.go, tree.go
//
// What comes out depends on the entries alone: not on memory, lanes or timing.
package partition
