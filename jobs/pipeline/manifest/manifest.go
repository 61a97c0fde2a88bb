// Package manifest stores what a run has done, durably, so that the same command continues or has nothing to do.
package manifest

import (
	"cmp"
	"slices"
	"time"

	"bulkload/internal/digest"
	"bulkload/jobs/base/counts"
	"bulkload/jobs/env/ledger"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/spec/jobfile"
)

// The names in an output directory. HBase's loader treats every other folder as a family.
const (
	Name       = "_manifest.json"
	RejectsDir = ".rejects"
	// CutsDir has the originals of files that were cut before a load, in a directory of another tool, which has no
	// manifest. CutsName is in it during a cut.
	CutsDir  = ".cut"
	CutsName = "_cuts.json"
	// TasksDir has the results of an unfinished run's tasks, if tasks do the run.
	TasksDir = ".tasks"
)

// Schema is the version of the manifest's form, recorded in it. A program refuses any other, and leaves the output
// alone.
//
// A field may be added without a new schema: an older program of this schema ignores it. It still finds the checksum
// right, which covers the text, but its next Save drops the field. So a new field must do no harm if it is lost. One
// whose loss would delete a file, load one twice or leave one out needs a new schema.
const Schema = 1

// The states of a run, in order. From Loading on, HBase may have moved any file, so a missing one is not damage.
//
// A state may go back: to Writing for slices whose files HBase lost (loading/rewrite.go), to Loading for a load that
// begins again. So the state alone never says that a file is not in the table: FileMeta.Loaded and LoadedBefore do. A
// state is saved before what it permits is done, and after what it states was proved, so after a kill the next process
// may rely on the one that it finds.
const (
	Writing = "writing"
	Written = "written" // all files exist and are verified
	Loading = "loading" // HBase may have moved some of the files
	Loaded  = "loaded"
)

