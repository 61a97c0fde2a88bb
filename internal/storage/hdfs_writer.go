package storage

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/printable"

	"github.com/colinmarc/hdfs/v2"
)

// hdfsWriter writes a file in pieces of writeBuffer. The library does not repair a broken pipeline, so when a DataNode
// fails, the whole file has to be written again.
type hdfsWriter struct {
	fs     *hdfsFS
	name   string
	file   *hdfs.FileWriter
	buf    *bufio.Writer
	err    error // of the first call that failed
	closed bool
}

func newHDFSWriter(h *hdfsFS, name string, file *hdfs.FileWriter) *hdfsWriter {
	return &hdfsWriter{fs: h, name: name, file: file, buf: bufio.NewWriterSize(file, writeBuffer)}
}

func (w *hdfsWriter) Write(p []byte) (int, error) {
	if w.closed {
		return 0, &fs.PathError{Op: "write", Path: printable.Name(w.name), Err: errClosed}
	}
	if w.err != nil {
		return 0, w.err
	}
	w.fs.rate.Wait(len(p))
	n, err := w.buf.Write(p)
	if err != nil {
		w.err = w.explain("write", err)
	}
	return n, w.err
}

func (w *hdfsWriter) Close() error {
	if w.closed || w.err != nil {
		return w.err
	}
	w.closed = true
	if err := w.buf.Flush(); err != nil {
		w.err = w.explain("write", err)
		return w.err
	}
	w.err = w.complete()
	return w.err
}

// complete ends the last block and asks the NameNode to close the file. The NameNode does so once a DataNode has
// reported the block (FSNamesystem.completeFile). Nobody may use the file before that.
func (w *hdfsWriter) complete() error {
	begun := time.Now()
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := w.file.Close()
		if err == nil {
			return nil
		}
		waiting := hdfs.IsErrReplicating(err)
		late := time.Since(begun)
		switch {
		case waiting && late >= w.fs.timeouts.complete:
			return &fs.PathError{Op: "close", Path: printable.Name(w.name), Err: fmt.Errorf(
				"%w: %s: no DataNode has reported the file's last block within %v", ErrUnavailable,
				w.fs.uri, late.Round(time.Second))}
		case !waiting && (kindOf(err) != notDone || late >= w.fs.timeouts.retry):
			return w.explain("close", err)
		}
		if !w.fs.pause(pause) {
			return &fs.PathError{Op: "close", Path: printable.Name(w.name),
				Err: fmt.Errorf("%w: %s: the command was stopped before the file was complete", ErrUnavailable, w.fs.uri)}
		}
	}
}

// explain is hdfsFS.explain, but blames a DataNode for every error that is neither final nor from the NameNode.
func (w *hdfsWriter) explain(op string, err error) error {
	cause := rootCause(err)
	var remote hdfs.Error
	text, final := cause.Error(), isFinal(cause)
	switch {
	case !final && isLeaseLost(cause):
		return &fs.PathError{Op: op, Path: printable.Name(w.name),
			Err: fmt.Errorf("%w: %s: %w: %s", ErrUnavailable, w.fs.uri, ErrLeaseLost, text)}
	case final, strings.HasPrefix(text, noNameNode),
		errors.As(cause, &remote) && !strings.Contains(remote.Message(), noDataNodes):
		return w.fs.explain(op, w.name, err)
	}
	mark, code := ErrDataNode, errcode.HDFSNoDataNode
	if w.fs.names.lost(cause) {
		mark, code = nameNodeLost{}, codeOfRemote(text)
	}
	return &fs.PathError{Op: op, Path: printable.Name(w.name),
		Err: code.Errorf("%w: %s: %w: %s", ErrUnavailable, w.fs.uri, mark, text)}
}

// isLeaseLost reports whether the NameNode no longer has the file that is being written, which it knows by its id, or
// has closed it. It closes files 20 minutes after their writer's last sign of life, for example if the process was
// stopped (FSNamesystem.checkLease, LeaseManager.checkLeases). Then it says that the file's last block does not
// exist, or is not under construction, or that this holds for the file of that block (FSNamesystem.checkUCBlock).
func isLeaseLost(err error) bool {
	var remote hdfs.Error
	if !errors.As(err, &remote) {
		return errors.Is(err, fs.ErrNotExist) // as the library returns a FileNotFoundException
	}
	text, _, _ := strings.Cut(remote.Message(), "\n")
	return remote.Exception() == classNotFound || strings.HasSuffix(remote.Exception(), ".LeaseExpiredException") ||
		strings.HasSuffix(text, " does not exist.") || strings.HasPrefix(text, "Unexpected BlockUCState") ||
		strings.HasSuffix(text, " belonged to does not exist or it is not under construction.")
}

// nameNodeLost is an ErrDataNode in its effect: the file is written again, by then perhaps at another NameNode. Its
// text says what failed.
type nameNodeLost struct{}

func (nameNodeLost) Error() string { return "the connection to the NameNode has ended" }

// Is makes it an ErrDataNode.
func (nameNodeLost) Is(target error) bool { return target == ErrDataNode }

func (w *hdfsWriter) Abort() error {
	if w.closed && w.err == nil {
		return nil
	}
	if errors.Is(w.err, errAborted) {
		return nil
	}
	lost := errors.Is(w.err, ErrLeaseLost)
	w.closed, w.err = true, &fs.PathError{Op: "write", Path: printable.Name(w.name), Err: errAborted}
	var err error
	if !lost {
		err = w.fs.Remove(w.name)
	}
	w.file.Close() // ends the connection to the DataNode; it fails, because the file is gone
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return err
}
