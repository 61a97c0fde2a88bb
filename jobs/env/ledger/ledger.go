// Package ledger records what was loaded into which table, outside of any output and where every host finds it. If an
// output is deleted after its load, the ledger still says that the load must not be repeated.
//
// It is a folder with a folder for each table. That has a JSON document, sealed with a checksum, for each job and date:
//
//	<folder>/<table>/<date>_<job>.json
//	<folder>/<table>/<date>_<job>_<input>.json
//	<folder>/<table>/unserved-<random letters>.json
//
// The colon of a table's name is written as "=", and a job without a date has "undated". A job is named by the first 16
// digits of its hash, an input by 8 digits of its own.
//
// The last kind lists files that the table did not serve. Runs that lose files at the same time write one document
// each, so that no run replaces what another has just recorded.
//
// A document is replaced as a whole, so that a reader finds either the old one or the new one.
package ledger

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"bulkload/internal/digest"
	"bulkload/internal/errcode"
	"bulkload/internal/seal"
	"bulkload/internal/storage"
	"bulkload/load"
)

// The states of a load.
const (
	Loading = "loading" // the first request may have been sent
	Loaded  = "loaded"  // the table served every file
)

const (
	schema   = 1
	dirPerm  = 0o700
	filePerm = 0o600 // documents hold row keys
)

// maxBytes bounds a document that is read or written. Only tests change it.
var maxBytes = 256 << 20

// Entry is one load of a job's output.
type Entry struct {
	Schema  int    `json:"schema"`
	State   string `json:"state"`
	Job     string `json:"job"` // the job file's name
	JobHash string `json:"job_hash"`
	Table   string `json:"table"`
	Date    string `json:"date,omitempty"`   // the logical date
	Run     string `json:"run"`              // the run's ID
	Source  string `json:"source,omitempty"` // where the job looks for its input; "" for a directory
	Output  string `json:"output"`           // URI of the output directory

	Digest digest.Sum      `json:"digest"` // of all cells
	Counts json.RawMessage `json:"books"`  // as the run's summary has them
	Inputs json.RawMessage `json:"inputs"` // as the manifest has them
	Files  []LoadedFile    `json:"files"`
	// Moments: the cells have several timestamps, or unknown ones, in addition to those in Files.
	Moments bool `json:"moments,omitempty"`

	// Staging is HBase's staging folder of an interrupted load of a directory without a manifest.
	Staging string `json:"staging,omitempty"`
	// Identity changes when the table is created again, restored or truncated; see load.Table.
	Identity string `json:"table_identity,omitempty"`
	// Repeated: another load may have put equal cells into the table before this one, so a snapshot may have them.
	Repeated bool `json:"repeated,omitempty"`

	Program string    `json:"program"`           // the program that loaded: the SHA-256 of its executable
	Version string    `json:"version,omitempty"` // of that program
	Host    string    `json:"host"`
	User    string    `json:"user"`
	Time    time.Time `json:"time"` // when this was written
}

// clockError is how much the clocks of two machines that load may differ.
const clockError = time.Hour

// EndedBefore reports whether a load certainly ended before another one was recorded. An interrupted load has not
// ended, because it may continue at any time.
func (e *Entry) EndedBefore(other *Entry) bool {
	return e.State == Loaded && e.Time.Before(other.Time.Add(-clockError))
}

// HasTimestamp reports whether a file of the load is known to have a cell with a timestamp, in epoch milliseconds. Only
// a few cells of each file are known.
func (e *Entry) HasTimestamp(timestamp int64) bool {
	return slices.ContainsFunc(e.Files, func(f LoadedFile) bool {
		return slices.ContainsFunc(f.Probes, func(c KnownCell) bool { return c.Timestamp == timestamp })
	})
}

// MayHaveTimestamp is like HasTimestamp, but it is also true if some timestamps of the load are unknown: with Moments,
// where rows between a file's known cells may have any timestamp, or if no cell of a file is known.
func (e *Entry) MayHaveTimestamp(timestamp int64) bool {
	return e.HasTimestamp(timestamp) ||
		slices.ContainsFunc(e.Files, func(f LoadedFile) bool { return e.Moments || len(f.Probes) == 0 })
}

