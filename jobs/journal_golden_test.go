package jobs

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/runtest"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/checkpoint"
)

// manyRecords makes the input of an archive so large that its sort spills. Rows that come again are entries like others.
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

// keptText is what a run keeps of its sort: the journal, with the name of its folder and each run's hash. The program's hash
// and the machine's boot ID are not those of another day.
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

// TestGoldenJournals: the name of the folder in which a run keeps what it has sorted, the journal there, and the sorted runs
// with the packed entries in them are what they always were. A change of these is no harm by itself, since a program goes
// on with its own runs only; it must be meant all the same.
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
