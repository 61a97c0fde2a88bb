package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/hfilewriter"
	"bulkload/internal/digest"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/jobs/base/counts"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/targets"
	"bulkload/jobs/spec/jobfile"
	"bulkload/load"
)

// TestManifestIsWrittenInPieces: the manifest consists of pieces that were encoded earlier. It must be the same as
// without them.
func TestManifestIsWrittenInPieces(t *testing.T) {
	m := &Manifest{Schema: Schema, State: `a "slices": null in a string`}
	same := func(what string) {
		t.Helper()
		text, err := m.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		var got Manifest
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatalf("%s: %v in\n%s", what, err, text)
		}
		plain, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var want Manifest
		if err := json.Unmarshal(plain, &want); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v\nwant %+v", what, got, want)
		}
	}
	same("no slice")
	for i := range 3 {
		m.Add(RecordedSlice{Region: i, Files: []hfiles.FileMeta{{Path: "f/a"}, {Path: "f/b", Rows: int64(i)}}})
		same("a slice more")
	}
	m.Slices[1].Files[0].Loaded = true
	same("a file loaded")
}

// TestFinishedSlicesAreFound: a finished slice is found among the others, whatever the order in which they came.
func TestFinishedSlicesAreFound(t *testing.T) {
	m := new(Manifest)
	for _, i := range []int{7, 0, 33, 12, 3, 20, 4} {
		m.Add(RecordedSlice{Region: i / 5, Slice: i % 5, Entries: int64(i)})
	}
	for i := range 40 {
		r, want := m.Done(i/5, i%5), strings.Contains(" 7 0 33 12 3 20 4 ", fmt.Sprintf(" %d ", i))
		if (r != nil) != want || r != nil && r.Entries != int64(i) {
			t.Errorf("region %d, slice %d: %+v", i/5, i%5, r)
		}
	}
}

// sliced is a manifest with three slices in two regions, of which the table has two files.
func sliced() *Manifest {
	m := &Manifest{Schema: Schema, State: Writing, Run: jobfile.RunInfo{Table: "t", ID: "x"}, MadeFor: MadeFor{Splits: []string{"5"}}}
	file := func(region, slice int, loaded bool) hfiles.FileMeta {
		return hfiles.FileMeta{Path: path.Join("f", hfiles.Name("x", region, slice, "f", 0)), Family: "f", Region: region, Slice: slice,
			Bytes: int64(100 + 10*region + slice), Rows: 1, Cells: 1, Digest: digest.Sum{Cells: 1, Timed: uint64(slice + 1)}, Loaded: loaded}
	}
	for i, r := range []RecordedSlice{{Region: 1}, {Region: 0, Slice: 1}, {Region: 0}} {
		r.Files = []hfiles.FileMeta{file(r.Region, r.Slice, i < 2)}
		r.Digest, r.Dropped = r.Files[0].Digest, digest.Sum{Cells: 1, Timed: 1000}
		m.Add(r)
	}
	return m
}

// TestRemovedSlices: of a region that is written again, the files that the table has stay known, so that the same file
// is not loaded twice; the others are forgotten.
func TestRemovedSlices(t *testing.T) {
	m := sliced()
	removed := m.Remove([]int{0})
	if len(removed) != 2 || len(m.Slices) != 1 || m.Done(0, 0) != nil || m.Done(1, 0) == nil || len(m.LoadedBefore) != 1 {
		t.Fatalf("%d files are removed, %d slices remain, %d files are remembered", len(removed), len(m.Slices), len(m.LoadedBefore))
	}
	twin := m.LoadedBefore[0]
	if m.LoadedTwin(&twin) == nil {
		t.Error("an equal file is not found")
	}
	m.LoadedBefore = append(m.LoadedBefore, twin, hfiles.FileMeta{Path: "f/later"})
	if m.LoadedTwin(&twin) != &m.LoadedBefore[0] || m.LoadedTwin(&hfiles.FileMeta{Path: "f/later"}) != &m.LoadedBefore[2] {
		t.Error("after more files, an equal file is not found")
	}
	// A file that was lost is not kept any more, also if another one is added instead of it.
	m.ForgetLoaded(func(f *hfiles.FileMeta) bool { return f.Path == "f/later" })
	m.LoadedBefore = append(m.LoadedBefore, hfiles.FileMeta{Path: "f/last"})
	if m.LoadedTwin(&hfiles.FileMeta{Path: "f/later"}) != nil || m.LoadedTwin(&hfiles.FileMeta{Path: "f/last"}) != &m.LoadedBefore[2] {
		t.Errorf("the files that are remembered are %v", m.LoadedBefore)
	}
	for what, change := range map[string]func(*hfiles.FileMeta){
		"name": func(f *hfiles.FileMeta) { f.Path = "f/0" }, "length": func(f *hfiles.FileMeta) { f.Bytes++ }, "content": func(f *hfiles.FileMeta) { f.Digest.Timed++ },
	} {
		other := twin
		if change(&other); m.LoadedTwin(&other) != nil {
			t.Errorf("a file of another %s counts as loaded", what)
		}
	}
}

