package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"bulkload/ingest"
	"bulkload/jobs/books"
	"bulkload/partition"
)

// State is what the checkpoints of earlier processes come to.
type State struct {
	Read    int64
	ended   map[int]int64     // bytes of the splits that were read to their ends
	parts   map[int]SplitPart // of the others
	Rejects []*rejectSpan
	Outputs []outputState
}

// outputState is one output's part of it.
type outputState struct {
	runs     []partition.RunFile
	Regions  []books.Region
	Files    books.Contents
	Filtered int64
}

// Piece is a split to be read, or what is left of one.
type Piece struct {
	ingest.Split
	Number int   // in the list of all
	After  int64 // the records up to this offset are sorted already; -1: none
}

// NewState is the state of a run of which nothing is kept, with so many regions of each output.
func NewState(regions []int) *State {
	s := &State{ended: map[int]int64{}, parts: map[int]SplitPart{}}
	for _, n := range regions {
		s.Outputs = append(s.Outputs, outputState{Regions: make([]books.Region, n), Files: books.Contents{}})
	}
	return s
}

// ParseLine reads a line of the journal after the first.
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

// Take adds a line of the journal.
func (s *State) Take(line Line, splits int) error {
	switch {
	case line.Merged != nil:
		return s.takeMerged(line.Merged)
	case line.Checkpoint != nil:
		return s.takeCheckpoint(line.Checkpoint, splits)
	}
	return nil
}

func (s *State) takeCheckpoint(c *Checkpoint, splits int) error {
	s.Read += c.Read
	for _, e := range c.Ended {
		if e.Split < 0 || e.Split >= splits {
			return fmt.Errorf("split %d of %d", e.Split, splits)
		}
		s.ended[e.Split] = e.Bytes
	}
	if p := c.Part; p != nil {
		if p.Split < 0 || p.Split >= splits {
			return fmt.Errorf("split %d of %d", p.Split, splits)
		}
		s.parts[p.Split] = *p
	}
	if c.Rejects != nil {
		s.Rejects = append(s.Rejects, c.Rejects)
	}
	for i := range c.Shares {
		if err := s.takeShare(&c.Shares[i]); err != nil {
			return err
		}
	}
	return nil
}

func (s *State) takeShare(share *RunShare) error {
	if share.Output < 0 || share.Output >= len(s.Outputs) {
		return fmt.Errorf("output %d of %d", share.Output, len(s.Outputs))
	}
	out := &s.Outputs[share.Output]
	if len(out.Regions) == 0 {
		return nil // it is written
	}
	out.Filtered += share.Filtered
	for i := range share.Files {
		out.Files.Of(share.Files[i].File).Add(&share.Files[i].Content)
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

func (s *State) takeMerged(m *replacement) error {
	if m.Output < 0 || m.Output >= len(s.Outputs) {
		return fmt.Errorf("output %d of %d", m.Output, len(s.Outputs))
	}
	out := &s.Outputs[m.Output]
	if len(out.Regions) == 0 {
		return nil
	}
	before := len(out.runs)
	out.runs = slices.DeleteFunc(out.runs, func(r partition.RunFile) bool { return slices.Contains(m.From, r.Name) })
	if before-len(out.runs) != len(m.From) {
		return errors.New("a merged run takes the place of runs that are not there")
	}
	out.runs = append(out.runs, m.Run)
	return nil
}

// Pieces are what is left to be read of the splits.
func (s *State) Pieces(splits []ingest.Split) []Piece {
	var left []Piece
	for i, split := range splits {
		if _, ended := s.ended[i]; ended {
			continue
		}
		p := Piece{split, i, -1}
		if part, ok := s.parts[i]; ok {
			p.After = part.Through
		}
		left = append(left, p)
	}
	return left
}

// Bytes are those of the input that are already sorted; whole only those of splits that were read to their ends.
func (s *State) Bytes() (all, whole int64) {
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

// Spilled is the size of the runs that are there; a run without a keeper has none.
func (k *Keeper) Spilled() int64 {
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
