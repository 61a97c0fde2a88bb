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
// begin with the runs of an earlier one. The caller records the content of the runs: a shard's run holds the entries
// committed to the shard since its previous run.
//
// The record decides, not the store: a complete and sound run does not count unless the record names it. The input of
// an unrecorded run is read again, so its entries would be sorted twice. Nothing in this file may use a run because it
// exists.
//
// What a kill leaves behind, by the stage of a run's life:
//
//	while it is written       a file of any length, without a name in the record: deleted by clear
//	written, not recorded     the same
//	recorded                  a run that restore opens; its input is not read again
//	merged, not recorded      the old runs count; the new one is deleted by clear
//	merged and recorded       the new run counts; old ones that are still there are deleted by clear
type PersistentRuns struct {
	// Store holds the runs of this sort only. Every run in it that is not in Runs is deleted when the sort begins,
	// because without the caller's record nobody knows which input it holds. The caller deletes the rest.
	Store Store
	// Runs are those of an earlier sort.
	Runs []RunFile
	// Replace records that a run has replaced others, which are deleted when it returns. It is called from several
	// goroutines. If the process is killed before Replace returns, the old runs count and the new one is deleted at the
	// next start; if it is killed afterwards, the other way round. So each entry is in exactly one run that counts.
	Replace func(from []string, to RunFile) error
}

// RunFile is a run in a store, by its name there.
//
// It is part of the caller's record, and the only proof that a file is the run that was written. The file's size and
// its footer are compared with it before a block is read.
type RunFile struct {
	Name      string `json:"name"`
	Size      int64  `json:"size"` // bytes, of blocks and footer
	FooterLen int    `json:"tail"` // bytes of the footer, at the end
	FooterSum uint32 `json:"sum"`  // CRC32C of the footer
	Entries   int64  `json:"entries"`
}

// ErrStaleRuns says that a persistent run is missing or has changed.
var ErrStaleRuns = errors.New("the sorted runs that were kept can't be used")

// runFooter is the JSON at the end of a persistent run, after its blocks. RunFile, and so the caller's record, has its
// length and checksum: the footer of another run does not match.
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
//
// These are the effects of a bug in the writer with a valid checksum. Counts that don't add up are ErrStaleRuns. A
// largest or packed that is too small is ErrDamaged. Wrong starts, or a mark that is too far on, take entries from a
// region, whose files then lack the digest of the sorted entries. Another sample cuts other slices, which don't fit
// those that an earlier process has recorded. None of these passes unnoticed, but each costs another sort.
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

// writeFooter writes the footer after the blocks. On a local disk nothing is synced, because the sort would have to
// wait for the disk, and the kernel has everything that a killed process wrote. Only a crash of the machine loses some
// of it, which CheckRun detects.
func (w *runWriter) writeFooter(c *splitSample) error {
	// The stored candidates are sorted, within the limits, and have no key twice.
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
	// They go into the RunFile, not into the file, because a footer can't vouch for itself.
	run.footerLen, run.footerSum = len(text), crc32.Checksum(text, castagnoli)
	_, err = w.file.Write(text)
	return err
}

// file is the run's record. It is complete only after writeFooter; before that it lacks the footer's length and
// checksum.
func (r *spilledRun) file() RunFile {
	return RunFile{r.name, r.size() + int64(r.footerLen), r.footerLen, r.footerSum, r.entries}
}

// restore begins with the runs of an earlier sort.
//
// It is all or nothing: after an error some runs may be in the list, and the sort must not be used. The caller has
// checked the runs before it offers them (CheckRun), so an error here means that they have changed since.
func (s *Sorter) restore() error {
	// This comes first, because the names of new runs continue after those in the store: a leftover of a killed process
	// would otherwise block a run of its name.
	if err := s.folder.clear(s.persistent.Runs); err != nil {
		return fmt.Errorf("%w: %w", ErrStaleRuns, err)
	}
	for _, f := range s.persistent.Runs {
		r, t, err := openPersistent(s.persistent.Store, f, s.regions.Len(), false)
		if err != nil {
			return fmt.Errorf("%w: %s: %w", ErrStaleRuns, s.persistent.Store.Path(f.Name), err)
		}
		s.addRun(r)
		// The counts and the sample are those of the entries in the run, so the sort behaves as if it had read them
		// itself. Slices are cut by the sample; without it a resumed run would cut other ones.
		s.stats.Entries += r.entries
		s.stats.Bytes += t.Data
		s.sample.merge(t.sample())
	}
	return nil
}

