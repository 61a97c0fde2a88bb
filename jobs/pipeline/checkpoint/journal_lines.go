package checkpoint

import (
	"maps"
	"slices"

	"bulkload/internal/digest"
	"bulkload/jobs/base/counts"
	"bulkload/partition"
)

// Checkpoint is a line of the journal: what one goroutine has read since its last checkpoint. All of it is now in
// sorted runs on disk.
//
// A checkpoint is written between two records, and covers runs, counts, rejects and input position of the same records.
// That is what makes resuming exact: a record is either in a run, in the counts and before the position, or in none of
// them. If one of them were recorded at another moment, records would be lost or sorted twice.
type Checkpoint struct {
	Read    int64        `json:"read"`              // records, including rejected ones
	Skipped int64        `json:"skipped,omitempty"` // lines that are not records
	Ended   []EndedSplit `json:"ended,omitempty"`
	Part    *SplitPart   `json:"part,omitempty"` // of the split being read
	Rejects *rejectSpan  `json:"rejects,omitempty"`
	Shares  []RunShare   `json:"shares"`
}

// EndedSplit is a split that was read to its end, by its index in the list of all splits.
type EndedSplit struct {
	Split int   `json:"split"`
	Bytes int64 `json:"bytes"`
}

// SplitPart is the part of a split up to and including a record.
type SplitPart struct {
	Split      int   `json:"split"`
	LastOffset int64 `json:"through"` // the last record's offset
	Bytes      int64 `json:"bytes"`
}

// RunShare is one output's part of a checkpoint. Its run has no name if no record went there.
type RunShare struct {
	Output  int               `json:"output"`
	Run     partition.RunFile `json:"run,omitzero"`
	Regions []regionShare     `json:"regions,omitempty"` // the regions that got rows
	Files   []fileShare       `json:"files,omitempty"`   // the input files that were read

	Filtered int64 `json:"filtered,omitempty"` // records that the output's filter dropped
}

// regionShare is a counts.RegionCounts as stored in the journal.
type regionShare struct {
	Region int        `json:"region"`
	Digest digest.Sum `json:"digest"`
	Keys   int64      `json:"keys"`
	Bytes  int64      `json:"bytes"`
}

func (s *regionShare) sorted() counts.RegionCounts {
	return counts.RegionCounts{Digest: s.Digest, Keys: s.Keys, Bytes: s.Bytes}
}

// fileShare is what came from an input file.
type fileShare struct {
	File int `json:"file"` // ordinal
	counts.Content
}

// replacement is a line of the journal: a run of an output, merged from the runs that it replaces. The replaced runs
// are deleted only after this line is written.
type replacement struct {
	Output int               `json:"output"`
	From   []string          `json:"from"`
	Run    partition.RunFile `json:"run"`
}

// Line is any line of the journal but the first; exactly one field is set.
type Line struct {
	// the boot of the machine in which everything named by earlier lines was read and found intact
	Boot       string       `json:"boot,omitempty"`
	Checkpoint *Checkpoint  `json:"checkpoint,omitempty"`
	Merged     *replacement `json:"merged,omitempty"`
}

// FileShares lists the contents by file.
func FileShares(c counts.Contents) []fileShare {
	var all []fileShare
	for _, file := range slices.Sorted(maps.Keys(c)) {
		if *c[file] != (counts.Content{}) {
			all = append(all, fileShare{file, *c[file]})
		}
	}
	return all
}

// SharesSince returns the difference between two states of the regions' counts.
func SharesSince(then, now []counts.RegionCounts) []regionShare {
	var shares []regionShare
	for i := range now {
		r := now[i]
		r.Sub(&then[i])
		if r != (counts.RegionCounts{}) {
			shares = append(shares, regionShare{i, r.Digest, r.Keys, r.Bytes})
		}
	}
	return shares
}
