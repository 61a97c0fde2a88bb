// Package storage reads and writes files on the local disk and on HDFS with one small set of calls.
package storage

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"time"

	"bulkload/internal/printable"
)

// ErrUnavailable marks errors of a file system that can't be reached now. The caller may try again later.
var ErrUnavailable = errors.New("file system unavailable")

// ErrDataNode marks, together with ErrUnavailable, errors of DataNodes while a file is written or read. The NameNode
// answers, so the file may be written again, to other DataNodes or to the same ones when they are back.
var ErrDataNode = errors.New("a DataNode failed")

// ErrLeaseLost marks, together with ErrUnavailable, errors of writers whose file is no longer theirs: somebody has
// deleted it, or the NameNode has ended the lease of a process that was silent for too long. Abort does not remove what
// has the name now.
var ErrLeaseLost = errors.New("the file is no longer this writer's")

// FS is a file system: local or HDFS. Names are slash-separated absolute paths of that file system. Errors are
// *fs.PathError around fs.ErrNotExist, fs.ErrExist, fs.ErrPermission, ErrRelative, ErrUnavailable, ErrChecksum or
// the system's error. All methods are safe for concurrent use. A perm of 0 means 0644 for files and 0755 for
// directories. On a local disk the process's umask applies, on HDFS that of the site files, fs.permissions.umask-mode.
type FS interface {
	// Open opens a file for reading. Each opened File belongs to one goroutine.
	Open(name string) (File, error)
	// Create creates a file; its folder must exist. If the file exists, the error is fs.ErrExist.
	Create(name string, perm fs.FileMode) (FileWriter, error)
	Stat(name string) (Info, error)
	// ReadDir lists a directory, sorted by name.
	ReadDir(name string) ([]Info, error)
	// MkdirAll creates a directory. Missing directories above it get the default permissions, not perm, because others
	// may have to pass through them to their own directories.
	MkdirAll(name string, perm fs.FileMode) error
	// Rename moves a file or directory to a name that is not taken; if it is, the error is fs.ErrExist. On a local disk
	// the change is durable when it returns. On HDFS the test for the name and the move are two calls, because the
	// client library can only overwrite. So two processes that rename to one name at the same time may both succeed:
	// use names that only one of them would choose.
	Rename(from, to string) error
	// Replace moves a file over another one, atomically and durably.
	Replace(from, to string) error
	// Remove deletes a file or an empty directory; fs.ErrNotExist if it does not exist. It refuses a symbolic link to a
	// directory, which is neither.
	Remove(name string) error
	// RemoveAll deletes a tree. A tree that does not exist is not an error.
	RemoveAll(name string) error
	// Free is the free space, in bytes, where name is or would be. On HDFS it is the cluster's free space divided by the
	// replication of new files; quotas are ignored.
	Free(name string) (int64, error)
	// URI is the file's name outside this program: file:///… or hdfs://authority/….
	URI(name string) string
	Close() error
}

// File is an open file. Read continues from where the last Read ended; ReadAt does not move it. On HDFS, ReadAt
// continues the stream where the last read of either kind ended, or a little later; at any other offset it opens a new
// connection to a DataNode. Unlike with io.ReaderAt, calls must not run in parallel.
type File interface {
	io.Reader
	io.ReaderAt
	io.Closer
	Size() int64
}

// FileWriter writes one new file. Close makes it durable (on HDFS: complete and replicated); do not trust a file whose
// Close failed. Abort closes and deletes it. After a failed Write or Close only Abort may be called; after a successful
// Close it does nothing.
type FileWriter interface {
	io.Writer
	Close() error
	Abort() error
}

// Info describes a file or directory.
type Info struct {
	Name    string // the last element
	Size    int64
	ModTime time.Time
	Dir     bool
	Mode    fs.FileMode // of a directory with ModeSymlink: a local link to a folder above itself
	Owner   string      // HDFS only
	// Encrypted says that it is in an encryption zone, ErasureCoded that it has an erasure coding policy. HDFS only.
	Encrypted, ErasureCoded bool
}

// writeBuffer gathers small writes; HDFS sends packets of 64 KiB.
const writeBuffer = 128 << 10

// ErrRelative marks errors of names that are not absolute.
var ErrRelative = errors.New("path is not absolute")

var (
	errAborted = errors.New("writing was given up")
	errClosed  = fs.ErrClosed
)

// absolute returns the clean form of an absolute name.
func absolute(op, name string) (string, error) {
	if !path.IsAbs(name) {
		return "", &fs.PathError{Op: op, Path: printable.Name(name), Err: ErrRelative}
	}
	return path.Clean(name), nil
}

func orDefault(perm, def fs.FileMode) fs.FileMode {
	if perm == 0 {
		return def
	}
	return perm
}
