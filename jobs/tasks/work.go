package tasks

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"bulkload/ingest"
	"bulkload/internal/bytesize"
	"bulkload/internal/errcode"
	"bulkload/internal/program"
	"bulkload/internal/seal"
	"bulkload/internal/storage"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/sorting"
	"bulkload/jobs/pipeline/source"
	"bulkload/jobs/pipeline/targets"
	"bulkload/jobs/spec/jobfile"
	"bulkload/partition"
)

// Sizes say how a run is cut into tasks, and what each task may use. None of them changes a byte of the output.
type Sizes struct {
	Task   int64 // bytes of input of a map task, and of sorted rows of a reduce task; 0: DefaultTask
	Memory int64 // --memory of a task in bytes; 0: options.DefaultMemory
	Cores  int   // --cores of a task; 0: 1
}

// DefaultTask is the default size of a task in bytes. A task should run many times longer than its engine needs to
// start it.
const DefaultTask = 512 << 20

func (s Sizes) withDefaults() Sizes {
	if s.Task <= 0 {
		s.Task = DefaultTask
	}
	if s.Memory <= 0 {
		s.Memory = options.DefaultMemory
	}
	s.Cores = max(s.Cores, 1)
	return s
}

// OutputDir is an output of a run, for its tasks.
type OutputDir struct {
	Job    *jobfile.Job
	FS     storage.FS
	Dir    string
	Run    string          // the ID of its run
	Target *targets.Target // nil if the output is written and needs no rows
}

// Assignment says what the tasks must do.
type Assignment struct {
	Job        *jobfile.Job
	Source     *source.Source
	Splits     []ingest.Split // of the input
	Outputs    []OutputDir
	Properties map[string]string // of the site files, as far as tasks need them
}

// Work is a run by tasks. Its plan is in the output, so tasks may begin. Map sorts all input. Then there are Rows,
// which Reduce writes.
type Work struct {
	engine   Engine
	external *ExternalScheduler // nil: the engine runs the tasks
	sizes    Sizes
	options  options.Options
	source   *source.Source
	outputs  []OutputDir
	plan     *Plan
	id       string
	folders  []runFolder // the run's folder in each output

	// The results of all map tasks, once Map has succeeded.
	mapped []*mapResult
	runs   [][]mapRun // for each output
}

// Begin writes the plan of a run, or continues with the plan and the results that an earlier process of the same run
// has left. It deletes those of another run or program. The caller holds the locks of all outputs.
func Begin(engine Engine, sizes Sizes, r Assignment, o options.Options) (*Work, error) {
	w := &Work{engine: engine, sizes: sizes.withDefaults(), options: o, source: r.Source, outputs: r.Outputs}
	// Only this engine ends a command before the tasks have run, and does not know their memory. It is recognized by
	// its type, so that the interface Engine needs just one method.
	if o, ok := engine.(ExternalScheduler); ok {
		w.external = &o
	}
	fresh, err := w.newPlan(r)
	if err != nil {
		return nil, err
	}
	for _, out := range r.Outputs {
		w.folders = append(w.folders, newRunFolder(out.FS, out.Dir, fresh.Run))
	}
	if w.plan, w.id, err = w.known(fresh); err != nil || w.plan != nil {
		return w, err
	}
	return w, w.writePlan(fresh)
}

// newPlan makes the plan for an assignment.
func (w *Work) newPlan(r Assignment) (*Plan, error) {
	hash, err := program.Hash()
	if err != nil {
		return nil, err
	}
	p := &Plan{Schema: schema, Program: hash, Build: buildText(), Run: w.outputs[0].Run,
		Job: r.Job.Origin(), Properties: r.Properties,
		Inputs: jobfile.InputFiles(r.Source.Files)}
	for _, s := range r.Splits {
		p.Splits = append(p.Splits, SplitRef{s.File.Ordinal, s.Start, s.End})
	}
	for _, out := range w.outputs {
		planned := TaskOutput{Dir: out.Job.Output, Run: out.Run, Hash: out.Job.Hash()}
		if out.Target != nil {
			planned.Target = out.Target.Fix()
		}
		p.Outputs = append(p.Outputs, planned)
	}
	p.Pieces = cutBySize(r.Splits, w.sizes.Task, func(s ingest.Split) int64 { return s.End - s.Start })
	return p, nil
}

// checkPieces refuses a plan with more map tasks than sorted runs can be merged, or than a reduce task has memory to
// open streams for. How much more memory a merge needs is known only when the map tasks are done.
func (w *Work) checkPieces(p *Plan) error {
	var bytes int64
	for _, s := range p.Splits {
		bytes += s.End - s.Start
	}
	n := len(p.Pieces)
	if n > partition.MaxRuns {
		return errcode.TaskMemory.Errorf("the input of %s would be cut into %d map tasks of %s, and the sorted runs of at "+
			"most %d can be merged: give a task size of at least %s",
			bytesize.Format(bytes), n, bytesize.Format(w.sizes.Task), partition.MaxRuns,
			bytesize.Format(bytes/(partition.MaxRuns/2)+1))
	}
	need := int64(n) * streamMemory(w.home())
	if w.external != nil || need <= sorting.SortMemory(w.sizes.Memory) {
		return nil
	}
	return errcode.TaskMemory.Errorf("merging the sorted runs of %d map tasks of %s needs at least %s, but %s of memory "+
		"leave less for it: give each task at least %s, or make the map tasks larger",
		n, bytesize.Format(w.sizes.Task), bytesize.Format(need), bytesize.Format(w.sizes.Memory),
		bytesize.Format(memoryFor(need+need/2)))
}

