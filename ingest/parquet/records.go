package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"bulkload/ingest"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/values"
)

const (
	separator = '\x01'
	nullText  = `\N`

	// maxWholeChunk is the longest column chunk that is read from the file that all columns share. A longer one gets
	// its own open file, because on HDFS a file is a stream from a DataNode that switching between columns would break
	// off each time.
	maxWholeChunk = readAhead
)

// records reads the rows of the row groups of a split.
type records struct {
	form    *FlatForm
	fsys    storage.FS
	split   ingest.Split
	file    storage.File // shared by the columns, for chunks that are read at once
	groups  []rowGroup   // of the split, in the order of the file
	cursors []cursor
	byRow   bool // text is checked a row at a time, because every field of a row must be UTF-8

	group   int // the next one
	rows    int64
	row     int64 // in the current row group
	passed  int64 // bytes of the row groups already read
	scratch []byte
	unpack  unpacker

	line   []byte // the row as text
	spans  []span // of its fields in line
	raw    []byte // the row with escapes, if it needs some
	record ingest.Record
	err    error
}

// span is the position of a field; start is -1 for a null.
type span struct{ start, end int }

// newRecords returns the records of a split. They own the file.
func newRecords(f *FlatForm, fsys storage.FS, file storage.File, foot *footer, split ingest.Split) *records {
	r := &records{form: f, fsys: fsys, split: split, file: file, cursors: make([]cursor, len(foot.columns)),
		spans: make([]span, len(foot.columns)), line: make([]byte, 0, 1<<10)} // not nil: an empty value is not null
	for _, g := range foot.groups {
		if m := g.middle(); g.rows > 0 && m >= split.Start && m < split.End {
			r.groups = append(r.groups, g)
		}
	}
	r.byRow = !slices.ContainsFunc(foot.columns, func(c column) bool { return c.kind.shape == binaryBytes })
	for i := range r.cursors {
		c := &r.cursors[i]
		c.column = foot.columns[i]
		c.init(&r.unpack, &r.scratch)
		if r.err == nil {
			c.appendText, r.err = c.newFormat(f, foot.legacy, r.byRow)
			r.err = r.locate(c, r.err)
		}
	}
	r.record.Fields = make([]values.Value, len(r.cursors))
	return r
}

// Next returns the next row.
func (r *records) Next() (*ingest.Record, error) {
	r.record.End(&r.line, &r.raw)
	if r.err != nil {
		return nil, r.err
	}
	if r.row == r.rows {
		if r.err = r.beginGroup(); r.err != nil {
			return nil, r.err
		}
	}
	bad, problem, err := r.readRow()
	if err != nil {
		r.err = err
		return nil, err
	}
	number := r.groups[r.group-1].first + r.row
	r.record.Position = ingest.PositionIn(r.fsys, r.split.File, number, number+1)
	r.record.Rows = true
	r.row++
	r.cut()
	if bad >= 0 {
		return nil, &ingest.BadRecord{Position: r.record.Position, Column: r.cursors[bad].name, Reason: problem,
			Raw: r.record.Raw, Code: errcode.RejectType}
	}
	return &r.record, nil
}

// readRow appends the row's fields to line, each after a separator, and returns the first invalid one; -1: none.
func (r *records) readRow() (bad int, problem string, err error) {
	bad = -1
	line := r.line[:0]
	for i := range r.cursors {
		c := &r.cursors[i]
		if c.at == c.n {
			if err := r.fill(c); err != nil {
				return bad, "", err
			}
		}
		if i > 0 {
			line = append(line, separator)
		}
		if c.levels != nil && c.levels[c.at] == 0 {
			line = append(line, nullText...)
			r.spans[i] = span{start: -1}
		} else {
			start := len(line)
			var wrong string
			if line, wrong = c.appendText(line, c.value); wrong != "" && bad < 0 {
				bad, problem = i, wrong
			}
			r.spans[i] = span{start, len(line)}
			c.value++
		}
		c.at++
	}
	r.line = line
	if bad < 0 && r.byRow && !utf8.Valid(line) {
		bad, problem = r.invalid()
	}
	return bad, problem, nil
}

// invalid is the first field that is not UTF-8, and the position of its first wrong byte.
func (r *records) invalid() (bad int, problem string) {
	for i, s := range r.spans {
		if s.start >= 0 && !utf8.Valid(r.line[s.start:s.end]) {
			return i, notUTF8(r.line[s.start:s.end])
		}
	}
	return -1, ""
}

