package partition

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/golang/snappy"
)

// A spilled run is a file:
//
//	blocks   region after region; no block has entries of two regions
//	footer   JSON, only in persistent runs: see runFooter
//
// A block, little-endian:
//
//	offset  size
//	     0     4   length as stored
//	     4     4   length of the entries
//	     8     4   CRC32C of the first 8 bytes and of what is stored
//	    12     n   Snappy of the entries; or the entries themselves, if the two lengths are equal
//
// An entry:
//
//	uvarint key length, uvarint payload length, uvarint file ordinal, uvarint offset in the file, key, payload
//
// Keys are stored in full, so an entry is a view of the block; Snappy removes their common parts. Each block has its
// own checksum, and everything is checked before it is used: a spill that changed on disk is an error (ErrDamaged), and
// never yields other rows. The checksum covers the lengths, too, because they decide how many bytes are read.
//
// The header has no flag for compression: equal lengths mean "stored as it is". So a compressed block that is no
// shorter than its entries must never be stored, or it would be read as entries. appendBlock ensures that.
//
// The form has no version. A persistent run is read only by the program that wrote it, because the journal's first line
// has the program's hash; other runs end with their process. Whoever lets another program read runs must add one.
const (
	blockHeaderLen = 12
	entryOverhead  = 2 * (binary.MaxVarintLen16 + binary.MaxVarintLen64) // upper bound of an entry's header in a block
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli) // the same table in all packages

// spilledRun is a sorted run in a store.
type spilledRun struct {
	store         Store
	name          string
	in            StoredRun // nil unless it is being read
	starts        []int64   // offset of each region in the file, and then the end of the last one
	largest       int       // maximum length of a block's entries
	largestStored int       // maximum length of a stored block
	index         sparseIndex
	entries       int64
	footerLen     int    // length of a persistent run's footer, which follows its blocks
	footerSum     uint32 // CRC32C of the footer
}

// bufferSize is the size of a buffer for a block, compressed or not. It is rounded up, so that runs with similar
// blocks can exchange buffers.
func (r *spilledRun) bufferSize() int {
	const unit = 512
	return (max(r.largest, r.largestStored) + unit - 1) / unit * unit
}

func (r *spilledRun) size() int64 { return r.starts[len(r.starts)-1] }

// from is the offset of a block that begins no later than the entries of a slice.
func (r *spilledRun) from(s Slice) int64 {
	at, end := r.starts[s.Region], r.starts[s.Region+1]
	if len(s.Start) == 0 {
		return at
	}
	return min(max(at, r.index.seek(s.Start)), end)
}

