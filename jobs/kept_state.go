package jobs

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"bulkload/ingest"
	"bulkload/jobs/books"
	"bulkload/partition"
)

// keptState is what the checkpoints of earlier processes come to.
type keptState struct {
	read    int64
	ended   map[int]int64     // bytes of the splits that were read to their ends
	parts   map[int]splitPart // of the others
	rejects []*rejectSpan
	outputs []keptOutput
}

// keptOutput is one output's part of it.
type keptOutput struct {
	runs     []partition.RunFile
	regions  []books.Region
	files    books.Contents
	filtered int64
}

// piece is a split to be read, or what is left of one.
type piece struct {
	ingest.Split
	number int   // in the list of all
	after  int64 // the records up to this offset are sorted already; -1: none
}

func newKeptState(regions []int) *keptState {
	s := &keptState{ended: map[int]int64{}, parts: map[int]splitPart{}}
	for _, n := range regions {
		s.outputs = append(s.outputs, keptOutput{regions: make([]books.Region, n), files: books.Contents{}})
	}
	return s
}

func parseLine(text []byte) (line journalLine, err error) {
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

// take adds a line of the journal.
func (s *keptState) take(line journalLine, splits int) error {
	switch {
	case line.Merged != nil:
		return s.takeMerged(line.Merged)
	case line.Checkpoint != nil:
		return s.takeCheckpoint(line.Checkpoint, splits)
	}
	return nil
}

func (s *keptState) takeCheckpoint(c *checkpoint, splits int) error {
	s.read += c.Read
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
		s.rejects = append(s.rejects, c.Rejects)
	}
	for i := range c.Shares {
		if err := s.takeShare(&c.Shares[i]); err != nil {
			return err
		}
	}
	return nil
}

func (s *keptState) takeShare(share *runShare) error {
	if share.Output < 0 || share.Output >= len(s.outputs) {
		return fmt.Errorf("output %d of %d", share.Output, len(s.outputs))
	}
	out := &s.outputs[share.Output]
	if len(out.regions) == 0 {
		return nil // it is written
	}
	out.filtered += share.Filtered
	for i := range share.Files {
		out.files.Of(share.Files[i].File).Add(&share.Files[i].Content)
	}
	if share.Run.Name != "" {
		out.runs = append(out.runs, share.Run)
	}
	for i := range share.Regions {
		r := &share.Regions[i]
		if r.Region < 0 || r.Region >= len(out.regions) {
			return fmt.Errorf("region %d of %d", r.Region, len(out.regions))
		}
		sum := r.sorted()
		out.regions[r.Region].Add(&sum)
	}
	return nil
}

func (s *keptState) takeMerged(m *replacement) error {
	if m.Output < 0 || m.Output >= len(s.outputs) {
		return fmt.Errorf("output %d of %d", m.Output, len(s.outputs))
	}
	out := &s.outputs[m.Output]
	if len(out.regions) == 0 {
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

// pieces are what is left to be read of the splits.
func (s *keptState) pieces(splits []ingest.Split) []piece {
	var left []piece
	for i, split := range splits {
		if _, ended := s.ended[i]; ended {
			continue
		}
		p := piece{split, i, -1}
		if part, ok := s.parts[i]; ok {
			p.after = part.Through
		}
		left = append(left, p)
	}
	return left
}

// bytes are those of the input that are sorted already; whole only those of splits that were read to their ends.
func (s *keptState) bytes() (all, whole int64) {
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

// spilled is the size of the runs that are there; a run without a keeper has none.
func (k *keeper) spilled() int64 {
	if k == nil {
		return 0
	}
	var sum int64
	for _, out := range k.state.outputs {
		for _, r := range out.runs {
			sum += r.Size
		}
	}
	return sum
}
