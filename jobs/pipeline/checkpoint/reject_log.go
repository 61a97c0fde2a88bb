package checkpoint

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"bulkload/ingest"
	"bulkload/jobs/pipeline/entry"
	"bulkload/jobs/pipeline/source"
)

// RejectLog passes a goroutine's rejects on, and copies those since the last checkpoint for the next one: in memory or,
// if there are many, in a file beside the sorted runs.
//
// A checkpoint covers rejects as it covers rows. Input before it is not read again, so its rejects must be replayed
// from the copy. Rejects after it are found again, so their copies must not be replayed.
type RejectLog struct {
	entry.RejectSink
	store  *RunStore // nil: no copy
	name   string    // of the file
	file   *os.File
	from   int64 // offset in the file of the first one since the last checkpoint
	copied RejectWriter
}

// rejectSpan is a range of a log that contains whole rejects.
type rejectSpan struct {
	File string `json:"file"`
	From int64  `json:"from"`
	To   int64  `json:"to"`
	Sum  uint32 `json:"sum"` // CRC32C
}

// NewRejectLog passes the rejects of one goroutine on to sink. If k is nil, nothing is copied.
func NewRejectLog(k *RunStore, sink entry.RejectSink, number int) *RejectLog {
	l := &RejectLog{RejectSink: sink, store: k, name: fmt.Sprintf("rejects-%03d", number)}
	l.copied.Open = l.open
	return l
}

// Add passes a reject on and copies it.
func (l *RejectLog) Add(bad *ingest.BadRecord) error {
	// The reject files come first: if there are too many rejects, the run ends and needs no copy.
	if err := l.RejectSink.Add(bad); err != nil || l.store == nil {
		return err
	}
	return l.copied.Add(bad)
}

// open opens the file to append to it. Bytes that a killed process wrote after its last checkpoint stay in the file; no
// span names them.
func (l *RejectLog) open() (io.Writer, error) {
	if err := l.store.Begin(); err != nil {
		return nil, err
	}
	var err error
	if l.file, err = os.OpenFile(filepath.Join(l.store.dir, l.name), os.O_WRONLY|os.O_CREATE, 0o600); err != nil {
		return nil, err
	}
	l.from, err = l.file.Seek(0, io.SeekEnd)
	return l.file, err
}

// CutSpan ends the current span and returns it; nil if there were no rejects since the last one. The span's bytes are
// in the file when it returns.
func (l *RejectLog) CutSpan() (*rejectSpan, error) {
	if err := l.copied.Flush(); err != nil {
		return nil, err
	}
	n, sum := l.copied.Written()
	if n == 0 {
		return nil, nil
	}
	span := &rejectSpan{l.name, l.from, l.from + n, sum}
	// The next span begins where this one ends, so no reject is in two spans.
	l.from = span.To
	l.copied.Cut()
	return span, nil
}

// CloseFile closes the file of copies, but not the sink.
func (l *RejectLog) CloseFile() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}

// checkRejects compares a span with its checksum.
func (k *RunStore) checkRejects(span *rejectSpan) error {
	f, err := os.Open(filepath.Join(k.dir, filepath.Base(span.File)))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	// A span that is too short is as bad as a changed one: the log may not have reached the disk.
	n, sum, err := SumRejects(io.NewSectionReader(f, span.From, span.To-span.From))
	if err == nil && (n != span.To-span.From || sum != span.Sum) {
		err = fmt.Errorf("%s has changed", f.Name())
	}
	return err
}

// Replay passes the rejects of a span to a sink.
func (k *RunStore) Replay(span *rejectSpan, sink entry.RejectSink) error {
	f, err := os.Open(filepath.Join(k.dir, filepath.Base(span.File)))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	return ReplayRejects(io.NewSectionReader(f, span.From, span.To-span.From),
		fmt.Sprintf("%s from byte %d on", f.Name(), span.From), k.source, sink)
}

// ReplayRejects passes the rejects of a log, which a RejectWriter has written, on to a sink. name is the log in errors.
func ReplayRejects(log io.Reader, name string, of *source.Source, sink entry.RejectSink) error {
	in := bufio.NewReader(log)
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s, reject %d: %w", name, n, err)
		}
		bad, err := parseReject(bytes.TrimSuffix(line, []byte{'\n'}), of)
		if err != nil {
			return fmt.Errorf("read %s, reject %d: %w", name, n, err)
		}
		if err := sink.Add(bad); err != nil {
			return err
		}
	}
}

func parseReject(line []byte, of *source.Source) (*ingest.BadRecord, error) {
	var r loggedReject
	if err := json.Unmarshal(line, &r); err != nil {
		return nil, err
	}
	if r.File < 0 || r.File >= len(of.Files) {
		return nil, errors.New("it names no file of the input")
	}
	position := ingest.PositionIn(of.FS, of.Files[r.File], r.Offset, r.Number)
	position.Heading, position.Rows = string(r.Heading), r.Rows
	return &ingest.BadRecord{Position: position, Column: r.Column, Value: string(r.Value), Reason: r.Reason, Hint: r.Hint,
		Raw: r.Raw, Code: r.Code}, nil
}
