package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/ingest"
	"bulkload/ingest/compressed"
	"bulkload/ingest/delimited"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/internal/test/testfs"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/spec/jobfile"
)

// listedFS is a file system that calls listed after it has listed a folder.
type listedFS struct {
	storage.FS
	listed func()
}

func (f *listedFS) ReadDir(name string) ([]storage.Info, error) {
	infos, err := f.FS.ReadDir(name)
	f.listed()
	return infos, err
}

// TestExportThatCommitsWhileItIsListed: an export gets its last file and _SUCCESS when the folder was just listed. It
// is refused then, not regarded as complete.
func TestExportThatCommitsWhileItIsListed(t *testing.T) {
	dir := t.TempDir()
	put := func(name string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Error(err)
		}
	}
	put("part-0")
	fsys := &listedFS{storage.Local, func() { put("part-1"); put(ingest.SuccessName) }}
	j := &jobfile.Job{}
	j.Input.RequireSuccess, j.Input.Form = true, &delimited.Form{}
	s := &Source{Job: j, FS: fsys}
	if err := s.Find(dir); failure.CodeOf(err) != errcode.InputUnfinished {
		t.Errorf("%d files, %v", len(s.Files), err)
	}
	put("part-1")
	put(ingest.SuccessName)
	s = &Source{Job: j, FS: storage.Local}
	if err := s.Find(dir); err != nil || len(s.Files) != 2 {
		t.Errorf("finished: %d files, %v", len(s.Files), err)
	}
}

// TestListingOfAnExportThatCommits: an export moves its files in one by one, removes _temporary and writes _SUCCESS,
// while its folder or the one beside it is listed. Its files are found all or none.
func TestListingOfAnExportThatCommits(t *testing.T) {
	for name, path := range map[string]string{"folder": "in/b", "glob of folders": "in/*", "glob of files": "in/*/part-*", "all folders": "in"} {
		for _, when := range []int{1, 2, 3} { // the listing after which the export ends
			dir := testfs.Tree(t, map[string]string{"in/a/part-0": "x", "in/b/part-0": "x", "in/b/_temporary/part-1": "x"})
			n := 0
			commit := func() {
				if n++; n != when {
					return
				}
				b := filepath.Join(dir, "in/b")
				if err := errors.Join(os.Rename(filepath.Join(b, "_temporary/part-1"), filepath.Join(b, "part-1")), os.RemoveAll(filepath.Join(b, "_temporary")),
					os.WriteFile(filepath.Join(b, ingest.SuccessName), nil, 0o600)); err != nil {
					t.Error(err)
				}
			}
			s := &Source{Job: textJob(), FS: &listedFS{storage.Local, commit}}
			err := s.Find(filepath.Join(dir, path))
			found := 0
			for _, f := range s.Files {
				if strings.HasPrefix(f.Path, filepath.Join(dir, "in/b")) {
					found++
				}
			}
			if failure.CodeOf(err) != errcode.InputUnfinished && (err != nil || found != 2) {
				t.Errorf("%s, commit after listing %d: %d files, %v", name, when, found, err)
			}
		}
	}
}

// TestInputThatChangesWhileItIsListed: what appears during the first listing is found; what changes in every listing is
// not complete.
func TestInputThatChangesWhileItIsListed(t *testing.T) {
	dir := testfs.Tree(t, map[string]string{"in/a/part-0": "x"})
	n, most := 0, 2
	grow := func() {
		if n++; n > most {
			return
		}
		folder := filepath.Join(dir, "in", fmt.Sprintf("b%d", n))
		if err := errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(filepath.Join(folder, "part-0"), []byte("x"), 0o600)); err != nil {
			t.Error(err)
		}
	}
	s := &Source{Job: textJob(), FS: &listedFS{storage.Local, grow}}
	if err := s.Find(filepath.Join(dir, "in/*")); err != nil || len(s.Files) != 3 || s.Bytes != 3 {
		t.Errorf("%d files of %d bytes, %v", len(s.Files), s.Bytes, err)
	}
	n, most = 2, 1_000_000
	s = &Source{Job: textJob(), FS: &listedFS{storage.Local, grow}}
	if err := s.Find(filepath.Join(dir, "in/*")); failure.CodeOf(err) != errcode.InputUnfinished || failure.KindOf(err) != failure.NotYet {
		t.Errorf("%d files, %v", len(s.Files), err)
	}
}

