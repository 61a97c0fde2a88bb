package loading

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/cell"
	"bulkload/hfilewriter"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/base/counts"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/base/timing"
	"bulkload/jobs/env/ledger"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/output"
	"bulkload/jobs/spec/jobfile"
)

// writtenOutput is an output with an HFile of each of some rows, which an earlier process has written.
func writtenOutput(t *testing.T, o options.Options, rows ...string) *output.Output {
	t.Helper()
	return outputIn(t, localOutput(t, o), rows...)
}

// outputIn is such an output in a locked directory.
func outputIn(t *testing.T, out *output.Dir, rows ...string) *output.Output {
	t.Helper()
	m := &manifest.Manifest{Schema: manifest.Schema, State: manifest.Written, Run: jobfile.RunInfo{ID: "run", Table: "t"}, JobHash: "0123456789abcdef"}
	m.Families = map[string]string{"f": "settings"}
	for i, row := range rows {
		f := writtenFile(t, out, i, cell.Cell{Row: []byte(row), Family: []byte("f"), Qualifier: []byte("q"), Timestamp: 1, Type: cell.Put, Value: []byte(row)})
		m.Slices = append(m.Slices, manifest.RecordedSlice{Slice: i, Entries: 1, Counts: counts.Written{Rows: 1, Cells: 1}, Digest: f.Digest, Files: []hfiles.FileMeta{f}})
	}
	return output.New(out, m)
}

// writtenFile writes an HFile of some cells, each of which has a row of its own.
func writtenFile(t *testing.T, out *output.Dir, i int, cells ...cell.Cell) hfiles.FileMeta {
	t.Helper()
	to := hfiles.Destination{FS: out.FS, Dir: out.Path, Temps: out.TempFolder}
	summary := hfiles.FileMeta{Path: "f/" + hfiles.Name("run", 0, i, "f", 0), Family: "f", Slice: i}
	settings := hfilewriter.Settings{Compression: hfilewriter.CompressNone, Encoding: hfilewriter.EncodeNone, Bloom: hfilewriter.BloomRow}
	f, err := hfiles.Create(to, summary, settings, hfilewriter.Provenance{}, new(timing.Stopwatch))
	if err != nil {
		t.Fatal(err)
	}
	for k := range cells {
		err = errors.Join(err, f.Writer.Append(&cells[k]))
		f.CountRow(1)
	}
	err = errors.Join(err, f.Finish(), f.ReadBack(t.Context()), out.FS.MkdirAll(path.Join(out.Path, "f"), 0),
		out.FS.Rename(f.Temp, path.Join(out.Path, f.Path)))
	if err != nil {
		t.Fatal(err)
	}
	return f.FileMeta
}

// TestOnlyWhatWasWrittenIsLoaded: a file of an earlier process is read in full before it is loaded. One with a changed
// byte, one that is sound and has other cells, and one that is gone end the load; one that this process has verified is
// not read again.
func TestOnlyWhatWasWrittenIsLoaded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		damage func(first, second string) error
		want   failure.Kind
		code   errcode.Code
	}{
		"none": {func(string, string) error { return nil }, 0, ""},
		"a byte": {func(first, _ string) error {
			text, err := os.ReadFile(first)
			if err == nil {
				text[strings.Index(string(text), "row")] ^= 1
				err = os.WriteFile(first, text, 0o600)
			}
			return err
		}, failure.Differs, errcode.HFileCorrupt},
		"exchanged": {func(first, second string) error {
			return errors.Join(os.Rename(first, first+"x"), os.Rename(second, first), os.Rename(first+"x", second))
		}, failure.Differs, errcode.HFileCorrupt},
		"gone": {func(first, _ string) error { return os.Remove(first) }, failure.Refused, errcode.OutputChanged},
	} {
		out := writtenOutput(t, options.Options{}, "row 1", "row 2")
		files := out.Manifest.Files()
		if err := c.damage(filepath.Join(out.Path, files[0].Path), filepath.Join(out.Path, files[1].Path)); err != nil {
			t.Fatal(err)
		}
		err := VerifyBeforeLoad(t.Context(), out)
		if (err == nil) != (c.code == "") || err != nil &&
			(failure.KindOf(err) != c.want || failure.CodeOf(err) != c.code || !testwords.Names(err, "f/")) {
			t.Errorf("%s: %v [%s]", name, err, failure.CodeOf(err))
		}
		here := output.New(out.Dir, &manifest.Manifest{})
		here.Manifest = out.Manifest
		if err := VerifyBeforeLoad(t.Context(), here); err != nil {
			t.Errorf("%s, verified by this process: %v", name, err)
		}
		files[0].Loaded, files[1].Loaded = true, true
		if err := VerifyBeforeLoad(t.Context(), out); err != nil {
			t.Errorf("%s, loaded: %v", name, err)
		}
	}
}

