package jobs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	"bulkload/internal/printable"
	"bulkload/jobs/failpoint"
	"bulkload/jobs/failure"
	"bulkload/jobs/journal"
	"bulkload/partition"
)

// A run that spills keeps its sorted runs in <work folder>/bulkload-run-<hash of its outputs>, so that the same command
// finds them when it was killed: a journal, a lock file that is locked for as long as the process lives, a folder of runs
// for each output, and logs of rejects. The journal's first line says what the rest belongs to.
const (
	keptPrefix  = "bulkload-run-"
	keptSchema  = 1
	keptJournal = "journal"
	keptFor     = 7 * 24 * time.Hour // untouched for so long, what another run has left is deleted
)

// Why what an earlier process has left can't be used.
var (
	errNotKept = errors.New("it does not belong to this run")
	errNothing = errors.New("nothing is finished")
)

// keptHead is what must be the same for sorted runs to be of use.
type keptHead struct {
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

// keeper keeps what a run has sorted beyond its process.
type keeper struct {
	run     *jobRun
	source  *source
	dir     string
	splits  []ingest.Split
	head    keptHead
	regions []int      // their number, of each output; 0: no rows are wanted
	state   *keptState // of earlier processes

	mu      sync.Mutex
	lock    *os.File // nil until something is kept
	journal *journal.Journal
	made    bool // the work folder was not there before
	useless bool // what is kept: the disk is full of it, or the same command would fail on it again
}

// openKeeper looks for what an earlier process of the same run has left. It changes nothing where that is nothing. The
// keeper is there on failure too.
func openKeeper(r *jobRun, splits []ingest.Split) (*keeper, error) {
	k := &keeper{run: r, source: r.source, splits: splits}
	k.head = keptHead{Schema: keptSchema, Boot: bootID(), Splits: hashText(splitTexts(splits)...)}
	for _, w := range r.places {
		out := keptPurpose{URI: w.fsys.URI(w.dir), Run: w.manifest.Run.ID}
		regions := 0
		if w.target != nil {
			regions = w.target.regions.Len()
			out.Regions = hashText(append(printable.All(w.target.splits), fmt.Sprint(regions))...)
		}
		k.regions = append(k.regions, regions)
		k.head.Outputs = append(k.head.Outputs, out)
	}
	k.state = newKeptState(k.regions)
	var err error
	if k.dir, err = r.keptFolder(); err != nil {
		return k, err
	}
	return k, k.find()
}

// keptFolder is where a run into these outputs keeps what it has sorted.
func (r *jobRun) keptFolder() (string, error) {
	work := r.options.WorkDir
	if work == "" {
		work = os.TempDir()
	}
	work, err := filepath.Abs(work)
	if err != nil {
		return "", fmt.Errorf("find the work folder: %w", err)
	}
	var outputs []string
	for _, w := range r.places {
		outputs = append(outputs, w.fsys.URI(w.dir))
	}
	return filepath.Join(work, keptPrefix+hashText(outputs...)), nil
}

// removeFinished deletes what a process has left that was killed when its files were all written.
func removeFinished(r *jobRun) error {
	k := &keeper{run: r}
	var err error
	if k.dir, err = r.keptFolder(); err != nil {
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
func (k *keeper) find() error {
	info, err := os.Lstat(k.dir)
	if err != nil {
		return nil // where more is wrong than that it is not there, the first spill says so
	}
	if err = partition.Private(info); err != nil {
		return failure.Refusef("the sorted runs of an earlier process can't be looked at: %w; move %s away, or choose another --work-dir", err, k.dir)
	}
	if k.lock, err = partition.LockFolder(k.dir); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return failure.Laterf("%s is in use by another process that writes to the same output; try again when it is done", k.dir)
		}
		return fmt.Errorf("look for sorted runs of an earlier process: %w", err)
	}
	if k.run.options.Force {
		return k.discard()
	}
	if err := k.read(); err != nil {
		return k.forget(fmt.Errorf("what an earlier process has left in %s is of no use: %w", k.dir, err))
	}
	all, _ := k.state.bytes()
	k.run.options.Sayf("going on with %d records, %s of the input, that are sorted already", k.state.read, bytesize.Format(all))
	return nil
}

// read reads the journal.
func (k *keeper) read() error {
	record, lines, err := journal.Open(filepath.Join(k.dir, keptJournal))
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
	var head keptHead
	if err := json.Unmarshal(lines[0], &head); err != nil {
		return err
	}
	if err := k.fits(head); err != nil {
		return err
	}
	return k.take(head, lines)
}

// take takes up what a journal records, as far as it is there.
func (k *keeper) take(head keptHead, texts [][]byte) error {
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
		k.run.options.Sayf("%d of the %d steps that an earlier process has recorded in %s are lost", len(lines)-len(sound), len(lines), k.dir)
		if err := k.journal.Cut(texts[:1+len(sound)]); err != nil {
			return err
		}
	}
	for _, line := range sound {
		if err := k.state.take(line, len(k.splits)); err != nil {
			return fmt.Errorf("%w: %w", journal.ErrDamaged, err)
		}
	}
	if blocks && k.head.Boot != "" { // the next process need not read all blocks again
		return k.journal.Append(journalLine{Boot: k.head.Boot})
	}
	return nil
}