// blindFS is a file system that can't look at files of one name.
type blindFS struct {
	storage.FS
	name string
}

func (f *blindFS) Stat(name string) (storage.Info, error) {
	if path.Base(name) == f.name {
		return storage.Info{}, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrPermission}
	}
	return f.FS.Stat(name)
}

// TestFailedLookAtAnExport: a file that can't be looked at is not one that is missing, nor one that exists.
func TestFailedLookAtAnExport(t *testing.T) {
	dir := testfs.Tree(t, map[string]string{"running/_temporary/": "", "running/part-0": "x", "none/part-0": "x"})
	for _, blind := range []string{ingest.SuccessName, "_temporary"} {
		for _, name := range []string{"running", "running/part-*", "*/part-0", "none/part-*"} {
			s := &Source{Job: textJob(), FS: &blindFS{storage.Local, blind}}
			if err := s.Find(filepath.Join(dir, name)); failure.CodeOf(err) != errcode.InputUnfinished && !errors.Is(err, fs.ErrPermission) {
				t.Errorf("%s, %s: %d files, %v", name, blind, len(s.Files), err)
			}
		}
	}
}

// manyFolders is a file system of folders in /in, each with a file and _SUCCESS.
type manyFolders struct {
	storage.FS
	n int
}

func (f *manyFolders) Stat(name string) (storage.Info, error) {
	switch {
	case name == "/in":
		return storage.Info{Name: "in", Dir: true}, nil
	case strings.HasPrefix(name, "/in/") && path.Base(name) == ingest.SuccessName:
		return storage.Info{Name: ingest.SuccessName}, nil
	}
	return storage.Info{}, fs.ErrNotExist
}

func (f *manyFolders) ReadDir(name string) ([]storage.Info, error) {
	if name != "/in" {
		return []storage.Info{{Name: "part-0", Size: 1}, {Name: ingest.SuccessName}}, nil
	}
	var infos []storage.Info
	for i := range f.n {
		infos = append(infos, storage.Info{Name: fmt.Sprintf("%06d", i), Dir: true})
	}
	return infos, nil
}

// TestManyFolders: a file is not compared with all folders. With 150,000 of each, that would take minutes.
func TestManyFolders(t *testing.T) {
	t.Parallel()
	const n = 150_000
	j := &jobfile.Job{}
	j.Input.RequireSuccess, j.Input.Form = true, &delimited.Form{}
	s := &Source{Job: j, FS: &manyFolders{n: n}}
	if err := s.Find("/in/[0-9]*"); err != nil || len(s.Files) != n {
		t.Errorf("%d files, %v", len(s.Files), err)
	}
}

// TestSuccessOfGlobsAndFiles: the folders of what was found must each be finished.
func TestSuccessOfGlobsAndFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/part-0", "a/part-1", "b/part-0"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700), os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	j := &jobfile.Job{}
	j.Input.RequireSuccess, j.Input.Form = true, &delimited.Form{}
	find := func(name string) (int, error) {
		s := &Source{Job: j, FS: storage.Local}
		err := s.Find(filepath.Join(dir, name))
		return len(s.Files), err
	}
	names := map[string]int{"*": 3, "a": 2, "a/part-0": 1, "*/part-0": 2, "a/*": 2}
	for name := range names {
		if _, err := find(name); failure.CodeOf(err) != errcode.InputUnfinished {
			t.Errorf("%s, unfinished: %v", name, err)
		}
	}
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(dir, name, ingest.SuccessName), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range names {
		if n, err := find(name); n != want || err != nil {
			t.Errorf("%s, finished: %d files, want %d (%v)", name, n, want, err)
		}
	}
}

