package jobs

import (
	"archive/tar"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bulkload/internal/storage"
	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/runtest"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/lock"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/spec/jobfile"

	"github.com/klauspost/compress/zstd"
)

// Go test's -update writes the golden files anew. What the outputs of before are known by is in them: they change only
// where that is meant, and then TestOutputsOfEarlierVersions reports whether the program still continues with what an older one has left.
//
//	go test ./jobs -run Golden -update
var update = flag.Bool("update", false, "write the golden files anew")

const storedDir = "testdata/stored"

// storedNames are the archives that testdata/stored/make.sh has made with the program of commit 7cb2d21: one for each form
// of input, one with several outputs, and a wide one.
func storedNames(t *testing.T) []string {
	t.Helper()
	names := []string{"csv", "delimited", "outputs", "parquet", "sqoop", "wide"}
	found, err := filepath.Glob(filepath.Join(storedDir, "*.tar.zst"))
	if err != nil || len(found) != len(names) {
		t.Fatalf("%d archives in %s (%v), want %v", len(found), storedDir, err, names)
	}
	return names
}

// unpackStored unpacks an archive and makes its folder the present one: the input's path, which is a part of the run's
// identity, is /proc/self/cwd/in.
func unpackStored(t *testing.T, name string) {
	t.Helper()
	packed, err := os.Open(filepath.Join(storedDir, name+".tar.zst"))
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	in, err := zstd.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	t.Chdir(t.TempDir())
	for entries := tar.NewReader(in); ; {
		h, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err == nil {
			err = unpackEntry(h, entries)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func unpackEntry(h *tar.Header, content io.Reader) error {
	if h.Typeflag == tar.TypeDir {
		return os.MkdirAll(h.Name, 0o755)
	}
	text, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	if err := os.WriteFile(h.Name, text, 0o600); err != nil {
		return err
	}
	modified := h.ModTime // that of an input file is a part of the run's identity
	if filepath.Base(h.Name) == lock.LockName {
		modified = time.Now().Add(-time.Hour) // another machine's lock, untouched for long
	}
	return os.Chtimes(h.Name, modified, modified)
}

// storedJob reads the job of an archive that was unpacked.
func storedJob(t *testing.T) *jobfile.Job {
	t.Helper()
	j, err := jobfile.Read("job.yaml", jobfile.ReadOptions{Date: jobdir.Date})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// storedManifests are the manifests of all outputs below a folder, in the job's order.
func storedManifests(t *testing.T, j *jobfile.Job, folder string) []*manifest.Manifest {
	t.Helper()
	var all []*manifest.Manifest
	for _, out := range j.Feeds() {
		dir, err := filepath.Abs(filepath.Join(folder, strings.TrimPrefix(out.Output, "out")))
		if err != nil {
			t.Fatal(err)
		}
		m, err := manifest.Read(storage.Local, dir)
		if err != nil || m == nil {
			t.Fatalf("%v of %s: %v", m, folder, err)
		}
		m.Finished = time.Time{} // the only thing that a clock decides
		all = append(all, m)
	}
	return all
}

// golden wants a text to be that of a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	near := func(text string) string { return text[max(0, at-60):min(len(text), at+120)] }
	t.Errorf("%s, line %d, was\n%s\nand is\n%s\nIs the change meant, and does TestOutputsOfEarlierVersions pass? Then: go test ./jobs -run Golden -update",
		name, 1+strings.Count(got[:at], "\n"), near(string(want)), near(got))
}

// TestGoldenRuns: a job's hash, the run's ID and the manifest are what they always were.
func TestGoldenRuns(t *testing.T) {
	for _, name := range storedNames(t) {
		t.Run(name, func(t *testing.T) {
			file, err := filepath.Abs(filepath.Join(storedDir, name+".golden"))
			if err != nil {
				t.Fatal(err)
			}
			unpackStored(t, name)
			if err := os.RemoveAll("out"); err != nil {
				t.Fatal(err)
			}
			j := storedJob(t)
			runtest.Must(t, j, options.Options{})
			var text strings.Builder
			for i, m := range storedManifests(t, j, "out") {
				manifest, err := m.Marshal()
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&text, "job %s\nrun %s\n%s\n", j.Feeds()[i].Hash(), m.Run.ID, manifest)
			}
			golden(t, file, text.String())
		})
	}
}

// TestOutputsOfEarlierVersions: what the program of an older commit has finished is finished, and what it left half done continues: what
// it had written stays, and the files are those of a run from the beginning.
func TestOutputsOfEarlierVersions(t *testing.T) {
	for _, name := range storedNames(t) {
		t.Run(name, func(t *testing.T) {
			unpackStored(t, name)
			j := storedJob(t)
			finished := storedManifests(t, j, "out")
			before := touched(t, "out")
			if s := runtest.Must(t, j, options.Options{}); s.Status != failure.StatusNothing {
				t.Errorf("the finished run: %s", s.Status)
			}
			if after := touched(t, "out"); !maps.Equal(before, after) {
				t.Errorf("the finished run has changed: %v, now %v", before, after)
			}
			move(t, "out", "whole")

			half := storedManifests(t, j, "half")
			move(t, "half", "out")
			before = touched(t, "out")
			var said []string
			s := runtest.Must(t, storedJob(t), options.Options{Say: func(text string) { said = append(said, text) }})
			if s.Status != failure.StatusDone {
				t.Errorf("the half run: %s, %q", s.Status, said)
			}
			runtest.SameFiles(t, "gone on", "whole", "out")
			runtest.SameManifests(t, "gone on", finished, storedManifests(t, j, "out"))
			wantUntouched(t, j, half, before)
			move(t, "out", "resumed")

			if s := runtest.Must(t, storedJob(t), options.Options{}); s.Status != failure.StatusDone {
				t.Errorf("from the beginning: %s", s.Status)
			}
			runtest.SameFiles(t, "from the beginning", "whole", "out")
			runtest.SameManifests(t, "from the beginning", finished, storedManifests(t, j, "out"))
		})
	}
}

func move(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// touched is when each HFile was written.
func touched(t *testing.T, output string) map[string]time.Time {
	t.Helper()
	all := map[string]time.Time{}
	for name := range runtest.Files(t, output) {
		info, err := os.Stat(filepath.Join(output, name))
		if err != nil {
			t.Fatal(err)
		}
		all[name] = info.ModTime()
	}
	return all
}

// wantUntouched wants the files of the slices that were finished to be there as they were, and some to be new.
func wantUntouched(t *testing.T, j *jobfile.Job, half []*manifest.Manifest, before map[string]time.Time) {
	t.Helper()
	after := touched(t, "out")
	kept := 0
	for i, m := range half {
		for _, f := range m.Files() {
			name := strings.TrimPrefix(filepath.Join(strings.TrimPrefix(j.Feeds()[i].Output, "out"), f.Path), "/")
			if kept++; !after[name].Equal(before[name]) {
				t.Errorf("%s was finished, and is written again", name)
			}
		}
	}
	if kept == 0 || kept == len(after) {
		t.Errorf("%d of %d files were finished: the stored output shows nothing", kept, len(after))
	}
}