// Manifest is the durable record of what a run has done. The file is JSON, one slice a line, sealed by a checksum over
// its content (package seal), and replaced as a whole by a rename.
//
// The manifest decides what exists: a slice is finished if the manifest has it. A file that the manifest does not name
// is garbage, even if its name and its bytes are right, and is deleted. Therefore a record is added after its files
// have their names, and removed before they are deleted. Only output.Dir.Clean, which deletes a whole output, deletes
// the files first, so that the manifest still names the files that are left.
//
// The JSON names are frozen, and some are older than the fields' names.
//
// Who writes each field, and who relies on it:
//
//   - schema: New sets it. Only Parse looks at it.
//   - state: see the states. Resume decides by it whether there is anything to write, loading.OutputLoad.Recover
//     whether HBase may have moved files, and retention whether an output may be deleted.
//   - run: written when the run begins. Every file's name follows from the ID, so it never changes while there are
//     files: a run whose input was merely touched takes over the recorded ID. Another ID means another run.
//   - job_hash: as run. It is also a part of the ledger's key, so with another hash the entry of what was loaded would
//     not be found.
//   - job_parts: as run. They only let an error name what has changed if job_hash differs.
//   - timestamp: as run; 0 if each row has its own. Only Instant reads it, for jobs without a logical date.
//   - site_properties: as run, and again whenever an unfinished run continues. In the state Written, a run is refused
//     if they differ.
//   - inputs: path, size and time when the run begins; the contents with the state Written. Resume compares them to
//     find out whether the export was replaced. Before the state Written there are no contents, so any touched file
//     counts as changed.
//   - splits, families, max_size, max_files, encoders: SetTable, before the first file is written. All records
//     of slices count regions by these splits, so they stay the same when the table's regions split later: the files
//     are cut then. If they no longer match the table, an unfinished run writes all files again, but keeps its splits
//     once a file is loaded. max_files is 0 for HBase's default.
//   - slices: see Add and Remove. Everything relies on them: a recorded slice is not written again, and its files are
//     loaded, and deleted by name with the output. They don't prove what is on the disk now: files are compared by size
//     when a run resumes, and in full before a load (loading.VerifyBeforeLoad).
//   - books, digest: written with the state Written, from the slices and the sorted rows. Before that they are zero, or
//     were left by an earlier writing of the same run. The digest decides whether another load has the same cells.
//   - finished: with the state Written. It is for people only; no decision depends on it.
//   - staging: written after HBase has made the folder, before the first request; emptied when a load is confirmed, and
//     before HBase is asked to delete the folder. The next load uses a recorded folder again. The state Loading without
//     it means that no file is in such a folder. If it were lost, files in the folder would be missing from their
//     source, and be taken for lost.
//   - table_identity, and opening of each file: when a load begins, and when it is confirmed. The proof that the files
//     are readable (loading.proof) begins with them: a file whose regions they don't show to be unchanged must be
//     proved by its cells.
//   - repeated: when a load begins. If it were lost, equal cells of a restored snapshot could count as this run's.
//   - missing: when a load of rows that were loaded before begins (--force), and before slices are written again
//     because the table lacked some of their rows; kept until the load is confirmed. If it were lost, rows that a
//     client's delete marker hides could be called loaded.
//   - corrects: when the run begins. If it were lost, the load would be refused, because the ledger names another run;
//     or, if that is the run itself, not all of its rows would be looked up.
//   - cuts: before parts get their names, until the surplus files are deleted (output.FinishCuts). A program of this
//     schema that does not know the field finds files that its manifest does not name, and refuses the output because
//     of foreign files.
//   - kept: files of slices that are removed from the manifest while the table has them. The write stage looks them up
//     (LoadedTwin), and records an equal file as loaded. If it were lost, equal cells would be loaded a second time.
//   - rewritten: when files are written again after a load has begun; emptied when the load is confirmed. Add marks
//     cells by it. If it were lost, cells of another load could prove a file that the table lacks, if the process is
//     killed before the next load has asked the table, and a server that hung takes the file in this moment.
//   - existing: before the first slice is written. While it is set, the table is not asked again, because by then it
//     may have the run's own rows. If it were lost, the next run would ask again, and not count cells with the run's
//     own timestamps.
type Manifest struct {
	Schema    int               `json:"schema"`
	State     string            `json:"state"`
	Run       jobfile.RunInfo   `json:"run"`
	JobHash   string            `json:"job_hash"`
	JobParts  map[string]string `json:"job_parts,omitempty"` // see jobfile.Job.Parts
	Source    string            `json:"source,omitempty"`    // where the job looks for its input: see jobfile.Job.Source
	Timestamp int64             `json:"timestamp"`           // of the cells
	Site      map[string]string `json:"site_properties"`     // those that decide the files' bytes
	Inputs    []RecordedInput   `json:"inputs"`
	MadeFor                     // splits, families, max_size, max_files, encoders
	Slices    []RecordedSlice   `json:"slices"` // finished ones, by region and number
	Counts    counts.RowCounts  `json:"books"`
	Digest    digest.Sum        `json:"digest"`
	Finished  time.Time         `json:"finished,omitzero"`
	// Staging is HBase's folder for a load that has not ended, recorded before the first request. It stays recorded while
	// a lost file is written again.
	Staging string `json:"staging,omitempty"`
	// Table is load.Table's Identity at the time of the load.
	Table string `json:"table_identity,omitempty"`
	// Repeated: another load may have put equal cells into the table before this one, so a snapshot may have them.
	Repeated bool `json:"repeated,omitempty"`
	// Missing are ranges in which the table lacked rows of this run when all were looked up, or the range of all its
	// rows if it is loaded once more (--force). Their rows are looked up again before the load is done.
	Missing []PrintableRange `json:"missing,omitempty"`
	// Corrects is the ID of the run of this job and date that was loaded before and that this run replaces: its own ID
	// if it is loaded once more.
	Corrects string `json:"corrects,omitempty"`
	// Cuts are cuts at new region boundaries in progress. See package cutting for the steps.
	Cuts []Cut `json:"cuts,omitempty"`
	// LoadedBefore are files that the table serves, although their slices are written again because of other files.
	LoadedBefore []hfiles.FileMeta `json:"kept,omitempty"`
	// Rewritten are files that are written again after their load has begun. A server that hung may still take a new file
	// by the request for the old one of the same name. Cells that the table had before prove nothing then: see Add.
	Rewritten []hfiles.FileMeta `json:"rewritten,omitempty"`
	// Existing counts the run's rows that the table had before anything was loaded; nil: the table was not asked.
	Existing *Existing `json:"existing,omitempty"`

	twins    twins          // of LoadedBefore
	rewrites map[string]int // indexes in Rewritten by path; nil: it is not built yet
}

// New returns the manifest of a run of a job that has done nothing yet, and whose input is unknown.
func New(j *jobfile.Job) *Manifest {
	return &Manifest{Schema: Schema, State: Writing, Run: j.Info(), JobHash: j.Hash(), JobParts: j.Parts(),
		Source: j.Source(), Timestamp: j.Timestamp}
}

