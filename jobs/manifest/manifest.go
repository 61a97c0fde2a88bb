// Package manifest stores what a run has done, durably, so that the same command continues or has nothing to do.
package manifest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"time"

	"bulkload/ingest"
	"bulkload/internal/bytesize"
	"bulkload/internal/digest"
	"bulkload/internal/errcode"
	"bulkload/internal/printable"
	"bulkload/internal/seal"
	"bulkload/internal/storage"
	"bulkload/jobs/books"
	"bulkload/jobs/hfile"
	"bulkload/jobs/jobfile"
	"bulkload/jobs/site"
	"bulkload/jobs/target"
	"bulkload/load"
)

// The names in an output directory. HBase's loader treats every other folder as a family.
const (
	Name       = "_manifest.json"
	RejectsDir = ".rejects"
	// ExistingDir has the keys of rows that the table had already, and that are left out.
	ExistingDir = ".existing"
	// CutsDir is in a directory of another tool, which has no manifest: the files that were cut before a load. CutsName is in it
	// during a cut.
	CutsDir  = ".cut"
	CutsName = "_cuts.json"
	// TasksDir has what the tasks of an unfinished run have left, if the run is done by tasks.
	TasksDir = ".tasks"
)

// A manifest says which form it has. A program refuses a schema that it does not know, and leaves the output alone.
//
// A field may be added without a new schema: an older program of this schema ignores it, finds the checksum right all the
// same, since that is of the text, and drops the field with its next Save. So a new field must do no harm if it is lost.
// One whose loss would delete a file, load one twice or leave one out needs a new schema.
const (
	Schema         = 4 // of the manifests that are written
	unsealedSchema = 3 // the last one without a checksum; its runs can be continued
)

// maxBytes bounds a manifest that is read or written. Only tests change it.
var maxBytes int64 = 256 << 20

