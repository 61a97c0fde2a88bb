package preflight_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bulkload/internal/bytesize"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/testcluster"
	"bulkload/internal/test/testfs"
	"bulkload/internal/test/testwords"
	"bulkload/jobs"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/inspect/verify"
	"bulkload/jobs/pipeline/sorting"
	"bulkload/jobs/run"
	"bulkload/jobs/run/preflight"
	"bulkload/jobs/tasks"
)

func TestDiskIsCheckedBeforeTheRun(t *testing.T) {
	dir := jobdir.Check(t, jobdir.CheckJob, jobdir.SpillingRows)
	small := testfs.SmallDisk(t, 4<<20)
	for name, c := range map[string]struct{ output, work string }{
		"work-dir": {filepath.Join(dir, "out"), small}, "output": {filepath.Join(small, "out"), dir}, "both": {filepath.Join(small, "out"), small},
	} {
		t.Run(name, func(t *testing.T) {
			j := jobtest.Check(t, dir, c.output)
			begun := false
			_, err := run.Job(context.Background(), nil, j, options.Options{Memory: options.MinMemory, WorkDir: c.work, Failpoint: func(options.Point) { begun = true }})
			if failure.CodeOf(err) != errcode.DiskSpace || testwords.Names(err, " "+small) != (c.work == small) ||
				testwords.Names(err, "file://"+small) != (c.output != filepath.Join(dir, "out")) {
				t.Fatalf("%v", err)
			}
			if _, err := os.Stat(c.output); !errors.Is(err, fs.ErrNotExist) || begun {
				t.Errorf("the run has begun: %v", err)
			}
		})
	}
}

// TestWorkFolderInMemory: a work folder on tmpfs is reported where the sort spills to it, and only there; by a
// verification, too.
func TestWorkFolderInMemory(t *testing.T) {
	if storage.InMemory(os.TempDir()) {
		t.Setenv("TMPDIR", "/var/tmp")
	}
	memory := testfs.SmallDisk(t, 64<<20)
	for name, c := range map[string]struct {
		rows   int
		work   string
		spared string // in the job's input
		want   int
	}{
		"spills to tmpfs":          {jobdir.SpillingRows, memory, "", 1},
		"spills there, unchecked":  {jobdir.SpillingRows, filepath.Join(memory, "not", "yet"), "\n  check_space: false", 1},
		"fits in memory":           {400, memory, "", 0},
		"spills to another folder": {jobdir.SpillingRows, t.TempDir(), "", 0},
		"fits, and no such folder": {400, filepath.Join(memory, "no"), "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			dir := jobdir.Check(t, strings.Replace(jobdir.CheckJob, "input:", "input:"+c.spared, 1), c.rows)
			if storage.InMemory(dir) && c.work != memory {
				testcluster.Without(t, "needs a folder for temporary files that is not on tmpfs: set TMPDIR, or have /var/tmp on a disk")
			}
			warnings := 0
			o := options.Options{Memory: options.MinMemory, WorkDir: c.work, Say: func(text string) {
				if strings.Contains(text, "is in memory (tmpfs)") && strings.Contains(text, memory) && strings.Contains(text, "--work-dir") {
					warnings++
				}
			}}
			j := jobtest.Check(t, dir, filepath.Join(dir, "out"))
			runtest.Must(t, j, o)
			if warnings != c.want {
				t.Errorf("%d warnings, want %d", warnings, c.want)
			}
			if name != "spills to tmpfs" {
				return
			}
			if _, err := verify.Job(t.Context(), j, o, false); err != nil || warnings != 2 {
				t.Errorf("%d warnings of a run and its verification, want 2 (%v)", warnings, err)
			}
		})
	}
}

func TestDiskNeedOfInputInMemory(t *testing.T) {
	dir := jobdir.Check(t, jobdir.CheckJob, 4000)
	j := jobtest.Check(t, dir, filepath.Join(dir, "out"))
	runtest.Must(t, j, options.Options{WorkDir: filepath.Join(dir, "check.yaml", "no folder")}) // nothing is spilled
}

// TestEstimateIsNotAboveWhatIsTaken: no run is refused that has the room it takes.
func TestEstimateIsNotAboveWhatIsTaken(t *testing.T) {
	for _, settings := range []string{"compression: none, encoding: none", "compression: none, encoding: fast_diff", "compression: snappy, encoding: none",
		"compression: snappy, encoding: fast_diff", "compression: zstd, encoding: fast_diff"} {
		dir := jobdir.Check(t, strings.Replace(jobdir.CheckJob, "compression: snappy, encoding: fast_diff", settings, 1), 8000)
		s := runtest.Must(t, jobtest.Check(t, dir, filepath.Join(dir, "out")), options.Options{})
		var size int64
		for _, f := range s.Files {
			size += f.Bytes
		}
		j := jobtest.Check(t, dir, "")
		estimate := int64(preflight.OutputRatio(&j.HFile.Settings) * float64(s.Phases[0].Bytes))
		if estimate > size || estimate < size/12 {
			t.Errorf("%s: %s are estimated, %s were written", settings, bytesize.Format(estimate), bytesize.Format(size))
		}
	}
}

