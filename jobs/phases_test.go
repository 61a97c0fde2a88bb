package jobs

import (
	"path/filepath"
	"testing"

	"bulkload/internal/parallel"
	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/runtest"
	"bulkload/jobs/base/options"
)

// TestPhases: every phase shows its bytes, and the times of the parts are those that the stages took.
func TestPhases(t *testing.T) {
	dir := jobdir.Check(t, jobdir.CheckJob, 60_000)
	s := runtest.Must(t, jobtest.Check(t, dir, filepath.Join(dir, "out")), options.Options{Memory: options.MinMemory, WorkDir: t.TempDir()})
	wall, parts := map[string]float64{}, map[string]float64{}
	bytes := map[string]int64{}
	var names []string
	for _, p := range s.Phases {
		if p.Of == "" {
			wall[p.Name] = p.Seconds
			continue
		}
		names = append(names, p.Name)
		parts[p.Of] += p.Seconds
		bytes[p.Name] = p.Bytes
		if p.Seconds < 0 || p.Bytes <= 0 || p.Seconds > 0 && p.Rate <= 0 {
			t.Errorf("%+v", p)
		}
	}
	want := []string{"read", "parse", "key", "sort", "spill", "merge", "encode", "compress", "write", "verify"}
	if len(names) != len(want) {
		t.Fatalf("phases %v", names)
	}
	for i := range want {
		if names[i] != want[i] {
			t.Errorf("phases %v, want %v", names, want)
		}
	}
	for stage, took := range wall {
		// A slice may be finished beside those that the cores merge.
		if sum := parts[stage]; sum > took*float64(parallel.Workers()+1)*1.05+0.01 || sum < took/10 {
			t.Errorf("the parts of %s took %.3f s together, the stage %.3f s on %d cores", stage, sum, took, parallel.Workers())
		}
	}
	var size, raw int64
	for _, f := range s.Files {
		size += f.Bytes
		raw += f.Raw
	}
	if bytes["write"] != size || bytes["verify"] != size || bytes["encode"] != raw || bytes["compress"] >= raw || bytes["compress"] < size/2 {
		t.Errorf("files of %d bytes, %d raw; phases %v", size, raw, bytes)
	}
	if in := s.Phases[0].Bytes; bytes["read"] < in || bytes["read"] > in*3/2 || bytes["merge"] != s.Sort.Bytes || bytes["key"] != s.Sort.Bytes || bytes["spill"] != s.Sort.Spilled {
		t.Errorf("%d bytes of input, %d sorted; phases %v", in, s.Sort.Bytes, bytes)
	}
	b := s.Bound
	if b == nil || b.Cores != parallel.Workers() || b.Share < 0.1 || b.Share > 1 || b.Busy <= 0 || b.Busy > 1 || bytes[b.Phase] == 0 {
		t.Errorf("bound by %+v", b)
	}
}