// LoadedFile is a loaded HFile and the cells by which the table proves that it serves it.
type LoadedFile struct {
	URI      string      `json:"uri"`
	Family   string      `json:"family"`
	FirstRow string      `json:"first_row"` // in the notation of HBase's shell
	LastRow  string      `json:"last_row"`
	Oldest   int64       `json:"oldest_timestamp,omitempty"` // the least of its cells; 0: that of one of Probes
	Probes   []KnownCell `json:"probes"`
	// Opening names its regions and their openings when the file was last known to be served, or was about to be loaded:
	// see load.Table.OpeningsOf.
	Opening string `json:"opening,omitempty"`
}

// KnownCell is a cell of an HFile.
type KnownCell struct {
	Row       string `json:"row"`       // in the notation of HBase's shell
	Qualifier string `json:"qualifier"` // likewise
	Timestamp int64  `json:"timestamp"`
	Type      int    `json:"type"`  // KeyValue.Type's code
	Value     string `json:"value"` // the first half of its SHA-256, in hex
	// Before: the table returned an equal cell before the file was loaded.
	Before bool `json:"before,omitempty"`
}

// Unserved is a file that HBase accepted but did not serve, so that its rows were loaded a second time. It may be in
// its region's folder. Then its cells, with their own timestamps, may appear when the region is opened again, even
// after a later load has corrected them.
type Unserved struct {
	URI     string     `json:"uri"`
	Row     string     `json:"row"`     // its first
	Opening string     `json:"opening"` // of its region when its rows were loaded again; see load.Table
	Run     string     `json:"run"`
	Digest  digest.Sum `json:"digest"` // of the run's cells
	// Timestamp is that of all its cells, in epoch milliseconds; 0: they have several, or it is unknown.
	Timestamp int64     `json:"timestamp,omitempty"`
	Time      time.Time `json:"time"`
}

// Ledger is the folder.
type Ledger struct {
	fsys storage.FS
	dir  string
}

// Open opens the ledger. Its folder need not exist until something is written.
func Open(fsys storage.FS, dir string) *Ledger { return &Ledger{fsys, path.Clean(dir)} }

// Make creates the ledger's folder unless it exists.
func (l *Ledger) Make() error {
	if err := l.fsys.MkdirAll(l.dir, dirPerm); err != nil {
		return fmt.Errorf("make the ledger's folder %s: %w", l.URI(), err)
	}
	return nil
}

// Try finds out, with an empty file, whether the ledger can be written. It removes whatever it creates.
func (l *Ledger) Try() (err error) {
	missing, err := storage.Missing(l.fsys, l.dir)
	if err != nil {
		return fmt.Errorf("look for the ledger's folder %s: %w", l.URI(), err)
	}
	defer storage.RemoveEmpty(l.fsys, missing)
	if err := l.Make(); err != nil {
		return err
	}
	name := fmt.Sprintf("%s/.try.%d", l.dir, time.Now().UnixNano())
	if err := storage.CreateFile(l.fsys, name, nil); err != nil {
		return fmt.Errorf("write into the ledger's folder %s: %w", l.URI(), err)
	}
	return l.fsys.Remove(name)
}

// MakeFolder creates a folder in the ledger, and missing folders above it, as private as the ledger.
func (l *Ledger) MakeFolder(dir string) error {
	// The ledger's own folder is made separately: as a missing parent it would be readable by everybody.
	if err := l.Make(); err != nil {
		return err
	}
	missing, err := storage.Missing(l.fsys, dir)
	if err != nil {
		return err
	}
	for i := len(missing) - 1; i >= 0; i-- {
		if missing[i] != l.dir && !storage.Below(l.dir, missing[i]) {
			continue // it is made with the ledger's own folder
		}
		if err := l.fsys.MkdirAll(missing[i], dirPerm); err != nil {
			return err
		}
	}
	return nil
}

// Close closes the file system.
func (l *Ledger) Close() error { return l.fsys.Close() }

// URI names the ledger's folder.
func (l *Ledger) URI() string { return l.fsys.URI(l.dir) }

// TableFolder returns the file system and the folder of a table's entries. The folder also has the locks that all jobs
// of the table share.
func (l *Ledger) TableFolder(table string) (storage.FS, string) { return l.fsys, l.folder(table) }

