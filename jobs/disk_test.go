package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bulkload/internal/bytesize"
	"bulkload/internal/storage"
	"bulkload/internal/test/testcluster"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/inspect/verify"
	"bulkload/jobs/pipeline/sorting"
	"bulkload/jobs/run"
	"bulkload/jobs/run/preflight"
	"bulkload/jobs/tasks"
)

// smallDisk is a folder on a disk of its own with so many bytes.
func smallDisk(t *testing.T, size int64) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", size)); err != nil {
		testcluster.Without(t, fmt.Sprintf("needs to mount a small disk, as root: %v", err))
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// remount gives a small disk another size or makes it read-only.
func remount(t *testing.T, dir string, flags uintptr, options string) {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|flags, options); err != nil {
		t.Fatal(err)
	}
}

// spillingRows make more than 8 MB of input: with options.MinMemory they are spilled.
const spillingRows = 70_000

// noHFiles wants an output that no file has come to.
func noHFiles(t *testing.T, output string) {
	t.Helper()
	if _, err := os.Stat(output); errors.Is(err, fs.ErrNotExist) {
		return
	}
	if all := files(t, output); len(all) > 0 {
		t.Errorf("the output holds %v", all)
	}
	nothingLeft(t, output)
}

func TestDiskIsCheckedBeforeTheRun(t *testing.T) {
	dir := sampleDir(t, checkJob, spillingRows)
	small := smallDisk(t, 4<<20)
	for name, c := range map[string]struct{ output, work, want string }{
		"work-dir": {filepath.Join(dir, "out"), small, "spilling sorted runs to " + small},
		"output":   {filepath.Join(small, "out"), dir, "writing HFiles to file://" + small},
		"both":     {filepath.Join(small, "out"), small, "spilling sorted runs to " + small + " and writing HFiles to file://" + small},
	} {
		t.Run(name, func(t *testing.T) {
			j := readCheck(t, dir, c.output)
			begun := false
			_, err := Run(context.Background(), j, options.Options{Memory: options.MinMemory, WorkDir: c.work, Failpoint: func(options.Point) { begun = true }})
			if err == nil || failure.KindOf(err) != failure.Refused || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "4.0 MiB is free") {
				t.Fatalf("%v", err)
			}
			if _, err := os.Stat(c.output); !errors.Is(err, fs.ErrNotExist) || begun {
				t.Errorf("the run has begun: %v", err)
			}
		})
	}
}