// LedgerKey returns the key of this run's entry in the ledger. output is the output's URI.
func (m *Manifest) LedgerKey(output string) ledger.Key {
	return ledger.Key{Table: m.Run.Table, Date: m.Run.Date, JobHash: m.JobHash, Source: m.Source, Output: output}
}

// RecordedSlice is a finished slice of a region.
//
// Region, Slice and the run's ID are in the names of its files, so two records of one slice would share files: Done
// would find only one of them, but the load would take both. check refuses that. Start is compared when an unfinished
// run continues: a slice that would now begin at another row has other entries, so it is not mixed with new ones.
// Digest plus Dropped is the sum of the slice's sorted rows; all slices of a region together must have the sum of the
// region's sorted rows.
//
// The cached text makes Save fast, but is a trap: whoever changes a record in any way other than marks on its files
// must set text to nil, as ReplaceFiles does. Otherwise Save writes the old record.
type RecordedSlice struct {
	Region  int               `json:"region"`
	Slice   int               `json:"slice"`
	Start   string            `json:"start"` // its first row, in the notation of Printable; empty: the region's first
	Entries int64             `json:"entries"`
	Counts  counts.Written    `json:"books"`
	Digest  digest.Sum        `json:"digest"`  // of the files
	Dropped digest.Sum        `json:"dropped"` // of the duplicates that were dropped
	Files   []hfiles.FileMeta `json:"files"`

	text  []byte // its encoded form, while that is current
	marks int    // number of a load's marks in text: loaded files, and cells that the table had before
}

// Interrupted reports whether a load has begun and has not ended. Then a file that is gone may be in the staging folder
// or, if a region server that hung has gone on with its request, in the table.
func (m *Manifest) Interrupted() bool { return m.State == Loading || m.Staging != "" }

// WroteNothing reports whether the run is finished and had no row to write.
//
// Such a run may be replaced without --force: an export that was read too early, when it was empty, must not block the
// one that has rows.
func (m *Manifest) WroteNothing() bool {
	return m.State != Writing && m.Counts.Written == 0 && len(m.Files()) == 0
}

// Done returns the record of a finished slice; nil if it is not finished.
func (m *Manifest) Done(region, slice int) *RecordedSlice {
	i, found := slices.BinarySearchFunc(m.Slices, RecordedSlice{Region: region, Slice: slice}, compareSlices)
	if !found {
		return nil
	}
	return &m.Slices[i]
}

// Add records finished slices. Its files must have their names.
//
// A kill after the rename and before the next Save leaves files that no record names. Their names follow from the run
// and the slice, so the next run finds and deletes them (output.Dir.CleanFiles, and Resume). The opposite order would
// be worse, because a run whose manifest names files that don't exist is refused.
//
// If a file is written again (Rewritten), Add marks those of its cells which the table may have had before. If the file
// is the same as the one of its name before, these are the cells that were marked. If it has other rows now, because
// the regions are others, these are all of its cells. Without the marks they could prove, until the table is asked,
// that a server took the file. Marks are never removed.
func (m *Manifest) Add(finished ...RecordedSlice) {
	for _, r := range finished {
		for i := range r.Files {
			f := &r.Files[i]
			old := m.rewritten(f.Path)
			switch {
			case old == nil:
			case twinOf(old) == twinOf(f):
				f.Probes = slices.Clone(old.Probes)
			default:
				for k := range f.Probes {
					f.Probes[k].Before = true
				}
			}
		}
	}
	m.Slices = append(m.Slices, finished...)
	slices.SortFunc(m.Slices, compareSlices)
}

// Remove removes the slices of regions and returns their files. Loaded ones stay recorded (LoadedBefore), so that the
// same file is not loaded twice if it is written again.
//
// The caller saves the manifest before it deletes the files (Forget in package output). A kill between the two leaves
// files without a record, as before Add.
func (m *Manifest) Remove(regions []int) (files []hfiles.FileMeta) {
	removed := make(map[int]bool, len(regions))
	for _, region := range regions {
		removed[region] = true
	}
	m.Slices = slices.DeleteFunc(m.Slices, func(r RecordedSlice) bool {
		if removed[r.Region] {
			files = append(files, r.Files...)
		}
		return removed[r.Region]
	})
	for _, f := range files {
		if f.Loaded {
			m.LoadedBefore = append(m.LoadedBefore, f)
		} else {
			m.Rewrite(f)
		}
	}
	return files
}