// clear deletes everything but the given runs from the caller's store, such as the half-written runs of a killed sort.
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
		// A new run gets a number above all of these: Create refuses the name of a run that exists.
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

// CheckRun says what is wrong with a run of a sort with that many regions. With blocks set it reads all blocks too, for
// a run that may not have reached the disk.
//
// It changes nothing, so it may be called for runs that turn out not to be used.
func CheckRun(store Store, f RunFile, regions int, blocks bool) error {
	r, _, err := openPersistent(store, f, regions, false)
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
	// It goes from block to block by their lengths, over all regions, because a merge would come to every block.
	for at := (blockStart{}); at.offset < r.size() && err == nil; {
		_, at, err = r.readBlock(at, r.size(), stored, entries)
	}
	return errors.Join(err, r.close())
}

// openPersistent reads a persistent run's footer. The blocks have their own checksums.
func openPersistent(store Store, f RunFile, regions int, keep bool) (*spilledRun, *runFooter, error) {
	// The record is text that could have been changed: a name with a folder in it would open, and later delete, a file
	// elsewhere.
	if f.Name != filepath.Base(f.Name) || f.FooterLen < 0 || int64(f.FooterLen) > f.Size {
		return nil, nil, errors.New("its record contradicts itself")
	}
	in, err := store.Open(f.Name)
	if err != nil {
		return nil, nil, err
	}
	kept := false
	defer func() {
		if !kept {
			_ = in.Close() // it was only read
		}
	}()
	size, err := in.Size()
	if err != nil {
		return nil, nil, err
	}
	// A shorter file was not completely on the disk when the machine went down, or its disk is damaged.
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
	r := &spilledRun{store: store, name: f.Name, starts: slices.Clone(t.Starts), largest: t.Largest,
		largestStored: t.Packed, index: t.index(),
		entries: f.Entries, footerLen: f.FooterLen, footerSum: f.FooterSum}
	// Otherwise it is closed again, because a sort may have more runs than a process may have open files. planMerge
	// merges them first.
	if kept = keep; kept {
		r.in = in
	}
	return r, t, nil
}

// parseFooter parses a footer and checks it against the run's size and the number of regions. It checks the offsets;
// the blocks are checked as they are read.
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
	// Buffers are made by largest and packed, and reads begin at starts, so these must fit the file. Reading the blocks
	// shows whether they are right.
	case !slices.IsSorted(t.Starts) || t.Starts[0] != 0 || t.Starts[regions] != size,
		entries != f.Entries, least < 0, t.Largest < 0 || t.Largest > maxEntry+maxBlock, t.Packed < 0 ||
			t.Packed > maxStoredLen(t.Largest),
		t.Level < 0 || t.Level > 64, t.Step < 0:
		return nil, errors.New("its description does not fit it")
	}
	// The keys of marks are not compared with the blocks, which would have to be read for it. See runFooter for the
	// effect of a wrong key.
	for _, p := range t.Marks {
		if p.At < 0 || p.At > size {
			return nil, errors.New("its description does not fit it")
		}
	}
	return t, nil
}

func (t *runFooter) index() sparseIndex {
	p := sparseIndex{step: t.Step, marks: make([]blockMark, 0, len(t.Marks))}
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
	// The new run is complete, and its writer closed. The old ones are deleted by mergeGroup, after this has returned.
	names := make([]string, len(from))
	for i, r := range from {
		names[i] = r.name
	}
	return s.persistent.Replace(names, to.file())
}

// sampleOf merges the split samples from the footers of persistent runs. It can't make them from the entries, because
// only the shards know which part of a key is the row.
//
// A merged run without the candidates of its sources would be sound and complete, and still change the cuts of the next
// process that resumes with it.
func (s *Sorter) sampleOf(runs []*spilledRun) (*splitSample, error) {
	all := new(splitSample)
	if s.persistent == nil {
		return all, nil
	}
	for _, r := range runs {
		_, t, err := openPersistent(s.persistent.Store, r.file(), s.regions.Len(), false)
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrStaleRuns, r.path(), err)
		}
		all.merge(t.sample())
	}
	return all, nil
}
