// Package journal is a file of lines that are appended one by one, from which a process that was killed can be gone on with.
package journal

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

// Journal is a journal that is being written. A line is a CRC32C in 8 hex digits, a space, the line's number from 1, a
// space, and a JSON text; the CRC is that of the number, the space and the text. So lines that are exchanged, missing or
// there twice are found, as changed ones are. A process that dies while it writes leaves half a line at the end, which
// counts as never written.
type Journal struct {
	mu    sync.Mutex
	file  *os.File
	lines int
	err   error // that ended the writing
}

const (
	sumLen = 9 // bytes before what a line's checksum is of
	limit  = 1 << 30
)

// ErrDamaged says that a line that is not the last one is not as it was written, or not in its place.
var ErrDamaged = errors.New("the journal is damaged")

var castagnoli = crc32.MakeTable(crc32.Castagnoli) // the same table in all packages

// Create begins a journal, which must not be there.
func Create(name string) (*Journal, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return &Journal{file: f}, nil
}

// Open goes on with a journal and gives the texts of its lines. What stands behind the last whole line is cut off.
func Open(name string) (*Journal, [][]byte, error) {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	content, err := io.ReadAll(io.LimitReader(f, limit))
	var lines [][]byte
	if err == nil {
		var whole int
		if lines, whole, err = parseLines(content); err == nil {
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

// parseLines are the texts of the lines, and how many bytes they take. A bad line is an error where whole ones follow, and
// so is a whole one that is not in its place.
func parseLines(content []byte) (lines [][]byte, whole int, err error) {
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
		case bad:
			return nil, 0, ErrDamaged
		case number != len(lines)+1:
			return nil, 0, fmt.Errorf("%w: line %d is where line %d should be", ErrDamaged, number, len(lines)+1)
		default:
			lines, whole = append(lines, text), at
		}
	}
	return lines, whole, nil
}

// parseLine is a line's number and text; false where its checksum is another.
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

// formatLine is what checkpoint.ParseLine reads, with the end of the line.
func formatLine(number int, text []byte) []byte {
	numbered := append(strconv.AppendInt(nil, int64(number), 10), ' ')
	numbered = append(numbered, text...)
	return fmt.Appendf(nil, "%08x %s\n", crc32.Checksum(numbered, castagnoli), numbered)
}

// Cut drops the lines behind those.
func (j *Journal) Cut(lines [][]byte) error {
	var size int64
	for i, text := range lines {
		size += int64(len(formatLine(i+1, text)))
	}
	j.lines = len(lines)
	_, err := j.file.Seek(size, io.SeekStart)
	return errors.Join(j.file.Truncate(size), err)
}

// Append writes a value as a line. It may be called from several goroutines. After an error nothing more is written.
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
