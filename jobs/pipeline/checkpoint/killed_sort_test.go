package checkpoint_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/testfs"
	"bulkload/internal/test/testrand"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/checkpoint"
	"bulkload/jobs/run"
	"bulkload/partition"
)

// TestKilledSortOfFiltered: what an earlier process has filtered is in the counts of the one that continues.
func TestKilledSortOfFiltered(t *testing.T) {
	runtest.ManyProcesses(t)
	job := jobdir.CheckJob + "filter: score > 500\ntimestamp: column:created_at\ncolumns_map: {created_at: {type: timestamp, zone: Asia/Shanghai, store: binary}, score: {type: decimal}}\n"
	dir := jobdir.Check(t, job, 150_000)
	k := runtest.Killed{Dir: dir, Out: "out", Work: filepath.Join(dir, "work"), Memory: options.MinMemory}
	base := k
	base.Out = "base"
	want := runtest.Must(t, base.Read(t), base.Options())
	if want.Counts.Filtered < 10_000 || want.Counts.Written < 10_000 {
		t.Fatalf("counts %v", want.Counts)
	}
	k.At, k.Times = options.Checkpointed, 3
	k.Kill(t)
	got := runtest.Must(t, k.Read(t), k.Options())
	runtest.SameRun(t, k, base.Out, want, got)
	if got.Resumed == nil {
		t.Error("nothing was kept")
	}
}

// TestKilledSort kills a run that spills at each point of the sort and at some of the writing, and sees it through.
func TestKilledSort(t *testing.T) {
	runtest.ManyProcesses(t)
	dir := jobdir.Check(t, jobdir.CheckJob, 150_000)
	jobdir.RejectsEvery(t, dir, 500)
	k := runtest.Killed{Dir: dir, Out: "out", Work: filepath.Join(dir, "work"), Memory: options.MinMemory}
	base := k
	base.Out = "base"
	var checkpoints int
	o := base.Options()
	o.Failpoint = runtest.Counting(&checkpoints, options.Checkpointed)
	want := runtest.Must(t, base.Read(t), o)
	if checkpoints < 8 || want.Counts.Rejected != 300 {
		t.Fatalf("%d checkpoints, counts %v", checkpoints, want.Counts)
	}
	for _, c := range []struct {
		at    options.Point
		times int
		least float64 // of the records
	}{
		{options.Planned, 1, 0}, {options.Spilled, 1, 0}, {options.Checkpointed, 1, 0.05}, {options.Spilled, 4, 0.2}, {options.Checkpointed, checkpoints * 3 / 4, 0.6},
		{options.Sorted, 1, 0.8}, {options.Verified, 1, 0.8}, {options.Renamed, 3, 0.8}, {options.Recorded, 9, 0.8}, {options.Balanced, 1, 0.8}, {options.Written, 1, -1},
	} {
		t.Run(fmt.Sprint(c.at, c.times), func(t *testing.T) {
			k.At, k.Times = c.at, c.times
			got := k.KillAndResume(t, base.Out, want)
			var kept float64
			if got.Resumed != nil {
				kept = float64(got.Resumed.Records) / float64(want.Counts.Read)
			}
			if kept < c.least || kept > 1 || (c.least <= 0) != (got.Resumed == nil) {
				t.Errorf("%.2f of the records were kept, want %.2f", kept, c.least)
			}
		})
	}
}

// TestMostOfAKilledSortIsNotRepeated: of a run that was killed when 60% of its input was read, at least half need not
// be read again.
func TestMostOfAKilledSortIsNotRepeated(t *testing.T) {
	runtest.ManyProcesses(t)
	dir := jobdir.Check(t, jobdir.CheckJob, 400_000)
	k := runtest.Killed{Dir: dir, Out: "out", Work: filepath.Join(dir, "work"), Memory: options.MinMemory, Part: 0.6}
	base := k
	base.Out = "base"
	want := runtest.Must(t, base.Read(t), options.Options{})
	k.Kill(t)
	got := runtest.Must(t, k.Read(t), k.Options())
	runtest.SameRun(t, k, base.Out, want, got)
	r := got.Resumed
	if r == nil || float64(r.Records) < 0.5*float64(want.Counts.Read) || float64(r.Bytes) < 0.5*float64(got.Phases[0].Bytes) || r.Records > want.Counts.Read*2/3 {
		t.Errorf("kept %+v of %d records, %d bytes", r, want.Counts.Read, got.Phases[0].Bytes)
	}
}

