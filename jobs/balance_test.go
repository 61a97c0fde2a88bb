package jobs

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/ingest"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/sample"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/lock"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/run"
)

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
		change func(*manifest.Slice)
		fails  bool
	}{
		"a region of which slices are missing": {options.Recorded, 4, func(r *manifest.Slice) { r.Digest.Timed++ }, true},
		"a dropped duplicate that is none":     {options.Recorded, 4, func(r *manifest.Slice) { r.Dropped.Cells++ }, true},
		"a region that is complete":            {options.Balanced, 1, func(r *manifest.Slice) { r.Digest.Timeless++ }, false},
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
			if (err != nil) != c.fails || c.fails && (failure.KindOf(err) != failure.Differs || !strings.Contains(err.Error(), "the same command writes it again")) {
				t.Errorf("the run that finds it: %v", err)
			}
			if m, err := manifest.Read(storage.Local, out); c.fails && (err != nil || m.Done(region, 0) != nil) {
				t.Errorf("region %d is recorded still, %v", region, err)
			}
			s, err := run.Job(context.Background(), nil, j, options.Options{})
			if err != nil || s.Books.Written != 6000 {
				t.Fatalf("the same command: %v, %v", s.Books, err)
			}
			runtest.SameFiles(t, "written again", base, out)
			runtest.NothingLeft(t, out)
		})
	}
}

// TestLostRowsAreNoticed: a run whose slices have fewer rows or cells than were read, or more, ends with that, and does not call its
// output finished, however often it is repeated; --force writes it anew.
func TestLostRowsAreNoticed(t *testing.T) {
	dir := jobdir.Check(t, jobdir.CheckJob, 600)
	base, out := filepath.Join(dir, "base"), filepath.Join(dir, "out")
	runtest.Must(t, jobtest.Check(t, dir, base), options.Options{})
	for name, change := range map[string]func(*manifest.Slice){
		"a row is lost":        func(s *manifest.Slice) { s.Books.Rows--; s.Entries-- },
		"a cell is lost":       func(s *manifest.Slice) { s.Books.Cells-- },
		"a row too many":       func(s *manifest.Slice) { s.Books.Rows++; s.Entries++ },
		"a duplicate too many": func(s *manifest.Slice) { s.Books.Duplicates++; s.Entries++ },
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.RemoveAll(out); err != nil {
				t.Fatal(err)
			}
			runtest.Crash(t, dir, options.Balanced, 1)
			falsify(t, out, func(m *manifest.Manifest) { change(&m.Slices[len(m.Slices)/2]) })
			j := jobtest.Check(t, dir, out)
			for range 2 {
				if _, err := run.Job(context.Background(), nil, j, options.Options{}); failure.CodeOf(err) != errcode.Books || failure.KindOf(err) != failure.Differs {
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
