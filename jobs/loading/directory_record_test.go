package loading

import (
	"path"
	"strings"
	"testing"
	"time"

	"bulkload/internal/storage"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/ledger"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/manifest"
)

// TestEndOfADirectoryLoad: the entry of a load that went on weeks after it was interrupted has the time at which it
// ended.
func TestEndOfADirectoryLoad(t *testing.T) {
	t.Parallel()
	r := directoryRecord{out: localOutput(t, options.Options{}), ledger: ledger.Open(storage.Local, t.TempDir()), table: "t"}
	begun := time.Now().UTC().Truncate(time.Second).AddDate(0, 0, -40)
	e := &ledger.Entry{State: ledger.Loading, Staging: "hdfs:///staging/one", Time: begun, Table: "t", JobHash: r.key(), Counts: []byte("{}"), Inputs: []byte("[]")}
	if err := r.end(e, tableOf("m")); err != nil {
		t.Fatal(err)
	}
	read, err := r.read()
	if err != nil || read == nil || read.State != ledger.Loaded || read.Staging != "" || !read.Time.After(begun.AddDate(0, 0, 39)) {
		t.Errorf("a load that began on %v: %+v, %v", begun, read, err)
	}
}

// filesOf lists the names of an entry's files.
func filesOf(e *ledger.Entry) (names []string) {
	for _, f := range e.Files {
		names = append(names, path.Base(f.URI))
	}
	return names
}

// TestRecordOfAnInterruptedLoad: when a load begins again, its entry also names the files that HBase accepted before:
// the table must serve them in the end. Once a load has ended, its files are not in the entry of the next one.
func TestRecordOfAnInterruptedLoad(t *testing.T) {
	t.Parallel()
	r := directoryRecord{out: localOutput(t, options.Options{}), ledger: ledger.Open(storage.Local, t.TempDir()), table: "t"}
	directory := func(names ...string) *hfiles.Directory {
		d := &hfiles.Directory{FS: storage.Local, Path: r.out.Path}
		for _, name := range names {
			d.Files = append(d.Files, &hfiles.DirFile{Family: "f", Path: "f/" + name, First: []byte("a"), Last: []byte("b")})
		}
		return d
	}
	begin := func(want string, names ...string) *ledger.Entry {
		t.Helper()
		if _, err := r.begin(tableOf("m"), directory(names...)); err != nil {
			t.Fatal(err)
		}
		e, err := r.read()
		if err != nil || strings.Join(filesOf(e), " ") != want {
			t.Errorf("with %q the entry has %q (%v), want %s", names, filesOf(e), err, want)
		}
		return e
	}
	begin("1 2 3", "1", "2", "3")
	e := begin("2 4 1 3", "2", "4")
	if err := r.end(e, tableOf("m")); err != nil {
		t.Fatal(err)
	}
	begin("5", "5")
	if e.Files[0].Probes = []ledger.KnownCell{{Timestamp: 5}}; !e.Moments || !e.MayHaveTimestamp(7) {
		t.Error("the entry does not say that the files' other cells may have any timestamp")
	}
}

// TestPartsInTheRecordOfALoad: in the entry of an interrupted load, the parts of a cut file replace it, even if that is
// recorded more than once. The entry of a load that has ended does not change.
func TestPartsInTheRecordOfALoad(t *testing.T) {
	t.Parallel()
	r := directoryRecord{out: localOutput(t, options.Options{}), ledger: ledger.Open(storage.Local, t.TempDir()), table: "t"}
	cuts := []manifest.Cut{{Of: "f/2", Parts: []hfiles.FileMeta{{Path: "f/2a", Family: "f", FirstRow: "b"}, {Path: "f/2b", Family: "f", FirstRow: "c"}}}}
	if err := r.replaceFiles(cuts); err != nil {
		t.Errorf("without an entry: %v", err)
	}
	for state, want := range map[string]string{ledger.Loading: "1 2a 2b 3", ledger.Loaded: "1 2 3"} {
		e := &ledger.Entry{State: state, Table: "t", JobHash: r.key(), Counts: []byte("{}"), Inputs: []byte("[]")}
		for _, name := range []string{"1", "2", "3"} {
			e.Files = append(e.Files, ledger.LoadedFile{URI: r.out.URI("f/" + name), Family: "f"})
		}
		if err := r.write(e); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := r.replaceFiles(cuts); err != nil {
				t.Fatal(err)
			}
			if e, err := r.read(); err != nil || strings.Join(filesOf(e), " ") != want {
				t.Errorf("%s: the entry has %q (%v), want %s", state, filesOf(e), err, want)
			}
		}
	}
}
