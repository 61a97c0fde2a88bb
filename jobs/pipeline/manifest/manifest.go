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
	// CutsDir is in a directory of another tool, which has no manifest: the files that were cut before a load. CutsName is
	// in it during a cut.
	CutsDir  = ".cut"
	CutsName = "_cuts.json"
	// TasksDir has what the tasks of an unfinished run have left, if the run is done by tasks.
	TasksDir = ".tasks"
)

// Schema is the form of a manifest, which says it. A program refuses any other, and leaves the output alone.
//
// A field may be added without a new schema: an older program of this schema ignores it, finds the checksum right all
// the same, since that is of the text, and drops the field with its next Save. So a new field must do no harm if it is
// lost. One whose loss would delete a file, load one twice or leave one out needs a new schema.
const Schema = 1

// The states of a run, in order. From Loading on any file may be in HBase's hands, so a missing one is no damage.
//
// They may go back: to Writing for slices whose files HBase lost (loading/rewrite.go), to Loading for a load that is
// begun again. So the state alone never says that a file is not in the table: Summary.Loaded and LoadedBefore do. A
// state is saved before what it permits is done, and after what it states was proved, so after a kill the next process
// may rely on the one that it finds.
const (
	Writing = "writing"
	Written = "written" // all files exist and are verified
	Loading = "loading" // HBase may have moved some of the files
	Loaded  = "loaded"
)

