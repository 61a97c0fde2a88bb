package loading

import (
	"bulkload/jobs/ledger"
	"bulkload/jobs/output"
	"bulkload/jobs/progress"
	"bulkload/load"
)

// Loader hands the files of an output directory to a table.
type Loader struct {
	Out     *output.Dir
	Cluster *load.Cluster   // nil where the output needs none
	Ledger  *ledger.Ledger  // nil where nothing is loaded
	loads   *progress.Meter // of files that HBase has taken; nil before a load
	unsaved int             // load requests whose end the manifest on the disk does not show yet
}
