package tasks

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"

	"bulkload/ingest"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/site"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/source"
	"bulkload/jobs/pipeline/targets"
	"bulkload/jobs/spec/jobfile"
)

// planned has what the driver had when it made a plan, rebuilt from the plan by a task's process.
type planned struct {
	plan    *Plan
	id      string
	options options.Options
	job     *jobfile.Job
	source  *source.Source
	targets []*targets.Target // nil for an output that needs no rows
	outputs []runFolder       // the run's folder in each output
}

// open reads a document, a Plan or a ReducePlan, from any file system, and returns its text. document is its path, or
// the path of the run's first output. That must have the tasks of one run only, and the document is called name in
// their folder.
func open(document, name string, o options.Options, into any) ([]byte, error) {
	s, err := site.Open(o, jobfile.HBase{}, storage.IsHDFS(document))
	if err != nil {
		return nil, err
	}
	at, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	fsys, file, err := s.Resolve(document, at)
	if err != nil {
		return nil, err
	}
	defer fsys.Close()
	output, run := file, ""
	if path.Ext(file) != path.Ext(name) {
		file, err = documentOf(fsys, output, name)
	} else {
		output, run = outputOf(file)
	}
	var text []byte
	if err == nil {
		text, err = readDocument(fsys, file, o.Memory, into)
	}
	if errors.Is(err, fs.ErrNotExist) && output != "" {
		return nil, orWritten(fsys, output, run, err)
	}
	return text, err
}

// documentOf finds a document in an output.
func documentOf(fsys storage.FS, output, name string) (string, error) {
	at := folder{fs: fsys, dir: path.Join(output, manifest.TasksDir)}
	runs, err := at.folders()
	switch {
	case err != nil:
		return "", err
	case len(runs) == 0:
		return "", errcode.TaskPlan.Errorf("find the tasks of a run: %w",
			&fs.PathError{Op: "open", Path: at.dir, Err: fs.ErrNotExist})
	case len(runs) > 1:
		return "", errcode.TaskPlan.Errorf("%s has the tasks of %d runs; name the file %s of one",
			at.uri(""), len(runs), name)
	}
	return at.sub(runs[0]).path(name), nil
}

// outputOf returns the output and the run of a document; "" if the document is a copy elsewhere.
func outputOf(document string) (output, run string) {
	at := path.Dir(document)
	if path.Base(path.Dir(at)) != manifest.TasksDir {
		return "", ""
	}
	return path.Dir(path.Dir(at)), path.Base(at)
}

// WrittenError means that the documents of tasks are gone because the files of their run are written, so no task is
// left to do.
type WrittenError struct {
	Output   string             // the URI of the run's first output
	Manifest *manifest.Manifest // of the run
	Plan     string             // the URI of the plan if the files still wait for their load; otherwise ""
}

// Error names the output.
func (e *WrittenError) Error() string {
	return fmt.Sprintf("the files of run %s are written to %s: its tasks have nothing to do", e.Manifest.Run.ID, e.Output)
}

// orWritten returns a *WrittenError if the files of a run are written, and otherwise missing, the error of looking for
// a document of its tasks. run is "" for the output's only run.
func orWritten(fsys storage.FS, output, run string, missing error) error {
	m, err := manifest.Read(fsys, output)
	if err != nil {
		return err
	}
	if m == nil || m.State == manifest.Writing || run != "" && m.Run.ID != run {
		return missing
	}
	written := &WrittenError{Output: fsys.URI(output), Manifest: m}
	home := newRunFolder(fsys, output, m.Run.ID)
	switch _, err := fsys.Stat(home.path(writtenName)); {
	case err == nil:
		written.Plan = home.uri(writtenName)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return written
}

// newPlanned rebuilds what a plan was made from.
func newPlanned(p *Plan, id string, o options.Options) (*planned, error) {
	if err := p.checkProgram(); err != nil {
		return nil, err
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	job, err := p.Job.Job()
	if err != nil {
		return nil, err
	}
	properties := map[string]string{}
	maps.Copy(properties, p.Properties)
	maps.Copy(properties, o.Properties) // the given properties win
	o.Properties = properties
	w := &planned{plan: p, id: id, options: o, job: job}
	s, err := site.Open(o, jobfile.HBase{}, job.Remote(false))
	if err != nil {
		return nil, err
	}
	files, err := jobfile.Listed(p.Inputs)
	if err != nil {
		return nil, err
	}
	if w.source, err = source.Known(job, s, files); err != nil {
		return nil, err
	}
	for i, out := range job.Feeds() {
		if err := w.openOutput(i, out, s); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// openOutput opens an output. Its job must be the one that was planned.
func (w *planned) openOutput(i int, out *jobfile.Job, s *site.Site) error {
	if i >= len(w.plan.Outputs) || out.Hash() != w.plan.Outputs[i].Hash {
		return errcode.TaskPlan.Errorf("the job of output %s is not the one that was planned", out.Output)
	}
	fsys, dir, err := s.Resolve(w.plan.Outputs[i].Dir, out.Dir)
	if err != nil {
		return err
	}
	w.outputs = append(w.outputs, newRunFolder(fsys, dir, w.plan.Run))
	var t *targets.Target
	if fixed := w.plan.Outputs[i].Target; fixed != nil {
		if t, err = fixed.Target(out); err != nil {
			return err
		}
	}
	w.targets = append(w.targets, t)
	return nil
}

// feeds returns the jobs of the outputs.
func (w *planned) feeds() []*jobfile.Job { return w.job.Feeds() }

// home returns the run's folder in the first output, which has the documents.
func (w *planned) home() folder { return w.outputs[0].folder }

func (w *planned) close() {
	_ = w.source.Close() // it was only read
	for _, out := range w.outputs {
		_ = out.fs.Close() // everything is written
	}
}

// checkFiles checks, before they are read, that the input files of splits are unchanged since the plan was made. The
// reader checks them again afterwards.
func (w *planned) checkFiles(splits []ingest.Split) error {
	checked := map[int]bool{}
	for _, s := range splits {
		if checked[s.File.Ordinal] {
			continue
		}
		checked[s.File.Ordinal] = true
		if err := s.File.CheckUnchanged(w.source.FS); err != nil {
			return err
		}
	}
	return nil
}
