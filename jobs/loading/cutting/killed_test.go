package cutting

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"bulkload/cell"
	"bulkload/hfilewriter"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/internal/test/outputtest"
	"bulkload/internal/test/testfs"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/base/counts"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/base/timing"
	"bulkload/jobs/env/site"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/output"
	"bulkload/jobs/spec/jobfile"
	"bulkload/load"
)

// tableOf is a table with these region boundaries.
func tableOf(splits ...string) *load.Table {
	table := &load.Table{Name: "t", Families: []load.Family{{Name: "f", Compression: "NONE", DataBlockEncoding: "FAST_DIFF", BloomFilter: "ROW", BlockSize: 65536}}}
	start := ""
	for _, end := range append(splits, "") {
		table.Regions = append(table.Regions, load.Region{Start: []byte(start), End: []byte(end)})
		start = end
	}
	return table
}

// localDir is a directory that a process has locked and works on.
func localDir(t *testing.T, fsys storage.FS, dir string, hook options.Hook) *output.Dir {
	t.Helper()
	o, err := options.Options{Failpoint: hook}.WithDefaults()
	if err != nil {
		t.Fatal(err)
	}
	s, err := site.Open(o, jobfile.HBase{}, false)
	if err != nil {
		t.Fatal(err)
	}
	d := outputtest.Lock(t, output.At(storage.Local, dir, s, o))
	d.FS = fsys
	return d
}

// outputOf is the output that a directory is, as a process finds it.
func outputOf(t *testing.T, d *output.Dir) *output.Output {
	t.Helper()
	m, err := manifest.Read(storage.Local, d.Path)
	if err != nil {
		t.Fatal(err)
	}
	return output.New(d, m)
}

// writeFile writes an HFile of family f, with two cells in each row.
func writeFile(t *testing.T, dir, name string, rows ...string) hfiles.FileMeta {
	t.Helper()
	to := hfiles.Destination{FS: storage.Local, Dir: dir, Temps: func() (string, error) { return dir, nil }}
	settings := hfilewriter.Settings{Compression: hfilewriter.CompressNone, Encoding: hfilewriter.EncodeFastDiff, Bloom: hfilewriter.BloomRow}
	f, err := hfiles.Create(to, hfiles.FileMeta{Path: "f/" + name, Family: "f"}, settings, hfilewriter.Provenance{Created: 1, Loaded: 1, Task: "test"}, new(timing.Stopwatch))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		for _, qualifier := range []string{"p", "q"} {
			if err := f.Writer.Append(&cell.Cell{Row: []byte(row), Family: []byte("f"), Qualifier: []byte(qualifier), Timestamp: 1, Type: cell.Put, Value: []byte(row + name)}); err != nil {
				t.Fatal(err)
			}
		}
		f.CountRow(1)
	}
	if err := errors.Join(f.Finish(), f.ReadBack(t.Context()), os.MkdirAll(filepath.Join(dir, "f"), 0o755), os.Rename(f.Temp, filepath.Join(dir, f.Path))); err != nil {
		t.Fatal(err)
	}
	return f.FileMeta
}

// The files of each test: two with rows of several regions of regionsNow, and one of a single region.
var (
	rowsOf     = map[int]string{0: "a b c d e", 1: "d", 2: "b c0 g h"}
	regionsNow = []string{"b", "c", "g"}
)

// fileName is the name of a file of rowsOf.
func fileName(i int) string { return fmt.Sprintf("%032x", i) }

// owner is a kind of directory whose files are cut.
type owner struct {
	record func(t *testing.T, dir string, files []hfiles.FileMeta) // what its process has left before the cut
	cut    func(t *testing.T, out *output.Dir) error
	finish func(t *testing.T, out *output.Dir) error
	listed func(t *testing.T, dir string) []string // the files that its records name
}

