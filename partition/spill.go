package partition

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"github.com/golang/snappy"
)

// A spilled run is a file of blocks, region after region, none of two regions:
//
//	4 bytes length before compression, 4 bytes length as stored, 4 bytes CRC32C of what is stored; little-endian
//	Snappy of entries one behind the other
//
// An entry in a block: uvarint bytes of the key that are those of the key before it in the block, uvarint length of the
// rest of the key, the rest, uvarint file, uvarint offset, uvarint length of the payload, payload.
const (
	blockHeaderLen = 12
	blockLen       = 64 << 10 // a block is closed when it has as much
	readBufferLen  = 64 << 10
	// runBufferLen is the memory of a run being read: block as stored, block, read buffer.
	runBufferLen = 2*blockLen + readBufferLen
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// spilledRun is a sorted run on disk.
type spilledRun struct {
	file    *os.File
	starts  []int64 // of each region in the file, and behind the last one its end
	entries []int64 // of each region
	bytes   int64   // of keys and payloads
}

func (r *spilledRun) close() error {
	return errors.Join(r.file.Close(), os.Remove(r.file.Name()))
}

// runWriter writes a run.
type runWriter struct {
	run   *spilledRun
	out   *bufio.Writer
	at    int64
	block []byte
	key   []byte // of the entry before, in this block
	store []byte
}

// newRun begins a run file.
func (s *Sorter) newRun() (*runWriter, error) {
	dir, err := s.workDir()
	if err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(dir, "run-") // mode 0600
	if err != nil {
		return nil, fmt.Errorf("begin a spilled run: %w", err)
	}
	return &runWriter{run: &spilledRun{file: f}, out: bufio.NewWriterSize(f, 256<<10)}, nil
}

// region begins the next region.
func (w *runWriter) region() error {
	err := w.flush()
	w.run.starts = append(w.run.starts, w.at)
	w.run.entries = append(w.run.entries, 0)
	return err
}

func (w *runWriter) add(e *Entry) error {
	same := 0
	for n := min(len(w.key), len(e.Key)); same < n && w.key[same] == e.Key[same]; {
		same++
	}
	w.block = binary.AppendUvarint(w.block, uint64(same))
	w.block = binary.AppendUvarint(w.block, uint64(len(e.Key)-same))
	w.block = append(w.block, e.Key[same:]...)
	w.block = binary.AppendUvarint(w.block, uint64(e.File))
	w.block = binary.AppendUvarint(w.block, uint64(e.Offset))
	w.block = binary.AppendUvarint(w.block, uint64(len(e.Payload)))
	w.block = append(w.block, e.Payload...)
	w.key = append(w.key[:same], e.Key[same:]...)
	w.run.entries[len(w.run.entries)-1]++
	w.run.bytes += int64(len(e.Key) + len(e.Payload))
	if len(w.block) < blockLen {
		return nil
	}
	return w.flush()
}

// flush writes the block at hand.
func (w *runWriter) flush() error {
	if len(w.block) == 0 {
		return nil
	}
	if most := snappy.MaxEncodedLen(len(w.block)); most < 0 {
		return fmt.Errorf("spill: a record of %d bytes is too large", len(w.block))
	}
	w.store = snappy.Encode(w.store[:cap(w.store)], w.block)
	var head [blockHeaderLen]byte
	binary.LittleEndian.PutUint32(head[:], uint32(len(w.block)))
	binary.LittleEndian.PutUint32(head[4:], uint32(len(w.store)))
	binary.LittleEndian.PutUint32(head[8:], crc32.Checksum(w.store, castagnoli))
	_, err := w.out.Write(head[:])
	if err == nil {
		_, err = w.out.Write(w.store)
	}
	w.at += int64(blockHeaderLen + len(w.store))
	w.block, w.key = w.block[:0], w.key[:0]
	return err
}

// finish ends the file. Where writing failed it is removed.
func (w *runWriter) finish(err error) (*spilledRun, error) {
	if err == nil {
		err = w.flush()
	}
	if err == nil {
		err = w.out.Flush()
	}
	if err != nil {
		_ = w.run.close()
		return nil, fmt.Errorf("spill a sorted run of some %d bytes (make room there, or choose another place with --work-dir): %w", w.at, err)
	}
	w.run.starts = append(w.run.starts, w.at)
	return w.run, nil
}

// spillArena writes a sorted arena to a run.
func (s *Sorter) spillArena(a *arena) (*spilledRun, error) {
	w, err := s.newRun()
	if err != nil {
		return nil, err
	}
	return w.finish(w.arena(a, a.cut(s.options.Regions)))
}

func (w *runWriter) arena(a *arena, starts []int) error {
	var e Entry
	for region := range len(starts) - 1 {
		if err := w.region(); err != nil {
			return err
		}
		for _, r := range a.refs[starts[region]:starts[region+1]] {
			a.entry(r, &e)
			if err := w.add(&e); err != nil {
				return err
			}
		}
	}
	return nil
}

// runReader reads one region of a spilled run.
type runReader struct {
	run     *spilledRun
	in      *bufio.Reader
	at, end int64 // of the next block, of the region
	store   []byte
	block   []byte
	rest    []byte // of block
	key     []byte
}

func (r *spilledRun) read(region int) *runReader {
	from, to := r.starts[region], r.starts[region+1]
	return &runReader{run: r, in: bufio.NewReaderSize(io.NewSectionReader(r.file, from, to-from), readBufferLen), at: from, end: to}
}

// next gives the next entry, whose key and payload hold until the next call; io.EOF behind the last.
func (r *runReader) next(e *Entry) error {
	if len(r.rest) == 0 {
		if r.at == r.end {
			return io.EOF
		}
		if err := r.load(); err != nil {
			return fmt.Errorf("read spilled run %s: block at offset %d: %w", r.run.file.Name(), r.at, err)
		}
	}
	same, ok1 := r.number()
	rest, ok2 := r.bytes()
	file, ok3 := r.number()
	offset, ok4 := r.number()
	payload, ok5 := r.bytes()
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || same > uint64(len(r.key)) {
		return fmt.Errorf("read spilled run %s: block before offset %d: damaged entry: run the job again, and look at the disk", r.run.file.Name(), r.at)
	}
	r.key = append(r.key[:same], rest...)
	e.Key, e.Payload, e.File, e.Offset = r.key, payload, uint32(file), int64(offset)
	return nil
}

func (r *runReader) number() (uint64, bool) {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		return 0, false
	}
	r.rest = r.rest[n:]
	return v, true
}

