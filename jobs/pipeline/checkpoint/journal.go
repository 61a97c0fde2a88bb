package checkpoint

// A journal is a file to which lines are appended one by one, and from which a later process can continue after a kill.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strconv"
	"sync"
)

// Journal is an open journal. A line is:
//
//	8 hex digits   CRC32C of number, space and text
//	space
//	number         the line's number, decimal, from 1
//	space
//	text           JSON, without line breaks
//	LF
//
// The checksum finds lines that were changed, the number lines that were exchanged, repeated or lost. A process that
// dies while it writes leaves half a line at the end, which counts as never written.
//
// Invariant: what a line describes is completely written before the line is appended. So a reader may trust every whole
// line, and whatever no line names is garbage. A line written too early would make the next process skip input whose
// sorted rows were never stored.
//
// A line has neither a version nor a length: a reader finds lines by LF, which JSON writes as \n within a string. The
// journal does not interpret the texts: the first one (Header) says what they mean and which program may read them.
type Journal struct {
	mu    sync.Mutex
	file  *os.File
	lines int
	err   error // the first error; nothing is written after it
}

const sumLen = 9 // the checksum and its space; the checksum covers the rest

// limit bounds the bytes that Open reads, and with them its memory. What follows is cut off, as if it had never been
// written. That loses work, but no rows: a kill at that moment would have left the same lines, and the input of the
// other lines is read again. Only tests change it.
var limit int64 = 1 << 30

// ErrDamaged means that a line other than the last one was changed or moved after it was written.
var ErrDamaged = errors.New("the journal is damaged")

// CreateJournal creates a journal, which must not exist.
func CreateJournal(name string) (*Journal, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return &Journal{file: f}, nil
}

// OpenJournal opens a journal to continue it, and returns the texts of its lines. Everything after the last whole line
// is cut off: the next line would otherwise be appended to half a line, and both would be lost.
//
// The caller must hold a lock that keeps other writers away (checkpoint's flock). Nothing is cut off a damaged journal:
// it stays as it is, and the caller decides.
func OpenJournal(name string) (*Journal, [][]byte, error) {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	content, err := io.ReadAll(io.LimitReader(f, limit))
	var lines [][]byte
	if err == nil {
		var whole int
		// Only the bytes of whole lines stay.
		if lines, whole, err = parseJournal(content); err == nil {
			err = f.Truncate(int64(whole))
		}
		if err == nil {
			_, err = f.Seek(int64(whole), io.SeekStart)
		}
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("read %s: %w", name, err), f.Close())
	}
	return &Journal{file: f, lines: len(lines)}, lines, nil
}

// parseJournal returns the texts of the whole lines, and their total length. Only the last line may be bad, because a
// kill can't damage earlier ones. A bad line before a whole one, or a number out of sequence, means that the disk or
// somebody has changed the file: nothing in it is trusted then.
func parseJournal(content []byte) (lines [][]byte, whole int, err error) {
	bad := false
	for at := 0; at < len(content); {
		end := bytes.IndexByte(content[at:], '\n')
		if end < 0 {
			break
		}
		number, text, ok := parseLine(content[at : at+end])
		at += end + 1
		switch {
		case !ok:
			bad = true
		// A whole line after a bad one, which no kill leaves.
		case bad:
			return nil, 0, ErrDamaged
		// Each checksum is right, but lines are missing, doubled or exchanged.
		case number != len(lines)+1:
			return nil, 0, fmt.Errorf("%w: line %d is where line %d should be", ErrDamaged, number, len(lines)+1)
		default:
			lines, whole = append(lines, text), at
		}
	}
	if bad && len(lines) == 0 {
		return nil, 0, ErrDamaged // its only line is whole, and not one of ours
	}
	return lines, whole, nil
}

// parseLine returns a line's number and text; false if its checksum does not match.
func parseLine(line []byte) (number int, text []byte, ok bool) {
	if len(line) < sumLen {
		return 0, nil, false
	}
	numbered := line[sumLen:]
	if fmt.Sprintf("%08x ", crc32.Checksum(numbered, castagnoli)) != string(line[:sumLen]) {
		return 0, nil, false
	}
	digits, text, ok := bytes.Cut(numbered, []byte{' '})
	number, err := strconv.Atoi(string(digits))
	return number, text, ok && err == nil
}

// formatLine formats a line, with its line break, for parseLine.
func formatLine(number int, text []byte) []byte {
	numbered := append(strconv.AppendInt(nil, int64(number), 10), ' ')
	numbered = append(numbered, text...)
	return fmt.Appendf(nil, "%08x %s\n", crc32.Checksum(numbered, castagnoli), numbered)
}

// Cut removes all lines after the given ones, which must be the journal's first. The numbers of later lines continue
// from there.
//
// Only a whole tail may go: lines after a gap would have wrong numbers, and the next Open would refuse the file. A kill
// in Cut leaves either all lines or the given ones, since one truncation does it.
func (j *Journal) Cut(lines [][]byte) error {
	var size int64
	for i, text := range lines {
		size += int64(len(formatLine(i+1, text)))
	}
	j.lines = len(lines)
	_, err := j.file.Seek(size, io.SeekStart)
	return errors.Join(j.file.Truncate(size), err)
}

// Append appends a value as a line. It may be called from several goroutines. After an error nothing more is written:
// the failed line may be half written, and another line after it would make the journal a damaged one.
//
// The file is not synced. A killed process loses nothing that way, since the kernel has the bytes. A crash of the
// machine may lose some; Header.Boot tells the next process that one has happened.
//
// Each line is one write that ends with its LF, so a kill leaves a whole line or one without LF. A failed write uses up
// the number too, which does no harm because no line follows it.
func (j *Journal) Append(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return j.err
	}
	j.lines++
	_, j.err = j.file.Write(formatLine(j.lines, text))
	return j.err
}

// Close closes the file.
func (j *Journal) Close() error { return j.file.Close() }
