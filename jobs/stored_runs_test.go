package jobs

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/storage"
	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/storednames"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/lock"
	"bulkload/jobs/inspect/plan"
	"bulkload/jobs/pipeline/checkpoint"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/run"
	"bulkload/jobs/run/summary"
	"bulkload/jobs/spec/jobfile"

	"github.com/klauspost/compress/zstd"
)

// storedSame runs a stored job here and by tasks.
func storedSame(t *testing.T, name string) {
	unpackStored(t, name)
	j := storedJob(t)
	if err := os.RemoveAll("out"); err != nil { // that of an older program
		t.Fatal(err)
	}
	runtest.Must(t, j, options.Options{Memory: options.MinMemory, WorkDir: "work"})
	if err := os.Rename("out", "here"); err != nil {
		t.Fatal(err)
	}
	e := &runtest.InProcess{Options: options.Options{WorkDir: "work"}}
	if _, err := run.Job(t.Context(), (&run.TaskEngine{Engine: e, Sizes: runtest.SmallTasks}).Always(), storedJob(t), options.Options{}); err != nil {
		t.Fatal(err)
	}
	runtest.EqualManifests(t, name, storedManifests(t, j, "here"), storedManifests(t, j, "out"))
	runtest.SameFiles(t, name, "here", "out")
}

// TestTasksWriteTheSameForms: every form of input, several outputs and wide tables come to the same by tasks.
func TestTasksWriteTheSameForms(t *testing.T) {
	for _, name := range storedNames(t) {
		t.Run(name, func(t *testing.T) { storedSame(t, name) })
	}
}

// Go test's -update writes the golden files anew. What the outputs of before are known by is in them: they change only
// where that is meant, and then TestOutputsOfEarlierVersions reports whether the program still continues with what an
// older one has left.
//
//	go test ./jobs -run Golden -update
var update = flag.Bool("update", false, "write the golden files anew")

const storedDir = "testdata/stored"

// storedNames are the archives that testdata/stored/make.sh has made with the first program of format 1: one for each
// form of input, one with several outputs, and a wide one.
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

// TestOutputsOfEarlierVersions: what the program of an older commit has finished is finished, and what it left half
// done continues: what it had written stays, and the files are those of a run from the beginning.
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

// manyRecords makes the input of an archive so large that its sort spills. Rows that come again are entries like
// others.
func manyRecords(t *testing.T, times int) {
	t.Helper()
	names, err := filepath.Glob("in/[^_]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, ".parquet") {
			for i := range times {
				writeDated(t, fmt.Sprintf("in/copy-%04d.parquet", i), content)
			}
			continue
		}
		writeDated(t, name, bytes.Repeat(content, times))
	}
}

// writeDated writes an input file of a time that does not change.
func writeDated(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(name, jobdir.Date, jobdir.Date); err != nil {
		t.Fatal(err)
	}
}

// keptText is what a run keeps of its sort: the journal, with the name of its folder and each run's hash. The program's
// hash and the machine's boot ID are not those of another day.
func keptText(t *testing.T, work string) string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(work, checkpoint.Prefix+"*"))
	if err != nil || len(dirs) != 1 {
		t.Fatal(dirs, err)
	}
	// A copy, since opening a journal may cut it.
	content, err := os.ReadFile(filepath.Join(dirs[0], checkpoint.JournalName))
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "journal")
	if err := os.WriteFile(copied, content, 0o600); err != nil {
		t.Fatal(err)
	}
	j, lines, err := checkpoint.OpenJournal(copied)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	var head checkpoint.Header
	if err := json.Unmarshal(lines[0], &head); err != nil {
		t.Fatal(err)
	}
	text := bytes.Join(lines, []byte("\n"))
	text = bytes.Replace(text, []byte(head.Program), []byte("PROGRAM"), 1)
	text = bytes.Replace(text, []byte(head.Boot), []byte("BOOT"), 1)
	runs, err := filepath.Glob(filepath.Join(dirs[0], "[0-9]*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(runs)
	out := fmt.Sprintf("%s\n%s\n", filepath.Base(dirs[0]), text)
	for _, run := range runs {
		content, err := os.ReadFile(run)
		if err != nil {
			t.Fatal(err)
		}
		out += fmt.Sprintf("%s %x\n", strings.TrimPrefix(run, dirs[0]+"/"), sha256.Sum256(content))
	}
	return out
}

// TestGoldenJournals: the name of the folder in which a run keeps what it has sorted, the journal there, and the sorted
// runs with the packed entries in them are what they always were. A change of these is no harm by itself, since a
// program goes on with its own runs only; it must be meant all the same.
func TestGoldenJournals(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds, and one goroutine has no race")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // one goroutine sorts: else it is chance which one has read what
	for name, times := range map[string]int{"csv": 1000, "delimited": 1000, "outputs": 500, "parquet": 250, "wide": 1100} {
		t.Run(name, func(t *testing.T) {
			file, err := filepath.Abs(filepath.Join(storedDir, name+".journal.golden"))
			if err != nil {
				t.Fatal(err)
			}
			unpackStored(t, name)
			if err := os.RemoveAll("out"); err != nil {
				t.Fatal(err)
			}
			manyRecords(t, times)
			j := storedJob(t)
			j.Input.MaxRejects.Count = 1_000_000
			for _, out := range j.Feeds() {
				out.Output = "/proc/self/cwd/" + out.Output
			}
			var kept string
			runtest.Must(t, j, options.Options{Memory: options.MinMemory, WorkDir: "work", Failpoint: func(p options.Point) {
				if p == options.Sorted {
					kept = keptText(t, "work")
				}
			}})
			if kept == "" {
				t.Fatal("nothing was spilled")
			}
			golden(t, file, kept)
		})
	}
}

// TestStoredNames: what is stored as JSON, or promised as the answer of a command, has a name for each field that is
// not the one of Go's.
func TestStoredNames(t *testing.T) {
	unnamed, n := storednames.Check(reflect.TypeFor[manifest.Manifest](), reflect.TypeFor[checkpoint.Header](), reflect.TypeFor[checkpoint.Line](),
		reflect.TypeFor[lock.Owner](), reflect.TypeFor[summary.Summary](), reflect.TypeFor[plan.PlanReport]())
	if len(unnamed) > 0 || n < 25 {
		t.Errorf("of %d structs, without a name: %v", n, unnamed)
	}
}