func (l *Ledger) folder(table string) string {
	return path.Join(l.dir, strings.ReplaceAll(table, ":", "="))
}

// Key identifies the ledger entry of a load. JobHash alone does not: jobs that load different inputs into one table,
// each with its own output, may share it.
type Key struct {
	Table, Date, JobHash string
	Source, Output       string // as in Entry
}

// Key returns the key of an entry.
func (e *Entry) Key() Key { return Key{e.Table, e.Date, e.JobHash, e.Source, e.Output} }

// form returns the beginning of the names of all entries with one date and job hash.
func (l *Ledger) form(k Key) string {
	return fmt.Sprintf("%s_%.16s", cmp.Or(k.Date, "undated"), k.JobHash)
}

func (l *Ledger) name(k Key) string {
	name := l.form(k)
	if k.Source != "" {
		sum := sha256.Sum256([]byte(k.Source))
		name += "_" + hex.EncodeToString(sum[:4])
	}
	return path.Join(l.folder(k.Table), name+".json")
}

// EntryURI names the document of a load.
func (l *Ledger) EntryURI(k Key) string { return l.fsys.URI(l.name(k)) }

// Read returns the entry of a load; nil if there is none. An entry matches if it has the same input or the same output,
// because a job's input may have moved, or its output may have changed. Of several the last one counts. For an entry
// that can't be trusted, the error has the entry's name and a code: errcode.ManifestChanged, or
// errcode.ManifestMalformed if it does not have this package's format.
func (l *Ledger) Read(k Key) (latest *Entry, err error) {
	names, err := l.named(k)
	for _, name := range names {
		e, err := l.read(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was replaced meanwhile
		}
		if err != nil {
			return nil, err
		}
		own := e.Source == k.Source
		if (own || e.Output == k.Output) && (latest == nil || e.Time.After(latest.Time) || own && e.Time.Equal(latest.Time)) {
			latest = e
		}
	}
	return latest, err
}

// named lists all entries with the date and the job hash of a key.
func (l *Ledger) named(k Key) (names []string, err error) {
	folder := l.folder(k.Table)
	files, err := storage.List(l.fsys, folder)
	if err != nil {
		return nil, fmt.Errorf("list the ledger's entries of table %s: %w", k.Table, err)
	}
	for _, f := range files {
		if rest, found := strings.CutPrefix(f.Name, l.form(k)); found && !f.Dir && path.Ext(rest) == ".json" {
			names = append(names, path.Join(folder, f.Name))
		}
	}
	return names, nil
}

// DirectoryKey returns what takes the place of a job's hash in the entry of a directory without a manifest.
func DirectoryKey(uri string) string {
	sum := sha256.Sum256([]byte("directory " + uri))
	return hex.EncodeToString(sum[:])
}

// OfDirectory returns the loads of a directory without a manifest, one for each table.
func (l *Ledger) OfDirectory(uri string) (all []*Entry, err error) {
	tables, err := storage.List(l.fsys, l.dir)
	if err != nil {
		return nil, fmt.Errorf("list the ledger's tables: %w", err)
	}
	for _, t := range tables {
		if !t.Dir {
			continue
		}
		e, err := l.Read(Key{Table: t.Name, JobHash: DirectoryKey(uri), Output: uri})
		if err != nil {
			return nil, err
		}
		if e != nil {
			all = append(all, e)
		}
	}
	return all, nil
}

// Entries returns all entries of a table, sorted by date and job. damaged has an error, with the entry's name, for each
// entry that can't be trusted.
func (l *Ledger) Entries(table string) (all []*Entry, damaged []error, err error) {
	files, err := storage.List(l.fsys, l.folder(table))
	if err != nil {
		return nil, nil, fmt.Errorf("list the ledger's entries of table %s: %w", table, err)
	}
	for _, f := range files {
		if f.Dir || f.Name[0] == '.' || isUnserved(f.Name) || path.Ext(f.Name) != ".json" {
			continue
		}
		e, err := l.read(path.Join(l.folder(table), f.Name))
		switch {
		case IsDamaged(err):
			damaged = append(damaged, err)
		case err != nil:
			return nil, nil, err
		default:
			all = append(all, e)
		}
	}
	return all, damaged, nil
}

