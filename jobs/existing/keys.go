package existing

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"path"

	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/jobs/manifest"
	"bulkload/partition"
)

// A file of keys has the sort keys of rows in their order, each after its length as a uvarint. The manifest has its size
// and its SHA-256.

// fileName is the name of a region's file of keys.
func fileName(region int) string { return fmt.Sprintf("%05d.keys", region) }

// keyWriter writes a file of keys.
type keyWriter struct {
	file   storage.Writer
	out    *bufio.Writer
	sum    hash.Hash
	record manifest.KeyFile
}

func createKeys(fsys storage.FS, name string, region int) (*keyWriter, error) {
	file, err := fsys.Create(name, 0)
	if err != nil {
		return nil, fmt.Errorf("keep the keys of rows that exist: %w", err)
	}
	w := &keyWriter{file: file, sum: sha256.New(), record: manifest.KeyFile{Region: region}}
	w.out = bufio.NewWriterSize(io.MultiWriter(file, w.sum), 64<<10)
	return w, nil
}

func (w *keyWriter) add(key []byte) error {
	length := binary.AppendUvarint(w.out.AvailableBuffer(), uint64(len(key)))
	n, _ := w.out.Write(length) // bufio keeps an error for the end
	m, err := w.out.Write(key)
	w.record.Rows++
	w.record.Bytes += int64(n + m)
	return err
}

// close completes the file.
func (w *keyWriter) close() (*manifest.KeyFile, error) {
	if err := w.out.Flush(); err != nil {
		return nil, fmt.Errorf("keep the keys of rows that exist: %w", err)
	}
	if err := w.file.Close(); err != nil {
		return nil, fmt.Errorf("keep the keys of rows that exist: %w", err)
	}
	w.record.SHA256 = hex.EncodeToString(w.sum.Sum(nil))
	return &w.record, nil
}

// abort deletes a file that is not complete.
func (w *keyWriter) abort() error {
	if w.record.SHA256 != "" {
		return nil
	}
	return w.file.Abort()
}

// Keep moves the files of keys from the folder temp into the output. The manifest must be saved next.
func Keep(fsys storage.FS, dir, temp string, e *manifest.Existing) error {
	if err := Remove(fsys, dir); err != nil || !e.LeftOut() {
		return err
	}
	if err := fsys.Rename(temp, path.Join(dir, manifest.ExistingDir)); err != nil {
		return fmt.Errorf("keep the keys of rows that exist: %w", err)
	}
	return nil
}

// Remove deletes the files of keys of an output.
func Remove(fsys storage.FS, dir string) error {
	if err := fsys.RemoveAll(path.Join(dir, manifest.ExistingDir)); err != nil {
		return fmt.Errorf("delete the keys of rows that exist: %w", err)
	}
	return nil
}

// Check reads all files of keys: each must be as it was written.
func Check(fsys storage.FS, dir string, e *manifest.Existing) error {
	for i := range e.Files {
		if err := checkFile(fsys, dir, &e.Files[i]); err != nil {
			return err
		}
	}
	return nil
}

func checkFile(fsys storage.FS, dir string, f *manifest.KeyFile) error {
	name := path.Join(dir, manifest.ExistingDir, fileName(f.Region))
	file, err := fsys.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return errcode.OutputLacks.Errorf("%s is missing: it says which rows of region %d the table had before the load. Run again with --force", fsys.URI(name), f.Region)
	}
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return fmt.Errorf("read %s: %w", fsys.URI(name), err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != f.SHA256 {
		return errcode.ManifestChanged.Errorf("%s has the checksum %s, but the manifest says %s. Run again with --force", fsys.URI(name), got, f.SHA256)
	}
	return nil
}

// Keys reads the keys of a region's rows that the table had. A nil Keys has none.
type Keys struct {
	name string
	file storage.File
	in   *bufio.Reader
	left int64 // keys that are not read yet
	next []byte
}

// Open opens the keys of a region that an output keeps; nil if there are none. Check must have found nothing wrong.
func Open(fsys storage.FS, dir string, e *manifest.Existing, region int) (*Keys, error) {
	if e == nil {
		return nil, nil
	}
	for i := range e.Files {
		if e.Files[i].Region != region {
			continue
		}
		name := path.Join(dir, manifest.ExistingDir, fileName(region))
		file, err := fsys.Open(name)
		if err != nil {
			return nil, fmt.Errorf("open the keys of rows that exist: %w", err)
		}
		return &Keys{name: fsys.URI(name), file: file, in: bufio.NewReaderSize(file, 64<<10), left: e.Files[i].Rows}, nil
	}
	return nil, nil
}

// Has reports whether a key is among them. Keys must be asked for in their order.
func (k *Keys) Has(key []byte) (bool, error) {
	if k == nil {
		return false, nil
	}
	for k.next == nil || bytes.Compare(k.next, key) < 0 {
		if k.left == 0 {
			return false, nil
		}
		if err := k.advance(); err != nil {
			return false, fmt.Errorf("read %s: %w", k.name, err)
		}
	}
	return bytes.Equal(k.next, key), nil
}

func (k *Keys) advance() error {
	length, err := binary.ReadUvarint(k.in)
	switch {
	case err != nil:
		return err
	case length > partition.MaxKey:
		return fmt.Errorf("a key of %d bytes", length)
	case k.next == nil:
		k.next = []byte{}
	}
	if uint64(cap(k.next)) < length {
		k.next = make([]byte, length)
	}
	k.next = k.next[:length]
	_, err = io.ReadFull(k.in, k.next)
	k.left--
	return err
}

// Close ends the reading.
func (k *Keys) Close() error {
	if k == nil {
		return nil
	}
	return k.file.Close()
}
