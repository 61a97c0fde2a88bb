package tasks

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/ingest"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/checkpoint"
	"bulkload/jobs/pipeline/source"
	"bulkload/jobs/pipeline/targets"
	"bulkload/jobs/spec/jobfile"
)

// workOf is a run of two map tasks, which have the splits 0 and 1, and 2.
func workOf(t *testing.T) *Work {
	t.Helper()
	o, err := options.Options{}.WithDefaults()
	if err != nil {
		t.Fatal(err)
	}
	p := &Plan{Job: &jobfile.Origin{}, Inputs: []jobfile.InputFile{{Path: "/in/a"}}, Splits: []SplitRef{{0, 0, 10}, {0, 10, 20}, {0, 20, 30}}, Pieces: []int{0, 2},
		Outputs: []TaskOutput{{Dir: "out", Target: &targets.Fixed{}}}}
	w := &Work{plan: p, options: o, sizes: Sizes{}.withDefaults(), source: &source.Source{FS: storage.Local, Files: []ingest.SourceFile{{Path: "/in/a", Size: 30}}},
		outputs: []OutputDir{{Target: nil}}, folders: []runFolder{newRunFolder(storage.Local, t.TempDir(), "run")}}
	if err := w.writePlan(p); err != nil {
		t.Fatal(err)
	}
	return w
}

// attemptAt is an attempt at a map task of the run, which began at a second.
func attemptAt(t *testing.T, w *Work, task int, name string, begun int) *attempt {
	t.Helper()
	a := &attempt{of: &planned{id: w.id, outputs: w.folders}, folder: w.home().sub(MapPhase, TaskFolder(task), name),
		identity: identity{Plan: w.id, Phase: MapPhase, Task: task, Attempt: name, Begun: time.Unix(int64(begun), 0)}}
	a.files = a.folder
	if err := errors.Join(a.make(), a.write(AttemptName, &a.identity)); err != nil {
		t.Fatal(err)
	}
	return a
}

// resultOf is a result of a map task that has read some splits.
func resultOf(a *attempt, splits ...int) *mapResult {
	result := &mapResult{identity: a.identity}
	for _, i := range splits {
		result.Ended = append(result.Ended, checkpoint.EndedSplit{Split: i, Bytes: 10})
	}
	return result
}

