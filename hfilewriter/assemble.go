package hfilewriter

import "time"

// dataBlock is a finished data block on its way into the file, with the bloom chunks that follow it.
type dataBlock struct {
	kind   blockType
	buf    []byte // headerLen free bytes, then the payload
	stored []byte // headerLen free bytes, then the payload as stored; buf if nothing is compressed
	key    []byte // for the index
	chunks []readyChunk
	last   bool // of the file
}

// readyChunk is a bloom chunk to be written after a data block.
type readyChunk struct {
	filter *bloomWriter
	chunk  *bloomChunk
}

// assembler builds a file from data blocks that arrive in order. After each of them it writes the inline blocks that
// are ready, a leaf index block first (HFileWriterImpl.writeInlineBlocks). HBase's reader does not depend on that
// order, but byte-for-byte equality with its writer does. The first error sticks: nothing is written after a failed
// block.
type assembler struct {
	blocks    *blockWriter
	index     *indexWriter
	firstData int64
	lastData  int64
	times     Times
	err       error
}

func (a *assembler) put(b *dataBlock) error {
	if a.err != nil {
		return a.err
	}
	a.err = a.tryPut(b)
	return a.err
}

// compress makes the block's stored form.
func (a *assembler) compress(b *dataBlock) (err error) {
	if a.blocks.codec.kind == CompressNone {
		b.stored = b.buf
		return nil
	}
	begun := time.Now()
	b.stored, err = a.blocks.codec.compress(append(b.stored[:0], b.buf[:headerLen]...), b.buf[headerLen:])
	a.times.Compress += time.Since(begun)
	return err
}

func (a *assembler) tryPut(b *dataBlock) error {
	if err := a.compress(b); err != nil {
		return err
	}
	a.times.Compressed += int64(len(b.buf) - headerLen)
	h, err := a.blocks.put(b.kind, &b.stored, len(b.buf)-headerLen)
	if a.blocks.codec.kind == CompressNone {
		b.buf = b.stored // the checksums were appended to it
	}
	if err != nil {
		return err
	}
	if a.firstData == noBlock {
		a.firstData = h.offset
	}
	a.lastData = h.offset
	a.index.add(b.key, h)
	if err := a.index.writeLeaf(b.last); err != nil {
		return err
	}
	for _, due := range b.chunks {
		if err := due.filter.writeChunk(a.blocks, due.chunk); err != nil {
			return err
		}
	}
	return nil
}
