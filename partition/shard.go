package partition

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bulkload/internal/poison"
)

// Shard is one goroutine's part of the sort.
type Shard struct {
	sorter  *Sorter
	arena   *arena
	writer  *runWriter // made at the first spill
	reserve int        // bytes to have ready for an entry; adapts to the entries
	sample  splitSample
	times   times
	entries int64 // that were spilled, and after Close all of them
	full    bool  // another entry would go over the arena's limit
	err     error // ends the shard
	ended   bool  // by Sort or Close: no entry may follow
	lent    poison.Lent
}

var errShardClosed = errors.New("the sort's lane is closed")

// Buffer returns an empty slice in the arena to which one entry can be appended: its key, then its payload. It is
// valid until Commit or the next call of Buffer.
func (l *Shard) Buffer() []byte {
	if l.err != nil || l.ended {
		return nil
	}
	if len(l.arena.tail()) < headerLen+l.reserve {
		l.arena.addChunk(headerLen + l.reserve)
	}
	tail := l.arena.tail()
	if poison.Enabled {
		l.lent.End()
		return l.lent.Bytes(tail[headerLen:min(headerLen+maxLent, len(tail))])[:0]
	}
	return tail[headerLen:headerLen:len(tail)]
}

// maxLent bounds what Buffer returns with the tag poison, because all of it is overwritten for each entry.
const maxLent = 4 << 10

// Commit adds the entry that was appended to Buffer's slice: a key of keyLen bytes, at most MaxKey, which begins with a
// row of rowLen bytes, and then the payload. A row's entries are never in two slices; in a key that is longer than its
// row, the row must be encoded by sortentry.AppendRow. Commit may sort and spill the shard's arena; with persistent
// runs it leaves that to Spill. After an error the shard refuses every further entry.
func (l *Shard) Commit(entry []byte, rowLen, keyLen int, pos EntryOrigin) error {
	switch {
	case l.err != nil:
		return l.err
	case l.ended:
		return errShardClosed
	case rowLen < 1 || rowLen > keyLen || keyLen > MaxKey || keyLen > len(entry):
		return fmt.Errorf("sort an entry of %d bytes with a key of %d and a row of %d: a key has 1 to %d",
			len(entry), keyLen, rowLen, MaxKey)
	case len(entry) > maxEntry:
		return fmt.Errorf("sort an entry of %d bytes: at most %d can be taken", len(entry), maxEntry)
	}
	if poison.Enabled {
		defer l.lent.End()
		if tail := l.arena.tail(); len(tail) >= headerLen+len(entry) {
			entry = tail[headerLen : headerLen+copy(tail[headerLen:], entry)]
		}
	}
	if !l.isInArena(entry) {
		if l.err = l.copyIn(entry); l.err != nil {
			return l.err
		}
	}
	if !l.arena.growIndex(l.full) { // spillIfFull has ensured it, except for the very first entry
		return errors.New("sort: no room for the index")
	}
	l.arena.add(keyLen, len(entry)-keyLen, pos)
	l.sample.offerKey(entry[:rowLen])
	l.reserve = min(max(l.reserve, len(entry)), l.arena.chunkSize/8)
	l.err = l.spillIfFull()
	return l.err
}

// isInArena reports whether the entry is still in Buffer's slice. An append that outgrew the chunk would have moved it.
func (l *Shard) isInArena(entry []byte) bool {
	tail := l.arena.tail()
	return len(tail) >= headerLen+len(entry) && &tail[headerLen:][0] == &entry[0]
}

// copyIn copies an entry that outgrew its chunk into a new one.
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

// spillIfFull spills the arena if it could not hold another entry. With persistent runs it only sets full. The caller
// then decides when to spill, because its record must describe exactly the entries of the run.
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

// Full reports whether it is time to spill, because every further entry exceeds the shard's share of the memory.
// Without persistent runs it is always false.
func (l *Shard) Full() bool { return l.full }

// Spill writes the entries committed since the last Spill as a persistent run, and returns the zero RunFile if there
// were none. After an error the shard refuses every further entry.
func (l *Shard) Spill() (RunFile, error) {
	switch {
	case l.err != nil:
		return RunFile{}, l.err
	case l.arena == nil:
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

// Sort sorts the entries that the shard holds, so that Spill or Close does not have to. The shard refuses every further
// entry.
func (l *Shard) Sort() {
	l.ended = true
	if l.err != nil || l.arena == nil {
		return
	}
	begun := time.Now()
	l.arena.sort()
	l.times.sort += time.Since(begun)
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
	l.entries += int64(len(l.arena.index))
	l.sorter.spilled(run, l.arena, &l.sample)
	l.arena.reset()
	return run, nil
}

// times are the times that a shard's goroutine spent on work other than accepting entries.
type times struct{ sort, spill time.Duration }

// Busy is how long the shard has been sorting and writing its arena so far, which Commit does only now and then. It
// must be called by the shard's goroutine.
func (l *Shard) Busy() time.Duration { return l.times.sort + l.times.spill }

// Close ends the shard. It sorts the entries that the shard still holds, in the caller's goroutine. A second Close does
// nothing.
func (l *Shard) Close() error {
	l.ended = true
	if l.arena == nil {
		return nil
	}
	a := l.arena
	l.arena, l.writer = nil, nil
	if l.err != nil || len(a.index) == 0 {
		l.sorter.shardClosed(l, nil)
		return nil
	}
	l.entries += int64(len(a.index))
	a.release()
	begun := time.Now()
	a.sort()
	l.times.sort += time.Since(begun)
	l.sorter.shardClosed(l, newMemoryRun(a, l.sorter.regions))
	return nil
}