// TestKilledMerge kills a run while runs are merged into larger ones: large values leave no room for reading all of
// them.
func TestKilledMerge(t *testing.T) {
	runtest.ManyProcesses(t)
	dir := jobdir.Check(t, jobdir.CheckJob, 100_000)
	in := filepath.Join(dir, "in/2026-11-20")
	value := bytes.Repeat([]byte("value "), 100_000)
	names, err := filepath.Glob(filepath.Join(in, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		records := bytes.SplitAfter(content, []byte{0x10})
		for _, i := range []int{3000, 9000, 15_000, 21_000} {
			fields := bytes.Split(records[i], []byte{1})
			fields[14] = value
			records[i] = bytes.Join(fields, []byte{1})
		}
		if err := os.WriteFile(name, bytes.Join(records, nil), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	k := runtest.Killed{Dir: dir, Out: "out", Work: filepath.Join(dir, "work"), Memory: options.MinMemory}
	base := k
	base.Out = "base"
	var merged int
	o := base.Options()
	o.Failpoint = runtest.Counting(&merged, options.Replaced)
	want := runtest.Must(t, base.Read(t), o)
	if merged < 2 {
		t.Fatalf("%d merges", merged)
	}
	for _, c := range []struct {
		at    options.Point
		times int
	}{{options.Merged, 1}, {options.Replaced, 1}, {options.Merged, merged}, {options.Replaced, merged}, {options.Recorded, 4}} {
		k.At, k.Times = c.at, c.times
		k.KillAnew(t)
		again := 0
		o := k.Options()
		o.Failpoint = runtest.Counting(&again, options.Checkpointed)
		got := runtest.Must(t, k.Read(t), o)
		runtest.SameRun(t, k, base.Out, want, got)
		if got.Resumed == nil || got.Resumed.Records != want.Counts.Read || again > 0 {
			t.Errorf("%s %d: %+v kept of %d records, %d spilled again", c.at, c.times, got.Resumed, want.Counts.Read, again)
		}
	}
}

// TestKilledAtAnyTime kills runs from outside, again and again, whatever they are doing, and continues with other
// memory.
func TestKilledAtAnyTime(t *testing.T) {
	rows, rounds := 150_000, 4
	if testing.Short() {
		rows, rounds = 50_000, 1
	}
	dir := jobdir.Check(t, jobdir.CheckJob, rows)
	jobdir.RejectsEvery(t, dir, 100)
	k := runtest.Killed{Dir: dir, Out: "out", Work: filepath.Join(dir, "work"), Memory: options.MinMemory}
	base := k
	base.Out = "base"
	begun := time.Now()
	want := runtest.Must(t, base.Read(t), base.Options())
	took := time.Since(begun)
	t.Logf("an undisturbed run takes %v", took)
	r := testrand.New(t)
	latest := took // no run is killed later than this
	for range rounds {
		for killed := 0; killed < 3; {
			k.Memory = options.MinMemory + r.Int64N(options.MinMemory)
			cmd := k.Command(t)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			after := time.Duration(r.Int64N(int64(latest)))
			t.Logf("killed after %v, with %d bytes of memory", after, k.Memory)
			end := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
			err := cmd.Wait()
			end.Stop()
			switch {
			case err == nil: // it was faster, so the next one starts anew and has less time
				latest = max(latest/2, 2)
				if err := os.RemoveAll(filepath.Join(dir, k.Out)); err != nil {
					t.Fatal(err)
				}
			case cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL:
				killed++
			default:
				t.Fatal(err)
			}
		}
		got := runtest.Must(t, k.Read(t), k.Options())
		runtest.SameRun(t, k, base.Out, want, got)
		if err := os.RemoveAll(filepath.Join(dir, k.Out)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestKilledSortOfOutputs: the sorts of several outputs continue together, also when one of them is written.
func TestKilledSortOfOutputs(t *testing.T) {
	runtest.ManyProcesses(t)
	dir := jobdir.Orders(t, jobdir.OrdersJob, 90_000)
	k := runtest.Killed{Dir: dir, Job: "orders.yaml", Out: "out", Work: filepath.Join(dir, "work"), Memory: options.MinMemory}
	base := k
	base.Out = "base"
	want := runtest.Must(t, base.Read(t), options.Options{})
	for _, c := range []struct {
		at    options.Point
		times int
	}{{options.Spilled, 3}, {options.Checkpointed, 3}, {options.Sorted, 1}, {options.Recorded, 3}, {options.Written, 1}, {options.Written, 2}} {
		k.At, k.Times = c.at, c.times
		got := k.KillAndResume(t, base.Out, want)
		if got.Resumed == nil || got.Resumed.Records < 10_000 {
			t.Errorf("%s %d: %+v kept", c.at, c.times, got.Resumed)
		}
	}
}

// TestKilledSortOfCompressedInput: a file that can only be read from its start is passed over up to the record that was
// the last.
func TestKilledSortOfCompressedInput(t *testing.T) {
	runtest.ManyProcesses(t)
	dir := jobdir.Check(t, jobdir.CheckJob, 150_000)
	jobdir.RejectsEvery(t, dir, 500)
	base := runtest.Killed{Dir: dir, Out: "base", Memory: options.MinMemory, Work: filepath.Join(dir, "work")}
	names, err := filepath.Glob(filepath.Join(dir, "in/2026-11-20/*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, err = w.Write(content)
		if err := errors.Join(err, w.Close(), os.WriteFile(name+".gz", packed.Bytes(), 0o600), os.Remove(name)); err != nil {
			t.Fatal(err)
		}
	}
	want := runtest.Must(t, base.Read(t), base.Options())
	k := base
	k.Out, k.At, k.Times = "out", options.Checkpointed, 5
	k.Kill(t)
	got := runtest.Must(t, k.Read(t), k.Options())
	runtest.SameRun(t, k, base.Out, want, got)
	if got.Resumed == nil || got.Resumed.Records < 50_000 {
		t.Errorf("%+v kept", got.Resumed)
	}
}

// keptDir is what a killed run has left.
func keptDir(t *testing.T, k runtest.Killed) string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(k.Work, checkpoint.Prefix+"*"))
	if err != nil || len(all) != 1 {
		t.Fatalf("%v, %v", all, err)
	}
	return all[0]
}

// TestUselessCheckpoints: whatever has happened to what is kept, the output is right, and the run says what it made of
// it.
func TestUselessCheckpoints(t *testing.T) {
	runtest.ManyProcesses(t)
	dir := jobdir.Check(t, jobdir.CheckJob, 70_000)
	jobdir.RejectsEvery(t, dir, 1000)
	k := runtest.Killed{Dir: dir, Out: "out", Work: filepath.Join(dir, "work"), Memory: options.MinMemory, At: options.Checkpointed, Times: 3}
	base := k
	base.Out = "base"
	want := runtest.Must(t, base.Read(t), base.Options())
	change := func(name string, how func([]byte) []byte) {
		content, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(name, how(bytes.Clone(content)), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	flip := func(at int) func([]byte) []byte {
		return func(b []byte) []byte {
			b[(at+len(b))%len(b)] ^= 4
			return b
		}
	}
	lines := func(kept string, how func([][]byte) [][]byte) {
		change(filepath.Join(kept, checkpoint.JournalName), func(b []byte) []byte {
			return bytes.Join(how(bytes.SplitAfter(b, []byte("\n"))), nil)
		})
	}
	one := func(kept, pattern string) string {
		all, err := filepath.Glob(filepath.Join(kept, pattern))
		if err != nil || len(all) < 1 {
			t.Fatal(all, err)
		}
		return all[0]
	}
	run := func(kept string, line int) string { // of the journal; -1 is the last
		j, lines, err := checkpoint.OpenJournal(filepath.Join(kept, checkpoint.JournalName))
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := checkpoint.ParseLine(lines[(line+len(lines))%len(lines)])
		if err := errors.Join(err, j.Close()); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(kept, "0", parsed.Checkpoint.Shares[0].Run.Name)
	}
	for name, c := range map[string]struct {
		change func(kept string)
		said   string
		used   bool
	}{
		"nothing": {func(string) {}, "going on with", true},
		"half a line": {func(kept string) {
			change(filepath.Join(kept, checkpoint.JournalName), func(b []byte) []byte { return append(b, b[:100]...) })
		}, "going on with", true},
		"a cut last line": {func(kept string) {
			change(filepath.Join(kept, checkpoint.JournalName), func(b []byte) []byte { return b[:len(b)-20] })
		}, "going on with", true},
		"an unrecorded run": {func(kept string) {
			change(run(kept, 1), func(b []byte) []byte {
				_ = os.WriteFile(filepath.Join(kept, "0", "run-000099"), b[:5000], 0o600)
				return b
			})
		}, "going on with", true},
		"a changed line": {func(kept string) { change(filepath.Join(kept, checkpoint.JournalName), flip(1000)) }, "journal is damaged", false},
		"exchanged lines": {func(kept string) {
			lines(kept, func(l [][]byte) [][]byte { l[1], l[2] = l[2], l[1]; return l })
		}, "journal is damaged", false},
		"a line lost": {func(kept string) {
			lines(kept, func(l [][]byte) [][]byte { return slices.Delete(l, 1, 2) })
		}, "journal is damaged", false},
		"the first line lost": {func(kept string) { lines(kept, func(l [][]byte) [][]byte { return l[1:] }) }, "journal is damaged", false},
		"a line twice": {func(kept string) {
			lines(kept, func(l [][]byte) [][]byte { return slices.Insert(l, 2, l[1]) })
		}, "journal is damaged", false},
		"an empty journal": {func(kept string) {
			change(filepath.Join(kept, checkpoint.JournalName), func([]byte) []byte { return nil })
		}, "nothing is finished", false},
		"no journal":         {func(kept string) { _ = os.Remove(filepath.Join(kept, checkpoint.JournalName)) }, "nothing is finished", false},
		"the first run lost": {func(kept string) { _ = os.Remove(run(kept, 1)) }, "no such file", false},
		"the last run lost":  {func(kept string) { _ = os.Remove(run(kept, -1)) }, "going on with", true},
		"a cut run":          {func(kept string) { change(run(kept, 1), func(b []byte) []byte { return b[:len(b)-1] }) }, "bytes and had", false},
		"a changed run":      {func(kept string) { change(run(kept, -1), flip(-10)) }, "checkpoints that an earlier process recorded", true},
		"changed rejects":    {func(kept string) { change(one(kept, "rejects-*"), flip(20)) }, "has changed", true},
		"a block lost with the machine": {func(kept string) {
			change(run(kept, -1), flip(5000))
			rewriteHead(t, kept, func(h *checkpoint.Header) { h.Boot = "before" })
		}, "checkpoints that an earlier process recorded", true},
		"the machine went down": {func(kept string) { rewriteHead(t, kept, func(h *checkpoint.Header) { h.Boot = "before" }) }, "going on with", true},
		"another program":       {func(kept string) { rewriteHead(t, kept, func(h *checkpoint.Header) { h.Program = "x" }) }, "another bulkload", false},
		"other regions":         {func(kept string) { rewriteHead(t, kept, func(h *checkpoint.Header) { h.Outputs[0].Regions = "x" }) }, "regions have changed", false},
		"another run":           {func(kept string) { rewriteHead(t, kept, func(h *checkpoint.Header) { h.Outputs[0].Run = "x" }) }, "does not belong", false},
		"other splits":          {func(kept string) { rewriteHead(t, kept, func(h *checkpoint.Header) { h.Splits = "x" }) }, "does not belong", false},
	} {
		t.Run(name, func(t *testing.T) {
			k.KillAnew(t)
			c.change(keptDir(t, k))
			var said []string
			o := k.Options()
			o.Say = func(text string) { said = append(said, text) }
			got := runtest.Must(t, k.Read(t), o)
			runtest.SameRun(t, k, base.Out, want, got)
			if !strings.Contains(strings.Join(said, "\n"), c.said) || (got.Resumed != nil) != c.used && name != "changed rejects" {
				t.Errorf("kept %+v; said %q", got.Resumed, said)
			}
		})
	}
}

// rewriteHead changes what a journal says it belongs to.
func rewriteHead(t *testing.T, kept string, how func(*checkpoint.Header)) {
	t.Helper()
	name := filepath.Join(kept, checkpoint.JournalName)
	j, lines, err := checkpoint.OpenJournal(name)
	if err != nil {
		t.Fatal(err)
	}
	var head checkpoint.Header
	if err := errors.Join(j.Close(), json.Unmarshal(lines[0], &head), os.Remove(name)); err != nil {
		t.Fatal(err)
	}
	how(&head)
	if j, err = checkpoint.CreateJournal(name); err != nil {
		t.Fatal(err)
	}
	if err := j.Append(head); err != nil {
		t.Fatal(err)
	}
	for _, line := range lines[1:] {
		if err := j.Append(json.RawMessage(line)); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedPersistentRun: a block that has changed on the disk is found when it is read, and the same command begins
// anew.
func TestDamagedPersistentRun(t *testing.T) {
	runtest.ManyProcesses(t)
	dir := jobdir.Check(t, jobdir.CheckJob, 70_000)
	k := runtest.Killed{Dir: dir, Out: "out", Work: filepath.Join(dir, "work"), Memory: options.MinMemory, At: options.Checkpointed, Times: 3}
	base := k
	base.Out = "base"
	want := runtest.Must(t, base.Read(t), base.Options())
	k.Kill(t)
	testfs.Damage(t, filepath.Join(keptDir(t, k), "0", "run-*"))
	if _, err := run.Job(context.Background(), nil, k.Read(t), k.Options()); !errors.Is(err, partition.ErrDamaged) || failure.KindOf(err) != failure.Failed {
		t.Errorf("%v", err)
	}
	got := runtest.Must(t, k.Read(t), k.Options())
	runtest.SameRun(t, k, base.Out, want, got)
	if got.Resumed != nil {
		t.Errorf("went on with damaged runs: %+v", got.Resumed)
	}
}

// TestWhenCheckpointsAreUsed: --force, and another run with the same output, begin anew; an interrupted run and one
// that the output's disk stopped continue; a folder that is locked or not one's own is left alone.
func TestWhenCheckpointsAreUsed(t *testing.T) {
	runtest.ManyProcesses(t)
	dir := jobdir.Check(t, jobdir.CheckJob, 70_000)
	k := runtest.Killed{Dir: dir, Out: "out", Work: filepath.Join(dir, "work"), Memory: options.MinMemory, At: options.Checkpointed, Times: 3}
	base := k
	base.Out = "base"
	want := runtest.Must(t, base.Read(t), base.Options())

	k.Kill(t)
	o := k.Options()
	o.Force = true
	if got := runtest.Must(t, k.Read(t), o); got.Resumed != nil {
		t.Errorf("with --force: %+v", got.Resumed)
	}

	again := func(what string, kept bool) {
		t.Helper()
		got := runtest.Must(t, k.Read(t), k.Options())
		runtest.SameRun(t, k, base.Out, want, got)
		if (got.Resumed != nil) != kept {
			t.Errorf("%s: %+v was kept", what, got.Resumed)
		}
		if err := os.RemoveAll(filepath.Join(dir, k.Out)); err != nil {
			t.Fatal(err)
		}
	}
	again("finished", false)
	ctx, cancel := context.WithCancel(context.Background())
	o, spilled := k.Options(), 0
	o.Failpoint = func(p options.Point) {
		if p == options.Checkpointed {
			if spilled++; spilled == 2 {
				cancel()
			}
		}
	}
	if _, err := run.Job(ctx, nil, k.Read(t), o); failure.KindOf(err) != failure.Interrupted {
		t.Errorf("%v", err)
	}
	again("interrupted", true)

	k.Kill(t)
	kept := keptDir(t, k)
	lock, err := partition.LockFolder(kept)
	if err != nil {
		t.Fatal(err)
	}
	_, err = run.Job(context.Background(), nil, k.Read(t), k.Options())
	if failure.KindOf(err) != failure.Later || !testwords.Names(err, kept) {
		t.Errorf("while another works there: %v", err)
	}
	if err := errors.Join(lock.Close(), os.Chmod(kept, 0o755)); err != nil {
		t.Fatal(err)
	}
	_, err = run.Job(context.Background(), nil, k.Read(t), k.Options())
	if failure.KindOf(err) != failure.Refused || !testwords.Names(err, kept) {
		t.Errorf("a folder that others can read: %v", err)
	}
	if err := os.Chmod(kept, 0o700); err != nil {
		t.Fatal(err)
	}
	again("after that", true)

	j := k.Read(t)
	j.Input.Rows = 1
	if _, err := run.Job(context.Background(), nil, j, k.Options()); failure.KindOf(err) != failure.Refused {
		t.Errorf("one row is expected: %v", err)
	}
	again("refused for its rows", true)

	k.Kill(t)
	name := filepath.Join(dir, "in/2026-11-20/part-m-00001")
	if err := os.Chtimes(name, time.Time{}, time.Now()); err != nil {
		t.Fatal(err)
	}
	if got := runtest.Must(t, k.Read(t), k.Options()); got.Resumed != nil || got.Digest != want.Digest {
		t.Errorf("another input: %+v was kept", got.Resumed)
	}
	if left, err := os.ReadDir(k.Work); err == nil && len(left) > 0 {
		t.Errorf("%v is left in the work folder", left)
	}
}

// TestCheckpointsAreRemoved: what nobody has gone on with for a week is deleted by the next run that spills there.
func TestCheckpointsAreRemoved(t *testing.T) {
	runtest.ManyProcesses(t)
	dir := jobdir.Check(t, jobdir.CheckJob, 70_000)
	k := runtest.Killed{Dir: dir, Out: "out", Work: filepath.Join(dir, "work"), Memory: options.MinMemory, At: options.Checkpointed, Times: 3}
	k.Kill(t)
	old := keptDir(t, k)
	other := k
	other.Out = "other"
	runtest.Must(t, other.Read(t), other.Options())
	if _, err := os.Stat(old); err != nil {
		t.Errorf("after a moment: %v", err)
	}
	long := time.Now().Add(-checkpoint.MaxAge - time.Hour)
	if err := os.Chtimes(filepath.Join(old, checkpoint.JournalName), long, long); err != nil {
		t.Fatal(err)
	}
	runtest.Must(t, runtest.Killed{Dir: dir, Out: "third"}.Read(t), k.Options())
	if left, err := os.ReadDir(k.Work); err == nil && len(left) > 0 {
		t.Errorf("after a week: %v", left)
	}
}

// TestNoCheckpointWhenAllFitsInMemory: nothing is written to the work folder where nothing is spilled.
func TestNoCheckpointWhenAllFitsInMemory(t *testing.T) {
	dir := jobdir.Check(t, jobdir.CheckJob, 4000)
	jobdir.RejectsEvery(t, dir, 50)
	work := filepath.Join(dir, "work")
	k := runtest.Killed{Dir: dir, Out: "out"}
	runtest.Must(t, k.Read(t), options.Options{WorkDir: work, Failpoint: func(options.Point) {
		if _, err := os.Stat(work); err == nil {
			t.Error("the work folder is there")
		}
	}})
}

// TestKilledWideSort: where the slices of a wide table begin, which is at rows, stays the same when a run is killed
// while it sorts, and while it merges sorted runs because large values leave no room for reading all of them.
func TestKilledWideSort(t *testing.T) {
	runtest.ManyProcesses(t)
	const records = 200_000
	dir := jobdir.Wide(t, jobdir.WideCases["several cells a record"].Job, records)
	largeNotes(t, dir)
	k := runtest.Killed{Dir: dir, Job: "wide.yaml", Out: "out", Work: filepath.Join(dir, "work"), Memory: options.MinMemory}
	base := k
	base.Out = "base"
	var kept, merged int
	o := base.Options()
	count, countMerged := runtest.Counting(&kept, options.Checkpointed), runtest.Counting(&merged, options.Replaced)
	o.Failpoint = func(p options.Point) {
		count(p)
		countMerged(p)
	}
	want := runtest.Must(t, base.Read(t), o)
	if kept < 3 || merged < 2 || len(runtest.Files(t, filepath.Join(dir, base.Out))) < 16 {
		t.Fatalf("%d checkpoints, %d merges, %d files", kept, merged, len(runtest.Files(t, filepath.Join(dir, base.Out))))
	}
	for _, c := range []struct {
		at    options.Point
		times int
	}{{options.Spilled, 2}, {options.Checkpointed, kept}, {options.Merged, 1}, {options.Replaced, 1}, {options.Replaced, merged}, {options.Sorted, 1}, {options.Recorded, 4}} {
		t.Run(fmt.Sprint(c.at, c.times), func(t *testing.T) {
			k.At, k.Times = c.at, c.times
			got := k.KillAndResume(t, base.Out, want)
			// The checkpoint of the first spill may not have been written when the second one ends.
			if got.Resumed == nil && c.times > 1 && c.at != options.Spilled {
				t.Error("nothing was kept")
			}
		})
	}
}

// largeNotes returns some records of a folder that jobdir.Wide made notes of 600 kB.
func largeNotes(t *testing.T, dir string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "in/*"))
	if err != nil {
		t.Fatal(err)
	}
	note := strings.Repeat("value ", 100_000)
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines := bytes.SplitAfter(content, []byte{'\n'})
		for i := 3000; i < len(lines); i += 15_000 {
			if fields := bytes.Split(lines[i], []byte{'|'}); len(fields) == 4 {
				lines[i] = fmt.Appendf(nil, "%s|%s|%s|%s\n", fields[0], fields[1], fields[2], note)
			}
		}
		if err := os.WriteFile(name, bytes.Join(lines, nil), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
