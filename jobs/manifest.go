package jobs

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
	"bulkload/internal/printable"
	"bulkload/internal/seal"
	"bulkload/internal/storage"
	"bulkload/jobs/books"
	"bulkload/jobs/failure"
	"bulkload/jobs/jobfile"
	"bulkload/load"
)

// The names in an output directory. HBase's loader takes every other folder for a family.
const (
	manifestName = "_manifest.json"
	successName  = "_SUCCESS"
	tempDir      = ".tmp"
	rejectsDir   = ".rejects"
)

const (
	manifestSchema   = 4
	unsealedSchema   = 3 // the last one without a checksum; those of its runs are gone on with
	manifestMaxBytes = 256 << 20
)

// The states of a run, in order.
const (
	stateWriting = "writing"
	stateWritten = "written" // all files are there and verified
	stateLoading = "loading" // HBase may have moved some of them away
	stateLoaded  = "loaded"
)

// manifest is what a run has done, durably: it makes the same command go on, or do nothing.
type manifest struct {
	Schema    int               `json:"schema"`
	State     string            `json:"state"`
	Run       jobfile.RunInfo   `json:"run"`
	JobHash   string            `json:"job_hash"`
	Timestamp int64             `json:"timestamp"`       // of the cells
	Site      map[string]string `json:"site_properties"` // that decide bytes of the files
	Inputs    []manifestInput   `json:"inputs"`
	Splits    []string          `json:"splits"` // in the notation of Printable
	Families  map[string]string `json:"families"`
	MaxSize   int64             `json:"max_size"`            // at which a file ends
	MaxFiles  int64             `json:"max_files,omitempty"` // of a region and family, which decides into how many slices regions are cut; 0: HBase's default
	Slices    []sliceRecord     `json:"slices"`              // the finished ones, by region, then in the order of their rows
	Books     books.Books       `json:"books"`
	Digest    digest.Sum        `json:"digest"`
	Finished  time.Time         `json:"finished,omitzero"`
	Staging   string            `json:"staging,omitempty"` // the folder through which an unfinished load goes
	// Table is load.Table's Identity when the files were loaded.
	Table string `json:"table_identity,omitempty"`
	// Cuts are files being cut at new region boundaries.
	Cuts []cutRecord `json:"cuts,omitempty"`
	// Kept are files that the table serves, of slices that are written again for other files.
	Kept []FileSummary `json:"kept,omitempty"`
}

// manifestInput is one input file as it was when the run began.
type manifestInput struct {
	jobfile.InputFile
	// Content is what was read from it; nil until all is read, and where an older bulkload has read it.
	Content *books.Content `json:"content,omitempty"`
}

// sliceRecord is a finished slice of a region.
type sliceRecord struct {
	Region  int           `json:"region"`
	Slice   int           `json:"slice"`
	Start   string        `json:"start"` // its first row, in the notation of Printable; empty: the region's first
	Entries int64         `json:"entries"`
	Books   books.Written `json:"books"`
	Digest  digest.Sum    `json:"digest"`  // of the files
	Dropped digest.Sum    `json:"dropped"` // of the duplicates that were not written
	Files   []FileSummary `json:"files"`

	text  []byte // as it is written, while that is true
	marks int    // of the files, in text: how many are loaded or were served before
}

func inputRecords(files []ingest.File) []manifestInput {
	records := make([]manifestInput, len(files))
	for i, f := range jobfile.InputFiles(files) {
		records[i].InputFile = f
	}
	return records
}

// readManifest is the manifest of an output directory; nil where there is none.
func readManifest(fsys storage.FS, dir string) (*manifest, error) {
	name := path.Join(dir, manifestName)
	text, err := storage.ReadFile(fsys, name, manifestMaxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the manifest: %w", err)
	}
	return parseManifest(text, fsys.URI(name))
}

