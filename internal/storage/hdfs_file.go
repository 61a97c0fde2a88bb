package storage

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"sort"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/printable"
)

// hdfsFile reads a file through one stream from a DataNode.
//
// It does not use the client library's reader (v2.4.0). That one returns bytes with wrong checksums, and reads on at
// the wrong place if a DataNode fails after a seek. It also asks for a file's size and for its blocks in two calls,
// so a file that is replaced in between is cut off.
type hdfsFile struct {
	fs *hdfsFS
	located
	name   string
	stream *blockStream // nil: none
	next   int64        // position at which Read continues
	failed blockError   // the failures of the current read
	closed bool
}

// readOver is how many bytes are skipped by reading them rather than by opening the stream again.
const readOver = 64 << 10

// open finds the file's blocks. It is called again after a failed read.
func (f *hdfsFile) open() error {
	found, err := f.fs.locate(f.name)
	if err != nil {
		return err
	}
	switch {
	case found.encrypted:
		err = errcode.FileSystem.New("the file is in an encryption zone, which bulkload does not support; copy it to a " +
			"directory outside all zones")
	case found.erasureCoded:
		err = errcode.FileSystem.New("the file is erasure-coded, which bulkload does not support; copy it to a replicated " +
			"directory")
	case f.blocks != nil && !found.same(&f.located):
		err = errcode.InputChanged.New("the file has changed while it was read")
	}
	if err != nil {
		return &fs.PathError{Op: "open", Path: printable.Name(f.name), Err: err}
	}
	f.located = found
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

// read reads something at off. If no replica can be read, it tries again with new locations of the blocks.
func (f *hdfsFile) read(p []byte, off int64) (int, error) {
	switch {
	case f.closed:
		return 0, &fs.PathError{Op: "read", Path: printable.Name(f.name), Err: errClosed}
	case len(p) == 0:
		return 0, nil
	case off >= f.size:
		return 0, io.EOF
	}
	begun := time.Now()
	for again, pause := false, 100*time.Millisecond; ; again, pause = true, min(2*pause, 2*time.Second) {
		n, err := f.readBlock(p, off)
		if err == nil {
			return n, nil
		}
		// The locations may be hours old, so they are asked for again at least once.
		var blocked *blockError
		ends := errors.As(err, &blocked) && blocked.damaged() || time.Since(begun) >= f.fs.timeouts.retry
		if isFinal(err) || again && ends || !f.fs.pause(pause) {
			return 0, f.fs.explain("read", f.name, err)
		}
		if err := f.open(); err != nil {
			return 0, err
		}
	}
}

// readBlock reads something of the block at off, from one replica after another.
func (f *hdfsFile) readBlock(p []byte, off int64) (int, error) {
	i := sort.Search(len(f.blocks), func(i int) bool { return off < f.blocks[i].end() })
	if i == len(f.blocks) || off < f.blocks[i].offset {
		return 0, malformedf("the NameNode names no block for byte %d of the file", off)
	}
	b := &f.blocks[i]
	p = p[:min(int64(len(p)), b.end()-off, f.size-off)] // a file in a snapshot may be shorter than its last block
	failed := &f.failed
	*failed = blockError{block: b.id, from: off - b.offset}
	defer f.reportDamages(b, failed)
	for {
		if err := f.seek(b, failed); err != nil {
			return 0, err
		}
		n, err := f.stream.Read(p)
		if n > 0 {
			f.fs.rate.Wait(n)
			return n, nil
		}
		f.fail(failed, cmp.Or(err, io.ErrUnexpectedEOF))
	}
}

// seek makes the stream continue at byte failed.from of the block. If it has to ask a DataNode, it asks one that is not
// among those that failed. If there is no other one, the error is a *blockError, or errNoReplica.
func (f *hdfsFile) seek(b *locatedBlock, failed *blockError) error {
	if s := f.stream; s != nil && s.block == b.id && failed.from >= s.next && failed.from-s.next <= readOver {
		if failed.from == s.next {
			return nil
		}
		n, err := io.CopyN(io.Discard, s, failed.from-s.next)
		f.fs.rate.Wait(int(n))
		if err == nil {
			return nil
		}
		var damage *damagedError
		if !errors.As(err, &damage) { // damage to bytes that nobody wants
			f.fail(failed, err)
		}
	}
	f.drop()
	for {
		r := f.fs.replicas.choose(b, failed)
		switch {
		case r == nil && errors.Is(failed, errBare) && !b.bare:
			b.bare = true
			f.fs.replicas.reportBare(f.fs.URI(f.name))
			failed.failures = slices.DeleteFunc(failed.failures,
				func(f replicaFailure) bool { return errors.Is(f.err, errBare) })
			continue
		case r == nil && len(failed.failures) == 0:
			return errNoReplica
		case r == nil:
			all := *failed
			return &all
		}
		s := &blockStream{readRequest: readRequest{b.id, failed.from, b.length - failed.from}, next: failed.from,
			bare: b.bare, address: r.address}
		conn, err := f.fs.blocks.connect(context.Background(), "tcp", r.address)
		if err != nil {
			f.fs.names.nodes.fail(r.address)
		} else if _, err = conn.Write(s.operation(b, f.fs.clientName)); err != nil {
			conn.Close() // err is the one to report
		}
		if err != nil {
			f.fs.replicas.fail(failed, r.address, err)
			continue
		}
		s.in, f.stream = conn, s
		return nil
	}
}

// fail ends the stream, whose DataNode can't serve it.
func (f *hdfsFile) fail(failed *blockError, err error) {
	f.fs.replicas.fail(failed, f.stream.address, noEOF(err))
	f.drop()
}

// drop closes the stream.
func (f *hdfsFile) drop() {
	if f.stream != nil {
		f.stream.in.Close() // it was only read
		f.stream = nil
	}
}

func (f *hdfsFile) Close() error {
	f.drop()
	f.closed = true
	return nil
}
