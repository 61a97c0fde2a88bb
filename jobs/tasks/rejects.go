package tasks

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"bulkload/ingest"
	"bulkload/internal/storage"
	"bulkload/jobs/pipeline/checkpoint"
	"bulkload/jobs/pipeline/entry"
	"bulkload/jobs/pipeline/source"
)

// rejectLog describes the log of a map task's rejects.
type rejectLog struct {
	Records int64  `json:"records"`
	Bytes   int64  `json:"bytes"`
	Sum     uint32 `json:"sum"` // CRC32C
}

// rejectSink writes the rejects of a map task to a log, from which the driver passes them on. The log is created with
// the first rejects.
//
// A checkpoint.RejectLog writes the same log to the local disk, but in spans, each named by a checkpoint, and passes
// the rejects on at once. A task has no checkpoints, so its log counts as a whole, with its result.
type rejectSink struct {
	folder

	mu      sync.Mutex // guards what follows
	seen    ingest.RejectCounter
	written checkpoint.RejectWriter
	out     storage.FileWriter
}

func newRejectSink(at folder, limit ingest.Limit) *rejectSink {
	s := &rejectSink{folder: at, seen: ingest.RejectCounter{Limit: limit}}
	s.written.Open = s.create
	return s
}

func (s *rejectSink) create() (_ io.Writer, err error) {
	s.out, err = s.fs.Create(s.path(rejectsName), filePerm)
	return s.out, err
}

// log describes the log, which is complete after Close; it returns nil if there were no rejects.
func (s *rejectSink) log() *rejectLog {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen.Count() == 0 {
		return nil
	}
	bytes, sum := s.written.Written()
	return &rejectLog{Records: s.seen.Count(), Bytes: bytes, Sum: sum}
}

// Add logs a reject. It returns an error if this task alone has more rejects than the run may have.
func (s *rejectSink) Add(bad *ingest.BadRecord) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	exceeded := s.seen.Add(bad)
	if err := s.written.Add(bad); err != nil {
		return err
	}
	if exceeded {
		return s.seen.LimitError(0)
	}
	return nil
}

// Count returns the number of rejects.
func (s *rejectSink) Count() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen.Count()
}

// Close completes the log. The driver checks whether all tasks together have too many rejects.
func (s *rejectSink) Close(int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.written.Flush()
	if s.out == nil {
		return err
	}
	if err != nil {
		return errors.Join(err, s.out.Abort())
	}
	return s.out.Close()
}

// replay passes on the rejects of a log, which must be unchanged.
func (l *rejectLog) replay(at folder, of *source.Source, sink entry.RejectSink) error {
	f, err := l.open(at)
	if err != nil {
		return err
	}
	defer f.Close()
	return checkpoint.ReplayRejects(io.NewSectionReader(f, 0, l.Bytes), at.uri(rejectsName), of, sink)
}

// check reads the log, which must be unchanged.
func (l *rejectLog) check(at folder) error {
	f, err := l.open(at)
	if err != nil {
		return err
	}
	return f.Close()
}

// open opens the log if it is unchanged.
func (l *rejectLog) open(at folder) (storage.File, error) {
	f, err := at.fs.Open(at.path(rejectsName))
	if err != nil {
		return nil, fmt.Errorf("read the rejects of a task: %w", err)
	}
	if n, sum, err := checkpoint.SumRejects(f); err != nil {
		return nil, errors.Join(fmt.Errorf("read the rejects of a task: %w", err), f.Close())
	} else if n != l.Bytes || sum != l.Sum {
		return nil, errors.Join(fmt.Errorf("%w: %s has changed", errNoDocument, at.uri(rejectsName)), f.Close())
	}
	return f, nil
}
