package partition

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Shard is one goroutine's way into the sort.
type Shard struct {
	sorter  *Sorter
	arena   *arena
	writer  *runWriter // made at the first spill
	reserve int        // bytes to have ready for an entry; grows with what comes
	sample  splitSample
	times   times
	full    bool  // another entry would go over the arena's limit
	err     error // ends the lane
	closed  bool
}

var errShardClosed = errors.New("the sort's lane is closed")

// Buffer is an empty slice in the arena to append one entry to: its key, then its payload. It holds until Commit or the
// next Buffer call.
func (l *Shard) Buffer() []byte {
	if l.err != nil || l.closed {
		return nil
	}
	if len(l.arena.tail()) < headerLen+l.reserve {
		l.arena.addChunk(headerLen + l.reserve)
	}
	tail := l.arena.tail()
	return tail[headerLen:headerLen:len(tail)]
}

// Commit adds the entry that was appended to the slice that Buffer gave: a key of keyLen bytes, MaxKey at most, of which the
// first rowLen are a row, then the payload. A row's entries are never in two slices: a key that is more than its row has the row
// as sortentry.AppendRow writes it. Commit may sort and spill the lane's arena; where runs are kept it leaves that to Spill. After an error
// the lane refuses every further entry.
func (l *Shard) Commit(entry []byte, rowLen, keyLen int, pos Position) error {
	switch {
	case l.err != nil:
		return l.err
	case l.closed:
		return errShardClosed
	case rowLen < 1 || rowLen > keyLen || keyLen > MaxKey || keyLen > len(entry):
		return fmt.Errorf("sort an entry of %d bytes with a key of %d and a row of %d: a key has 1 to %d", len(entry), keyLen, rowLen, MaxKey)
	case len(entry) > maxEntry:
		return fmt.Errorf("sort an entry of %d bytes: at most %d can be taken", len(entry), maxEntry)
	}
	if !l.isInArena(entry) {
		if l.err = l.copyIn(entry); l.err != nil {
			return l.err
		}
	}
	if !l.arena.growIndex(l.full) { // makeRoom has seen to it, except for the first entry of all
		return errors.New("sort: no room for the index")
	}
	l.arena.add(keyLen, len(entry)-keyLen, pos)
	l.sample.offerKey(entry[:rowLen])
	l.reserve = min(max(l.reserve, len(entry)), l.arena.chunkSize/8)
	l.err = l.spillIfFull()
	return l.err
}

// isInArena tells whether the entry stands where Buffer put it, and was not moved by an append that outgrew the chunk.
func (l *Shard) isInArena(entry []byte) bool {
	tail := l.arena.tail()
	return len(tail) >= headerLen+len(entry) && &tail[headerLen:][0] == &entry[0]
}

// copyIn copies an entry that outgrew its chunk into another one.
func (l *Shard) copyIn(entry []byte) error {
	need := headerLen + len(entry)
	if len(l.arena.index) > 0 && !l.arena.fits(need) && l.sorter.persistent == nil {
		if _, err := l.spill(); err != nil {
			return err
		}
	}
	l.arena.addChunk(need)
	copy(l.arena.tail()[headerLen:], entry)
	return nil
}

// spillIfFull spills the arena where it could not take another entry.
func (l *Shard) spillIfFull() error {
	a := l.arena
	need := headerLen + l.reserve
	if (len(a.tail()) >= need || a.fits(need)) && a.growIndex(false) {
		return nil
	}
	if l.sorter.persistent != nil {
		l.full = true
		return nil
	}
	_, err := l.spill()
	return err
}

// Full tells whether it is time to spill: each entry more goes over the lane's share of the memory. It is never so where
// runs are not kept.
func (l *Shard) Full() bool { return l.full }

// Spill writes what the lane holds as a kept run: what was committed since the last Spill. The RunFile has no name where that is nothing. After an error the lane takes no more.
func (l *Shard) Spill() (RunFile, error) {
	switch {
	case l.err != nil:
		return RunFile{}, l.err
	case l.closed:
		return RunFile{}, errShardClosed
	case l.sorter.persistent == nil:
		return RunFile{}, errors.New("spill a lane: the sort keeps no runs")
	case len(l.arena.index) == 0:
		return RunFile{}, nil
	}
	var run *spilledRun
	if run, l.err = l.spill(); l.err != nil {
		return RunFile{}, l.err
	}
	l.full = false
	return run.file(), nil
}

// spill sorts the arena, writes it as a run and empties it.
func (l *Shard) spill() (*spilledRun, error) {
	if l.writer == nil {
		l.writer = l.sorter.newWriter()
	}
	begun := time.Now()
	l.arena.sort()
	sorted := time.Now()
	l.times.sort += sorted.Sub(begun)
	run, err := l.writer.writeArena(context.Background(), l.arena, &l.sample)
	l.times.spill += time.Since(sorted)
	if err != nil {
		return nil, err
	}
	l.sorter.spilled(run, l.arena, &l.sample)
	l.arena.reset()
	return run, nil
}

// times are what a lane's goroutine did besides taking entries.
type times struct{ sort, spill time.Duration }

// Busy is how long the lane has been sorting its arena and writing it so far: all that Commit does now and then. It
// belongs to the lane's goroutine.
func (l *Shard) Busy() time.Duration { return l.times.sort + l.times.spill }

// Close ends the lane; what it still holds is sorted here, in the lane's goroutine. Closing again does nothing.
func (l *Shard) Close() error {
	if l.closed || l.arena == nil {
		return nil
	}
	l.closed = true
	a := l.arena
	l.arena, l.writer = nil, nil
	if l.err != nil || len(a.index) == 0 {
		l.sorter.shardClosed(l, nil)
		return nil
	}
	a.release()
	begun := time.Now()
	a.sort()
	l.times.sort += time.Since(begun)
	l.sorter.shardClosed(l, newMemoryRun(a, l.sorter.regions))
	return nil
}