func TestWorkFolderThatCannotBeWritten(t *testing.T) {
	dir := jobdir.Check(t, jobdir.CheckJob, jobdir.SpillingRows)
	sealed := testfs.SmallDisk(t, 64<<20)
	testfs.Remount(t, sealed, syscall.MS_RDONLY, "")
	for _, work := range []string{sealed, filepath.Join(sealed, "below"), filepath.Join(dir, "check.yaml"), filepath.Join(dir, "check.yaml", "below")} {
		out := filepath.Join(dir, "out")
		_, err := run.Job(context.Background(), nil, jobtest.Check(t, dir, out), options.Options{Memory: options.MinMemory, WorkDir: work})
		if err == nil || failure.KindOf(err) != failure.Refused || !testwords.Names(err, work) {
			t.Errorf("work-dir %s: %v", work, err)
		}
		if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("work-dir %s: the output is there (%v)", work, err)
		}
	}
}

var errNoContainer = errors.New("no container")

// stopped is an engine whose first reduce task fails.
func stopped(dir string) *run.TaskEngine {
	e := &runtest.InProcess{Options: options.Options{WorkDir: dir}}
	e.Instead = func(_ context.Context, p tasks.Phase, _ int) (bool, error) {
		return p.Name == tasks.ReducePhase, errNoContainer
	}
	return &run.TaskEngine{Engine: e, Sizes: runtest.SmallTasks}
}

// TestDiskOfTasks: what the tasks of a run have left on the disk is not needed a second time, neither by the same
// command nor by the steps of bulkload task, nor by a run in one process, which deletes it.
func TestDiskOfTasks(t *testing.T) {
	dir := jobdir.Check(t, jobdir.CheckJob, 20_000)
	base := filepath.Join(dir, "base")
	text := runtest.Must(t, jobtest.Check(t, dir, base), options.Options{}).Phases[0].Bytes
	need := int64((0.5 + sorting.SpillRatio) * float64(text))
	if _, err := run.Job(t.Context(), stopped(dir).Always(), jobtest.Check(t, dir, filepath.Join(dir, "measured")), options.Options{}); err == nil {
		t.Fatal("the first reduce task did not fail")
	}
	runs, err := tasks.Left(storage.Local, filepath.Join(dir, "measured"))
	if err != nil {
		t.Fatal(err)
	}
	var written int64
	for _, f := range runtest.ManifestOf(t, base)[0].Files() {
		written += f.Bytes
	}
	size := max(need, runs+written) * 11 / 10
	t.Run("again", func(t *testing.T) {
		out := filepath.Join(testfs.SmallDisk(t, size), "out")
		if _, err := run.Job(t.Context(), stopped(dir).Always(), jobtest.Check(t, dir, out), options.Options{}); !errors.Is(err, errNoContainer) {
			t.Fatal(err)
		}
		if free, err := storage.Local.Free(out); err != nil || free >= need {
			t.Fatalf("%d bytes are free, %v: the test shows nothing", free, err)
		}
		if _, err := run.Job(t.Context(), (&run.TaskEngine{Engine: &runtest.InProcess{Options: options.Options{WorkDir: dir}}, Sizes: runtest.SmallTasks}).Always(), jobtest.Check(t, dir, out), options.Options{}); err != nil {
			t.Fatal(err)
		}
		runtest.SameFiles(t, "again", base, out)
	})
	t.Run("steps", func(t *testing.T) {
		out, o := filepath.Join(testfs.SmallDisk(t, size), "out"), options.Options{WorkDir: dir}
		j := jobtest.CheckTo(t, dir, out)
		planned, err := jobs.PlanTasks(t.Context(), j, options.Options{}, runtest.SmallTasks)
		for _, task := range planned.Tasks {
			err = errors.Join(err, tasks.Map(t.Context(), planned.Document, task, o))
		}
		if err != nil {
			t.Fatal(err)
		}
		gathered, err := jobs.GatherTasks(t.Context(), out, options.Options{}, runtest.SmallTasks)
		for _, task := range gathered.Tasks {
			err = errors.Join(err, tasks.Reduce(t.Context(), gathered.Document, task, o))
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := jobs.FinishTasks(t.Context(), out, options.Options{}); err != nil {
			t.Fatal(err)
		}
		runtest.SameFiles(t, "steps", base, out)
	})
	t.Run("in one process", func(t *testing.T) {
		small := testfs.SmallDisk(t, size)
		out := filepath.Join(small, "out")
		if _, err := run.Job(t.Context(), stopped(dir).Always(), jobtest.Check(t, dir, out), options.Options{}); !errors.Is(err, errNoContainer) {
			t.Fatal(err)
		}
		free, err := storage.Local.Free(out)
		if err != nil {
			t.Fatal(err)
		}
		testfs.Remount(t, small, 0, fmt.Sprintf("size=%d", size-free+text/4))
		runtest.Must(t, jobtest.Check(t, dir, out), options.Options{WorkDir: dir})
		runtest.SameFiles(t, "in one process", base, out)
	})
}
