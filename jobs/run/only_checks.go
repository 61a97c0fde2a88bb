package run

import (
	"context"
	"errors"
	"fmt"
	"path"

	"bulkload/internal/bytesize"
	"bulkload/internal/storage"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/lock"
	"bulkload/jobs/env/site"
	"bulkload/jobs/pipeline/checkpoint"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/output"
	"bulkload/jobs/pipeline/source"
	"bulkload/jobs/run/preflight"
	"bulkload/jobs/spec/jobfile"
)

// Check makes all checks of a run and nothing else. It leaves no file behind. Of the input, it reads only files that
// have changed since this job and date was run, because a run compares their records, too. Unlike a run, it continues
// after a failure as far as it can. The options must have their defaults (Options.WithDefaults). Failed checks are in
// the results; the error says only that the context ended or that something could not be closed.
func Check(ctx context.Context, j *jobfile.Job, o options.Options) (preflight.CheckResults, error) {
	c := &checking{opened: &opened{job: j, options: o, lost: func(error) {}}}
	err := c.all(ctx)
	for _, dir := range c.outputs {
		err = errors.Join(err, dir.Close())
	}
	err = errors.Join(err, c.opened.close())
	for _, remove := range c.made {
		remove()
	}
	return c.found, err
}

// checking makes the checks of one run. It opens what a run would open, one after the other, and reports what can't be
// opened as a finding.
type checking struct {
	opened  *opened // what the outputs of a run share; nothing is run
	found   preflight.CheckResults
	outputs []*output.Dir          // that can be reached
	disks   []preflight.OutputDisk // of these outputs, if the input was found
	made    []func()               // remove the directories that the checks create
}

func (c *checking) ok(name, format string, args ...any) {
	c.found = append(c.found, preflight.CheckResult{Name: name, State: preflight.OK, Detail: fmt.Sprintf(format, args...)})
}

func (c *checking) fail(name string, err error) {
	c.found = append(c.found, preflight.Fail(name, err, ""))
}

// all makes the checks. It returns an error only if the context ended.
func (c *checking) all(ctx context.Context) error {
	err := c.opened.openParts(ctx, opening{input: c.openInput, connect: true, ledger: (*site.Site).TryLedger,
		output: c.checkOutput, step: c.step})
	if err != nil || c.opened.site == nil {
		return err
	}
	if len(c.disks) == len(c.opened.job.Feeds()) {
		c.found = append(c.found, c.opened.disks(c.disks, c.kept).Check()...)
	}
	return ctx.Err()
}

// step reports a step of the opening as a finding.
func (c *checking) step(name, detail string, err error) error {
	switch {
	case err != nil:
		c.fail(name, err)
	case detail != "":
		c.ok(name, "%s", detail)
	}
	return nil
}

func (c *checking) openInput(ctx context.Context) (err error) {
	c.opened.source, err = source.Open(c.opened.job, c.opened.site)
	switch {
	case err == nil:
		c.ok("input", "%s, %s", jobfile.Plural(len(c.opened.source.Files), "file"), bytesize.Format(c.opened.source.Bytes))
	case c.opened.wasArchived(ctx, err):
		c.ok("input", "it no longer exists; it was loaded earlier")
	default:
		c.fail("input", err)
	}
	return nil
}

// checkOutput makes the checks of one output. If it can, it locks the output until all checks are done.
func (c *checking) checkOutput(ctx context.Context, j *jobfile.Job) error {
	r := c.opened
	c.rememberMissing(j)
	var content preflight.CheckResult
	recorded := &manifest.Manifest{State: manifest.Writing}
	dir, closed := output.Of(j, r.site, r.options)
	if closed == nil {
		c.outputs = append(c.outputs, dir)
		closed = r.lock(ctx, dir)
	}
	if closed != nil {
		content = preflight.Fail(outputName, closed, "")
	} else {
		content, recorded = c.describeOutput(ctx, dir, j)
	}
	found := preflight.CheckResults{content}
	if closed == nil && r.loads(j) && r.source != nil && r.ledger != nil && r.cluster != nil {
		found = append(found, c.checkLoaded(ctx, dir, j, recorded)...)
	}
	var table *lock.TableLock
	if r.ledger != nil && r.loads(j) {
		table = lock.OpenTable(r.ledger, j.Table, lock.Request{User: r.site.User, Purpose: j.Title(), Lost: r.lost})
	}
	o := r.checks(j, recorded.Files(), recorded.State == manifest.Written, table)
	if dir != nil {
		o.FS, o.Dir = dir.FS, dir.Path
	}
	if o.Closed = closed; closed == nil {
		o.Temps = dir.TempFolder
	}
	found = append(found, o.Check(ctx)...)
	if r.source != nil {
		found = append(found, r.fileLimit(j, o.Target).Findings()...)
		if dir != nil {
			c.disks = append(c.disks, r.disk(j, dir, o.Target, recorded.Files()))
		}
	}
	c.found = append(c.found, r.label(j, found)...)
	return nil
}

