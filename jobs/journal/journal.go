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
	"sync"
)

// Journal is a journal that is being written. A line is the CRC32C of a JSON text in 8 hex digits, a space, the text. A
// process that dies while it writes leaves half a line at the end, which counts as never written.
type Journal struct {
	mu   sync.Mutex
	file *os.File
	err  error // that ended the writing
}

const (
	prefix = 9 // bytes before a line's text
	limit  = 1 << 30
)

// ErrDamaged says that a line that is not the last one is not as it was written.
var ErrDamaged = errors.New("the journal is damaged")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

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
	return &Journal{file: f}, lines, nil
}

// parseLines are the texts of the lines, and how many bytes they take. A bad line is an error where whole ones follow.
func parseLines(content []byte) (lines [][]byte, whole int, err error) {
	bad := false
	for at := 0; at < len(content); {
		end := bytes.IndexByte(content[at:], '\n')
		if end < 0 {
			break
		}
		text, ok := lineText(content[at : at+end])
		at += end + 1
		switch {
		case !ok:
			bad = true
		case bad:
			return nil, 0, ErrDamaged
		default:
			lines, whole = append(lines, text), at
		}
	}
	return lines, whole, nil
}

// lineText is a line's text; false where its checksum is another.
func lineText(line []byte) ([]byte, bool) {
	if len(line) < prefix {
		return nil, false
	}
	text := line[prefix:]
	return text, fmt.Sprintf("%08x ", crc32.Checksum(text, castagnoli)) == string(line[:prefix])
}

// Cut drops the lines behind those.
func (j *Journal) Cut(lines [][]byte) error {
	var size int64
	for _, text := range lines {
		size += int64(prefix + len(text) + 1)
	}
	_, err := j.file.Seek(size, io.SeekStart)
	return errors.Join(j.file.Truncate(size), err)
}

// Append writes a value as a line. It may be called from several goroutines. After an error nothing more is written.
func (j *Journal) Append(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	line := fmt.Appendf(nil, "%08x %s\n", crc32.Checksum(text, castagnoli), text)
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return j.err
	}
	_, j.err = j.file.Write(line)
	return j.err
}

// Close closes the file.
func (j *Journal) Close() error { return j.file.Close() }
