package ingest

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"bulkload/internal/storage"
)

// RejectsFile is the name of the file with the raw records.
const RejectsFile = "rejects.dat"

const (
	rejectsReasons = "rejects.jsonl"
	temporary      = ".tmp-" // prefix of files that are gone when Close returns

	// maxRejectBytes is how many bytes of rejects are held in memory before they go to a sorted run on disk.
	maxRejectBytes = 8 << 20
	// maxRuns bounds the files open at once when the runs are merged, and with it the stored rejects: about 2 GiB.
	maxRuns = 256
)

// Rejects stores the bad records of a run. rejects.dat holds their raw bytes, each followed by the record delimiter,
// after the heading of their files, so that it can be read as input again. rejects.jsonl holds one JSON object for each
// (file, offset, record, column, reason). Both are created with the first reject, mode 0600, and hold the rejects in
// order of file and offset.
type Rejects struct {
	fsys      storage.FS
	dir       string
	temps     string
	delimiter []byte
	inMemory  int // maxRejectBytes, except in tests

	mu      sync.Mutex
	seen    RejectCounter
	kept    []reject
	bytes   int // of kept
	runs    []string
	inputs  inputs
	heading string
	tally   rejectTally
	closed  bool
}

// NewRejects stores rejects in dir, which is created with the first one.
func NewRejects(fsys storage.FS, dir string, limit Limit, recordDelimiter []byte) *Rejects {
	return &Rejects{fsys: fsys, dir: dir, temps: dir, seen: RejectCounter{Limit: limit},
		delimiter: recordDelimiter, inMemory: maxRejectBytes}
}

// WriteIn sets an existing folder, instead of dir, for files that are not complete yet. It must be called before the
// first reject.
func (r *Rejects) WriteIn(folder string) { r.temps = folder }

// Add stores a bad record. It returns a *LimitError if a count is exceeded. It is safe for concurrent use.
func (r *Rejects) Add(b *BadRecord) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return errors.New("keep a rejected record: the rejects are closed")
	}
	if r.seen.Count() == 0 {
		if err := r.begin(); err != nil {
			return fmt.Errorf("keep rejected records: %w", err)
		}
	}
	exceeded := r.seen.Add(b)
	if r.heading == "" {
		r.heading = b.Heading
	}
	if err := r.keep(rejectOf(b, r.inputs.index(b.Position))); err != nil {
		return err
	}
	if exceeded {
		return r.limitError(0)
	}
	return nil
}

// begin creates the folder, and removes what a killed run left there.
func (r *Rejects) begin() error {
	if err := r.fsys.MkdirAll(r.dir, 0o700); err != nil {
		return err
	}
	old, err := r.fsys.ReadDir(r.temps)
	if err != nil {
		return err
	}
	for _, f := range old {
		if strings.HasPrefix(f.Name, temporary) {
			if err := r.fsys.Remove(path.Join(r.temps, f.Name)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *Rejects) keep(k reject) error {
	r.kept = append(r.kept, k)
	r.bytes += k.size()
	if r.bytes < r.inMemory {
		return nil
	}
	if len(r.runs) == maxRuns {
		return r.limitError(0) // no percentage is meant to allow more than that
	}
	name := path.Join(r.temps, fmt.Sprintf("%srun-%03d", temporary, len(r.runs)))
	slices.SortFunc(r.kept, reject.compare)
	if err := writeRun(r.fsys, name, r.kept); err != nil {
		return fmt.Errorf("keep rejected records: %w", err)
	}
	r.runs = append(r.runs, name)
	clear(r.kept)
	r.kept, r.bytes = r.kept[:0], 0
	return nil
}

func (r *Rejects) limitError(read int64) error {
	e := r.seen.LimitError(read)
	if e.First.Number == 0 { // a reader in the middle of a file can't know it
		numbers := recordNumbering{delimiter: r.delimiter}
		e.First.Number = numbers.numberAt(input{e.First.File, e.First.fsys}, e.First.Offset)
		numbers.close()
	}
	return e
}

// Count is the number of rejects so far.
func (r *Rejects) Count() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen.Count()
}

// Close completes the files, with record numbers filled in, and applies a percentage to the records read, even if the
// run failed. If there were no rejects, it removes the files of an earlier run. A second Close does nothing.
func (r *Rejects) Close(read int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	if r.seen.Count() == 0 {
		return r.removeOld()
	}
	if err := r.finish(); err != nil {
		return fmt.Errorf("write the rejected records: %w", err)
	}
	if r.seen.Limit.Percent > 0 && r.seen.Exceeded(read) {
		return r.limitError(read)
	}
	return nil
}

func (r *Rejects) removeOld() error {
	for _, name := range []string{RejectsFile, rejectsReasons} {
		if err := r.fsys.Remove(path.Join(r.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the rejects of an earlier run: %w", err)
		}
	}
	return nil
}

// finish merges the runs and the rejects in memory into the two files.
func (r *Rejects) finish() error {
	slices.SortFunc(r.kept, reject.compare)
	merged, err := openRuns(r.fsys, r.runs, r.kept)
	if err != nil {
		return err
	}
	err = r.merge(merged)
	merged.close()
	if err != nil {
		return err
	}
	for _, run := range r.runs {
		if err := r.fsys.Remove(run); err != nil {
			return err
		}
	}
	return nil
}

func (r *Rejects) merge(merged *mergedRuns) error {
	out, err := createRejectFiles(r.fsys, r.dir, r.temps, r.delimiter)
	if err != nil {
		return err
	}
	numbers := recordNumbering{delimiter: r.delimiter}
	defer numbers.close()
	err = out.begin(r.heading)
	for err == nil {
		k, ok, failed := merged.next()
		if err = failed; err != nil {
			break
		}
		if !ok {
			return out.commit()
		}
		in := r.inputs.list[k.input]
		if k.number == 0 {
			k.number = numbers.numberAt(in, k.offset)
		}
		if err = out.write(in.file.Path, k); err == nil {
			r.tally.add(in.file.Path, k)
		}
	}
	out.abort()
	return err
}
