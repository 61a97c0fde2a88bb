package jobs

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"bulkload/ingest"
	"bulkload/internal/errcode"
	"bulkload/internal/parallel"
	"bulkload/internal/storage"
	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/sample"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/lock"
	"bulkload/jobs/inspect/verify"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/run"
)

// TestKilledRunGoesOn kills a run with SIGKILL at each of its points; the same command then gives the bytes of a run
// that was left alone, and once more does nothing.
func TestKilledRunGoesOn(t *testing.T) {
	dir := jobdir.Check(t, jobdir.CheckJob, 2000)
	base, out := filepath.Join(dir, "base"), filepath.Join(dir, "out")
	runtest.Must(t, jobtest.Check(t, dir, base), options.Options{})
	for _, c := range []struct {
		at    options.Point
		times int
	}{
		{options.Planned, 1}, {options.Sorted, 1}, {options.Verified, 1}, {options.Verified, 4}, {options.Renamed, 1}, {options.Renamed, 5},
		{options.Recorded, 1}, {options.Recorded, 9}, {options.Balanced, 1}, {options.Written, 1},
	} {
		t.Run(string(c.at)+strconv.Itoa(c.times), func(t *testing.T) {
			if err := os.RemoveAll(out); err != nil {
				t.Fatal(err)
			}
			runtest.Crash(t, dir, c.at, c.times)
			s := runtest.Must(t, jobtest.Check(t, dir, out), options.Options{})
			if s.Counts.Written != 2000 {
				t.Errorf("counts %v", s.Counts)
			}
			runtest.SameFiles(t, "resumed", base, out)
			runtest.NothingLeft(t, out)
			if again := runtest.Must(t, jobtest.Check(t, dir, out), options.Options{}); again.Status != failure.StatusNothing {
				t.Errorf("a run after that says %s", again.Status)
			}
			if _, err := os.Stat(filepath.Join(out, ingest.SuccessName)); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestKilledRunGivesWay: another run takes the place of a killed one with --force, whatever that one has left.
func TestKilledRunGivesWay(t *testing.T) {
	dir := jobdir.Check(t, jobdir.CheckJob, 2000)
	out := filepath.Join(dir, "out")
	for _, at := range []options.Point{options.Renamed, options.Recorded} {
		runtest.Crash(t, dir, at, 4)
		part := filepath.Join(dir, "in/2026-11-20/part-m-00003")
		content, err := os.ReadFile(part)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(part, content[:len(content)/2], 0o600); err != nil {
			t.Fatal(err)
		}
		j := jobtest.Check(t, dir, out)
		j.Input.MaxRejects.Count = 1 // the record that was cut
		if _, err := run.Job(context.Background(), nil, j, options.Options{}); failure.KindOf(err) != failure.Refused {
			t.Errorf("%s: another run without --force: %v", at, err)
		}
		runtest.Must(t, j, options.Options{Force: true})
		if _, err := verify.Job(context.Background(), j, options.Options{}, false); err != nil {
			t.Errorf("%s: %v", at, err)
		}
		if err := os.WriteFile(part, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(out); err != nil {
			t.Fatal(err)
		}
	}
}

// TestKilledSlicesGoOn: what was written of a region before a kill is not written again.
func TestKilledSlicesGoOn(t *testing.T) {
	dir := jobdir.Skewed(t, jobdir.SlicedJob, 6000, sample.Options{Skew: 95})
	base, out := filepath.Join(dir, "base"), filepath.Join(dir, "out")
	var all atomic.Int64
	runtest.Must(t, jobtest.Check(t, dir, base), options.Options{Failpoint: func(p options.Point) {
		if p == options.Begun {
			all.Add(1)
		}
	}})
	for _, at := range []options.Point{options.Renamed, options.Recorded} {
		if err := os.RemoveAll(out); err != nil {
			t.Fatal(err)
		}
		runtest.Crash(t, dir, at, 6)
		var begun atomic.Int64
		runtest.Must(t, jobtest.Check(t, dir, out), options.Options{Failpoint: func(p options.Point) {
			if p == options.Begun {
				begun.Add(1)
			}
		}})
		// Of the six, those under way beside each other may have been renamed and not yet recorded.
		if n := all.Load() - begun.Load(); n < max(6-int64(parallel.Workers()+1), 1) || n > 6 {
			t.Errorf("killed when the 6th of %d slices was %s: %d were not written again", all.Load(), at, n)
		}
		runtest.SameFiles(t, "resumed", base, out)
		runtest.NothingLeft(t, out)
	}
}

// falsify changes what an output's manifest records.
func falsify(t *testing.T, output string, change func(*manifest.Manifest)) {
	t.Helper()
	m, err := manifest.Read(storage.Local, output)
	if err != nil || m == nil {
		t.Fatal(m, err)
	}
	change(m)
	temps := filepath.Join(output, lock.TempDir)
	if err := os.MkdirAll(temps, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := m.Save(storage.Local, output, temps); err != nil {
		t.Fatal(err)
	}
}

// TestUnbalancedRegionIsWrittenAgain: where the recorded slices of a region do not hold what was sorted, the region is
// written again: by the same run where all of them are recorded, else by the same command after the run that found it.
func TestUnbalancedRegionIsWrittenAgain(t *testing.T) {
	dir := jobdir.Skewed(t, jobdir.SlicedJob, 6000, sample.Options{Skew: 95})
	base, out := filepath.Join(dir, "base"), filepath.Join(dir, "out")
	runtest.Must(t, jobtest.Check(t, dir, base), options.Options{})
	for name, c := range map[string]struct {
		at     options.Point
		times  int
		change func(*manifest.RecordedSlice)
		fails  bool
	}{
		"a region of which slices are missing": {options.Recorded, 4, func(r *manifest.RecordedSlice) { r.Digest.Timed++ }, true},
		"a dropped duplicate that is none":     {options.Recorded, 4, func(r *manifest.RecordedSlice) { r.Dropped.Cells++ }, true},
		"a region that is complete":            {options.Balanced, 1, func(r *manifest.RecordedSlice) { r.Digest.Timeless++ }, false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.RemoveAll(out); err != nil {
				t.Fatal(err)
			}
			runtest.Crash(t, dir, c.at, c.times)
			region := 0
			falsify(t, out, func(m *manifest.Manifest) {
				c.change(&m.Slices[0])
				region = m.Slices[0].Region
			})
			j := jobtest.Check(t, dir, out)
			_, err := run.Job(context.Background(), nil, j, options.Options{})
			if (err != nil) != c.fails || c.fails && (failure.CodeOf(err) != errcode.Digest) {
				t.Errorf("the run that finds it: %v", err)
			}
			if m, err := manifest.Read(storage.Local, out); c.fails && (err != nil || m.Done(region, 0) != nil) {
				t.Errorf("region %d is recorded still, %v", region, err)
			}
			s, err := run.Job(context.Background(), nil, j, options.Options{})
			if err != nil || s.Counts.Written != 6000 {
				t.Fatalf("the same command: %v, %v", s.Counts, err)
			}
			runtest.SameFiles(t, "written again", base, out)
			runtest.NothingLeft(t, out)
		})
	}
}

// TestLostRowsAreNoticed: a run whose slices have fewer rows or cells than were read, or more, ends with that, and does
// not call its output finished, however often it is repeated; --force writes it anew.
func TestLostRowsAreNoticed(t *testing.T) {
	dir := jobdir.Check(t, jobdir.CheckJob, 600)
	base, out := filepath.Join(dir, "base"), filepath.Join(dir, "out")
	runtest.Must(t, jobtest.Check(t, dir, base), options.Options{})
	for name, change := range map[string]func(*manifest.RecordedSlice){
		"a row is lost":        func(s *manifest.RecordedSlice) { s.Counts.Rows--; s.Entries-- },
		"a cell is lost":       func(s *manifest.RecordedSlice) { s.Counts.Cells-- },
		"a row too many":       func(s *manifest.RecordedSlice) { s.Counts.Rows++; s.Entries++ },
		"a duplicate too many": func(s *manifest.RecordedSlice) { s.Counts.Duplicates++; s.Entries++ },
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.RemoveAll(out); err != nil {
				t.Fatal(err)
			}
			runtest.Crash(t, dir, options.Balanced, 1)
			falsify(t, out, func(m *manifest.Manifest) { change(&m.Slices[len(m.Slices)/2]) })
			j := jobtest.Check(t, dir, out)
			for range 2 {
				if _, err := run.Job(context.Background(), nil, j, options.Options{}); failure.CodeOf(err) != errcode.Digest || failure.KindOf(err) != failure.Differs {
					t.Errorf("%s: %v", failure.CodeOf(err), err)
				}
				if _, err := os.Stat(filepath.Join(out, ingest.SuccessName)); err == nil {
					t.Error("the output is called finished")
				}
			}
			runtest.Must(t, j, options.Options{Force: true})
			runtest.SameFiles(t, "forced", base, out)
		})
	}
}

// TestForceBeginsAnew: --force helps where the run of the same input can't continue, however often it was tried
// without.
func TestForceBeginsAnew(t *testing.T) {
	dir := jobdir.Check(t, jobdir.CheckJob, 2000)
	base, out := filepath.Join(dir, "base"), filepath.Join(dir, "out")
	runtest.Must(t, jobtest.Check(t, dir, base), options.Options{})
	runtest.Crash(t, dir, options.Recorded, 4)
	m, err := manifest.Read(storage.Local, out)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(out, m.Files()[0].Path)); err != nil {
		t.Fatal(err)
	}
	if _, err := run.Job(context.Background(), nil, jobtest.Check(t, dir, out), options.Options{}); failure.CodeOf(err) != errcode.OutputChanged {
		t.Errorf("without --force: %s, %v", failure.CodeOf(err), err)
	}
	runtest.Must(t, jobtest.Check(t, dir, out), options.Options{Force: true})
	runtest.SameFiles(t, "begun anew", base, out)
}

// TestMaxSizeOfTheSiteIsRecorded: where hbase.hregion.max.filesize has changed, the files of an unfinished run are
// written again.
func TestMaxSizeOfTheSiteIsRecorded(t *testing.T) {
	dir := jobdir.Check(t, strings.Replace(jobdir.CheckJob, ", max_size: 10GiB", "", 1), 4000)
	base, out := filepath.Join(dir, "base"), filepath.Join(dir, "out")
	small := options.Options{Properties: map[string]string{"hbase.hregion.max.filesize": "100000"}}
	runtest.Must(t, jobtest.Check(t, dir, base), small)
	runtest.Crash(t, dir, options.Recorded, 4)
	runtest.Must(t, jobtest.Check(t, dir, out), small)
	runtest.SameFiles(t, "with another size", base, out)
}

func TestSliceOtherThanWritten(t *testing.T) {
	dir := jobdir.Skewed(t, jobdir.SlicedJob, 4000, sample.Options{Skew: 95})
	out := filepath.Join(dir, "out")
	runtest.Crash(t, dir, options.Recorded, 4)
	falsify(t, out, func(m *manifest.Manifest) {
		i := slices.IndexFunc(m.Slices, func(r manifest.RecordedSlice) bool { return strings.HasPrefix(r.Start, "7") })
		m.Slices[i].Start = "7" + m.Slices[i].Start
	})
	_, err := run.Job(context.Background(), nil, jobtest.Check(t, dir, out), options.Options{})
	if failure.CodeOf(err) != errcode.Digest {
		t.Errorf("a run whose slices begin elsewhere: %s, %v", failure.CodeOf(err), err)
	}
	runtest.Must(t, jobtest.Check(t, dir, out), options.Options{Force: true})
}
