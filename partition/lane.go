package partition

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Lane is one goroutine's way into the sort.
type Lane struct {
	sorter *Sorter
	arena  *arena
	writer *runWriter // made at the first spill
	room   int        // bytes to have ready for an entry; grows with what comes
	cuts   cuts
	took   times
	full   bool  // another entry would go over the arena's limit
	err    error // ends the lane
	closed bool
}

var errLaneClosed = errors.New("the sort's lane is closed")

// Buffer is an empty slice in the arena to append one entry to: its key, then its payload. It holds until Commit or the
// next Buffer call.
func (l *Lane) Buffer() []byte {
	if l.err != nil || l.closed {
		return nil
	}
	if len(l.arena.tail()) < headerLen+l.room {
		l.arena.addChunk(headerLen + l.room)
	}
	tail := l.arena.tail()
	return tail[headerLen:headerLen:len(tail)]
}

// Commit adds the entry that was appended to the slice that Buffer gave: a key of keyLen bytes, MaxKey at most, of which the
// first rowLen are a row, then the payload. A row's entries are never in two slices: a key that is more than its row has the row
// as sortentry.AppendRow writes it. Commit may sort and spill the lane's arena; where runs are kept it leaves that to Spill. After an error
// the lane refuses every further entry.
func (l *Lane) Commit(entry []byte, rowLen, keyLen int, pos Position) error {
	switch {
	case l.err != nil:
		return l.err
	case l.closed:
		return errLaneClosed
	case rowLen < 1 || rowLen > keyLen || keyLen > MaxKey || keyLen > len(entry):
		return fmt.Errorf("sort an entry of %d bytes with a key of %d and a row of %d: a key has 1 to %d", len(entry), keyLen, rowLen, MaxKey)
	case len(entry) > maxEntry:
		return fmt.Errorf("sort an entry of %d bytes: at most %d can be taken", len(entry), maxEntry)
	}
	if !l.inPlace(entry) {
		if l.err = l.place(entry); l.err != nil {
			return l.err
		}
	}
	if !l.arena.growIndex(l.full) { // makeRoom has seen to it, except for the first entry of all
		return errors.New("sort: no room for the index")
	}
	l.arena.add(keyLen, len(entry)-keyLen, pos)
	l.cuts.offer(entry[:rowLen])
	l.room = min(max(l.room, len(entry)), l.arena.chunkSize/8)
	l.err = l.makeRoom()
	return l.err
}

// inPlace tells whether the entry stands where Buffer put it, and was not moved by an append that outgrew the chunk.
func (l *Lane) inPlace(entry []byte) bool {
	tail := l.arena.tail()
	return len(tail) >= headerLen+len(entry) && &tail[headerLen:][0] == &entry[0]
}

// place copies an entry that outgrew its chunk into another one.
func (l *Lane) place(entry []byte) error {
	need := headerLen + len(entry)
	if len(l.arena.index) > 0 && !l.arena.fits(need) && l.sorter.kept == nil {
		if _, err := l.spill(); err != nil {
			return err
		}
	}
	l.arena.addChunk(need)
	copy(l.arena.tail()[headerLen:], entry)
	return nil
}

// makeRoom spills the arena where it could not take another entry.
func (l *Lane) makeRoom() error {
	a := l.arena
	need := headerLen + l.room
	if (len(a.tail()) >= need || a.fits(need)) && a.growIndex(false) {
		return nil
	}
	if l.sorter.kept != nil {
		l.full = true
		return nil
	}
	_, err := l.spill()
	return err
}

// Full tells whether it is time to spill: each entry more goes over the lane's share of the memory. It is never so where
// runs are not kept.
func (l *Lane) Full() bool { return l.full }

// Spill writes what the lane holds as a kept run: what was committed since the last Spill. The RunFile has no name where that is nothing. After an error the lane takes no more.
func (l *Lane) Spill() (RunFile, error) {
	switch {
	case l.err != nil:
		return RunFile{}, l.err
	case l.closed:
		return RunFile{}, errLaneClosed
	case l.sorter.kept == nil:
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
func (l *Lane) spill() (*spilledRun, error) {
	if l.writer == nil {
		l.writer = l.sorter.newWriter()
	}
	begun := time.Now()
	l.arena.sort()
	sorted := time.Now()
	l.took.sort += sorted.Sub(begun)
	run, err := l.writer.writeArena(context.Background(), l.arena, &l.cuts)
	l.took.spill += time.Since(sorted)
	if err != nil {
		return nil, err
	}
	l.sorter.spilled(run, l.arena, &l.cuts)
	l.arena.reset()
	return run, nil
}

// times are what a lane's goroutine did besides taking entries.
type times struct{ sort, spill time.Duration }

// Busy is how long the lane has been sorting its arena and writing it so far: all that Commit does now and then. It
// belongs to the lane's goroutine.
func (l *Lane) Busy() time.Duration { return l.took.sort + l.took.spill }

// Close ends the lane; what it still holds is sorted here, in the lane's goroutine. Closing again does nothing.
func (l *Lane) Close() error {
	if l.closed || l.arena == nil {
		return nil
	}
	l.closed = true
	a := l.arena
	l.arena, l.writer = nil, nil
	if l.err != nil || len(a.index) == 0 {
		l.sorter.laneClosed(l, nil)
		return nil
	}
	a.release()
	begun := time.Now()
	a.sort()
	l.took.sort += time.Since(begun)
	l.sorter.laneClosed(l, newMemoryRun(a, l.sorter.regions))
	return nil
}