// outputOwner is a run's output.
func outputOwner() owner {
	return owner{
		record: func(t *testing.T, dir string, files []hfiles.FileMeta) {
			m := &manifest.Manifest{Schema: manifest.Schema, State: manifest.Written, Run: jobfile.RunInfo{ID: "run", Table: "t"}}
			for i, f := range files {
				f.Slice = i
				m.Slices = append(m.Slices, manifest.RecordedSlice{Slice: i, Entries: f.Rows, Counts: counts.Written{Rows: f.Rows, Cells: f.Cells}, Digest: f.Digest, Files: []hfiles.FileMeta{f}})
			}
			if err := m.Save(storage.Local, dir, dir); err != nil {
				t.Fatal(err)
			}
		},
		cut: func(t *testing.T, out *output.Dir) error {
			return OutputCutter{outputOf(t, out)}.Cut(t.Context(), tableOf(regionsNow...))
		},
		finish: func(t *testing.T, out *output.Dir) error { return outputOf(t, out).FinishCuts() },
		listed: func(t *testing.T, dir string) (names []string) {
			m, err := manifest.Read(storage.Local, dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range m.Files() {
				names = append(names, f.Path)
			}
			return names
		},
	}
}

// directoryOwner is a directory of another tool, with the record of an interrupted load of its files, which is only in
// memory here.
func directoryOwner() owner {
	var names []string
	cuts := func(out *output.Dir) DirectoryCutter {
		return DirectoryCutter{Out: out, Replaced: func(cuts []manifest.Cut) error {
			for _, c := range cuts {
				if i := slices.Index(names, c.Of); i >= 0 {
					names = slices.Delete(names, i, i+1)
					for _, p := range c.Parts {
						names = append(names, p.Path)
					}
				}
			}
			return nil
		}}
	}
	return owner{
		record: func(_ *testing.T, _ string, files []hfiles.FileMeta) {
			names = nil
			for _, f := range files {
				names = append(names, f.Path)
			}
		},
		cut: func(t *testing.T, out *output.Dir) error {
			d, err := hfiles.OpenDirectory(storage.Local, out.Path)
			if err == nil {
				_, err = cuts(out).Cut(t.Context(), tableOf(regionsNow...), d)
			}
			return err
		},
		finish: func(_ *testing.T, out *output.Dir) error { return cuts(out).Finish() },
		listed: func(*testing.T, string) []string { return names },
	}
}

// begin writes the files of a directory and their records.
func (o *owner) begin(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	var files []hfiles.FileMeta
	for i := range len(rowsOf) {
		files = append(files, writeFile(t, dir, fileName(i), strings.Fields(rowsOf[i])...))
	}
	o.record(t, dir, files)
	return dir
}

// check compares the directory with its records, and its cells with those of before the cut.
func (o *owner) check(t *testing.T, dir, when string, want []string) {
	t.Helper()
	d, got := cellsOf(t, dir)
	if !slices.Equal(got, want) {
		t.Errorf("%s: the cells are %q, want %q", when, got, want)
	}
	var found []string
	for _, f := range d.Files {
		found = append(found, f.Path)
	}
	listed := o.listed(t, dir)
	slices.Sort(found)
	slices.Sort(listed)
	if !slices.Equal(found, listed) {
		t.Errorf("%s: the files are %q, and the records name %q", when, found, listed)
	}
}

// cellsOf are a directory's files, and the cells that a load of them would give the table.
func cellsOf(t *testing.T, dir string) (d *hfiles.Directory, cells []string) {
	t.Helper()
	d, err := hfiles.OpenDirectory(storage.Local, dir)
	if err != nil {
		t.Fatal(err)
	}
	err = d.Scan(t.Context(), nil, nil, func(c *cell.Cell) error {
		cells = append(cells, fmt.Sprintf("%s/%s=%s", c.Row, c.Qualifier, c.Value))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(cells)
	return d, cells
}

// checkCut checks that no file has rows of several regions.
func checkCut(t *testing.T, dir, when string) {
	t.Helper()
	d, _ := cellsOf(t, dir)
	for _, f := range d.Files {
		if at := crossed(f.First, f.Last, tableOf(regionsNow...).Splits()); len(at) > 0 {
			t.Errorf("%s: %s has the rows %s to %s", when, f.Path, f.First, f.Last)
		}
	}
}

// interrupt does something until it reaches a point for the n-th time, and ends it there as a kill does: nothing is
// cleaned up.
func interrupt(point options.Point, n int, do func(options.Hook) error) (killed bool, err error) {
	type kill struct{}
	defer func() {
		if p := recover(); p != nil {
			if _, killed = p.(kill); !killed {
				panic(p)
			}
		}
	}()
	return false, do(func(reached options.Point) {
		if reached == point {
			if n--; n == 0 {
				panic(kill{})
			}
		}
	})
}

var owners = map[string]func() owner{"output": outputOwner, "directory": directoryOwner}

// TestKilledCuts: wherever a process is killed while it cuts files, the next one finds each row once: in the file or in
// a part. It cuts what is left to cut, and then no file has rows of several regions.
func TestKilledCuts(t *testing.T) {
	t.Parallel()
	for name, kind := range owners {
		for _, point := range []options.Point{options.Cut, options.PartNamed, options.PartsRecorded, options.CutCleaned} {
			reached := 0
			for n := 1; ; n++ {
				o := kind()
				dir := o.begin(t)
				_, want := cellsOf(t, dir)
				killed, err := interrupt(point, n, func(hook options.Hook) error { return o.cut(t, localDir(t, storage.Local, dir, hook)) })
				if err != nil {
					t.Fatal(err)
				}
				if !killed {
					break
				}
				reached++
				when := fmt.Sprintf("%s, killed at %q for the %d. time", name, point, n)
				if err := o.finish(t, localDir(t, storage.Local, dir, nil)); err != nil {
					t.Fatalf("%s: %v", when, err)
				}
				o.check(t, dir, when, want)
				if err := o.cut(t, localDir(t, storage.Local, dir, nil)); err != nil {
					t.Fatalf("%s: %v", when, err)
				}
				o.check(t, dir, when+", then cut", want)
				checkCut(t, dir, when)
			}
			if reached == 0 {
				t.Errorf("%s: no cut reaches %q", name, point)
			}
		}
	}
}

var errStorage = errors.New("storage has failed")

// failingFS fails the call number fail that changes something, and all calls after it, unless it is to fail once.
type failingFS struct {
	storage.FS
	calls atomic.Int64
	fail  int64
	once  bool
}

func (f *failingFS) do(call func() error) error {
	if n := f.calls.Add(1); n == f.fail || n > f.fail && !f.once {
		return errStorage
	}
	return call()
}

func (f *failingFS) Create(name string, perm fs.FileMode) (w storage.FileWriter, err error) {
	err = f.do(func() error { w, err = f.FS.Create(name, perm); return err })
	return w, err
}

func (f *failingFS) MkdirAll(name string, perm fs.FileMode) error {
	return f.do(func() error { return f.FS.MkdirAll(name, perm) })
}

func (f *failingFS) Rename(from, to string) error {
	return f.do(func() error { return f.FS.Rename(from, to) })
}

func (f *failingFS) Replace(from, to string) error {
	return f.do(func() error { return f.FS.Replace(from, to) })
}

func (f *failingFS) Remove(name string) error {
	return f.do(func() error { return f.FS.Remove(name) })
}

// TestCutsOnFailingStorage: whichever call to storage fails while files are cut, the cut ends with an error, and the
// next process finds each row once.
func TestCutsOnFailingStorage(t *testing.T) {
	t.Parallel()
	for name, kind := range owners {
		for _, once := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", once: ", once), func(t *testing.T) {
				t.Parallel()
				cutOnFailingStorage(t, name, kind, once)
			})
		}
	}
}

