package retention

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"time"

	"bulkload/internal/errcode"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/ledger"
	"bulkload/jobs/env/site"
	"bulkload/jobs/pipeline/checkpoint"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/output"
)

// Rules say what may be deleted.
type Rules struct {
	Outputs time.Duration // delete outputs loaded at least so long ago, with their rejects; 0: none
	// delete rejects, and leftovers of failed runs in the work folder, if unchanged for so long; 0: rejects go only
	// with their outputs
	Rejects time.Duration
	DryRun  bool      // delete nothing, but report what would be deleted
	Now     time.Time // the zero Time: the present
}

// Clean deletes in dir, which may be an output itself, what the rules allow:
//
//   - in outputs with a manifest, what the manifest names, and the rejects;
//   - in directories of other tools, the originals of files that load has cut.
//
// Outputs that are locked, in progress or not loaded stay. Outputs whose load the ledger does not record stay, too,
// because without the manifest the same command would load them again. Rejects that are old enough go even if their
// output stays, unless it is locked.
func Clean(ctx context.Context, dir string, rules Rules, o options.Options) (*Report, error) {
	if rules.Outputs <= 0 && rules.Rejects <= 0 {
		return &Report{Outcome: failure.NewOutcome()},
			errcode.Command.Errorf("say what may be deleted: with --older-than 30d outputs that were loaded so long ago, with " +
				"--rejects-older-than 7d rejects")
	}
	if rules.Now.IsZero() {
		rules.Now = time.Now()
	}
	report, s, fsys, err := open(dir, o)
	if err != nil {
		return report, err
	}
	c := &cleaner{rules: rules, options: o, site: s}
	for _, out := range report.Outputs {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			var freed int64
			freed, err = c.clean(ctx, out)
			report.Freed += freed
		}
	}
	if err == nil && rules.Rejects > 0 {
		report.Work = checkpoint.RemoveOlder(o.WorkDir, rules.Rejects, rules.DryRun)
	}
	if c.ledger != nil {
		err = errors.Join(err, c.ledger.Close())
	}
	if err = errors.Join(err, fsys.Close()); err == nil {
		report.Status = failure.StatusDone
	}
	return report, err
}

// cleaner holds what Clean needs for every output.
type cleaner struct {
	rules   Rules
	options options.Options
	site    *site.Site
	ledger  *ledger.Ledger // nil until it is needed
}

// clean decides about one output and deletes what it may. freed is in bytes; with DryRun, what would be freed.
func (c *cleaner) clean(ctx context.Context, out *OutputDir) (freed int64, err error) {
	action, reason, err := c.decide(out)
	if err != nil {
		return 0, err
	}
	if c.rules.DryRun && out.Locked {
		action, reason = Retained, "it is locked"
	}
	if action != Retained && !c.rules.DryRun {
		if err := c.locked(ctx, out, &action, &reason); failure.KindOf(err) == failure.Later {
			action, reason = Retained, err.Error()
		} else if err != nil {
			return 0, fmt.Errorf("clean %s: %w", out.URI, err)
		}
	}
	switch out.Action, out.Reason = action, reason; action {
	case Deleted:
		freed = out.Bytes + out.Rejects
	case RejectsDeleted:
		freed = out.Rejects
	}
	if action != Retained && !c.rules.DryRun {
		c.options.Detail(options.LevelStage, action, attributes(out)...)
	}
	return freed, nil
}

// locked locks the output, decides again, and deletes.
func (c *cleaner) locked(ctx context.Context, out *OutputDir, action, reason *string) (err error) {
	d := output.At(out.fsys, out.dir, c.site, c.options)
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := d.TakeLock(running, func(err error) { cancel(err) }); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Unlock()) }()
	out.Locked = false
	if err := out.readAgain(); err != nil { // another process may have continued it
		return err
	}
	if *action, *reason, err = c.decide(out); err != nil || *action == Retained {
		return err
	}
	if out.State == Cut {
		return d.FS.RemoveAll(path.Join(d.Path, manifest.CutsDir))
	}
	if err := d.ClearRejects(); err != nil || *action == RejectsDeleted {
		return err
	}
	return errors.Join(d.Clean(out.manifest), d.FS.RemoveAll(path.Join(d.Path, manifest.TasksDir)))
}

// decide returns what may be deleted of an output, and why the rest must stay.
func (c *cleaner) decide(out *OutputDir) (action, reason string, err error) {
	switch {
	case out.State == Cut:
		reason, err = c.keepsCut(out)
	case out.manifest == nil:
		return Retained, out.Error, nil
	default:
		reason, err = c.keeps(out)
	}
	if err != nil {
		return Retained, "", err
	}
	if reason == "" {
		return Deleted, "", nil
	}
	if !out.rejected.IsZero() && c.rules.Rejects > 0 && c.rules.Now.Sub(out.rejected) >= c.rules.Rejects {
		return RejectsDeleted, reason, nil
	}
	return Retained, reason, nil
}

// keeps returns why an output must stay; "" if it may be deleted.
func (c *cleaner) keeps(out *OutputDir) (reason string, err error) {
	switch out.State {
	case manifest.Writing, manifest.Loading:
		return "its run is under way: the same command goes on with it", nil
	case manifest.Written:
		return "its files were not loaded", nil
	}
	if c.rules.Outputs <= 0 {
		return "no --older-than was given", nil
	}
	e, err := c.entry(out)
	switch {
	case err != nil:
		return "", err
	case e == nil || e.State != ledger.Loaded || e.Run != out.Run:
		return "the ledger does not remember its load: without the manifest the same command would load it again", nil
	}
	out.Loaded = e.Time
	switch {
	case c.rules.Now.Sub(e.Time) < c.rules.Outputs:
		return "it was loaded on " + e.Time.Format(time.DateOnly), nil
	case c.rules.Rejects > 0 && !out.rejected.IsZero() && c.rules.Now.Sub(out.rejected) < c.rules.Rejects:
		return "its rejects are kept", nil
	}
	return "", nil
}

// entry returns the ledger's entry for an output.
func (c *cleaner) entry(out *OutputDir) (*ledger.Entry, error) {
	if err := c.openLedger(); err != nil {
		return nil, err
	}
	return c.ledger.Read(out.manifest.LedgerKey(out.URI))
}

func (c *cleaner) openLedger() (err error) {
	if c.ledger == nil {
		c.ledger, err = c.site.ReadLedger()
	}
	return err
}

// attributes describes an output in a log.
func attributes(out *OutputDir) []slog.Attr {
	return []slog.Attr{slog.String("table", out.Table), slog.String("date", out.Date), slog.String("run", out.Run),
		slog.String("output", path.Clean(out.dir)), slog.Int64("bytes", out.Bytes+out.Rejects)}
}
