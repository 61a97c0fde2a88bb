package hfilewriter

import (
	"sync"
	"time"
)

// dataBlock is a finished data block on its way into the file, with what is due behind it.
type dataBlock struct {
	kind   blockType
	buf    []byte // headerLen free bytes, then the payload
	stored []byte // headerLen free bytes, then the payload as stored; buf where nothing is compressed
	key    []byte // for the index
	chunks []bloomDue
	last   bool          // of the file
	took   time.Duration // compressing
	err    error
}

// bloomDue is a bloom chunk that is to stand behind a data block.
type bloomDue struct {
	filter *bloomWriter
	chunk  *bloomChunk
}

// compress makes the stored form.
func (b *dataBlock) compress(c *codec) {
	if c.kind == CompressNone {
		b.stored = b.buf
		return
	}
	begun := time.Now()
	b.stored, b.err = c.compress(append(b.stored[:0], b.buf[:headerLen]...), b.buf[headerLen:])
	b.took = time.Since(begun)
}

// assembler puts a file together from data blocks that come in order: it gives each its place, then writes the inline
// blocks that are due (HFileWriterImpl.writeInlineBlocks). Its first error sticks.
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

func (a *assembler) tryPut(b *dataBlock) error {
	if b.err != nil {
		return b.err
	}
	a.times.Compress += b.took
	a.times.Compressed += int64(len(b.buf) - headerLen)
	h, err := a.blocks.put(b.kind, &b.stored, len(b.buf)-headerLen)
	if a.blocks.codec.kind == CompressNone {
		b.buf = b.stored // which checksums were appended to
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

// pipeline takes data blocks from the goroutine that encodes to the assembler. Without helpers it does all at once. With
// helpers, blocks go in batches, since handing over a single one costs as much as compressing it. Helpers do nothing but
// compress; the encoding goroutine puts the batches into the file, in order, and where the next one is not ready it
// compresses, too. So all wait only for work, never for a turn.
type pipeline struct {
	assembler *assembler
	codec     *codec
	block     *dataBlock // the only one, without helpers

	batch  *batch // being filled
	free   []*batch
	queue  []*batch       // on their way, in the file's order
	work   chan *batch    // to be compressed, with room for all; nil without helpers
	helped sync.WaitGroup // the helpers
}

// batch is some data blocks, one behind the other in the file.
type batch struct {
	blocks []*dataBlock // the first n are filled, the rest is room
	n      int
	bytes  int
	done   chan struct{} // room for one: they are compressed
}

const (
	// pipelineRoom is how many bytes of blocks, as they are and compressed, may be on their way. Blocks of more than half
	// of it have no helpers.
	pipelineRoom = 2 << 20
	// batchLen is how many bytes of payload a batch is to have; one block may have more.
	batchLen = 128 << 10
)

func newPipeline(a *assembler, s *Settings) *pipeline {
	p := &pipeline{assembler: a, codec: newCodec(s.Compression), block: new(dataBlock)}
	depth := min(s.Helpers+3, pipelineRoom/(2*max(s.BlockSize, batchLen)))
	if s.Helpers < 1 || s.Compression == CompressNone || depth < 1 {
		return p
	}
	p.work = make(chan *batch, depth)
	for range depth {
		p.free = append(p.free, &batch{done: make(chan struct{}, 1)})
	}
	for range s.Helpers {
		p.helped.Go(p.help)
	}
	return p
}

// help compresses batches.
func (p *pipeline) help() {
	c := newCodec(p.codec.kind)
	for b := range p.work {
		b.compress(c)
	}
}

// compress makes the stored forms of a batch's blocks.
func (b *batch) compress(c *codec) {
	for _, d := range b.blocks[:b.n] {
		d.compress(c)
	}
	b.done <- struct{}{}
}

// assemble puts the oldest batch into the file, which must be compressed.
func (p *pipeline) assemble() {
	b := p.queue[0]
	p.queue = append(p.queue[:0], p.queue[1:]...)
	for _, d := range b.blocks[:b.n] {
		_ = p.assembler.put(d) // it keeps its error, which send and close give
	}
	b.n, b.bytes = 0, 0
	p.free = append(p.free, b)
}

// assembleReady puts into the file what can be put without waiting.
func (p *pipeline) assembleReady() {
	for len(p.queue) > 0 {
		select {
		case <-p.queue[0].done:
			p.assemble()
		default:
			return
		}
	}
}

// assembleNext puts at least the oldest batch into the file, and compresses until it is ready.
func (p *pipeline) assembleNext() {
	for {
		select {
		case <-p.queue[0].done:
			p.assemble()
			return
		default:
		}
		select {
		case <-p.queue[0].done:
			p.assemble()
			return
		case b := <-p.work:
			b.compress(p.codec)
		}
	}
}

// take gives a data block to be filled and sent. Its buf has the payload copied into it, or, without helpers, exchanged
// for the encoder's.
func (p *pipeline) take() *dataBlock {
	if p.work == nil {
		return p.block
	}
	if p.batch == nil {
		p.batch = p.emptyBatch()
	}
	b := p.batch
	if b.n == len(b.blocks) {
		b.blocks = append(b.blocks, new(dataBlock))
	}
	b.n++
	return b.blocks[b.n-1]
}

func (p *pipeline) emptyBatch() *batch {
	p.assembleReady()
	if len(p.free) == 0 {
		p.assembleNext()
	}
	last := len(p.free) - 1
	b := p.free[last]
	p.free = p.free[:last]
	return b
}

// send takes a block that was filled. It may tell of an earlier block's error. Without helpers the block is in the file,
// and free, when it returns.
func (p *pipeline) send(d *dataBlock) error {
	if p.work == nil {
		d.compress(p.codec)
		return p.assembler.put(d)
	}
	b := p.batch
	b.bytes += len(d.buf)
	if b.bytes >= batchLen || d.last {
		p.work <- b // there is room for all
		p.queue = append(p.queue, b)
		p.batch = nil
	}
	return p.assembler.err
}

// close waits until all blocks that were sent are in the file, and ends the helpers. It may be called again.
func (p *pipeline) close() error {
	for len(p.queue) > 0 {
		p.assembleNext()
	}
	if p.work != nil {
		close(p.work)
		p.helped.Wait()
		p.work = nil
	}
	return p.assembler.err
}