const outputName = "output" // the name of the check

// describeOutput says what a locked output contains. The manifest is that of the run that would go on there; without
// one, that of a run that has done nothing.
func (c *checking) describeOutput(ctx context.Context, dir *output.Dir,
	j *jobfile.Job) (preflight.CheckResult, *manifest.Manifest) {
	const name = outputName
	nothing := &manifest.Manifest{State: manifest.Writing}
	at := dir.FS.URI(dir.Path)
	ok := preflight.CheckResult{Name: name, State: preflight.OK}
	old, err := manifest.Read(dir.FS, dir.Path)
	switch {
	case err != nil:
		return preflight.Fail(name, err, ""), nothing
	case old == nil:
		ok.Detail = fmt.Sprintf("%s can be written and has no run", at)
		return ok, nothing
	}
	o := c.opened.options
	fresh := manifest.New(j)
	fresh.Inputs = old.Inputs // so that the inputs are not compared
	if old.Begun() && !o.Force {
		if err := dir.CheckJob(old, fresh); err != nil {
			return preflight.Fail(name, err, ""), nothing
		}
		if c.opened.source != nil && o.OnChange != options.Reload {
			if err := output.NewRun(dir, j, c.opened.source).CheckInput(ctx, old); err != nil {
				return preflight.Fail(name, err, ""), old
			}
		}
	}
	ok.Detail = fmt.Sprintf("%s has run %s, which is %s", at, old.Run.ID, old.State)
	return ok, old
}

// checkLoaded makes the checks of a run that seems to have nothing to do. It asks the ledger if the output has no run,
// and the table if files were loaded.
func (c *checking) checkLoaded(ctx context.Context, dir *output.Dir, j *jobfile.Job,
	recorded *manifest.Manifest) preflight.CheckResults {
	const name = "loaded before"
	w := newOutputRun(output.NewRun(dir, j, c.opened.source), c.opened.clusterOf(j))
	w.loader.Ledger = c.opened.ledger
	if recorded.State == manifest.Loaded {
		if c.opened.options.Force {
			return nil
		}
		w.out.Manifest = recorded
		if err := w.loader.CheckServed(ctx); err != nil {
			return preflight.CheckResults{preflight.Fail(name, err, "")}
		}
		return preflight.CheckResults{{Name: name, State: preflight.OK, Detail: "the table serves what was loaded"}}
	} else if recorded.Begun() || !w.out.IsEmpty() {
		return nil
	}
	e, err := w.loader.Entry()
	loaded := false
	if err == nil {
		loaded, err = w.loader.LoadedElsewhere(ctx, w.out)
	}
	switch {
	case err != nil:
		return preflight.CheckResults{preflight.Fail(name, err, "")}
	case loaded:
		return preflight.CheckResults{{Name: name, State: preflight.OK,
			Detail: "according to the ledger, and the table serves it"}}
	case e != nil && len(e.Files) > 0:
		return preflight.CheckResults{{Name: name, State: preflight.OK,
			Detail: "from another input, according to the ledger; the run reads this one (--on-change reload)"}}
	}
	return preflight.CheckResults{{Name: name, State: preflight.OK,
		Detail: "the ledger has no load of this job and date"}}
}

// kept returns how many bytes an earlier process of the run has spilled.
func (c *checking) kept() int64 {
	var uris []string
	for _, dir := range c.outputs {
		uris = append(uris, dir.FS.URI(dir.Path))
	}
	return checkpoint.KeptBytes(c.opened.options.WorkDir, uris)
}

// rememberMissing has the directories above an output removed at the end if they do not exist yet, because locking the
// output creates them.
func (c *checking) rememberMissing(j *jobfile.Job) {
	fsys, dir, err := c.opened.site.Resolve(j.Output, j.Dir)
	if err != nil {
		return // the next step finds the same error
	}
	missing, _ := storage.Missing(fsys, path.Dir(dir)) // the next step finds the same error
	c.made = append(c.made, func() {
		storage.RemoveEmpty(fsys, missing)
		_ = fsys.Close() // nothing was written
	})
}
