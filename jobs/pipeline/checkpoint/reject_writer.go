package checkpoint

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"

	"bulkload/ingest"
	"bulkload/internal/errcode"
	"bulkload/internal/poison"
)

// RejectWriter writes rejects to a log, from which ReplayRejects reads them. It writes all such logs: those that a
// killed run leaves for the next process (RejectLog), and those that map tasks leave for their driver. It is not safe
// for concurrent use.
type RejectWriter struct {
	Open func() (io.Writer, error) // the log; called when the first rejects are written

	log    io.Writer
	buffer []byte
	bytes  int64 // written since the last Cut
	sum    uint32
}

// rejectBuffer is how many bytes of rejects are held in memory before they are written.
const rejectBuffer = 1 << 20

var castagnoli = crc32.MakeTable(crc32.Castagnoli) // the same table in all packages

// loggedReject is a line of the log. Only the program that wrote a log reads it, so its form may change.
type loggedReject struct {
	File    int          `json:"f"` // ordinal
	Offset  int64        `json:"o"`
	Number  int64        `json:"n,omitempty"`
	Column  string       `json:"c,omitempty"`
	Value   []byte       `json:"v,omitempty"` // bytes, since it need not be UTF-8
	Reason  string       `json:"r"`
	Code    errcode.Code `json:"k,omitempty"`
	Hint    string       `json:"h,omitempty"`
	Heading []byte       `json:"head,omitempty"`
	Rows    bool         `json:"rows,omitempty"`
	Raw     []byte       `json:"raw"`
}

// Add adds a reject to the log. It is in the log only after Flush.
func (w *RejectWriter) Add(bad *ingest.BadRecord) error {
	line, err := json.Marshal(loggedReject{File: bad.File.Ordinal, Offset: bad.Offset,
		Number: bad.Number, Column: bad.Column,
		Value: []byte(bad.Value), Reason: bad.Reason, Code: bad.Code, Hint: bad.Hint, Heading: []byte(bad.Heading),
		Rows: bad.Rows, Raw: bad.Raw})
	if err != nil {
		return fmt.Errorf("keep a rejected record: %w", err)
	}
	w.buffer = append(append(w.buffer, line...), '\n')
	if len(w.buffer) < rejectBuffer {
		return nil
	}
	return w.Flush()
}

// Flush writes the rejects that are still in memory.
func (w *RejectWriter) Flush() (err error) {
	if len(w.buffer) == 0 {
		return nil
	}
	if w.log == nil {
		if w.log, err = w.Open(); err != nil {
			return fmt.Errorf("keep rejected records: %w", err)
		}
	}
	n, err := w.log.Write(w.buffer)
	w.bytes += int64(n)
	w.sum = crc32.Update(w.sum, castagnoli, w.buffer[:n])
	poison.Bytes(w.buffer)
	w.buffer = w.buffer[:0]
	if err != nil {
		return fmt.Errorf("keep rejected records: %w", err)
	}
	return nil
}

// Written returns the number of bytes written since the last Cut, and their checksum (CRC32C).
func (w *RejectWriter) Written() (bytes int64, sum uint32) { return w.bytes, w.sum }

// Cut begins a new part of the log, for Written.
func (w *RejectWriter) Cut() { w.bytes, w.sum = 0, 0 }

// SumRejects reads a log, or a part of one, and returns its size and checksum, which equal those of Written if it is
// unchanged.
func SumRejects(log io.Reader) (bytes int64, sum uint32, err error) {
	h := crc32.New(castagnoli)
	bytes, err = io.Copy(h, log)
	return bytes, h.Sum32(), err
}