// RemoveAll removes all slices, as Remove does, and returns the manifest as it was. Files that are not loaded become
// cuts without parts, so that they are deleted even if the process is killed: the names of parts don't follow from
// slices.
func (m *Manifest) RemoveAll() (old *Manifest) {
	before := *m
	before.twins, before.rewrites = twins{}, nil // an index belongs to one manifest
	before.Rewritten = slices.Clone(m.Rewritten)
	for _, f := range m.Files() {
		if f.Loaded {
			m.LoadedBefore = append(m.LoadedBefore, *f)
		} else {
			m.Cuts = append(m.Cuts, Cut{Of: f.Path})
			m.Rewrite(*f)
		}
	}
	m.Slices = nil
	return &before
}

// HasLoaded reports whether files of the run are recorded as loaded, including those whose slices were to be written
// again.
func (m *Manifest) HasLoaded() bool {
	return len(m.LoadedBefore) > 0 || len(m.Files().Loaded()) > 0
}

// MayBeLoaded reports whether the table has files of the run, or may have.
func (m *Manifest) MayBeLoaded() bool {
	return m.Interrupted() || m.State == Loaded || m.HasLoaded()
}

// Begun reports whether the run has files, or the table may have some of them. A run that has not begun may be replaced
// by any other. A run whose load has begun counts even while it has no files because all must be written again.
func (m *Manifest) Begun() bool {
	return m.State != Writing || len(m.Slices) > 0 || m.Table != "" || m.MayBeLoaded()
}

func compareSlices(a, b RecordedSlice) int {
	return cmp.Or(cmp.Compare(a.Region, b.Region), cmp.Compare(a.Slice, b.Slice))
}

// RegionSums adds up, for each region, what its finished slices contain and have dropped.
func RegionSums(all []RecordedSlice, regions int) []digest.Sum {
	sums := make([]digest.Sum, regions)
	for i := range all {
		if r := &all[i]; r.Region < regions {
			sums[r.Region].Add(r.Digest)
			sums[r.Region].Add(r.Dropped)
		}
	}
	return sums
}

// Cut is a cut in progress.
//
// Package cutting writes it before the parts have their names. RemoveAll, and OutputLoad.rewrite of package loading,
// write it without parts, for a file that is only to be deleted. FinishCuts relies on it together with the slices: if
// they list the file of a cut, it deletes the parts, and otherwise the file. So if the slices list neither the file nor
// its parts, rows are lost.
type Cut struct {
	Of    string            `json:"of"` // the file's path
	Parts []hfiles.FileMeta `json:"parts"`
}

// ReplaceFiles replaces files by their parts.
//
// It replaces a slice's list of files by another one, so pointers into the old list (Files) still show the old files.
// Marks that are set through such a pointer later are lost, so pointers must be taken again before a load.
func (m *Manifest) ReplaceFiles(cuts []Cut) {
	parts := make(map[string][]hfiles.FileMeta, len(cuts))
	for _, c := range cuts {
		parts[c.Of] = c.Parts
	}
	for i := range m.Slices {
		r := &m.Slices[i]
		if !slices.ContainsFunc(r.Files, func(f hfiles.FileMeta) bool { return parts[f.Path] != nil }) {
			continue
		}
		var files []hfiles.FileMeta
		for _, f := range r.Files {
			if p := parts[f.Path]; p != nil {
				files = append(files, p...)
			} else {
				files = append(files, f)
			}
		}
		r.Files, r.text = files, nil
	}
}

// CutNames returns the files of cuts in progress that the manifest does not list otherwise.
//
// Whether they exist depends on when a process was killed. They are the run's own, never foreign, and are deleted with
// its output.
func (m *Manifest) CutNames() []string {
	known := map[string]bool{}
	for _, f := range m.Files() {
		known[f.Path] = true
	}
	var names []string
	for _, c := range m.Cuts {
		names = append(names, c.Of)
		for _, p := range c.Parts {
			names = append(names, p.Path)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return known[name] })
}

// Instant returns the timestamp for the files' info, from the job that wrote the output.
func (m *Manifest) Instant() int64 {
	if date, err := jobfile.ParseText(m.Run.Date); err == nil {
		return date.UnixMilli()
	}
	return m.Timestamp
}
