package sorting

import (
	"bulkload/jobs/base/counts"
	"bulkload/jobs/pipeline/checkpoint"
)

// checkpointer collects what a goroutine will record at its next checkpoint. It holds differences from the last
// checkpoint, because a run that resumes adds up the journal's lines.
type checkpointer struct {
	store   *checkpoint.RunStore // nil: no checkpoints
	rejects *checkpoint.RejectLog
	ended   []checkpoint.EndedSplit
	split   int                     // the split being read; -1: none
	read    int64                   // at the last checkpoint
	skipped int64                   // likewise
	regions [][]counts.RegionCounts // at the last checkpoint, of each output

	filtered []int64 // likewise
}

func (s *SortStage) newCheckpointer(number int) checkpointer {
	c := checkpointer{store: s.Checkpoints, split: -1, rejects: checkpoint.NewRejectLog(s.Checkpoints, s.Rejects, number),
		filtered: make([]int64, len(s.Outputs))}
	for i := range s.Outputs {
		c.regions = append(c.regions, make([]counts.RegionCounts, s.Outputs[i].regions()))
	}
	return c
}

// end records that the piece was read to its end.
func (c *checkpointer) end(p checkpoint.Piece, bytes int64) {
	c.ended = append(c.ended, checkpoint.EndedSplit{Split: p.Number, Bytes: bytes})
	c.split = -1
}

// checkpoint makes everything durable that the goroutine has read since its last checkpoint. It runs between two
// records, so runs, counts and position describe the same records.
//
// The order is fixed: spill the runs, flush the rejects, then append the line. The differences are reset only after the
// line was appended. After an error the run ends, and the next process reads the same records again.
func (f *sortWorker) checkpoint() error {
	c := &f.checkpointer
	// Nothing was read since the last checkpoint, so the shards are empty.
	if f.records.Read == c.read && c.ended == nil {
		return nil
	}
	if err := c.store.Begin(); err != nil {
		return err
	}
	line := &checkpoint.Checkpoint{Read: f.records.Read - c.read, Skipped: f.records.Skipped - c.skipped, Ended: c.ended}
	if c.split >= 0 {
		f.countFile()
		// The record at this offset is already in the shards, so a run that resumes skips up to and including it.
		line.Part = &checkpoint.SplitPart{Split: c.split, LastOffset: f.records.At, Bytes: f.records.In.Bytes()}
	}
	for i, out := range f.outputs {
		if out.shard == nil {
			continue
		}
		run, err := out.shard.Spill()
		if err != nil {
			return err
		}
		line.Shares = append(line.Shares, checkpoint.RunShare{Output: i, Run: run, Regions: checkpoint.SharesSince(
			c.regions[i], out.regions), Files: checkpoint.FileShares(out.files), Filtered: out.filtered - c.filtered[i]})
	}
	var err error
	if line.Rejects, err = c.rejects.CutSpan(); err != nil {
		return err
	}
	if err := c.store.Add(line); err != nil {
		return err
	}
	// Only now, because the line is appended.
	c.read, c.skipped, c.ended = f.records.Read, f.records.Skipped, nil
	for i, out := range f.outputs {
		out.moveFiles(f.file)
		copy(c.regions[i], out.regions)
		c.filtered[i] = out.filtered
	}
	return nil
}

// moveFiles adds the contents since the last checkpoint to those at all checkpoints.
func (f *outputShard) moveFiles(present int) {
	f.checkpointed.Add(f.files)
	f.files = counts.Contents{}
	f.file = f.files.OfFile(present)
}

// full reports whether one of the shards is full.
func (f *sortWorker) full() bool {
	for _, out := range f.outputs {
		if out.shard != nil && out.shard.Full() {
			return true
		}
	}
	return false
}
