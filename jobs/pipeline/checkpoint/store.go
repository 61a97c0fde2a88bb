// Package checkpoint lets a run outlive its process: it stores sorted runs, rejects, and a journal of what they
// contain, so that the same command can continue after a kill.
package checkpoint

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"bulkload/ingest"
	"bulkload/internal/printable"
	"bulkload/internal/program"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/lock"
	"bulkload/jobs/pipeline/source"
	"bulkload/partition"
)

// A run that spills stores its sorted runs in <work folder>/bulkload-run-<hash of its outputs>, where the same
// command finds them after a kill:
//
//	journal        see Journal; the first line is the Header
//	lock           flock, for as long as the process lives
//	0, 1, …        a folder for each output, with its runs
//	rejects-000 …  a log of rejects for each goroutine
//
// The protocol of a checkpoint: write the runs, write the rejects, append one line to the journal. A kill between two
// of these steps leaves files that no line names; they are deleted or overwritten, and their input is read again. After
// the line, that input is not read again. Nothing that a line names is deleted or changed, except after a later line
// that replaces it.
const (
	Prefix        = "bulkload-run-"
	journalSchema = 1
	JournalName   = "journal"
	MaxAge        = 7 * 24 * time.Hour // files of another run are deleted if nobody has touched them for this long
)

// Why the files of an earlier process can't be used.
var (
	errOtherRun = errors.New("it does not belong to this run")
	errEmpty    = errors.New("nothing is finished")
)

// Header has everything that the content of the sorted runs depends on. The runs are used only if it matches: other
// input, another job, other regions or another program would give other entries, and a mixture of both would be loaded.
type Header struct {
	Schema  int         `json:"schema"`
	Program string      `json:"program"` // hash of the executable: another one may encode entries differently
	Boot    string      `json:"boot"`    // of the machine: a reboot loses what was not on disk yet
	Splits  string      `json:"splits"`  // hash of the list of splits
	Outputs []outputKey `json:"outputs"`
}

// outputKey identifies an output and what its runs were made for.
type outputKey struct {
	URI     string `json:"uri"`
	Run     string `json:"run"`     // its ID: job, date, input files
	Regions string `json:"regions"` // hash of the boundaries; "" if no rows are needed
}

// RunStore stores what a run has sorted so that it outlives the process.
type RunStore struct {
	options options.Options
	source  *source.Source
	dir     string
	Splits  []ingest.Split
	head    Header
	regions []int        // number of regions of each output; 0: no rows are needed
	State   *ResumeState // from earlier processes

	mu             sync.Mutex
	lock           *os.File // nil until something is stored
	journal        *Journal
	createdWorkDir bool // the work folder did not exist before
	DiscardOnClose bool // the files can't help: they fill the disk, or the same command would fail with them again
}

// Open looks for files of an earlier process of the same run, and changes nothing if there are none. It returns the
// store even if it fails.
func Open(purposes []StoredOutput, src *source.Source, splits []ingest.Split, o options.Options) (*RunStore, error) {
	k := &RunStore{options: o, source: src, Splits: splits}
	k.head = Header{Schema: journalSchema, Boot: lock.BootID(), Splits: hashText(splitTexts(splits)...)}
	var outputs []string
	for _, p := range purposes {
		out := outputKey{URI: p.URI, Run: p.Run}
		if p.Regions > 0 {
			out.Regions = hashText(append(printable.All(p.Splits), fmt.Sprint(p.Regions))...)
		}
		k.regions = append(k.regions, p.Regions)
		k.head.Outputs = append(k.head.Outputs, out)
		outputs = append(outputs, p.URI)
	}
	k.State = NewResumeState(k.regions)
	var err error
	if k.dir, err = storeFolder(o.WorkDir, outputs); err != nil {
		return k, err
	}
	return k, k.openExisting()
}

// StoredOutput is an output whose runs are stored.
type StoredOutput struct {
	URI     string
	Run     string   // its ID
	Splits  [][]byte // the region boundaries
	Regions int      // number of regions; 0: no rows are needed
}

