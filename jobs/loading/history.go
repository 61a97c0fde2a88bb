package loading

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/seal"
	"bulkload/jobs/books"
	"bulkload/jobs/hfile"
	"bulkload/jobs/ledger"
	"bulkload/jobs/manifest"
	"bulkload/jobs/options"
	"bulkload/load"
)

// Entry is the ledger's entry for this job and date; nil if there is none.
func (l *Loader) Entry() (*ledger.Entry, error) {
	if l.Ledger == nil {
		return nil, nil
	}
	m := l.Out.Manifest
	e, err := l.Ledger.Read(m.Run.Table, m.Run.Date, m.JobHash)
	return e, damagedRecord(err)
}

// OthersWith lists the loads of other jobs and dates that have put cells with a timestamp into the table, or may have,
// according to the ledger. A load of an earlier version of this job, from this output, is not another one.
func (l *Loader) OthersWith(timestamp int64) (others []*ledger.Entry, err error) {
	m, output := l.Out.Manifest, l.Out.FS.URI(l.Out.Path)
	all, damaged, err := l.Ledger.Entries(m.Run.Table)
	if err == nil && len(damaged) > 0 {
		err = damagedRecord(damaged[0]) // what it was is not known
	}
	for _, e := range all {
		own := e.Date == m.Run.Date && (e.JobHash == m.JobHash || e.Output == output && e.Job == m.Run.Job)
		if !own && e.MayHaveTimestamp(timestamp) {
			others = append(others, e)
		}
	}
	return others, err
}

// WasLoaded reports whether the output's manifest or the ledger says that rows of this job and date were loaded.
//
// It looks at records only, and changes l.Out.Manifest to the one that says so. The caller must still ask the table
// (CheckServed, Adopt): a record says what was loaded, not what is served.
func (l *Loader) WasLoaded() (bool, error) {
	m, err := manifest.Read(l.Out.FS, l.Out.Path)
	if err != nil {
		return false, err
	}
	l.Out.Manifest = &manifest.Manifest{JobHash: l.Out.Job.Hash(), Run: l.Out.Job.Info()}
	if m == nil {
		e, err := l.Entry()
		return e != nil && e.State == ledger.Loaded && len(e.Files) > 0, err
	}
	same := m.State == manifest.Loaded && !m.WroteNothing() && m.JobHash == l.Out.Job.Hash() && m.Run.Date == l.Out.Manifest.Run.Date
	if same {
		l.Out.Manifest = m
	}
	return same, nil
}

// LoadedElsewhere searches the ledger, if the output is empty, for a load of this job and date. If the table serves
// what was loaded then from the same input, there is nothing to do. Anything else is refused: only a person knows
// whether to load it again.
func (l *Loader) LoadedElsewhere(ctx context.Context) (done bool, err error) {
	e, err := l.Entry()
	if e == nil || err != nil || len(e.Files) == 0 { // a later export replaces an empty one
		return false, err
	}
	const advice = "--force writes and loads it again"
	same, err := l.sameAs(ctx, e)
	if err != nil {
		return false, err
	}
	switch {
	// An interrupted load whose output is gone: some of its files may be in the table, and nothing here can tell
	// which.
	case e.State != ledger.Loaded:
		return false, errcode.LoadInterrupted.Errorf("a load of this job and date from %s was interrupted (%s), and this output has no record of it: some of its files may be in table %s; %s",
			e.Output, e.Time.Format(time.RFC3339), e.Table, advice)
	case !same && l.Out.Options.OnChange == options.Reload:
		l.Out.Options.Infof("this job and date was loaded into table %s on %s from another input: reading the new input (--on-change reload)",
			e.Table, e.Time.Format(time.RFC3339))
		l.Out.SayStale()
		return false, nil
	case !same:
		return false, errcode.LoadOther.Errorf("this job and date was loaded into table %s on %s from another input, and its output %s is gone; --on-change reload writes and loads this one",
			e.Table, e.Time.Format(time.RFC3339), e.Output)
	}
	return true, l.Adopt(ctx, e)
}

// Adopt checks that the table serves what an entry says was loaded, and adopts its counts.
//
// Nothing is written: neither the ledger nor a manifest in the empty output. The next command asks the table again.
func (l *Loader) Adopt(ctx context.Context, e *ledger.Entry) error {
	files, err := loadedFiles(e)
	if err != nil {
		return err
	}
	if err := l.prober().checkServed(ctx, e.Table, e.Identity, files); err != nil {
		return err
	}
	l.Out.Options.Infof("already loaded on %s, according to the ledger %s, and the table serves it", e.Time.Format(time.RFC3339), l.Ledger.URI())
	l.Out.Manifest.State, l.Out.Manifest.Digest, l.Out.Manifest.Table, l.Out.Manifest.Run.ID = manifest.Loaded, e.Digest, e.Identity, e.Run
	return json.Unmarshal(e.Books, &l.Out.Manifest.Books)
}

// sameAs reports whether an entry is of this very input, or of one with the same content.
func (l *Loader) sameAs(ctx context.Context, e *ledger.Entry) (bool, error) {
	// A run's ID has the hash of paths, sizes and times: equal IDs need no reading of the input.
	if e.Run == l.Out.Manifest.Run.ID {
		return true, nil
	}
	var inputs []manifest.Input
	var counts books.Books
	if err := errors.Join(json.Unmarshal(e.Inputs, &inputs), json.Unmarshal(e.Books, &counts)); err != nil {
		return false, fmt.Errorf("read the ledger: %w", err)
	}
	return l.Out.SameInput(ctx, inputs, slices.Clone(l.Out.Manifest.Inputs), counts.Differing)
}

// loadedFiles returns the files of an entry in the form for load.
func loadedFiles(e *ledger.Entry) ([]load.HFile, error) {
	var files []load.HFile
	for _, f := range e.Files {
		record := hfile.Summary{Family: f.Family, FirstRow: f.FirstRow, LastRow: f.LastRow, Probes: f.Probes}
		h, err := record.Loadable()
		if err != nil {
			return nil, fmt.Errorf("read the ledger: %w", err)
		}
		h.URI, h.ServedBefore = f.URI, f.ServedBefore
		files = append(files, h)
	}
	return files, nil
}

// damagedRecord gives an error of reading a record the kind that says what to do: changed content is a mismatch, a
// malformed record needs a person.
func damagedRecord(err error) error {
	switch {
	case errors.Is(err, seal.ErrMismatch):
		return errcode.LedgerDamaged.Errorf("%w; restore the original, or move the file away: bulkload then no longer knows of this load", err)
	case errors.Is(err, seal.ErrMalformed):
		return errcode.LedgerMalformed.Errorf("%w; restore the original, or move the file away: bulkload then no longer knows of this load", err)
	}
	return err
}
