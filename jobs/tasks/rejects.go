package tasks

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"

	"bulkload/ingest"
	"bulkload/internal/storage"
	"bulkload/jobs/checkpoint"
	"bulkload/jobs/entry"
	"bulkload/jobs/source"
)

// rejectLog describes the log of a map task's rejects.
type rejectLog struct {
	Records int64  `json:"records"`
	Bytes   int64  `json:"bytes"`
	Sum     uint32 `json:"sum"` // CRC32C
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli) // the same table in all packages

// rejectSink writes the rejects of a map task to a log, from which the driver passes them on. The log is created with
// the first reject.
type rejectSink struct {
	folder
	limit ingest.Limit

	mu     sync.Mutex // guards what follows
	at     rejectLog
	first  *ingest.BadRecord
	hint   string
	buffer []byte
	out    storage.Writer
}

const rejectBuffer = 1 << 20

func newRejectSink(at folder, limit ingest.Limit) *rejectSink {
	return &rejectSink{folder: at, limit: limit}
}

// log describes what was written; nil if nothing was.
func (s *rejectSink) log() *rejectLog {
	if s.at.Records == 0 {
		return nil
	}
	return &s.at
}

// Add logs a reject. If this task alone has more than the run may have, it ends.
func (s *rejectSink) Add(bad *ingest.BadRecord) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at.Records++
	if s.first == nil {
		first := *bad
		first.Raw = nil // it belongs to the reader
		s.first = &first
	}
	if s.hint == "" {
		s.hint = bad.Hint
	}
	if s.buffer, err = checkpoint.AppendReject(s.buffer, bad); err != nil {
		return err
	}
	if len(s.buffer) >= rejectBuffer {
		if err := s.flush(); err != nil {
			return fmt.Errorf("keep rejected records: %w", err)
		}
	}
	if s.limit.Percent == 0 && s.at.Records > s.limit.Count {
		return &ingest.LimitError{Limit: s.limit, Rejects: s.at.Records, First: *s.first, Hint: s.hint}
	}
	return nil
}

func (s *rejectSink) flush() (err error) {
	if len(s.buffer) == 0 {
		return nil
	}
	if s.out == nil {
		if s.out, err = s.fs.Create(s.path(rejectsName), filePerm); err != nil {
			return err
		}
	}
	n, err := s.out.Write(s.buffer)
	s.at.Bytes += int64(n)
	s.at.Sum = crc32.Update(s.at.Sum, castagnoli, s.buffer[:n])
	s.buffer = s.buffer[:0]
	return err
}

// Count is the number of rejects.
func (s *rejectSink) Count() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at.Records
}

// Close completes the log. The driver checks whether all tasks together have too many rejects.
func (s *rejectSink) Close(int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.flush()
	if s.out == nil {
		return err
	}
	if err != nil {
		return errors.Join(err, s.out.Abort())
	}
	return s.out.Close()
}

// replay passes on the rejects of a log, which must be unchanged.
func (l *rejectLog) replay(at folder, of *source.Source, sink entry.Rejects) error {
	f, err := l.open(at)
	if err != nil {
		return err
	}
	defer f.Close()
	return checkpoint.ReplayRejects(io.NewSectionReader(f, 0, l.Bytes), at.uri(rejectsName), of, sink)
}

// check reads the log: it must be as it was written.
func (l *rejectLog) check(at folder) error {
	f, err := l.open(at)
	if err != nil {
		return err
	}
	return f.Close()
}

// open opens the log if it is as it was written.
func (l *rejectLog) open(at folder) (storage.File, error) {
	f, err := at.fs.Open(at.path(rejectsName))
	if err != nil {
		return nil, fmt.Errorf("read the rejects of a task: %w", err)
	}
	sum := crc32.New(castagnoli)
	if n, err := io.Copy(sum, f); err != nil {
		return nil, errors.Join(fmt.Errorf("read the rejects of a task: %w", err), f.Close())
	} else if n != l.Bytes || sum.Sum32() != l.Sum {
		return nil, errors.Join(fmt.Errorf("%w: %s has changed", errNoDocument, at.uri(rejectsName)), f.Close())
	}
	return f, nil
}
