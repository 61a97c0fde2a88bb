package loading

import (
	"bulkload/jobs/ledger"
	"bulkload/jobs/output"
	"bulkload/jobs/progress"
	"bulkload/load"
)

// Loader loads the files of an output directory into a table.
//
// It holds what one command has done so far. Everything that the next one must know is in the manifest or the ledger before
// it matters; unsaved is the one exception, and recovery makes up for it by probes.
type Loader struct {
	Out     *output.Dir
	Cluster *load.Cluster   // nil if the output needs none
	Ledger  *ledger.Ledger  // nil if nothing is loaded
	loads   *progress.Meter // of loaded files; nil before the first request
	toLoad  int             // files at the beginning of a load
	unsaved int             // load requests whose end is not in the saved manifest yet
}
