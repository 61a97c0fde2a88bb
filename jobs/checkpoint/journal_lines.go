package checkpoint

import (
	"maps"
	"slices"

	"bulkload/internal/digest"
	"bulkload/jobs/books"
	"bulkload/partition"
)

// Checkpoint is a line of the journal: what one goroutine has read since its last one, all of which is in sorted runs on
// the disk now.
type Checkpoint struct {
	Read    int64        `json:"read"` // records, rejected ones too
	Ended   []EndedSplit `json:"ended,omitempty"`
	Part    *SplitPart   `json:"part,omitempty"` // of the split that is being read
	Rejects *rejectSpan  `json:"rejects,omitempty"`
	Shares  []RunShare   `json:"shares"`
}

// EndedSplit is a split that was read to its end, by its place in the list of all.
type EndedSplit struct {
	Split int   `json:"split"`
	Bytes int64 `json:"bytes"`
}

// SplitPart is the part of a split up to a record, which belongs to it.
type SplitPart struct {
	Split      int   `json:"split"`
	LastOffset int64 `json:"through"` // the record's offset
	Bytes      int64 `json:"bytes"`
}

// RunShare is what came to one output. Its run has no name where nothing did.
type RunShare struct {
	Output  int               `json:"output"`
	Run     partition.RunFile `json:"run,omitzero"`
	Regions []regionShare     `json:"regions,omitempty"` // those that something came to
	Files   []fileShare       `json:"files,omitempty"`   // of the input, those that were read

	Filtered int64 `json:"filtered,omitempty"` // records that the output's filter did not take
}

// regionShare is a books.Region as it is in the journal.
type regionShare struct {
	Region int        `json:"region"`
	Digest digest.Sum `json:"digest"`
	Keys   int64      `json:"keys"`
	Bytes  int64      `json:"bytes"`
}

func (s *regionShare) sorted() books.Region {
	return books.Region{Digest: s.Digest, Keys: s.Keys, Bytes: s.Bytes}
}

// fileShare is what came from an input file.
type fileShare struct {
	File int `json:"file"` // ordinal
	books.Content
}

// replacement is a line of the journal: an output's run that has come in the place of others.
type replacement struct {
	Output int               `json:"output"`
	From   []string          `json:"from"`
	Run    partition.RunFile `json:"run"`
}

// Line is one of the three, for all lines but the first.
type Line struct {
	Boot       string       `json:"boot,omitempty"` // of the machine when all that the lines before name was read and found good
	Checkpoint *Checkpoint  `json:"checkpoint,omitempty"`
	Merged     *replacement `json:"merged,omitempty"`
}

// FileShares lists the books.Contents by their files.
func FileShares(c books.Contents) []fileShare {
	var all []fileShare
	for _, file := range slices.Sorted(maps.Keys(c)) {
		if *c[file] != (books.Content{}) {
			all = append(all, fileShare{file, *c[file]})
		}
	}
	return all
}

// SharesSince is what came to regions between two states of their accounts.
func SharesSince(then, now []books.Region) []regionShare {
	var shares []regionShare
	for i := range now {
		r := now[i]
		r.Sub(&then[i])
		if r != (books.Region{}) {
			shares = append(shares, regionShare{i, r.Digest, r.Keys, r.Bytes})
		}
	}
	return shares
}
