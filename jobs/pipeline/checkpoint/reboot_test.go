package checkpoint_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/testcluster"
	"bulkload/internal/test/testfs"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/lock"
	"bulkload/jobs/pipeline/checkpoint"
	"bulkload/jobs/run"
	"bulkload/partition"
)

// TestBlocksAreReadOnceAfterAReboot: when the machine has gone down, the next process reads all blocks, and records
// that it did: one that is damaged later is found when it is merged, as without a reboot.
func TestBlocksAreReadOnceAfterAReboot(t *testing.T) {
	runtest.ManyProcesses(t)
	if lock.BootID() == "" {
		testcluster.Without(t, "needs a system with boot IDs")
	}
	dir := jobdir.Check(t, jobdir.CheckJob, 70_000)
	k := runtest.Killed{Dir: dir, Out: "out", Work: filepath.Join(dir, "work"), Memory: options.MinMemory, At: options.Checkpointed, Times: 3}
	base := k
	base.Out = "base"
	want := runtest.Must(t, base.Read(t), base.Options())
	k.Kill(t)
	kept := keptDir(t, k)
	rewriteHead(t, kept, func(h *checkpoint.Header) { h.Boot = "before" })
	k.At, k.Times = options.Sorted, 1
	k.Kill(t)
	if boots := bootsOf(t, kept); len(boots) != 1 || boots[0] != lock.BootID() {
		t.Errorf("recorded are the boots %q", boots)
	}
	k.Kill(t)
	if boots := bootsOf(t, kept); len(boots) != 1 {
		t.Errorf("without a reboot: recorded are the boots %q", boots)
	}
	testfs.Damage(t, filepath.Join(kept, "0", "run-*"))
	if _, err := run.Job(context.Background(), nil, k.Read(t), k.Options()); !errors.Is(err, partition.ErrDamaged) {
		t.Errorf("the blocks were read again: %v", err)
	}
	runtest.SameRun(t, k, base.Out, want, runtest.Must(t, k.Read(t), k.Options()))
}

// bootsOf are the boots that a journal records after its head.
func bootsOf(t *testing.T, kept string) (boots []string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), checkpoint.JournalName) // a copy: to open a journal is to write it
	text, err := os.ReadFile(filepath.Join(kept, checkpoint.JournalName))
	if err == nil {
		err = os.WriteFile(name, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	j, lines, err := checkpoint.OpenJournal(name)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	for _, text := range lines[1:] {
		var line checkpoint.Line
		if err := json.Unmarshal(text, &line); err != nil {
			t.Fatal(err)
		}
		if line.Boot != "" {
			boots = append(boots, line.Boot)
		}
	}
	return boots
}
