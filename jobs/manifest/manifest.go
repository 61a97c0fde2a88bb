// Package manifest is what a run has done, durably: it makes the same command go on, or do nothing.
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

// The names in an output directory. HBase's loader takes every other folder for a family.
const (
	Name       = "_manifest.json"
	RejectsDir = ".rejects"
)

const (
	Schema           = 4 // of the manifests that are written
	unsealedSchema   = 3 // the last one without a checksum; those of its runs are gone on with
	manifestMaxBytes = 256 << 20
)

// The states of a run, in order.
const (
	Writing = "writing"
	Written = "written" // all files are there and verified
	Loading = "loading" // HBase may have moved some of them away
	Loaded  = "loaded"
)

// Manifest is what a run has done, durably: it makes the same command go on, or do nothing.
type Manifest struct {
	Schema    int               `json:"schema"`
	State     string            `json:"state"`
	Run       jobfile.RunInfo   `json:"run"`
	JobHash   string            `json:"job_hash"`
	Timestamp int64             `json:"timestamp"`       // of the cells
	Site      map[string]string `json:"site_properties"` // that decide bytes of the files
	Inputs    []Input           `json:"inputs"`
	Splits    []string          `json:"splits"` // in the notation of Printable
	Families  map[string]string `json:"families"`
	MaxSize   int64             `json:"max_size"`            // at which a file ends
	MaxFiles  int64             `json:"max_files,omitempty"` // of a region and family, which decides into how many slices regions are cut; 0: HBase's default
	Slices    []Slice           `json:"slices"`              // the finished ones, by region, then in the order of their rows
	Books     books.Books       `json:"books"`
	Digest    digest.Sum        `json:"digest"`
	Finished  time.Time         `json:"finished,omitzero"`
	Staging   string            `json:"staging,omitempty"` // the folder through which an unfinished load goes
	// Table is load.Table's Identity when the files were loaded.
	Table string `json:"table_identity,omitempty"`
	// Cuts are files being cut at new region boundaries.
	Cuts []Cut `json:"cuts,omitempty"`
	// Kept are files that the table serves, of slices that are written again for other files.
	Kept []hfile.Summary `json:"kept,omitempty"`
}

// Input is one input file as it was when the run began.
type Input struct {
	jobfile.InputFile
	// Content is what was read from it; nil until all is read, and where an older bulkload has read it.
	Content *books.Content `json:"content,omitempty"`
}

// Slice is a finished slice of a region.
type Slice struct {
	Region  int             `json:"region"`
	Slice   int             `json:"slice"`
	Start   string          `json:"start"` // its first row, in the notation of Printable; empty: the region's first
	Entries int64           `json:"entries"`
	Books   books.Written   `json:"books"`
	Digest  digest.Sum      `json:"digest"`  // of the files
	Dropped digest.Sum      `json:"dropped"` // of the duplicates that were not written
	Files   []hfile.Summary `json:"files"`

	text  []byte // as it is written, while that is true
	marks int    // of the files, in text: how many are loaded or were served before
}

// Inputs are the input files as a manifest records them, without what they hold.
func Inputs(files []ingest.File) []Input {
	records := make([]Input, len(files))
	for i, f := range jobfile.InputFiles(files) {
		records[i].InputFile = f
	}
	return records
}

// Read is the manifest of an output directory; nil where there is none.
func Read(fsys storage.FS, dir string) (*Manifest, error) {
	name := path.Join(dir, Name)
	text, err := storage.ReadFile(fsys, name, manifestMaxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the manifest: %w", err)
	}
	return Parse(text, fsys.URI(name))
}

// Parse reads the text of a manifest, which is not believed unless its checksum is right.
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
	m.Schema = Schema // as which it is written from here on
	return m, nil
}

// parseUnsealed reads a manifest without a checksum, as bulkload wrote it up to schema 3. unsealed is the error for others.
func (m *Manifest) parseUnsealed(text []byte, unsealed error) error {
	var old struct {
		Schema   int             `json:"schema"`
		Checksum json.RawMessage `json:"checksum"`
	}
	if err := json.Unmarshal(text, &old); err != nil {
		return err
	}
	if old.Checksum != nil || old.Schema == Schema {
		return unsealed
	}
	return json.Unmarshal(text, m)
}