// TestWasLoaded: a job counts as loaded only by a record of its own load: of this job and date, finished, and with
// files.
func TestWasLoaded(t *testing.T) {
	t.Parallel()
	const another = "fedcba9876543210"
	file := []ledger.LoadedFile{{URI: "hdfs:///out/f/1", Family: "f"}}
	for name, c := range map[string]struct {
		change func(*manifest.Manifest) // nil: the output has no manifest
		entry  *ledger.Entry
		want   bool
	}{
		"loaded":               {func(m *manifest.Manifest) { m.State = manifest.Loaded }, nil, true},
		"written":              {func(*manifest.Manifest) {}, nil, false},
		"being loaded":         {func(m *manifest.Manifest) { m.State = manifest.Loading }, nil, false},
		"another job":          {func(m *manifest.Manifest) { m.State, m.JobHash = manifest.Loaded, another }, nil, false},
		"another date":         {func(m *manifest.Manifest) { m.State, m.Run.Date = manifest.Loaded, "2026-11-21" }, nil, false},
		"no rows":              {func(m *manifest.Manifest) { m.State, m.Slices = manifest.Loaded, nil }, nil, false},
		"no records":           {nil, nil, false},
		"in the ledger":        {nil, &ledger.Entry{State: ledger.Loaded, Files: file}, true},
		"interrupted":          {nil, &ledger.Entry{State: ledger.Loading, Files: file}, false},
		"in the ledger, empty": {nil, &ledger.Entry{State: ledger.Loaded}, false},
		"written, and in the ledger": {func(*manifest.Manifest) {},
			&ledger.Entry{State: ledger.Loaded, Files: file}, false},
	} {
		out := writtenOutput(t, options.Options{}, "a")
		l := &Loader{Out: out, Ledger: ledger.Open(storage.Local, t.TempDir())}
		job := &jobfile.Job{Table: "t"} // whose hash is ""
		if c.change != nil {
			m := *out.Manifest
			m.JobHash = job.Hash()
			c.change(&m)
			if err := m.Save(storage.Local, out.Path, out.Path); err != nil {
				t.Fatal(err)
			}
		}
		if c.entry != nil {
			c.entry.Table, c.entry.JobHash, c.entry.Counts, c.entry.Inputs = "t", job.Hash(), []byte("{}"), []byte("[]")
			if err := l.Ledger.Write(c.entry, ""); err != nil {
				t.Fatal(err)
			}
		}
		out.Manifest = manifest.New(job)
		if got, err := l.WasLoaded(); got != c.want || err != nil {
			t.Errorf("%s: %t, %v", name, got, err)
		}
	}
}

// TestForcedRunDeletesTheOldOne: --force deletes the files of the run that it replaces, and then records its own. It
// warns if an interrupted load may have left files in HBase's staging folder, and no cluster is connected to look
// there.
func TestForcedRunDeletesTheOldOne(t *testing.T) {
	t.Parallel()
	var said []string
	out := writtenOutput(t, options.Options{Say: func(text string) { said = append(said, text) }}, "a", "b")
	old := out.Manifest
	old.State, old.Staging = manifest.Loading, "hdfs:///staging/1"
	out.Manifest = &manifest.Manifest{Schema: manifest.Schema, State: manifest.Writing, Run: jobfile.RunInfo{ID: "new", Table: "t"}}
	w := &output.Run{Output: out, Present: out.Manifest}
	l := &Loader{Out: out}
	if err := l.Replace(t.Context(), w); err != nil || len(said) > 0 {
		t.Fatalf("nothing is replaced: %v, %q", err, said)
	}
	w.Present = old
	if err := l.Replace(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	saved, err := manifest.Read(storage.Local, out.Path)
	if err != nil || saved.Run.ID != "new" || w.Replaces() {
		t.Errorf("%+v, %v", saved, err)
	}
	if left, err := os.ReadDir(filepath.Join(out.Path, "f")); err == nil {
		t.Errorf("%v are left", left)
	}
	if text := strings.Join(said, "\n"); !strings.Contains(text, "hdfs:///staging/1") {
		t.Error(text)
	}
}
