package run

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"bulkload/internal/bytesize"
	"bulkload/internal/storage"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/ledger"
	"bulkload/jobs/env/lock"
	"bulkload/jobs/env/site"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/source"
	"bulkload/jobs/run/preflight"
	"bulkload/jobs/spec/jobfile"
)

// Check makes all checks of a run and nothing else: it reads no input and leaves no file. Unlike a run, it continues
// after a failure as far as it can. The options must have their defaults (Options.WithDefaults). What the checks find
// is in the findings. It returns an error only if the context ended, or if something could not be closed.
func Check(ctx context.Context, j *jobfile.Job, o options.Options) (preflight.Findings, error) {
	c := &checking{opened: &opened{job: j, options: o, lost: func(error) {}}}
	err := errors.Join(c.all(ctx), c.opened.close())
	for _, remove := range c.made {
		remove()
	}
	return c.found, err
}

// checking makes the checks of one run. It opens what a run would open, one after the other; what can't be opened is a
// finding.
type checking struct {
	opened *opened // what a run opens; nothing is run
	found  preflight.Findings
	made   []func() // remove the directories that the checks make
}

func (c *checking) ok(name, format string, args ...any) {
	c.found = append(c.found, preflight.Finding{Name: name, State: preflight.OK, Detail: fmt.Sprintf(format, args...)})
}

func (c *checking) fail(name string, err error) {
	c.found = append(c.found, preflight.Fail(name, err, ""))
}

// all makes the checks. It returns an error only if the context ended.
func (c *checking) all(ctx context.Context) error {
	err := c.opened.openParts(ctx, opening{input: c.openInput, connect: true, ledger: (*site.Site).TryLedger, output: c.checkOutput, step: c.step})
	if err != nil || c.opened.site == nil {
		return err
	}
	reached := !slices.ContainsFunc(c.opened.outputs, func(w *outputRun) bool { return w.out.FS == nil })
	if c.opened.source != nil && reached {
		c.found = append(c.found, c.opened.disks(c.opened.outputs, c.opened.kept).Check()...)
	}
	return ctx.Err()
}

// step makes a finding of a step of the opening.
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
	var missing *source.MissingError
	switch {
	case err == nil:
		c.ok("input", "%s, %s", jobfile.Plural(len(c.opened.source.Files), "file"), bytesize.Format(c.opened.source.Bytes))
	case errors.As(err, &missing) && mayBeArchived(c.opened.job, c.opened.options) && wasLoaded(ctx, c.opened.job, c.opened.options, c.opened.site):
		c.ok("input", "it does not exist any more; it was loaded earlier")
	default:
		c.fail("input", err)
	}
	return nil
}

// checkOutput makes the checks of one output.
func (c *checking) checkOutput(ctx context.Context, w *outputRun) error {
	w.out.Manifest = &manifest.Manifest{State: manifest.Writing}
	content, closed := c.openOutput(ctx, w)
	found := preflight.Findings{content}
	if closed == nil && w.out.WantsLoad() && c.opened.source != nil && c.opened.ledger != nil && c.opened.cluster != nil {
		w.loader.Ledger = c.opened.ledger
		found = append(found, checkLoaded(ctx, w)...)
	}
	if c.opened.ledger != nil && w.out.WantsLoad() {
		w.loader.Table = lock.OpenTable(c.opened.ledger, w.out.Job.Table,
			lock.Options{User: c.opened.site.User, Purpose: w.out.Job.Title(), Lost: c.opened.lost})
	}
	o := w.checks()
	o.Brief = false
	if w.out.Lock == nil {
		o.Temps, o.Closed = nil, closed
	}
	found = append(found, o.Check(ctx)...)
	w.target = o.Target
	if c.opened.source != nil {
		found = append(found, w.fileLimit().Findings()...)
	}
	c.found = append(c.found, c.opened.label(w, found)...)
	return nil
}

// openOutput locks an output for the time of the check, and says what is in it. closed is why it can't be locked.
func (c *checking) openOutput(ctx context.Context, w *outputRun) (found preflight.Finding, closed error) {
	c.rememberMissing(w)
	if err := w.out.Open(ctx, c.opened.lost); err != nil {
		return preflight.Fail(outputName, err, ""), err
	}
	return c.describeOutput(w), nil
}

