// Package partition knows a table's regions and sorts records into them within a memory budget: one sorted run a
// region comes out. It knows nothing of file formats.
package partition

import "errors"

var errSkeleton = errors.New("not built yet")

// Regions are the row ranges of a table: region i holds the rows from Start(i) on, before End(i).
type Regions struct{}

// NewRegions makes the regions that the splits cut a table into; splits must ascend strictly and none be empty.
func NewRegions(splits [][]byte) (*Regions, error) { return nil, errSkeleton }

// Len is the number of regions: one more than the splits.
func (r *Regions) Len() int { return 0 }

// Find is the region that holds row.
func (r *Regions) Find(row []byte) int { return 0 }

// Start is the first row of region i; empty for the first region.
func (r *Regions) Start(i int) []byte { return nil }

// End is the row behind region i's last; empty for the last region.
func (r *Regions) End(i int) []byte { return nil }

// CheckSalts refuses regions in which a salt value does not begin a region, or one region spans several salts.
// Further boundaries inside a salt are fine. The first salt may begin in the first region.
func (r *Regions) CheckSalts(salts [][]byte) error { return errSkeleton }

// Options of a sort.
type Options struct {
	Regions *Regions
	Memory  int64  // bytes for arenas, and for the merge's buffers after them
	WorkDir string // local folder for spilled runs; made if need be, mode 0700
	Lanes   int    // how many goroutines will add entries; each has Memory/Lanes
}

// Position orders entries of one key, and says where a record came from.
type Position struct {
	File   uint32 // ordinal of the input file
	Offset int64  // of the record in it
}

// Entry is one record in the sort: its row key, where it came from, and its columns packed by the caller.
type Entry struct {
	Key []byte
	Position
	Payload []byte
}

// Sorter takes entries in any order. Close every lane, then call Sort.
type Sorter struct{}

// NewSorter begins a sort.
func NewSorter(o Options) (*Sorter, error) { return nil, errSkeleton }

// Lane gives the next of the Options' lanes. A lane belongs to one goroutine.
func (s *Sorter) Lane() *Lane { return nil }

// Lane is one goroutine's way into the sort.
type Lane struct{}

// Buffer is an empty slice in the arena to append one entry to: its key, then its payload. It holds until Commit or the
// next Buffer call.
func (l *Lane) Buffer() []byte { return nil }

// Commit takes the entry that was appended to the slice that Buffer gave: keyLen bytes of key, then the payload. It
// may sort and spill the lane's arena.
func (l *Lane) Commit(entry []byte, keyLen int, pos Position) error { return errSkeleton }

// Close ends the lane.
func (l *Lane) Close() error { return nil }

// Sort ends the adding. It fails when a lane is still open.
func (s *Sorter) Sort() (*Sorted, error) { return nil, errSkeleton }

// Discard frees memory and spilled files of a sort that will not be finished.
func (s *Sorter) Discard() error { return nil }

// Sorted holds all entries, region by region. Regions may be read side by side.
type Sorted struct{}

// Stats says what the sort did.
type Stats struct {
	Entries      int64
	Bytes        int64 // of keys and payloads
	Runs         int   // spilled runs
	SpilledBytes int64 // on disk
}

// Stats says what the sort did.
func (s *Sorted) Stats() Stats { return Stats{} }

// RegionEntries is the number of entries of region i.
func (s *Sorted) RegionEntries(i int) int64 { return 0 }

// Region reads region i's entries in order of key, then of position.
func (s *Sorted) Region(i int) (*Run, error) { return nil, errSkeleton }

// Close frees memory and deletes spilled files.
func (s *Sorted) Close() error { return nil }

// Run is one region's sorted entries.
type Run struct{}

// Next is the next entry, valid until the next call but one, so that an entry can be compared with the one before it;
// io.EOF behind the last.
func (r *Run) Next() (*Entry, error) { return nil, errSkeleton }

// Close gives the run's buffers back.
func (r *Run) Close() error { return nil }