// known returns the plan in the output if it is this run's. Otherwise it returns nil, and deletes everything that tasks
// of other runs have left. A plan that can't be read may be this run's, and one of another format belongs to a run of
// another version, so both are errors, and nothing is deleted.
func (w *Work) known(fresh *Plan) (*Plan, string, error) {
	home := w.home()
	old := new(Plan)
	text, err := storage.ReadFile(home.fs, home.path(planName), maxDocument)
	if cantRead(err) {
		return nil, "", fmt.Errorf("read the plan of the run's tasks: %w", err)
	}
	if err == nil {
		err = seal.Unmarshal(text, old)
	}
	if other := seal.Schema(text); other != 0 && other != schema {
		return nil, "", errcode.ManifestVersion.Errorf(
			"%s has schema %d, this bulkload knows %d; finish or remove that run with the bulkload that began it",
			home.uri(planName), other, schema)
	}
	if err == nil && old.serves(fresh) {
		w.options.Infof("going on with the tasks of run %s", old.Run)
		return old, textID(text), nil
	}
	if err := w.checkPieces(fresh); err != nil { // a known plan is already cut into tasks
		return nil, "", err
	}
	for _, out := range w.outputs {
		if err := Clear(out.FS, out.Dir); err != nil {
			return nil, "", err
		}
	}
	return nil, "", nil
}

func (w *Work) writePlan(p *Plan) error {
	home := w.home()
	text, err := sealed(p)
	if err != nil {
		return err
	}
	if err := w.checkDocument(planName, text); err != nil {
		return err
	}
	if err := home.make(); err != nil {
		return fmt.Errorf("make a folder for the tasks: %w", err)
	}
	if err := home.writeText(planName, text); err != nil {
		return err
	}
	w.plan, w.id = p, textID(text)
	return nil
}

// checkDocument refuses a document that is too large for its tasks. The memory of another scheduler's tasks is unknown.
func (w *Work) checkDocument(name string, text []byte) error {
	if w.external != nil {
		return nil
	}
	return checkDocument(w.home().uri(name), int64(len(text)), w.sizes.Memory)
}

// End deletes what the tasks of a run have left in an output whose files are written. It only renames the plan: then a
// task that begins now is refused, but the run can still be finished with its plan if the load fails.
func End(fsys storage.FS, output string) error {
	runs, err := folder{fs: fsys, dir: output}.sub(manifest.TasksDir).folders()
	for _, run := range runs {
		err = errors.Join(err, newRunFolder(fsys, output, run).end())
	}
	if err != nil {
		return fmt.Errorf("delete what the tasks of a run have left: %w", err)
	}
	return nil
}

func (f runFolder) end() error {
	if err := f.fs.Replace(f.path(planName), f.path(writtenName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	all, err := storage.List(f.fs, f.dir)
	for _, info := range all {
		if info.Name != writtenName {
			err = errors.Join(err, f.fs.RemoveAll(f.path(info.Name)))
		}
	}
	return err
}

// Clear deletes what tasks have left in an output.
func Clear(fsys storage.FS, output string) error {
	if err := fsys.RemoveAll(folder{fs: fsys, dir: output}.path(manifest.TasksDir)); err != nil {
		return fmt.Errorf("delete what the tasks of a run have left: %w", err)
	}
	return nil
}

// Left returns how many bytes tasks have left in an output: sorted runs, files, documents.
func Left(fsys storage.FS, output string) (int64, error) {
	return folder{fs: fsys, dir: output}.sub(manifest.TasksDir).bytes()
}

// home returns the run's folder in the first output, which has the documents.
func (w *Work) home() folder { return w.folders[0].folder }

// phase describes a phase with some tasks. Its progress is progress of the run within [from, to].
func (w *Work) phase(name, document string, tasks []int, from, to float64) Phase {
	home := w.home()
	return Phase{Name: name, Run: w.plan.Run, Document: home.uri(document), Tasks: tasks,
		Memory: w.sizes.Memory, Cores: w.sizes.Cores,
		FS: home.fs, Dir: home.sub(name).dir, Watch: w.watch(name, len(tasks), from, to)}
}

// diagnose returns why tasks have left no result: the failures that their attempts reported, or else the engine's
// error. If the engine has an error, tasks without a report are left out, because the engine has only ended them or not
// begun them.
func (w *Work) diagnose(phase string, tasks []int, engine error, past priorAttempts) error {
	var errs []error
	silent := engine == nil
	for i, task := range tasks {
		if len(errs) == maxReasons {
			errs = append(errs, fmt.Errorf("and %d more tasks are not done", len(tasks)-i))
			break
		}
		report, last := w.latestFailure(phase, task, past)
		if of := (*TaskError)(nil); errors.As(engine, &of) && of.Task == task {
			engine = of.with(report, last)
		}
		if err := reason(phase, task, report, last); report != nil || silent {
			errs = append(errs, err)
		}
	}
	if engine != nil && errcode.Outermost(engine) == "" && !errors.Is(engine, context.Canceled) {
		engine = errcode.TaskFailed.Wrap(engine)
	}
	return errors.Join(append(errs, engine)...)
}

// reason returns the error of one task.
func reason(phase string, task int, report *failureReport, last *identity) error {
	switch {
	case report != nil:
		return report.Code.Errorf("%v: %s", &report.identity, report.Text)
	case last != nil:
		return errcode.TaskFailed.Errorf("%v, has ended without its result: it may have been killed. The same command "+
			"runs it again", last)
	}
	return errcode.TaskFailed.Errorf("%s task %d has ended without its result, and no attempt at it has begun. The "+
		"same command runs it again", phase, task)
}

// maxReasons bounds how many tasks are named in an error.
const maxReasons = 5
