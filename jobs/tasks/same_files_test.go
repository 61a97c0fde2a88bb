package tasks_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/sample"
	"bulkload/jobs/base/options"
	"bulkload/jobs/run"
	"bulkload/jobs/tasks"

	"github.com/klauspost/compress/zstd"
)

// compressInput compresses the input files of a folder that jobdir.Check made, but for the last: the first with gzip,
// the others with zstd.
func compressInput(t *testing.T, dir string) string {
	t.Helper()
	all := jobdir.Parts(t, dir)
	for i, name := range all[:len(all)-1] {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		var w io.WriteCloser = gzip.NewWriter(&b)
		if i > 0 {
			if w, err = zstd.NewWriter(&b); err != nil {
				t.Fatal(err)
			}
		}
		_, err = w.Write(text)
		if err = errors.Join(err, w.Close(), os.WriteFile(name, b.Bytes(), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestTasksWriteTheSameFiles: a run by tasks, however small, writes the files, the manifest and the rejects of a run in
// one process, and leaves nothing else.
func TestTasksWriteTheSameFiles(t *testing.T) {
	for what, make := range map[string]func(t *testing.T) string{
		"delimited":  func(t *testing.T) string { return jobdir.Check(t, jobdir.CheckJob, 6000) },
		"skewed":     func(t *testing.T) string { return jobdir.Skewed(t, jobdir.SlicedJob, 12_000, sample.Options{Skew: 90}) },
		"compressed": func(t *testing.T) string { return compressInput(t, jobdir.Check(t, jobdir.CheckJob, 3000)) },
		"planned regions": func(t *testing.T) string {
			splits := "{from: splits, splits: ['1', '2', '3', '4', '5', '6', '7', '8', '9']}"
			return jobdir.Check(t, strings.Replace(jobdir.CheckJob, splits, "{from: plan}", 1), 3000)
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			runtest.SameByTasks(t, what, make(t), runtest.SmallTasks, 5)
		})
	}
}

// TestTasksThatSpill: a map task whose rows do not fit into its memory spills them to its work folder, and leaves one
// run all the same.
func TestTasksThatSpill(t *testing.T) {
	if testing.Short() {
		t.Skip("it sorts more than fits into the least memory")
	}
	t.Parallel()
	dir := jobdir.Check(t, jobdir.SlicedJob, jobdir.SpillingRows)
	sizes := tasks.Sizes{Task: 1 << 30, Memory: options.MinMemory}
	none := &runtest.InProcess{Options: options.Options{WorkDir: filepath.Join(dir, "check.yaml", "no folder")}}
	_, err := run.Job(t.Context(), (&run.TaskEngine{Engine: none, Sizes: sizes}).Always(), jobtest.Check(t, dir, filepath.Join(dir, "there")), options.Options{})
	if err == nil || !strings.Contains(err.Error(), "no folder") {
		t.Fatalf("the task does not spill: %v", err)
	}
	runtest.SameByTasks(t, "spilled", dir, sizes, 2)
}

// halfway does half of the tasks that it is first asked for in each phase, as an engine does that follows what an
// earlier process has begun.
type halfway struct {
	*runtest.InProcess
	followed map[string]bool
}

func (e *halfway) Run(ctx context.Context, p tasks.Phase) error {
	if e.followed[p.Name] {
		return e.InProcess.Run(ctx, p)
	}
	e.followed[p.Name] = true
	p.Tasks = p.Tasks[:len(p.Tasks)/2]
	return errors.Join(e.InProcess.Run(ctx, p), tasks.ErrAgain)
}

// TestEngineThatFollowed: an engine that has waited for the tasks of an earlier process is asked for those that are
// left, and only for those.
func TestEngineThatFollowed(t *testing.T) {
	t.Parallel()
	dir := jobdir.Check(t, jobdir.CheckJob, 1000)
	here, there := filepath.Join(dir, "here"), filepath.Join(dir, "there")
	runtest.Must(t, jobtest.Check(t, dir, here), options.Options{})
	e := &halfway{&runtest.InProcess{Options: options.Options{WorkDir: dir}}, map[string]bool{}}
	if _, err := run.Job(t.Context(), (&run.TaskEngine{Engine: e, Sizes: runtest.SmallTasks}).Always(), jobtest.Check(t, dir, there), options.Options{}); err != nil {
		t.Fatal(err)
	}
	runtest.SameFiles(t, "followed", here, there)
	if want := len(jobdir.Parts(t, dir)) + 10; len(e.Ran) != want {
		t.Errorf("%d tasks ran, want %d: %v", len(e.Ran), want, e.Ran)
	}
}
