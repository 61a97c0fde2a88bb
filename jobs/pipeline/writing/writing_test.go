package writing

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"bulkload/hfilewriter"
	"bulkload/internal/digest"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/sortingtest"
	"bulkload/internal/test/testfs"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/sorting"
)

// memory are records that end with the test. They fail from the call of a given number on.
type memory struct {
	manifest.Manifest
	mu      sync.Mutex
	left    int // calls of Add that succeed; less than 0: all
	flushed int
	forgot  [][]int // the regions of each call of Forget
}

var errFull = errors.New("the disk is full")

func (m *memory) All() []manifest.RecordedSlice { return m.Slices }

func (m *memory) Add(r manifest.RecordedSlice) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.left == 0 {
		return errFull
	}
	m.left--
	m.Manifest.Add(r)
	return nil
}

func (m *memory) Flush() error { m.flushed++; return nil }

func (m *memory) Forget(regions []int) error {
	m.forgot = append(m.forgot, regions)
	m.Remove(regions)
	return nil
}

func (m *memory) Served(f *hfiles.FileMeta) *hfiles.FileMeta { return m.LoadedTwin(f) }

// newStage is the write stage of sorted lines, with regions that begin at b and d.
func newStage(t *testing.T, more string, files map[string]string) (*Stage, *memory) {
	t.Helper()
	text := fmt.Sprintf("table: ns:t\nfamily: f\ntimestamp: 2026-11-20\noutput: out\nhfile: {slice_size: 20KiB}\nrowkey: id\nregions: {from: splits, splits: ['b', 'd']}\n%s\n"+
		"input: {path: '%s', columns: [id, a], field_delimiter: ',', record_delimiter: '\\n'}\n", more, testfs.Tree(t, files))
	j, src, into := jobtest.Open(t, text)
	rows := sortingtest.Sort(t, j, src, into)
	out, records := t.TempDir(), &memory{left: -1}
	return New(Config{Job: j, Target: into, Inputs: src.Files, RunID: "run", Log: slog.New(slog.DiscardHandler),
		Destination: hfiles.Destination{FS: storage.Local, Dir: out, Temps: func() (string, error) { return out, nil }}}, rows, records), records
}

// newRun is the stage in a process of its own.
func newRun(w *Stage) *Stage {
	return New(w.writer.Config, w.Rows, w.Records)
}

// filesIn lists the files below the output.
func filesIn(t *testing.T, w *Stage) (names []string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(w.writer.Destination.Dir, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		names = append(names, filepath.Join(filepath.Base(filepath.Dir(name)), filepath.Base(name)))
	}
	return names
}

// wantWritten wants all that was sorted in the files that are recorded, and no other file.
func wantWritten(t *testing.T, what string, w *Stage, records *memory) {
	t.Helper()
	var recorded []string
	var sum, want digest.Sum
	for _, r := range records.Slices {
		sum.Add(r.Digest)
		sum.Add(r.Dropped)
		for _, f := range r.Files {
			recorded = append(recorded, f.Path)
		}
	}
	for i := range w.Rows.Regions {
		want.Add(w.Rows.Regions[i].Digest)
	}
	slices.Sort(recorded)
	if got := filesIn(t, w); sum != want || !slices.Equal(got, recorded) {
		t.Errorf("%s: %v is written of %v; files %v, recorded %v", what, sum, want, got, recorded)
	}
	if half, err := filepath.Glob(filepath.Join(w.writer.Destination.Dir, "*")); err != nil || len(half) > 1 {
		t.Errorf("%s: %v is left", what, half)
	}
}

// manyLines are lines for all three regions, of which the second one has several slices.
func manyLines() string {
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, "c%05d,value %d\n", i*7919%3000, i)
	}
	return b.String() + "a,1\ne,2\n"
}