// storeFolder returns the folder for a run with these outputs.
func storeFolder(work string, outputs []string) (string, error) {
	if work == "" {
		work = os.TempDir()
	}
	work, err := filepath.Abs(work)
	if err != nil {
		return "", fmt.Errorf("find the work folder: %w", err)
	}
	return filepath.Join(work, Prefix+hashText(outputs...)), nil
}

// RemoveFinished deletes the files of a run with these outputs that was killed after all its HFiles were written.
func RemoveFinished(workDir string, outputs []string) error {
	k := &RunStore{}
	var err error
	if k.dir, err = storeFolder(workDir, outputs); err != nil {
		return err
	}
	info, err := os.Lstat(k.dir)
	if err != nil || partition.CheckPrivateDir(info) != nil {
		return nil // usually there are none; those of another user stay
	}
	if k.lock, err = partition.LockFolder(k.dir); err != nil {
		return nil
	}
	return k.discard()
}

// KeptBytes returns the size of the files that a killed run with these outputs has left in the work folder; 0 if they
// can't be read.
func KeptBytes(workDir string, outputs []string) (sum int64) {
	dir, err := storeFolder(workDir, outputs)
	if err != nil {
		return 0
	}
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error { // what can't be read counts as 0
		if err != nil || d.IsDir() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			sum += info.Size()
		}
		return nil
	})
	return sum
}

func splitTexts(splits []ingest.Split) []string {
	texts := make([]string, len(splits))
	for i, s := range splits {
		texts[i] = fmt.Sprintf("%s %d %d", s.File.Path, s.Start, s.End)
	}
	return texts
}

func hashText(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d %s\n", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// Begin creates the folder and its journal unless they exist.
func (k *RunStore) Begin() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.journal != nil {
		return nil
	}
	if err := k.create(); err != nil {
		return fmt.Errorf("keep sorted runs in %s (free some space there, choose another --work-dir, or give more "+
			"--memory): %w", k.dir, err)
	}
	return nil
}

func (k *RunStore) create() (err error) {
	work := filepath.Dir(k.dir)
	made, err := partition.MakeWorkFolder(work)
	if k.createdWorkDir = k.createdWorkDir || made; err != nil {
		return err
	}
	partition.RemoveStale(work)
	RemoveOlder(work, MaxAge, false)
	if k.head.Program, err = program.Hash(); err != nil {
		k.head.Program = "unknown" // then no other process can use the files
	}
	if err := os.Mkdir(k.dir, 0o700); err != nil {
		return err
	}
	if k.lock, err = partition.LockFolder(k.dir); err != nil {
		return err
	}
	record, err := CreateJournal(filepath.Join(k.dir, JournalName))
	if err != nil {
		return err
	}
	// A kill before this leaves a journal without a whole line: reading it returns errEmpty.
	if err := record.Append(k.head); err != nil {
		return errors.Join(err, record.Close())
	}
	k.journal = record
	return nil
}

// RemoveOlder deletes sorted runs and rejects in a work folder ("": the system's temporary folder) that no process has
// continued for the given age. It returns the folders that it deleted, or would delete in a dry run. Folders of other
// users and of running processes stay.
func RemoveOlder(work string, age time.Duration, dryRun bool) (deleted []string) {
	if work == "" {
		work = os.TempDir()
	}
	entries, err := os.ReadDir(work)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		dir := filepath.Join(work, e.Name())
		if !strings.HasPrefix(e.Name(), Prefix) {
			continue
		}
		if info, err := os.Lstat(dir); err != nil || partition.CheckPrivateDir(info) != nil {
			continue // another user's, and the work folder may be public
		}
		touched := filepath.Join(dir, JournalName)
		info, err := os.Stat(touched)
		if errors.Is(err, fs.ErrNotExist) {
			touched = dir
			info, err = os.Stat(dir)
		}
		if err != nil || time.Since(info.ModTime()) < age {
			continue
		}
		if folder, err := partition.LockFolder(dir); err == nil {
			if dryRun {
				err = os.Chtimes(touched, time.Time{}, info.ModTime()) // the lock may have changed it
			} else {
				err = os.RemoveAll(dir)
			}
			if err == nil {
				deleted = append(deleted, dir)
			}
			_ = folder.Close()
		}
	}
	return deleted
}

