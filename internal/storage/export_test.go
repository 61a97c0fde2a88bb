package storage

// These are for the test of the simulated disk, whose package uses this one.
var (
	Conforms               = conforms
	ShowsNothingUnfinished = showsNothingUnfinished
)