// TestDuplicates: of the records of a row the last by path and offset is written. The others count as duplicates, and
// as differing where their columns differ. Examples of these are listed, at most ten; duplicates: error names both
// records.
func TestDuplicates(t *testing.T) {
	files := map[string]string{"part-0": "c,1\nc,2\na,1\n", "part-1": "c,2\na,1\n"}
	w, records := newStage(t, "", files)
	if err := w.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantWritten(t, "duplicates", w, records)
	var rows, duplicates, differing int64
	for _, r := range records.Slices {
		rows, duplicates, differing = rows+r.Counts.Rows, duplicates+r.Counts.Duplicates, differing+r.Counts.Differing
	}
	if rows != 2 || duplicates != 3 || differing != 1 || len(w.Report().Samples) != 1 {
		t.Fatalf("%d rows, %d duplicates, %d differing, examples %v", rows, duplicates, differing, w.Report().Samples)
	}
	if s := w.Report().Samples[0]; s.Row != "c" || s.Lost.Offset != 0 || s.Kept.Offset != 4 || s.Lost.File != w.writer.Inputs[0].Path {
		t.Errorf("the example is %+v", s)
	}
	w, records = newStage(t, "duplicates: error", files)
	err := w.Run(t.Context())
	if failure.CodeOf(err) != errcode.Duplicates ||
		!testwords.Names(err, "key c: ", w.writer.Inputs[0].Path+", byte 0 ", w.writer.Inputs[0].Path+", byte 4 ",
			"duplicates: error") {
		t.Errorf("duplicates: error: %v", err)
	}
	if len(records.Slices) > 2 || records.flushed != 1 { // those of the other two regions, as far as they were ready
		t.Errorf("%d slices are recorded, %d times flushed", len(records.Slices), records.flushed)
	}
	var many strings.Builder
	for i := range 2 * maxSamples {
		fmt.Fprintf(&many, "c%d,1\nc%d,2\n", i, i)
	}
	if w, _ = newStage(t, "", map[string]string{"part-0": many.String()}); w.Run(t.Context()) != nil || len(w.Report().Samples) != maxSamples {
		t.Errorf("%d examples", len(w.Report().Samples))
	}
}

// TestOnlyMissingSlicesAreWritten: wherever recording fails, what is recorded stays, files without a record are deleted
// or known by their names, and the next run writes the rest. Both together are what one run writes.
func TestOnlyMissingSlicesAreWritten(t *testing.T) {
	w, whole := newStage(t, "", map[string]string{"part-0": manyLines()})
	if err := w.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantWritten(t, "one run", w, whole)
	want := filesIn(t, w)
	if len(whole.Slices) < 5 {
		t.Fatalf("%d slices", len(whole.Slices))
	}
	for n := range len(whole.Slices) {
		w, records := newStage(t, "", map[string]string{"part-0": manyLines()})
		records.left = n
		if err := w.Run(t.Context()); !errors.Is(err, errFull) || records.flushed != 1 || len(records.Slices) != n {
			t.Fatalf("%v; %d of %d slices are recorded, %d times flushed", err, len(records.Slices), n, records.flushed)
		}
		records.left = -1
		if w = newRun(w); w.Run(t.Context()) != nil || !slices.Equal(filesIn(t, w), want) {
			t.Errorf("after %d slices: %v, want %v", n, filesIn(t, w), want)
		}
		wantWritten(t, fmt.Sprintf("after %d slices", n), w, records)
	}
}

// TestOtherSlicesAreRefused: recorded slices that begin at other rows than they would now are not mixed with new ones.
func TestOtherSlicesAreRefused(t *testing.T) {
	w, records := newStage(t, "", map[string]string{"part-0": manyLines()})
	if err := w.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	last := &records.Slices[len(records.Slices)-2]
	last.Start += "x"
	records.Slices = slices.Delete(records.Slices, 1, 2) // its region is not complete
	if err := newRun(w).Run(t.Context()); failure.CodeOf(err) != errcode.Digest || !testwords.Names(err, "--force") {
		t.Errorf("%v", err)
	}
}