// The states of a run, in order. From Loading on any file may be in HBase's hands, so a missing one is no damage.
//
// They may go back: to Writing for slices whose files HBase lost (loading/rewrite.go), to Loading for a load that is begun
// again. So the state alone never says that a file is not in the table: Summary.Loaded and LoadedBefore do. A state is
// saved before what it permits is done, and after what it states was proved, so after a kill the next process may rely on
// the one that it finds.
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
// if its name and its bytes are right, and is deleted. Therefore a record is
// added after its files have their names, and removed before they are deleted. Only Dir.Clean, which deletes a whole
// output, deletes the files first: what is left of them is still named.
//
// The JSON names are frozen, and some are older than the fields' names.
//
// Who writes a field, and who believes it:
//
//   - schema: Resume and Parse set it. Only Parse looks at it.
//   - state: see the states. Resume decides by it whether there is anything to write, Turn.Recover (loading) whether files may be
//     in HBase's hands, and retention whether an output may be deleted.
//   - run: written when the run begins. Every file's name follows from the ID, so it never changes while there are files: a
//     run whose input was merely touched takes over the ID that is recorded. Another ID is another run.
//   - job_hash: as run. It is also a part of the ledger's key: with another one, what was loaded would not be found there.
//   - timestamp: as run; 0 if each row has its own. Only Instant reads it, for jobs without a logical date.
//   - site_properties: as run, and again whenever an unfinished run continues. In the state Written a run is refused if
//     they differ. null, in a manifest of an older program, means unknown and differs from nothing.
//   - inputs: path, size and time when the run begins; the contents with the state Written. Resume compares them
//     to find out whether the export was replaced. Without contents (a program of this schema that did not know them drops
//     them) any touched file counts as changed.
//   - splits, families, max_size, max_files: SetTable, before the first file is written. All records of slices count
//     regions by these splits, so they stay as they are when the table splits later; cuts deal with that. If they are not
//     the table's any more, an unfinished run writes all files again, but keeps its splits once a file is loaded.
//     max_files is 0 in manifests of programs that did not know it: right if the limit is HBase's default; otherwise an
//     unfinished run writes all files again.
//   - slices: see Add and Remove. Everything believes them: what is here is not written again, is loaded, and is deleted
//     by name with the output. They say nothing of the bytes on the disk now: those are compared by size when a
//     run resumes, and in full before a load (loading.VerifyBeforeLoad).
//   - books, digest: written with the state Written, from the slices and from what was sorted. Before that they are zero, or
//     those of an earlier writing of the same run. The digest decides whether another load has the same cells.
//   - finished: with the state Written. It is for people: no decision depends on it.
//   - staging: written after HBase has made the folder, before the first request; emptied when a load begins and when it is
//     confirmed. The state Loading without it means that no request was sent since the load began. If it were lost, files
//     in the folder would be missing from their source, and be regarded as lost.
//   - table_identity: when a load begins, and when it is confirmed. While it is the table's, fewer files
//     are probed, and files that the table does not serve are written again; otherwise that is for a person to decide.
//   - cuts: before parts get their names, until the surplus files are deleted (output.FinishCuts). A program of this schema
//     that did not know the field finds files that its manifest does not name, and refuses the output as foreign.
//   - kept: files of slices that are removed from the manifest while the table has them. The write stage asks for them
//     (LoadedTwin), and records such a file as loaded. If it were lost, equal cells would be loaded a second time.
//   - existing: after the files of keys that it names are in their folder, before the first slice is written. The write stage
//     leaves out those keys. While it is there the table is not asked again, since it may have the run's own rows by then. If
//     it were lost, the next run would ask again, and not count cells with the run's own timestamps.
type Manifest struct {
	Schema    int               `json:"schema"`
	State     string            `json:"state"`
	Run       jobfile.RunInfo   `json:"run"`
	JobHash   string            `json:"job_hash"`
	Timestamp int64             `json:"timestamp"`       // of the cells
	Site      map[string]string `json:"site_properties"` // that decide the files' bytes
	Inputs    []Input           `json:"inputs"`
	Splits    []string          `json:"splits"` // in the notation of Printable
	Families  map[string]string `json:"families"`
	MaxSize   int64             `json:"max_size"`            // at which a file ends, in bytes
	MaxFiles  int64             `json:"max_files,omitempty"` // of a region and family, which limits the slices of a region; 0: HBase's default
	Slices    []Slice           `json:"slices"`              // finished ones, by region, then in the order of their rows
	Books     books.Books       `json:"books"`
	Digest    digest.Sum        `json:"digest"`
	Finished  time.Time         `json:"finished,omitzero"`
	Staging   string            `json:"staging,omitempty"` // HBase's folder for a load that has not ended; recorded before the first request
	// Table is load.Table's Identity at the time of the load.
	Table string `json:"table_identity,omitempty"`
	// Cuts are cuts at new region boundaries in progress. See loading/cut.go for the steps.
	Cuts []Cut `json:"cuts,omitempty"`
	// LoadedBefore are files that the table serves, of slices that are written again for the sake of other files.
	LoadedBefore []hfile.Summary `json:"kept,omitempty"`
	// Existing is what the table had of the run's rows before anything was loaded; nil: the table was not asked.
	Existing *Existing `json:"existing,omitempty"`

	twins   map[twin]int // the indexes of LoadedBefore; of equal files, of the first
	indexed int          // how many files of LoadedBefore they cover
}

// twin is what equal files have in common, see LoadedTwin.
type twin struct {
	path   string
	bytes  int64
	digest digest.Sum
}

func twinOf(f *hfile.Summary) twin { return twin{f.Path, f.Bytes, f.Digest} }

// Input is one input file as it was at the run's start.
//
// Size and time decide only whether a file has to be read again for the comparison: a copy changes the time and nothing
// else. Content decides whether it has changed.
type Input struct {
	jobfile.InputFile
	// Content is what was read from the file; nil until all input is read, and if an older bulkload has read it. nil never
	// counts as equal to anything.
	Content *books.Content `json:"content,omitempty"`
}

// Slice is a finished slice of a region.
//
// Region, Slice and the run's ID are in the names of its files, so two records of one slice would share files: Done finds
// one of them, and the other would be loaded with it. check refuses that. Start is compared when an unfinished run
// continues: a slice that would begin at another row now has other entries, and is not mixed with new ones. Digest plus
// Dropped is what was sorted for the slice; all slices of a region together must be what was sorted for the region.
//
// The cached text makes Save fast, and is a trap: whoever changes a record other than by marks on its files must set text
// to nil, as ReplaceFiles does. Otherwise Save writes the old one.
type Slice struct {
	Region  int             `json:"region"`
	Slice   int             `json:"slice"`
	Start   string          `json:"start"` // its first row, in the notation of Printable; empty: the region's first
	Entries int64           `json:"entries"`
	Books   books.Written   `json:"books"`
	Digest  digest.Sum      `json:"digest"`  // of the files
	Dropped digest.Sum      `json:"dropped"` // of the duplicates that were dropped
	Files   []hfile.Summary `json:"files"`

	text  []byte // its encoded form, while that is current
	marks int    // number of marks on its files in text: loaded, or served before
}

