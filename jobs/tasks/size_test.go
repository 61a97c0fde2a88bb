package tasks

import (
	"slices"
	"testing"

	"bulkload/jobs/sorting"
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
	units := unitTasks(3, []sorting.SliceTask{{Number: 0, Size: 6}, {Number: 1, Size: 4}, {Number: 2, Size: 1}}, 10)
	if len(units) != 2 || units[0].Output != 3 || units[1].Output != 3 || len(units[0].Slices) != 2 || len(units[1].Slices) != 1 || units[1].Slices[0].Number != 2 {
		t.Errorf("%+v", units)
	}
	if units := unitTasks(0, nil, 10); len(units) != 0 {
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
