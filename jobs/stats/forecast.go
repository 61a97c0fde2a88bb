package stats

import (
	"math"
	"slices"
)

// Rates are one core's speeds on the sample, in bytes a second, and the number of cores.
type Rates struct {
	Cores  int     `json:"cores"`
	Read   float64 `json:"read"`   // input bytes read, parsed and keyed
	Sort   float64 `json:"sort"`   // keys and values digested, packed and sorted
	Write  float64 `json:"write"`  // KeyValues merged, encoded and compressed
	Verify float64 `json:"verify"` // HFiles read back
}

// Forecast is what a run will need, and when the table's regions will split or block if every day brings as much.
type Forecast struct {
	Rates       Rates   `json:"rates"`
	SortSeconds float64 `json:"sort_seconds"`
	Seconds     float64 `json:"seconds"`  // total, without waiting for disks and network
	Measured    float64 `json:"measured"` // seconds of work that the least measured rate is based on
	Unsure      bool    `json:"unsure"`   // too little was measured to predict a run of this length
	SortMemory  int64   `json:"sort_memory"`
	SortNeeds   int64   `json:"sort_needs"` // memory to sort without spilling
	Memory      int64   `json:"memory"`     // the --memory that gives the sort so much; 0: it has it
	Runs        int     `json:"spilled_runs"`
	Spill       int64   `json:"spill_bytes"`
	Output      int64   `json:"output_bytes"`
	Replication int     `json:"replication"` // copies that HDFS keeps of it; 1 on a local disk

	MaxFileSize   int64   `json:"max_file_size"`  // hbase.hregion.max.filesize
	Growth        int64   `json:"growth"`         // bytes of HFiles a day; 0: the input is not a day's
	LargestRegion int64   `json:"largest_region"` // bytes after this load
	DaysToSplit   float64 `json:"days_to_split"`  // -1: never, or not known
	BlockingFiles int     `json:"blocking_store_files"`
	FilesALoad    int     `json:"files_a_load"` // most files that a load adds to a region's family
	FilesNow      int     `json:"files_now"`    // most files that a region's family has
	Nights        int     `json:"nights"`       // until a region has BlockingFiles, without a compaction; -1: not known
}

// seconds returns the time for bytes at each core's rate.
func seconds(bytes int64, rate float64, cores int) float64 {
	if rate <= 0 {
		return 0
	}
	return float64(bytes) / rate / float64(max(cores, 1))
}

// SetTime fills in a run's time.
func (f *Forecast) SetTime(input, sorted, raw, hfiles int64) {
	r := &f.Rates
	f.SortSeconds = seconds(input, r.Read, r.Cores) + seconds(sorted, r.Sort, r.Cores)
	f.Seconds = f.SortSeconds + seconds(raw, r.Write, r.Cores) + seconds(hfiles, r.Verify, r.Cores)
}

// A forecast needs enoughMeasured seconds of measured work, unless the run takes no longer than soonOver.
const (
	enoughMeasured = 0.1
	soonOver       = 10 // seconds; nobody plans for such a short run
)

// SetMeasured sets how many seconds of work each rate is based on.
func (f *Forecast) SetMeasured(seconds ...float64) {
	f.Measured = slices.Min(seconds)
	f.Unsure = f.Measured < enoughMeasured && f.Seconds > soonOver
}

// DaysToSplit returns how many days a region of that size grows until it is split; -1 if it never is.
func DaysToSplit(size, aDay, maxFileSize int64) float64 {
	switch {
	case size >= maxFileSize:
		return 0
	case aDay <= 0:
		return -1
	}
	return math.Floor(float64(maxFileSize-size) / float64(aDay))
}

// farDays is further ahead than anybody plans: a century.
const farDays = 36525

// SplitIn says in words when the first region is split. days comes from DaysToSplit.
func SplitIn(days float64) string {
	switch {
	case days < 0:
		return "no region is ever split"
	case days == 0:
		return "the first region splits within a day"
	case days > farDays:
		return "no region splits within 100 years"
	}
	return "the first region splits in " + plural(int(days), "day")
}

// NightsToBlocking returns after how many loads, of aLoad files each, a store has so many files that its region's
// flushes wait (hbase.hstore.blockingStoreFiles), if nothing is compacted meanwhile; 0: it has them now; -1: it never
// will.
func NightsToBlocking(now, aLoad, blocking int) int {
	if now >= blocking {
		return 0
	}
	if aLoad <= 0 {
		return -1
	}
	return (blocking - now + aLoad - 1) / aLoad
}
