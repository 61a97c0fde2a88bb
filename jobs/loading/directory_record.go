package loading

import (
	"errors"
	"os"
	"path"
	"slices"
	"time"

	"bulkload/internal/printable"
	"bulkload/internal/program"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/ledger"
	"bulkload/jobs/env/lock"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/output"
	"bulkload/load"
)

// directoryRecord is the ledger's entry for the load of a directory into a table.
type directoryRecord struct {
	out    *output.Dir
	ledger *ledger.Ledger
	table  string
	turn   *lock.Turn // nil for a reader
}

// key returns the directory's key in the ledger, where a job has its hash.
func (r directoryRecord) key() string {
	return ledger.DirectoryKey(r.out.FS.URI(r.out.Path))
}

func (r directoryRecord) entryKey() ledger.Key {
	return ledger.Key{Table: r.table, JobHash: r.key(), Output: r.out.FS.URI(r.out.Path)}
}

// read returns the entry; nil if there is none.
func (r directoryRecord) read() (*ledger.Entry, error) {
	return r.ledger.Read(r.entryKey())
}

// write writes an entry, unless the directory's lock or the turn was lost.
func (r directoryRecord) write(e *ledger.Entry) error {
	return writeEntry(r.ledger, r.out, r.turn, e)
}

// uri returns the entry's URI.
func (r directoryRecord) uri() string { return r.ledger.EntryURI(r.entryKey()) }

// end records that a table serves all files. The entry gets the time of the end, because clean keeps the originals of
// cut files for a while after it.
func (r directoryRecord) end(e *ledger.Entry, table *load.Table) error {
	files, err := loadedFiles(e)
	if err != nil {
		return err
	}
	for i := range files {
		e.Files[i].Opening = table.OpeningsOf(&files[i])
	}
	e.State, e.Staging, e.Identity, e.Time = ledger.Loaded, "", table.Identity(), time.Now().UTC().Truncate(time.Second)
	return r.write(e)
}

// begin records that the directory's files are about to be loaded into a table, together with those that an interrupted
// load has recorded.
func (r directoryRecord) begin(table *load.Table, d *hfiles.Directory) (*ledger.Entry, error) {
	old, err := r.read()
	if err != nil {
		return nil, err
	}
	host, _ := os.Hostname() // for people
	hash, err := program.Hash()
	e := &ledger.Entry{Identity: table.Identity(), Repeated: old != nil,
		State: ledger.Loading, Job: "load " + path.Base(r.out.Path), JobHash: r.key(), Table: r.table,
		Output:  r.out.FS.URI(r.out.Path),
		Moments: true, // not all cells are read, so their timestamps are unknown
		Counts:  []byte("{}"), Inputs: []byte("[]"), Program: hash, Version: program.ThisBuild().Version, Host: host,
		User: r.out.Site.User, Time: time.Now().UTC().Truncate(time.Second)}
	present := map[string]int{}
	for i, f := range d.Files {
		uri := r.out.URI(f.Path)
		present[uri] = i
		e.Files = append(e.Files, ledger.LoadedFile{URI: uri, Family: f.Family, FirstRow: printable.Bytes(f.First),
			LastRow: printable.Bytes(f.Last), Oldest: f.Oldest, Probes: f.Cells,
			Opening: table.OpeningsOf(&load.HFile{Family: f.Family, FirstRow: f.First, LastRow: f.Last})})
	}
	// HBase took these before the interruption. If the entry lacked them, the final probes would not look for their rows.
	if old != nil && old.State == ledger.Loading {
		e.Staging = old.Staging // see load.Hooks.Folder
		for _, f := range old.Files {
			i, found := present[f.URI]
			if !found {
				e.Files = append(e.Files, f)
				e.Identity = old.Identity // of the table that took them
				continue
			}
			// A server that hung may still take this file. Cells that the table had before that load prove nothing.
			for _, c := range f.Probes {
				was := c
				was.Before = false
				if k := slices.Index(e.Files[i].Probes, was); k >= 0 && c.Before {
					e.Files[i].Probes[k] = c
				}
			}
		}
	}
	return e, errors.Join(err, r.write(e))
}

// othersHadEqualCells reports whether, according to the ledger, another load may have put cells into the table that
// equal some of these. The files' cells are not all read, so any load may have. With later, only loads that may have
// ended after this one count.
func (r directoryRecord) othersHadEqualCells(later bool) (bool, error) {
	all, damaged, err := r.ledger.Entries(r.table)
	own := slices.IndexFunc(all, func(e *ledger.Entry) bool { return e.JobHash == r.key() })
	return len(damaged) > 0 || slices.ContainsFunc(all, func(e *ledger.Entry) bool {
		return e.JobHash != r.key() && len(e.Files) > 0 && !(later && own >= 0 && e.EndedBefore(all[own]))
	}), err
}

// hooks record what the next command must know of an interrupted load.
//
// Done records nothing, because the entry, unlike a manifest, has no mark for a loaded file. A file that is no longer
// in the directory is probed at the end, whatever became of it.
func (r directoryRecord) hooks(e *ledger.Entry) load.Hooks {
	return load.Hooks{
		ServedBefore: func(known []load.HFile) error {
			byURI := make(map[string]*load.HFile, len(known))
			for i := range known {
				byURI[known[i].URI] = &known[i]
			}
			for i := range e.Files {
				if h := byURI[e.Files[i].URI]; h != nil {
					markBefore(e.Files[i].Probes, h)
				}
			}
			return r.write(e)
		},
		Staging: func(folder string) error {
			e.Staging = folder
			err := r.write(e)
			if folder == "" { // whoever has the lock now may have read the record before
				err = errors.Join(err, r.out.CheckLock())
			}
			return err
		},
		Done: func([]load.HFile) error {
			r.out.Options.Failpoint.Reached(options.FilesLoaded)
			return nil
		},
	}
}

// replaceFiles replaces files with their parts in the entry of an interrupted load. Otherwise the next command would
// look for the files in HBase, since they are no longer where the load found them.
func (r directoryRecord) replaceFiles(cuts []manifest.Cut) error {
	e, err := r.read()
	if e == nil || err != nil || e.State != ledger.Loading {
		return err
	}
	parts := make(map[string][]hfiles.FileMeta, len(cuts))
	for _, c := range cuts {
		parts[r.out.URI(c.Of)] = c.Parts
	}
	var files []ledger.LoadedFile
	for _, f := range e.Files {
		if parts[f.URI] == nil {
			files = append(files, f)
		}
		for _, p := range parts[f.URI] {
			files = append(files, p.InLedger(r.out.URI(p.Path)))
		}
	}
	e.Files = files
	return r.write(e)
}
