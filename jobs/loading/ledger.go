package loading

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"bulkload/internal/digest"
	"bulkload/internal/errcode"
	"bulkload/internal/printable"
	"bulkload/internal/program"
	"bulkload/internal/seal"
	"bulkload/jobs/books"
	"bulkload/jobs/hfile"
	"bulkload/jobs/ledger"
	"bulkload/jobs/manifest"
	"bulkload/jobs/options"
	"bulkload/jobs/site"
	"bulkload/load"
)

// Entry is the ledger's entry for this job and date; nil if there is none.
func (w *Loader) Entry() (*ledger.Entry, error) {
	if w.Ledger == nil {
		return nil, nil
	}
	m := w.Out.Manifest
	e, err := w.Ledger.Read(m.Run.Table, m.Run.Date, m.JobHash)
	return e, damagedRecord(err)
}

// recordState writes the state of a load into the ledger.
//
// The entry is a copy of what the manifest says now, replaced as a whole. Who reads it later may have no output to
// compare it with, so everything that proves the load must be in it: the files' cells, the digest, the inputs,
// the table's identity.
func (w *Loader) recordState(state string) error {
	if w.Ledger == nil {
		return nil
	}
	// A run that lost its lock must not overwrite what the new owner records.
	if err := w.Out.CheckLock(); err != nil {
		return err
	}
	e, err := w.newEntry(state)
	if err != nil {
		return err
	}
	return w.Ledger.Write(e)
}

// recordUnserved records, outside of this output, files that HBase took and does not serve.
//
// It must come before the files are written again. If a kill came first, a later load with other cells would not know
// that old ones may still appear. An entry too many costs a look at its region, and perhaps a move.
func (w *Loader) recordUnserved(ctx context.Context, lost *load.LostError, run string, cells digest.Sum) error {
	if w.Ledger == nil {
		return nil
	}
	table, err := site.LookUp(ctx, w.Cluster, lost.Table)
	if err != nil {
		return err
	}
	all, err := w.Ledger.Unserved(lost.Table)
	if err != nil {
		return damagedRecord(err)
	}
	// Files whose region was opened since are served or do not exist: they can't appear any more.
	all = slices.DeleteFunc(all, func(u ledger.Unserved) bool { return opened(table, u) })
	for _, f := range lost.Files {
		all = append(all, ledger.Unserved{URI: f.URI, Row: printable.Bytes(f.FirstRow), Opening: table.Opening(f.FirstRow),
			Run: run, Digest: cells, Time: time.Now().UTC().Truncate(time.Second)})
	}
	if err := w.Out.CheckLock(); err != nil {
		return err
	}
	return w.Ledger.SetUnserved(lost.Table, all)
}

// opened reports whether the region of an unserved file was opened since: then the file is served, or does not exist.
func opened(table *load.Table, u ledger.Unserved) bool {
	row, err := printable.Parse(u.Row)
	return err == nil && table.OpenedSince(row, u.Opening)
}

func (w *Loader) newEntry(state string) (*ledger.Entry, error) {
	m := w.Out.Manifest
	counts, err1 := json.Marshal(m.Books)
	inputs, err2 := json.Marshal(m.Inputs)
	hash, err3 := program.Hash()
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, fmt.Errorf("write the ledger: %w", err)
	}
	host, _ := os.Hostname() // for people
	e := &ledger.Entry{State: state, Job: m.Run.Job, JobHash: m.JobHash, Table: m.Run.Table, Date: m.Run.Date, Run: m.Run.ID,
		Output: w.Out.FS.URI(w.Out.Path), Digest: m.Digest, Books: counts, Inputs: inputs, Identity: m.Table,
		Program: hash, Version: program.ThisBuild().Version, Host: host, User: w.Out.Site.User, Time: time.Now().UTC().Truncate(time.Second)}
	// All files, not only those of this load: the entry replaces the one before.
	for _, f := range m.Files() {
		e.Files = append(e.Files, ledger.File{URI: w.Out.URI(f.Path), Family: f.Family, FirstRow: f.FirstRow, LastRow: f.LastRow, Probes: f.Probes, ServedBefore: f.ServedBefore})
	}
	return e, nil
}

// LoadedElsewhere searches the ledger, if the output is empty, for a load of this job and date. If the table serves
// what was loaded then from the same input, there is nothing to do. Anything else is refused: only a person knows
// whether to load it again.
func (w *Loader) LoadedElsewhere(ctx context.Context) (done bool, err error) {
	e, err := w.Entry()
	if e == nil || err != nil || len(e.Files) == 0 { // a later export replaces an empty one
		return false, err
	}
	const advice = "--force writes and loads it again"
	same, err := w.sameAs(ctx, e)
	if err != nil {
		return false, err
	}
	switch {
	// An interrupted load whose output is gone: some of its files may be in the table, and nothing here can tell
	// which.
	case e.State != ledger.Loaded:
		return false, errcode.LoadInterrupted.Errorf("a load of this job and date from %s was interrupted (%s), and this output has no record of it: some of its files may be in table %s; %s",
			e.Output, e.Time.Format(time.RFC3339), e.Table, advice)
	case !same && w.Out.Options.OnChange == options.Reload:
		w.Out.Options.Infof("this job and date was loaded into table %s on %s from another input: reading the new input (--on-change reload)",
			e.Table, e.Time.Format(time.RFC3339))
		w.Out.SayStale()
		return false, nil
	case !same:
		return false, errcode.LoadOther.Errorf("this job and date was loaded into table %s on %s from another input, and its output %s is gone; --on-change reload writes and loads this one",
			e.Table, e.Time.Format(time.RFC3339), e.Output)
	}
	return true, w.Adopt(ctx, e)
}

