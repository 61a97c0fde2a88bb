package loading

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/jobs/base/counts"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/ledger"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/output"
	"bulkload/load"
)

// Entry returns the ledger's entry for this job and date; nil if there is none.
func (l *Loader) Entry() (*ledger.Entry, error) {
	if l.Ledger == nil {
		return nil, nil
	}
	m := l.Out.Manifest
	return l.Ledger.Read(m.LedgerKey(l.Out.FS.URI(l.Out.Path)))
}

// OthersWith lists the loads of other jobs and dates that, according to the ledger, have put cells with this timestamp
// into the table, or may have. A load of an earlier version of this job, from this output, does not count as another.
func (l *Loader) OthersWith(timestamp int64) (others []*ledger.Entry, err error) {
	m, uri := l.Out.Manifest, l.Out.FS.URI(l.Out.Path)
	all, damaged, err := l.Ledger.Entries(m.Run.Table)
	if err == nil && len(damaged) > 0 {
		err = damaged[0] // it may be such a load
	}
	for _, e := range all {
		own := e.Date == m.Run.Date &&
			(e.JobHash == m.JobHash && e.Source == m.Source || e.Output == uri && (e.JobHash == m.JobHash || e.Job == m.Run.Job))
		if !own && e.MayHaveTimestamp(timestamp) {
			others = append(others, e)
		}
	}
	return others, err
}

// WasLoaded reports whether the output's manifest or the ledger says that rows of this job and date were loaded. It
// reads records only, which say what was loaded, not what is served: the caller must still ask the table
// (CheckServed, Adopt). l.Out.Manifest is a new one (manifest.New). WasLoaded replaces it with the recorded manifest if
// that says that the rows were loaded.
func (l *Loader) WasLoaded() (bool, error) {
	m, err := manifest.Read(l.Out.FS, l.Out.Path)
	if err != nil {
		return false, err
	}
	// Without a manifest of this run, as after another run has replaced its output, the ledger decides.
	if m == nil || m.JobHash != l.Out.Manifest.JobHash || m.Run.Date != l.Out.Manifest.Run.Date {
		e, err := l.Entry()
		return e != nil && e.State == ledger.Loaded && len(e.Files) > 0, err
	}
	if m.State != manifest.Loaded || m.WroteNothing() {
		return false, nil
	}
	l.Out.Manifest = m
	return true, nil
}

// LoadedElsewhere looks in the ledger for a load of this job and date if the output is empty. If that loaded the same
// input and the table serves it, done is true. Another input is read only with --on-change reload. Anything else is
// refused: with exit code 75 while the load from the other output is under way, otherwise with 5, because only a person
// knows whether to load it again.
func (l *Loader) LoadedElsewhere(ctx context.Context, w *output.Run) (done bool, err error) {
	e, err := l.Entry()
	if e == nil || err != nil || len(e.Files) == 0 { // a later export replaces an empty one
		return false, err
	}
	same, err := l.sameAs(ctx, w, e)
	if err != nil {
		return false, err
	}
	switch {
	case e.State != ledger.Loaded && l.mayCorrect(e):
		l.Out.Options.Infof("a load of this job and date from this output was interrupted (%s), and a correction has "+
			"removed its files: writing and loading all rows (--on-change reload)", e.Time.Format(time.RFC3339))
		w.SayStale()
		return false, nil
	case e.State != ledger.Loaded:
		return false, l.refuseUnfinished(e)
	case !same && l.Out.Options.OnChange == options.Reload:
		l.Out.Options.Infof("this job and date was loaded into table %s on %s from another input: reading the new input "+
			"(--on-change reload)",
			e.Table, e.Time.Format(time.RFC3339))
		w.SayStale()
		return false, nil
	case !same:
		return false, errcode.LoadOther.Errorf("this job and date was loaded into table %s on %s from another input (its "+
			"output was %s); --on-change reload writes and loads this one",
			e.Table, e.Time.Format(time.RFC3339), e.Output)
	}
	return true, l.Adopt(ctx, e)
}

// mayCorrect reports whether a run whose output is empty may write and load over a load in the ledger: over one that
// has ended, or over an unfinished one of the same output, which an interrupted correction has emptied.
func (l *Loader) mayCorrect(e *ledger.Entry) bool {
	ended := e.State == ledger.Loaded || e.Output == l.Out.FS.URI(l.Out.Path)
	return ended && l.Out.Options.OnChange == options.Reload
}

