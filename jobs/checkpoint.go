package jobs

import (
	"maps"
	"slices"

	"bulkload/internal/digest"
	"bulkload/jobs/books"
	"bulkload/partition"
)

// checkpoint is a line of the journal: what one goroutine has read since its last one, all of which is in sorted runs on
// the disk now.
type checkpoint struct {
	Read    int64        `json:"read"` // records, rejected ones too
	Ended   []endedSplit `json:"ended,omitempty"`
	Part    *splitPart   `json:"part,omitempty"` // of the split that is being read
	Rejects *rejectSpan  `json:"rejects,omitempty"`
	Shares  []runShare   `json:"shares"`
}

// endedSplit is a split that was read to its end, by its place in the list of all.
type endedSplit struct {
	Split int   `json:"split"`
	Bytes int64 `json:"bytes"`
}

// splitPart is the part of a split up to a record, which belongs to it.
type splitPart struct {
	Split   int   `json:"split"`
	Through int64 `json:"through"` // the record's offset
	Bytes   int64 `json:"bytes"`
}

// runShare is what came to one output. Its run has no name where nothing did.
type runShare struct {
	Output  int               `json:"output"`
	Run     partition.RunFile `json:"run,omitzero"`
	Regions []regionShare     `json:"regions,omitempty"` // those that something came to
	Files   []fileShare       `json:"files,omitempty"`   // of the input, those that were read

	Filtered int64 `json:"filtered,omitempty"` // records that the output's filter did not take
}

// regionShare is a books.Region as it stands in the journal.
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

// journalLine is one of the three, for all lines but the first.
type journalLine struct {
	Boot       string       `json:"boot,omitempty"` // of the machine when all that the lines before name was read and found good
	Checkpoint *checkpoint  `json:"checkpoint,omitempty"`
	Merged     *replacement `json:"merged,omitempty"`
}

// checkpoints is what a goroutine has to tell at its next checkpoint.
type checkpoints struct {
	keeper  *keeper // nil: nothing is kept
	rejects *rejectLog
	ended   []endedSplit
	present int              // the split that is being read; -1: none
	read    int64            // at the last checkpoint
	regions [][]books.Region // at the last checkpoint, of each output

	filtered []int64 // likewise
}

func (s *sorting) newCheckpoints(lane int) checkpoints {
	c := checkpoints{keeper: s.keeper, present: -1, rejects: newRejectLog(s.keeper, s.rejects, lane), filtered: make([]int64, len(s.outputs))}
	for i := range s.outputs {
		c.regions = append(c.regions, make([]books.Region, s.outputs[i].regions()))
	}
	return c
}

// begin says that a piece is being read from here on.
func (c *checkpoints) begin(p piece) { c.present = p.number }

// end says that the piece was read to its end.
func (c *checkpoints) end(p piece, bytes int64) {
	c.ended = append(c.ended, endedSplit{p.number, bytes})
	c.present = -1
}

// checkpoint puts what the goroutine has read since the last one on the disk to stay: between two records.
func (f *feeder) checkpoint() error {
	c := &f.checkpoints
	if f.records.read == c.read && c.ended == nil {
		return nil
	}
	if err := c.keeper.begin(); err != nil {
		return err
	}
	line := &checkpoint{Read: f.records.read - c.read, Ended: c.ended}
	if c.present >= 0 {
		f.countFile()
		line.Part = &splitPart{c.present, f.records.at, f.records.in.Bytes()}
	}
	for i, out := range f.outputs {
		if out.lane == nil {
			continue
		}
		run, err := out.lane.Spill()
		if err != nil {
			return err
		}
		line.Shares = append(line.Shares, runShare{i, run, sharesSince(c.regions[i], out.regions), fileShares(out.files), out.filtered - c.filtered[i]})
	}
	var err error
	if line.Rejects, err = c.rejects.settle(); err != nil {
		return err
	}
	if err := c.keeper.add(line); err != nil {
		return err
	}
	c.read, c.ended = f.records.read, nil
	for i, out := range f.outputs {
		out.keepFiles(f.present)
		copy(c.regions[i], out.regions)
		c.filtered[i] = out.filtered
	}
	return nil
}

// fileShares lists the books.Contents by their files.
func fileShares(c books.Contents) []fileShare {
	var all []fileShare
	for _, file := range slices.Sorted(maps.Keys(c)) {
		if *c[file] != (books.Content{}) {
			all = append(all, fileShare{file, *c[file]})
		}
	}
	return all
}

// keepFiles puts the books.Contents since the last checkpoint to those of the checkpoints.
func (f *feed) keepFiles(present int) {
	f.kept.Add(f.files)
	f.files = books.Contents{}
	f.file = f.files.Of(present)
}

// full tells whether a lane asks for a checkpoint.
func (f *feeder) full() bool {
	for _, out := range f.outputs {
		if out.lane != nil && out.lane.Full() {
			return true
		}
	}
	return false
}

// sharesSince is what came to regions between two states of their accounts.
func sharesSince(then, now []books.Region) []regionShare {
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
