package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"bulkload/internal/bytesize"
	"bulkload/internal/errcode"
	"bulkload/internal/seal"
	"bulkload/internal/storage"
	"bulkload/jobs/base/counts"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/load"
)

// maxBytes bounds a manifest that is read or written. Only tests change it.
var maxBytes int64 = 256 << 20

// Read reads the manifest of an output directory; nil if there is none.
//
// Only fs.ErrNotExist is "none". Any other error must end the command: a run that treated an unreadable manifest as
// missing would call its files foreign, or write and load them a second time.
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
	if other := seal.Schema(text); errors.Is(err, seal.ErrMalformed) && other != 0 && other != Schema {
		m.Schema, err = other, nil // a format without a checksum, with another one, or with fields of other types
	}
	switch {
	case errors.Is(err, seal.ErrMismatch):
		return nil, errcode.ManifestChanged.Errorf("the manifest %s was changed after it was written (%w), so it is not "+
			"used: restore the original, or move the directory away",
			name, err)
	case err != nil:
		return nil, errcode.ManifestMalformed.Errorf(
			"%s is not a manifest of bulkload (%w); move the directory away or choose another output", name, err)
	case m.Schema != Schema:
		return nil, errcode.ManifestVersion.Errorf(
			"%s has schema %d, this bulkload knows %d; finish or remove that run with the bulkload that began it",
			name, m.Schema, Schema)
	}
	if err := check(m); err != nil {
		return nil, errcode.ManifestMalformed.Errorf(
			"the manifest %s contradicts itself: %w; restore the original, or move the directory away", name, err)
	}
	return m, nil
}

// Save replaces the manifest of an output directory. temps is a folder for files that are being written.
//
// A kill leaves the old manifest or the new one, never half of one: the text is completely written in temps first, and
// the rename is one step. The file system is the lock's (lock.Guarded): after the lock is lost, the rename is refused,
// and what was saved belongs to the new owner. After an error the disk may have either manifest, so the caller must
// stop. A manifest that is too large to be read, or to be saved during its load, is not written (errcode.FilesLimit).
func (m *Manifest) Save(fsys storage.FS, dir, temps string) error {
	text, err := m.Marshal()
	if err == nil {
		err = tooLarge(int64(len(text)) + 1 + m.grows())
	}
	if err == nil {
		err = storage.ReplaceFile(fsys, path.Join(dir, Name), path.Join(temps, Name), append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	return nil
}

// openingBytes is how many bytes a file's record grows when a load records its opening. "loaded" becomes one byte
// shorter at the same time: if there are so many files that size matters, the bytes saved hold the name of the load's
// staging folder.
const openingBytes = int64(len(`,"opening":""`) + load.OpeningBytes)

// markBytes is how many bytes a mark adds to each of a file's cells.
const markBytes = int64(len(`,"before":true`))

// grows returns how many bytes a load can still add to the manifest of a run that has not begun to load. A load that
// could not record what it did must not begin.
func (m *Manifest) grows() (most int64) {
	if m.State != Writing && m.State != Written {
		return 0
	}
	for _, f := range m.Files() {
		if !f.Loaded {
			most += openingBytes + int64(len(f.Probes))*markBytes
		}
	}
	return most
}

// tooLarge returns an error if a manifest of size bytes is too large to be read.
func tooLarge(size int64) error {
	if size <= maxBytes {
		return nil
	}
	return errcode.FilesLimit.Errorf("the run's manifest would have at least %s, and at most %s are read: read fewer "+
		"input files at a time, raise hfile.max_size for fewer files, or use fewer regions",
		bytesize.Format(size), bytesize.Format(maxBytes))
}

// CheckSize refuses a run whose manifest will be too large to be read (errcode.FilesLimit), before its files are
// written. sliced is the number of slices, and files the number of files of all families. Each counts with the size of
// the smallest record, and each file also with the size of a load's marks.
func (m *Manifest) CheckSize(sliced, files int64) error {
	frame := *m
	frame.Slices = nil
	text, err := frame.Marshal()
	if err != nil {
		return err
	}
	content, err1 := json.Marshal(counts.Content{})
	slice, err2 := json.Marshal(RecordedSlice{})
	file, err3 := json.Marshal(hfiles.FileMeta{Path: "f/" + hfiles.Name("", 0, 0, "f", 0), Family: "f",
		Probes: make([]hfiles.KnownCell, 1)})
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	size := int64(len(text)) + sliced*int64(len(slice)) + files*(int64(len(file))+openingBytes+markBytes)
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

// MarshalContent encodes the manifest with one slice on each line. The manifest is saved after nearly every slice, so
// the encoded form of the others is reused.
func (m *Manifest) MarshalContent() ([]byte, error) {
	bare := *m
	bare.Slices = nil
	frame, err := json.MarshalIndent(bare, "", "  ")
	if err != nil || len(m.Slices) == 0 {
		return frame, err
	}
	// The first match is the field itself: within a string the quotes would be escaped, and no field before it is an
	// object with a null "slices". Whoever adds a field before it must keep that true.
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

func (r *RecordedSlice) marshal() (text []byte, err error) {
	marks := 0 // a load's marks are never removed, so their number shows whether text is current
	for i := range r.Files {
		f := &r.Files[i]
		if f.Loaded {
			marks++
		}
		for k := range f.Probes {
			if f.Probes[k].Before {
				marks++
			}
		}
	}
	if r.text == nil || r.marks != marks {
		r.marks = marks
		r.text, err = json.Marshal(r)
	}
	return r.text, err
}