// fits holds the head of a journal against this run. An output that wants no rows any more may have wanted them then.
func (k *keeper) fits(head keptHead) (err error) {
	if k.head.Program, err = programHash(); err != nil {
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

var programHash = sync.OnceValues(func() (string, error) {
	f, err := os.Open("/proc/self/exe") // which is this program still where a new one was installed
	if err != nil {
		return "", fmt.Errorf("look which program this is: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
})

// begin makes the folder and its journal where they are not there yet.
func (k *keeper) begin() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.journal != nil {
		return nil
	}
	if err := k.make(); err != nil {
		return fmt.Errorf("keep sorted runs in %s (make room there, choose another place with --work-dir, or give more --memory): %w", k.dir, err)
	}
	return nil
}

func (k *keeper) make() (err error) {
	work := filepath.Dir(k.dir)
	if _, err := os.Stat(work); errors.Is(err, fs.ErrNotExist) {
		k.made = true
	}
	if err := os.MkdirAll(work, 0o700); err != nil {
		return err
	}
	partition.RemoveStale(work)
	removeKept(work)
	if k.head.Program, err = programHash(); err != nil {
		k.head.Program = "unknown" // what is kept is of no use to anybody then
	}
	if err := os.Mkdir(k.dir, 0o700); err != nil {
		return err
	}
	if k.lock, err = partition.LockFolder(k.dir); err != nil {
		return err
	}
	record, err := journal.Create(filepath.Join(k.dir, keptJournal))
	if err != nil {
		return err
	}
	if err := record.Append(k.head); err != nil {
		return errors.Join(err, record.Close())
	}
	k.journal = record
	return nil
}

// removeKept deletes what runs have left that nobody has gone on with for long.
func removeKept(work string) {
	entries, err := os.ReadDir(work)
	if err != nil {
		return
	}
	for _, e := range entries {
		dir := filepath.Join(work, e.Name())
		if !strings.HasPrefix(e.Name(), keptPrefix) {
			continue
		}
		if info, err := os.Lstat(dir); err != nil || partition.Private(info) != nil {
			continue // another's, and the work folder may be open to all
		}
		info, err := os.Stat(filepath.Join(dir, keptJournal))
		if errors.Is(err, fs.ErrNotExist) {
			info, err = os.Stat(dir)
		}
		if err != nil || time.Since(info.ModTime()) < keptFor {
			continue
		}
		if lock, err := partition.LockFolder(dir); err == nil {
			_ = os.RemoveAll(dir)
			_ = lock.Close()
		}
	}
}

// add records a checkpoint.
func (k *keeper) add(c *checkpoint) error {
	k.run.options.Failpoint.Reached(failpoint.Spilled)
	if err := k.journal.Append(journalLine{Checkpoint: c}); err != nil {
		return fmt.Errorf("record sorted runs in %s: %w", k.dir, err)
	}
	k.run.options.Failpoint.Reached(failpoint.Kept)
	return nil
}

// kept are an output's runs, for its sort.
func (k *keeper) kept(output int) *partition.Kept {
	return &partition.Kept{Folder: k.folder(output), Runs: k.state.outputs[output].runs, Replace: func(from []string, to partition.RunFile) error {
		k.run.options.Failpoint.Reached(failpoint.Merged)
		if err := k.journal.Append(journalLine{Merged: &replacement{output, from, to}}); err != nil {
			return fmt.Errorf("record merged runs in %s: %w", k.dir, err)
		}
		k.run.options.Failpoint.Reached(failpoint.Replaced)
		return nil
	}}
}

func (k *keeper) folder(output int) string { return filepath.Join(k.dir, fmt.Sprint(output)) }

// resumed is what earlier processes have sorted; nil where that is nothing.
func (k *keeper) resumed() *Resumed {
	all, _ := k.state.bytes()
	if k.state.read == 0 {
		return nil
	}
	return &Resumed{k.state.read, all}
}

// free deletes the runs of an output that is written.
func (k *keeper) free(output int) error {
	if k.journal == nil {
		return nil
	}
	return os.RemoveAll(k.folder(output))
}

// forget begins anew where kept runs turned out to be of no use.
func (k *keeper) forget(reason error) error {
	k.run.options.Sayf("sorting from the beginning: %v", reason)
	k.state = newKeptState(k.regions)
	return k.discard()
}

// discard deletes what is kept. Something may be kept anew then.
func (k *keeper) discard() error {
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

func (k *keeper) closeFiles() error {
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

// close ends a run that came to its end or failed. What is kept stays where the same command can go on with it.
func (k *keeper) close(ctx context.Context, failed error) error {
	useless := failed == nil || k.useless || errors.Is(failed, partition.ErrDamaged) || errors.Is(failed, partition.ErrKept) || failure.KindOf(failed) == failure.Differs
	if useless && ctx.Err() == nil {
		return k.discard()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.closeFiles()
}