// cut makes the fields of the record views of line. As a reject the record is line itself, unless values contain
// characters that have a meaning in the rejects.
func (r *records) cut() {
	nulls := 0
	for i, s := range r.spans {
		if s.start < 0 {
			r.record.Fields[i] = values.Value{}
			nulls++
			continue
		}
		r.record.Fields[i] = values.ValueOf(r.line[s.start:s.end:s.end])
	}
	r.record.Raw = r.line
	if bytes.Count(r.line, []byte{separator}) != len(r.spans)-1 || bytes.Count(r.line, []byte{'\\'}) != nulls ||
		bytes.IndexByte(r.line, '\n') >= 0 {
		r.record.Raw = r.escaped()
	}
}

// escaped is the row with a backslash before everything that would be read as a delimiter, an escape or a null.
func (r *records) escaped() []byte {
	raw := r.raw[:0]
	for i, field := range r.record.Fields {
		if i > 0 {
			raw = append(raw, separator)
		}
		if field.Null() {
			raw = append(raw, nullText...)
			continue
		}
		for _, b := range field.Bytes() {
			if b == separator || b == '\n' || b == '\\' {
				raw = append(raw, '\\')
			}
			raw = append(raw, b)
		}
	}
	r.raw = raw
	return raw
}

// fill decodes a column's next batch. The decoders panic on unexpected data.
func (r *records) fill(c *cursor) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = r.locate(c, fmt.Errorf("its values are damaged (%v)", p))
		}
	}()
	if err := c.fill(); err != nil {
		return r.locate(c, err)
	}
	return nil
}

// locate adds the row group and column to an error.
func (r *records) locate(c *cursor, err error) error {
	if err == nil {
		return nil
	}
	return damagedUnlessRefused("read %s, row group at row %d, column %s: %w", r.split.File, r.firstRow(), c.name, err)
}

func (r *records) firstRow() int64 {
	if len(r.groups) == 0 {
		return 0
	}
	return r.groups[max(r.group-1, 0)].first
}

// beginGroup moves to the next row group.
func (r *records) beginGroup() error {
	if r.group > 0 {
		r.passed += r.groups[r.group-1].size
	}
	if r.group == len(r.groups) {
		r.rows, r.row = 0, 0
		return io.EOF
	}
	g := &r.groups[r.group]
	r.group++
	r.rows, r.row = g.rows, 0
	for i := range r.cursors {
		c := &r.cursors[i]
		file, err := r.fileFor(c, g.chunks[i])
		if err == nil {
			err = c.begin(file, g.chunks[i], g.rows)
		}
		if err != nil {
			return r.locate(c, err)
		}
	}
	return nil
}

// fileFor returns the file from which to read a chunk.
func (r *records) fileFor(c *cursor, at chunk) (storage.File, error) {
	if at.end-at.start <= maxWholeChunk {
		return r.file, nil
	}
	if c.file == nil {
		file, err := r.fsys.Open(r.split.File.Path)
		if err != nil {
			return nil, err
		}
		c.file = file
		if file.Size() != r.split.File.Size {
			return nil, errcode.InputChanged.Errorf("the file had %d bytes when it was listed and has %d now",
				r.split.File.Size, file.Size())
		}
	}
	return c.file, nil
}

// Bytes is the number of bytes of the split that have been consumed, estimated from the share of its rows.
func (r *records) Bytes() int64 {
	all := r.split.End - r.split.Start
	if r.group == len(r.groups) && r.row == r.rows {
		return all
	}
	at := r.passed
	if r.group > 0 && r.rows > 0 {
		at += int64(float64(r.groups[r.group-1].size) * float64(r.row) / float64(r.rows))
	}
	return min(at, all)
}

// Close closes the files.
func (r *records) Close() error {
	r.err = errClosed
	r.record.End(&r.line, &r.raw)
	r.unpack.close()
	err := r.file.Close()
	for i := range r.cursors {
		if f := r.cursors[i].file; f != nil {
			err = errors.Join(err, f.Close())
			r.cursors[i].file = nil
		}
	}
	r.cursors = nil
	return err
}

var errClosed = errors.New("read a record: the reader is closed")
