package hfilewriter

import (
	"bytes"
	"fmt"
	"sort"

	"bulkload/cell"
	"bulkload/internal/poison"
)

// Scanner iterates over cells in order. It belongs to one goroutine.
type Scanner struct {
	r       *Reader
	src     *source
	dec     blockDecoder
	next    int64 // offset of the next block
	block   int64 // offset of the current one
	loaded  bool  // a block is being decoded
	from    []byte
	skip    bool // skip cells before from
	started bool
	lent    poison.Lent
	err     error
}

// Seek returns a Scanner from the first cell whose row is not before row; nil: from the file's first cell. Errors are
// reported by the Scanner's Err.
func (r *Reader) Seek(row []byte) *Scanner {
	return &Scanner{r: r, src: newSource(r), dec: r.decoder, from: row, skip: row != nil}
}

// Next advances to the next cell; false at the end of the file or on an error.
func (s *Scanner) Next() bool {
	s.lent.End()
	if !s.started {
		s.started = true
		s.start()
	}
	for s.err == nil {
		if s.loaded {
			ok, err := s.dec.next()
			if err != nil {
				s.fail(fmt.Errorf("data block at offset %d: %w", s.block, err))
				return false
			}
			if ok && (!s.skip || bytes.Compare(s.dec.cell.Row, s.from) >= 0) {
				s.skip = false
				return true
			}
			s.loaded = ok
			continue
		}
		if !s.nextBlock() {
			return false
		}
	}
	return false
}

// Cell is the current cell, valid until the next call of Next.
func (s *Scanner) Cell() *cell.Cell { return s.lent.Cell(&s.dec.cell) }

// Skipped reports whether a cell so far had tags, or a sequence ID other than 0. A cell.Cell has neither, so a copy of
// the cells would lose them.
func (s *Scanner) Skipped() (tags, sequences bool) {
	return s.dec.skippedTags, s.dec.skippedSequences
}

// Err is the error that ended the scan early; nil if the file was read to its end.
func (s *Scanner) Err() error { return s.err }

func (s *Scanner) fail(err error) { s.err = fmt.Errorf("scan HFile: %w", err) }

// start finds the first block to read.
func (s *Scanner) start() {
	s.next = s.r.trailer.firstDataBlockOffset
	if s.r.trailer.cells == 0 {
		s.next = s.r.end()
		return
	}
	if s.from == nil {
		return
	}
	h, err := s.r.dataBlockOf(s.src, s.from)
	if err != nil {
		s.fail(err)
		return
	}
	s.next = h.offset
}

// nextBlock loads the next data block, skipping other blocks; false at the end.
func (s *Scanner) nextBlock() bool {
	for s.err == nil && s.next <= s.r.trailer.lastDataBlockOffset && s.next < s.r.trailer.loadOnOpenOffset {
		b, err := s.src.read(s.next)
		if err != nil {
			s.fail(err)
			return false
		}
		s.block, s.next = s.next, s.next+int64(b.onDiskSize)
		if b.kind.chain() != blockData {
			continue
		}
		if err := s.dec.begin(b.kind, b.payload); err != nil {
			s.fail(fmt.Errorf("data block at offset %d: %w", s.block, err))
			return false
		}
		s.loaded = true
		return true
	}
	return false
}

// dataBlockOf descends the index to the data block that holds a row's first cell, or would hold it.
func (r *Reader) dataBlockOf(src *source, row []byte) (handle, error) {
	entries := r.root
	for level := r.trailer.indexLevels; ; level-- {
		e, err := lastNotAfter(entries, row)
		if err != nil || level == 1 {
			return e.block, err
		}
		b, err := src.expect(e.block, blockLeafIndex, blockIntermediateIndex)
		if err != nil {
			return handle{}, fmt.Errorf("index: %w", err)
		}
		if entries, err = parseNonRoot(bytes.Clone(b.payload)); err != nil {
			return handle{}, fmt.Errorf("index block at offset %d: %w", b.offset, err)
		}
	}
}

// lastNotAfter returns the last entry whose key is not after a row's first possible key; the first entry if all are.
func lastNotAfter(entries []indexEntry, row []byte) (indexEntry, error) {
	want := seekKey(row)
	var bad error
	i := sort.Search(len(entries), func(i int) bool {
		c, err := parseKey(entries[i].key)
		if err != nil {
			bad = fmt.Errorf("index entry %d: %w", i, err)
		}
		return cell.Compare(&c, &want) > 0
	})
	return entries[max(i-1, 0)], bad
}