// TestWorkFolderInMemory: a work folder on tmpfs is reported where the sort spills to it, and only there; by a verification, too.
func TestWorkFolderInMemory(t *testing.T) {
	memory := smallDisk(t, 64<<20)
	for name, c := range map[string]struct {
		rows   int
		work   string
		spared string // in the job's input
		want   int
	}{
		"spills to tmpfs":          {spillingRows, memory, "", 1},
		"spills there, unchecked":  {spillingRows, filepath.Join(memory, "not", "yet"), "\n  check_space: false", 1},
		"fits in memory":           {400, memory, "", 0},
		"spills to another folder": {spillingRows, t.TempDir(), "", 0},
		"fits, and no such folder": {400, filepath.Join(memory, "no"), "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			dir := sampleDir(t, strings.Replace(checkJob, "input:", "input:"+c.spared, 1), c.rows)
			if storage.InMemory(dir) && c.work != memory {
				testcluster.Without(t, "needs a folder for temporary files that is not on tmpfs: set TMPDIR")
			}
			warnings := 0
			o := options.Options{Memory: options.MinMemory, WorkDir: c.work, Say: func(text string) {
				if strings.Contains(text, "is in memory (tmpfs)") && strings.Contains(text, memory) && strings.Contains(text, "--work-dir") {
					warnings++
				}
			}}
			j := readCheck(t, dir, filepath.Join(dir, "out"))
			mustRun(t, j, o)
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
	dir := sampleDir(t, checkJob, 4000)
	j := readCheck(t, dir, filepath.Join(dir, "out"))
	mustRun(t, j, options.Options{WorkDir: filepath.Join(dir, "check.yaml", "no folder")}) // nothing is spilled
}

// TestEstimateIsNotAboveWhatIsTaken: no run is refused that has the room it takes.
func TestEstimateIsNotAboveWhatIsTaken(t *testing.T) {
	for _, settings := range []string{"compression: none, encoding: none", "compression: none, encoding: fast_diff", "compression: snappy, encoding: none",
		"compression: snappy, encoding: fast_diff", "compression: zstd, encoding: fast_diff"} {
		dir := sampleDir(t, strings.Replace(checkJob, "compression: snappy, encoding: fast_diff", settings, 1), 8000)
		s := mustRun(t, readCheck(t, dir, filepath.Join(dir, "out")), options.Options{})
		var size int64
		for _, f := range s.Files {
			size += f.Bytes
		}
		j := readCheck(t, dir, "")
		estimate := int64(preflight.OutputRatio(&j.HFile.Settings) * float64(s.Phases[0].Bytes))
		if estimate > size || estimate < size/12 {
			t.Errorf("%s: %s are estimated, %s were written", settings, bytesize.Format(estimate), bytesize.Format(size))
		}
	}
}

// TestFullDisks: a disk that is full in mid-run is reported, nothing half done is left, and with room the same run continues.
func TestFullDisks(t *testing.T) {
	job := strings.Replace(checkJob, "input:\n", "input:\n  check_space: false\n", 1)
	dir := sampleDir(t, job, spillingRows)
	base := filepath.Join(dir, "base")
	mustRun(t, readCheck(t, dir, base), options.Options{})
	t.Run("work-dir", func(t *testing.T) {
		small, out := smallDisk(t, 1<<20), filepath.Join(dir, "out")
		_, err := Run(context.Background(), readCheck(t, dir, out), options.Options{Memory: options.MinMemory, WorkDir: small})
		if !errors.Is(err, syscall.ENOSPC) || failure.KindOf(err) != failure.Failed || !strings.Contains(err.Error(), "--work-dir") || !strings.Contains(err.Error(), small) {
			t.Errorf("%v", err)
		}
		noHFiles(t, out)
		if left, err := os.ReadDir(small); err != nil || len(left) > 0 {
			t.Errorf("%v is left in the work folder, %v", left, err)
		}
		remount(t, small, 0, "size=64m")
		mustRun(t, readCheck(t, dir, out), options.Options{Memory: options.MinMemory, WorkDir: small})
		sameFiles(t, "with room", base, out)
	})
	t.Run("output", func(t *testing.T) {
		small := smallDisk(t, 3<<20)
		out := filepath.Join(small, "out")
		_, err := Run(context.Background(), readCheck(t, dir, out), options.Options{})
		if !errors.Is(err, syscall.ENOSPC) || failure.KindOf(err) != failure.Failed || !strings.Contains(err.Error(), out) {
			t.Errorf("%v", err)
		}
		nothingLeft(t, out)
		remount(t, small, 0, "size=64m")
		var begun int
		mustRun(t, readCheck(t, dir, out), options.Options{Failpoint: counting(&begun, options.Begun)})
		if begun < 1 || begun > 9 {
			t.Errorf("%d of 10 regions were written after the disk was full", begun)
		}
		sameFiles(t, "with room", base, out)
	})
}

// counting counts how often a point is reached, for a run on one core or whose points are few.
func counting(n *int, at options.Point) func(options.Point) {
	reached := make(chan struct{}, 1)
	return func(p options.Point) {
		if p == at {
			reached <- struct{}{}
			*n++
			<-reached
		}
	}
}

func TestWorkFolderThatCannotBeWritten(t *testing.T) {
	dir := sampleDir(t, checkJob, spillingRows)
	sealed := smallDisk(t, 64<<20)
	remount(t, sealed, syscall.MS_RDONLY, "")
	for _, work := range []string{sealed, filepath.Join(sealed, "below"), filepath.Join(dir, "check.yaml"), filepath.Join(dir, "check.yaml", "below")} {
		out := filepath.Join(dir, "out")
		_, err := Run(context.Background(), readCheck(t, dir, out), options.Options{Memory: options.MinMemory, WorkDir: work})
		if err == nil || failure.KindOf(err) != failure.Refused || !strings.Contains(err.Error(), work) {
			t.Errorf("work-dir %s: %v", work, err)
		}
		if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("work-dir %s: the output is there (%v)", work, err)
		}
	}
}

// TestDamagedSpill: a spilled run that has changed on the disk is found, nothing of its region is written, and the same
// command continues.
func TestDamagedSpill(t *testing.T) {
	dir := sampleDir(t, checkJob, spillingRows)
	base, out, work := filepath.Join(dir, "base"), filepath.Join(dir, "out"), t.TempDir()
	mustRun(t, readCheck(t, dir, base), options.Options{})
	_, err := Run(context.Background(), readCheck(t, dir, out), options.Options{Memory: options.MinMemory, WorkDir: work, Failpoint: func(p options.Point) {
		if p == options.Sorted {
			damage(t, filepath.Join(work, "bulkload-run-*", "0", "run-*"))
		}
	}})
	if err == nil || failure.KindOf(err) != failure.Failed || !strings.Contains(err.Error(), "read spilled run "+work) || !strings.Contains(err.Error(), "offset") {
		t.Errorf("%v", err)
	}
	nothingLeft(t, out)
	if left, err := os.ReadDir(work); err != nil || len(left) > 0 {
		t.Errorf("%v is left in the work folder, %v", left, err)
	}
	mustRun(t, readCheck(t, dir, out), options.Options{Memory: options.MinMemory, WorkDir: work})
	sameFiles(t, "after a damaged spill", base, out)
}

// damage changes a byte in the middle of each file.
func damage(t *testing.T, pattern string) {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %v, %v", pattern, names, err)
	}
	for _, name := range names {
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		at, err := f.Seek(0, io.SeekEnd)
		b := make([]byte, 1)
		if err == nil {
			_, err = f.ReadAt(b, at/2)
		}
		b[0] ^= 0x55
		_, err2 := f.WriteAt(b, at/2)
		if err := errors.Join(err, err2, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// stopped is an engine whose first reduce task fails.
func stopped(dir string) *run.ByTasks {
	e := &inProcess{options: options.Options{WorkDir: dir}}
	e.instead = func(_ context.Context, p tasks.Phase, _ int) (bool, error) {
		return p.Name == tasks.ReducePhase, errors.New("no container")
	}
	return &run.ByTasks{Engine: e, Sizes: small}
}

// TestDiskOfTasks: what the tasks of a run have left on the disk is not needed a second time, neither by the same command nor by the steps
// of bulkload task, nor by a run in one process, which deletes it.
func TestDiskOfTasks(t *testing.T) {
	dir := sampleDir(t, checkJob, 20_000)
	base := filepath.Join(dir, "base")
	text := mustRun(t, readCheck(t, dir, base), options.Options{}).Phases[0].Bytes
	need := int64((0.5 + sorting.SpillRatio) * float64(text))
	if _, err := RunBy(t.Context(), stopped(dir), readCheck(t, dir, filepath.Join(dir, "measured")), options.Options{}); err == nil {
		t.Fatal("the first reduce task did not fail")
	}
	runs, err := tasks.Left(storage.Local, filepath.Join(dir, "measured"))
	if err != nil {
		t.Fatal(err)
	}
	var written int64
	for _, f := range manifestOf(t, base)[0].Files() {
		written += f.Bytes
	}
	size := max(need, runs+written) * 11 / 10
	t.Run("again", func(t *testing.T) {
		out := filepath.Join(smallDisk(t, size), "out")
		if _, err := RunBy(t.Context(), stopped(dir), readCheck(t, dir, out), options.Options{}); err == nil || !strings.Contains(err.Error(), "no container") {
			t.Fatal(err)
		}
		if free, err := storage.Local.Free(out); err != nil || free >= need {
			t.Fatalf("%d bytes are free, %v: the test shows nothing", free, err)
		}
		if _, err := RunBy(t.Context(), &run.ByTasks{Engine: &inProcess{options: options.Options{WorkDir: dir}}, Sizes: small}, readCheck(t, dir, out), options.Options{}); err != nil {
			t.Fatal(err)
		}
		sameFiles(t, "again", base, out)
	})
	t.Run("steps", func(t *testing.T) {
		out, o := filepath.Join(smallDisk(t, size), "out"), options.Options{WorkDir: dir}
		j := writesTo(t, dir, out)
		planned, err := PlanTasks(t.Context(), j, options.Options{}, small)
		for _, task := range planned.Tasks {
			err = errors.Join(err, tasks.Map(t.Context(), planned.Document, task, o))
		}
		if err != nil {
			t.Fatal(err)
		}
		gathered, err := GatherTasks(t.Context(), out, options.Options{}, small)
		for _, task := range gathered.Tasks {
			err = errors.Join(err, tasks.Reduce(t.Context(), gathered.Document, task, o))
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := FinishTasks(t.Context(), out, options.Options{}); err != nil {
			t.Fatal(err)
		}
		sameFiles(t, "steps", base, out)
	})
	t.Run("in one process", func(t *testing.T) {
		small := smallDisk(t, size)
		out := filepath.Join(small, "out")
		if _, err := RunBy(t.Context(), stopped(dir), readCheck(t, dir, out), options.Options{}); err == nil || !strings.Contains(err.Error(), "no container") {
			t.Fatal(err)
		}
		free, err := storage.Local.Free(out)
		if err != nil {
			t.Fatal(err)
		}
		remount(t, small, 0, fmt.Sprintf("size=%d", size-free+text/4))
		mustRun(t, readCheck(t, dir, out), options.Options{WorkDir: dir})
		sameFiles(t, "in one process", base, out)
	})
}
