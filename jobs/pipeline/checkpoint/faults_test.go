package checkpoint

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"bulkload/ingest"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/base/options"
	"bulkload/partition"
)

// TestWorkFolderOfARun: a work folder that the run has made goes with its files; one that was there stays, also if it
// is empty.
func TestWorkFolderOfARun(t *testing.T) {
	t.Parallel()
	for name, there := range map[string]bool{"made": false, "there": true} {
		work := filepath.Join(t.TempDir(), "work")
		if there {
			if err := os.Mkdir(work, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		k, err := openStore(t, work, ofRun, options.Options{})
		if err = errors.Join(err, k.Begin()); err != nil {
			t.Fatal(err)
		}
		if err := k.Close(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(work); (err == nil) != there {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFilesOfAFinishedRun: those that a killed run of the same outputs has left are deleted, but not in a folder that
// is not private to this user: somebody else has made it.
func TestFilesOfAFinishedRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		perm  os.FileMode
		stays bool
	}{"own": {0o700, false}, "open to all": {0o777, true}} {
		work := t.TempDir()
		dir, err := storeFolder(work, []string{"file:///out"})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "run"), nil, 0o600), os.Chmod(dir, c.perm)); err != nil {
			t.Fatal(err)
		}
		if err := RemoveFinished(work, []string{"file:///out"}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "run")); (err == nil) != c.stays {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := RemoveFinished(t.TempDir(), []string{"file:///out"}); err != nil {
		t.Errorf("nothing left: %v", err)
	}
}

// TestRunsOfAWrittenOutput: they are deleted, but not the rejects and the runs of other outputs. Nothing is deleted
// before something is stored.
func TestRunsOfAWrittenOutput(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	k, err := openStore(t, work, append(slices.Clone(ofRun), StoredOutput{URI: "file:///other", Run: "run", Regions: 1}), options.Options{})
	if err = errors.Join(err, k.Free(0)); err != nil {
		t.Fatal(err)
	}
	newRecorder(t, k).read(0)
	if err := errors.Join(os.Mkdir(string(k.runFolder(1)), 0o700), k.Free(0)); err != nil {
		t.Fatal(err)
	}
	for name, stays := range map[string]bool{string(k.runFolder(0)): false, string(k.runFolder(1)): true, filepath.Join(k.dir, JournalName): true} {
		if _, err := os.Stat(name); (err == nil) != stays {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNoWorkFolder: runs and rejects that can't be kept say where, and what may help.
func TestNoWorkFolder(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	k, err := openStore(t, filepath.Join(file, "work"), ofRun, options.Options{})
	if err != nil {
		t.Fatal(err)
	}
	log := NewRejectLog(k, new(gathered), 0)
	if err := log.Add(&ingest.BadRecord{Reason: "no"}); err != nil {
		t.Fatal(err)
	}
	_, err = log.CutSpan()
	for what, err := range map[string]error{"runs": k.Begin(), "rejects": err} {
		if !errors.Is(err, syscall.ENOTDIR) || !testwords.Names(err, k.dir, "--work-dir") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestCheckpointOfAnotherInput: a line that this run can't have written makes all lines useless, also those before it.
func TestCheckpointOfAnotherInput(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	k, err := openStore(t, work, ofRun, options.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := newRecorder(t, k)
	r.read(0)
	if err := k.Add(&Checkpoint{Read: 3, Ended: []EndedSplit{{checkpoints, 1000}}}); err != nil {
		t.Fatal(err)
	}
	r.kill()
	if n := resumed(t, work); n != 0 {
		t.Errorf("going on with %d splits", n)
	}
}

// isWhole reports whether a line with a share counts, in a store of two outputs without files, the second of which is
// written. The run "merged" of the first was replaced.
func isWhole(share RunShare) bool {
	k := &RunStore{regions: []int{3, 0}, dir: "/nothing"}
	merged := &replacement{Output: 0, From: []string{"merged"}}
	return len(k.validPrefix([]Line{{Checkpoint: &Checkpoint{Shares: []RunShare{share}}}, {Merged: merged}}, false)) == 2
}

// TestLinesOfOutputsThatAreNotThere: a damaged line may name any output. It is refused, or needs no run, and nothing
// panics.
func TestLinesOfOutputsThatAreNotThere(t *testing.T) {
	t.Parallel()
	for _, output := range []int{-1, 2, 1 << 40} {
		s := NewResumeState([]int{3, 0})
		if s.Apply(Line{Merged: &replacement{Output: output}}, 1) == nil {
			t.Errorf("a merge of output %d of 2 is applied", output)
		}
		if s.Apply(Line{Checkpoint: &Checkpoint{Shares: []RunShare{{Output: output}}}}, 1) == nil {
			t.Errorf("a share of output %d of 2 is applied", output)
		}
		if !isWhole(RunShare{Output: output, Run: partition.RunFile{Name: "a"}}) {
			t.Errorf("a run of output %d of 2 is looked for", output)
		}
	}
	if isWhole(RunShare{Output: 0, Run: partition.RunFile{Name: "a"}}) {
		t.Error("a run is not looked for")
	}
	for _, share := range []RunShare{{Output: 0}, {Output: 0, Run: partition.RunFile{Name: "merged"}}, {Output: 1, Run: partition.RunFile{Name: "a"}}} {
		if !isWhole(share) {
			t.Errorf("the run of %+v is looked for", share)
		}
	}
}

// TestWhatCantBeRecorded: a checkpoint, or a merge of runs, that the journal can't take fails, so that no run is deleted
// that a line still names. A store that is closed holds no file open.
func TestWhatCantBeRecorded(t *testing.T) {
	k, err := openStore(t, t.TempDir(), ofRun, options.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := newRecorder(t, k)
	runs := []string{r.read(0), r.read(1)}
	merged := r.spill("a0")
	journal := k.journal
	if err := journal.file.Close(); err != nil {
		t.Fatal(err)
	}
	if err := k.PersistentRuns(0).Replace(runs, merged); !errors.Is(err, os.ErrClosed) {
		t.Errorf("merged runs: %v", err)
	}
	if err := k.Add(&Checkpoint{Read: 1}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a checkpoint: %v", err)
	}
	if err := r.rejects.CloseFile(); err != nil {
		t.Error(err)
	}
	_ = k.Close(t.Context(), errors.New("failed"))

	if k, err = openStore(t, t.TempDir(), ofRun, options.Options{}); err != nil {
		t.Fatal(err)
	}
	r = newRecorder(t, k)
	r.read(0)
	journal = k.journal
	r.kill()
	if err := journal.file.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the journal's file is still open: %v", err)
	}
}
