package options

// The points, in the order of a run.
const (
	Planned      Point = "planned"  // the manifest is begun
	Spilled      Point = "spilled"  // sorted runs are on the disk, but not in the journal yet
	Checkpointed Point = "kept"     // the journal says so
	Merged       Point = "merged"   // some of them were merged into one, which is not in the journal yet
	Replaced     Point = "replaced" // the journal says so; the merged ones still exist
	Sorted       Point = "sorted"   // all input was read
	// the manifest says which rows the table already had; no slice is written yet
	ExistingRecorded Point = "existing recorded"
	Begun            Point = "begun"          // a slice's writing begins
	Verified         Point = "verified"       // its files were read back, still under temporary names
	Renamed          Point = "renamed"        // one of them has its name, but is not in the manifest yet
	Recorded         Point = "recorded"       // the slice is in the manifest
	Balanced         Point = "balanced"       // all slices are recorded; the manifest does not say so yet
	Written          Point = "written"        // the manifest says so; _SUCCESS does not exist yet
	BeforeRequest    Point = "asked"          // a load request is sent next, if the lock is held
	Staging          Point = "staging"        // HBase has made the staging folder, and the manifest names it
	FilesLoaded      Point = "taken"          // a region has taken files, and the manifest says so
	Cut              Point = "cut"            // a file's parts are written, and the manifest records the cut
	PartNamed        Point = "part named"     // a part has its name
	PartsRecorded    Point = "parts recorded" // the manifest has the parts in place of the file
	CutCleaned       Point = "cut cleaned"    // the file is deleted; the manifest still has the record of the cut
	RangesSaved      Point = "ranges saved"   // a verification has saved its progress
	Loaded           Point = "loaded"         // the table has the files of an output, and its manifest says so
)

// Point is a place of a run at which a crash matters.
type Point string

// Hook is called when a run reaches one of its points; nil: nothing is called.
type Hook func(Point)

// Reached calls the hook, if there is one, for the point that the run has reached.
func (f Hook) Reached(p Point) {
	if f != nil {
		f(p)
	}
}