func cutOnFailingStorage(t *testing.T, name string, kind func() owner, once bool) {
	t.Helper()
	step := int64(1)
	if testing.Short() {
		step = 3
	}
	for n := step; ; n += step {
		o := kind()
		dir := o.begin(t)
		_, want := cellsOf(t, dir)
		fsys := &failingFS{FS: storage.Local, fail: n, once: once}
		err := o.cut(t, localDir(t, fsys, dir, nil))
		if calls := fsys.calls.Load(); calls < n { // none was to fail
			if err != nil || calls < 10 {
				t.Errorf("%s: a cut makes only %d calls, %v", name, calls, err)
			}
			break
		}
		when := fmt.Sprintf("%s, call %d", name, n)
		if !errors.Is(err, errStorage) {
			t.Errorf("%s: %v", when, err)
		}
		if err := o.finish(t, localDir(t, storage.Local, dir, nil)); err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		o.check(t, dir, when, want)
	}
}

// TestCutWhileADataNodeFails: whichever part was being written, the file is cut again, and nothing is left of the first
// try.
func TestCutWhileADataNodeFails(t *testing.T) {
	t.Parallel()
	parts := 5 // of the files 0 and 2
	for n := range parts {
		t.Run(fmt.Sprint("part ", n), func(t *testing.T) {
			t.Parallel()
			o := outputOwner()
			dir := o.begin(t)
			_, want := cellsOf(t, dir)
			fsys := &testfs.LostDataNode{FS: storage.Local, Nth: int64(n + 1)}
			if err := o.cut(t, localDir(t, fsys, dir, nil)); err != nil {
				t.Fatal(err)
			}
			o.check(t, dir, "cut", want)
			checkCut(t, dir, "cut")
			left, err := filepath.Glob(filepath.Join(dir, ".tmp", "*", "[^_]*"))
			if err != nil || len(left) > 0 {
				t.Errorf("%v, %q are left", err, left)
			}
		})
	}
}

