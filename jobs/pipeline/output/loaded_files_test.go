package output_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/testfs"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/run"
)

// halfLoaded is an output of the check job as a load leaves it that has lost a file: one file is in the table, one
// slice has to be written again. change is applied to the manifest.
func halfLoaded(t *testing.T, change func(*manifest.Manifest)) (dir, out string, loaded hfiles.FileMeta) {
	t.Helper()
	dir = jobdir.Check(t, jobdir.CheckJob, 400)
	out = filepath.Join(dir, "out")
	runtest.Must(t, jobtest.Check(t, dir, out), options.Options{})
	m, err := manifest.Read(storage.Local, out)
	if err != nil {
		t.Fatal(err)
	}
	m.State = manifest.Writing
	m.Remove([]int{9})
	file := m.Files()[3]
	file.Loaded = true
	loaded = *file
	if err := os.Remove(filepath.Join(out, file.Path)); err != nil {
		t.Fatal(err)
	}
	change(m)
	if err := m.Save(storage.Local, out, out); err != nil {
		t.Fatal(err)
	}
	return dir, out, loaded
}

// TestChangedSettingsKeepLoadedFiles: the limit of files has changed since the run began, so all files are written
// again. One that is in the table is not loaded a second time.
func TestChangedSettingsKeepLoadedFiles(t *testing.T) {
	t.Parallel()
	dir, out, loaded := halfLoaded(t, func(m *manifest.Manifest) { m.MaxFiles = 5 })
	runtest.Must(t, jobtest.Check(t, dir, out), options.Options{})
	m, err := manifest.Read(storage.Local, out)
	if err != nil || m.State != manifest.Written || m.MaxFiles != 0 || m.Cuts != nil {
		t.Fatalf("%+v, %v", m, err)
	}
	for _, f := range m.Files() {
		_, err := os.Stat(filepath.Join(out, f.Path))
		if is := f.Path == loaded.Path; f.Loaded != is || (err != nil) != is {
			t.Errorf("%s: loaded %v, %v; %s was loaded", f.Path, f.Loaded, err, loaded.Path)
		}
	}
}

// TestRunWithLoadedFilesDoesNotGiveWay: a run whose slices must all be written again has rows in the table. Another
// input does not replace it unless that is wanted.
func TestRunWithLoadedFilesDoesNotGiveWay(t *testing.T) {
	t.Parallel()
	dir, out, loaded := halfLoaded(t, func(m *manifest.Manifest) { m.RemoveAll() })
	part := filepath.Join(dir, "in", "2026-11-20", "part-m-00003")
	text := testfs.Read(t, part)
	if err := os.WriteFile(part, text[:len(text)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := run.Job(context.Background(), nil, jobtest.Check(t, dir, out), options.Options{}); failure.CodeOf(err) != errcode.OutputInput {
		t.Errorf("another input: %v", err)
	}
	if err := os.WriteFile(part, text, 0o600); err != nil {
		t.Fatal(err)
	}
	runtest.Must(t, jobtest.Check(t, dir, out), options.Options{})
	m, err := manifest.Read(storage.Local, out)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(m.NotLoaded()); n != len(m.Files())-1 || m.Files()[3].Path != loaded.Path || !m.Files()[3].Loaded {
		t.Errorf("%d of %d files are not loaded", n, len(m.Files()))
	}
}
