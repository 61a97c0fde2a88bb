package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"bulkload/ingest"
	"bulkload/jobs/base/counts"
	"bulkload/partition"
)

// ResumeState is the sum of all checkpoints of earlier processes.
//
// It is a sum of differences: each line holds what one goroutine did since its previous line. If a line is applied
// twice, or left out while later ones count, then counts, digests and sorted runs disagree, and the run fails when its
// regions are compared.
type ResumeState struct {
	Read    int64
	Skipped int64             // lines that are not records
	ended   map[int]int64     // bytes of each split that was read to its end
	parts   map[int]SplitPart // the splits that were read in part
	Rejects []*rejectSpan
	Outputs []outputState
}

// outputState is one output's part of a ResumeState.
type outputState struct {
	runs     []partition.RunFile
	Regions  []counts.RegionCounts
	Files    counts.Contents
	Filtered int64
}

// Piece is a split to be read, or the rest of one.
type Piece struct {
	ingest.Split
	Number      int   // index in the list of all splits
	ResumeAfter int64 // records up to this offset are sorted already; -1: none
}

// NewResumeState returns the state of a run without checkpoints. regions has the number of regions of each output.
func NewResumeState(regions []int) *ResumeState {
	s := &ResumeState{ended: map[int]int64{}, parts: map[int]SplitPart{}}
	for _, n := range regions {
		s.Outputs = append(s.Outputs, outputState{Regions: make([]counts.RegionCounts, n), Files: counts.Contents{}})
	}
	return s
}

// ParseLine parses a line of the journal after the header.
func ParseLine(text []byte) (line Line, err error) {
	err = json.Unmarshal(text, &line)
	kinds := 0
	for _, is := range []bool{line.Checkpoint != nil, line.Merged != nil, line.Boot != ""} {
		if is {
			kinds++
		}
	}
	if err == nil && kinds != 1 {
		err = errors.New("a line of another kind")
	}
	return line, err
}

// Apply adds a line of the journal to the state. Lines must be applied in their order: a merge replaces runs of
// earlier lines.
func (s *ResumeState) Apply(line Line, splits int) error {
	switch {
	case line.Merged != nil:
		return s.applyMerge(line.Merged)
	case line.Checkpoint != nil:
		return s.applyCheckpoint(line.Checkpoint, splits)
	}
	return nil
}

func (s *ResumeState) applyCheckpoint(c *Checkpoint, splits int) error {
	s.Read += c.Read
	s.Skipped += c.Skipped
	for _, e := range c.Ended {
		if e.Split < 0 || e.Split >= splits {
			return fmt.Errorf("split %d of %d", e.Split, splits)
		}
		// An earlier line may have recorded a part of this split. Pieces and Bytes look in ended first.
		s.ended[e.Split] = e.Bytes
	}
	if p := c.Part; p != nil {
		if p.Split < 0 || p.Split >= splits {
			return fmt.Errorf("split %d of %d", p.Split, splits)
		}
		// A later part covers the earlier one: the same goroutine read both, in order.
		s.parts[p.Split] = *p
	}
	if c.Rejects != nil {
		s.Rejects = append(s.Rejects, c.Rejects)
	}
	for i := range c.Shares {
		if err := s.applyShare(&c.Shares[i]); err != nil {
			return err
		}
	}
	return nil
}

func (s *ResumeState) applyShare(share *RunShare) error {
	if share.Output < 0 || share.Output >= len(s.Outputs) {
		return fmt.Errorf("output %d of %d", share.Output, len(s.Outputs))
	}
	out := &s.Outputs[share.Output]
	// The output is already written: it needs no rows, and its runs may be deleted.
	if len(out.Regions) == 0 {
		return nil
	}
	out.Filtered += share.Filtered
	for i := range share.Files {
		out.Files.OfFile(share.Files[i].File).Add(&share.Files[i].Content)
	}
	if share.Run.Name != "" {
		out.runs = append(out.runs, share.Run)
	}
	for i := range share.Regions {
		r := &share.Regions[i]
		if r.Region < 0 || r.Region >= len(out.Regions) {
			return fmt.Errorf("region %d of %d", r.Region, len(out.Regions))
		}
		sum := r.sorted()
		out.Regions[r.Region].Add(&sum)
	}
	return nil
}

func (s *ResumeState) applyMerge(m *replacement) error {
	if m.Output < 0 || m.Output >= len(s.Outputs) {
		return fmt.Errorf("output %d of %d", m.Output, len(s.Outputs))
	}
	out := &s.Outputs[m.Output]
	if len(out.Regions) == 0 {
		return nil
	}
	// The merged run has no counts of its own: its entries are those of the runs that it replaces, counted by their lines.
	before := len(out.runs)
	out.runs = slices.DeleteFunc(out.runs, func(r partition.RunFile) bool { return slices.Contains(m.From, r.Name) })
	// Otherwise some rows would be in two runs, or in none.
	if before-len(out.runs) != len(m.From) {
		return errors.New("a merged run takes the place of runs that are not there")
	}
	out.runs = append(out.runs, m.Run)
	return nil
}

// Pieces returns the parts of the splits that are still to be read. A split with a checkpoint is read from its start
// again, and the reader skips the records up to ResumeAfter, so no input format must be able to start in the middle of
// a split.
func (s *ResumeState) Pieces(splits []ingest.Split) []Piece {
	var left []Piece
	for i, split := range splits {
		if _, ended := s.ended[i]; ended {
			continue
		}
		p := Piece{split, i, -1}
		if part, ok := s.parts[i]; ok {
			p.ResumeAfter = part.LastOffset
		}
		left = append(left, p)
	}
	return left
}

// Bytes returns how many bytes of the input are already sorted; whole counts only splits that were read to their ends.
func (s *ResumeState) Bytes() (all, whole int64) {
	for _, n := range s.ended {
		whole += n
	}
	all = whole
	for i, part := range s.parts {
		if _, ended := s.ended[i]; !ended {
			all += part.Bytes
		}
	}
	return all, whole
}

// Spilled returns the size of the existing runs; 0 without a store.
func (k *RunStore) Spilled() int64 {
	if k == nil {
		return 0
	}
	var sum int64
	for _, out := range k.State.Outputs {
		for _, r := range out.runs {
			sum += r.Size
		}
	}
	return sum
}