// TestFilesOfARun: the views of a run's files are the records themselves, so that a mark on a file is saved with the
// manifest.
func TestFilesOfARun(t *testing.T) {
	t.Parallel()
	m := sliced()
	all := m.Files()
	if len(all) != 3 || all.Bytes() != 100+101+110 || all.Amount() != "3 files of 311 B" {
		t.Errorf("%d files, %s", len(all), all.Amount())
	}
	loaded := all.Loaded()
	if family, region, n := all.Most(); len(loaded) != 2 || len(m.NotLoaded()) != 1 || family != "f" || region != 0 || n != 2 {
		t.Errorf("%d are loaded, %v are not; most are %d of family %s in region %d", len(loaded), m.NotLoaded(), n, family, region)
	}
	for _, f := range all {
		f.Loaded = true
	}
	if m.NotLoaded() != nil || len(m.Files().Loaded()) != 3 {
		t.Errorf("after marking all, %v are not loaded", m.NotLoaded())
	}
}

// TestRewrittenFiles: a file that is written again after its load has begun gets the marks of the cells that the table had
// before. If it has other rows than the last one of its name, all of its cells are marked.
func TestRewrittenFiles(t *testing.T) {
	m := sliced()
	same := slices.Clone(m.Slices)
	again := func(digest uint64) { // 0: with the same rows
		m.Remove([]int{0, 1})
		for i, r := range same {
			r.Files = slices.Clone(r.Files)
			r.Files[0].Loaded, r.Files[0].Probes = false, []hfiles.KnownCell{{Row: "a"}, {Row: "b"}}
			if i == 0 {
				r.Files[0].Digest.Timed += digest
			}
			m.Add(r)
		}
	}
	wants := func(what string, marked, rewritten int) {
		t.Helper()
		n := 0
		for _, f := range m.Files() {
			for _, c := range f.Probes {
				if c.Before {
					n++
				}
			}
		}
		if n != marked || len(m.Rewritten) != rewritten {
			t.Errorf("%s: %d cells are marked, want %d; %d files are written again, want %d", what, n, marked, len(m.Rewritten), rewritten)
		}
	}
	again(0)
	again(0)
	wants("no load has begun", 0, 0)
	m.Table = "identity"
	again(0)
	wants("no cell was marked", 0, 3)
	m.Files()[0].Probes[0].Before = true
	again(0)
	wants("one cell was marked", 1, 3)
	m.Files()[0].Probes[1].Before = true
	again(0)
	wants("another one was marked", 2, 3)
	m.ForgetRewritten()
	again(0)
	m.ForgetRewritten()
	again(0)
	m.Files()[0].Probes[0].Before = false
	m.Files()[0].Probes[1].Before = false
	again(1)
	wants("with other rows", 2, 3)
	again(0)
	wants("with the first rows again", 2, 3)
	m.ForgetRewritten()
	old := m.RemoveAll()
	if len(m.Rewritten) != 3 || len(old.Rewritten) != 0 {
		t.Errorf("all: %d files are written again, want 3, and %d before, want 0", len(m.Rewritten), len(old.Rewritten))
	}
}

// TestOrderOfFields: the fields of a manifest have one order, whichever types they are in.
func TestOrderOfFields(t *testing.T) {
	t.Parallel()
	m := &Manifest{MadeFor: MadeFor{MaxFiles: 5}, Staging: "s", Table: "t", Finished: time.Unix(1, 0)}
	m.Cuts, m.LoadedBefore, m.Rewritten, m.Existing = []Cut{{}}, []hfiles.FileMeta{{}}, []hfiles.FileMeta{{}}, &Existing{}
	text, err := m.MarshalContent()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(string(text)) {
		if name, _, found := strings.Cut(line, `":`); found && strings.HasPrefix(name, `  "`) {
			names = append(names, name[3:])
		}
	}
	want := "schema state run job_hash timestamp site_properties inputs splits families max_size max_files slices books digest finished staging table_identity cuts kept rewritten existing"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("the fields are\n%s\nand should be\n%s", got, want)
	}
}

