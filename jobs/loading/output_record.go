package loading

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"bulkload/internal/program"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/ledger"
	"bulkload/jobs/env/lock"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/output"
	"bulkload/load"
)

// outputRecord records the load of an output in the output's manifest, and in the ledger, which outlives the output.
type outputRecord struct {
	out    *output.Output
	ledger *ledger.Ledger // nil if nothing is loaded
	turn   *lock.Turn     // by whose temporary folder the ledger is written
	// unsaved counts load requests that ended but are not in the saved manifest yet. Recovery makes up for them with
	// probes.
	unsaved int
}

// begin records that requests may follow. From then on, a kill leaves a load to recover. table is the table as it just
// served the files that are already loaded. repeated says that an earlier run of the job and date may have loaded equal
// cells.
func (r *outputRecord) begin(table *load.Table, repeated bool) error {
	r.out.Manifest.Repeated = r.out.Manifest.Repeated || repeated
	return r.write(manifest.Loading, ledger.Loading, table)
}

// end records that the table serves all files.
func (r *outputRecord) end(table *load.Table) error {
	r.out.Manifest.Missing = nil
	r.out.Manifest.ForgetRewritten()
	return r.write(manifest.Loaded, ledger.Loaded, table)
}

// write writes the state of a load, first into the ledger and then into the manifest.
//
// When a load begins, this order makes it known from the ledger even if the output is deleted. When it ends, a kill
// between the two leaves a manifest that says "loading", so the next process probes all files and gets here again.
func (r *outputRecord) write(state, entry string, table *load.Table) error {
	m := r.out.Manifest
	m.State, m.Table = state, table.Identity()
	if state == manifest.Loaded {
		m.Staging = ""
	}
	if err := m.SetOpenings(table, func(f *hfiles.FileMeta) bool { return f.Loaded }); err != nil {
		return err
	}
	if r.ledger != nil {
		e, err := r.entry(entry)
		if err == nil {
			err = writeEntry(r.ledger, r.out.Dir, r.turn, e)
		}
		if err != nil {
			return err
		}
	}
	return r.out.Save()
}

// writeEntry writes an entry of the ledger. A run that lost the output's lock or its turn must not overwrite what the
// new owner records.
func writeEntry(l *ledger.Ledger, out *output.Dir, turn *lock.Turn, e *ledger.Entry) error {
	if err := out.CheckLock(); err != nil {
		return err
	}
	temps, err := turn.TempFolder()
	if err == nil {
		err = l.Write(e, temps)
	}
	return turn.Explain(err)
}

// entry returns the ledger's entry, a copy of what the manifest says now. It replaces the entry before as a whole. A
// later reader may have no output to compare it with, so everything that proves the load must be in it: the files'
// cells, the digest, the inputs, the table's identity.
func (r *outputRecord) entry(state string) (*ledger.Entry, error) {
	m := r.out.Manifest
	rows, err1 := json.Marshal(m.Counts)
	inputs, err2 := json.Marshal(m.Inputs)
	hash, err3 := program.Hash()
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, fmt.Errorf("write the ledger: %w", err)
	}
	host, _ := os.Hostname() // for people
	e := &ledger.Entry{State: state, Job: m.Run.Job, JobHash: m.JobHash, Source: m.Source, Table: m.Run.Table,
		Date: m.Run.Date, Run: m.Run.ID,
		Output: r.out.FS.URI(r.out.Path), Digest: m.Digest, Counts: rows, Inputs: inputs,
		Identity: m.Table, Repeated: m.Repeated,
		Moments: m.Timestamp == 0, // from the manifest, since load DIR has no job
		Program: hash, Version: program.ThisBuild().Version, Host: host, User: r.out.Site.User,
		Time: time.Now().UTC().Truncate(time.Second)}
	// All files, not only those of this load: the entry replaces the one before.
	for _, f := range m.Files() {
		e.Files = append(e.Files, f.InLedger(r.out.URI(f.Path)))
	}
	return e, nil
}

// markBefore marks the recorded cells of a file that the table returned before its load.
func markBefore(cells []hfiles.KnownCell, h *load.HFile) {
	for i := range cells {
		cells[i].Before = cells[i].Before || h.Probes[i].Before
	}
}

// maxSaves bounds how often a load saves the manifest for loaded files. The manifest grows with the files, so a save
// after each request would make a load of many regions quadratic.
const maxSaves = 64

// hooks record a load of n files in the manifest. They save the staging folder and the served-before marks at once,
// because recovery depends on them. They may save that a file is loaded some requests later, because after a kill,
// recovery probes the table for files that are neither at their source nor recorded. saveLoaded must follow.
func (r *outputRecord) hooks(n int) load.Hooks {
	byURI := map[string]*hfiles.FileMeta{}
	for _, f := range r.out.Manifest.Files() {
		byURI[r.out.URI(f.Path)] = f
	}
	return load.Hooks{
		ServedBefore: func(files []load.HFile) error {
			for _, h := range files {
				if f := byURI[h.URI]; f != nil {
					// The marks must be on disk before the first request. Without them, recovery would take the cells of an older load
					// as proof that this file is loaded.
					markBefore(f.Probes, &h)
				}
			}
			return r.out.Save()
		},
		Staging: func(folder string) error {
			// This must come before the first request, too, because recovery could not find files in an unknown folder.
			r.out.Manifest.Staging = folder
			err := r.out.Save()
			if folder == "" { // whoever has the lock now may have read the record before
				return errors.Join(err, r.out.CheckLock())
			}
			r.out.Options.Failpoint.Reached(options.Staging)
			return err
		},
		Done: func(files []load.HFile) error {
			for _, h := range files {
				if f := byURI[h.URI]; f != nil {
					f.Loaded = true
					r.out.Options.Detail(options.LevelDetail, "file loaded", slog.Int("region", f.Region), slog.String("file", f.Path))
				}
			}
			var err error
			// A save may be skipped, because after a kill, recovery probes for files that are not recorded.
			if r.unsaved++; r.unsaved > n/maxSaves {
				err = r.saveLoaded()
			}
			r.out.Options.Failpoint.Reached(options.FilesLoaded)
			return err
		},
	}
}

// saveLoaded saves the manifest if loaded files are not saved yet.
func (r *outputRecord) saveLoaded() error {
	if r.unsaved == 0 {
		return nil
	}
	r.unsaved = 0
	return r.out.Save()
}