// TestDamagedFilesAreNotCut: a file with other cells than were recorded, or one that can't be read, does not change,
// and no part of it is left.
func TestDamagedFilesAreNotCut(t *testing.T) {
	t.Parallel()
	for name, kind := range owners {
		o := kind()
		dir := o.begin(t)
		file := filepath.Join(dir, "f", fileName(2))
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		content[bytes.Index(content, []byte("c0"))] ^= 1
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		err = o.cut(t, localDir(t, storage.Local, dir, nil))
		if failure.KindOf(err) != failure.Differs || !testwords.Names(err, fileName(2)) {
			t.Errorf("%s: a changed byte: %v", name, err)
		}
		o.checkUncut(t, dir, name)
	}
	o := outputOwner()
	dir := o.begin(t)
	writeFile(t, dir, fileName(2), "b", "c0", "g") // without the row h
	if err := o.cut(t, localDir(t, storage.Local, dir, nil)); failure.CodeOf(err) != errcode.Digest {
		t.Errorf("other cells: %v", err)
	}
	o.checkUncut(t, dir, "other cells")
}

// checkUncut checks that file 2 exists and that it has no parts: every file, even one with a temporary name, is
// recorded.
func (o *owner) checkUncut(t *testing.T, dir, when string) {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if d != nil && d.Name() == manifest.CutsDir {
			return fs.SkipDir
		}
		if err == nil && !d.IsDir() && !strings.HasPrefix(d.Name(), "_") { // neither the manifest nor the lock
			files = append(files, strings.TrimPrefix(name, dir+"/"))
		}
		return err
	})
	listed := o.listed(t, dir)
	slices.Sort(listed)
	if err != nil || !slices.Equal(files, listed) || !slices.Contains(files, "f/"+fileName(2)) {
		t.Errorf("%s: the files are %q, and the records name %q (%v)", when, files, listed, err)
	}
}

// TestPartsOfAnotherToolsFile: what a tool has noted in a file, such as who has made it and when, is in each of its
// parts.
func TestPartsOfAnotherToolsFile(t *testing.T) {
	t.Parallel()
	o := directoryOwner()
	dir := o.begin(t)
	if err := o.cut(t, localDir(t, storage.Local, dir, nil)); err != nil {
		t.Fatal(err)
	}
	d, _ := cellsOf(t, dir)
	for _, f := range d.Files {
		in, err := d.Open(f)
		if err != nil {
			t.Fatal(err)
		}
		for property, want := range map[string]string{"BULKLOAD_SOURCE_TASK": "test", "hfile.CREATE_TIME_TS": "1"} {
			if got := in.Info().Text(property); got != want {
				t.Errorf("%s: %s is %q, want %q", f.Path, property, got, want)
			}
		}
		if err := in.File.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestKeptFilesAreNotReplaced: a file that was cut earlier is kept, and another one of its name is not cut: only one of
// the two could be kept.
func TestKeptFilesAreNotReplaced(t *testing.T) {
	t.Parallel()
	o := directoryOwner()
	dir := o.begin(t)
	if err := o.cut(t, localDir(t, storage.Local, dir, nil)); err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(dir, manifest.CutsDir, "f", fileName(0))
	before, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, dir, fileName(0), "a", "h")
	if err := o.cut(t, localDir(t, storage.Local, dir, nil)); failure.CodeOf(err) != errcode.LoadFiles {
		t.Errorf("a second file of this name: %v", err)
	}
	if now, err := os.ReadFile(kept); err != nil || !bytes.Equal(now, before) {
		t.Errorf("the kept file was replaced (%v)", err)
	}
}

// lostRename is a storage whose renames find no file, because a region server has just taken it, or for another reason.
type lostRename struct {
	storage.FS
	taken bool
}

func (l *lostRename) Rename(from, _ string) error {
	if l.taken {
		if err := l.Remove(from); err != nil {
			return err
		}
	}
	return &fs.PathError{Op: "rename", Path: from, Err: fs.ErrNotExist}
}

// TestFileTakenAsItIsMovedAway: a file that a region server takes just before its cut moves it away is no loss, because
// its parts exist. One that is still there must have moved.
func TestFileTakenAsItIsMovedAway(t *testing.T) {
	t.Parallel()
	for _, taken := range []bool{true, false} {
		w := DirectoryCutter{Out: localDir(t, storage.Local, t.TempDir(), nil)}
		if err := os.WriteFile(filepath.Join(w.Out.Path, "file"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		w.Out.FS = &lostRename{storage.Local, taken}
		if err := w.move("file"); taken && err != nil || !taken && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("taken %v: %v", taken, err)
		}
	}
}

// TestRecordOfCutsThatCantBeRead: it does not pass for a directory without cuts.
func TestRecordOfCutsThatCantBeRead(t *testing.T) {
	t.Parallel()
	w := DirectoryCutter{Out: localDir(t, storage.Local, t.TempDir(), nil)}
	if err := os.MkdirAll(w.path(), 0o700); err != nil { // a folder in its place
		t.Fatal(err)
	}
	if err := w.Finish(); err == nil || !testwords.Names(err, manifest.CutsName) {
		t.Error(err)
	}
}
