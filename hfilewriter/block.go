package hfilewriter

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"

	"bulkload/internal/poison"
)

// A block (HFileBlock.Header, HFileBlock.Writer.finishBlock):
//
//	offset  size
//	     0     8   magic: the block's type
//	     8     4   bytes that follow the header: payload as stored, and checksums
//	    12     4   payload before compression
//	    16     8   offset of the previous block of this type, -1 for the first
//	    24     1   checksum type: 0 NULL, 1 CRC32, 2 CRC32C
//	    25     4   bytes per checksum
//	    29     4   header and payload as stored, without checksums
//	    33     n   payload, as the codec stored it
//	  33+n   4*k   one checksum for each "bytes per checksum" bytes, counted from the header's first byte
//
// Three fields describe one length: the first size, the last size and the number of checksums must agree. A reader
// that trusted a single one would skip to a wrong offset and read the rest of the file as garbage, so
// parseBlockHeader compares them before any of them is used.
//
// blockHeader is a parsed header.
type blockHeader struct {
	kind             blockType
	onDiskSize       int // header, payload as stored, checksums
	rawSize          int // payload before compression
	prev             int64
	checksum         Checksum
	bytesPerChecksum int
	onDiskData       int // header and payload as stored
}

// put encodes the header into the first headerLen bytes of dst.
func (h *blockHeader) put(dst []byte) {
	copy(dst, blockMagics[h.kind])
	binary.BigEndian.PutUint32(dst[headerOnDiskSizeOffset:], uint32(h.onDiskSize-headerLen))
	binary.BigEndian.PutUint32(dst[headerRawSizeOffset:], uint32(h.rawSize))
	binary.BigEndian.PutUint64(dst[headerPrevBlockOffset:], uint64(h.prev))
	dst[headerChecksumTypeOffset] = h.checksum.code()
	binary.BigEndian.PutUint32(dst[headerBytesPerSumOffset:], uint32(h.bytesPerChecksum))
	binary.BigEndian.PutUint32(dst[headerOnDiskDataOffset:], uint32(h.onDiskData))
}

// parseBlockHeader decodes a header and checks that its sizes agree with each other and with limit, the number of
// bytes from the header's first byte to the end of the blocks. Nothing is allocated by a size that was not checked
// here: a damaged header can't ask for gigabytes.
func parseBlockHeader(b []byte, limit int64) (h blockHeader, err error) {
	if len(b) < headerLen || limit < headerLen {
		return h, fmt.Errorf("%w: %d bytes are too few for a block header", ErrCorrupt, min(int64(len(b)), limit))
	}
	// The magic first: without it the other fields mean nothing.
	kind, ok := parseBlockType(b[:magicLen])
	if !ok {
		return h, fmt.Errorf("%w: %q begins no block", ErrCorrupt, b[:magicLen])
	}
	sum, ok := parseChecksumCode(b[headerChecksumTypeOffset])
	if !ok {
		return h, fmt.Errorf("%w: checksum type %d of a %s block is unknown", ErrCorrupt, b[headerChecksumTypeOffset], kind)
	}
	// Sizes are Java ints: a set top bit is a negative size. Sums are in int64, so that none of them overflows.
	u32 := func(at int) int64 { return int64(int32(binary.BigEndian.Uint32(b[at:]))) }
	onDisk, raw, per, data := u32(headerOnDiskSizeOffset)+headerLen, u32(headerRawSizeOffset),
		u32(headerBytesPerSumOffset), u32(headerOnDiskDataOffset)
	switch {
	// Would end after the blocks, or before its own header ends.
	case onDisk < headerLen || onDisk > limit:
		return h, fmt.Errorf("%w: %s block of %d bytes does not fit in the %d that are left", ErrCorrupt, kind, onDisk, limit)
	case raw < 0 || raw > maxBlockLen:
		return h, fmt.Errorf("%w: %s block says %d bytes of payload", ErrCorrupt, kind, raw)
	// Zero would divide by zero below, and every writer uses at least a header.
	case per < headerLen:
		return h, fmt.Errorf("%w: %s block says %d bytes per checksum", ErrCorrupt, kind, per)
	case data < headerLen || data+checksumLen*checksums(data, per) != onDisk:
		return h, fmt.Errorf("%w: sizes of %s block disagree: %d bytes with and %d without checksums",
			ErrCorrupt, kind, onDisk, data)
	}
	return blockHeader{kind: kind, onDiskSize: int(onDisk), rawSize: int(raw),
		prev: int64(binary.BigEndian.Uint64(b[headerPrevBlockOffset:])), checksum: sum, bytesPerChecksum: int(per),
		onDiskData: int(data)}, nil
}

