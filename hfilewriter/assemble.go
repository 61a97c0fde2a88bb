package hfilewriter

import (
	"slices"
	"sync"
	"time"

	"bulkload/internal/poison"
)

// Cores is a semaphore of the cores of a program: each element is one that writes a file, or helps. Whoever finds one
// idle may use it for a moment.
type Cores chan struct{}

// idle reports whether there are several cores, and one seems to be idle. Another goroutine may take it first.
func (c Cores) idle() bool { return len(c) < cap(c) && cap(c) > 1 }

// try runs work in another goroutine if a core is idle. Otherwise it returns false.
func (c Cores) try(work func()) bool {
	select {
	case c <- struct{}{}:
		go func() {
			work()
			<-c
		}()
		return true
	default:
		return false
	}
}

// dataBlock is a data block on its way into the file, with the bloom chunks that follow it.
type dataBlock struct {
	kind   blockType
	buf    []byte // headerLen free bytes, then the payload
	stored []byte // headerLen free bytes, then the payload as stored; buf if nothing is compressed
	key    []byte // for the index
	chunks []readyChunk
	last   bool // of the file
	took   time.Duration
	err    error // of the compression
}

// blockBatch is some blocks that another core compresses. Waking it costs as much as a part of a block, so it gets
// several at once.
type blockBatch struct {
	blocks []*dataBlock
	done   chan struct{}
	helped bool // another core was idle
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
//
// Idle cores compress blocks while the next ones are encoded. The blocks are written in their order all the same, so
// the file has the same bytes.
type assembler struct {
	blocks    *blockWriter
	index     *indexWriter
	cores     Cores // nil: this goroutine's alone
	codecs    sync.Pool
	batch     []*dataBlock  // not compressed yet
	batched   int           // bytes in batch
	waiting   []*blockBatch // before batch
	unused    []*dataBlock
	blockSize int
	firstData int64
	lastData  int64
	times     Times
	err       error
}

// A batch has up to batchLen blocks, and no more after batchSize bytes before compression: a block may be as large as a
// value. Up to maxWaiting batches of a file wait.
const (
	batchLen   = 8
	batchSize  = 1 << 20
	maxKept    = 256 << 10 // a block with larger buffers than usual, by that, is not used again
	maxWaiting = 2
)

// take returns an unused block.
func (a *assembler) take() *dataBlock {
	if n := len(a.unused); n > 0 {
		b := a.unused[n-1]
		a.unused = a.unused[:n-1]
		return b
	}
	// Room for the last cell beyond blockSize. In small blocks, appendFast needs its window, and the header comes on top.
	return &dataBlock{buf: make([]byte, 0, a.blockSize+max(a.blockSize/8, 2*appendWindow))}
}

// put adds a block to the file, now or later. The caller must not use it any more.
func (a *assembler) put(b *dataBlock) error {
	switch {
	case a.err != nil:
	case len(a.batch)+len(a.waiting) == 0 && (!a.cores.idle() || a.blocks.codec.kind == CompressNone):
		b.compress(a.blocks.codec)
		a.write(b)
	default:
		a.batch, a.batched = append(a.batch, b), a.batched+len(b.buf)
		if len(a.batch) == batchLen || a.batched >= batchSize || b.last {
			a.compressBatch()
		}
		if b.last {
			a.writeWaiting(0)
		}
	}
	return a.err
}

// compressBatch has another core compress the batch, or does it if all are busy.
func (a *assembler) compressBatch() {
	w := &blockBatch{blocks: slices.Clone(a.batch), done: make(chan struct{})}
	a.batch, a.batched = a.batch[:0], 0
	compress := func() { w.compress(&a.codecs, a.blocks.codec.kind) }
	most := maxWaiting
	if w.helped = a.cores.try(compress); !w.helped {
		compress()
		most = 0
	}
	a.waiting = append(a.waiting, w)
	a.writeWaiting(most)
}

// writeWaiting writes batches until only that many wait.
func (a *assembler) writeWaiting(most int) {
	for len(a.waiting) > most {
		first := a.waiting[0]
		<-first.done
		for _, b := range first.blocks {
			if first.helped {
				a.times.Elsewhere += b.took
			}
			a.write(b)
		}
		a.waiting = a.waiting[:copy(a.waiting, a.waiting[1:])]
	}
}

func (w *blockBatch) compress(codecs *sync.Pool, kind Compression) {
	c, _ := codecs.Get().(*codec)
	if c == nil {
		c = newCodec(kind)
	}
	for _, b := range w.blocks {
		b.compress(c)
	}
	codecs.Put(c)
	close(w.done)
}

// compress makes the block's stored form.
func (b *dataBlock) compress(c *codec) {
	if c.kind == CompressNone {
		b.stored = b.buf
		return
	}
	begun := time.Now()
	b.stored, b.err = c.compress(append(b.stored[:0], b.buf[:headerLen]...), b.buf[headerLen:])
	b.took = time.Since(begun)
}

// write writes a compressed block, unless an earlier one could not be written.
func (a *assembler) write(b *dataBlock) {
	if a.err == nil {
		a.err = b.err
	}
	if a.err == nil {
		a.err = a.tryWrite(b)
	}
	poison.Bytes(b.buf)
	poison.Bytes(b.stored)
	poison.Bytes(b.key)
	clear(b.chunks)
	if cap(b.buf)+cap(b.stored) <= 4*a.blockSize+maxKept { // not if it had a very large value
		a.unused = append(a.unused, b)
	}
}

func (a *assembler) tryWrite(b *dataBlock) error {
	a.times.Compress += b.took
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