// open opens the run for reading.
func (r *spilledRun) open() (err error) {
	if r.in == nil {
		if r.in, err = r.store.Open(r.name); err != nil {
			return &RunError{r.path(), fmt.Errorf("open a spilled run: %w", err)}
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

// maxStoredLen is how long a block of n bytes of entries can become.
func maxStoredLen(n int) int { return blockHeaderLen + snappy.MaxEncodedLen(n) }

// appendBlock appends a block of entries to dst, compressed unless plain is set or compression does not pay.
// Uncompressed entries may already be in their place after dst.
func appendBlock(dst, entries []byte, plain bool) []byte {
	start := len(dst)
	need := maxStoredLen(len(entries))
	if cap(dst)-start < need {
		dst = append(make([]byte, 0, start+need), dst...)
	}
	body := dst[start+blockHeaderLen : start+need]
	// The body begins where an uncompressed block's entries are already, so that they need not be copied.
	length := len(entries)
	if !plain {
		length = len(snappy.Encode(body, entries))
	}
	// Never store n bytes of Snappy for n bytes of entries: the reader would read them as the entries.
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

// checksum is the checksum of a block, over the lengths and the stored bytes.
func checksum(block []byte) uint32 {
	sum := crc32.Update(0, castagnoli, block[:8])
	return crc32.Update(sum, castagnoli, block[blockHeaderLen:])
}

// ErrDamaged says that a spilled run does not read back as it was written.
var ErrDamaged = errors.New("its bytes are not those that were written: run the job again, and look at the disk")

// blockStart is where a block of a run begins.
type blockStart struct {
	offset int64
	length int // of the block as stored, with its header; 0: not known yet
}

// readBlock reads a block of a run into stored, which is large enough for the run's largest block. It reads no byte
// from end on. If the block is uncompressed, its entries are a view of stored; otherwise they are decompressed into
// dst, which is large enough for the largest entries. next begins where the block ends.
//
// Nothing is trusted before the checksum is compared, not even the lengths: a length only determines how much to sum
// up, and is bounded by the bytes read. The run's largest and largestStored, by which the buffers were made, come from
// its footer or from its writer. A block that needs more than they say is damaged.
func (r *spilledRun) readBlock(at blockStart, end int64, stored,
	dst []byte) (entries []byte, next blockStart, err error) {
	n, err := r.fetch(at, stored[:min(int64(len(stored)), end-at.offset)])
	if err != nil && !errors.Is(err, io.EOF) || n < blockHeaderLen {
		return nil, next, r.fault(at.offset, tooShort(err))
	}
	length := blockHeaderLen + int(binary.LittleEndian.Uint32(stored))
	size := int(binary.LittleEndian.Uint32(stored[4:]))
	if length > min(n, r.largestStored) || size > len(dst) ||
		checksum(stored[:length]) != binary.LittleEndian.Uint32(stored[8:]) {
		return nil, next, r.fault(at.offset, ErrDamaged)
	}
	// From here on the block is as it was written. Only a bug in the program can make the rest fail.
	next.offset = at.offset + int64(length)
	if n >= length+blockHeaderLen {
		next.length = blockHeaderLen + int(binary.LittleEndian.Uint32(stored[length:]))
	}
	if length-blockHeaderLen == size {
		return stored[blockHeaderLen:length], next, nil
	}
	entries, err = snappy.Decode(dst, stored[blockHeaderLen:length])
	if err != nil || len(entries) != size {
		return nil, next, r.fault(at.offset, ErrDamaged)
	}
	return entries, next, nil
}

// firstRead is how many bytes to read of a block whose length is not known.
const firstRead = 4 << 10

// fetch reads a block into stored, and the header of the next one if it fits. So the length of each block is known
// before it is read, except for the first one, which is read in two steps unless it is short. Thus runs with blocks of
// unequal lengths are also read only once. A wrong length costs some bytes or ends in ErrDamaged, nothing worse.
func (r *spilledRun) fetch(at blockStart, stored []byte) (n int, err error) {
	want := firstRead
	if at.length > 0 {
		want = at.length + blockHeaderLen
	}
	n, err = r.in.ReadAt(stored[:min(want, len(stored))], at.offset)
	if at.length > 0 || err != nil || n < blockHeaderLen {
		return n, err
	}
	length := blockHeaderLen + int(binary.LittleEndian.Uint32(stored))
	if length <= n || length > min(len(stored), r.largestStored) {
		return n, nil
	}
	rest, err := r.in.ReadAt(stored[n:min(length+blockHeaderLen, len(stored))], at.offset+int64(n))
	return n + rest, err
}

// tooShort is the error of a run that ends within a block.
func tooShort(err error) error {
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return fmt.Errorf("%w: %w", io.ErrUnexpectedEOF, ErrDamaged)
}

func (r *spilledRun) fault(at int64, err error) error {
	return &RunError{r.path(), fmt.Errorf("read spilled run %s, block at offset %d: %w", r.path(), at, err)}
}

// appendEntry appends an entry to a block.
func appendEntry(block []byte, e *Entry) []byte {
	block = binary.AppendUvarint(block, uint64(len(e.Key)))
	block = binary.AppendUvarint(block, uint64(len(e.Payload)))
	block = binary.AppendUvarint(block, uint64(e.File))
	block = binary.AppendUvarint(block, uint64(e.Offset))
	return append(append(block, e.Key...), e.Payload...)
}

// decodeEntry reads the first entry of a block; rest is nil if it is damaged.
//
// The block has passed its checksum. The lengths are checked all the same, in an order in which no sum can overflow: a
// view beyond the block would yield other rows, or a panic in the middle of a merge.
func decodeEntry(block []byte, e *Entry) (rest []byte) {
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