func (l *Ledger) read(name string) (*Entry, error) {
	e := new(Entry)
	err := l.readInto(name, e)
	if err == nil {
		err = e.check()
	}
	if err != nil {
		return nil, coded(fmt.Errorf("read the ledger's entry %s: %w", l.fsys.URI(name), err))
	}
	return e, nil
}

// IsDamaged reports whether an error says that an entry can't be trusted.
func IsDamaged(err error) bool {
	return errors.Is(err, seal.ErrMismatch) || errors.Is(err, seal.ErrMalformed)
}

// coded gives an error of reading a document the code for its remedy: changed content is a mismatch, another format is
// malformed. Neither is ever taken for a load that did not happen.
func coded(err error) error {
	const remedy = "%w; restore the original, or move the file away: bulkload then no longer knows of this load"
	switch {
	case errors.Is(err, seal.ErrMismatch):
		return errcode.ManifestChanged.Errorf(remedy, err)
	case errors.Is(err, seal.ErrMalformed):
		return errcode.ManifestMalformed.Errorf(remedy, err)
	}
	return err
}

func (l *Ledger) readInto(name string, document any) error {
	f, err := l.fsys.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, int64(maxBytes)+1))
	if err != nil {
		return err
	}
	if len(text) > maxBytes {
		return fmt.Errorf("%w: it has more than %d bytes", seal.ErrMalformed, maxBytes)
	}
	return seal.Unmarshal(text, document)
}

// check refuses an entry that no bulkload can have written.
func (e *Entry) check() error {
	switch {
	case e.Schema != schema:
		return fmt.Errorf("%w: it has schema %d, this program knows %d", seal.ErrMalformed, e.Schema, schema)
	case e.State != Loading && e.State != Loaded:
		return fmt.Errorf("%w: its state is %q", seal.ErrMalformed, e.State)
	}
	return nil
}

// What a load adds to an entry after it has begun: the opening of each file, and a mark for each cell that the table
// had before.
const (
	openingBytes = len(`,"opening":""`) + load.OpeningBytes
	beforeBytes  = len(`,"before":true`)
)

// growth returns how many bytes the rest of a load may add to an entry.
func (e *Entry) growth() (bytes int) {
	if e.State != Loading {
		return 0
	}
	for i := range e.Files {
		f := &e.Files[i]
		bytes += max(0, openingBytes-len(f.Opening))
		for k := range f.Probes {
			if !f.Probes[k].Before {
				bytes += beforeBytes
			}
		}
	}
	return bytes
}

// Write replaces an entry, and entries of the same output whose job had another input, because they no longer describe
// the table. It refuses an entry that is too large to be read, or will be at the end of its load (errcode.FilesLimit).
//
// temps is the caller's folder for temporary files, or "". Whoever takes the turn over moves it away
// (lock.Turn.TempFolder), so a process that was stopped in the middle of this fails, and neither replaces nor deletes a
// newer entry.
func (l *Ledger) Write(e *Entry, temps string) error {
	e.Schema = schema
	name := l.name(e.Key())
	if err := l.write(name, temps, e, e.growth()); err != nil {
		return fmt.Errorf("write the ledger's entry %s: %w", l.fsys.URI(name), err)
	}
	others, err := l.named(e.Key())
	for _, other := range others {
		if other == name {
			continue
		}
		// An entry that can't be read is left, so that Read refuses it.
		if old, err := l.read(other); err == nil && old.Output == e.Output {
			if err := l.remove(other, temps); err != nil {
				return fmt.Errorf("delete the ledger's entry %s: %w", l.fsys.URI(other), err)
			}
		}
	}
	return err
}

// remove deletes an entry, by way of the folder for temporary files.
func (l *Ledger) remove(name, temps string) error {
	if temps != "" {
		temp := path.Join(temps, path.Base(name))
		if err := l.fsys.Replace(name, temp); errors.Is(err, fs.ErrNotExist) { // one of the two is gone
			_, err = l.fsys.Stat(temps)
			return err
		} else if err != nil {
			return err
		}
		name = temp
	}
	return storage.RemoveIfThere(l.fsys, name)
}

