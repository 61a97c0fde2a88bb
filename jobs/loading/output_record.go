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
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/output"
	"bulkload/load"
)

// outputRecord records the load of an output: in the output's manifest, and in the ledger for the time after the
// output.
type outputRecord struct {
	out    *output.Output
	ledger *ledger.Ledger // nil if nothing is loaded
	// load requests whose end is not in the saved manifest yet; recovery makes up for them by probes
	unsaved int
}

// begin records that requests may follow. From then on a kill leaves a load to recover. table is the one that served
// the files that are loaded, just now. repeated says that an earlier run of the job and date may have loaded equal
// cells.
func (r *outputRecord) begin(table *load.Table, repeated bool) error {
	r.out.Manifest.Repeated = r.out.Manifest.Repeated || repeated
	return r.write(manifest.Loading, ledger.Loading, table)
}

// end records that the table serves all files.
func (r *outputRecord) end(table *load.Table) error {
	r.out.Manifest.Missing = nil
	return r.write(manifest.Loaded, ledger.Loaded, table)
}

// write writes the state of a load, first into the ledger and then into the manifest.
//
// When a load begins, this order makes the ledger's entry found even if the output is deleted. When it ends, a kill
// between the two leaves a manifest that says "loading": the next process probes all files, and comes here again.
func (r *outputRecord) write(state, entry string, table *load.Table) error {
	m := r.out.Manifest
	m.State, m.Staging, m.Table = state, "", table.Identity()
	if err := m.SetOpenings(table, func(f *hfiles.FileMeta) bool { return f.Loaded }); err != nil {
		return err
	}
	if r.ledger != nil {
		// A run that lost its lock must not overwrite what the new owner records.
		if err := r.out.CheckLock(); err != nil {
			return err
		}
		e, err := r.entry(entry)
		if err != nil {
			return err
		}
		if err := r.ledger.Write(e); err != nil {
			return err
		}
	}
	return r.out.Save()
}

// entry is the ledger's entry: a copy of what the manifest says now, which replaces the one before as a whole. Who
// reads it later may have no output to compare it with, so everything that proves the load must be in it: the files'
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
		Moments: m.Timestamp == 0, // of the manifest, since a directory is loaded without its job
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

// hooks record a load of n files in the manifest. Staging folder and served-before marks are saved at once, because
// recovery depends on them. That a file is loaded may be saved some requests later: a file that is neither at its
// source nor recorded is in doubt after a kill, and recovery probes the table for it. saveLoaded must follow.
func (r *outputRecord) hooks(n int) load.Hooks {
	byURI := map[string]*hfiles.FileMeta{}
	for _, f := range r.out.Manifest.Files() {
		byURI[r.out.URI(f.Path)] = f
	}
	return load.Hooks{
		ServedBefore: func(files []load.HFile) error {
			for _, h := range files {
				if f := byURI[h.URI]; f != nil {
					// It must be on disk before the first request: without the marks, a recovery would take the cells
					// of an older load as proof that this file is loaded.
					markBefore(f.Probes, &h)
				}
			}
			return r.out.Save()
		},
		Staging: func(folder string) error {
			// Also before the first request: recovery could not find files in a folder that nobody knows.
			r.out.Manifest.Staging = folder
			err := r.out.Save()
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
			// A save may be skipped, since a file that is marked only in memory is in doubt after a kill, and
			// recovery probes for it.
			if r.unsaved++; r.unsaved > n/maxSaves {
				err = r.saveLoaded()
			}
			r.out.Options.Failpoint.Reached(options.FilesLoaded)
			return err
		},
	}
}

// saveLoaded saves the manifest if that was put off.
func (r *outputRecord) saveLoaded() error {
	if r.unsaved == 0 {
		return nil
	}
	r.unsaved = 0
	return r.out.Save()
}
