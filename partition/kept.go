package partition

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path/filepath"
	"slices"
)

// Kept makes spilled runs outlive the process, so that a sort of the same entries into the same regions can begin with
// those that an earlier one has finished. Who calls keeps account of what the runs hold: a lane's run holds what the lane
// took since the one before.
type Kept struct {
	// Store holds the runs of this sort alone. What is in it and not among Runs is deleted when the sort begins. The rest is
	// the caller's to delete.
	Store Store
	// Runs are those that an earlier sort has left.
	Runs []RunFile
	// Replace records that a run has come in the place of others, which are deleted when it returns. It is called
	// from several goroutines.
	Replace func(from []string, to RunFile) error
}

// RunFile is a run in a store, by its name there.
type RunFile struct {
	Name    string `json:"name"`
	Size    int64  `json:"size"` // of the run
	Tail    int    `json:"tail"` // bytes of its description, at its end
	Sum     uint32 `json:"sum"`  // CRC32C of these
	Entries int64  `json:"entries"`
}

// ErrKept says that kept runs are not what they were: one is missing, or has changed.
var ErrKept = errors.New("the sorted runs that were kept can't be used")

// runTail describes a kept run. It stands behind the blocks.
type runTail struct {
	Starts  []int64    `json:"starts"`
	Largest int        `json:"largest"`
	Packed  int        `json:"packed"`
	Counts  []int64    `json:"counts"` // entries a region
	Data    int64      `json:"data"`   // bytes of keys and payloads
	Zeros   int        `json:"zeros"`
	Cuts    [][]byte   `json:"cuts"`
	Step    int64      `json:"step"`
	Places  []tailMark `json:"places"`
}

type tailMark struct {
	At  int64  `json:"at"`
	Key []byte `json:"key"`
}

// keep describes the run behind its blocks. On a local disk it is not forced there: that would make the sort wait for it, and
// what a process has written is there when it dies. Only a machine that goes down loses some, which CheckRun finds.
func (w *runWriter) keep(c *cuts) error {
	c.tidy()
	run := w.run
	t := runTail{Starts: run.starts, Largest: run.largest, Packed: run.packed, Counts: w.counts, Data: w.data,
		Zeros: c.zeros, Step: run.places.step}
	for _, m := range c.marks {
		t.Cuts = append(t.Cuts, c.key(m))
	}
	for _, p := range run.places.all {
		t.Places = append(t.Places, tailMark{p.at, p.key})
	}
	text, err := json.Marshal(&t)
	if err != nil {
		return err
	}
	run.tail, run.sum = len(text), crc32.Checksum(text, castagnoli)
	_, err = w.file.Write(text)
	return err
}

func (r *spilledRun) file() RunFile {
	return RunFile{r.name, r.size() + int64(r.tail), r.tail, r.sum, r.entries}
}

// takeKept begins with the runs of an earlier sort.
func (s *Sorter) takeKept() error {
	if err := s.folder.clear(s.kept.Runs); err != nil {
		return fmt.Errorf("%w: %w", ErrKept, err)
	}
	for _, f := range s.kept.Runs {
		r, t, err := openKept(s.kept.Store, f, s.regions.Len())
		if err != nil {
			return fmt.Errorf("%w: %s: %w", ErrKept, s.kept.Store.Path(f.Name), err)
		}
		s.addRun(r)
		s.stats.Entries += r.entries
		s.stats.Bytes += t.Data
		s.cuts.join(t.cuts())
	}
	return nil
}

// clear deletes what is in the caller's store besides some runs: what a killed sort has left half done.
func (f *folder) clear(runs []RunFile) error {
	names, err := f.kept.List()
	if len(runs) == 0 && err != nil {
		return nil // mostly it is not there; where more is wrong, the first spill says so
	}
	if err != nil {
		return err
	}
	wanted := map[string]bool{}
	for _, r := range runs {
		wanted[r.Name] = true
	}
	for _, name := range names {
		var number int
		if _, err := fmt.Sscanf(name, runName, &number); err == nil {
			f.runs = max(f.runs, number)
		}
		if wanted[name] {
			continue
		}
		if err := f.kept.Remove(name); err != nil {
			return err
		}
	}
	return nil
}

