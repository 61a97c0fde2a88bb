package jobs

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"bulkload/internal/storage"
	"bulkload/internal/test/sample"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/run"
	"bulkload/jobs/tasks"

	"github.com/klauspost/compress/zstd"
)

// inProcess runs tasks in this process, one after the other.
type inProcess struct {
	options options.Options
	mu      sync.Mutex
	ran     []string                                                                     // phase and index of each task
	instead func(ctx context.Context, p tasks.Phase, task int) (handled bool, err error) // of a task; nil: nothing
}

func (e *inProcess) Run(ctx context.Context, p tasks.Phase) error {
	for i, task := range p.Tasks {
		if err := e.one(ctx, p, task); err != nil {
			return &tasks.TaskError{Phase: p.Name, Task: task, Err: err}
		}
		p.Watch(i+1, 0)
	}
	return ctx.Err()
}

func (e *inProcess) one(ctx context.Context, p tasks.Phase, task int) error {
	e.mu.Lock()
	e.ran = append(e.ran, fmt.Sprint(p.Name, " ", task))
	e.mu.Unlock()
	if e.instead != nil {
		if handled, err := e.instead(ctx, p, task); handled {
			return err
		}
	}
	o := e.options
	o.Memory = max(p.Memory, options.MinMemory)
	if p.Name == tasks.MapPhase {
		return tasks.Map(ctx, p.Document, task, o)
	}
	return tasks.Reduce(ctx, p.Document, task, o)
}

// small cuts a run into as many tasks as possible.
var small = tasks.Sizes{Task: 1, Memory: options.MinMemory}

// manifestOf is the manifest of an output, but for the time at which it was finished.
func manifestOf(t *testing.T, dir string) []*manifest.Manifest {
	t.Helper()
	m, err := manifest.Read(storage.Local, dir)
	if err != nil || m == nil {
		t.Fatalf("%s: %v, %v", dir, m, err)
	}
	m.Finished = time.Time{}
	return []*manifest.Manifest{m}
}

// equalManifests wants manifests to say the same.
func equalManifests(t *testing.T, what string, want, got []*manifest.Manifest) {
	t.Helper()
	sameManifests(t, what, want, got)
	sameManifests(t, what+", the other way round", got, want)
}

// storedSame runs a stored job here and by tasks.
func storedSame(t *testing.T, name string) {
	unpackStored(t, name)
	j := storedJob(t)
	if err := os.RemoveAll("out"); err != nil { // that of an older program
		t.Fatal(err)
	}
	mustRun(t, j, options.Options{Memory: options.MinMemory, WorkDir: "work"})
	if err := os.Rename("out", "here"); err != nil {
		t.Fatal(err)
	}
	e := &inProcess{options: options.Options{WorkDir: "work"}}
	if _, err := RunBy(t.Context(), &run.ByTasks{Engine: e, Sizes: small}, storedJob(t), options.Options{}); err != nil {
		t.Fatal(err)
	}
	equalManifests(t, name, storedManifests(t, j, "here"), storedManifests(t, j, "out"))
	sameFiles(t, name, "here", "out")
}

// TestTasksWriteTheSameForms: every form of input, several outputs and wide tables come to the same by tasks.
func TestTasksWriteTheSameForms(t *testing.T) {
	for _, name := range storedNames(t) {
		t.Run(name, func(t *testing.T) { storedSame(t, name) })
	}
}

// compressInput compresses the input files of a folder that sampleDir made, but for the last: the first with gzip, the others with zstd.
func compressInput(t *testing.T, dir string) string {
	t.Helper()
	all := mapsOf(t, dir)
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

// TestTasksWriteTheSameFiles: a run by tasks, however small, writes the files, the manifest and the rejects of a run in one
// process, and leaves nothing else.
func TestTasksWriteTheSameFiles(t *testing.T) {
	for what, make := range map[string]func(t *testing.T) string{
		"delimited":  func(t *testing.T) string { return sampleDir(t, checkJob, 6000) },
		"skewed":     func(t *testing.T) string { return skewedDir(t, slicedJob, 12_000, sample.Options{Skew: 90}) },
		"compressed": func(t *testing.T) string { return compressInput(t, sampleDir(t, checkJob, 3000)) },
		"planned regions": func(t *testing.T) string {
			splits := "{from: splits, splits: ['1', '2', '3', '4', '5', '6', '7', '8', '9']}"
			return sampleDir(t, strings.Replace(checkJob, splits, "{from: plan}", 1), 3000)
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			sameByTasks(t, what, make(t), small, 5)
		})
	}
}

