package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/seal"
	"bulkload/internal/storage"
	"bulkload/internal/test/testwords"

	"golang.org/x/sync/errgroup"
)

func sample() *Entry {
	return &Entry{State: Loaded, Job: "check.yaml", JobHash: "0123456789abcdef0123", Table: "ns:t", Date: "2026-11-20", Run: "r1",
		Source: "hdfs:///in", Output: "hdfs:///out", Counts: []byte(`{"rows_read":5}`), Inputs: []byte(`[]`), Files: []LoadedFile{{URI: "hdfs:///out/f/1", Family: "f", FirstRow: "a",
			LastRow: `b\x00`, Probes: []KnownCell{{Row: "a", Qualifier: "q", Timestamp: 5, Type: 4, Value: "00"}}}}, Time: time.Unix(2e9, 0).UTC()}
}

func newLedger(t *testing.T) (*Ledger, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "a", "ledger")
	return Open(storage.Local, dir), dir
}

// TestOnlyTheLedgerIsPrivate: what is made above it, such as a home folder, may be others' way to folders of their own.
func TestOnlyTheLedgerIsPrivate(t *testing.T) {
	for name, create := range map[string]func(*Ledger) error{
		"make": (*Ledger).Make, "write": func(l *Ledger) error { return l.Write(sample(), "") },
		"make a folder": func(l *Ledger) error { return l.MakeFolder(filepath.Join(l.dir, "ns=t", "runs", "1")) },
	} {
		root := t.TempDir()
		l := Open(storage.Local, filepath.Join(root, "user", "tina", "ledger"))
		if err := create(l); err != nil {
			t.Fatal(err)
		}
		err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() || name == root {
				return err
			}
			info, err := d.Info()
			want := fs.FileMode(0o755)
			if name == l.dir || storage.Below(l.dir, name) {
				want = 0o700
			}
			if err == nil && info.Mode().Perm() != want {
				t.Errorf("%s is %v, want %v", name, info.Mode().Perm(), want)
			}
			return err
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTry: it leaves what it found, and fails where nothing can be written.
func TestTry(t *testing.T) {
	root := t.TempDir()
	l := Open(storage.Local, filepath.Join(root, "user", "tina", "ledger"))
	if err := l.Try(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if e, err := l.Read(Key{Table: "ns:t", JobHash: "0"}); e != nil || err != nil {
		t.Errorf("read without a folder: %+v, %v", e, err)
	}
	if all, damaged, err := l.Entries("ns:t"); all != nil || damaged != nil || err != nil {
		t.Errorf("list without a folder: %v, %v, %v", all, damaged, err)
	}
	if err := l.Write(sample(), ""); err != nil {
		t.Fatal(err)
	}
	if err := l.Try(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(l.dir); err != nil || len(left) != 1 {
		t.Errorf("left in a ledger: %v, %v", left, err)
	}
	readOnly := Open(noFiles{storage.Local}, l.dir)
	if err := readOnly.Try(); !errors.Is(err, fs.ErrPermission) || !testwords.Names(err, l.dir) {
		t.Errorf("read-only: %v", err)
	}
}

// noFiles is a file system in which no file can be made.
type noFiles struct{ storage.FS }

func (noFiles) Create(name string, _ fs.FileMode) (storage.FileWriter, error) {
	return nil, &fs.PathError{Op: "create", Path: name, Err: fs.ErrPermission}
}

// TestJobsOfOneForm: two jobs with other inputs and outputs have an entry each. Of one output only the last entry
// stays, whatever its input was called.
func TestJobsOfOneForm(t *testing.T) {
	l, _ := newLedger(t)
	eu, us := sample(), sample()
	us.Source, us.Output, us.Run = "hdfs:///in/us", "hdfs:///out/us", "r2"
	corrected := sample()
	corrected.Source, corrected.Run, corrected.Time = "hdfs:///in/corrected", "r3", eu.Time.Add(time.Second)
	for _, e := range []*Entry{eu, us, corrected} {
		if err := l.Write(e, ""); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		key  Key
		want string
	}{{us.Key(), "r2"}, {eu.Key(), "r3"}, {corrected.Key(), "r3"}} {
		if e, err := l.Read(c.key); err != nil || e == nil || e.Run != c.want {
			t.Errorf("%+v: %+v, %v; want run %s", c.key, e, err, c.want)
		}
	}
	if all, damaged, err := l.Entries(eu.Table); len(all) != 2 || len(damaged) > 0 || err != nil {
		t.Errorf("%d entries, %v, %v; want 2", len(all), damaged, err)
	}
}

// TestEntryIsReadAsWritten: by its table, date and job alone; nobody else may read it.
func TestEntryIsReadAsWritten(t *testing.T) {
	l, dir := newLedger(t)
	want := sample()
	if e, err := l.Read(want.Key()); e != nil || err != nil {
		t.Fatalf("before: %+v, %v", e, err)
	}
	for range 2 {
		if err := l.Write(want, ""); err != nil {
			t.Fatal(err)
		}
	}
	got, err := l.Read(want.Key())
	if err != nil || !reflect.DeepEqual(compacted(t, got), compacted(t, want)) {
		t.Errorf("%+v, %v", got, err)
	}
	for what, change := range map[string]func(*Key){
		"table": func(k *Key) { k.Table = "ns:u" }, "date": func(k *Key) { k.Date = "" }, "job": func(k *Key) { k.JobHash = "1123456789abcdef" },
		"input and output": func(k *Key) { k.Source, k.Output = "hdfs:///other", "hdfs:///another" },
	} {
		key := want.Key()
		change(&key)
		if e, err := l.Read(key); e != nil || err != nil {
			t.Errorf("another %s: %+v, %v", what, e, err)
		}
	}
	for what, change := range map[string]func(*Key){
		"input": func(k *Key) { k.Source = "hdfs:///other" }, "output": func(k *Key) { k.Output = "hdfs:///another" },
	} {
		key := want.Key()
		change(&key)
		if e, err := l.Read(key); e == nil || err != nil {
			t.Errorf("another %s alone: %+v, %v", what, e, err)
		}
	}
	other := sample()
	other.Date = ""
	if err := l.Write(other, ""); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{dir, filepath.Join(dir, "ns=t"), filepath.Join(dir, "ns=t", "2026-11-20_0123456789abcdef_468894e5.json")} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if names, err := os.ReadDir(filepath.Join(dir, "ns=t")); err != nil || len(names) != 2 {
		t.Errorf("left: %v, %v", names, err)
	}
}

// unlistedFS can't list folders.
type unlistedFS struct{ storage.FS }

func (unlistedFS) ReadDir(name string) ([]storage.Info, error) {
	return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrPermission}
}

// TestUnlistedLedger: a ledger that can't be listed is not taken for an empty one.
func TestUnlistedLedger(t *testing.T) {
	l, dir := newLedger(t)
	e := sample()
	if err := errors.Join(l.Write(e, ""), l.AddUnserved(e.Table, []Unserved{{URI: "u"}})); err != nil {
		t.Fatal(err)
	}
	l = Open(unlistedFS{storage.Local}, dir)
	_, _, err1 := l.Entries(e.Table)
	_, err2 := l.Unserved(e.Table, func(Unserved) bool { return false })
	_, err3 := l.OfDirectory("hdfs:///out")
	for _, err := range []error{err1, err2, err3} {
		if !errors.Is(err, fs.ErrPermission) {
			t.Errorf("error %v", err)
		}
	}
}

// TestUnservedFiles: what several runs record at the same time is all there, and is deleted when its regions were
// opened again.
func TestUnservedFiles(t *testing.T) {
	l, dir := newLedger(t)
	over := map[string]bool{}
	left := func() (uris []string) {
		t.Helper()
		files, err := l.Unserved("ns:t", func(u Unserved) bool { return over[u.URI] })
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range files {
			uris = append(uris, u.URI)
		}
		slices.Sort(uris)
		return uris
	}
	if files := left(); files != nil {
		t.Errorf("before: %v", files)
	}
	const runs = 8
	var all []string
	var group errgroup.Group
	for i := range runs {
		a, b := fmt.Sprint("a", i), fmt.Sprint("b", i)
		all = append(all, a, b)
		group.Go(func() error {
			return l.AddUnserved("ns:t", []Unserved{{URI: a, Row: "a", Opening: "o", Run: "r0", Timestamp: 7, Time: time.Unix(1e9, 0).UTC()}, {URI: b}})
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	if files := left(); !slices.Equal(files, all) {
		t.Errorf("there are %v, want %v", files, all)
	}
	over["a0"], over["a1"], over["b1"] = true, true, true
	if files := left(); len(files) != len(all)-3 {
		t.Errorf("after three: %v", files)
	}
	if names, err := os.ReadDir(filepath.Join(dir, "ns=t")); err != nil || len(names) != runs-1 {
		t.Errorf("left: %v, %v", names, err)
	}
	if entries, damaged, err := l.Entries("ns:t"); len(entries)+len(damaged) > 0 || err != nil {
		t.Errorf("they are taken for entries: %v, %v, %v", entries, damaged, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "ns=t", "unserved-x.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Unserved("ns:t", func(Unserved) bool { return false }); !errors.Is(err, seal.ErrMalformed) && !errors.Is(err, seal.ErrMismatch) {
		t.Errorf("a damaged list: %v", err)
	}
}

// compacted is an entry without the white space in its raw parts.
func compacted(t *testing.T, e *Entry) Entry {
	t.Helper()
	c := *e
	for _, raw := range []*[]byte{(*[]byte)(&c.Counts), (*[]byte)(&c.Inputs)} {
		*raw = bytes.Join(bytes.Fields(*raw), nil)
	}
	return c
}

// TestDamagedEntryIsNotBelieved flips each byte of an entry, and cuts it at each length.
func TestDamagedEntryIsNotBelieved(t *testing.T) {
	l, dir := newLedger(t)
	e := sample()
	if err := l.Write(e, ""); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "ns=t", "2026-11-20_0123456789abcdef_468894e5.json")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	try := func(what string, at int, damaged []byte) {
		if err := os.WriteFile(name, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := l.Read(e.Key())
		if err == nil && reflect.DeepEqual(compacted(t, got), compacted(t, e)) {
			return // white space
		}
		if !errors.Is(err, seal.ErrMalformed) && !errors.Is(err, seal.ErrMismatch) {
			t.Errorf("byte %d %s: %+v, %v", at, what, got, err)
		}
	}
	for i := range text {
		damaged := bytes.Clone(text)
		damaged[i] ^= 1
		try("changed", i, damaged)
		try("cut", i, text[:i])
	}
}

// TestSizeIsBounded: an entry that is too large to be read is not written, and a load whose entry would become too
// large does not begin.
func TestSizeIsBounded(t *testing.T) {
	defer func(was int) { maxBytes = was }(maxBytes)
	l, _ := newLedger(t)
	e := sample()
	e.Schema = schema
	text, err := seal.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	maxBytes = len(text) + 1
	if err := l.Write(e, ""); err != nil {
		t.Error(err)
	}
	if _, err := l.Read(e.Key()); err != nil {
		t.Error(err)
	}
	e.State = Loading
	var refused errcode.Coder
	if err := l.Write(e, ""); !errors.As(err, &refused) || refused.ErrorCode() != errcode.FilesLimit {
		t.Errorf("at the beginning of a load: %v", err)
	}
	if was, err := l.Read(e.Key()); err != nil || was.State != Loaded {
		t.Errorf("the one before: %+v, %v", was, err)
	}
	verified := map[string]int{"rows": 7}
	if err := l.WriteVerification(e, verified); err != nil {
		t.Fatal(err)
	}
	maxBytes = 10
	if e, err := l.Read(e.Key()); !errors.Is(err, seal.ErrMalformed) {
		t.Errorf("one that is too large: %+v, %v", e, err)
	}
	if found, err := l.ReadVerification(e, &verified); found || err != nil {
		t.Errorf("a verification that is too large: %t, %v, %v", found, verified, err)
	}
}

// TestDocumentOfAnotherFormat: an entry of another schema, in a state that this program does not know, without a
// checksum, cut or empty is refused by name (exit code 5), and so is such a list of lost files. None of them counts as
// a load that did not happen.
func TestDocumentOfAnotherFormat(t *testing.T) {
	t.Parallel()
	e := sample()
	e.Schema = schema
	sealed := func(change func(*Entry)) []byte {
		e := sample()
		e.Schema = schema
		change(e)
		text, err := seal.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	whole := sealed(func(*Entry) {})
	for what, text := range map[string][]byte{
		"a later schema": sealed(func(e *Entry) { e.Schema++ }),
		"no schema":      sealed(func(e *Entry) { e.Schema = 0 }),
		"a state":        sealed(func(e *Entry) { e.State = "moving" }),
		"no checksum":    []byte(`{"schema": 1, "state": "loaded"}`),
		"cut":            whole[:len(whole)/2],
		"empty":          nil,
	} {
		l, _ := newLedger(t)
		put := func(name string) {
			if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		name := l.name(e.Key())
		put(name)
		put(l.name(Key{Table: e.Table, JobHash: DirectoryKey("hdfs:///dir")}))
		list := filepath.Join(l.folder(e.Table), unservedPrefix+"x.json")
		if what != "a state" { // which a list does not have
			put(list)
		}
		refused := func(err error, name string) {
			t.Helper()
			if c := errcode.Outermost(err); c != errcode.ManifestMalformed || c.Kind() != errcode.Refused || !testwords.Names(err, name) {
				t.Errorf("%s: %s %v", what, c, err)
			}
		}
		_, err := l.Read(e.Key())
		refused(err, name)
		_, err = l.OfDirectory("hdfs:///dir")
		refused(err, "undated_")
		if what != "a state" {
			_, err = l.Unserved(e.Table, never)
			refused(err, list)
		}
		if all, damaged, err := l.Entries(e.Table); err != nil || len(all) > 0 || len(damaged) != 2 {
			t.Errorf("%s: %v, %v, %v", what, all, damaged, err)
		}
		if now, err := os.ReadFile(name); err != nil || !bytes.Equal(now, text) {
			t.Errorf("%s: the entry was changed (%v)", what, err)
		}
	}
}

// TestLoadsOfADirectory: those into any table are found. Tables into which only jobs, or other directories, were loaded
// have none.
func TestLoadsOfADirectory(t *testing.T) {
	t.Parallel()
	l, _ := newLedger(t)
	for table, uri := range map[string]string{"ns:t": "", "t1": "hdfs:///dir", "t2": "hdfs:///dir", "t3": "hdfs:///other"} {
		e := sample()
		if e.Table = table; uri != "" {
			e.Date, e.JobHash, e.Output = "", DirectoryKey(uri), uri
		}
		if err := l.Write(e, ""); err != nil {
			t.Fatal(err)
		}
	}
	for uri, want := range map[string]string{"hdfs:///dir": "t1 t2", "hdfs:///other": "t3", "hdfs:///new": ""} {
		all, err := l.OfDirectory(uri)
		if err != nil {
			t.Fatal(err)
		}
		var tables []string
		for _, e := range all {
			if e != nil {
				tables = append(tables, e.Table)
			}
		}
		slices.Sort(tables)
		if len(tables) != len(all) || strings.Join(tables, " ") != want {
			t.Errorf("%s: %d loads, into %q, want %q", uri, len(all), tables, want)
		}
	}
}

// TestMayHaveTimestamp: the rows between a file's first and last one may have any timestamp, unless the load's rows all
// have the same. An entry without files has no cells.
func TestMayHaveTimestamp(t *testing.T) {
	t.Parallel()
	entry := func(change func(*Entry)) *Entry {
		e := sample()
		change(e)
		return e
	}
	second := func(timestamp int64) func(*Entry) {
		return func(e *Entry) {
			e.Files = append(e.Files, LoadedFile{Probes: []KnownCell{{Row: "b", Timestamp: timestamp}}})
		}
	}
	for name, c := range map[string]struct {
		entry *Entry
		want  bool // for a timestamp that no known cell has
	}{
		"one timestamp":           {sample(), false},
		"of all files":            {entry(second(5)), false},
		"of the known cells only": {entry(func(e *Entry) { e.Moments = true }), true},
		"no known cells":          {entry(func(e *Entry) { e.Files[0].Probes = nil }), true},
		"no files":                {entry(func(e *Entry) { e.Moments, e.Files = true, nil }), false},
	} {
		l, _ := newLedger(t)
		if err := l.Write(c.entry, ""); err != nil {
			t.Fatal(err)
		}
		e, err := l.Read(c.entry.Key())
		if err != nil {
			t.Fatal(err)
		}
		if got := e.MayHaveTimestamp(7); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
		if known := len(e.Files) > 0 && len(e.Files[0].Probes) > 0; e.MayHaveTimestamp(5) != (known || c.want) {
			t.Errorf("%s: the known timestamp is %t", name, !known)
		}
	}
}