// Inputs returns the input files as a manifest records them, without their content.
func Inputs(files []ingest.File) []Input {
	records := make([]Input, len(files))
	for i, f := range jobfile.InputFiles(files) {
		records[i].InputFile = f
	}
	return records
}

// Read reads the manifest of an output directory; nil if there is none.
//
// Only fs.ErrNotExist is "none". Any other error must end the command: a run that treated an unreadable manifest as none
// would call its files foreign, or write and load them a second time.
func Read(fsys storage.FS, dir string) (*Manifest, error) {
	name := path.Join(dir, Name)
	text, err := storage.ReadFile(fsys, name, maxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the manifest: %w", err)
	}
	return Parse(text, fsys.URI(name))
}

// Parse parses the text of a manifest. Nothing in it is used unless its checksum is right.
func Parse(text []byte, name string) (*Manifest, error) {
	m := new(Manifest)
	err := seal.Unmarshal(text, m)
	if errors.Is(err, seal.ErrUnsealed) {
		err = m.parseUnsealed(text, err)
	}
	switch {
	case errors.Is(err, seal.ErrMismatch):
		return nil, errcode.ManifestChanged.Errorf("the manifest %s was changed after it was written (%w), so it is not used: restore the original, or move the directory away",
			name, err)
	case err != nil:
		return nil, errcode.ManifestMalformed.Errorf("%s is not a manifest of bulkload (%w); move the directory away or choose another output", name, err)
	case m.Schema != Schema && m.Schema != unsealedSchema:
		return nil, errcode.ManifestVersion.Errorf("%s has schema %d, this bulkload knows %d; finish or remove that run with the bulkload that began it",
			name, m.Schema, Schema)
	}
	if err := m.check(); err != nil {
		return nil, errcode.ManifestMalformed.Errorf("the manifest %s contradicts itself: %w; restore the original, or move the directory away", name, err)
	}
	// Only in memory: a command that saves nothing leaves a manifest of the older schema as it is.
	m.Schema = Schema // it is written in this schema from here on
	return m, nil
}

// parseUnsealed parses a manifest without a checksum, as bulkload wrote it up to schema 3. unsealed is the error for
// other manifests.
func (m *Manifest) parseUnsealed(text []byte, unsealed error) error {
	var old struct {
		Schema   int             `json:"schema"`
		Checksum json.RawMessage `json:"checksum"`
	}
	if err := json.Unmarshal(text, &old); err != nil {
		return err
	}
	// A manifest whose seal was cut off is not an old one: otherwise a changed one would pass if only its last line were deleted.
	if old.Checksum != nil || old.Schema == Schema {
		return unsealed
	}
	return json.Unmarshal(text, m)
}

