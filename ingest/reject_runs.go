package ingest

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"bulkload/internal/storage"
)

// reject is a bad record as it is stored.
type reject struct {
	ordinal        int // of the file: with offset, the order
	input          int // index into inputs.list
	offset, number int64
	column, reason string
	raw            []byte
}

// input is a file that had rejects.
type input struct {
	file SourceFile
	fsys storage.FS // nil if the position came from no reader
}

type inputs struct {
	list   []input
	byPath map[string]int
}

func (in *inputs) index(p Position) int {
	i, ok := in.byPath[p.File.Path]
	if !ok {
		if in.byPath == nil {
			in.byPath = map[string]int{}
		}
		i = len(in.list)
		in.byPath[p.File.Path] = i
		in.list = append(in.list, input{p.File, p.fsys})
	}
	return i
}

func rejectOf(b *BadRecord, input int) reject {
	return reject{ordinal: b.File.Ordinal, input: input, offset: b.Offset, number: b.Number,
		column: b.Column, reason: b.Reason, raw: bytes.Clone(b.Raw)}
}

func (k reject) size() int { return len(k.raw) + len(k.column) + len(k.reason) + 96 }

func (k reject) compare(o reject) int {
	return cmp.Or(cmp.Compare(k.ordinal, o.ordinal), cmp.Compare(k.offset, o.offset),
		cmp.Compare(k.column, o.column), cmp.Compare(k.reason, o.reason))
}

// writeRun writes sorted rejects to a file, which the same process merges and deletes. Each reject has four numbers and
// then three texts, each preceded by its length. (checkpoint.RejectWriter writes another form: a log in the order of
// discovery, which another process may read.)
func writeRun(fsys storage.FS, name string, kept []reject) error {
	w, err := fsys.Create(name, 0o600)
	if err != nil {
		return err
	}
	var b []byte
	for _, k := range kept {
		b = binary.AppendUvarint(b[:0], uint64(k.ordinal))
		b = binary.AppendUvarint(b, uint64(k.input))
		b = binary.AppendUvarint(b, uint64(k.offset))
		b = binary.AppendUvarint(b, uint64(k.number))
		b = append(binary.AppendUvarint(b, uint64(len(k.column))), k.column...)
		b = append(binary.AppendUvarint(b, uint64(len(k.reason))), k.reason...)
		b = append(binary.AppendUvarint(b, uint64(len(k.raw))), k.raw...)
		if _, err := w.Write(b); err != nil {
			return errors.Join(err, w.Abort())
		}
	}
	if err := w.Close(); err != nil {
		return errors.Join(err, w.Abort())
	}
	return nil
}

// rejectRun reads a run; next is its first reject not yet returned.
type rejectRun struct {
	name string
	file storage.File
	in   *bufio.Reader
	next reject
	done bool
}

func (r *rejectRun) advance() error {
	if _, err := r.in.Peek(1); errors.Is(err, io.EOF) {
		r.done = true
		return nil
	}
	var n [4]int64
	for i := range n {
		v, err := binary.ReadUvarint(r.in)
		if err != nil {
			return fmt.Errorf("read %s: %w", r.name, err)
		}
		n[i] = int64(v)
	}
	var text [3][]byte
	for i := range text {
		length, err := binary.ReadUvarint(r.in)
		if err == nil && length > uint64(r.file.Size()) {
			err = errors.New("damaged length")
		}
		if err == nil {
			text[i] = make([]byte, length)
			_, err = io.ReadFull(r.in, text[i])
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", r.name, err)
		}
	}
	r.next = reject{ordinal: int(n[0]), input: int(n[1]), offset: n[2], number: n[3],
		column: string(text[0]), reason: string(text[1]), raw: text[2]}
	return nil
}

// mergedRuns merges the rejects of several sorted runs and of a sorted rest in memory.
type mergedRuns struct {
	runs []*rejectRun
	rest []reject
}

func openRuns(fsys storage.FS, names []string, rest []reject) (*mergedRuns, error) {
	m := &mergedRuns{rest: rest}
	for _, name := range names {
		f, err := fsys.Open(name)
		if err != nil {
			m.close()
			return nil, err
		}
		run := &rejectRun{name: name, file: f, in: bufio.NewReaderSize(f, 64<<10)}
		m.runs = append(m.runs, run)
		if err := run.advance(); err != nil {
			m.close()
			return nil, err
		}
	}
	return m, nil
}

// next searches linearly, because there are few runs and few rejects.
func (m *mergedRuns) next() (k reject, ok bool, err error) {
	var least *rejectRun
	for _, run := range m.runs {
		if !run.done && (least == nil || run.next.compare(least.next) < 0) {
			least = run
		}
	}
	if len(m.rest) > 0 && (least == nil || m.rest[0].compare(least.next) < 0) {
		k, m.rest = m.rest[0], m.rest[1:]
		return k, true, nil
	}
	if least == nil {
		return reject{}, false, nil
	}
	k = least.next
	return k, true, least.advance()
}

func (m *mergedRuns) close() {
	for _, run := range m.runs {
		run.file.Close() // it was only read
	}
}