// TestUnbalancedRecordsAreForgotten: where the records of complete regions are not what was sorted, the regions are
// written again. They are forgotten by one call, which saves the manifest once.
func TestUnbalancedRecordsAreForgotten(t *testing.T) {
	w, records := newStage(t, "", map[string]string{"part-0": manyLines()})
	if err := w.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{0, 1, len(records.Slices) - 1} { // a slice of each region
		records.Slices[i].Digest.Timed++
	}
	for _, f := range records.Files() {
		if err := os.Remove(filepath.Join(w.writer.Destination.Dir, f.Path)); err != nil {
			t.Fatal(err)
		}
	}
	w = newRun(w)
	if err := w.Run(t.Context()); err != nil || !reflect.DeepEqual(records.forgot, [][]int{{0, 1, 2}}) {
		t.Errorf("%v; forgotten are the regions %v", err, records.forgot)
	}
	wantWritten(t, "written again", w, records)
}

// TestUnfinishedRegionsAreForgotten: a region that is not what was sorted is discarded, and so are the slices of regions
// that can't be compared yet, even those that come later. The next run writes all of them.
func TestUnfinishedRegionsAreForgotten(t *testing.T) {
	w, records := newStage(t, "", map[string]string{"part-0": manyLines()})
	units, err := w.Unfinished()
	if err != nil {
		t.Fatal(err)
	}
	accept := func(region, slice int, damage uint64) error {
		i := slices.IndexFunc(units, func(u sorting.SliceWork) bool { return u.Region == region && u.Number == slice })
		f, err := w.writer.write(t.Context(), units[i])
		if err != nil {
			t.Fatal(err)
		}
		f.Record.Digest.Timed += damage
		return w.Accept(f)
	}
	if err := errors.Join(accept(2, 0, 0), accept(1, 0, 0)); err != nil || len(records.Slices) != 2 {
		t.Fatalf("%v; %d slices are recorded", err, len(records.Slices))
	}
	if err := accept(0, 0, 1); failure.CodeOf(err) != errcode.Digest || !reflect.DeepEqual(records.forgot, [][]int{{0, 1}}) {
		t.Errorf("%v; forgotten are the regions %v", err, records.forgot)
	}
	if err := accept(1, 1, 0); failure.CodeOf(err) != errcode.Digest || len(records.Slices) != 1 {
		t.Errorf("a slice that comes later: %v; %d slices are recorded", err, len(records.Slices))
	}
	for _, name := range filesIn(t, w) { // a run does this before the stage
		if name != records.Slices[0].Files[0].Path {
			check(t, os.Remove(filepath.Join(w.writer.Destination.Dir, name)))
		}
	}
	w = newRun(w)
	check(t, w.Run(t.Context()))
	wantWritten(t, "written again", w, records)
}

