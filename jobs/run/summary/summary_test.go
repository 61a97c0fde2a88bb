package summary

import (
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"bulkload/internal/digest"
	"bulkload/jobs/base/counts"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/base/timing"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/spec/jobfile"
)

// TestBound: the phase with the most time bounds a run, and a stage without parts counts for all cores.
func TestBound(t *testing.T) {
	t.Parallel()
	s := Summary{Phases: []timing.PhaseTime{
		{Name: "sort", Seconds: 2}, {Name: "key", Of: "sort", Seconds: 3}, {Name: "read", Of: "sort", Seconds: 0.5},
		{Name: "write", Seconds: 3}, {Name: "encode", Of: "write", Seconds: 4.5},
		{Name: "load", Seconds: 1}, // has no parts: it keeps both cores
	}}
	s.FindBound(2)
	if want := (Bound{Phase: "encode", Seconds: 4.5, Share: 0.45, Cores: 2, Busy: 10.0 / 12}); *s.Bound != want {
		t.Errorf("%+v, want %+v", *s.Bound, want)
	}
	nothing := Summary{}
	nothing.FindBound(2)
	if nothing.Bound != nil {
		t.Errorf("%+v in a run that did nothing", *nothing.Bound)
	}
}

// TestPhase: a stage is in the summary whether it succeeds or not, and its end is logged only if it does.
func TestPhase(t *testing.T) {
	t.Parallel()
	var said []string
	s := New(new(jobfile.Job))
	o, err := options.Options{Log: slog.New(handler{&said})}.WithDefaults()
	if err != nil {
		t.Fatal(err)
	}
	s.SetOptions(o)
	s.Begin("sort", "")(5, nil)
	s.Begin("write", "t")(7, errors.New("wrong"))
	if len(s.Phases) != 2 || s.Phases[0].Bytes != 5 || s.Phases[1].Name != "write" || s.Phases[1].Output != "t" {
		t.Errorf("%+v", s.Phases)
	}
	if want := []string{"sort begins", "sort done", "write begins"}; !slices.Equal(said, want) {
		t.Errorf("logged: %q", said)
	}
}

// TestShift: the time that a load probes is moved to the phase of probes, which begins earlier then; the sum is the
// same.
func TestShift(t *testing.T) {
	t.Parallel()
	s := &Summary{Phases: []timing.PhaseTime{{Name: "sort", Seconds: 9}, {Name: "load", Start: 1, Seconds: 4, Bytes: 100}, {Name: "probe", Start: 5, Seconds: 2, Bytes: 100}}}
	s.Shift(1500 * time.Millisecond)
	load, probe := s.Phases[1], s.Phases[2]
	if load.Seconds != 2.5 || load.Start != 1 || probe.Seconds != 3.5 || probe.Start != 3.5 || probe.Bytes != 100 || s.Phases[0].Seconds != 9 {
		t.Errorf("%+v", s.Phases)
	}
}

// TestStatusOfSeveralOutputs: there was nothing to do only if no output had anything to do.
func TestStatusOfSeveralOutputs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		outputs []string
		want    string
	}{
		{[]string{failure.StatusNothing, failure.StatusNothing}, failure.StatusNothing},
		{[]string{failure.StatusDone, failure.StatusNothing}, failure.StatusDone},
		{[]string{failure.StatusNothing, failure.StatusEmpty}, failure.StatusEmpty},
	} {
		s := new(Summary)
		for _, status := range c.outputs {
			s.Outputs = append(s.Outputs, &OutputReport{Status: status})
		}
		if s.SetStatus(); s.Status != c.want {
			t.Errorf("%v are together %s, want %s", c.outputs, s.Status, c.want)
		}
	}
}

// TestFill: the figures of regions are those of their slices, and the marks for a load are not shown.
func TestFill(t *testing.T) {
	t.Parallel()
	m := &manifest.Manifest{MadeFor: manifest.MadeFor{Splits: []string{"5"}}, Counts: counts.RowCounts{Read: 9}, Digest: digest.Sum{Cells: 4}}
	m.Add(manifest.RecordedSlice{Region: 1, Counts: counts.Written{Rows: 2, Cells: 3}, Files: []hfiles.FileMeta{{Path: "f/a", Bytes: 10, Opening: "x"}}},
		manifest.RecordedSlice{Region: 1, Slice: 1, Counts: counts.Written{Rows: 1, Cells: 1}, Files: []hfiles.FileMeta{{Path: "f/b", Bytes: 5}}})
	r := new(OutputReport)
	r.Fill(m)
	if want := []RegionSummary{{Region: 0, End: "5"}, {Region: 1, Start: "5", Rows: 3, Cells: 4, Bytes: 15, Files: 2}}; !slices.Equal(r.Regions, want) {
		t.Errorf("%+v", r.Regions)
	}
	if len(r.Files) != 2 || r.Files[0].Opening != "" || m.Files()[0].Opening == "" || r.Counts.Read != 9 || r.Digest.Cells != 4 {
		t.Errorf("%+v", r)
	}
}