// TestManyLoadedFiles: a file is not compared with all that the table serves. With 200,000, that would take minutes.
func TestManyLoadedFiles(t *testing.T) {
	t.Parallel()
	const n = 200_000
	m := new(Manifest)
	for i := range n {
		m.LoadedBefore = append(m.LoadedBefore, hfiles.FileMeta{Path: fmt.Sprintf("f/%08d", i), Bytes: 1})
	}
	for i := range m.LoadedBefore {
		if f := m.LoadedBefore[i]; m.LoadedTwin(&f) != &m.LoadedBefore[i] {
			t.Fatalf("file %d is not found", i)
		}
	}
}

// TestReplacedFile: the parts take the file's position, and are what is saved then; pointers from before are of the old
// list.
func TestReplacedFile(t *testing.T) {
	m := sliced()
	if _, err := m.Marshal(); err != nil { // caches the slices' text
		t.Fatal(err)
	}
	before := m.Files()
	part := func(i int) hfiles.FileMeta { return hfiles.FileMeta{Path: fmt.Sprint("f/part", i), Family: "f"} }
	cut := Cut{Of: before[1].Path, Parts: []hfiles.FileMeta{part(0), part(1)}}
	m.Cuts = []Cut{cut, {Of: "f/gone"}}
	if names := m.CutNames(); !slices.Equal(names, []string{"f/part0", "f/part1", "f/gone"}) {
		t.Errorf("not in the manifest otherwise: %v", names)
	}
	m.ReplaceFiles([]Cut{cut})
	text, err := m.Marshal()
	if err != nil || bytes.Contains(text, []byte(`{"path":"`+cut.Of)) || !bytes.Contains(text, []byte(`{"path":"f/part1"`)) {
		t.Errorf("%v in\n%s", err, text)
	}
	if after := m.Files(); len(after) != 4 || after[1].Path != "f/part0" || after[2].Path != "f/part1" || before[1].Path != cut.Of {
		t.Errorf("%d files; the old list has %s now", len(after), before[1].Path)
	}
	if names := m.CutNames(); !slices.Equal(names, []string{cut.Of, "f/gone"}) {
		t.Errorf("after the cut: %v", names)
	}
}

// TestRegionSums: what the files of a region's slices contain, and what was dropped as duplicate, is what was sorted
// for it. A slice of a region that no longer exists counts nowhere.
func TestRegionSums(t *testing.T) {
	m := sliced()
	sums := RegionSums(m.Slices, 2)
	if sums[0].Cells != 4 || sums[0].Timed != 1+2+2000 || sums[1].Cells != 2 || sums[1].Timed != 1+1000 {
		t.Errorf("%+v", sums)
	}
	if sums := RegionSums(m.Slices, 1); len(sums) != 1 || sums[0].Cells != 4 {
		t.Errorf("of one region: %+v", sums)
	}
}

// TestSameTable: whatever decides how files are cut and written is compared with the table.
func TestSameTable(t *testing.T) {
	made := func() *targets.Target {
		return &targets.Target{Splits: [][]byte{{0, 'a'}, []byte("b")}, MaxSize: 1 << 30, MaxFiles: load.DefaultMaxFiles,
			Families: []targets.TargetFamily{{Name: "f", Settings: hfilewriter.Settings{BlockSize: 1 << 16, Compression: hfilewriter.CompressNone}},
				{Name: "g", Settings: hfilewriter.Settings{Compression: hfilewriter.CompressNone}}}}
	}
	m := new(Manifest)
	if known, err := m.Planned(); known != nil || err != nil {
		t.Errorf("before SetTable: %v, %v", known, err)
	}
	if err := m.SetTable(made()); err != nil {
		t.Fatal(err)
	}
	if !m.SameTable(made()) || m.MaxFiles != 0 {
		t.Fatalf("%+v is not the table that it was made of", m)
	}
	if known, err := m.Planned(); err != nil || !reflect.DeepEqual(known.Splits, made().Splits) {
		t.Errorf("%v, %v", known, err)
	}
	for what, change := range map[string]func(*targets.Target){
		"a boundary":       func(t *targets.Target) { t.Splits[0] = []byte("a") },
		"a boundary more":  func(t *targets.Target) { t.Splits = append(t.Splits, []byte("c")) },
		"the size":         func(t *targets.Target) { t.MaxSize++ },
		"the limit":        func(t *targets.Target) { t.MaxFiles = 64 },
		"a setting":        func(t *targets.Target) { t.Families[0].Settings.BlockSize = 1 << 15 },
		"a family":         func(t *targets.Target) { t.Families = t.Families[:1] },
		"a family's name":  func(t *targets.Target) { t.Families[1].Name = "h" },
		"a codec":          func(t *targets.Target) { t.Families[1].Settings.Compression = hfilewriter.CompressZSTD },
		"a family's bloom": func(t *targets.Target) { t.Families[1].Settings.Bloom = hfilewriter.BloomRow },
	} {
		other := made()
		if change(other); m.SameTable(other) {
			t.Errorf("another table counts as the same: %s", what)
		}
	}
	snappy := made()
	snappy.Families[1].Settings.Compression = hfilewriter.CompressSnappy
	if err := m.SetTable(snappy); err != nil {
		t.Fatal(err)
	}
	if same, err := m.SameEncoders(snappy); !same || err != nil || len(m.Encoders) != 1 {
		t.Errorf("encoders %v: %t, %v", m.Encoders, same, err)
	}
	m.Encoders["SNAPPY"] = "another"
	if same, err := m.SameEncoders(snappy); same || err != nil {
		t.Errorf("another encoder counts as this program's: %v", err)
	}
}