// parseManifest reads the text of a manifest, which is not believed unless its checksum is right.
func parseManifest(text []byte, name string) (*manifest, error) {
	m := new(manifest)
	err := seal.Unmarshal(text, m)
	if errors.Is(err, seal.ErrUnsealed) {
		err = m.parseUnsealed(text, err)
	}
	switch {
	case errors.Is(err, seal.ErrMismatch):
		return nil, failure.Differsf("the manifest %s was changed since it was written (%w): nothing is done with it; put the original back, or move the directory away",
			name, err)
	case err != nil:
		return nil, failure.Refusef("%s is not a manifest of ours (%w); move the directory away or choose another output", name, err)
	case m.Schema != manifestSchema && m.Schema != unsealedSchema:
		return nil, failure.Refusef("%s has schema %d, this bulkload knows %d; finish or remove that run with the bulkload that began it",
			name, m.Schema, manifestSchema)
	}
	if err := m.check(); err != nil {
		return nil, failure.Refusef("the manifest %s makes no sense: %w; put the original back, or move the directory away", name, err)
	}
	m.Schema = manifestSchema // as which it is written from here on
	return m, nil
}

// parseUnsealed reads a manifest without a checksum, as bulkload wrote it up to schema 3. unsealed is the error for others.
func (m *manifest) parseUnsealed(text []byte, unsealed error) error {
	var old struct {
		Schema   int             `json:"schema"`
		Checksum json.RawMessage `json:"checksum"`
	}
	if err := json.Unmarshal(text, &old); err != nil {
		return err
	}
	if old.Checksum != nil || old.Schema == manifestSchema {
		return unsealed
	}
	return json.Unmarshal(text, m)
}