// TestWrongSliceOfATask: a task compares its slice with what was merged, because it does not know the rest of the region.
// After an error no file is left.
func TestWrongSliceOfATask(t *testing.T) {
	w, _ := newStage(t, "", map[string]string{"part-0": manyLines()})
	units, err := w.Unfinished()
	check(t, err)
	w.writer.Alone = true
	if f, err := w.writer.write(t.Context(), units[0]); err != nil || len(f.Temps) == 0 {
		t.Fatalf("a right slice: %v", err)
	}
	family := &w.writer.Target.Layout.Families[0] // whose last cell goes into another column from now on
	names := slices.Clone(family.Qualifiers)
	names[len(names)-1] = append(slices.Clone(names[len(names)-1]), 'x')
	family.Columns, err = hfilewriter.NewColumns(family.Bytes, names)
	check(t, err)
	f, err := w.writer.write(t.Context(), units[1])
	if failure.CodeOf(err) != errcode.Digest || !testwords.Names(err, "slice") || f != nil {
		t.Errorf("a wrong slice: %v", err)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestServedFilesAreNotWrittenTwice: a file that the table already has, byte for byte, is recorded as it was, and gets
// no second name.
func TestServedFilesAreNotWrittenTwice(t *testing.T) {
	w, records := newStage(t, "", map[string]string{"part-0": "a,1\nc,2\n"})
	if err := w.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	served := records.Slices[0].Files[0]
	served.Loaded = true
	if err := os.Remove(filepath.Join(w.writer.Destination.Dir, served.Path)); err != nil { // HBase has moved it
		t.Fatal(err)
	}
	records.Slices, records.LoadedBefore = nil, []hfiles.FileMeta{served}
	if err := newRun(w).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f := records.Slices[0].Files[0]; !f.Loaded || len(filesIn(t, w)) != 1 {
		t.Errorf("recorded is %+v; files %v", f, filesIn(t, w))
	}
}

// TestCountOfFiles: files are counted as they are ended: one that has reached its size ends with its row.
func TestCountOfFiles(t *testing.T) {
	count := fileCount{maxSize: 10, families: make([]familyCount, 2)}
	for i, step := range []struct {
		family int
		row    string
		size   int64
		want   int64
	}{
		{0, "a", 4, 1}, {0, "a", 100, 1}, {1, "a", 9, 1}, // a row is in one file, whatever its size
		{0, "b", 9, 2}, {1, "b", 1, 1}, // the other family's file has 10 bytes now
		{0, "c", 1, 2}, {1, "c", 1, 2}, {0, "d", 1, 3},
	} {
		if got := count.add(step.family, []byte(step.row), step.size); got != step.want {
			t.Errorf("step %d: %d files, want %d", i, got, step.want)
		}
	}
}

// TestTooManyFilesOfARegion: a job that loads is refused before anything is written; another one is warned.
func TestTooManyFilesOfARegion(t *testing.T) {
	w, _ := newStage(t, "load: false", map[string]string{"part-0": manyLines()})
	w.writer.Target.MaxSize, w.writer.Target.MaxFiles = 10_000, 3
	var warned []string
	warnf := func(format string, args ...any) { warned = append(warned, fmt.Sprintf(format, args...)) }
	if err := CheckFileCounts(t.Context(), w.writer.Job, w.writer.Target, w.Rows, warnf); err != nil || len(warned) != 1 || !strings.Contains(warned[0], "region 1") {
		t.Errorf("%v; warned: %q", err, warned)
	}
	w.writer.Job.Load = true
	if err := CheckFileCounts(t.Context(), w.writer.Job, w.writer.Target, w.Rows, warnf); failure.KindOf(err) != failure.Refused || failure.CodeOf(err) != errcode.FilesLimit {
		t.Errorf("a job that loads: %v", err)
	}
	w.writer.Target.MaxFiles = 1000
	if err := CheckFileCounts(t.Context(), w.writer.Job, w.writer.Target, w.Rows, warnf); err != nil || len(warned) != 1 {
		t.Errorf("with a high limit: %v; warned: %q", err, warned)
	}
}

// TestFailedDataNodeCostsOneSlice: the slice is written again, and no other one; the progress counts its rows once.
func TestFailedDataNodeCostsOneSlice(t *testing.T) {
	t.Parallel()
	for _, at := range []int64{1, 2, 3} {
		w, records := newStage(t, "", map[string]string{"part": "a1,x\nb1,y\nb2,z\nd1,x\n"})
		fsys := &testfs.LostDataNode{FS: w.writer.Destination.FS, Nth: at}
		w.writer.Destination.FS = fsys
		if err := w.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantWritten(t, fmt.Sprintf("the DataNode of file %d failed", at), w, records)
		if fsys.Created.Load() != 4 || w.writer.written.Sum() != 4 {
			t.Errorf("%d files were created for 3 slices; %d rows of 4 counted", fsys.Created.Load(), w.writer.written.Sum())
		}
	}
}
