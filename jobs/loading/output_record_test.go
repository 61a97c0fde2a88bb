package loading

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"testing"

	"bulkload/internal/storage"
	"bulkload/jobs/base/counts"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/ledger"
	"bulkload/jobs/env/site"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/output"
	"bulkload/jobs/spec/jobfile"
	"bulkload/load"
)

// countedSaves counts how often a manifest is saved, and its bytes.
type countedSaves struct {
	storage.FS
	saves int
	bytes int64
	fail  error // of each save
}

func (c *countedSaves) Replace(from, to string) error {
	if c.fail != nil {
		return c.fail
	}
	info, err := c.Stat(from)
	if err != nil {
		return err
	}
	c.saves++
	c.bytes += info.Size
	return c.FS.Replace(from, to)
}

// loadOf records a load of n files, one in each region, into no table.
func loadOf(t *testing.T, n int) (*outputRecord, *countedSaves) {
	t.Helper()
	fsys := &countedSaves{FS: storage.Local}
	m := &manifest.Manifest{Schema: manifest.Schema, State: manifest.Loading, Run: jobfile.RunInfo{ID: "run", Table: "t"}}
	for i := range n {
		row := fmt.Sprintf("%06d", i)
		if i > 0 {
			m.Splits = append(m.Splits, row)
		}
		f := hfiles.FileMeta{Path: fmt.Sprintf("f/%032x", i), Family: "f", Region: i, FirstRow: row, LastRow: row, Bytes: 1, Rows: 1, Cells: 1,
			Probes: []hfiles.KnownCell{{Row: row, Type: 4, Value: strings.Repeat("0", 32)}}}
		f.Digest.Cells = 1
		m.Slices = append(m.Slices, manifest.RecordedSlice{Region: i, Entries: 1, Counts: counts.Written{Rows: 1}, Files: []hfiles.FileMeta{f}})
	}
	dir := localOutput(t, options.Options{})
	dir.FS = fsys
	return &outputRecord{out: output.New(dir, m)}, fsys
}

// TestSavesOfALoad: a load of many regions saves its manifest some dozens of times, however many there are, one of few
// regions after each request; in the end it is saved.
func TestSavesOfALoad(t *testing.T) {
	t.Parallel()
	var bytes []int64
	for _, n := range []int{1, 63, 500, 1000, 2000} {
		w, counted := loadOf(t, n)
		hooks := w.hooks(n)
		for _, f := range w.out.Manifest.Files() {
			if err := hooks.Done([]load.HFile{{URI: w.out.URI(f.Path)}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.saveLoaded(); err != nil {
			t.Fatal(err)
		}
		m, err := manifest.Read(w.out.FS, w.out.Path)
		if err != nil || m.NotLoaded() != nil {
			t.Fatalf("%d files: %d are not recorded (%v)", n, len(m.NotLoaded()), err)
		}
		if want := min(n, maxSaves+1); counted.saves > want || n < maxSaves && counted.saves != n {
			t.Errorf("%d files: %d saves, want %d", n, counted.saves, want)
		}
		bytes = append(bytes, counted.bytes/int64(n))
	}
	if bytes[4] > bytes[2]*3/2 {
		t.Errorf("bytes saved for each file: %d", bytes)
	}
}

// TestServedBeforeIsSaved: that the table had a file's cells before is on the disk before the first request, also where
// the manifest was saved earlier in the same process. Else a killed load would take these cells for proof.
func TestServedBeforeIsSaved(t *testing.T) {
	t.Parallel()
	w, _ := loadOf(t, 2)
	if err := w.out.Save(); err != nil {
		t.Fatal(err)
	}
	second := w.out.Manifest.Files()[1]
	if err := w.hooks(2).ServedBefore([]load.HFile{{URI: w.out.URI(second.Path), Probes: []load.Probe{{Before: true}}}}); err != nil {
		t.Fatal(err)
	}
	m, err := manifest.Read(w.out.FS, w.out.Path)
	if err != nil {
		t.Fatal(err)
	}
	if files := m.Files(); files[0].Probes[0].Before || !files[1].Probes[0].Before {
		text, _ := storage.ReadFile(w.out.FS, path.Join(w.out.Path, manifest.Name), 1<<20)
		t.Errorf("the manifest has %s", strings.TrimSpace(string(text)))
	}
}

// TestTheLedgerComesFirst: before a load says in the manifest that requests may follow, the ledger has its entry, which
// outlives the output. A load whose manifest can't be saved does not begin.
func TestTheLedgerComesFirst(t *testing.T) {
	t.Parallel()
	w, saves := loadOf(t, 2)
	m := w.out.Manifest
	m.State, m.JobHash = manifest.Written, "0123456789abcdef"
	w.ledger = ledger.Open(storage.Local, t.TempDir())
	if err := w.out.Save(); err != nil {
		t.Fatal(err)
	}
	saves.fail = errors.New("no space")
	if err := w.begin(tableOf(), false); !errors.Is(err, saves.fail) {
		t.Errorf("%v", err)
	}
	e, err := w.ledger.Read(m.LedgerKey(w.out.FS.URI(w.out.Path)))
	if err != nil || e == nil || e.State != ledger.Loading || len(e.Files) != 2 {
		t.Errorf("the ledger has %+v (%v)", e, err)
	}
	if saved, err := manifest.Read(w.out.FS, w.out.Path); err != nil || saved.State != manifest.Written {
		t.Errorf("the manifest says %s (%v)", saved.State, err)
	}
}

// TestStagingIsSavedBeforeRequests: a kill after the first request finds the staging folder in the manifest.
func TestStagingIsSavedBeforeRequests(t *testing.T) {
	t.Parallel()
	w, _ := loadOf(t, 1)
	if err := w.hooks(1).Staging("hdfs:///staging/1"); err != nil {
		t.Fatal(err)
	}
	if m, err := manifest.Read(w.out.FS, w.out.Path); err != nil || m.Staging != "hdfs:///staging/1" {
		t.Errorf("the manifest has the folder %q (%v)", m.Staging, err)
	}
}

// TestMomentsInTheLedger: the ledger says of a load whether its cells may have other timestamps than the few that it
// knows, so that no other job with such a timestamp takes its rows for its own.
func TestMomentsInTheLedger(t *testing.T) {
	t.Parallel()
	for timestamp, want := range map[int64]bool{0: true, 5: false} {
		w, _ := loadOf(t, 2)
		w.out.Manifest.Timestamp, w.out.Site = timestamp, &site.Site{User: "tina"}
		for _, f := range w.out.Manifest.Files() {
			f.Probes = []hfiles.KnownCell{{Row: f.FirstRow, Timestamp: 5}}
		}
		e, err := w.entry(ledger.Loaded)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.MayHaveTimestamp(7); got != want || e.Moments != want {
			t.Errorf("a job's timestamp %d: %t, in the entry %t", timestamp, got, e.Moments)
		}
	}
}