// save replaces the manifest of an output directory. temps is a folder for files that are being written.
func (m *manifest) save(fsys storage.FS, dir, temps string) error {
	text, err := m.marshal()
	if err == nil {
		err = storage.ReplaceFile(fsys, path.Join(dir, manifestName), path.Join(temps, manifestName), append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	return nil
}

// marshal writes the manifest as sealed JSON.
func (m *manifest) marshal() ([]byte, error) {
	text, err := m.marshalContent()
	if err != nil {
		return nil, err
	}
	return seal.Seal(text)
}

// marshalContent writes a slice a line. The manifest is saved with each slice, so what was written before is kept.
func (m *manifest) marshalContent() ([]byte, error) {
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

func (r *sliceRecord) marshal() (text []byte, err error) {
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

// differences says in words what tells this run from another one.
func (m *manifest) differences(other *manifest) []string {
	var out []string
	if m.Run.Date != other.Run.Date {
		out = append(out, fmt.Sprintf("its logical date is %q, not %q", m.Run.Date, other.Run.Date))
	}
	if m.Run.Table != other.Run.Table {
		out = append(out, fmt.Sprintf("its table is %s, not %s", m.Run.Table, other.Run.Table))
	} else if m.JobHash != other.JobHash {
		out = append(out, "the job file says something else now")
	}
	for _, in := range other.Inputs {
		i := slices.IndexFunc(m.Inputs, func(o manifestInput) bool { return o.Path == in.Path })
		switch {
		case i < 0:
			out = append(out, fmt.Sprintf("the input has a new file %s", in.Path))
		case !m.Inputs[i].sameFile(&in):
			out = append(out, fmt.Sprintf("the input file %s was changed: %d bytes of %s then, %d bytes of %s now",
				in.Path, m.Inputs[i].Size, m.Inputs[i].ModTime, in.Size, in.ModTime))
		}
	}
	for _, in := range m.Inputs {
		if !slices.ContainsFunc(other.Inputs, func(o manifestInput) bool { return o.Path == in.Path }) {
			out = append(out, fmt.Sprintf("the input file %s is gone", in.Path))
		}
	}
	return out
}

// changedProperties says which site properties differ from those that the files were made with.
func (m *manifest) changedProperties(other *manifest) []string {
	var out []string
	for _, name := range byteProperties {
		if was, is := m.Site[name], other.Site[name]; m.Site != nil && was != is {
			out = append(out, fmt.Sprintf("property %s was %q and is %q", name, was, is))
		}
	}
	return out
}

// sameTable tells whether the boundaries and the family settings are still those the files were made for.
func (m *manifest) sameTable(t *target) bool {
	if m.MaxSize != t.maxSize || m.MaxFiles != recordedFiles(t.maxFiles) || len(m.Families) != len(t.families) || !slices.Equal(m.Splits, printable.All(t.splits)) {
		return false
	}
	for _, f := range t.families {
		if m.Families[f.name] != jobfile.SettingsText(f.settings) {
			return false
		}
	}
	return true
}

func (m *manifest) setTable(t *target) {
	m.Splits, m.MaxSize, m.MaxFiles = printable.All(t.splits), t.maxSize, recordedFiles(t.maxFiles)
	m.Families = map[string]string{}
	for _, f := range t.families {
		m.Families[f.name] = jobfile.SettingsText(f.settings)
	}
}

// recordedFiles is the limit of files as it is recorded: not at all where it is HBase's default.
func recordedFiles(limit int64) int64 {
	if limit == defaultMaxFiles {
		return 0
	}
	return limit
}

// done is the record of a finished slice, nil where it is not.
func (m *manifest) done(region, slice int) *sliceRecord {
	i, found := slices.BinarySearchFunc(m.Slices, sliceRecord{Region: region, Slice: slice}, compareSlices)
	if !found {
		return nil
	}
	return &m.Slices[i]
}

// add records a finished slice.
func (m *manifest) add(r sliceRecord) {
	m.Slices = append(m.Slices, r)
	slices.SortFunc(m.Slices, compareSlices)
}

// remove takes the slices of a region out, and gives their files. Those that are loaded stay known: where the same file is
// written again, it is not loaded twice.
func (m *manifest) remove(region int) (files []FileSummary) {
	m.Slices = slices.DeleteFunc(m.Slices, func(r sliceRecord) bool {
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

func compareSlices(a, b sliceRecord) int {
	return cmp.Or(cmp.Compare(a.Region, b.Region), cmp.Compare(a.Slice, b.Slice))
}

// files lists all files of the run.
func (m *manifest) files() []*FileSummary {
	var out []*FileSummary
	for i := range m.Slices {
		for k := range m.Slices[i].Files {
			out = append(out, &m.Slices[i].Files[k])
		}
	}
	return out
}

// unloaded lists what HBase does not have yet, as it takes it.
func (m *manifest) unloaded(fsys storage.FS, dir string) ([]load.HFile, error) {
	return m.hfiles(fsys, dir, func(f *FileSummary) bool { return !f.Loaded })
}

// hfiles lists recorded files as HBase takes them.
func (m *manifest) hfiles(fsys storage.FS, dir string, wanted func(*FileSummary) bool) ([]load.HFile, error) {
	var out []load.HFile
	for _, f := range m.files() {
		if !wanted(f) {
			continue
		}
		h, err := f.hfile()
		if err != nil {
			return nil, fmt.Errorf("read the manifest: %w", err)
		}
		h.URI = fsys.URI(path.Join(dir, f.Path))
		out = append(out, h)
	}
	return out, nil
}

// sum adds up what a region's finished slices hold and have dropped.
func (m *manifest) sum(region int) digest.Sum {
	var sum digest.Sum
	for i := range m.Slices {
		if r := &m.Slices[i]; r.Region == region {
			sum.Add(r.Digest)
			sum.Add(r.Dropped)
		}
	}
	return sum
}

// written says for people how much of a run is finished.
func written(files []*FileSummary) string {
	var bytes int64
	for _, f := range files {
		bytes += f.Bytes
	}
	return fmt.Sprintf("%d files of %s", len(files), bytesize.Format(bytes))
}
