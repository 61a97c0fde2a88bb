package output

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"bulkload/ingest"
	"bulkload/internal/digest"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/internal/test/testfs"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/lock"
	"bulkload/jobs/env/site"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/spec/jobfile"
)

// failingFS is a file system some of whose calls may fail; nil leaves one as it is.
type failingFS struct {
	storage.FS
	remove func(name string) error
	create func(name string) error
}

func (f *failingFS) Remove(name string) error {
	if f.remove != nil {
		if err := f.remove(name); err != nil {
			return err
		}
	}
	return f.FS.Remove(name)
}

func (f *failingFS) Create(name string, perm os.FileMode) (storage.FileWriter, error) {
	if f.create != nil {
		if err := f.create(name); err != nil {
			return nil, err
		}
	}
	return f.FS.Create(name, perm)
}

// locked is a local directory that is locked until the test ends. What changes it is done by fsys.
func locked(t *testing.T, fsys storage.FS, dir string) *Dir {
	t.Helper()
	w := At(storage.Local, dir, &site.Site{User: "tina"}, options.Options{})
	if err := w.TakeLock(t.Context(), func(error) {}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Lock.Release() })
	w.FS = fsys
	return w
}

// TestUnlockedDirectory: a directory that is not locked can be read. Nothing in it can be changed, and closing it
// leaves it as it is.
func TestUnlockedDirectory(t *testing.T) {
	dir := testfs.Tree(t, map[string]string{"f/a": "abc"})
	w := New(At(storage.Local, dir, &site.Site{User: "tina"}, options.Options{}), &manifest.Manifest{Schema: manifest.Schema})
	if text, err := storage.ReadFile(w.FS, filepath.Join(dir, "f/a"), 10); err != nil || string(text) != "abc" {
		t.Errorf("%q, %v", text, err)
	}
	for what, err := range map[string]error{"save": w.Save(), "clean": w.Clean(w.Manifest), "check": w.CheckLock(), "mark": w.MarkSuccess(),
		"remove": w.FS.RemoveAll(filepath.Join(dir, "f")), "rename": w.FS.Rename(filepath.Join(dir, "f/a"), filepath.Join(dir, "f/b"))} {
		if !testwords.Names(err, "is not locked by this run") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if all, err := filepath.Glob(filepath.Join(dir, "*", "*")); err != nil || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
	empty := t.TempDir()
	if err := At(storage.Local, empty, &site.Site{User: "tina"}, options.Options{}).Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(empty); err != nil {
		t.Error(err)
	}
}

// TestCleaningCutShort: files that a killed run did not record are all found by the next cleaning, wherever the first
// one stopped.
func TestCleaningCutShort(t *testing.T) {
	for stop := range 4 {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "f"), 0o700); err != nil {
			t.Fatal(err)
		}
		m := &manifest.Manifest{State: manifest.Writing, Run: jobfile.RunInfo{ID: "run"}}
		for sequence := range 4 {
			if err := os.WriteFile(filepath.Join(dir, "f", hfiles.Name("run", 0, 0, "f", sequence)), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		left := stop
		killed := &failingFS{FS: storage.Local, remove: func(string) error {
			if left--; left < 0 {
				return errors.New("killed")
			}
			return nil
		}}
		w := locked(t, killed, dir)
		if err := w.removeUnrecorded(m, "f"); err == nil {
			t.Errorf("after %d: not stopped", stop)
		}
		w.FS = storage.Local
		if err := w.removeUnrecorded(m, "f"); err != nil {
			t.Error(err)
		}
		if names, err := os.ReadDir(filepath.Join(dir, "f")); err != nil || len(names) > 0 {
			t.Errorf("stopped after %d: %d are left (%v)", stop, len(names), err)
		}
	}
}

// TestRecordedFilesAreNotLookedFor: where each file is recorded, no name of another one is made, however many regions
// there are.
func TestRecordedFilesAreNotLookedFor(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "f"), 0o700); err != nil {
		t.Fatal(err)
	}
	const regions = 1000
	m := &manifest.Manifest{State: manifest.Writing, Run: jobfile.RunInfo{ID: "run"}, MadeFor: manifest.MadeFor{Splits: make([]string, regions-1)}}
	write := func(region int) string {
		t.Helper()
		name := hfiles.Name("run", region, 0, "f", 0)
		if err := os.WriteFile(filepath.Join(dir, "f", name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	m.Add(manifest.RecordedSlice{Region: 5, Files: []hfiles.FileMeta{{Path: "f/" + write(5), Family: "f", Region: 5}}})
	w := locked(t, storage.Local, dir)
	remove := func() {
		if err := w.removeUnrecorded(m, "f"); err != nil {
			t.Error(err)
		}
	}
	if n := testing.AllocsPerRun(3, remove); n > regions {
		t.Errorf("it allocates %v times for %d regions", n, regions)
	}
	write(regions - 1)
	remove()
	if names, err := os.ReadDir(filepath.Join(dir, "f")); err != nil || len(names) != 1 {
		t.Errorf("%d files are left (%v)", len(names), err)
	}
}

// TestLostLock: a run whose lock another one holds, or may soon take, records nothing more.
func TestLostLock(t *testing.T) {
	dir := t.TempDir()
	var failing atomic.Bool
	fsys := &failingFS{FS: storage.Local, create: func(string) error {
		if failing.Load() {
			return syscall.EIO
		}
		return nil
	}}
	l, err := lock.Acquire(context.Background(), fsys, dir, lock.Request{User: "tina", Lost: func(error) {}})
	if err != nil {
		t.Fatal(err)
	}
	w := New(&Dir{FS: l.Guarded(), Path: dir, Lock: l}, &manifest.Manifest{Schema: manifest.Schema})
	if err := errors.Join(w.Save(), l.Touch()); err != nil {
		t.Fatal(err)
	}
	failing.Store(true)
	if err := l.Touch(); err != nil {
		t.Errorf("one failure to touch: %v", err)
	}
	l.SetTouched(time.Now().Add(-lock.LockStale/2 - time.Second))
	if err := l.Touch(); failure.CodeOf(err) != errcode.RunAgain || !testwords.Names(err, "5m1s") {
		t.Errorf("touch after a long time: %v", err)
	}
	failing.Store(false)
	if err := w.Save(); failure.KindOf(err) != failure.Later {
		t.Errorf("save after a long time: %v", err)
	}
	if err := errors.Join(l.Touch(), w.Save()); err != nil {
		t.Errorf("touched in time after all: %v", err)
	}
	saved, err := os.ReadFile(filepath.Join(dir, manifest.Name))
	if err != nil {
		t.Fatal(err)
	}
	w.Manifest.State = "changed"
	for what, text := range map[string]string{"taken": `{"host":"elsewhere","pid":7,"user":"otto"}`, "deleted": ""} {
		if err := os.Remove(filepath.Join(dir, lock.LockName)); err != nil {
			t.Fatal(err)
		}
		if text != "" {
			err = os.WriteFile(filepath.Join(dir, lock.LockName), []byte(text), 0o600)
		}
		if got := w.Save(); err != nil || failure.CodeOf(got) != errcode.RunAgain || !testwords.Names(got, what) {
			t.Errorf("save with the lock %s: %v, %v", what, got, err)
		}
		if got := l.Touch(); failure.KindOf(got) != failure.Later {
			t.Errorf("touch with the lock %s: %v", what, got)
		}
		if err := os.WriteFile(filepath.Join(dir, lock.LockName), l.Text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if now, err := os.ReadFile(filepath.Join(dir, manifest.Name)); err != nil || string(now) != string(saved) {
		t.Errorf("the manifest was written without the lock (%v)", err)
	}
	if err := l.Release(); err != nil {
		t.Error(err)
	}
}

// run is the ID of the tests' run.
const run = "run"

// recorded is a slice with one file of so many bytes.
func recorded(region, bytes int) manifest.RecordedSlice {
	name := filepath.Join("f", hfiles.Name(run, region, 0, "f", 0))
	return manifest.RecordedSlice{Region: region, Files: []hfiles.FileMeta{{Path: name, Family: "f", Region: region, Bytes: int64(bytes), Rows: 1, Cells: 1, Digest: digest.Sum{Cells: 1}}}}
}

// runIn is a run with a manifest in an output whose files are those of another one, or of the same.
func runIn(d *Dir, m, present *manifest.Manifest) *Run {
	return &Run{Output: New(d, m), Present: present}
}

// TestContentOfAnOutput: what the manifest does not name is foreign, except bulkload's own names and the files of a
// killed run; a file of another length is changed; a file that is gone is missed only if HBase can't have it.
func TestContentOfAnOutput(t *testing.T) {
	first, second, unrecorded := recorded(0, 3), recorded(1, 3), filepath.Join("f", hfiles.Name(run, 2, 0, "f", 0))
	sound := map[string]string{first.Files[0].Path: "abc", second.Files[0].Path: "abc", "_manifest.json": "{}", "_SUCCESS": "", ".tmp/x/y": "", ".rejects/z": ""}
	for what, c := range map[string]struct {
		change func(map[string]string, *manifest.Manifest)
		code   errcode.Code
		names  string
	}{
		"sound":                    {func(map[string]string, *manifest.Manifest) {}, "", ""},
		"a foreign file":           {func(f map[string]string, _ *manifest.Manifest) { f["notes"] = "" }, errcode.OutputOther, "notes"},
		"a foreign file of family": {func(f map[string]string, _ *manifest.Manifest) { f["f/x"] = "" }, errcode.OutputOther, "f/x"},
		"a foreign family":         {func(f map[string]string, _ *manifest.Manifest) { f["g/x"] = "" }, errcode.OutputOther, "g/x"},
		"a shorter file":           {func(f map[string]string, _ *manifest.Manifest) { f[first.Files[0].Path] = "ab" }, errcode.OutputChanged, first.Files[0].Path + " (2 bytes"},
		"a file gone":              {func(f map[string]string, _ *manifest.Manifest) { delete(f, second.Files[0].Path) }, errcode.OutputChanged, second.Files[0].Path},
		"a file gone to the table": {func(f map[string]string, m *manifest.Manifest) {
			delete(f, first.Files[0].Path)
			m.Slices[0].Files[0].Loaded = true
		}, "", ""},
		"a file gone while loading": {func(f map[string]string, m *manifest.Manifest) {
			delete(f, first.Files[0].Path)
			m.State = manifest.Loading
		}, "", ""},
		"a killed run's":           {func(f map[string]string, _ *manifest.Manifest) { f[unrecorded] = "abc" }, "", ""},
		"an unknown one, finished": {func(f map[string]string, m *manifest.Manifest) { f[unrecorded] = "abc"; m.State = manifest.Written }, errcode.OutputOther, unrecorded},
	} {
		tree, m := map[string]string{}, &manifest.Manifest{State: manifest.Writing, Run: jobfile.RunInfo{ID: run}, MadeFor: manifest.MadeFor{Splits: []string{"3", "6"}}}
		for name, text := range sound {
			tree[name] = text
		}
		m.Add(recorded(0, 3), recorded(1, 3))
		c.change(tree, m)
		w := runIn(locked(t, storage.Local, testfs.Tree(t, tree)), m, m)
		err := w.checkContent()
		if failure.CodeOf(err) != c.code && (err != nil || c.code != "") || err != nil &&
			!testwords.Names(err, c.names) {
			t.Errorf("%s: %s, %v; want %q", what, failure.CodeOf(err), err, c.code)
		}
		if _, err := os.Stat(filepath.Join(w.Path, unrecorded)); err == nil && m.State == manifest.Writing {
			t.Errorf("%s: the file of the killed run is left", what)
		}
	}
}

// TestInterruptedCuts: of a cut that is recorded the parts are kept, and of another the file that it was of; neither is
// foreign to --force, which comes before the cut is finished.
func TestInterruptedCuts(t *testing.T) {
	for _, done := range []bool{false, true} {
		whole := recorded(0, 3)
		cut := manifest.Cut{Of: whole.Files[0].Path, Parts: []hfiles.FileMeta{{Path: "f/part0", Bytes: 2}, {Path: "f/part1", Bytes: 1}}}
		dir := testfs.Tree(t, map[string]string{cut.Of: "abc", "f/part0": "ab", "f/part1": "c"})
		m := &manifest.Manifest{Schema: manifest.Schema, State: manifest.Written, Cuts: []manifest.Cut{cut}}
		m.Add(whole)
		want := []string{filepath.Base(cut.Of)}
		if done {
			m.ReplaceFiles([]manifest.Cut{cut})
			want = []string{"part0", "part1"}
		}
		d := locked(t, storage.Local, dir)
		if err := runIn(d, &manifest.Manifest{State: manifest.Writing}, m).checkContent(); err != nil {
			t.Errorf("before --force: %v", err)
		}
		w := runIn(d, m, m)
		if err := errors.Join(w.FinishCuts(), w.checkContent()); err != nil || len(m.Cuts) > 0 {
			t.Errorf("%v; %d cuts are left", err, len(m.Cuts))
		}
		var names []string
		left, err := os.ReadDir(filepath.Join(dir, "f"))
		for _, f := range left {
			names = append(names, f.Name())
		}
		if err != nil || !slices.Equal(names, want) {
			t.Errorf("%v are left, want %v (%v)", names, want, err)
		}
	}
}

// discardFS counts the files that are created, and writes none.
type discardFS struct {
	storage.FS
	created *int
}

type discardWriter struct{ io.Writer }

func (f discardFS) Create(string, os.FileMode) (storage.FileWriter, error) {
	*f.created++
	return discardWriter{io.Discard}, nil
}
func (discardFS) MkdirAll(string, os.FileMode) error { return nil }
func (discardFS) Replace(string, string) error       { return nil }
func (discardFS) Remove(string) error                { return nil }
func (discardWriter) Close() error                   { return nil }
func (discardWriter) Abort() error                   { return nil }

// TestRecordsAreSavedInProportion: few slices are saved one by one. Of many, as many are saved together as a kill may
// cost, and slices without files count for nothing.
func TestRecordsAreSavedInProportion(t *testing.T) {
	saves := func(n int, bytes int) (saved int) {
		w := New(locked(t, discardFS{storage.Local, &saved}, t.TempDir()), &manifest.Manifest{Schema: manifest.Schema})
		all := w.Records()
		for i := range n {
			r := manifest.RecordedSlice{Region: i}
			if bytes > 0 {
				r = recorded(i, bytes)
			}
			if err := all.Add(r); err != nil {
				t.Fatal(err)
			}
		}
		if err := all.Flush(); err != nil || len(all.All()) != n {
			t.Fatalf("%d slices, %v", len(all.All()), err)
		}
		before := saved
		if err := all.Flush(); err != nil || saved != before {
			t.Errorf("nothing was added, and it is saved: %v", err)
		}
		return saved
	}
	if n := saves(savedOneByOne, 1); n != savedOneByOne {
		t.Errorf("%d slices are saved %d times", savedOneByOne, n)
	}
	one, two := saves(300, 1), saves(600, 1)
	if two > one+savedOneByOne || one > 3*savedOneByOne { // a geometric series: twice the slices, some saves more
		t.Errorf("300 slices are saved %d times, and 600 %d times", one, two)
	}
	if n := saves(1000, 0); n > savedOneByOne+1 {
		t.Errorf("1,000 slices without files are saved %d times", n)
	}
}

// TestForgottenRegionsAreSavedOnce: the manifest is saved once, however many regions are written again.
func TestForgottenRegionsAreSavedOnce(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 100, 200} {
		saved := 0
		w := New(locked(t, discardFS{storage.Local, &saved}, t.TempDir()), &manifest.Manifest{Schema: manifest.Schema})
		var regions []int
		for i := range 2 * n {
			w.Manifest.Add(recorded(i, 1))
			if i%2 == 1 {
				regions = append(regions, i)
			}
		}
		if err := w.Records().Forget(regions); err != nil || saved != 1 || len(w.Manifest.Slices) != n || w.Manifest.Done(1, 0) != nil || w.Manifest.Done(2*n-2, 0) == nil {
			t.Errorf("%d regions are forgotten: %v; the manifest is saved %d times, with %d slices", n, err, saved, len(w.Manifest.Slices))
		}
	}
}

// TestForgottenRegion: the record goes first, then the files: a kill between the two leaves files that the next run
// deletes.
func TestForgottenRegion(t *testing.T) {
	first, second := recorded(0, 3), recorded(1, 3)
	dir := testfs.Tree(t, map[string]string{first.Files[0].Path: "abc", second.Files[0].Path: "abc"})
	m := &manifest.Manifest{Schema: manifest.Schema, State: manifest.Writing, Run: jobfile.RunInfo{ID: run, Table: "t"}, MadeFor: manifest.MadeFor{Splits: []string{"5"}}}
	m.Add(first, second)
	killed := &failingFS{FS: storage.Local}
	killed.remove = func(name string) error {
		if strings.Contains(name, first.Files[0].Path) {
			return errors.New("killed")
		}
		return nil
	}
	d := locked(t, killed, dir)
	if err := New(d, m).Records().Forget([]int{0}); err == nil {
		t.Fatal("not killed")
	}
	saved, err := manifest.Read(storage.Local, dir)
	if err != nil || saved.Done(0, 0) != nil || saved.Done(1, 0) == nil {
		t.Fatalf("%+v, %v", saved, err)
	}
	d.FS = storage.Local
	if err := runIn(d, saved, saved).checkContent(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(filepath.Join(dir, "f")); err != nil || len(left) != 1 || left[0].Name() != filepath.Base(second.Files[0].Path) {
		t.Errorf("%v are left, %v", left, err)
	}
}

// TestSuccessMark: an output is marked once, with its run, and a mark that exists is left as it is.
func TestSuccessMark(t *testing.T) {
	dir := t.TempDir()
	w := New(locked(t, storage.Local, dir), &manifest.Manifest{Schema: manifest.Schema, State: manifest.Writing, Run: jobfile.RunInfo{ID: run, Table: "t"}})
	if err := w.Succeed(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, ingest.SuccessName)
	text, err := os.ReadFile(name)
	if err != nil || !strings.Contains(string(text), `"table":"t"`) {
		t.Fatalf("%s, %v", text, err)
	}
	if m, err := manifest.Read(storage.Local, dir); err != nil || m.State != manifest.Written || m.Finished.IsZero() {
		t.Errorf("%+v, %v", m, err)
	}
	if err := errors.Join(os.WriteFile(name, []byte("mine"), 0o600), w.MarkSuccess()); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(name); string(text) != "mine" {
		t.Errorf("%s, %v", text, err)
	}
}

// TestOutputThatCannotBeMade: a person must name another output; none of these errors is of an unknown cause.
func TestOutputThatCannotBeMade(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{file, filepath.Join(file, "below"), filepath.Join(t.TempDir(), strings.Repeat("x", 300)), "/" + strings.Repeat("x/", 2100), "/proc/nothing"} {
		err := makeError(storage.Local.MkdirAll(name, storage.DirPerm))
		if code := failure.CodeOf(err); code != errcode.Folder {
			t.Errorf("%.40s: %s: %v", name, code, err)
		}
	}
}

// TestOutputThatIsALink: an output may be a symbolic link to a folder elsewhere. It stays when the output is closed,
// empty or not.
func TestOutputThatIsALink(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real"), filepath.Join(dir, "out")
	if err := errors.Join(os.Mkdir(real, 0o700), os.Symlink(real, link)); err != nil {
		t.Fatal(err)
	}
	for _, content := range []string{"", "f"} {
		if err := os.MkdirAll(filepath.Join(real, content), 0o700); err != nil {
			t.Fatal(err)
		}
		lock, err := lock.Acquire(t.Context(), storage.Local, link, lock.Request{User: "tina", Lost: func(error) {}})
		if err != nil {
			t.Fatal(err)
		}
		if err := (&Dir{FS: lock.Guarded(), Path: link, Lock: lock}).Close(); err != nil {
			t.Error(err)
		}
		if to, err := os.Readlink(link); err != nil || to != real {
			t.Errorf("with %q in it the link leads to %q, %v", content, to, err)
		}
	}
}
