package jobs

import (
	"runtime"
	"sync/atomic"
)

// Options say how a job is run, not what it does: none of them changes a byte of the output.
type Options struct {
	Memory     int64             // bytes for the sort, open writers and buffers; 0: 512 MiB
	WorkDir    string            // for spilled runs; "": the system's temporary folder
	Conf       string            // folder of the site files; "": the job's, then the environment's
	Properties map[string]string // Hadoop and HBase properties that win over the site files
	Force      bool              // begin anew, whatever is there of the run
	NoLoad     bool              // stop before the load
	Say        func(string)      // takes notes for people; nil: nobody listens
	Watch      func(Progress)    // takes progress, from several goroutines; nil: nobody listens

	reached func(point) // for tests that stop a run at one of its points
}

// point is a place of a run at which a crash matters.
type point string

const (
	pointPlanned       point = "planned"        // the manifest is begun
	pointSpilled       point = "spilled"        // sorted runs are on the disk, and the journal does not say so yet
	pointKept          point = "kept"           // the journal says so
	pointMerged        point = "merged"         // some of them were merged into one, and the journal does not say so yet
	pointReplaced      point = "replaced"       // the journal says so; those that were merged are still there
	pointSorted        point = "sorted"         // all input was read
	pointBegun         point = "begun"          // a slice's writing begins
	pointVerified      point = "verified"       // its files were read back, still under temporary names
	pointRenamed       point = "renamed"        // one of them has its name, which the manifest does not know yet
	pointRecorded      point = "recorded"       // the manifest knows the slice
	pointBalanced      point = "balanced"       // all slices are there; the manifest does not say so yet
	pointWritten       point = "written"        // the manifest says so; _SUCCESS is not there yet
	pointAsked         point = "asked"          // a load request is sent next, if the lock is held
	pointStaging       point = "staging"        // HBase has made the staging folder, and the manifest names it
	pointTaken         point = "taken"          // a region has taken files, and the manifest says so
	pointCut           point = "cut"            // a file's parts are written, and the manifest records the cut
	pointPartsNamed    point = "parts named"    // the parts have their names
	pointPartsRecorded point = "parts recorded" // the manifest has them in the file's place
	pointCutCleaned    point = "cut cleaned"    // the file is deleted; the manifest has the record of the cut still
	pointLoaded        point = "loaded"         // the table has the files of an output, and its manifest says so
)

// Progress says how far a phase is.
type Progress struct {
	Phase       string
	Done, Total int64
	Bytes       bool // what is counted: bytes, or else records
}

const (
	defaultMemory = 512 << 20
	minMemory     = 16 << 20
)

func (o Options) withDefaults() (Options, error) {
	if o.Memory == 0 {
		o.Memory = defaultMemory
	}
	if o.Memory < minMemory {
		return o, usagef("%s of memory are too few; give at least %s", FormatSize(o.Memory), FormatSize(minMemory))
	}
	if o.Say == nil {
		o.Say = func(string) {}
	}
	if o.reached == nil {
		o.reached = func(point) {}
	}
	if o.Watch == nil {
		o.Watch = func(Progress) {}
	}
	return o, nil
}

// workers is how many goroutines compute side by side.
func workers() int { return runtime.GOMAXPROCS(0) }

// meter counts a phase's bytes from several goroutines and passes them on.
type meter struct {
	watch func(Progress)
	phase string
	total int64
	bytes bool
	done  atomic.Int64
}

func (m *meter) add(n int64) {
	m.watch(Progress{m.phase, m.done.Add(n), m.total, m.bytes})
}
