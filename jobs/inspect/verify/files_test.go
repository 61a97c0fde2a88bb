package verify

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"bulkload/cell"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/internal/test/testfs"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/sorting"
	"bulkload/jobs/spec/jobfile"
)

// filesJob is a job with two outputs, whose files have what its source has, and the cells of these.
func filesJob(t *testing.T, lines string) (j *jobfile.Job, cells map[string][]cell.Cell) {
	t.Helper()
	in, out := testfs.Tree(t, map[string]string{"part-0": lines}), t.TempDir()
	text := fmt.Sprintf("family: f\ntimestamp: 2026-11-20\nhfile: {}\nregions: {from: splits, splits: [g]}\ninput: {path: '%s', columns: [id, a, b], field_delimiter: ',', record_delimiter: '\\n', max_rejects: 1}\n"+
		"columns_map: {id: {skip: true}}\nfilter: a != 'out'\noutputs:\n- {table: ns:one, output: '%s/one', rowkey: id}\n- {table: ns:two, output: '%s/two', rowkey: reverse(id)}\n", in, out, out)
	j, err := jobfile.Parse("job.yaml", strings.NewReader(text), jobfile.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cells = map[string][]cell.Cell{}
	for _, line := range strings.Fields(lines) {
		fields := strings.Split(line, ",")
		if len(fields) < 3 || fields[1] == "out" {
			continue
		}
		for output, row := range map[string]string{"one": fields[0], "two": fields[0][1:] + fields[0][:1]} {
			for i, qualifier := range []string{"a", "b"} {
				cells[output] = append(cells[output], cell.Cell{Row: []byte(row), Family: []byte("f"), Qualifier: []byte(qualifier), Timestamp: j.Feeds()[0].Timestamp, Type: cell.Put, Value: []byte(fields[i+1])})
			}
		}
	}
	for output, all := range cells {
		slices.SortFunc(all, func(a, b cell.Cell) int { return cell.Compare(&a, &b) })
		writeCells(t, filepath.Join(out, output, "f", "file"), all)
	}
	return j, cells
}

// TestJobsFiles: the files of each output are compared with the source. Its counts are added up, and what differs, is
// rejected or is not there decides how the command ends.
func TestJobsFiles(t *testing.T) {
	t.Parallel()
	const lines = "ab,1,2\nhx,3,4\nkk,out,6\nz,7\n"
	dirOf := func(j *jobfile.Job, i int) string { return j.Feeds()[i].Output }
	rewrite := func(t *testing.T, dir string, cells []cell.Cell) {
		writeCells(t, filepath.Join(dir, "f", "file"), cells)
	}
	for _, c := range []struct {
		what   string
		lines  string
		change func(t *testing.T, j *jobfile.Job, cells map[string][]cell.Cell)
		code   errcode.Code
		want   Verification
		says   string
	}{
		{"the same", lines, nil, "", Verification{Rows: 4, Cells: 8, Rejected: 1, Filtered: 2}, ""},
		{"a value", lines, func(t *testing.T, j *jobfile.Job, cells map[string][]cell.Cell) {
			cells["two"][0].Value = []byte("x")
			rewrite(t, dirOf(j, 1), cells["two"])
		}, errcode.VerifyDiffers, Verification{Rows: 4, Cells: 7, Rejected: 1, Filtered: 2, Different: 1}, "/two"},
		{"a newer cell, a missing one and an extra one", lines, func(t *testing.T, j *jobfile.Job, cells map[string][]cell.Cell) {
			cells["one"][0].Timestamp++
			cells["one"][3].Row = []byte("hz")
			rewrite(t, dirOf(j, 0), cells["one"])
		}, errcode.VerifyDiffers, Verification{Rows: 4, Cells: 6, Rejected: 1, Filtered: 2, Missing: 1, Different: 1, Extra: 1}, "/one"},
		{"both outputs", lines, func(t *testing.T, j *jobfile.Job, cells map[string][]cell.Cell) {
			rewrite(t, dirOf(j, 0), cells["one"][1:])
			rewrite(t, dirOf(j, 1), cells["two"][1:])
		}, errcode.VerifyDiffers, Verification{Rows: 4, Cells: 6, Rejected: 1, Filtered: 2, Missing: 2}, "/two"},
		{"damage", lines, func(t *testing.T, j *jobfile.Job, _ map[string][]cell.Cell) {
			name := filepath.Join(dirOf(j, 0), "f", "file")
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			text[40] ^= 1
			if err := os.WriteFile(name, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}, errcode.HFileCorrupt, Verification{}, "f/file"},
		{"rejects, and nothing differs", lines + "y,1\n", nil, errcode.RejectsMany,
			Verification{Rows: 4, Cells: 8, Rejected: 2, Filtered: 2}, "no cell differs"},
		{"rejects, and a difference", lines + "y,1\n", func(t *testing.T, j *jobfile.Job, cells map[string][]cell.Cell) {
			rewrite(t, dirOf(j, 1), cells["two"][1:])
		}, errcode.VerifyDiffers, Verification{Rows: 4, Cells: 7, Rejected: 2, Filtered: 2, Missing: 1}, "2 of 5 records"},
		{"an output that is not there", lines, func(t *testing.T, j *jobfile.Job, _ map[string][]cell.Cell) {
			if err := os.RemoveAll(dirOf(j, 1)); err != nil {
				t.Fatal(err)
			}
		}, errcode.HFileMissing, Verification{}, "two"},
		{"a manifest that can't be read", lines, func(t *testing.T, j *jobfile.Job, _ map[string][]cell.Cell) {
			if err := os.WriteFile(filepath.Join(dirOf(j, 1), manifest.Name), []byte("{"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, errcode.ManifestMalformed, Verification{}, manifest.Name},
		{"no input", lines, func(t *testing.T, j *jobfile.Job, _ map[string][]cell.Cell) {
			if err := os.RemoveAll(filepath.Dir(j.Input.Path) + "/" + filepath.Base(j.Input.Path)); err != nil {
				t.Fatal(err)
			}
		}, errcode.InputMissing, Verification{}, ""},
	} {
		j, cells := filesJob(t, c.lines)
		if c.change != nil {
			c.change(t, j, cells)
		}
		r, err := Job(t.Context(), j, options.Options{WorkDir: t.TempDir()}, false)
		if (err == nil) != (c.code == "") || err != nil &&
			(failure.CodeOf(err) != c.code || !testwords.Names(err, c.says)) {
			t.Errorf("%s: %s, %v", c.what, failure.CodeOf(err), err)
		}
		status := failure.StatusFailed
		if c.code == "" {
			status = failure.StatusDone
		}
		if r.Status != status || r.Against == "" {
			t.Errorf("%s: status %s, against %s", c.what, r.Status, r.Against)
		}
		got := Verification{Rows: r.Rows, Cells: r.Cells, Rejected: r.Rejected, Filtered: r.Filtered, Missing: r.Missing, Different: r.Different, Extra: r.Extra}
		if c.want.Rows > 0 && fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %+v, want %+v", c.what, got, c.want)
		}
		if c.want.Rows > 0 && (len(r.Outputs) != 2 || r.Outputs[0].Rows != 2 || r.Outputs[1].Rows != 2 || r.Against != r.Outputs[0].Against+", "+r.Outputs[1].Against) {
			t.Errorf("%s: outputs %+v", c.what, r.Outputs)
		}
	}
}

// TestTableThatIsNotOpened: the report names what was to be compared, and options that nobody can use are refused.
func TestTableThatIsNotOpened(t *testing.T) {
	t.Parallel()
	j, _ := filesJob(t, "ab,1,2\n")
	if err := os.RemoveAll(j.Input.Path); err != nil {
		t.Fatal(err)
	}
	if r, err := WholeTable(t.Context(), j, options.Options{WorkDir: t.TempDir()}); err == nil || r.Against != "table ns:one, table ns:two" {
		t.Errorf("against %s: %v", r.Against, err)
	}
	if r, err := WholeTable(t.Context(), j, options.Options{WorkDir: t.TempDir(), Memory: 1}); failure.CodeOf(err) != errcode.Command || r.Status == failure.StatusDone {
		t.Errorf("%s, %v", r.Status, err)
	}
}

// TestProgressOfAVerification: the source is read in the first half of it, and at the end all of it is done.
func TestProgressOfAVerification(t *testing.T) {
	t.Parallel()
	j, _ := filesJob(t, "ab,1,2\nhx,3,4\n")
	var mu sync.Mutex
	upTo := map[string]float64{} // by phase
	_, err := Job(t.Context(), j, options.Options{WorkDir: t.TempDir(), Watch: func(p options.Progress) {
		mu.Lock()
		defer mu.Unlock()
		upTo[p.Phase] = max(upTo[p.Phase], p.Whole)
	}}, false)
	if err != nil || upTo["compare"] != 1 || len(upTo) < 2 {
		t.Errorf("%v, %v", upTo, err)
	}
	for phase, whole := range upTo {
		if phase != "compare" && whole > sortShare {
			t.Errorf("%s goes up to %v", phase, whole)
		}
	}
}

// TestNothingIsProved: without a row to compare the command is not done.
func TestNothingIsProved(t *testing.T) {
	t.Parallel()
	for lines, want := range map[string]string{"": failure.StatusEmpty, "kk,out,6\nz,7\n": failure.StatusNothing} {
		j, _ := filesJob(t, lines)
		for _, out := range j.Feeds() {
			if err := os.MkdirAll(filepath.Join(out.Output, "f"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		warned := ""
		o := options.Options{WorkDir: t.TempDir(), Say: func(text string) { warned += text }}
		r, err := Job(t.Context(), j, o, false)
		if err != nil || r.Status != want || !strings.Contains(r.Reason, "the source has no row to compare") || !strings.Contains(warned, "So nothing is proved about") {
			t.Errorf("%q: %+v, %v, warned %q", lines, r, err, warned)
		}
	}
}

// TestDirectories: a directory is checked file by file, for overlaps, and against its manifest.
func TestDirectories(t *testing.T) {
	t.Parallel()
	put := func(row, family string) cell.Cell {
		return cell.Cell{Row: []byte(row), Family: []byte(family), Qualifier: []byte("q"), Timestamp: 5, Type: cell.Put, Value: []byte("v")}
	}
	recorded := func(dir, name string, change func(*hfiles.FileMeta)) *manifest.Manifest {
		d, err := hfiles.OpenDirectory(storage.Local, dir)
		if err != nil {
			t.Fatal(err)
		}
		m := &manifest.Manifest{}
		for _, f := range d.Files {
			found, err := CheckFile(t.Context(), d, f)
			if err != nil {
				t.Fatal(err)
			}
			s := hfiles.FileMeta{Path: found.Path, Family: f.Family, Bytes: found.Bytes, Rows: found.Rows, Cells: found.Cells, Digest: found.Digest}
			if f.Path == name {
				change(&s)
			}
			m.Slices = append(m.Slices, manifest.RecordedSlice{Files: []hfiles.FileMeta{s}})
		}
		return m
	}
	for _, c := range []struct {
		what   string
		change func(t *testing.T, dir string) *manifest.Manifest
		says   string
	}{
		{"sound", func(*testing.T, string) *manifest.Manifest { return nil }, ""},
		{"recorded", func(_ *testing.T, dir string) *manifest.Manifest { return recorded(dir, "", nil) }, ""},
		{"rows of the same range", func(t *testing.T, dir string) *manifest.Manifest {
			writeCells(t, filepath.Join(dir, "f", "3"), []cell.Cell{put("b", "f"), put("x", "f")})
			return nil
		}, "f/3 begins"},
		{"the last row again", func(t *testing.T, dir string) *manifest.Manifest {
			writeCells(t, filepath.Join(dir, "f", "3"), []cell.Cell{put("d", "f")})
			return nil
		}, "f/3 begins"},
		{"another family", func(t *testing.T, dir string) *manifest.Manifest {
			writeCells(t, filepath.Join(dir, "f", "3"), []cell.Cell{put("x", "h")})
			return nil
		}, "family h in the folder of family f"},
		{"a file too many", func(t *testing.T, dir string) *manifest.Manifest {
			m := recorded(dir, "", nil)
			writeCells(t, filepath.Join(dir, "f", "3"), []cell.Cell{put("x", "f")})
			return m
		}, "f/3 is not"},
		{"a file that is gone", func(t *testing.T, dir string) *manifest.Manifest {
			m := recorded(dir, "", nil)
			if err := os.Remove(filepath.Join(dir, "f", "2")); err != nil {
				t.Fatal(err)
			}
			return m
		}, "f/2 is in the manifest"},
		{"a file that is loaded", func(t *testing.T, dir string) *manifest.Manifest {
			m := recorded(dir, "f/2", func(s *hfiles.FileMeta) { s.Loaded = true })
			if err := os.Remove(filepath.Join(dir, "f", "2")); err != nil {
				t.Fatal(err)
			}
			return m
		}, ""},
		{"other bytes", func(_ *testing.T, dir string) *manifest.Manifest {
			return recorded(dir, "f/2", func(s *hfiles.FileMeta) { s.Bytes++ })
		}, "f/2 holds"},
		{"other rows", func(_ *testing.T, dir string) *manifest.Manifest {
			return recorded(dir, "f/2", func(s *hfiles.FileMeta) { s.Rows++ })
		}, "f/2 holds"},
		{"another digest", func(_ *testing.T, dir string) *manifest.Manifest {
			return recorded(dir, "f/2", func(s *hfiles.FileMeta) { s.Digest.Timed++ })
		}, "f/2 holds"},
	} {
		dir := t.TempDir()
		writeCells(t, filepath.Join(dir, "f", "1"), []cell.Cell{put("a", "f"), put("b", "f")})
		writeCells(t, filepath.Join(dir, "f", "2"), []cell.Cell{put("c", "f"), put("d", "f")})
		writeCells(t, filepath.Join(dir, "g", "1"), []cell.Cell{put("a", "g"), put("c", "g")})
		m := c.change(t, dir)
		d, err := hfiles.OpenDirectory(storage.Local, dir)
		if err != nil {
			t.Fatal(err)
		}
		r := new(Verification)
		err = verifySound(t.Context(), d, m, r)
		if c.says == "" && err != nil || c.says != "" &&
			(failure.CodeOf(err) != errcode.VerifyDiffers || !testwords.Names(err, c.says)) {
			t.Errorf("%s: %v", c.what, err)
		}
		if c.what == "sound" && (len(r.Files) != 3 || r.Digest.Cells != 6 || r.Files[0].FirstRow != "a" || r.Files[0].LastRow != "b" || r.Files[0].Rows != 2 || r.Files[0].Blocks == 0) {
			t.Errorf("%+v", r)
		}
		if all, err := Dir(t.Context(), dir, options.Options{}); c.what == "sound" && (err != nil || all.Status != failure.StatusDone || all.Rows != 6 || all.Cells != 6) {
			t.Errorf("%+v, %v", all, err)
		}
	}
	empty := t.TempDir()
	if r, err := Dir(t.Context(), empty, options.Options{}); failure.CodeOf(err) != errcode.HFileMissing || r.Status == failure.StatusDone {
		t.Errorf("an empty directory: %+v, %v", r, err)
	}
	if r, err := Dir(t.Context(), filepath.Join(empty, "none"), options.Options{}); err == nil || r.Status == failure.StatusDone {
		t.Errorf("no directory: %+v, %v", r, err)
	}
}

// TestOrders: the source is read once, but for a wide table of several families, whose cells come in the order of
// families only one at a time.
func TestOrders(t *testing.T) {
	wide, _ := wideSource(t, "a,1,x,y,z\n")
	if got := wide.orders(); !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("a wide table: %v", got)
	}
	layout := *wide.target.Layout
	into := *wide.target
	into.Layout = &layout
	narrow := &outputVerifier{target: &into}
	for _, c := range []struct {
		wide     bool
		families int
	}{{false, 3}, {false, 1}, {true, 1}} {
		layout.Wide, layout.Families = c.wide, wide.target.Layout.Families[:c.families]
		if got := narrow.orders(); !slices.Equal(got, []int{sorting.AllFamilies}) {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestSavedRangesThatCantBeRead: a row that can't be read in what a stopped verification has saved is an error, not the
// beginning of the range.
func TestSavedRangesThatCantBeRead(t *testing.T) {
	t.Parallel()
	c := newTableCase(t)
	r, e := c.loaded()
	ranges, err := rangesOf(e)
	c.do(err)
	reader := func() (*rangeReader, error) {
		x := &rangeReader{options: c.options(), cluster: r.cluster, ledger: r.ledger, job: c.verifier.job, read: options.NewCounter(nil, "compare", 6, "rows")}
		return x, x.resume(t.Context(), e, slices.Clone(ranges), "loads")
	}
	first, err := reader()
	c.do(err)
	c.do(first.readRange(t.Context(), e, 0))
	first.saved.Ranges[0].Next = `\x0`
	c.do(first.save(e))
	if _, err := reader(); !testwords.Names(err, "ledger") {
		t.Error(err)
	}
	c.do(c.sim.Disable("t"))
	if _, err := reader(); failure.CodeOf(err) != errcode.TableDisabled {
		t.Errorf("a disabled table: %v", err)
	}
}
