package options

// The points, in the order of a run.
const (
	Planned      Point = "planned"  // the manifest is begun
	Spilled      Point = "spilled"  // sorted runs are on the disk, and the journal does not say so yet
	Checkpointed Point = "kept"     // the journal says so
	Merged       Point = "merged"   // some of them were merged into one, and the journal does not say so yet
	Replaced     Point = "replaced" // the journal says so; those that were merged are still there
	Sorted       Point = "sorted"   // all input was read
	// the manifest says what the table had of the rows; no slice is written yet
	ExistingRecorded Point = "existing recorded"
	Begun            Point = "begun"          // a slice's writing begins
	Verified         Point = "verified"       // its files were read back, still under temporary names
	Renamed          Point = "renamed"        // one of them has its name, which the manifest does not know yet
	Recorded         Point = "recorded"       // the manifest knows the slice
	Balanced         Point = "balanced"       // all slices are there; the manifest does not say so yet
	Written          Point = "written"        // the manifest says so; _SUCCESS is not there yet
	BeforeRequest    Point = "asked"          // a load request is sent next, if the lock is held
	Staging          Point = "staging"        // HBase has made the staging folder, and the manifest names it
	FilesLoaded      Point = "taken"          // a region has taken files, and the manifest says so
	Cut              Point = "cut"            // a file's parts are written, and the manifest records the cut
	PartNamed        Point = "part named"     // a part has its name
	PartsRecorded    Point = "parts recorded" // the manifest has them in the file's place
	CutCleaned       Point = "cut cleaned"    // the file is deleted; the manifest has the record of the cut still
	RangesSaved      Point = "ranges saved"   // a verification has saved how far it is
	Loaded           Point = "loaded"         // the table has the files of an output, and its manifest says so
)

// Point is a place of a run at which a crash matters.
type Point string

// Hook is called where a run reaches one of its points; nil: nobody listens.
type Hook func(Point)

// Reached says that the run is at a point.
func (f Hook) Reached(p Point) {
	if f != nil {
		f(p)
	}
}