// textJob is a job with an input of text.
func textJob() *jobfile.Job {
	j := &jobfile.Job{}
	j.Input.Form = &delimited.Form{Columns: []string{"a"}, FieldDelimiter: []byte{','}, RecordDelimiter: []byte{'\n'}}
	return j
}

// TestUnfinishedInput: a folder that a job of Hadoop still writes, or has left, is no input, and neither is an empty
// one, nor one into which a file is being copied; a file that is named itself is.
func TestUnfinishedInput(t *testing.T) {
	dir := testfs.Tree(t, map[string]string{
		"running/_temporary/0/part-0": "x", "running/part-0": "x", "done/_temporary/": "", "done/_SUCCESS": "", "done/part-0": "x\n",
		"none/": "", "nothing/_SUCCESS": "", "hidden/.part-0": "x", "hidden/_logs": "x", "all/day/_temporary/": "", "all/day/part-0": "x",
		"copied/_SUCCESS": "", "copied/a.csv": "x", "copied/b.csv._COPYING_": "x",
	})
	for name, want := range map[string]errcode.Code{
		"running": errcode.InputUnfinished, "*": errcode.InputUnfinished, "running/part-0": "", "done": "", "none": errcode.InputMissing, "nothing": "",
		"hidden": errcode.InputMissing, "all": errcode.InputUnfinished,
		"copied": errcode.InputUnfinished, "copied/*.csv": errcode.InputUnfinished, "copied/a*": "", "copied/a.csv": "",
	} {
		s := &Source{Job: textJob(), FS: storage.Local}
		if err := s.Find(filepath.Join(dir, name)); failure.CodeOf(err) != want && (err != nil || want != "") {
			t.Errorf("%s: %s, %v; want %q", name, failure.CodeOf(err), err, want)
		}
	}
}

// TestFileThatIsBeingWritten: HDFS lists a file with the size of its whole blocks until its writer has closed it. It is
// no input before that, also if it is named itself.
func TestFileThatIsBeingWritten(t *testing.T) {
	fsys, root := testfs.HDFS(t, "source")
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(storage.CreateFile(fsys, path.Join(root, "part-0"), []byte("x\n")))
	w, err := fsys.Create(path.Join(root, "part-1"), 0)
	check(err)
	_, err = w.Write([]byte("y\n"))
	check(err)
	find := func(name string) (int64, error) {
		s := &Source{Job: textJob(), FS: fsys}
		err := s.Find(path.Join(root, name))
		return s.Bytes, err
	}
	for _, name := range []string{"", "part-*", "part-1"} {
		if n, err := find(name); failure.CodeOf(err) != errcode.InputUnfinished || !strings.Contains(err.Error(), "part-1") {
			t.Errorf("%q: %d bytes, %v", name, n, err)
		}
	}
	if n, err := find("part-0"); n != 2 || err != nil {
		t.Errorf("the other file: %d bytes, %v", n, err)
	}
	check(w.Close())
	if n, err := find(""); n != 4 || err != nil {
		t.Errorf("closed: %d bytes, %v", n, err)
	}
	if open, err := storage.IsBeingWritten(fsys, path.Join(root, "none")); open || err != nil {
		t.Errorf("a file that does not exist: %t, %v", open, err)
	}
}

// TestSizeOfText: what the sort will have to hold is estimated from the files' forms.
func TestSizeOfText(t *testing.T) {
	dir := testfs.Tree(t, map[string]string{"part-0": "0123456789", "part-1.gz": "0123"})
	s := &Source{Job: textJob(), FS: storage.Local}
	if err := s.Find(dir); err != nil || s.Bytes != 14 || s.Text != 10+4*compressed.ExpansionFactor("part-1.gz", compressed.Auto) || s.Text <= s.Bytes {
		t.Errorf("%d bytes, %d of text, %v", s.Bytes, s.Text, err)
	}
}