// CheckRun says what is wrong with a run of a sort into so many regions. Of one that may not have come to the disk all
// blocks are read.
func CheckRun(store Store, f RunFile, regions int, blocks bool) error {
	r, _, err := openKept(store, f, regions)
	if err != nil {
		return fmt.Errorf("%s: %w", store.Path(f.Name), err)
	}
	if !blocks {
		return nil
	}
	if err := r.open(); err != nil {
		return err
	}
	stored, entries := make([]byte, r.packed), make([]byte, r.largest)
	for at := int64(0); at < r.size() && err == nil; {
		_, at, err = r.readBlock(at, stored, entries)
	}
	return errors.Join(err, r.close())
}

// openKept reads a kept run's description. Its blocks have checksums of their own.
func openKept(store Store, f RunFile, regions int) (*spilledRun, *runTail, error) {
	if f.Name != filepath.Base(f.Name) || f.Tail < 0 || int64(f.Tail) > f.Size {
		return nil, nil, errors.New("its record contradicts itself")
	}
	in, err := store.Open(f.Name)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = in.Close() }() // it was only read
	size, err := in.Size()
	if err != nil {
		return nil, nil, err
	}
	if size != f.Size {
		return nil, nil, fmt.Errorf("it has %d bytes and had %d", size, f.Size)
	}
	text := make([]byte, f.Tail)
	if _, err := in.ReadAt(text, f.Size-int64(f.Tail)); err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	if crc32.Checksum(text, castagnoli) != f.Sum {
		return nil, nil, errors.New("its description has changed")
	}
	t, err := parseTail(text, f, regions)
	if err != nil {
		return nil, nil, err
	}
	return &spilledRun{store: store, name: f.Name, starts: t.Starts, largest: t.Largest, packed: t.Packed, places: t.places(),
		entries: f.Entries, tail: f.Tail, sum: f.Sum}, t, nil
}

// parseTail reads a description and holds it against what the run can be.
func parseTail(text []byte, f RunFile, regions int) (*runTail, error) {
	t := new(runTail)
	if err := json.Unmarshal(text, t); err != nil {
		return nil, err
	}
	size := f.Size - int64(f.Tail)
	var entries int64
	least := int64(0)
	for _, n := range t.Counts {
		entries, least = entries+n, min(least, n)
	}
	switch {
	case len(t.Starts) != regions+1 || len(t.Counts) != regions:
		return nil, fmt.Errorf("it has %d regions, and there are %d", len(t.Counts), regions)
	case !slices.IsSorted(t.Starts) || t.Starts[0] != 0 || t.Starts[regions] != size,
		entries != f.Entries, least < 0, t.Largest < 0 || t.Largest > maxEntry+maxBlock, t.Packed < 0 || t.Packed > blockRoom(t.Largest),
		t.Zeros < 0 || t.Zeros > 64, t.Step < 0:
		return nil, errors.New("its description does not fit it")
	}
	for _, p := range t.Places {
		if p.At < 0 || p.At > size {
			return nil, errors.New("its description does not fit it")
		}
	}
	return t, nil
}

func (t *runTail) places() places {
	p := places{step: t.Step}
	for _, m := range t.Places {
		p.all = append(p.all, blockPlace{m.At, m.Key})
		p.size += len(m.Key)
	}
	return p
}

func (t *runTail) cuts() *cuts {
	c := &cuts{zeros: t.Zeros}
	for _, key := range t.Cuts {
		c.offer(key)
	}
	return c
}

// replace records that a kept run has come in the place of others.
func (s *Sorter) replace(from []*spilledRun, to *spilledRun) error {
	if s.kept == nil {
		return nil
	}
	names := make([]string, len(from))
	for i, r := range from {
		names[i] = r.name
	}
	return s.kept.Replace(names, to.file())
}

// cutsOf joins the candidates for cuts of kept runs, as their descriptions have them: which part of a key is the row, only
// the lanes know.
func (s *Sorter) cutsOf(runs []*spilledRun) (*cuts, error) {
	all := new(cuts)
	if s.kept == nil {
		return all, nil
	}
	for _, r := range runs {
		_, t, err := openKept(s.kept.Store, r.file(), s.regions.Len())
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrKept, r.path(), err)
		}
		all.join(t.cuts())
	}
	return all, nil
}
