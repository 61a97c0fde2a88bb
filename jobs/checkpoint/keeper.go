// Package checkpoint keeps what a run has sorted beyond its process: sorted runs, the rejects, and a journal of what they hold.
// It is what is written when a run is killed.
package checkpoint

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"time"

	"bulkload/ingest"
	"bulkload/internal/bytesize"
	"bulkload/internal/errcode"
	"bulkload/internal/printable"
	"bulkload/internal/program"
	"bulkload/jobs/dirlock"
	"bulkload/jobs/failpoint"
	"bulkload/jobs/failure"
	"bulkload/jobs/journal"
	"bulkload/jobs/options"
	"bulkload/jobs/source"
	"bulkload/partition"
)

// A run that spills keeps its sorted runs in <work folder>/bulkload-run-<hash of its outputs>, so that the same command
// finds them when it was killed: a journal, a lock file that is locked for as long as the process lives, a folder of runs
// for each output, and logs of rejects. The journal's first line says what the rest belongs to.
const (
	Prefix      = "bulkload-run-"
	keptSchema  = 1
	JournalName = "journal"
	KeepFor     = 7 * 24 * time.Hour // untouched for so long, what another run has left is deleted
)

// Why what an earlier process has left can't be used.
var (
	errNotKept = errors.New("it does not belong to this run")
	errNothing = errors.New("nothing is finished")
)

// Head is what must be the same for sorted runs to be of use.
type Head struct {
	Schema  int           `json:"schema"`
	Program string        `json:"program"` // hash of the executable: another one may pack its entries otherwise
	Boot    string        `json:"boot"`    // of the machine: what it had not written to its disk is lost with the next one
	Splits  string        `json:"splits"`  // hash of the list
	Outputs []keptPurpose `json:"outputs"`
}

// keptPurpose is an output as the runs were made for it.
type keptPurpose struct {
	URI     string `json:"uri"`
	Run     string `json:"run"`     // its ID: job, date, input files
	Regions string `json:"regions"` // hash of the boundaries; "" where no rows were wanted
}

// Keeper keeps what a run has sorted beyond its process.
type Keeper struct {
	options options.Options
	source  *source.Source
	dir     string
	Splits  []ingest.Split
	head    Head
	regions []int  // their number, of each output; 0: no rows are wanted
	State   *State // of earlier processes

	mu      sync.Mutex
	lock    *os.File // nil until something is kept
	journal *journal.Journal
	made    bool // the work folder was not there before
	Useless bool // what is kept: the disk is full of it, or the same command would fail on it again
}

// Open looks for what an earlier process of the same run has left. It changes nothing where that is nothing. The
// keeper is there on failure too.
func Open(purposes []Output, src *source.Source, splits []ingest.Split, o options.Options) (*Keeper, error) {
	k := &Keeper{options: o, source: src, Splits: splits}
	k.head = Head{Schema: keptSchema, Boot: dirlock.BootID(), Splits: hashText(splitTexts(splits)...)}
	var outputs []string
	for _, p := range purposes {
		out := keptPurpose{URI: p.URI, Run: p.Run}
		if p.Regions > 0 {
			out.Regions = hashText(append(printable.All(p.Splits), fmt.Sprint(p.Regions))...)
		}
		k.regions = append(k.regions, p.Regions)
		k.head.Outputs = append(k.head.Outputs, out)
		outputs = append(outputs, p.URI)
	}
	k.State = NewState(k.regions)
	var err error
	if k.dir, err = keptFolder(o.WorkDir, outputs); err != nil {
		return k, err
	}
	return k, k.find()
}

// Output is an output for which runs are kept.
type Output struct {
	URI     string
	Run     string   // its ID
	Splits  [][]byte // the region boundaries
	Regions int      // their number; 0: no rows are wanted
}

// keptFolder is where a run into these outputs keeps what it has sorted.
func keptFolder(work string, outputs []string) (string, error) {
	if work == "" {
		work = os.TempDir()
	}
	work, err := filepath.Abs(work)
	if err != nil {
		return "", fmt.Errorf("find the work folder: %w", err)
	}
	return filepath.Join(work, Prefix+hashText(outputs...)), nil
}

