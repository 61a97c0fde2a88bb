package tasks

import (
	"context"
	"errors"
	"slices"
	"sync"

	"bulkload/internal/bytesize"
	"bulkload/internal/errcode"
	"bulkload/internal/parallel"
	"bulkload/jobs/base/options"
	"bulkload/jobs/base/timing"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/sorting"
	"bulkload/jobs/pipeline/writing"
	"bulkload/partition"
)

// reduceResult says what a reduce task has done. The files are in the attempt's folder in the output, under their final
// names.
type reduceResult struct {
	identity
	Output  int                       `json:"output"`
	Units   []sliceRef                `json:"units"`
	Slices  []manifest.RecordedSlice  `json:"slices"` // one for each of Units
	Samples []writing.DuplicateSample `json:"samples,omitempty"`
	Times   timing.WriteTimes         `json:"times"`
}

// Reduce does a reduce task: it merges its slices from the sorted runs of all map tasks, and leaves verified files and
// its result. document is the path or URI of the reduce plan, or the run's first output. The error has errcode.Command
// if there is no such task.
func Reduce(ctx context.Context, document string, task int, o options.Options) error {
	o, err := o.WithDefaults()
	if err != nil {
		return err
	}
	u := new(ReducePlan)
	if _, err := open(document, unitsName, o, u); err != nil {
		return err
	}
	if u.Plan == nil {
		return errcode.TaskPlan.Errorf("%s has no units of a run: give what bulkload task gather has written", document)
	}
	w, err := newPlanned(u.Plan, u.PlanID, o)
	if err != nil {
		return err
	}
	defer w.close()
	if task < 0 || task >= len(u.Tasks) {
		return errcode.Command.Errorf("there are the reduce tasks 0 to %d, and no task %d", len(u.Tasks)-1, task)
	}
	if out := u.Tasks[task].Output; out < 0 || out >= len(w.targets) || w.targets[out] == nil ||
		len(u.Runs) != len(w.targets) {
		return errcode.TaskPlan.Errorf("%s contradicts itself", document)
	}
	a := w.newAttempt(ReducePhase, task)
	a.files = w.outputs[u.Tasks[task].Output].sub(ReducePhase, TaskFolder(task), a.Attempt)
	r := &reducing{planned: w, attempt: a, units: u, reduceTask: u.Tasks[task]}
	return a.do(ctx, func(ctx context.Context) (any, error) { return r.run(ctx) }, a.files)
}

// reducing is the state of a reduce task.
type reducing struct {
	*planned
	*attempt
	units *ReducePlan
	reduceTask

	mu   sync.Mutex
	done reduceResult
}

func (r *reducing) run(ctx context.Context) (result *reduceResult, err error) {
	t := r.targets[r.Output]
	parts := make([]sorting.SliceWork, len(r.Slices))
	for i := range r.Slices {
		if parts[i], err = r.Slices[i].sliceTask(t); err != nil {
			return nil, err
		}
	}
	atOnce := 1
	sorted, err := partition.OpenRuns(t.Sorted, stored(r.home(), r.Output, r.units.Runs[r.Output], &atOnce))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, sorted.Close()) }()
	atOnce, err = slicesAtOnce(sorted, r.home(), r.options.Memory)
	if err != nil {
		return nil, err
	}
	into := r.attempt.files
	w := writing.NewWriter(writing.Config{Alone: true, Job: r.feeds()[r.Output], Target: t, Inputs: r.source.Files,
		RunID:       r.plan.Outputs[r.Output].Run,
		Destination: hfiles.Destination{FS: into.fs, Dir: into.dir, Temps: func() (string, error) { return into.dir, nil }},
		Parallel:    atOnce, Log: r.options.Log, Failpoint: r.options.Failpoint, Watch: r.options.Watch}, sorted)
	if err := w.Each(ctx, parts, r.accept); err != nil {
		return nil, err
	}
	done := w.Report()
	r.done.identity, r.done.Output, r.done.Samples, r.done.Times = r.identity, r.Output, done.Samples, done.Times
	return &r.done, nil
}

// accept adds a finished slice to the result. Its files stay where they are.
func (r *reducing) accept(f *writing.Finished) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := slices.IndexFunc(r.Slices,
		func(u sliceRef) bool { return u.Region == f.Record.Region && u.Number == f.Record.Slice })
	r.done.Units, r.done.Slices = append(r.done.Units, r.Slices[at]), append(r.done.Slices, f.Record)
	return nil
}

// slicesAtOnce returns how many slices can be merged at a time in memory bytes. home is the folder of the sorted runs.
// If the memory is too small for one slice, the error has errcode.TaskMemory.
func slicesAtOnce(sorted *partition.Sorted, home folder, memory int64) (int, error) {
	runs := int64(sorted.Stats().Runs)
	each := max(1, sorted.ReaderMemory()+runs*streamMemory(home))
	left := sorting.SortMemory(memory) - sorted.IndexMemory()
	n := min(left/each, int64(parallel.Workers()))
	if n < 1 {
		need := sorted.IndexMemory() + each
		return 0, errcode.TaskMemory.Errorf("merging the %d sorted runs of the map tasks needs %s, but %s of memory leave "+
			"less for it: give each task at least %s, or make the map tasks larger",
			runs, bytesize.Format(need), bytesize.Format(memory), bytesize.Format(memoryFor(need)))
	}
	return int(n), nil
}

// memoryFor returns the least --memory, in bytes, of a task whose merge needs that many bytes. It is rounded up to
// whole MiB, for messages.
func memoryFor(merge int64) int64 {
	return wholeMebi(merge/5*8 + 8)
}

// wholeMebi rounds bytes up to whole MiB.
func wholeMebi(n int64) int64 {
	const mebi = 1 << 20
	return (n + mebi - 1) / mebi * mebi
}

// damagedRun returns the path of the sorted run that made a task fail; "" if no run did, or if the run's state is
// unknown because its file system could not be reached.
func damagedRun(err error) string {
	var of *partition.RunError
	if !errors.As(err, &of) || cantRead(of) && !isLost(of) {
		return ""
	}
	return of.Path
}