// TestDifferencesOfRuns: what differs between two runs is said file by file where it matters; a file that was only
// touched, and has the records it had, is no difference.
func TestDifferencesOfRuns(t *testing.T) {
	input := func(name string, modified string, content *counts.Content) RecordedInput {
		return RecordedInput{InputFile: jobfile.InputFile{Path: name, Size: 10, ModTime: modified}, Content: content}
	}
	three, four := &counts.Content{Read: 3}, &counts.Content{Read: 4}
	others := &counts.Content{Read: 3, Digest: digest.Sum{Timed: 1}}
	run := func(inputs ...RecordedInput) *Manifest {
		return &Manifest{Run: jobfile.RunInfo{Table: "t", Date: "2026-11-20"}, JobHash: "h", Inputs: inputs}
	}
	was := run(input("a", "1", three), input("b", "1", four))
	for want, is := range map[string]*Manifest{
		// b was not touched, so it was not read
		"":                                run(input("a", "2", three), input("b", "1", nil)),
		"but not the same ones":           run(input("a", "2", others), input("b", "1", four)),
		"3 records then, 4 now":           run(input("a", "2", four), input("b", "1", four)),
		"file b is gone (4 records)":      run(input("a", "1", three)),
		"new file c (3 records)":          run(input("a", "1", three), input("b", "1", four), input("c", "1", three)),
		"10 bytes of 1 then, 10 bytes of": run(input("a", "2", nil), input("b", "1", four)),
	} {
		if got := strings.Join(was.Differences(is), "; "); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for want, change := range map[string]func(*Manifest){
		"logical date": func(m *Manifest) { m.Run.Date = "2026-11-21" }, "table is t, not u": func(m *Manifest) { m.Run.Table = "u" },
		"the job file has changed since": func(m *Manifest) { m.JobHash = "i" },
	} {
		is := run(was.Inputs...)
		if change(is); !strings.Contains(strings.Join(was.Differences(is), "; "), want) {
			t.Errorf("%v, want %s", was.Differences(is), want)
		}
	}
}

// FuzzManifest: no text makes reading a manifest panic, and what is read of one can be written and read again.
func FuzzManifest(f *testing.F) {
	m := &Manifest{Schema: Schema, State: Written, Run: jobfile.RunInfo{Table: "t", ID: "x"}, MadeFor: MadeFor{Splits: []string{"1"}}}
	m.Add(RecordedSlice{Region: 1, Files: []hfiles.FileMeta{{Path: "f/00000000000000000000000000000000", Family: "f", Region: 1, Bytes: 1, Rows: 1, Cells: 1}}})
	content, err := m.MarshalContent()
	sealed, err2 := m.Marshal()
	if err := errors.Join(err, err2); err != nil {
		f.Fatal(err)
	}
	f.Add(sealed)
	f.Add(content)
	f.Add(bytes.Replace(content, []byte(`"schema": 1`), []byte(`"schema": 2`), 1))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := Parse(text, "m")
		if err != nil {
			if kind := failure.KindOf(err); kind != failure.Refused && kind != failure.Differs {
				t.Fatalf("kind %d, %v", kind, err)
			}
			return
		}
		again, err := m.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Parse(again, "m"); err != nil {
			t.Fatalf("%v in\n%s", err, again)
		}
	})
}