// TestResultsThatCount: only sound results of this plan count, in the folder of the attempt that has written them:
// not one that was changed, cut short or copied, and not what a killed attempt or an engine has left.
func TestResultsThatCount(t *testing.T) {
	t.Parallel()
	w := workOf(t)
	write := func(task int, name string, change func(*mapResult)) folder {
		a := attemptAt(t, w, task, name, 1)
		result := resultOf(a)
		change(result)
		if err := a.write(ResultName, result); err != nil {
			t.Fatal(err)
		}
		return a.folder
	}
	write(0, "second", func(*mapResult) {})
	write(0, "first", func(*mapResult) {})
	write(1, "other plan", func(a *mapResult) { a.Plan = "another" })
	write(1, "other phase", func(a *mapResult) { a.Phase = ReducePhase })
	write(1, "other task", func(a *mapResult) { a.Task = 0 })
	write(1, "copied", func(a *mapResult) { a.Attempt = "first" })
	attemptAt(t, w, 1, "killed", 1)
	for name, change := range map[string]func(text []byte) []byte{
		"changed": func(text []byte) []byte { text[len(text)/2] ^= 1; return text },
		"cut":     func(text []byte) []byte { return text[:len(text)-5] },
		"empty":   func([]byte) []byte { return nil },
	} {
		file := write(1, name, func(*mapResult) {}).path(ResultName)
		text, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(file, change(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(w.home().sub(MapPhase, "engine", "x").dir, 0o700); err != nil {
		t.Fatal(err)
	}
	found, err := w.mapResults()
	if err != nil || !slices.Equal(slices.Collect(maps.Keys(found)), []int{0}) || len(found[0]) != 2 || found[0][0].Attempt != "first" || found[0][1].Attempt != "second" {
		t.Errorf("%+v, %v", found, err)
	}
	if missing, err := w.undoneMaps(); err != nil || !slices.Equal(missing, []int{1}) {
		t.Errorf("tasks %v are not done, %v", missing, err)
	}
}

// TestSplitsAreReadOnce: a run ends with an error if the results of its tasks do not have each split once.
func TestSplitsAreReadOnce(t *testing.T) {
	t.Parallel()
	w := workOf(t)
	for name, c := range map[string]struct {
		splits [2][]int
		sound  bool
	}{
		"all":        {[2][]int{{0, 1}, {2}}, true},
		"reordered":  {[2][]int{{1, 0}, {2}}, true},
		"one lacks":  {[2][]int{{0}, {2}}, false},
		"none":       {[2][]int{{0, 1}, nil}, false},
		"twice":      {[2][]int{{0, 0}, {2}}, false},
		"all, twice": {[2][]int{{0, 1, 1}, {2}}, false},
		"of others":  {[2][]int{{0, 2}, {2}}, false},
		"unknown":    {[2][]int{{0, 1}, {3}}, false},
		"below zero": {[2][]int{{-1, 1}, {2}}, false},
	} {
		var all []*mapResult
		for task, splits := range c.splits {
			all = append(all, resultOf(&attempt{identity: identity{Task: task}}, splits...))
		}
		if err := w.gather(all); (err == nil) != c.sound || err != nil && failure.CodeOf(err) != errcode.Digest {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestEndsOfAnAttempt: a result appears only when the work is done; a failed attempt leaves the reason and its
// rejects, and nothing else; an interrupted one leaves nothing.
func TestEndsOfAnAttempt(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx    context.Context
		failed error
		leaves string
	}{
		"done":                    {t.Context(), nil, "attempt.json rejects result.json run"},
		"failed":                  {t.Context(), errcode.TableName.New("no"), "attempt.json failure.json rejects"},
		"interrupted":             {ended, context.Canceled, ""},
		"failed, and interrupted": {ended, errors.New("no"), ""},
	} {
		w := workOf(t)
		a := attemptAt(t, w, 0, "a", 1)
		err := a.do(c.ctx, func(context.Context) (any, error) {
			a.rejects = newRejectSink(a.folder, ingest.Limit{Count: 9})
			err := errors.Join(a.rejects.Add(&ingest.BadRecord{Position: ingest.PositionIn(storage.Local, oneFile.Files[0], 1, 1), Reason: "no"}), a.rejects.Close(1),
				os.WriteFile(a.path(runName), nil, 0o600))
			if found, _ := w.mapResults(); len(found) > 0 {
				t.Errorf("%s: the result is there before the work is done", name)
			}
			return resultOf(a), errors.Join(err, c.failed)
		})
		if !errors.Is(err, c.failed) {
			t.Errorf("%s: %v", name, err)
		}
		files, _ := filepath.Glob(filepath.Join(a.dir, "*"))
		for i := range files {
			files[i] = filepath.Base(files[i])
		}
		if got := strings.Join(files, " "); got != c.leaves {
			t.Errorf("%s: %s is left, want %s", name, got, c.leaves)
		}
		report, _ := w.latestFailure(MapPhase, 0, nil)
		if (report != nil) != (name == "failed") || report != nil && (report.Code != errcode.TableName || report.Log == nil || report.Log.Records != 1) {
			t.Errorf("%s: %+v", name, report)
		}
	}
}

// TestLastWords: the reason for a failed task is that of its last attempt, not that of an attempt that failed before
// the engine ran, or before a later attempt began.
func TestLastWords(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		attempts [][2]int // when each began and failed; 0: it has not failed
		past     map[int]bool
		report   int // the attempt whose reason counts; -1: none
		last     int // the attempt that began last; -1: none
	}{
		"none":                    {nil, nil, -1, -1},
		"one failed":              {[][2]int{{1, 2}}, nil, 0, 0},
		"two failed":              {[][2]int{{3, 4}, {1, 2}}, nil, 0, 0},
		"side by side":            {[][2]int{{1, 9}, {2, 3}}, nil, 0, 1},
		"killed after a failure":  {[][2]int{{1, 2}, {3, 0}}, nil, -1, 1},
		"failed before":           {[][2]int{{1, 2}, {3, 0}}, map[int]bool{0: true}, -1, 1},
		"failed before, now too":  {[][2]int{{1, 2}, {3, 4}}, map[int]bool{0: true}, 1, 1},
		"was running, has failed": {[][2]int{{1, 5}}, map[int]bool{0: false}, 0, -1},
	} {
		w, past := workOf(t), priorAttempts{}
		for i, times := range c.attempts {
			a := attemptAt(t, w, 0, string(rune('a'+i)), times[0])
			if times[1] > 0 {
				if err := a.write(FailureName, &failureReport{identity: a.identity, Ended: time.Unix(int64(times[1]), 0)}); err != nil {
					t.Fatal(err)
				}
			}
			if failed, known := c.past[i]; known {
				past[TaskFolder(0)+"/"+a.Attempt] = failed
			}
		}
		report, last := w.latestFailure(MapPhase, 0, past)
		index := func(id *identity) int { return int(id.Attempt[0] - 'a') }
		if (report == nil) != (c.report < 0) || report != nil && index(&report.identity) != c.report || (last == nil) != (c.last < 0) || last != nil && index(last) != c.last {
			t.Errorf("%s: %+v, %+v", name, report, last)
		}
	}
}

// TestPlansThatServe: the runs of a plan serve another one of the same run, which may need fewer outputs, and may be
// cut into other tasks; anything else would mix entries of two runs.
func TestPlansThatServe(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*Plan)
		serves bool
	}{
		"the same":         {func(*Plan) {}, true},
		"other tasks":      {func(p *Plan) { p.Pieces = []int{0} }, true},
		"a written output": {func(p *Plan) { p.Outputs[0].Target = nil }, true},
		"another program":  {func(p *Plan) { p.Program = "x" }, false},
		"another run":      {func(p *Plan) { p.Run = "x" }, false},
		"other splits":     {func(p *Plan) { p.Splits = p.Splits[1:] }, false},
		"other input":      {func(p *Plan) { p.Inputs = []jobfile.InputFile{{Path: "/in/a", Size: 1}} }, false},
		"other regions":    {func(p *Plan) { p.Outputs[0].Target = &targets.Fixed{Splits: [][]byte{[]byte("m")}} }, false},
		"other properties": {func(p *Plan) { p.Properties = map[string]string{"a": "b"} }, false},
		"another output":   {func(p *Plan) { p.Outputs = append(p.Outputs, TaskOutput{}) }, false},
	} {
		p, fresh := workOf(t).plan, workOf(t).plan
		c.change(fresh)
		if got := p.serves(fresh); got != c.serves {
			t.Errorf("%s: serves %t", name, got)
		}
	}
}

// TestPlansThatContradictThemselves: a plan by which a task would read no split, or one of another task, is refused.
func TestPlansThatContradictThemselves(t *testing.T) {
	t.Parallel()
	if err := workOf(t).plan.check(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Plan){
		"no output":       func(p *Plan) { p.Outputs = nil },
		"no job":          func(p *Plan) { p.Job = nil },
		"no tasks":        func(p *Plan) { p.Pieces = nil },
		"no splits":       func(p *Plan) { p.Splits = nil },
		"not from 0":      func(p *Plan) { p.Pieces = []int{1, 2} },
		"out of order":    func(p *Plan) { p.Pieces = []int{0, 2, 1} },
		"an empty task":   func(p *Plan) { p.Pieces = []int{0, 0} },
		"a task too many": func(p *Plan) { p.Pieces = []int{0, 3} },
		"unknown file":    func(p *Plan) { p.Splits[1].File = 1 },
		"no file":         func(p *Plan) { p.Splits[1].File = -1 },
	} {
		p := workOf(t).plan
		change(p)
		if err := p.check(); failure.CodeOf(err) != errcode.TaskPlan {
			t.Errorf("%s: %v", name, err)
		}
	}
}