// RemoveFinished deletes, of a run into outputs with these URIs, what a process has left that was killed when its files were all written.
func RemoveFinished(workDir string, outputs []string) error {
	k := &Keeper{}
	var err error
	if k.dir, err = keptFolder(workDir, outputs); err != nil {
		return err
	}
	info, err := os.Lstat(k.dir)
	if err != nil || partition.Private(info) != nil {
		return nil // mostly there is none, and another's is no concern of ours
	}
	if k.lock, err = partition.LockFolder(k.dir); err != nil {
		return nil
	}
	return k.discard()
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

// find takes up what an earlier process has left. What is of no use is deleted.
func (k *Keeper) find() error {
	info, err := os.Lstat(k.dir)
	if err != nil {
		return nil // where more is wrong than that it is not there, the first spill says so
	}
	if err = partition.Private(info); err != nil {
		return errcode.WorkDir.Errorf("the sorted runs of an earlier process can't be read: %w; move %s away, or choose another --work-dir", err, k.dir)
	}
	if k.lock, err = partition.LockFolder(k.dir); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return errcode.Locked.Errorf("%s is in use by another process that writes to the same output; try again when it is done", k.dir)
		}
		return fmt.Errorf("look for sorted runs of an earlier process: %w", err)
	}
	if k.options.Force {
		return k.discard()
	}
	if err := k.read(); err != nil {
		return k.forget(fmt.Errorf("the sorted runs that an earlier process left in %s can't be used: %w", k.dir, err))
	}
	all, _ := k.State.Bytes()
	k.options.Sayf("going on with %d records, %s of the input, that are already sorted", k.State.Read, bytesize.Format(all))
	return nil
}

// read reads the journal.
func (k *Keeper) read() error {
	record, lines, err := journal.Open(filepath.Join(k.dir, JournalName))
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(lines) == 0 {
		if err == nil {
			err = record.Close()
		}
		return errors.Join(errNothing, err)
	}
	if err != nil {
		return err
	}
	k.journal = record
	var head Head
	if err := json.Unmarshal(lines[0], &head); err != nil {
		return err
	}
	if err := k.fits(head); err != nil {
		return err
	}
	return k.take(head, lines)
}

// take takes up what a journal records, as far as it is there.
func (k *Keeper) take(head Head, texts [][]byte) error {
	lines, err := linesOf(texts[1:])
	if err != nil {
		return err
	}
	boot := bootOf(head, lines)
	blocks := boot == "" || boot != k.head.Boot
	sound := k.sound(lines, blocks)
	if len(sound) == 0 {
		return errNothing
	}
	if len(sound) < len(lines) {
		k.options.Warnf("%d of the %d checkpoints that an earlier process recorded in %s are lost", len(lines)-len(sound), len(lines), k.dir)
		if err := k.journal.Cut(texts[:1+len(sound)]); err != nil {
			return err
		}
	}
	for _, line := range sound {
		if err := k.State.Take(line, len(k.Splits)); err != nil {
			return fmt.Errorf("%w: %w", journal.ErrDamaged, err)
		}
	}
	if blocks && k.head.Boot != "" { // the next process need not read all blocks again
		return k.journal.Append(Line{Boot: k.head.Boot})
	}
	return nil
}

// fits holds the head of a journal against this run. An output that wants no rows any more may have wanted them then.
func (k *Keeper) fits(head Head) (err error) {
	if k.head.Program, err = program.Hash(); err != nil {
		return err
	}
	want := k.head
	want.Boot = head.Boot
	want.Outputs = append([]keptPurpose(nil), want.Outputs...)
	if len(head.Outputs) != len(want.Outputs) {
		return errNotKept
	}
	for i := range want.Outputs {
		if want.Outputs[i].Regions == "" {
			want.Outputs[i].Regions = head.Outputs[i].Regions
		}
		if head.Outputs[i].Run == want.Outputs[i].Run && head.Outputs[i] != want.Outputs[i] {
			return errors.New("the table's regions have changed")
		}
	}
	switch {
	case reflect.DeepEqual(head, want):
		return nil
	case head.Schema != want.Schema, head.Program != want.Program:
		return errors.New("another bulkload has made it")
	}
	return errNotKept
}

// Begin makes the folder and its journal where they are not there yet.
func (k *Keeper) Begin() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.journal != nil {
		return nil
	}
	if err := k.make(); err != nil {
		return fmt.Errorf("keep sorted runs in %s (free some space there, choose another --work-dir, or give more --memory): %w", k.dir, err)
	}
	return nil
}