// checksums returns how many checksums n bytes need.
func checksums(n, perChecksum int64) int64 { return (n + perChecksum - 1) / perChecksum }

var castagnoli = crc32.MakeTable(crc32.Castagnoli) // the same table in all packages

// sum returns the checksum of b; 0 for ChecksumNull.
func (c Checksum) sum(b []byte) uint32 {
	switch c {
	case ChecksumCRC32C:
		return crc32.Checksum(b, castagnoli)
	case ChecksumCRC32:
		return crc32.ChecksumIEEE(b)
	}
	return 0
}

// appendChecksums appends the checksums of block, a header and its stored payload (ChecksumUtil.generateChecksums).
// The header must be complete by then: the first checksum covers it.
func appendChecksums(block []byte, kind Checksum, perChecksum int) []byte {
	for data := block; len(data) > 0; {
		n := min(perChecksum, len(data))
		block = binary.BigEndian.AppendUint32(block, kind.sum(data[:n]))
		data = data[n:]
	}
	return block
}

// verifyChecksums compares a block's checksums with its bytes. Checksums of type NULL must be zero, as HBase writes
// them. Otherwise one flipped byte, the checksum type, would hide every other flip in the block.
func (h *blockHeader) verifyChecksums(block []byte) error {
	sums := block[h.onDiskData:h.onDiskSize]
	// parseBlockHeader has checked that the checksums are as many as these steps.
	for at := 0; at < h.onDiskData; at += h.bytesPerChecksum {
		want := binary.BigEndian.Uint32(sums[at/h.bytesPerChecksum*checksumLen:])
		if got := h.checksum.sum(block[at:min(at+h.bytesPerChecksum, h.onDiskData)]); got != want {
			return fmt.Errorf("%w: %s of bytes %d and on of the %s block is %08x, stored %08x", ErrCorrupt,
				h.checksum, at, h.kind, got, want)
		}
	}
	return nil
}

// handle locates a block: its offset, and its length on disk with header and checksums.
type handle struct {
	offset int64
	size   int
}

// blockWriter compresses payloads and writes blocks one after another. It writes strictly forward: offset is the file's
// length so far, and a block's index entry is known only after the block was written.
type blockWriter struct {
	out      io.Writer
	settings *Settings
	codec    *codec
	offset   int64
	last     [blockTypes]int64 // offset of the last block of each chain
	raw      [blockTypes]int64 // bytes of each type's headers, and payloads before compression
	scratch  []byte
}

func newBlockWriter(out io.Writer, s *Settings) *blockWriter {
	w := &blockWriter{out: out, settings: s, codec: newCodec(s.Compression)}
	// Each chain begins without a predecessor.
	for i := range w.last {
		w.last[i] = noBlock
	}
	return w
}

// write compresses a block and writes it. Its payload begins after headerLen free bytes of buf. write may append to
// buf; the caller may reuse it afterwards.
func (w *blockWriter) write(kind blockType, buf []byte) (h handle, err error) {
	if w.codec.kind == CompressNone {
		return w.put(kind, &buf, len(buf)-headerLen)
	}
	w.scratch, err = w.codec.compress(append(w.scratch[:0], buf[:headerLen]...), buf[headerLen:])
	if err != nil {
		return handle{}, err
	}
	h, err = w.put(kind, &w.scratch, len(buf)-headerLen)
	poison.Bytes(w.scratch)
	return h, err
}

// put writes a block whose payload is stored as it is, after headerLen free bytes: it fills in the header and appends
// the checksums. rawSize is the payload's length before compression.
//
// The order matters. The header is complete before the checksums are computed, and last and offset move only after a
// successful write: a handle that was returned always points at bytes that the output accepted.
func (w *blockWriter) put(kind blockType, block *[]byte, rawSize int) (handle, error) {
	// data counts the free bytes, which the header fills.
	data, chain := len(*block), kind.chain()
	size := data + checksumLen*int(checksums(int64(data), int64(w.settings.BytesPerChecksum)))
	header := blockHeader{kind: kind, onDiskSize: size, rawSize: rawSize, prev: w.last[chain],
		checksum: w.settings.Checksum, bytesPerChecksum: w.settings.BytesPerChecksum, onDiskData: data}
	header.put(*block)
	*block = appendChecksums(*block, w.settings.Checksum, w.settings.BytesPerChecksum)
	if _, err := w.out.Write(*block); err != nil {
		return handle{}, fmt.Errorf("write %s block at offset %d: %w", kind, w.offset, err)
	}
	h := handle{w.offset, size}
	w.last[chain] = w.offset
	w.offset += int64(size)
	// The trailer's sums count headers, and payloads before compression.
	w.raw[kind] += headerLen + int64(rawSize)
	return h, nil
}