func (r *runReader) bytes() ([]byte, bool) {
	n, ok := r.number()
	if !ok || n > uint64(len(r.rest)) {
		return nil, false
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b, true
}

var errDamaged = errors.New("its bytes are not those that were written: run the job again, and look at the disk")

// load reads the next block.
func (r *runReader) load() error {
	var head [blockHeaderLen]byte
	if _, err := io.ReadFull(r.in, head[:]); err != nil {
		return err
	}
	raw, stored, sum := binary.LittleEndian.Uint32(head[:]), int64(binary.LittleEndian.Uint32(head[4:])), binary.LittleEndian.Uint32(head[8:])
	if stored > r.end-r.at-blockHeaderLen {
		return errDamaged
	}
	if int64(cap(r.store)) < stored {
		r.store = make([]byte, stored, stored+stored/8)
	}
	r.store = r.store[:stored]
	if _, err := io.ReadFull(r.in, r.store); err != nil {
		return err
	}
	if n, err := snappy.DecodedLen(r.store); err != nil || n != int(raw) || crc32.Checksum(r.store, castagnoli) != sum {
		return errDamaged
	}
	var err error
	if r.block, err = snappy.Decode(r.block[:cap(r.block)], r.store); err != nil {
		return errDamaged
	}
	r.rest, r.key = r.block, r.key[:0]
	r.at += blockHeaderLen + stored
	return nil
}
