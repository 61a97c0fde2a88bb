package tasks

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/bytesize"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/sorting"
	"bulkload/jobs/pipeline/writing"
	"bulkload/partition"
)

// TestCutBySize: a task has as much work as fits, each item is in one task, and a task without work does not exist.
func TestCutBySize(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sizes []int64
		first []int
	}{
		{nil, nil},
		{[]int64{100}, []int{0}}, // more than a task may have, and yet not divided
		{[]int64{4, 6, 1, 9, 10, 11, 3}, []int{0, 2, 4, 5, 6}},
		{[]int64{0, 0, 10, 0}, []int{0}},
	} {
		if first := cutBySize(c.sizes, 10, func(n int64) int64 { return n }); !slices.Equal(first, c.first) {
			t.Errorf("%v are cut at %v, want %v", c.sizes, first, c.first)
		}
	}
	units := reduceTasks(3, []sorting.SliceWork{{Number: 0, Size: 6}, {Number: 1, Size: 4}, {Number: 2, Size: 1}}, 10)
	if len(units) != 2 || units[0].Output != 3 || units[1].Output != 3 || len(units[0].Slices) != 2 || len(units[1].Slices) != 1 || units[1].Slices[0].Number != 2 {
		t.Errorf("%+v", units)
	}
	if units := reduceTasks(0, nil, 10); len(units) != 0 {
		t.Errorf("%d tasks without slices", len(units))
	}
}

// TestTaskCommand: all engines run a task by the same arguments.
func TestTaskCommand(t *testing.T) {
	t.Parallel()
	p := &Phase{Name: MapPhase, Document: "hdfs://n/out/plan.json", Memory: 1 << 20, Cores: 2}
	if got := p.Command("plan.json", "-", "-v"); !slices.Equal(got, []string{"task", "map", "plan.json", "-", "--memory", "1048576", "--cores", "2", "-v"}) {
		t.Errorf("%q", got)
	}
	p.Cores = 0
	if got := p.Command(p.Document, "7"); !slices.Equal(got, []string{"task", "map", p.Document, "7", "--memory", "1048576", "--cores", "1"}) {
		t.Errorf("%q", got)
	}
}

// remoteFS is a local file system that calls itself HDFS.
type remoteFS struct{ storage.FS }

func (remoteFS) URI(name string) string { return "hdfs://n" + name }

// sortedRuns are as many runs as can be merged, all of which are the same one.
func sortedRuns(t *testing.T) *partition.Sorted {
	t.Helper()
	regions, err := partition.NewRegions([][]byte{[]byte("5")})
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(err)
	s, err := partition.NewSorter(partition.SortOptions{Regions: regions, Memory: sorting.SortMemory(options.DefaultMemory), Shards: 1, WorkDir: t.TempDir()})
	check(err)
	t.Cleanup(func() { _ = s.Discard() }) // the test is over
	shard := s.NewShard()
	for row := range 600 {
		key := fmt.Appendf(shard.Buffer(), "%04d a key, and what belongs to it", row)
		check(shard.Commit(key, 11, 11, partition.EntryOrigin{Offset: int64(row)}))
	}
	check(shard.Close())
	sorted, err := s.Sort(t.Context())
	check(err)
	store := partition.LocalStore(t.TempDir())
	run, err := sorted.WriteRun(t.Context(), store, "run")
	check(err)
	all, err := partition.OpenRuns(regions, slices.Repeat([]partition.StoredFile{{Store: store, RunFile: run}}, partition.MaxRuns))
	check(err)
	t.Cleanup(func() { check(all.Close()) })
	return all
}

// advised is the memory that an error advises to give each task: the last size that it names as the least.
func advised(t *testing.T, err error) int64 {
	t.Helper()
	sizes := regexp.MustCompile(`at least ([0-9.]+ [KMG]?i?B)`).FindAllStringSubmatch(err.Error(), -1)
	if len(sizes) == 0 {
		t.Fatalf("%v names no size", err)
	}
	n, parseErr := bytesize.Parse(sizes[len(sizes)-1][1])
	if parseErr != nil {
		t.Fatal(parseErr)
	}
	return n
}

