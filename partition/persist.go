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

// PersistentRuns makes spilled runs outlive the process, so that a sort of the same entries into the same regions can
// begin with the runs of an earlier one. The caller records what the runs contain: a shard's run holds what was
// committed to the shard since its run before.
type PersistentRuns struct {
	// Store holds the runs of this sort only. Everything in it that is not in Runs is deleted when the sort begins:
	// without the caller's record nobody knows which input it holds. The caller deletes the rest.
	Store Store
	// Runs are those of an earlier sort.
	Runs []RunFile
	// Replace records that a run has replaced others, which are deleted when it returns. It is called from several
	// goroutines. If the process is killed before it returns, the old runs count and the new one is deleted at the
	// next start; after it, the other way round. So each entry is in exactly one run that counts.
	Replace func(from []string, to RunFile) error
}

// RunFile is a run in a store, by its name there.
type RunFile struct {
	Name      string `json:"name"`
	Size      int64  `json:"size"` // bytes, of blocks and footer
	FooterLen int    `json:"tail"` // bytes of the footer, at the end
	FooterSum uint32 `json:"sum"`  // CRC32C of the footer
	Entries   int64  `json:"entries"`
}

// ErrStaleRuns says that a persistent run is missing or has changed.
var ErrStaleRuns = errors.New("the sorted runs that were kept can't be used")

// runFooter is the JSON at the end of a persistent run, after its blocks. Its length and checksum are in RunFile,
// that is, in the caller's record: a footer that belongs to another run does not match.
//
//	starts       offset of each region, and the end of the blocks
//	largest      maximum length of a block's entries
//	packed       maximum length of a stored block
//	counts       entries of each region
//	data         bytes of keys and payloads
//	zeros, cuts  the split sample: its level and candidates
//	step, places the sparse index: its step, and offset and first key of some blocks
//
// The JSON names are older than the fields' names, and frozen.
type runFooter struct {
	Starts     []int64     `json:"starts"`
	Largest    int         `json:"largest"`
	Packed     int         `json:"packed"`
	Counts     []int64     `json:"counts"` // entries of each region
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

// writeFooter writes the footer after the blocks. On a local disk nothing is synced: that would make the sort wait
// for the disk, and the kernel has everything that a killed process wrote. Only a crash of the machine loses some of
// it, which CheckRun finds.
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

// clear deletes everything but the given runs from the caller's store: what a killed sort left half written.
func (f *folder) clear(runs []RunFile) error {
	names, err := f.persistent.List()
	if len(runs) == 0 && err != nil {
		return nil // usually it does not exist; if there is another problem, the first spill reports it
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

// CheckRun returns what is wrong with a run of a sort with so many regions. blocks: all blocks are read too, for a
// run that may not have reached the disk.
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

// openPersistent reads a persistent run's footer. The blocks have their own checksums.
func openPersistent(store Store, f RunFile, regions int) (*spilledRun, *runFooter, error) {
	if f.Name != filepath.Base(f.Name) || f.FooterLen < 0 || int64(f.FooterLen) > f.Size {
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

// parseFooter parses a footer and checks it against the run's size and the number of regions. Offsets are
// checked here, the blocks as they are read.
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

// replace records that a persistent run has replaced others.
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

// sampleOf merges the split samples of persistent runs, from their footers: only the shards know which part of a key
// is the row.
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
