package partition

import (
	"bytes"
	"os"
	"testing"
)

// FuzzBlock holds that a damaged block is an error, or the entries as they were, and never a panic.
func FuzzBlock(f *testing.F) {
	f.Add([]byte("0123456789"), 3, byte(1), false)
	f.Add(bytes.Repeat([]byte("row"), 200), 13, byte(0x80), false)
	f.Add(bytes.Repeat([]byte("row"), 200), 0, byte(0), true)
	f.Add([]byte{0xff}, 0, byte(0xff), true)
	store := LocalStore(f.TempDir())
	f.Fuzz(func(t *testing.T, data []byte, at int, flip byte, plain bool) {
		var entries []byte
		for n := 0; n <= len(data) && len(entries) < 1<<16; n = 2*n + 1 {
			entries = appendEntry(entries, &Entry{Key: data[:n], Payload: data[n:], EntryOrigin: EntryOrigin{uint32(n), int64(n) << 30}})
		}
		block := appendBlock(nil, entries, plain)
		block[uint(at)%uint(len(block))] ^= flip
		run := &spilledRun{store: store, name: "run", starts: []int64{0, int64(len(block))}, largest: len(entries), largestStored: len(block)}
		if err := os.WriteFile(run.path(), block, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := run.open(); err != nil {
			t.Fatal(err)
		}
		defer run.in.Close()
		got, _, err := run.readBlock(blockStart{}, run.size(), make([]byte, run.largestStored), make([]byte, run.largest))
		if err == nil != (flip == 0) || err == nil && !bytes.Equal(got, entries) {
			t.Fatalf("flip %x at %d: %v", flip, at, err)
		}
	})
}

// FuzzEntries holds that the entries of a block are read within its bounds, whatever they are.
func FuzzEntries(f *testing.F) {
	f.Add(appendEntry(appendEntry(nil, &Entry{Key: []byte("key")}), &Entry{Key: []byte("k"), Payload: make([]byte, 200)}))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 2, 3, 4})
	f.Add([]byte{1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 3, 4, 5})
	f.Fuzz(func(t *testing.T, block []byte) {
		var e Entry
		for rest := block; len(rest) > 0; {
			before := len(rest)
			if rest = decodeEntry(rest, &e); rest == nil {
				return
			}
			if len(rest)+len(e.Key)+len(e.Payload) > before-4 {
				t.Fatalf("an entry of %d and %d bytes from %d, %d left", len(e.Key), len(e.Payload), before, len(rest))
			}
		}
	})
}
