package loading

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"bulkload/internal/errcode"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/base/counts"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/output"
	"bulkload/jobs/spec/jobfile"
	"bulkload/load"
)

// lostLoad is the load of an output with two slices: of the first, a file was lost, one is loaded and one is not; of
// the second, one is loaded and one is not.
func lostLoad(t *testing.T) (l *OutputLoad, paths []string, lost *load.LostError) {
	t.Helper()
	m := &manifest.Manifest{Schema: manifest.Schema, State: manifest.Loading, Run: jobfile.RunInfo{ID: "run", Table: "t", Job: "job.yaml"}, MadeFor: manifest.MadeFor{Splits: []string{"m"}}}
	out := output.New(localOutput(t, options.Options{}), m)
	for i, loaded := range []bool{true, true, false, true, false} {
		region := i / 3
		f := hfiles.FileMeta{Path: fmt.Sprintf("f/%032x", i), Family: "f", Region: region, FirstRow: "a", LastRow: "a", Bytes: 1, Rows: 1, Cells: 1, Loaded: loaded}
		f.Digest.Cells = 1
		paths = append(paths, f.Path)
		if len(out.Manifest.Slices) == region {
			out.Manifest.Slices = append(out.Manifest.Slices, manifest.RecordedSlice{Region: region, Entries: 1, Counts: counts.Written{Rows: 1}})
		}
		slice := &out.Manifest.Slices[region]
		slice.Files = append(slice.Files, f)
		if loaded {
			continue // HBase has moved it
		}
		if err := errors.Join(os.MkdirAll(filepath.Join(out.Path, "f"), 0o755), os.WriteFile(filepath.Join(out.Path, f.Path), []byte("x"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	lost = &load.LostError{Table: "t", Files: []load.ProbeResult{{HFile: load.HFile{URI: out.URI(paths[0])}}}}
	return &OutputLoad{out: out, lost: lostFiles{out: out.Dir}}, paths, lost
}

// there lists which of some files of an output exist.
func there(l *OutputLoad, paths []string) (found []string) {
	for _, name := range paths {
		if _, err := os.Stat(filepath.Join(l.out.Path, name)); err == nil {
			found = append(found, name)
		}
	}
	return found
}

// TestLostSlicesAreWrittenAgain: the slice of a lost file is written again as a whole. Its files that the table has
// stay recorded, so they are not loaded twice; those that it does not have are deleted. Other slices stay as they are.
func TestLostSlicesAreWrittenAgain(t *testing.T) {
	t.Parallel()
	l, paths, lost := lostLoad(t)
	l.out.ByJob = true
	var again *RewriteError
	if err := l.rewriteLost(t.Context(), lost); !errors.As(err, &again) {
		t.Fatalf("%v", err)
	}
	m, err := manifest.Read(l.out.FS, l.out.Path)
	if err != nil {
		t.Fatal(err)
	}
	var files, before []string
	for _, f := range m.Files() {
		files = append(files, f.Path)
	}
	for _, f := range m.LoadedBefore {
		before = append(before, f.Path)
	}
	if m.State != manifest.Writing || !slices.Equal(files, paths[3:]) || !slices.Equal(before, paths[1:2]) || len(m.Cuts) > 0 {
		t.Errorf("state %s, files %q, loaded before %q, cuts %v", m.State, files, before, m.Cuts)
	}
	if found := there(l, paths); !slices.Equal(found, paths[4:]) {
		t.Errorf("the output has %q", found)
	}
}

// TestLostFilesWithoutTheirJob: a directory that is loaded without its job can't be written again: nothing of it is
// dropped.
func TestLostFilesWithoutTheirJob(t *testing.T) {
	t.Parallel()
	l, paths, lost := lostLoad(t)
	err := l.rewriteLost(t.Context(), lost)
	if failure.CodeOf(err) != errcode.LoadLost || !testwords.Names(err, "job.yaml") {
		t.Errorf("%v", err)
	}
	if n := len(l.out.Manifest.Files()); n != len(paths) || l.out.Manifest.State != manifest.Loading {
		t.Errorf("the manifest has %d files and the state %s", n, l.out.Manifest.State)
	}
	if found := there(l, paths); len(found) != 2 {
		t.Errorf("the output has %q", found)
	}
}
