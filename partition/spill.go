package partition

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"bulkload/internal/poison"
)

// writeBuffer is how many bytes of blocks are written at a time.
const writeBuffer = 256 << 10

// checkEvery is how many entries are written between two checks for cancellation.
const checkEvery = 4096

// Entries are prefetched in batches of this size, and this many cache lines of each: enough for all the loads that a
// core can have in flight.
const (
	prefetchEntries = 16
	prefetchLines   = 4
)

// runWriter writes sorted entries as a run. Its buffers are reused for the next run.
//
// A run exists once write has returned it. Until then its file is removed on any error; after a kill the next sort
// removes it, because no record names it.
type runWriter struct {
	regions          *Regions
	folder           *folder
	blockSize        int
	flushAt          int           // bytes of blocks
	uncompressed     bool          // blocks are not compressed
	uncompressedLeft *atomic.Int64 // of all writers together; nil: none
	name             string        // of the run; "": the folder's next one
	advice           string        // the remedy if there is no space

	file    io.WriteCloser
	run     *spilledRun
	counts  []int64 // entries of each region
	region  int     // being written
	end     []byte  // of that region
	block   []byte  // entries; of an uncompressed block in its place in buffer, unless one outgrew it
	scratch []byte  // entries of a block to be compressed
	buffer  []byte  // blocks
	written int64   // bytes before buffer
	data    int64   // bytes of keys and payloads
}

// newWriter returns a writer for the sort's runs.
func (s *Sorter) newWriter() *runWriter {
	w := newRunWriter(s.regions, s.folder, s.blockSize)
	w.uncompressedLeft = &s.uncompressed
	return w
}

func newRunWriter(regions *Regions, f *folder, blockSize int) *runWriter {
	w := &runWriter{regions: regions, folder: f, blockSize: blockSize, flushAt: min(writeBuffer, 4*blockSize),
		counts: make([]int64, regions.Len()),
		advice: "free some space there, choose another --work-dir, or give more --memory"}
	w.resetBuffer()
	return w
}

// write makes a run of the entries that fill adds; size is their estimated size in bytes. A persistent run's footer has
// the candidates for cuts among its entries.
func (w *runWriter) write(size int64, c *splitSample, fill func() error) (*spilledRun, error) {
	// Once the runs exceed the budget for uncompressed bytes, all later ones are compressed.
	w.uncompressed = w.uncompressedLeft != nil && w.uncompressedLeft.Add(-size) >= 0
	if err := w.begin(); err != nil {
		return nil, w.fault(size, err)
	}
	err := fill()
	if err == nil {
		err = w.finish()
	}
	if err == nil && w.folder.persistent != nil {
		err = w.writeFooter(c)
	}
	err = errors.Join(err, w.file.Close())
	if err != nil {
		return nil, w.fault(size, errors.Join(err, w.run.remove()))
	}
	return w.run, nil
}

func (w *runWriter) begin() error {
	store, name, err := w.folder.next()
	if err != nil {
		return err
	}
	name = cmp.Or(w.name, name)
	if w.file, err = store.Create(name); err != nil {
		return err
	}
	w.run = &spilledRun{store: store, name: name, starts: make([]int64, 1, w.regions.Len()+1)}
	w.region, w.end, w.written, w.data = 0, w.regions.End(0), 0, 0
	w.buffer = w.buffer[:0]
	w.beginBlock()
	clear(w.counts)
	return nil
}

// add adds the next entry.
func (w *runWriter) add(e *Entry) error {
	for len(w.end) > 0 && bytes.Compare(e.Key, w.end) >= 0 {
		if err := w.nextRegion(); err != nil {
			return err
		}
	}
	if len(w.block) > 0 && len(w.block)+len(e.Key)+len(e.Payload)+entryOverhead > w.blockSize {
		if err := w.endBlock(); err != nil {
			return err
		}
	}
	if len(w.block) == 0 {
		w.run.index.add(w.written+int64(len(w.buffer)), e.Key)
	}
	w.block = appendEntry(w.block, e)
	w.counts[w.region]++
	w.run.entries++
	w.data += int64(len(e.Key) + len(e.Payload))
	return nil
}

func (w *runWriter) nextRegion() error {
	err := w.endBlock()
	w.run.starts = append(w.run.starts, w.written+int64(len(w.buffer)))
	w.region++
	if w.region < w.regions.Len() {
		w.end = w.regions.End(w.region)
	}
	return err
}

func (w *runWriter) endBlock() error {
	if len(w.block) == 0 {
		return nil
	}
	before := len(w.buffer)
	w.buffer = appendBlock(w.buffer, w.block, w.uncompressed)
	w.run.largest = max(w.run.largest, len(w.block))
	w.run.largestStored = max(w.run.largestStored, len(w.buffer)-before)
	if !w.uncompressed { // otherwise the block is in the buffer
		poison.Bytes(w.block)
	}
	if len(w.buffer) >= w.flushAt {
		if err := w.flush(); err != nil {
			return err
		}
	}
	w.beginBlock()
	return nil
}

// beginBlock begins an empty block.
func (w *runWriter) beginBlock() {
	if w.uncompressed {
		at := len(w.buffer) + blockHeaderLen
		w.block = w.buffer[at:at:cap(w.buffer)]
		return
	}
	if w.scratch == nil {
		w.scratch = make([]byte, 0, w.blockSize)
	}
	w.block = w.scratch
}

// resetBuffer replaces a buffer that a large entry enlarged with one of the usual size.
func (w *runWriter) resetBuffer() {
	if usual := w.flushAt + maxStoredLen(w.blockSize); cap(w.buffer) != usual {
		w.buffer = make([]byte, 0, usual)
	}
}

func (w *runWriter) flush() error {
	n, err := w.file.Write(w.buffer)
	poison.Bytes(w.buffer)
	w.written += int64(n)
	w.buffer = w.buffer[:0]
	w.resetBuffer()
	return err
}

func (w *runWriter) finish() error {
	for w.region < w.regions.Len() {
		if err := w.nextRegion(); err != nil {
			return err
		}
	}
	return w.flush()
}

func (w *runWriter) fault(size int64, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("spill %d bytes of sorted records to %s, of which %d are written%s (%s): %w",
		size, w.folder.where(), w.written, w.folder.free(), w.advice, err)
}

// writeArena writes a sorted arena, with its candidates for cuts.
func (w *runWriter) writeArena(ctx context.Context, a *arena, c *splitSample) (*spilledRun, error) {
	return w.write(a.data, c, func() error {
		var e Entry
		for i, ix := range a.index {
			if i%checkEvery == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			if i%prefetchEntries == 0 {
				a.prefetch(a.index[i:min(i+prefetchEntries, len(a.index))], prefetchLines, &a.prefetched)
			}
			a.read(&e, ix.at)
			if err := w.add(&e); err != nil {
				return err
			}
		}
		return nil
	})
}
