package timing

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"bulkload/internal/storage"
	"bulkload/partition"
)

// TestClockOfFiles: a clock counts the bytes of all reads and writes through it, and files are what they are without
// it.
func TestClockOfFiles(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "file")
	out, err := storage.Local.Create(name, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	var written, read Stopwatch
	w := Writer(out, &written)
	for range 3 {
		if _, err := w.Write([]byte("0123456789")); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil || written.Bytes != 30 || written.Calls != 4 {
		t.Errorf("%+v, %v", written, err)
	}
	f, err := FS(storage.Local, &read).Open(name)
	if err != nil {
		t.Fatal(err)
	}
	part := make([]byte, 5)
	if _, err := f.ReadAt(part, 20); err != nil {
		t.Error(err)
	}
	all, err := io.ReadAll(f)
	if err != nil || len(all) != 30 || string(part) != "01234" || read.Bytes != 35 || f.Size() != 30 {
		t.Errorf("%q, %q, %+v, %v", all, part, read, err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	calls := read.Calls
	if _, err := FS(storage.Local, &read).Open(name + "x"); !errors.Is(err, os.ErrNotExist) || read.Calls != calls+1 {
		t.Errorf("a file that does not exist: %v, %d calls", err, read.Calls-calls)
	}
}

// delegating is a file system that issues delegation tokens.
type delegating struct {
	storage.FS
	storage.Delegator
}

func (delegating) Delegates() bool { return true }

// TestClockHidesNothing: what a file system can do beyond its interface is found through the clock.
func TestClockHidesNothing(t *testing.T) {
	t.Parallel()
	if d, ok := storage.DelegatorOf(FS(delegating{FS: storage.Local}, new(Stopwatch))); !ok || !d.Delegates() {
		t.Error("a clock hides that its file system issues tokens")
	}
}

// TestPhasesAddUp: the parts of a stage have all of its time, and none twice, however many goroutines did it.
func TestPhasesAddUp(t *testing.T) {
	t.Parallel()
	var read ReadTimes
	var write WriteTimes
	for range 2 {
		read.Add(&ReadTimes{Total: 10 * time.Second, File: Stopwatch{Took: 2 * time.Second, Bytes: 100}, Sorting: 3 * time.Second, Parse: 1, Visit: 4})
		write.Add(&WriteTimes{Total: 10 * time.Second, File: Stopwatch{Took: time.Second, Bytes: 10}, Compress: 2 * time.Second, Verify: 5 * time.Second, Merge: 1, Append: 6,
			Entries: 1, Raw: 2, Encoded: 3, Checked: 4})
	}
	check := func(stage string, phases []PhaseTime, seconds map[string]float64, bytes map[string]int64) {
		t.Helper()
		for _, p := range phases {
			if p.Of != stage || p.Seconds != seconds[p.Name] || p.Bytes != bytes[p.Name] || p.Seconds > 0 && p.Rate != float64(p.Bytes)/p.Seconds || p.Seconds == 0 && p.Rate != 0 {
				t.Errorf("%+v, want %v s and %d bytes", p, seconds[p.Name], bytes[p.Name])
			}
		}
		if len(phases) != len(seconds) {
			t.Errorf("%d phases", len(phases))
		}
	}
	stats := partition.Stats{Bytes: 50, SortTime: 4 * time.Second, SpillTime: 2 * time.Second, SpilledBytes: 20}
	check("sort", read.Phases(stats), map[string]float64{"read": 4, "parse": 2, "key": 8, "sort": 4, "spill": 2},
		map[string]int64{"read": 200, "parse": 200, "key": 50, "sort": 50, "spill": 20})
	check("write", write.Phases(), map[string]float64{"merge": 2, "encode": 12, "compress": 4, "write": 2, "verify": 10},
		map[string]int64{"merge": 2, "encode": 4, "compress": 6, "write": 20, "verify": 8})
}
