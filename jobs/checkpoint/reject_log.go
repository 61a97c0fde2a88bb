package checkpoint

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"bulkload/ingest"
	"bulkload/jobs/entry"
)

// RejectLog passes a goroutine's rejects on, and keeps a copy of those since the last checkpoint for the next one: in
// memory, and where they are many in a file beside the sorted runs.
type RejectLog struct {
	entry.Rejects
	keeper *Keeper // nil: no copy is kept
	name   string  // of the file
	file   *os.File
	from   int64  // in the file, where those since the last checkpoint begin
	at     int64  // its length
	sum    uint32 // CRC32C of what was written since then
	buffer []byte
}

const rejectBuffer = 1 << 20

var castagnoli = crc32.MakeTable(crc32.Castagnoli) // the same table in all packages

// rejectSpan is a part of a log, with whole rejects.
type rejectSpan struct {
	File string `json:"file"`
	From int64  `json:"from"`
	To   int64  `json:"to"`
	Sum  uint32 `json:"sum"` // CRC32C
}

// loggedReject is a line of the log.
type loggedReject struct {
	File    int    `json:"f"` // ordinal
	Offset  int64  `json:"o"`
	Number  int64  `json:"n,omitempty"`
	Column  string `json:"c,omitempty"`
	Reason  string `json:"r"`
	Hint    string `json:"h,omitempty"`
	Heading []byte `json:"head,omitempty"`
	Rows    bool   `json:"rows,omitempty"`
	Raw     []byte `json:"raw"`
}

// NewRejectLog passes the rejects of one goroutine on to sink. k is nil where no copy is kept.
func NewRejectLog(k *Keeper, sink entry.Rejects, lane int) *RejectLog {
	return &RejectLog{Rejects: sink, keeper: k, name: fmt.Sprintf("rejects-%03d", lane)}
}

// Add takes a reject.
func (l *RejectLog) Add(bad *ingest.BadRecord) error {
	if err := l.Rejects.Add(bad); err != nil || l.keeper == nil {
		return err
	}
	line, err := json.Marshal(loggedReject{File: bad.File.Ordinal, Offset: bad.Offset, Number: bad.Number, Column: bad.Column,
		Reason: bad.Reason, Hint: bad.Hint, Heading: []byte(bad.Heading), Rows: bad.Rows, Raw: bad.Raw})
	if err != nil {
		return err
	}
	l.buffer = append(append(l.buffer, line...), '\n')
	if len(l.buffer) < rejectBuffer {
		return nil
	}
	return l.flush()
}

// flush writes the buffer behind what is in the file: also what a process has left there that was killed before its next
// checkpoint.
func (l *RejectLog) flush() (err error) {
	if len(l.buffer) == 0 {
		return nil
	}
	if err := l.keeper.Begin(); err != nil {
		return err
	}
	if l.file == nil {
		if l.file, err = os.OpenFile(filepath.Join(l.keeper.dir, l.name), os.O_WRONLY|os.O_CREATE, 0o600); err != nil {
			return err
		}
		if l.at, err = l.file.Seek(0, io.SeekEnd); err != nil {
			return err
		}
		l.from = l.at
	}
	l.sum = crc32.Update(l.sum, castagnoli, l.buffer)
	n, err := l.file.Write(l.buffer)
	l.at += int64(n)
	l.buffer = l.buffer[:0]
	return err
}

// Settle gives the rejects since the last checkpoint; nil where there were none.
func (l *RejectLog) Settle() (*rejectSpan, error) {
	if err := l.flush(); err != nil {
		return nil, err
	}
	if l.from == l.at {
		return nil, nil
	}
	span := &rejectSpan{l.name, l.from, l.at, l.sum}
	l.from, l.sum = l.at, 0
	return span, nil
}

// CloseFile closes the copy, not the rejects themselves.
func (l *RejectLog) CloseFile() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}

// checkRejects holds a log's part against its checksum.
func (k *Keeper) checkRejects(span *rejectSpan) error {
	f, err := os.Open(filepath.Join(k.dir, filepath.Base(span.File)))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	sum := crc32.New(castagnoli)
	n, err := io.Copy(sum, io.NewSectionReader(f, span.From, span.To-span.From))
	if err == nil && (n != span.To-span.From || sum.Sum32() != span.Sum) {
		err = fmt.Errorf("%s has changed", f.Name())
	}
	return err
}

// Replay gives the rejects of a log's part to a sink.
func (k *Keeper) Replay(span *rejectSpan, sink entry.Rejects) error {
	f, err := os.Open(filepath.Join(k.dir, filepath.Base(span.File)))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	in := bufio.NewReader(io.NewSectionReader(f, span.From, span.To-span.From))
	for at := span.From; at < span.To; {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("read %s at byte %d: %w", f.Name(), at, err)
		}
		bad, err := k.parseReject(bytes.TrimSuffix(line, []byte{'\n'}))
		if err != nil {
			return fmt.Errorf("read %s at byte %d: %w", f.Name(), at, err)
		}
		if err := sink.Add(bad); err != nil {
			return err
		}
		at += int64(len(line))
	}
	return nil
}

func (k *Keeper) parseReject(line []byte) (*ingest.BadRecord, error) {
	var r loggedReject
	if err := json.Unmarshal(line, &r); err != nil {
		return nil, err
	}
	if r.File < 0 || r.File >= len(k.source.Files) {
		return nil, errors.New("it names no file of the input")
	}
	position := ingest.PositionIn(k.source.FS, k.source.Files[r.File], r.Offset, r.Number)
	position.Heading, position.Rows = string(r.Heading), r.Rows
	return &ingest.BadRecord{Position: position, Column: r.Column, Reason: r.Reason, Hint: r.Hint, Raw: r.Raw}, nil
}