// TestInputAndOutputApart: neither may be inside the other, whether the input is a folder, a file or a pattern.
func TestInputAndOutputApart(t *testing.T) {
	dir := testfs.Tree(t, map[string]string{"in/a/part-0": "x\n", "in/b/part-0": "x\n", "out/in/part-0": "x\n"})
	for _, c := range []struct {
		in, out string
		apart   bool
	}{
		{"in", "out", true}, {"in", "in/out", false}, {"in", "in", false}, {"in/a", "in", false}, {"in/a", "in/b", true}, {"in/a", "in/ab", true},
		{"in/*", "in/c", false}, {"in/*", "in/a/x/y", false}, {"in/?/part-0", "in/out", true}, {"out/in/part-0", "out", false}, {"out/in/part-0", "out/in", false},
		{"out/in/part-0", "out/i", true},
	} {
		s := &Source{Job: textJob(), FS: storage.Local, root: filepath.Join(dir, c.in)}
		if err := s.Find(s.root); err != nil {
			t.Fatal(err)
		}
		if err := s.CheckApart(storage.Local, filepath.Join(dir, c.out)); (err == nil) != c.apart || err != nil && failure.CodeOf(err) != errcode.InputPath {
			t.Errorf("input %s, output %s: %v", c.in, c.out, err)
		}
	}
}

// openedFS counts the files that are opened.
type openedFS struct {
	storage.FS
	n int
}

func (f *openedFS) Open(name string) (storage.File, error) {
	f.n++
	return f.FS.Open(name)
}

// TestStoppedInputIsNotOpened: after the end of the context no file of the input is opened to be cut or looked at.
func TestStoppedInputIsNotOpened(t *testing.T) {
	dir := testfs.Tree(t, map[string]string{"part-0": "x", "part-1": "yyyy", "part-2": "z\n"})
	fsys := &openedFS{FS: storage.Local}
	s := &Source{Job: textJob(), FS: fsys}
	if err := s.Find(dir); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var said []string
	o, err := options.Options{Say: func(text string) { said = append(said, text) }}.WithDefaults()
	if err != nil {
		t.Fatal(err)
	}
	if s.LogWarnings(ctx, o); len(said) != 2 || fsys.n == 0 {
		t.Errorf("%d files are opened, and it says %q", fsys.n, said)
	}
	cancel()
	fsys.n, said = 0, nil
	s.LogWarnings(ctx, o)
	_, err = s.Job.Input.Form.Splits(s.Until(ctx), s.Files, 1)
	if fsys.n != 0 || !errors.Is(err, context.Canceled) || failure.KindOf(err) != failure.Interrupted {
		t.Errorf("%d files are opened: %v", fsys.n, err)
	}
}

// TestSplitsHoldEachRecordOnce: the splits of an input, one after the other, are its records, in the order of the
// files.
func TestSplitsHoldEachRecordOnce(t *testing.T) {
	dir := testfs.Tree(t, map[string]string{"part-1": "c\nd\n", "part-0": "a\nb\n", "part-2": ""})
	s := &Source{Job: textJob(), FS: storage.Local}
	if err := s.Find(dir); err != nil {
		t.Fatal(err)
	}
	splits, err := Splits(t.Context(), &s.Job.Input, s)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, split := range splits {
		got.WriteString(readSplit(t, s, split))
	}
	if got.String() != "abcd" {
		t.Errorf("read %s", got.String())
	}
}

func readSplit(t *testing.T, s *Source, split ingest.Split) string {
	t.Helper()
	in, err := s.Job.Input.Form.Open(s.FS, split)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	var text strings.Builder
	for {
		record, err := in.Next()
		if errors.Is(err, io.EOF) {
			return text.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		text.Write(record.Fields[0].Bytes())
	}
}