func (k *Keeper) make() (err error) {
	work := filepath.Dir(k.dir)
	if _, err := os.Stat(work); errors.Is(err, fs.ErrNotExist) {
		k.made = true
	}
	if err := os.MkdirAll(work, 0o700); err != nil {
		return err
	}
	partition.RemoveStale(work)
	RemoveOld(work)
	if k.head.Program, err = program.Hash(); err != nil {
		k.head.Program = "unknown" // what is kept is of no use to anybody then
	}
	if err := os.Mkdir(k.dir, 0o700); err != nil {
		return err
	}
	if k.lock, err = partition.LockFolder(k.dir); err != nil {
		return err
	}
	record, err := journal.Create(filepath.Join(k.dir, JournalName))
	if err != nil {
		return err
	}
	if err := record.Append(k.head); err != nil {
		return errors.Join(err, record.Close())
	}
	k.journal = record
	return nil
}

// RemoveOld deletes what runs have left that nobody has gone on with for long.
func RemoveOld(work string) { RemoveOlder(work, KeepFor, false) }

// RemoveOlder deletes what runs have left in a work folder ("": the system's temporary one) and nobody has gone on with for an
// age: sorted runs and rejects. It gives the folders that it deleted, or would delete in a dry run. Those of others, and of runs
// under way, stay.
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
		if info, err := os.Lstat(dir); err != nil || partition.Private(info) != nil {
			continue // another's, and the work folder may be open to all
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
		if lock, err := partition.LockFolder(dir); err == nil {
			if dryRun {
				err = os.Chtimes(touched, time.Time{}, info.ModTime()) // which the lock may have changed
			} else {
				err = os.RemoveAll(dir)
			}
			if err == nil {
				deleted = append(deleted, dir)
			}
			_ = lock.Close()
		}
	}
	return deleted
}

// Add records a checkpoint.
func (k *Keeper) Add(c *Checkpoint) error {
	k.options.Failpoint.Reached(failpoint.Spilled)
	if err := k.journal.Append(Line{Checkpoint: c}); err != nil {
		return fmt.Errorf("record sorted runs in %s: %w", k.dir, err)
	}
	k.options.Failpoint.Reached(failpoint.Kept)
	return nil
}

// Kept are an output's runs, for its sort.
func (k *Keeper) Kept(output int) *partition.Kept {
	return &partition.Kept{Store: k.store(output), Runs: k.State.Outputs[output].runs, Replace: func(from []string, to partition.RunFile) error {
		k.options.Failpoint.Reached(failpoint.Merged)
		if err := k.journal.Append(Line{Merged: &replacement{output, from, to}}); err != nil {
			return fmt.Errorf("record merged runs in %s: %w", k.dir, err)
		}
		k.options.Failpoint.Reached(failpoint.Replaced)
		return nil
	}}
}

// store holds an output's runs. It is on the local disk, as the journal is that names them.
func (k *Keeper) store(output int) partition.Folder {
	return partition.Folder(filepath.Join(k.dir, fmt.Sprint(output)))
}

// Resumed is what earlier processes have sorted; nil where that is nothing.
func (k *Keeper) Resumed() *Resumed {
	all, _ := k.State.Bytes()
	if k.State.Read == 0 {
		return nil
	}
	return &Resumed{k.State.Read, all}
}

// Free deletes the runs of an output that is written.
func (k *Keeper) Free(output int) error {
	if k.journal == nil {
		return nil
	}
	return os.RemoveAll(string(k.store(output)))
}

// forget begins anew where kept runs turned out to be of no use.
func (k *Keeper) forget(reason error) error {
	k.options.Sayf("sorting from the beginning: %v", reason)
	k.State = NewState(k.regions)
	return k.discard()
}

// discard deletes what is kept. Something may be kept anew then.
func (k *Keeper) discard() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.lock == nil {
		return nil
	}
	err := errors.Join(os.RemoveAll(k.dir), k.closeFiles())
	if k.made {
		_ = os.Remove(filepath.Dir(k.dir)) // succeeds only where it is empty, as wanted
	}
	return err
}

func (k *Keeper) closeFiles() error {
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

// Close ends a run that came to its end or failed. What is kept stays where the same command can go on with it.
func (k *Keeper) Close(ctx context.Context, failed error) error {
	useless := failed == nil || k.Useless || errors.Is(failed, partition.ErrDamaged) || errors.Is(failed, partition.ErrKept) || failure.KindOf(failed) == failure.Differs
	if useless && ctx.Err() == nil {
		return k.discard()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.closeFiles()
}

// Resumed is what was not read and sorted again.
type Resumed struct {
	Records int64 `json:"records"`
	Bytes   int64 `json:"bytes"` // of the input
}