// Manifest is what a run has done, durably. The file is JSON, one slice a line, sealed by a checksum over its content
// (package seal), and replaced as a whole by a rename.
//
// The manifest decides what exists: a slice is finished if it is in here. A file that is not in here is garbage, even
// if its name and its bytes are right, and is deleted. Therefore a record is added after its files have their names,
// and removed before they are deleted. Only output.Dir.Clean, which deletes a whole output, deletes the files first:
// what is left of them is still named.
//
// The JSON names are frozen, and some are older than the fields' names.
//
// Who writes a field, and who believes it:
//
//   - schema: Resume and Parse set it. Only Parse looks at it.
//   - state: see the states. Resume decides by it whether there is anything to write, loading.OutputLoad.Recover
//     whether files may be in HBase's hands, and retention whether an output may be deleted.
//   - run: written when the run begins. Every file's name follows from the ID, so it never changes while there are
//     files: a run whose input was merely touched takes over the ID that is recorded. Another ID is another run.
//   - job_hash: as run. It is also a part of the ledger's key: with another one, what was loaded would not be found
//     there.
//   - job_parts: as run. They only say in an error what has changed if job_hash differs.
//   - timestamp: as run; 0 if each row has its own. Only Instant reads it, for jobs without a logical date.
//   - site_properties: as run, and again whenever an unfinished run continues. In the state Written a run is refused if
//     they differ.
//   - inputs: path, size and time when the run begins; the contents with the state Written. Resume compares them to
//     find out whether the export was replaced. Without contents, as before the state Written, any touched file counts
//     as changed.
//   - splits, families, max_size, max_files: SetTable, before the first file is written. All records of slices count
//     regions by these splits, so they stay as they are when the table splits later; cuts deal with that. If they are
//     not the table's any more, an unfinished run writes all files again, but keeps its splits once a file is loaded.
//     max_files is 0 for HBase's default.
//   - slices: see Add and Remove. Everything believes them: what is here is not written again, is loaded, and is
//     deleted by name with the output. They say nothing of the bytes on the disk now: those are compared by size when a
//     run resumes, and in full before a load (loading.VerifyBeforeLoad).
//   - books, digest: written with the state Written, from the slices and from what was sorted. Before that they are
//     zero, or those of an earlier writing of the same run. The digest decides whether another load has the same cells.
//   - finished: with the state Written. It is for people: no decision depends on it.
//   - staging: written after HBase has made the folder, before the first request; emptied when a load begins and when
//     it is confirmed. The state Loading without it means that no request was sent since the load began. If it were
//     lost, files in the folder would be missing from their source, and be regarded as lost.
//   - table_identity, and opening of each file: when a load begins, and when it is confirmed. The proof that the files
//     are readable (loading.proof) begins with them: what they don't show to be unchanged since must be shown by cells.
//   - repeated: when a load begins. If it were lost, equal cells of a restored snapshot could count as this run's.
//   - missing: when a load of rows that were loaded before begins (--force), and before slices are written again
//     because the table lacked rows of theirs; until the load is confirmed. If it were lost, rows that a client's
//     delete marker hides could be called loaded.
//   - corrects: when the run begins. If it were lost, the load would be refused, because the ledger names another run;
//     or, where that is the run itself, not all of its rows would be asked for.
//   - cuts: before parts get their names, until the surplus files are deleted (output.FinishCuts). A program of this
//     schema that did not know the field finds files that its manifest does not name, and refuses the output as
//     foreign.
//   - kept: files of slices that are removed from the manifest while the table has them. The write stage asks for them
//     (LoadedTwin), and records such a file as loaded. If it were lost, equal cells would be loaded a second time.
//   - existing: before the first slice is written. While it is there the table is not asked again, since it may have
//     the run's own rows by then. If it were lost, the next run would ask again, and not count cells with the run's own
//     timestamps.
type Manifest struct {
	Schema    int               `json:"schema"`
	State     string            `json:"state"`
	Run       jobfile.RunInfo   `json:"run"`
	JobHash   string            `json:"job_hash"`
	JobParts  map[string]string `json:"job_parts,omitempty"` // see jobfile.Job.Parts
	Source    string            `json:"source,omitempty"`    // where the job looks for its input: see jobfile.Job.Source
	Timestamp int64             `json:"timestamp"`           // of the cells
	Site      map[string]string `json:"site_properties"`     // that decide the files' bytes
	Inputs    []RecordedInput   `json:"inputs"`
	MadeFor                     // splits, families, max_size, max_files
	Slices    []RecordedSlice   `json:"slices"` // finished ones, by region, then in the order of their rows
	Counts    counts.RowCounts  `json:"books"`
	Digest    digest.Sum        `json:"digest"`
	Finished  time.Time         `json:"finished,omitzero"`
	// HBase's folder for a load that has not ended; recorded before the first request
	Staging string `json:"staging,omitempty"`
	// Table is load.Table's Identity at the time of the load.
	Table string `json:"table_identity,omitempty"`
	// Repeated: another load may have put equal cells into the table before this one, so a snapshot may have them.
	Repeated bool `json:"repeated,omitempty"`
	// Missing are ranges in which the table lacked rows of this run when it was asked for all of them, or all its rows if
	// it is loaded once more (--force). The table is asked for them before the load is done.
	Missing []PrintableRange `json:"missing,omitempty"`
	// Corrects is the ID of the run of this job and date that was loaded before, and that this run replaces. It is the
	// run's own if that is loaded once more.
	Corrects string `json:"corrects,omitempty"`
	// Cuts are cuts at new region boundaries in progress. See package cutting for the steps.
	Cuts []Cut `json:"cuts,omitempty"`
	// LoadedBefore are files that the table serves, of slices that are written again for the sake of other files.
	LoadedBefore []hfiles.FileMeta `json:"kept,omitempty"`
	// Existing is what the table had of the run's rows before anything was loaded; nil: the table was not asked.
	Existing *Existing `json:"existing,omitempty"`

	twins twins // of LoadedBefore
}

// New is the manifest of a run of a job that has done nothing yet, and of whose input nothing is known.
func New(j *jobfile.Job) *Manifest {
	return &Manifest{Schema: Schema, State: Writing, Run: j.Info(), JobHash: j.Hash(), JobParts: j.Parts(),
		Source: j.Source(), Timestamp: j.Timestamp}
}