// Add appends a checkpoint to the journal. Its runs and rejects must be completely written.
func (k *RunStore) Add(c *Checkpoint) error {
	// A kill here leaves runs that no line names: the next process deletes them and reads their input again.
	k.options.Failpoint.Reached(options.Spilled)
	if err := k.journal.Append(Line{Checkpoint: c}); err != nil {
		return fmt.Errorf("record sorted runs in %s: %w", k.dir, err)
	}
	k.options.Failpoint.Reached(options.Checkpointed)
	return nil
}

// PersistentRuns returns an output's runs, for its sort. The sort calls Replace after it has merged runs, because the
// journal must name the new run before the old ones are deleted.
func (k *RunStore) PersistentRuns(output int) *partition.PersistentRuns {
	return &partition.PersistentRuns{Store: k.runFolder(output), Runs: k.State.Outputs[output].runs,
		Replace: func(from []string, to partition.RunFile) error {
			k.options.Failpoint.Reached(options.Merged)
			if err := k.journal.Append(Line{Merged: &replacement{output, from, to}}); err != nil {
				return fmt.Errorf("record merged runs in %s: %w", k.dir, err)
			}
			k.options.Failpoint.Reached(options.Replaced)
			return nil
		}}
}

// runFolder returns the folder of an output's runs. It is on the local disk, like the journal that names them.
func (k *RunStore) runFolder(output int) partition.LocalStore {
	return partition.LocalStore(filepath.Join(k.dir, fmt.Sprint(output)))
}

// Resumed returns what earlier processes have sorted; nil if they have sorted nothing.
func (k *RunStore) Resumed() *Resumed {
	all, _ := k.State.Bytes()
	if k.State.Read == 0 {
		return nil
	}
	return &Resumed{k.State.Read, all}
}

// Free deletes the runs of an output that is written.
//
// Its lines stay in the journal. A process that resumes after this finds the output written and needs none of its
// regions, so it does not look for the runs (validPrefix, applyShare).
func (k *RunStore) Free(output int) error {
	if k.journal == nil {
		return nil
	}
	return os.RemoveAll(string(k.runFolder(output)))
}

// discard deletes everything. The store can be used again afterwards.
//
// The lock is released last. A kill in between leaves a folder with some of the files. Then validPrefix finds that runs
// are missing, or there is no journal, and sorting begins anew or from an earlier checkpoint.
func (k *RunStore) discard() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.lock == nil {
		return nil
	}
	err := errors.Join(os.RemoveAll(k.dir), k.closeFiles())
	if k.createdWorkDir {
		_ = os.Remove(filepath.Dir(k.dir)) // succeeds only if it is empty, as intended
	}
	return err
}

func (k *RunStore) closeFiles() error {
	var errs []error
	if k.journal != nil {
		errs = append(errs, k.journal.Close())
	}
	if k.lock != nil {
		errs = append(errs, k.lock.Close())
	}
	k.journal, k.lock = nil, nil
	return errors.Join(errs...)
}

// Close ends a run that has finished or failed. The files are deleted if the same command could not continue with
// them: it finished, the disk is full of them, or they are damaged or have produced wrong output. Otherwise they
// stay.
func (k *RunStore) Close(ctx context.Context, failed error) error {
	useless := failed == nil || k.DiscardOnClose || errors.Is(failed, partition.ErrDamaged) ||
		errors.Is(failed, partition.ErrStaleRuns) || failure.KindOf(failed) == failure.Differs
	if useless && ctx.Err() == nil {
		return k.discard()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.closeFiles()
}

// Resumed is the input that was not read and sorted again.
type Resumed struct {
	Records int64 `json:"records"`
	Bytes   int64 `json:"bytes"` // of the input
}