// TestSizeIsBounded: a manifest that is too large to be read is not written, the old one stays, and CheckSize finds it
// early.
func TestSizeIsBounded(t *testing.T) {
	defer func(was int64) { maxBytes = was }(maxBytes)
	dir := t.TempDir()
	m := &Manifest{Schema: Schema, State: Writing, Run: jobfile.RunInfo{ID: "r", Table: "t"}, Inputs: []RecordedInput{{InputFile: jobfile.InputFile{Path: "a"}}}}
	for region := range 40 {
		m.Add(RecordedSlice{Region: region})
		m.Splits = append(m.Splits, fmt.Sprintf("%02d", region))
	}
	text, err := m.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	maxBytes = int64(len(text)) + 1
	if err := m.Save(storage.Local, dir, dir); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(storage.Local, dir); err != nil {
		t.Errorf("the largest that is read: %v", err)
	}
	m.Staging = "x"
	if err := m.Save(storage.Local, dir, dir); failure.CodeOf(err) != errcode.FilesLimit || failure.KindOf(err) != failure.Refused {
		t.Errorf("too large: %v", err)
	}
	if old, err := Read(storage.Local, dir); err != nil || old.Staging != "" {
		t.Errorf("the one before: %+v, %v", old, err)
	}
	maxBytes += 1000
	for _, c := range []struct {
		slices, files int64
		fits          bool
	}{{0, 0, true}, {40, 0, true}, {40, 40, false}, {50, 0, false}} {
		if err := m.CheckSize(c.slices, c.files); (err == nil) != c.fits || err != nil && failure.CodeOf(err) != errcode.FilesLimit {
			t.Errorf("%+v: %v", c, err)
		}
	}
	// CheckSize never expects more than what is written.
	for n := range int64(3) {
		full := &Manifest{Schema: Schema, State: Writing, Inputs: m.Inputs}
		foreseen := *full
		for region := range n {
			full.Add(RecordedSlice{Region: int(region), Files: []hfiles.FileMeta{{Path: "f/" + hfiles.Name("r", 0, 0, "f", 0), Family: "f", Probes: make([]hfiles.KnownCell, 1)}}})
		}
		text, err := full.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		maxBytes = int64(len(text)) + 200 + full.grows() // the input's content, and the marks
		if err := foreseen.CheckSize(n, n); err != nil {
			t.Errorf("%d slices: %v", n, err)
		}
	}
}

// TestLoadedManifestFits: a manifest that was saved before its load can be saved during the load, with all marks; so it
// is refused earlier if the marks would not fit.
func TestLoadedManifestFits(t *testing.T) {
	defer func(was int64) { maxBytes = was }(maxBytes)
	dir := t.TempDir()
	name := []byte("t,,1.0123456789abcdef0123456789abcdef.")
	table := &load.Table{Regions: []load.Region{{Name: name, End: []byte("b")}, {Name: name, Start: []byte("b")}}}
	for _, state := range []string{Writing, Written} {
		m := &Manifest{Schema: Schema, State: state, Run: jobfile.RunInfo{ID: "r", Table: "t"}}
		for region := range 200 {
			m.Add(RecordedSlice{Region: region, Files: []hfiles.FileMeta{{Path: "f/" + hfiles.Name("r", region, 0, "f", 0), Family: "f", Region: region}}})
			m.Splits = append(m.Splits, fmt.Sprintf("%03d", region))
		}
		m.Splits = m.Splits[1:]
		text, err := m.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		maxBytes = int64(len(text)) + 1
		if err := m.Save(storage.Local, dir, dir); failure.CodeOf(err) != errcode.FilesLimit {
			t.Errorf("%s: saved without a reserve: %v", state, err)
		}
		maxBytes += m.grows()
		if err := m.Save(storage.Local, dir, dir); err != nil {
			t.Errorf("%s: %v", state, err)
		}
		m.State, m.Staging = Loading, "hdfs://namenode:8020/hbase/staging/loader__table__0123456789abcdef"
		for _, f := range m.Files() {
			f.Loaded, f.Opening = true, table.OpeningsOf(&load.HFile{FirstRow: []byte("a"), LastRow: []byte("b")})
			for i := range f.Probes {
				f.Probes[i].Before = true
			}
		}
		if err := m.Save(storage.Local, dir, dir); err != nil {
			t.Errorf("%s, then loaded: %v", state, err)
		}
	}
	empty := &Manifest{Schema: Schema, State: Writing}
	const files = 1000
	full := *empty
	for i := range files {
		full.Add(RecordedSlice{Files: []hfiles.FileMeta{{Path: "f/" + hfiles.Name("r", i, 0, "f", 0), Family: "f", Probes: make([]hfiles.KnownCell, 1)}}})
	}
	text, err := full.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	maxBytes = int64(len(text))
	if err := empty.CheckSize(files, files); failure.CodeOf(err) != errcode.FilesLimit {
		t.Errorf("marks are not foreseen: %v", err)
	}
}