// Adopt checks that the table serves what an entry says was loaded, and adopts its counts.
//
// Nothing is written: neither the ledger nor a manifest in the empty output. The next command asks the table again.
func (w *Loader) Adopt(ctx context.Context, e *ledger.Entry) error {
	files, err := loadedFiles(e)
	if err != nil {
		return err
	}
	if err := w.probeServed(ctx, e.Table, e.Identity, files); err != nil {
		return err
	}
	w.Out.Options.Infof("already loaded on %s, according to the ledger %s, and the table serves it", e.Time.Format(time.RFC3339), w.Ledger.URI())
	w.Out.Manifest.State, w.Out.Manifest.Digest, w.Out.Manifest.Table, w.Out.Manifest.Run.ID = manifest.Loaded, e.Digest, e.Identity, e.Run
	return json.Unmarshal(e.Books, &w.Out.Manifest.Books)
}

// sameAs reports whether an entry is of this very input, or of one with the same content.
func (w *Loader) sameAs(ctx context.Context, e *ledger.Entry) (bool, error) {
	// A run's ID has the hash of paths, sizes and times: equal IDs need no reading of the input.
	if e.Run == w.Out.Manifest.Run.ID {
		return true, nil
	}
	var inputs []manifest.Input
	var counts books.Books
	if err := errors.Join(json.Unmarshal(e.Inputs, &inputs), json.Unmarshal(e.Books, &counts)); err != nil {
		return false, fmt.Errorf("read the ledger: %w", err)
	}
	return w.Out.SameInput(ctx, inputs, slices.Clone(w.Out.Manifest.Inputs), counts.Differing)
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

// checkCorrection refuses to load other cells over those of a load whose lost files may still appear. A region that
// is opened again finds such a file in its folder, and its cells may then win over the later ones, which have the
// same timestamps. Once the region has been opened since, that can't happen any more.
func (w *Loader) checkCorrection(ctx context.Context, name, run string, cells digest.Sum) error {
	if w.Ledger == nil {
		return nil
	}
	all, err := w.Ledger.Unserved(name)
	if err != nil || len(all) == 0 {
		return damagedRecord(err)
	}
	for _, u := range all {
		table, err := site.LookUp(ctx, w.Cluster, name) // again: the region of the file before may have been moved
		if err != nil {
			return err
		}
		// The same cells with the same timestamps do no harm if they appear twice.
		if u.Run == run || u.Digest == cells || opened(table, u) {
			continue
		}
		if err := w.reopenRegion(ctx, table, &u); err != nil {
			return err
		}
	}
	return nil
}

// reopenRegion moves a region so that it finds the files in its folder.
//
// It waits until hbase:meta shows another opening (load.ReopenRegion). From then on the region knows every file in its
// folder, and none of them can appear after the cells that are loaded now.
func (w *Loader) reopenRegion(ctx context.Context, table *load.Table, u *ledger.Unserved) error {
	row, err := printable.Parse(u.Row)
	if err != nil {
		return fmt.Errorf("read the ledger: %w", err)
	}
	err = w.Cluster.ReopenRegion(ctx, table, row)
	if err == nil || !errors.Is(err, load.ErrRefused) {
		return err
	}
	return errcode.LoadMove.Errorf("file %s of an earlier load of table %s was lost on %s and may appear when the region of row %s is opened again, with cells that hide these: move that region to another server, or disable and enable the table, and run this again (%w)",
		u.URI, table.Name, u.Time.Format(time.RFC3339), u.Row, err)
}

// probeServed probes files that were loaded earlier: all of them, or one in each region if the table's identity is
// unchanged.
func (w *Loader) probeServed(ctx context.Context, name, identity string, files []load.HFile) error {
	table, err := site.LookUp(ctx, w.Cluster, name)
	if err != nil {
		return err
	}
	asked, same := slices.Clone(files), identity != "" && identity == table.Identity()
	if same {
		asked = oneOfEachRegion(files, table)
	}
	findings, err := w.Cluster.ProbeTable(ctx, table, asked, w.watchProbes(len(asked), 0, 1))
	if err == nil {
		err = w.refuseUnreadable(name, findings, lostHow(table, identity))
	}
	if err == nil && !same {
		err = refuseServedBefore(name, files)
	}
	return err
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
