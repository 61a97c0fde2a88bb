package jobs

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

// A journal is a file of lines that are appended one by one: the CRC32C of a JSON text in 8 hex digits, a space, the text. A
// process that dies while it writes leaves half a line at the end, which counts as never written.
type journal struct {
	mu   sync.Mutex
	file *os.File
	err  error // that ended the writing
}

const (
	journalPrefix = 9 // bytes before a line's text
	journalLimit  = 1 << 30
)

var (
	errJournal = errors.New("the journal is damaged")
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// createJournal begins a journal, which must not be there.
func createJournal(name string) (*journal, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return &journal{file: f}, nil
}

// openJournal goes on with a journal and gives the texts of its lines. What stands behind the last whole line is cut off.
func openJournal(name string) (*journal, [][]byte, error) {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	content, err := io.ReadAll(io.LimitReader(f, journalLimit))
	var lines [][]byte
	if err == nil {
		var whole int
		if lines, whole, err = journalLines(content); err == nil {
			err = f.Truncate(int64(whole))
		}
		if err == nil {
			_, err = f.Seek(int64(whole), io.SeekStart)
		}
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("read %s: %w", name, err), f.Close())
	}
	return &journal{file: f}, lines, nil
}

// journalLines are the texts of the lines, and how many bytes they take. A bad line is an error where whole ones follow.
func journalLines(content []byte) (lines [][]byte, whole int, err error) {
	bad := false
	for at := 0; at < len(content); {
		end := bytes.IndexByte(content[at:], '\n')
		if end < 0 {
			break
		}
		text, ok := journalText(content[at : at+end])
		at += end + 1
		switch {
		case !ok:
			bad = true
		case bad:
			return nil, 0, errJournal
		default:
			lines, whole = append(lines, text), at
		}
	}
	return lines, whole, nil
}

// journalText is a line's text; false where its checksum is another.
func journalText(line []byte) ([]byte, bool) {
	if len(line) < journalPrefix {
		return nil, false
	}
	text := line[journalPrefix:]
	return text, fmt.Sprintf("%08x ", crc32.Checksum(text, castagnoli)) == string(line[:journalPrefix])
}

// cut drops the lines behind those.
func (j *journal) cut(lines [][]byte) error {
	var size int64
	for _, text := range lines {
		size += int64(journalPrefix + len(text) + 1)
	}
	_, err := j.file.Seek(size, io.SeekStart)
	return errors.Join(j.file.Truncate(size), err)
}

// append writes a line. After an error nothing more is written.
func (j *journal) append(v any) error {
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

func (j *journal) close() error { return j.file.Close() }