// sameByTasks does the job of a folder in this process and by some tasks or more.
func sameByTasks(t *testing.T, what, dir string, sizes tasks.Sizes, least int) {
	t.Helper()
	here, there := filepath.Join(dir, "here"), filepath.Join(dir, "there")
	want := mustRun(t, readCheck(t, dir, here), options.Options{Memory: options.MinMemory, WorkDir: filepath.Join(dir, "work")})
	e := &inProcess{options: options.Options{WorkDir: filepath.Join(dir, "work")}}
	got, err := RunBy(t.Context(), &run.ByTasks{Engine: e, Sizes: sizes}, readCheck(t, dir, there), options.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sameFiles(t, what, here, there)
	equalManifests(t, what, manifestOf(t, here), manifestOf(t, there))
	nothingLeft(t, there)
	if !reflect.DeepEqual(got.Books, want.Books) || got.Status != want.Status {
		t.Errorf("%s %v instead of %s %v", got.Status, got.Books, want.Status, want.Books)
	}
	noTasks(t, there)
	if len(e.ran) < least {
		t.Errorf("only these tasks ran: %v", e.ran)
	}
}

// TestTasksThatSpill: a map task whose rows do not fit into its memory spills them to its work folder, and leaves one run all the same.
func TestTasksThatSpill(t *testing.T) {
	if testing.Short() {
		t.Skip("it sorts more than fits into the least memory")
	}
	t.Parallel()
	dir := sampleDir(t, slicedJob, spillingRows)
	sizes := tasks.Sizes{Task: 1 << 30, Memory: options.MinMemory}
	none := &inProcess{options: options.Options{WorkDir: filepath.Join(dir, "check.yaml", "no folder")}}
	_, err := RunBy(t.Context(), &run.ByTasks{Engine: none, Sizes: sizes}, readCheck(t, dir, filepath.Join(dir, "there")), options.Options{})
	if err == nil || !strings.Contains(err.Error(), "no folder") {
		t.Fatalf("the task does not spill: %v", err)
	}
	sameByTasks(t, "spilled", dir, sizes, 2)
}

// halfway does half of the tasks that it is first asked for in each phase, as an engine does that follows what an earlier process has
// begun.
type halfway struct {
	*inProcess
	followed map[string]bool
}

func (e *halfway) Run(ctx context.Context, p tasks.Phase) error {
	if e.followed[p.Name] {
		return e.inProcess.Run(ctx, p)
	}
	e.followed[p.Name] = true
	p.Tasks = p.Tasks[:len(p.Tasks)/2]
	return errors.Join(e.inProcess.Run(ctx, p), tasks.ErrAgain)
}

// TestEngineThatFollowed: an engine that has waited for the tasks of an earlier process is asked for those that are left, and only for
// those.
func TestEngineThatFollowed(t *testing.T) {
	t.Parallel()
	dir := sampleDir(t, checkJob, 1000)
	here, there := filepath.Join(dir, "here"), filepath.Join(dir, "there")
	mustRun(t, readCheck(t, dir, here), options.Options{})
	e := &halfway{&inProcess{options: options.Options{WorkDir: dir}}, map[string]bool{}}
	if _, err := RunBy(t.Context(), &run.ByTasks{Engine: e, Sizes: small}, readCheck(t, dir, there), options.Options{}); err != nil {
		t.Fatal(err)
	}
	sameFiles(t, "followed", here, there)
	if want := len(mapsOf(t, dir)) + 10; len(e.ran) != want {
		t.Errorf("%d tasks ran, want %d: %v", len(e.ran), want, e.ran)
	}
}