// Save replaces the manifest of an output directory. temps is a folder for files that are being written.
func (m *Manifest) Save(fsys storage.FS, dir, temps string) error {
	text, err := m.Marshal()
	if err == nil {
		err = storage.ReplaceFile(fsys, path.Join(dir, Name), path.Join(temps, Name), append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	return nil
}

// Marshal writes the manifest as sealed JSON.
func (m *Manifest) Marshal() ([]byte, error) {
	text, err := m.MarshalContent()
	if err != nil {
		return nil, err
	}
	return seal.Seal(text)
}

// MarshalContent writes a slice a line. The manifest is saved many times, so the lines of before are kept.
func (m *Manifest) MarshalContent() ([]byte, error) {
	bare := *m
	bare.Slices = nil
	frame, err := json.MarshalIndent(bare, "", "  ")
	if err != nil || len(m.Slices) == 0 {
		return frame, err
	}
	before, after, _ := bytes.Cut(frame, []byte(`"slices": null`)) // within a string the quotes would be escaped
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
	marks := 0 // neither mark is ever taken away
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

// WroteNothing tells whether the run is finished and had no row to write.
func (m *Manifest) WroteNothing() bool {
	return m.State != Writing && m.Books.Written == 0 && len(m.Files()) == 0
}

// Differences says in words what tells this run from another one.
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

// ChangedProperties says which site properties differ from those that the files were made with.
func (m *Manifest) ChangedProperties(other *Manifest) []string {
	var out []string
	for _, name := range site.ByteProperties {
		if was, is := m.Site[name], other.Site[name]; m.Site != nil && was != is {
			out = append(out, fmt.Sprintf("property %s was %q and is %q", name, was, is))
		}
	}
	return out
}

// Planned are the boundaries that the run was given; nil where it was given none yet.
func (m *Manifest) Planned() (*target.Known, error) {
	if m.MaxSize == 0 {
		return nil, nil
	}
	splits, err := m.Boundaries()
	return &target.Known{Splits: splits}, err
}

// Boundaries are the run's splits.
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

// SameTable tells whether the boundaries and the family settings are still those the files were made for.
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

// recordedFiles is the limit of files as it is recorded: not at all where it is HBase's default.
func recordedFiles(limit int64) int64 {
	if limit == load.DefaultMaxFiles {
		return 0
	}
	return limit
}

// Done is the record of a finished slice, nil where it is not.
func (m *Manifest) Done(region, slice int) *Slice {
	i, found := slices.BinarySearchFunc(m.Slices, Slice{Region: region, Slice: slice}, compareSlices)
	if !found {
		return nil
	}
	return &m.Slices[i]
}

// Add records finished slices.
func (m *Manifest) Add(finished ...Slice) {
	m.Slices = append(m.Slices, finished...)
	slices.SortFunc(m.Slices, compareSlices)
}

// Remove takes the slices of a region out, and gives their files. Those that are loaded stay known: where the same file is
// written again, it is not loaded twice.
func (m *Manifest) Remove(region int) (files []hfile.Summary) {
	m.Slices = slices.DeleteFunc(m.Slices, func(r Slice) bool {
		if r.Region == region {
			files = append(files, r.Files...)
		}
		return r.Region == region
	})
	for _, f := range files {
		if f.Loaded {
			m.Kept = append(m.Kept, f)
		}
	}
	return files
}

func compareSlices(a, b Slice) int {
	return cmp.Or(cmp.Compare(a.Region, b.Region), cmp.Compare(a.Slice, b.Slice))
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

// Unloaded lists what HBase does not have yet, as it takes it.
func (m *Manifest) Unloaded(fsys storage.FS, dir string) ([]load.HFile, error) {
	return m.Hfiles(fsys, dir, func(f *hfile.Summary) bool { return !f.Loaded })
}

// Hfiles lists recorded files as HBase takes them.
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

// RegionSums add up, for each of so many regions, what its finished slices hold and have dropped.
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

// Amount says for people how much of a run is finished.
func Amount(files []*hfile.Summary) string {
	var all int64
	for _, f := range files {
		all += f.Bytes
	}
	return fmt.Sprintf("%d files of %s", len(files), bytesize.Format(all))
}

// MostFiles is the family and region of which a finished run has the most files, and how many.
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

// Cut is a cut under way.
type Cut struct {
	Of    string          `json:"of"` // the file's path
	Parts []hfile.Summary `json:"parts"`
}

// ReplaceFile puts the parts of a file in its place.
func (m *Manifest) ReplaceFile(c Cut) {
	for i := range m.Slices {
		r := &m.Slices[i]
		if k := slices.IndexFunc(r.Files, func(f hfile.Summary) bool { return f.Path == c.Of }); k >= 0 {
			r.Files = slices.Replace(slices.Clone(r.Files), k, k+1, c.Parts...)
			r.text = nil
		}
	}
}

// CutNames are the files of cuts under way that the manifest does not list otherwise.
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

// Instant is Job.instant of the job that wrote the output.
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

// LoadedBytes are those of the files that the table has.
func (m *Manifest) LoadedBytes() int64 {
	var n int64
	for _, f := range m.Files() {
		if f.Loaded {
			n += f.Bytes
		}
	}
	return n
}

// KeptAs is the record of a file that the table serves already, nil for another. The same slice gives the same file again.
func (m *Manifest) KeptAs(f *hfile.Summary) *hfile.Summary {
	i := slices.IndexFunc(m.Kept, func(k hfile.Summary) bool {
		return k.Path == f.Path && k.Bytes == f.Bytes && k.Digest == f.Digest
	})
	if i < 0 {
		return nil
	}
	return &m.Kept[i]
}

// SameFile tells whether a file was not even touched.
func (in *Input) SameFile(o *Input) bool {
	return in.Path == o.Path && in.Size == o.Size && in.ModTime == o.ModTime
}