// refuseUnfinished refuses to load what another output has begun to load. If a process works on that output, the load
// is under way. Otherwise it was interrupted: some of its files may be in the table, and this output has no record of
// which.
func (l *Loader) refuseUnfinished(e *ledger.Entry) error {
	when := e.Time.Format(time.RFC3339)
	if e.Output != l.Out.FS.URI(l.Out.Path) { // this process has the lock of its own output
		who, err := l.Out.Works(e.Output)
		if err != nil {
			return fmt.Errorf("look for a load from %s: %w", e.Output, err)
		}
		if who != "" {
			return errcode.TableBusy.Errorf("this job and date is being loaded into table %s from %s (since %s), by %s; try "+
				"again when that has ended", e.Table, e.Output, when, who)
		}
	}
	// The load may have ended after its entry was read and before its lock was.
	if now, err := l.Entry(); err != nil || now == nil || now.State == ledger.Loaded || now.Run != e.Run {
		return cmp.Or(err, errcode.TableBusy.Errorf("a load of this job and date from %s has just ended; try again",
			e.Output))
	}
	return errcode.OutputUnfinished.Errorf("a load of this job and date from %s was interrupted (%s), and this output "+
		"has no record of it: some of its files may be in table %s; --force writes and loads it again",
		e.Output, when, e.Table)
}

// Corrects records in a new run's manifest which run of this job and date it replaces: its own ID if its rows are
// loaded once more (askAllAgain). Without this record, checkHistory would refuse to load its files over those of the
// other run.
func (l *Loader) Corrects(w *output.Run) error {
	if w.Continues {
		return nil // a run that was restored from a copy may be older than what was loaded since
	}
	if w.Replaces() && w.Present.MayBeLoaded() {
		w.Manifest.Corrects = w.Present.Run.ID
	}
	e, err := l.knownEntry(w)
	// A load from another output is corrected only if the command says so: see LoadedElsewhere.
	elsewhere := w.HasNothing()
	if e != nil && len(e.Files) > 0 &&
		(!elsewhere || e.Run == w.Manifest.Run.ID || l.mayCorrect(e)) {
		w.Manifest.Corrects = e.Run
	}
	return err
}

// knownEntry is Entry, but also for a run that does not load and so has no ledger: another command may load its files.
func (l *Loader) knownEntry(w *output.Run) (e *ledger.Entry, err error) {
	if l.Ledger != nil || !storage.IsHDFS(w.Job.Output) {
		return l.Entry()
	}
	known, err := w.Site.ReadLedger()
	if err == nil {
		e, err = (&Loader{Out: l.Out, Ledger: known}).Entry()
		err = errors.Join(err, known.Close())
	}
	if err != nil {
		w.Options.Warnf("what this job and date loaded before can't be read from the ledger, so a load of these files may "+
			"need --on-change reload: %v", err)
		return nil, nil
	}
	return e, nil
}

// Adopt checks that the table serves what was loaded according to an entry, and adopts the entry's run, counts and
// digest.
//
// It writes neither the ledger nor a manifest in the empty output, so the next command asks the table again.
func (l *Loader) Adopt(ctx context.Context, e *ledger.Entry) error {
	if err := l.checkEntry(ctx, e); err != nil {
		return err
	}
	l.Adopted = e
	l.Out.Options.Infof("already loaded on %s, according to the ledger %s, and the table serves it",
		e.Time.Format(time.RFC3339), l.Ledger.URI())
	l.Out.Manifest.State, l.Out.Manifest.Digest, l.Out.Manifest.Table, l.Out.Manifest.Run.ID = manifest.Loaded,
		e.Digest, e.Identity, e.Run
	return json.Unmarshal(e.Counts, &l.Out.Manifest.Counts)
}

// checkEntry returns an error unless the table serves what was loaded according to an entry.
func (l *Loader) checkEntry(ctx context.Context, e *ledger.Entry) error {
	files, err := loadedFiles(e)
	if err != nil {
		return err
	}
	return l.proof().check(ctx, claim{e.Table, e.Identity, e.Repeated, files, nil,
		func(later bool) (bool, error) { return l.othersHadEqualCells(e.Run, later) }})
}

// sameAs reports whether an entry's input is this one, or has the same content.
func (l *Loader) sameAs(ctx context.Context, w *output.Run, e *ledger.Entry) (bool, error) {
	// A run's ID includes a hash of paths, sizes and times, so equal IDs need no reading of the input.
	if e.Run == w.Manifest.Run.ID {
		return true, nil
	}
	var inputs []manifest.RecordedInput
	var old counts.RowCounts
	if err := errors.Join(json.Unmarshal(e.Inputs, &inputs), json.Unmarshal(e.Counts, &old)); err != nil {
		return false, fmt.Errorf("read the ledger: %w", err)
	}
	return w.SameInput(ctx, inputs, slices.Clone(w.Manifest.Inputs), old.Differing)
}

// loadedFiles converts the files of an entry for package load.
func loadedFiles(e *ledger.Entry) ([]load.HFile, error) {
	var files []load.HFile
	for _, f := range e.Files {
		h, err := hfiles.Loadable(f)
		if err != nil {
			return nil, fmt.Errorf("read the ledger: %w", err)
		}
		files = append(files, h)
	}
	return files, nil
}
