package partition

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/golang/snappy"
)

// A spilled run is a file of blocks, region after region, none of two regions. A block:
//
//	4 bytes length as stored, 4 bytes length of the entries, 4 bytes CRC32C of both and of what is stored; little-endian
//	Snappy of entries one behind the other, or the entries themselves, where the two lengths are the same
//
// An entry in a block: uvarint key length, uvarint payload length, uvarint file, uvarint offset, key, payload. Keys stand
// whole, so that an entry is a view of the block; Snappy finds what they share.
const (
	blockHeaderLen = 12
	entryOverhead  = 2 * (binary.MaxVarintLen16 + binary.MaxVarintLen64) // at most, of an entry in a block
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli) // the same table in all packages

// spilledRun is a sorted run in a store.
type spilledRun struct {
	store   Store
	name    string
	in      StoredRun // nil while it isn't read
	starts  []int64   // of each region in the file, and behind the last one its end
	largest int       // bytes of entries in a block, at most
	packed  int       // bytes of a stored block, at most
	places  places
	entries int64
	tail    int    // bytes of a kept run's description, behind its blocks
	sum     uint32 // of them
}

// room is how large a buffer for a block is, packed or not: rounded up, so that those of runs with much the same blocks can
// be exchanged.
func (r *spilledRun) room() int {
	const unit = 512
	return (max(r.largest, r.packed) + unit - 1) / unit * unit
}

func (r *spilledRun) size() int64 { return r.starts[len(r.starts)-1] }

// from is the offset of a block from which on all of a slice's entries are found.
func (r *spilledRun) from(s Slice) int64 {
	at, end := r.starts[s.Region], r.starts[s.Region+1]
	if len(s.Start) == 0 {
		return at
	}
	return min(max(at, r.places.before(s.Start)), end)
}

// open makes the run ready to be read.
func (r *spilledRun) open() (err error) {
	if r.in == nil {
		if r.in, err = r.store.Open(r.name); err != nil {
			return fmt.Errorf("open a spilled run: %w", err)
		}
	}
	return nil
}

func (r *spilledRun) path() string { return r.store.Path(r.name) }

func (r *spilledRun) close() (err error) {
	if r.in != nil {
		err = r.in.Close()
		r.in = nil
	}
	return err
}

// remove closes the run and deletes it.
func (r *spilledRun) remove() error { return errors.Join(r.close(), r.store.Remove(r.name)) }

// blockRoom is how much a block of n bytes of entries can take.
func blockRoom(n int) int { return blockHeaderLen + snappy.MaxEncodedLen(n) }

// appendBlock puts entries behind what is in dst, packed where they are not to be plain and become less. Plain ones may
// stand in their place there already.
func appendBlock(dst, entries []byte, plain bool) []byte {
	start := len(dst)
	need := blockRoom(len(entries))
	if cap(dst)-start < need {
		dst = append(make([]byte, 0, start+need), dst...)
	}
	body := dst[start+blockHeaderLen : start+need]
	length := len(entries)
	if !plain {
		length = len(snappy.Encode(body, entries))
	}
	if length >= len(entries) {
		length = len(entries)
		if length > 0 && &body[0] != &entries[0] {
			copy(body, entries)
		}
	}
	dst = dst[:start+blockHeaderLen+length]
	header := dst[start:]
	binary.LittleEndian.PutUint32(header, uint32(length))
	binary.LittleEndian.PutUint32(header[4:], uint32(len(entries)))
	binary.LittleEndian.PutUint32(header[8:], checksum(header))
	return dst
}

// checksum is that of a block: of the lengths, and of what is stored.
func checksum(block []byte) uint32 {
	sum := crc32.Update(0, castagnoli, block[:8])
	return crc32.Update(sum, castagnoli, block[blockHeaderLen:])
}

// ErrDamaged says that a spilled run does not read back as it was written.
var ErrDamaged = errors.New("its bytes are not those that were written: run the job again, and look at the disk")

// readBlock reads the block at an offset of a run, as it is stored, into stored, which has room for the run's largest. Where
// it is plain its entries are a view of that; else they are unpacked into dst, which has room for the largest of those. next
// is where the block ends.
func (r *spilledRun) readBlock(at int64, stored, dst []byte) (entries []byte, next int64, err error) {
	n, err := r.in.ReadAt(stored[:min(int64(len(stored)), int64(r.packed), r.size()-at)], at)
	if err != nil && !errors.Is(err, io.EOF) || n < blockHeaderLen {
		return nil, 0, r.fault(at, tooShort(err))
	}
	length := blockHeaderLen + int(binary.LittleEndian.Uint32(stored))
	size := int(binary.LittleEndian.Uint32(stored[4:]))
	if length > n || size > len(dst) || checksum(stored[:length]) != binary.LittleEndian.Uint32(stored[8:]) {
		return nil, 0, r.fault(at, ErrDamaged)
	}
	next = at + int64(length)
	if length-blockHeaderLen == size {
		return stored[blockHeaderLen:length], next, nil
	}
	entries, err = snappy.Decode(dst, stored[blockHeaderLen:length])
	if err != nil || len(entries) != size {
		return nil, 0, r.fault(at, ErrDamaged)
	}
	return entries, next, nil
}

// tooShort is the error of a run that ends within a block, which the reading may say too.
func tooShort(err error) error {
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return fmt.Errorf("%w: %w", io.ErrUnexpectedEOF, ErrDamaged)
}

func (r *spilledRun) fault(at int64, err error) error {
	return fmt.Errorf("read spilled run %s, block at offset %d: %w", r.path(), at, err)
}

// appendEntry appends an entry to a block.
func appendEntry(block []byte, e *Entry) []byte {
	block = binary.AppendUvarint(block, uint64(len(e.Key)))
	block = binary.AppendUvarint(block, uint64(len(e.Payload)))
	block = binary.AppendUvarint(block, uint64(e.File))
	block = binary.AppendUvarint(block, uint64(e.Offset))
	return append(append(block, e.Key...), e.Payload...)
}

// cutEntry reads the first entry of a block; rest is nil where it is damaged.
func cutEntry(block []byte, e *Entry) (rest []byte) {
	var head [4]uint64
	for i := range head {
		if len(block) > 0 && block[0] < 0x80 {
			head[i], block = uint64(block[0]), block[1:]
			continue
		}
		v, n := binary.Uvarint(block)
		if n <= 0 {
			return nil
		}
		head[i], block = v, block[n:]
	}
	key, payload := head[0], head[1]
	if key > uint64(len(block)) || payload > uint64(len(block))-key {
		return nil
	}
	e.Key, e.Payload = block[:key:key], block[key:key+payload:key+payload]
	e.File, e.Offset = uint32(head[2]), int64(head[3])
	return block[key+payload:]
}