// TestMemoryOfAMerge: a task that has too little memory to merge its runs is refused, and has enough with what the
// error says. The streams of HDFS count, and what the footers leave in memory.
func TestMemoryOfAMerge(t *testing.T) {
	t.Parallel()
	sorted := sortedRuns(t)
	least := map[bool]int64{}
	for _, remote := range []bool{false, true} {
		home := folder{fs: storage.Local, dir: "/runs"}
		if remote {
			home.fs = remoteFS{home.fs}
		}
		_, err := slicesAtOnce(sorted, home, options.MinMemory)
		if errcode.Outermost(err) != errcode.TaskMemory {
			t.Fatalf("%d runs in %d bytes of memory: %v", sorted.Stats().Runs, options.MinMemory, err)
		}
		least[remote] = advised(t, err)
		if n, err := slicesAtOnce(sorted, home, least[remote]); n != 1 || err != nil {
			t.Errorf("with %d bytes: %d, %v", least[remote], n, err)
		}
		if n, err := slicesAtOnce(sorted, home, least[remote]-2<<20); err == nil {
			t.Errorf("with 2 MiB less: %d", n)
		}
	}
	if more := least[true] - least[false]; more < 512*81<<10 {
		t.Errorf("streams of HDFS count as %d bytes", more)
	}
	if least[false] < sorting.SortMemory(sorted.ReaderMemory()+sorted.IndexMemory()) {
		t.Errorf("%d bytes suffice for %d", least[false], sorted.ReaderMemory())
	}
}

// TestStreamsOfAPlan: map tasks whose runs would need more streams than a reduce task has memory for are refused before
// they are run, except if others run the tasks, with a memory of their own.
func TestStreamsOfAPlan(t *testing.T) {
	t.Parallel()
	pieces := make([]int, 400)
	for _, c := range []struct {
		others  *ExternalScheduler
		remote  bool
		memory  int64
		refused bool
	}{
		{nil, true, 64 << 20, true}, {nil, true, 256 << 20, false}, {nil, false, 64 << 20, false}, {&ExternalScheduler{}, true, 64 << 20, false},
	} {
		w := &Work{external: c.others, sizes: Sizes{Task: 1 << 20, Memory: c.memory}, folders: []runFolder{{folder: folder{fs: storage.Local}}}}
		if c.remote {
			w.folders[0].fs = remoteFS{storage.Local}
		}
		err := w.checkPieces(&Plan{Pieces: pieces})
		if (err != nil) != c.refused || c.refused &&
			(errcode.Outermost(err) != errcode.TaskMemory || advised(t, err) != 139<<20) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestMemoryOfOthersTasks: reduce tasks that are handed over have a memory which is not known. So the memory of the
// command that hands them over is no reason to refuse, only to warn.
func TestMemoryOfOthersTasks(t *testing.T) {
	t.Parallel()
	sorted := sortedRuns(t)
	for memory, warns := range map[int64]bool{options.MinMemory: true, 64 << 30: false} {
		var log bytes.Buffer
		w := workOf(t)
		w.external, w.sizes = &ExternalScheduler{Until: ReducePhase}, Sizes{Task: 1 << 20, Memory: memory}
		w.options.Log = slog.New(slog.NewTextHandler(&log, nil))
		if err := w.home().make(); err != nil {
			t.Fatal(err)
		}
		r := &reduction{Work: w, all: []*writing.Stage{{Rows: &sorting.Rows{Sorted: sorted}}},
			left: [][]sorting.SliceWork{{{Number: 0, Size: 5}, {Number: 1, Size: 5}}}}
		over, rest := SplitPending(r.handOver())
		if over == nil || rest != nil || len(over.Phase.Tasks) != 1 {
			t.Errorf("with %d bytes of memory: %v, %v", memory, over, rest)
		}
		if got := strings.Contains(log.String(), "--memory is not known here"); got != warns {
			t.Errorf("with %d bytes of memory it says %s", memory, &log)
		}
	}
}

// TestDocumentsCountAsMemory: a plan or units that need more than a part of a task's memory are refused, by the driver
// before it writes them and by the task before it reads them, and the memory that the error names is enough.
func TestDocumentsCountAsMemory(t *testing.T) {
	t.Parallel()
	w := workOf(t)
	w.plan.Build = strings.Repeat("x", 3<<20)
	least := int64(0)
	for _, memory := range []int64{16 << 20, 0} {
		if w.sizes.Memory = memory; memory == 0 {
			w.sizes.Memory = least
		}
		err := w.writePlan(w.plan)
		_, unitsErr := w.writeUnits(&ReducePlan{Plan: w.plan})
		if memory == 0 {
			if err := errors.Join(err, unitsErr); err != nil {
				t.Error(err)
			}
			break
		}
		for _, err := range []error{err, unitsErr} {
			if errcode.Outermost(err) != errcode.TaskMemory {
				t.Fatalf("with %d bytes: %v", memory, err)
			}
			least = max(least, advised(t, err))
		}
	}
	name := w.home().path(planName)
	for memory, refused := range map[int64]bool{0: false, 16 << 20: true, least: false} {
		if _, err := readDocument(storage.Local, name, memory, new(Plan)); (errcode.Outermost(err) == errcode.TaskMemory) != refused || err != nil && !refused {
			t.Errorf("with %d bytes: %v", memory, err)
		}
	}
	w.external, w.sizes.Memory = &ExternalScheduler{}, 1
	if err := w.writePlan(w.plan); err != nil {
		t.Errorf("for others' tasks: %v", err)
	}
}
