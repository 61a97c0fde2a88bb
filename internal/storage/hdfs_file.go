package storage

import (
	"errors"
	"io"
	"io/fs"
	"syscall"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/printable"

	"github.com/colinmarc/hdfs/v2"
)

// hdfsFile reads a file through one stream from a DataNode.
type hdfsFile struct {
	fs        *hdfsFS
	name      string
	reader    *hdfs.FileReader
	size      int64
	at        int64 // position of the stream
	streaming bool
	next      int64 // position at which Read continues
	closed    bool
	examined  uint64 // the number of the last examined damaged replica
}

// readOver is how many bytes are skipped by reading them rather than by opening the stream again. The library would do
// so itself in Seek, but (v2.4.0) it loses count: if the DataNode then fails, it continues at the wrong place.
const readOver = 64 << 10

// open finds the file and its blocks. It is called again after a failed read.
func (f *hdfsFile) open() error {
	var reader *hdfs.FileReader
	err := f.fs.call("open", f.name, true, func() (err error) {
		reader, err = f.fs.client.Open(f.name)
		return err
	})
	if err != nil {
		return err
	}
	info := reader.Stat()
	switch {
	case info.IsDir():
		err = syscall.EISDIR
	case status(info).GetFileEncryptionInfo() != nil:
		err = errcode.FileSystem.New("the file is in an encryption zone, which bulkload does not support; copy it to a " +
			"directory outside all zones")
	case status(info).GetEcPolicy() != nil:
		err = errcode.FileSystem.New("the file is erasure-coded, which bulkload does not support; copy it to a replicated " +
			"directory")
	case f.reader != nil && info.Size() != f.size:
		err = errcode.InputChanged.New("the file has changed while it was read")
	}
	if err != nil {
		return &fs.PathError{Op: "open", Path: printable.Name(f.name), Err: err}
	}
	f.reader, f.size, f.at, f.streaming = reader, info.Size(), 0, false
	return nil
}

func (f *hdfsFile) Size() int64 { return f.size }

func (f *hdfsFile) Read(p []byte) (int, error) {
	n, err := f.read(p, f.next)
	f.next += int64(n)
	return n, err
}

func (f *hdfsFile) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, &fs.PathError{Op: "read", Path: printable.Name(f.name), Err: errors.New("negative offset")}
	}
	total := 0
	for total < len(p) {
		n, err := f.read(p[total:], off+int64(total))
		total += n
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// read reads something at off. After a failure it tries again with new locations of the blocks.
func (f *hdfsFile) read(p []byte, off int64) (int, error) {
	switch {
	case f.closed:
		return 0, &fs.PathError{Op: "read", Path: printable.Name(f.name), Err: errClosed}
	case len(p) == 0:
		return 0, nil
	case off >= f.size:
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), f.size-off)] // a file that is being appended to has more
	begun := time.Now()
	for again, pause := false, 100*time.Millisecond; ; again, pause = true, min(2*pause, 2*time.Second) {
		n, err := f.readStream(p, off)
		if f.fs.replicas.latest.Load() != f.examined {
			f.reportDamages()
		}
		if n > 0 {
			return n, nil
		}
		var blocked *blockError
		switch isBlock := errors.As(err, &blocked); {
		case isFinal(err):
			return 0, f.fs.explain("read", f.name, err)
		case isBlock && f.acceptBare(blocked):
			// It was not a failure.
		// The first time, the library may have asked only the DataNodes that did not serve earlier bytes.
		case isBlock && blocked.damaged() && again, time.Since(begun) >= f.fs.timeouts.retry:
			return 0, f.fs.explain("read", f.name, err)
		case !f.fs.pause(pause):
			return 0, f.fs.explain("read", f.name, err)
		}
		f.reader.Close() // only read
		if err := f.open(); err != nil {
			return 0, err
		}
	}
}

// acceptBare continues without checksums if no replica has them, and reports that once for each file.
func (f *hdfsFile) acceptBare(e *blockError) bool {
	if !f.fs.replicas.acceptBare(e) {
		return false
	}
	f.fs.replicas.reportBare(f.fs.URI(f.name))
	return true
}

func (f *hdfsFile) readStream(p []byte, off int64) (int, error) {
	if err := f.moveTo(off); err != nil {
		return 0, err
	}
	n, err := f.reader.Read(p)
	f.at += int64(n)
	f.fs.rate.Wait(n)
	f.streaming = err == nil
	if n == 0 && (err == nil || err == io.EOF) {
		err = io.ErrUnexpectedEOF // according to the NameNode's size, there is more
	}
	return n, err
}

func (f *hdfsFile) moveTo(off int64) error {
	gap := off - f.at
	if gap == 0 {
		return nil
	}
	if f.streaming && gap > 0 && gap <= readOver {
		n, err := io.CopyN(io.Discard, f.reader, gap)
		f.at += n
		f.fs.rate.Wait(int(n))
		return err
	}
	at, err := f.reader.Seek(off, io.SeekStart)
	f.at, f.streaming = at, false
	return err
}

func (f *hdfsFile) Close() error {
	if f.closed {
		return nil
	}
	f.closed = true
	return f.reader.Close()
}