// write replaces a document. grows is how many bytes it may still grow.
func (l *Ledger) write(name, temps string, document any, grows int) error {
	text, err := seal.Marshal(document)
	if err != nil {
		return err
	}
	if size := len(text) + 1 + grows; size > maxBytes {
		return errcode.FilesLimit.Errorf("it would have %d bytes, and at most %d are read: use outputs with fewer files",
			size, maxBytes)
	}
	if err := l.MakeFolder(path.Dir(name)); err != nil {
		return err
	}
	temp := path.Join(temps, path.Base(name))
	if temps == "" {
		temp = fmt.Sprintf("%s/.%s.%d", path.Dir(name), path.Base(name), time.Now().UnixNano())
	}
	if err := storage.ReplaceFileAs(l.fsys, name, temp, append(text, '\n'), filePerm); err != nil {
		return errors.Join(err, storage.RemoveIfThere(l.fsys, temp))
	}
	return nil
}

// verification returns the name of the document from which an interrupted verification of an entry continues. It is
// never taken for an entry, because no entry's name begins with a dot.
func (l *Ledger) verification(e *Entry) string {
	dir, name := path.Split(l.name(e.Key()))
	return path.Join(dir, ".verify-"+name)
}

// ReadVerification reads the progress of an interrupted verification of an entry. found is false if it is missing or
// can't be trusted; then the verification begins anew.
func (l *Ledger) ReadVerification(e *Entry, document any) (found bool, err error) {
	name := l.verification(e)
	switch err := l.readInto(name, document); {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, seal.ErrMismatch), errors.Is(err, seal.ErrMalformed):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read the verification %s: %w", l.fsys.URI(name), err)
	}
	return true, nil
}

// WriteVerification records the progress of an entry's verification.
func (l *Ledger) WriteVerification(e *Entry, document any) error {
	name := l.verification(e)
	if err := l.write(name, "", document, 0); err != nil {
		return fmt.Errorf("write the verification %s: %w", l.fsys.URI(name), err)
	}
	return nil
}

// RemoveVerification deletes the record of a verification that has ended.
func (l *Ledger) RemoveVerification(e *Entry) error {
	return storage.RemoveIfThere(l.fsys, l.verification(e))
}

// unservedPrefix begins the names of the documents with a table's unserved files. Entries' names begin with a date.
const unservedPrefix = "unserved-"

func isUnserved(name string) bool {
	return strings.HasPrefix(name, unservedPrefix) && path.Ext(name) == ".json"
}

type unservedDocument struct {
	Schema int        `json:"schema"`
	Files  []Unserved `json:"files"`
}

// Unserved lists the files of a table that HBase accepted but did not serve. over reports whether a file can't appear
// any more. A document is deleted if that holds for all its files.
func (l *Ledger) Unserved(table string, over func(Unserved) bool) (all []Unserved, err error) {
	folder := l.folder(table)
	names, err := storage.List(l.fsys, folder)
	if err != nil {
		return nil, fmt.Errorf("list the ledger's files of table %s: %w", table, err)
	}
	for _, n := range names {
		if n.Dir || !isUnserved(n.Name) {
			continue
		}
		name := path.Join(folder, n.Name)
		var d unservedDocument
		err := l.readInto(name, &d)
		if errors.Is(err, fs.ErrNotExist) {
			continue // another run has just found that its files are over
		}
		if err == nil && d.Schema != schema {
			err = fmt.Errorf("%w: it has schema %d, this program knows %d", seal.ErrMalformed, d.Schema, schema)
		}
		if err != nil {
			return nil, coded(fmt.Errorf("read the ledger's list %s: %w", l.fsys.URI(name), err))
		}
		if d.Files = slices.DeleteFunc(d.Files, over); len(d.Files) == 0 {
			if err := storage.RemoveIfThere(l.fsys, name); err != nil {
				return nil, fmt.Errorf("delete the ledger's list %s: %w", l.fsys.URI(name), err)
			}
		}
		all = append(all, d.Files...)
	}
	return all, nil
}

// AddUnserved records files of a table that HBase accepted but did not serve.
func (l *Ledger) AddUnserved(table string, files []Unserved) error {
	name := path.Join(l.folder(table), unservedPrefix+rand.Text()+".json")
	if err := l.write(name, "", unservedDocument{schema, files}, 0); err != nil {
		return fmt.Errorf("write the ledger's list %s: %w", l.fsys.URI(name), err)
	}
	return nil
}
