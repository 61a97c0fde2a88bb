package hfiles

import (
	"errors"
	"io"
	"path"
	"sync"

	"bulkload/hfilewriter"
	"bulkload/internal/storage"

	lru "github.com/hashicorp/golang-lru/v2"
)

// Cache keeps the last parts of HFiles that were read, for the look-ups of a server. Several directories may share one.
// It is safe for concurrent use.
type Cache struct{ pages *lru.Cache[page, []byte] }

// page is a part of a file: it begins at a multiple of pageSize.
type page struct {
	file *keptFile
	at   int64
}

// pageSize is the length of a part in bytes: about that of a block, compressed.
const pageSize = 32 << 10

// NewCache returns a cache of at most that many bytes, and at least one part.
func NewCache(bytes int64) *Cache {
	pages, _ := lru.New[page, []byte](int(max(bytes/pageSize, 1))) // fails only for a size of 0
	return &Cache{pages}
}

// keptReaders is how many look-ups read one file at a time. Each has an open file.
const keptReaders = 4

// keptFile is a file for many look-ups. Its trailer is read once. It serves several readers at a time, which a
// storage.File does not.
type keptFile struct {
	cache *Cache
	fs    storage.FS
	name  string
	size  int64
	slots chan storage.File // nil for one that is not open

	mu     sync.Mutex
	reader *hfilewriter.Reader // nil until it is wanted
}

// Keep has the directory's scans read through a cache, and keep files open, until Close.
func (d *Directory) Keep(c *Cache) {
	for _, f := range d.Files {
		f.kept = &keptFile{cache: c, fs: d.FS, name: path.Join(d.Path, f.Path), size: f.Size,
			slots: make(chan storage.File, keptReaders)}
		for range keptReaders {
			f.kept.slots <- nil
		}
	}
}

// Close closes the files that Keep has kept open. Scans must have ended.
func (d *Directory) Close() (err error) {
	for _, f := range d.Files {
		if f.kept == nil {
			continue
		}
		for range keptReaders {
			if open := <-f.kept.slots; open != nil {
				err = errors.Join(err, open.Close())
			}
		}
	}
	return err
}

// open returns the file's reader, and reads the trailer first if that has not succeeded yet.
func (k *keptFile) open() (*hfilewriter.Reader, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.reader != nil {
		return k.reader, nil
	}
	r, err := hfilewriter.Open(k, k.size)
	if err == nil {
		r.ReadAhead(0)
		k.reader = r
	}
	return r, err
}

// Size is the file's length in bytes.
func (k *keptFile) Size() int64 { return k.size }

// Close does nothing: the file stays open for the next look-up.
func (k *keptFile) Close() error { return nil }

// ReadAt reads from the cache, and what it lacks from the file.
func (k *keptFile) ReadAt(b []byte, offset int64) (n int, err error) {
	var open storage.File
	taken := false
	defer func() {
		if taken {
			k.slots <- open
		}
	}()
	for n < len(b) {
		at := (offset + int64(n)) / pageSize * pageSize
		if at >= k.size {
			return n, io.EOF
		}
		key := page{k, at}
		part, found := k.cache.pages.Get(key)
		if !found {
			if !taken {
				open, taken = <-k.slots, true
			}
			if open == nil {
				if open, err = k.fs.Open(k.name); err != nil {
					open = nil
					return n, err
				}
			}
			part = make([]byte, min(pageSize, k.size-at))
			if m, err := open.ReadAt(part, at); m < len(part) {
				if err == nil {
					err = io.EOF
				}
				err = errors.Join(err, open.Close())
				open = nil
				return n, err
			}
			k.cache.pages.Add(key, part)
		}
		n += copy(b[n:], part[offset+int64(n)-at:])
	}
	return n, nil
}
