package jobs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/runtest"
	"bulkload/jobs/base/options"
)

// TestKilledWideSort: where the slices of a wide table begin, which is at rows, stays the same when a run is killed while
// it sorts, and while it merges sorted runs because large values leave no room for reading all of them.
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
			if got.Resumed == nil && c.times > 1 {
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