// Save replaces the manifest of an output directory. temps is a folder for files that are being written.
//
// A kill leaves the old manifest or the new one, never half of one: the text is completely written in temps first, and the
// rename is one step. The file system is the lock's (dirlock.Guarded): after the lock is lost, the rename is refused, and
// what was saved belongs to the new owner. What an error leaves on the disk may be either, so the caller must stop. A manifest
// that no command could read is not written.
func (m *Manifest) Save(fsys storage.FS, dir, temps string) error {
	text, err := m.Marshal()
	if err == nil {
		err = tooLarge(int64(len(text)) + 1)
	}
	if err == nil {
		err = storage.ReplaceFile(fsys, path.Join(dir, Name), path.Join(temps, Name), append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	return nil
}

// tooLarge is an error if a manifest of so many bytes can't be read.
func tooLarge(size int64) error {
	if size <= maxBytes {
		return nil
	}
	return errcode.ManifestSize.Errorf("the run's manifest would have at least %s, and at most %s are read: read fewer input files at a time, raise hfile.max_size for fewer files, or use fewer regions",
		bytesize.Format(size), bytesize.Format(maxBytes))
}

// CheckSize refuses a run whose manifest will be too large to be read, so that this is found before its files are written:
// with so many slices, and files of all families together, it has at least the bytes of its smallest records.
func (m *Manifest) CheckSize(sliced, files int64) error {
	frame := *m
	frame.Slices = nil
	text, err := frame.Marshal()
	if err != nil {
		return err
	}
	content, err1 := json.Marshal(books.Content{})
	slice, err2 := json.Marshal(Slice{})
	file, err3 := json.Marshal(hfile.Summary{Path: "f/" + hfile.Name("", 0, 0, "f", 0), Family: "f", Probes: make([]hfile.Cell, 1)})
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	size := int64(len(text)) + sliced*int64(len(slice)) + files*int64(len(file))
	for i := range m.Inputs {
		if m.Inputs[i].Content == nil {
			size += int64(len(content))
		}
	}
	return tooLarge(size)
}

// Marshal encodes the manifest as sealed JSON.
func (m *Manifest) Marshal() ([]byte, error) {
	text, err := m.MarshalContent()
	if err != nil {
		return nil, err
	}
	return seal.Seal(text)
}

// MarshalContent encodes a slice a line. The manifest is saved with each slice, so the encoded form of the others is
// reused.
func (m *Manifest) MarshalContent() ([]byte, error) {
	bare := *m
	bare.Slices = nil
	frame, err := json.MarshalIndent(bare, "", "  ")
	if err != nil || len(m.Slices) == 0 {
		return frame, err
	}
	// The first place with these bytes is the field itself: within a string the quotes would be escaped, and no field before
	// it is an object with a null "slices". A field that is added before it must keep to that.
	before, after, _ := bytes.Cut(frame, []byte(`"slices": null`))
	text := append(bytes.Clone(before), `"slices": [`...)
	for i := range m.Slices {
		line, err := m.Slices[i].marshal()
		if err != nil {
			return nil, err
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(text, "\n    "...), line...)
	}
	return append(append(text, "\n  ]"...), after...), nil
}

func (r *Slice) marshal() (text []byte, err error) {
	marks := 0 // marks are never removed, so their number reports whether text is current
	for i := range r.Files {
		if r.Files[i].Loaded {
			marks++
		}
		if r.Files[i].ServedBefore {
			marks++
		}
	}
	if r.text == nil || r.marks != marks {
		r.marks = marks
		r.text, err = json.Marshal(r)
	}
	return r.text, err
}

// WroteNothing reports whether the run is finished and had no row to write.
//
// Such a run may be replaced without --force: an export that was read too early, and was empty, must not block
// the one that has rows.
func (m *Manifest) WroteNothing() bool {
	return m.State != Writing && m.Books.Written == 0 && len(m.Files()) == 0
}

// Differences describes how this run differs from another one.
func (m *Manifest) Differences(other *Manifest) []string {
	var out []string
	if m.Run.Date != other.Run.Date {
		out = append(out, fmt.Sprintf("its logical date is %q, not %q", m.Run.Date, other.Run.Date))
	}
	if m.Run.Table != other.Run.Table {
		out = append(out, fmt.Sprintf("its table is %s, not %s", m.Run.Table, other.Run.Table))
	} else if m.JobHash != other.JobHash {
		out = append(out, "the job file says something else now")
	}
	return append(out, m.inputDifferences(other)...)
}

func inputsByPath(inputs []Input) map[string]*Input {
	all := make(map[string]*Input, len(inputs))
	for i := range inputs {
		all[inputs[i].Path] = &inputs[i]
	}
	return all
}

// ChangedProperties lists the site properties that differ from those the files were made with.
func (m *Manifest) ChangedProperties(other *Manifest) []string {
	var out []string
	for _, name := range site.ByteProperties {
		if was, is := m.Site[name], other.Site[name]; m.Site != nil && was != is {
			out = append(out, fmt.Sprintf("property %s was %q and is %q", name, was, is))
		}
	}
	return out
}

// Planned returns the boundaries that the run was given; nil if it was given none yet.
func (m *Manifest) Planned() (*target.LiveTable, error) {
	if m.MaxSize == 0 {
		return nil, nil
	}
	// Written by SetTable, perhaps by a process that was killed before its first slice: planning boundaries may mean reading
	// all of the input, so they are kept.
	splits, err := m.Boundaries()
	return &target.LiveTable{Splits: splits}, err
}

// Boundaries are the run's region boundaries.
func (m *Manifest) Boundaries() (splits [][]byte, err error) {
	for _, text := range m.Splits {
		split, err := printable.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("take region boundaries from the manifest: %w", err)
		}
		splits = append(splits, split)
	}
	return splits, nil
}

// SameTable reports whether the boundaries and the family settings are still those that the files were made for.
//
// The settings are compared as texts, in full: files with other settings would be valid HFiles, and the table would have
// two kinds. Splits are compared though each file could be cut, because slices and counts are by these regions.
func (m *Manifest) SameTable(t *target.Target) bool {
	if m.MaxSize != t.MaxSize || m.MaxFiles != recordedFiles(t.MaxFiles) || len(m.Families) != len(t.Families) || !slices.Equal(m.Splits, printable.All(t.Splits)) {
		return false
	}
	for _, f := range t.Families {
		if m.Families[f.Name] != jobfile.SettingsText(f.Settings) {
			return false
		}
	}
	return true
}

// SetTable records the boundaries and the settings that the files are made for.
func (m *Manifest) SetTable(t *target.Target) {
	m.Splits, m.MaxSize, m.MaxFiles = printable.All(t.Splits), t.MaxSize, recordedFiles(t.MaxFiles)
	m.Families = map[string]string{}
	for _, f := range t.Families {
		m.Families[f.Name] = jobfile.SettingsText(f.Settings)
	}
}

// recordedFiles is the recorded form of the limit of files: 0 for HBase's default.
func recordedFiles(limit int64) int64 {
	if limit == load.DefaultMaxFiles {
		return 0
	}
	return limit
}

// Done returns the record of a finished slice; nil if it is not finished.
func (m *Manifest) Done(region, slice int) *Slice {
	i, found := slices.BinarySearchFunc(m.Slices, Slice{Region: region, Slice: slice}, compareSlices)
	if !found {
		return nil
	}
	return &m.Slices[i]
}

// Add records finished slices. Its files must have their names.
//
// A kill after the rename and before the next Save leaves files that no record names. Their names follow from the run and
// the slice, so the next run finds and deletes them (output.RemoveUnrecorded). The other order would be worse: a run
// whose manifest names files that don't exist is refused.
func (m *Manifest) Add(finished ...Slice) {
	m.Slices = append(m.Slices, finished...)
	slices.SortFunc(m.Slices, compareSlices)
}

// Remove removes the slices of regions and returns their files. Those that are loaded stay recorded: if the same
// file is written again, it is not loaded twice.
//
// The caller saves the manifest before it deletes the files (output.forget). A kill between the two leaves files without a
// record, as before Add.
func (m *Manifest) Remove(regions []int) (files []hfile.Summary) {
	removed := make(map[int]bool, len(regions))
	for _, region := range regions {
		removed[region] = true
	}
	m.Slices = slices.DeleteFunc(m.Slices, func(r Slice) bool {
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

// RemoveAll removes all slices, as Remove does, and returns the run as it was. Files that are not loaded become cuts without
// parts, so that they are deleted even if the process is killed: names of parts don't follow from slices.
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

func compareSlices(a, b Slice) int {
	return cmp.Or(cmp.Compare(a.Region, b.Region), cmp.Compare(a.Slice, b.Slice))
}

// MayBeLoaded reports whether the table has files of the run, or may have.
func (m *Manifest) MayBeLoaded() bool {
	return m.State == Loading || m.State == Loaded || len(m.LoadedBefore) > 0 ||
		slices.ContainsFunc(m.Files(), func(f *hfile.Summary) bool { return f.Loaded })
}

// Files lists all files of the run.
func (m *Manifest) Files() []*hfile.Summary {
	var out []*hfile.Summary
	for i := range m.Slices {
		for k := range m.Slices[i].Files {
			out = append(out, &m.Slices[i].Files[k])
		}
	}
	return out
}

// Unloaded lists the files that are not loaded, in the form for load.
func (m *Manifest) Unloaded(fsys storage.FS, dir string) ([]load.HFile, error) {
	return m.Hfiles(fsys, dir, func(f *hfile.Summary) bool { return !f.Loaded })
}

// Hfiles lists recorded files in the form for load.
func (m *Manifest) Hfiles(fsys storage.FS, dir string, wanted func(*hfile.Summary) bool) ([]load.HFile, error) {
	var out []load.HFile
	for _, f := range m.Files() {
		if !wanted(f) {
			continue
		}
		h, err := f.Loadable()
		if err != nil {
			return nil, fmt.Errorf("read the manifest: %w", err)
		}
		h.URI = fsys.URI(path.Join(dir, f.Path))
		out = append(out, h)
	}
	return out, nil
}

// RegionSums adds up, for each region, what its finished slices contain and have dropped.
func RegionSums(all []Slice, regions int) []digest.Sum {
	sums := make([]digest.Sum, regions)
	for i := range all {
		if r := &all[i]; r.Region < regions {
			sums[r.Region].Add(r.Digest)
			sums[r.Region].Add(r.Dropped)
		}
	}
	return sums
}

// Amount describes how much of a run is finished.
func Amount(files []*hfile.Summary) string {
	var all int64
	for _, f := range files {
		all += f.Bytes
	}
	return fmt.Sprintf("%d files of %s", len(files), bytesize.Format(all))
}

// MostFiles returns the family and region with the most files of a finished run, and their number.
func (m *Manifest) MostFiles() (family string, region int, n int64) {
	type place struct {
		family string
		region int
	}
	counts := map[place]int64{}
	for _, f := range m.Files() {
		at := place{f.Family, f.Region}
		counts[at]++
		if counts[at] > n {
			family, region, n = f.Family, f.Region, counts[at]
		}
	}
	return family, region, n
}

// Cut is a cut in progress.
//
// It is written by loading (outputCuts), before the parts have their names, and by its dropLost, without parts, for a file
// that is only to be deleted. FinishCuts believes it together with the slices: of a cut whose file they list the parts are
// deleted, of any other the file. So slices that list neither the file nor its parts lose rows.
type Cut struct {
	Of    string          `json:"of"` // the file's path
	Parts []hfile.Summary `json:"parts"`
}

// ReplaceFiles replaces files by their parts.
//
// A slice's list of files is replaced by another one: whoever holds pointers into the old list (Files) still sees the files
// that were there. Marks that are set through such a pointer later are lost, so pointers must be taken again before a load.
func (m *Manifest) ReplaceFiles(cuts []Cut) {
	parts := make(map[string][]hfile.Summary, len(cuts))
	for _, c := range cuts {
		parts[c.Of] = c.Parts
	}
	for i := range m.Slices {
		r := &m.Slices[i]
		if !slices.ContainsFunc(r.Files, func(f hfile.Summary) bool { return parts[f.Path] != nil }) {
			continue
		}
		var files []hfile.Summary
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

// NotLoaded lists the recorded files that the table does not have.
func (m *Manifest) NotLoaded() []string {
	var names []string
	for _, f := range m.Files() {
		if !f.Loaded {
			names = append(names, f.Path)
		}
	}
	return names
}

// LoadedBytes is the size of the files that the table has.
func (m *Manifest) LoadedBytes() int64 {
	var n int64
	for _, f := range m.Files() {
		if f.Loaded {
			n += f.Bytes
		}
	}
	return n
}

// LoadedTwin is the record of an equal file that the table already serves; nil if there is none. The same slice gives
// the same file again.
//
// All three must be equal. The path alone is not enough: the files of a run have the same names whatever settings they are
// written with, and a file with other bytes was not loaded.
func (m *Manifest) LoadedTwin(f *hfile.Summary) *hfile.Summary {
	if len(m.LoadedBefore) != m.indexed {
		m.indexLoaded()
	}
	i, found := m.twins[twinOf(f)]
	if !found {
		return nil
	}
	return &m.LoadedBefore[i]
}

// indexLoaded fills twins. Files are only ever added to LoadedBefore, so their number tells whether it is complete.
func (m *Manifest) indexLoaded() {
	m.twins, m.indexed = make(map[twin]int, len(m.LoadedBefore)), len(m.LoadedBefore)
	for i := range slices.Backward(m.LoadedBefore) { // of equal files, the first one is the last to be put
		m.twins[twinOf(&m.LoadedBefore[i])] = i
	}
}

// SameFile reports whether a file was not even touched.
func (in *Input) SameFile(o *Input) bool {
	return in.Path == o.Path && in.Size == o.Size && in.ModTime == o.ModTime
}
