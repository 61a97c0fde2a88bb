package ingest

import (
	"bytes"
	"fmt"
	"io"

	"bulkload/internal/storage"
)

// countChunk is how many bytes are read at a time to count the records in them.
const countChunk = 1 << 20

// recordCounter counts the records of a file that begin before an offset, which must itself begin a record. It
// continues from one offset to the next.
type recordCounter struct {
	file      storage.File
	delimiter []byte
	buf       []byte
	at        int64
	count     int64
}

func (c *recordCounter) before(offset int64) (int64, error) {
	if c.buf == nil {
		c.buf = make([]byte, countChunk)
	}
	kept := 0 // bytes at the front of buf that may begin a delimiter
	for c.at < offset {
		n := int(min(int64(len(c.buf)-kept), offset-c.at))
		if got, err := c.file.ReadAt(c.buf[kept:kept+n], c.at); got < n {
			if err == nil || err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return 0, fmt.Errorf("count records up to byte %d: %w", offset, err)
		}
		c.at += int64(n)
		window := c.buf[:kept+n]
		c.count += int64(bytes.Count(window, c.delimiter))
		if last := bytes.LastIndex(window, c.delimiter); last >= 0 {
			window = window[last+len(c.delimiter):]
		}
		kept = copy(c.buf, window[max(0, len(window)-len(c.delimiter)+1):])
	}
	return c.count, nil
}

// recordNumbering assigns record numbers to rejects that come in order of file and offset.
type recordNumbering struct {
	delimiter []byte
	path      string
	counter   *recordCounter
}

// numberAt returns the number of the record at offset. It is 0 if the file can't be read again; the reject is reported
// all the same.
func (n *recordNumbering) numberAt(in input, offset int64) int64 {
	if n.counter == nil || n.path != in.file.Path {
		n.close()
		if in.fsys == nil {
			return 0
		}
		f, err := in.fsys.Open(in.file.Path)
		if err != nil {
			return 0
		}
		n.path, n.counter = in.file.Path, &recordCounter{file: f, delimiter: n.delimiter}
	}
	before, err := n.counter.before(offset)
	if err != nil {
		n.close()
		return 0
	}
	return before + 1
}

func (n *recordNumbering) close() {
	if n.counter != nil {
		n.counter.file.Close() // it was only read
		n.counter = nil
	}
}
