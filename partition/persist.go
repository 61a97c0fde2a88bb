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

// PersistentRuns makes spilled runs outlive the process, so that a sort of the same entries into the same regions can begin with
// those that an earlier one has finished. Who calls keeps account of what the runs hold: a lane's run holds what the lane
// took since the one before.
type PersistentRuns struct {
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
	Name      string `json:"name"`
	Size      int64  `json:"size"` // of the run
	FooterLen int    `json:"tail"` // bytes of its description, at its end
	FooterSum uint32 `json:"sum"`  // CRC32C of these
	Entries   int64  `json:"entries"`
}

// ErrStaleRuns says that kept runs are not what they were: one is missing, or has changed.
var ErrStaleRuns = errors.New("the sorted runs that were kept can't be used")

// runFooter describes a kept run. It stands behind the blocks.
type runFooter struct {
	Starts     []int64     `json:"starts"`
	Largest    int         `json:"largest"`
	Packed     int         `json:"packed"`
	Counts     []int64     `json:"counts"` // entries a region
	Data       int64       `json:"data"`   // bytes of keys and payloads
	Level      int         `json:"zeros"`
	Candidates [][]byte    `json:"cuts"`
	Step       int64       `json:"step"`
	Marks      []indexMark `json:"places"`
}

type indexMark struct {
	At  int64  `json:"at"`
	Key []byte `json:"key"`
}

// writeFooter describes the run behind its blocks. On a local disk it is not forced there: that would make the sort wait for it, and
// what a process has written is there when it dies. Only a machine that goes down loses some, which CheckRun finds.
func (w *runWriter) writeFooter(c *splitSample) error {
	c.compact()
	run := w.run
	t := runFooter{Starts: run.starts, Largest: run.largest, Packed: run.largestStored, Counts: w.counts, Data: w.data,
		Level: c.level, Step: run.index.step}
	for _, m := range c.candidates {
		t.Candidates = append(t.Candidates, c.key(m))
	}
	for _, p := range run.index.marks {
		t.Marks = append(t.Marks, indexMark{p.at, p.key})
	}
	text, err := json.Marshal(&t)
	if err != nil {
		return err
	}
	run.footerLen, run.footerSum = len(text), crc32.Checksum(text, castagnoli)
	_, err = w.file.Write(text)
	return err
}

func (r *spilledRun) file() RunFile {
	return RunFile{r.name, r.size() + int64(r.footerLen), r.footerLen, r.footerSum, r.entries}
}

// restore begins with the runs of an earlier sort.
func (s *Sorter) restore() error {
	if err := s.folder.clear(s.persistent.Runs); err != nil {
		return fmt.Errorf("%w: %w", ErrStaleRuns, err)
	}
	for _, f := range s.persistent.Runs {
		r, t, err := openPersistent(s.persistent.Store, f, s.regions.Len())
		if err != nil {
			return fmt.Errorf("%w: %s: %w", ErrStaleRuns, s.persistent.Store.Path(f.Name), err)
		}
		s.addRun(r)
		s.stats.Entries += r.entries
		s.stats.Bytes += t.Data
		s.sample.merge(t.sample())
	}
	return nil
}

// clear deletes what is in the caller's store besides some runs: what a killed sort has left half done.
func (f *folder) clear(runs []RunFile) error {
	names, err := f.persistent.List()
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
		if err := f.persistent.Remove(name); err != nil {
			return err
		}
	}
	return nil
}

// CheckRun says what is wrong with a run of a sort into so many regions. Of one that may not have come to the disk all
// blocks are read.
func CheckRun(store Store, f RunFile, regions int, blocks bool) error {
	r, _, err := openPersistent(store, f, regions)
	if err != nil {
		return fmt.Errorf("%s: %w", store.Path(f.Name), err)
	}
	if !blocks {
		return nil
	}
	if err := r.open(); err != nil {
		return err
	}
	stored, entries := make([]byte, r.largestStored), make([]byte, r.largest)
	for at := int64(0); at < r.size() && err == nil; {
		_, at, err = r.readBlock(at, stored, entries)
	}
	return errors.Join(err, r.close())
}

// openPersistent reads a kept run's description. Its blocks have checksums of their own.
func openPersistent(store Store, f RunFile, regions int) (*spilledRun, *runFooter, error) {
	if f.Name != filepath.Base(f.Name) || f.FooterLen < 0 || int64(f.FooterLen) > f.Size {
		return nil, nil, errors.New("its record makes no sense")
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
	text := make([]byte, f.FooterLen)
	if _, err := in.ReadAt(text, f.Size-int64(f.FooterLen)); err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	if crc32.Checksum(text, castagnoli) != f.FooterSum {
		return nil, nil, errors.New("its description has changed")
	}
	t, err := parseFooter(text, f, regions)
	if err != nil {
		return nil, nil, err
	}
	return &spilledRun{store: store, name: f.Name, starts: t.Starts, largest: t.Largest, largestStored: t.Packed, index: t.index(),
		entries: f.Entries, footerLen: f.FooterLen, footerSum: f.FooterSum}, t, nil
}

// parseFooter reads a description and holds it against what the run can be.
func parseFooter(text []byte, f RunFile, regions int) (*runFooter, error) {
	t := new(runFooter)
	if err := json.Unmarshal(text, t); err != nil {
		return nil, err
	}
	size := f.Size - int64(f.FooterLen)
	var entries int64
	least := int64(0)
	for _, n := range t.Counts {
		entries, least = entries+n, min(least, n)
	}
	switch {
	case len(t.Starts) != regions+1 || len(t.Counts) != regions:
		return nil, fmt.Errorf("it has %d regions, and there are %d", len(t.Counts), regions)
	case !slices.IsSorted(t.Starts) || t.Starts[0] != 0 || t.Starts[regions] != size,
		entries != f.Entries, least < 0, t.Largest < 0 || t.Largest > maxEntry+maxBlock, t.Packed < 0 || t.Packed > maxStoredLen(t.Largest),
		t.Level < 0 || t.Level > 64, t.Step < 0:
		return nil, errors.New("its description does not fit it")
	}
	for _, p := range t.Marks {
		if p.At < 0 || p.At > size {
			return nil, errors.New("its description does not fit it")
		}
	}
	return t, nil
}

func (t *runFooter) index() sparseIndex {
	p := sparseIndex{step: t.Step}
	for _, m := range t.Marks {
		p.marks = append(p.marks, blockMark{m.At, m.Key})
		p.size += len(m.Key)
	}
	return p
}

func (t *runFooter) sample() *splitSample {
	c := &splitSample{level: t.Level}
	for _, key := range t.Candidates {
		c.offerKey(key)
	}
	return c
}

// replace records that a kept run has come in the place of others.
func (s *Sorter) replace(from []*spilledRun, to *spilledRun) error {
	if s.persistent == nil {
		return nil
	}
	names := make([]string, len(from))
	for i, r := range from {
		names[i] = r.name
	}
	return s.persistent.Replace(names, to.file())
}

// sampleOf joins the candidates for cuts of kept runs, as their descriptions have them: which part of a key is the row, only
// the lanes know.
func (s *Sorter) sampleOf(runs []*spilledRun) (*splitSample, error) {
	all := new(splitSample)
	if s.persistent == nil {
		return all, nil
	}
	for _, r := range runs {
		_, t, err := openPersistent(s.persistent.Store, r.file(), s.regions.Len())
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrStaleRuns, r.path(), err)
		}
		all.merge(t.sample())
	}
	return all, nil
}