const outputName = "output" // of the check

// describeOutput says what is in a locked output.
func (c *checking) describeOutput(w *outputRun) preflight.Finding {
	const name = outputName
	at := w.out.FS.URI(w.out.Path)
	ok := preflight.Finding{Name: name, State: preflight.OK}
	old, err := manifest.Read(w.out.FS, w.out.Path)
	switch {
	case err != nil:
		return preflight.Fail(name, err, "")
	case old == nil:
		ok.Detail = fmt.Sprintf("%s can be written and has no run", at)
		return ok
	}
	fresh := &manifest.Manifest{JobHash: w.out.Job.Hash(), Run: w.out.Job.Info(), Timestamp: w.out.Job.Timestamp, Inputs: old.Inputs} // of the input nothing is compared
	if old.Begun() && !c.opened.options.Force {
		if err := w.out.CheckJob(old, fresh); err != nil {
			return preflight.Fail(name, err, "")
		}
	}
	w.out.Manifest = old
	ok.Detail = fmt.Sprintf("%s has run %s, which is %s", at, old.Run.ID, old.State)
	if s := c.opened.source; s != nil && old.Begun() && !old.WroteNothing() && !c.opened.options.Force && c.opened.options.OnChange != options.Reload && !w.out.HasRead(old) {
		ok.State = preflight.Warning
		ok.Detail += ". It has read other files than those of the input: a run compares their records, and refuses to replace them by others"
		ok.Fix = "--on-change reload replaces them"
	}
	return ok
}

// checkLoaded asks what a run asks if there seems to be nothing to do: the ledger, if the output has no run, and the table, if files were
// loaded.
func checkLoaded(ctx context.Context, w *outputRun) preflight.Findings {
	const name = "loaded before"
	if old := w.out.Manifest; old.State == manifest.Loaded {
		if w.out.Options.Force {
			return nil
		}
		if err := w.loader.CheckServed(ctx); err != nil {
			return preflight.Findings{preflight.Fail(name, err, "")}
		}
		return preflight.Findings{{Name: name, State: preflight.OK, Detail: "the table serves what was loaded"}}
	} else if old.Begun() {
		return nil
	}
	w.out.Manifest = w.out.Fresh()
	defer func() { w.out.Manifest = &manifest.Manifest{State: manifest.Writing} }()
	if !w.out.IsEmpty() {
		return nil
	}
	e, err := w.loader.Entry()
	if err == nil && e != nil && e.State == ledger.Loaded && e.Run != w.out.Manifest.Run.ID && w.out.Options.OnChange != options.Reload {
		return preflight.Findings{{Name: name, State: preflight.Warning, Detail: fmt.Sprintf("this job and date was loaded on %s from files that are not those of the input: a run reads them, and refuses to load other records",
			e.Time.Format(time.RFC3339)), Fix: "--on-change reload loads them"}}
	}
	loaded := false
	if err == nil {
		loaded, err = w.loader.LoadedElsewhere(ctx)
	}
	switch {
	case err != nil:
		return preflight.Findings{preflight.Fail(name, err, "")}
	case loaded:
		return preflight.Findings{{Name: name, State: preflight.OK, Detail: "according to the ledger, and the table serves it"}}
	}
	return preflight.Findings{{Name: name, State: preflight.OK, Detail: "no load of this job and date is known to the ledger"}}
}

// rememberMissing has the directories above an output removed that do not exist yet: locking it makes them.
func (c *checking) rememberMissing(w *outputRun) {
	fsys, dir, err := c.opened.site.Resolve(w.out.Job.Output, w.out.Job.Dir)
	if err != nil {
		return // the same error is found next
	}
	missing, _ := storage.Missing(fsys, path.Dir(dir)) // the same error is found next
	c.made = append(c.made, func() {
		storage.RemoveEmpty(fsys, missing)
		_ = fsys.Close() // nothing was written
	})
}