// LedgerKey says which entry of the ledger is that of this run, from an output with a URI.
func (m *Manifest) LedgerKey(output string) ledger.Key {
	return ledger.Key{Table: m.Run.Table, Date: m.Run.Date, JobHash: m.JobHash, Source: m.Source, Output: output}
}

// RecordedSlice is a finished slice of a region.
//
// Region, Slice and the run's ID are in the names of its files, so two records of one slice would share files: Done
// finds one of them, and the other would be loaded with it. check refuses that. Start is compared when an unfinished
// run continues: a slice that would begin at another row now has other entries, and is not mixed with new ones. Digest
// plus Dropped is what was sorted for the slice; all slices of a region together must be what was sorted for the
// region.
//
// The cached text makes Save fast, and is a trap: whoever changes a record other than by marks on its files must set
// text to nil, as ReplaceFiles does. Otherwise Save writes the old one.
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
	marks int    // number of marks of a load in text: on files that are loaded, and on cells that the table had before
}

// WroteNothing reports whether the run is finished and had no row to write.
//
// Such a run may be replaced without --force: an export that was read too early, and was empty, must not block
// the one that has rows.
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
// and the slice, so the next run finds and deletes them (output.Dir.CleanFiles, and Resume). The other order would be
// worse: a run whose manifest names files that don't exist is refused.
func (m *Manifest) Add(finished ...RecordedSlice) {
	m.Slices = append(m.Slices, finished...)
	slices.SortFunc(m.Slices, compareSlices)
}

// Remove removes the slices of regions and returns their files. Those that are loaded stay recorded: if the same file
// is written again, it is not loaded twice.
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
		}
	}
	return files
}

// RemoveAll removes all slices, as Remove does, and returns the manifest as it was. Files that are not loaded become
// cuts without parts, so that they are deleted even if the process is killed: the names of parts don't follow from
// slices.
func (m *Manifest) RemoveAll() (old *Manifest) {
	before := *m
	for _, f := range m.Files() {
		if f.Loaded {
			m.LoadedBefore = append(m.LoadedBefore, *f)
		} else {
			m.Cuts = append(m.Cuts, Cut{Of: f.Path})
		}
	}
	m.Slices = nil
	return &before
}

// HasLoaded reports whether files of the run are recorded as loaded, those included that were to be written again.
func (m *Manifest) HasLoaded() bool {
	return len(m.LoadedBefore) > 0 || len(m.Files().Loaded()) > 0
}

// MayBeLoaded reports whether the table has files of the run, or may have.
func (m *Manifest) MayBeLoaded() bool {
	return m.State == Loading || m.State == Loaded || m.HasLoaded()
}

// Begun reports whether the run has files, or the table may have some of it. One that came to nothing may be replaced
// by any other. A run whose load has begun counts even while it has no files, because all are to be written again.
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
// write it without parts, for a file that is only to be deleted. FinishCuts believes it together with the slices: of a
// cut whose file they list the parts are deleted, of any other the file. So slices that list neither the file nor its
// parts lose rows.
type Cut struct {
	Of    string            `json:"of"` // the file's path
	Parts []hfiles.FileMeta `json:"parts"`
}

// ReplaceFiles replaces files by their parts.
//
// A slice's list of files is replaced by another one: whoever holds pointers into the old list (Files) still sees the
// files that were there. Marks that are set through such a pointer later are lost, so pointers must be taken again
// before a load.
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

// CutNames are the files of cuts in progress that the manifest does not list otherwise.
//
// They may exist or not, depending on when a process was killed. They are the run's own, never foreign, and are deleted
// with its output.
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

// Instant is the timestamp for the files' info, from the job that wrote the output.
func (m *Manifest) Instant() int64 {
	if date, err := jobfile.ParseText(m.Run.Date); err == nil {
		return date.UnixMilli()
	}
	return m.Timestamp
}
