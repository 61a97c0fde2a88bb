package run

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/hfilewriter"
	"bulkload/internal/bytesize"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/internal/test/sample"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/run/preflight"
	"bulkload/jobs/spec/jobfile"
	"bulkload/jobs/tasks"
)

const job = `table: check
family: f
input:
  path: in
  columns: [id, check_id, rule_no, rule_type, rule_desc, hit_flag, deleted, score, created_at, updated_at,
            operator, city, result, amount, ext_info, version, comments, remark]
  record_delimiter: '\x10'
rowkey: salt(check_id, 10) + md5(check_id) + id
regions: {from: splits, splits: ['1', '2', '3', '4', '5', '6', '7', '8', '9']}
hfile: {compression: snappy, encoding: fast_diff, bloom: row, max_size: 10GiB, slice_size: 100kB}
timestamp: 1
output: out
`

// skewed is a folder with a job and rows that all fall into one region, which is written in several slices.
func skewed(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	var b bytes.Buffer
	if err := sample.Check(&b, sample.Options{Rows: 3000, Skew: 100}); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"check.yaml": job, "in/part-m-00000": b.String()} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// read reads the job of a folder, with another output.
func read(t *testing.T, dir, output string) *jobfile.Job {
	t.Helper()
	j, err := jobfile.Read(filepath.Join(dir, "check.yaml"), jobfile.ReadOptions{Date: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)})
	if err != nil {
		t.Fatal(err)
	}
	j.Output = output
	return j
}

// finish runs a job to its end.
func finish(t *testing.T, j *jobfile.Job) {
	t.Helper()
	if _, err := Job(t.Context(), nil, j, options.Options{}); err != nil {
		t.Fatal(err)
	}
}

// files is the content of all HFiles of an output, by their paths in it.
func files(t *testing.T, output string) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(output, "f", "*"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(name)] = text
	}
	return all
}

// TestWrongSliceIsNotKept: if a region's files do not have the records that it was made from, no slice stays recorded and
// no file has a name, also of regions with slices that are not written yet.
func TestWrongSliceIsNotKept(t *testing.T) {
	t.Parallel()
	dir := skewed(t)
	base, out := filepath.Join(dir, "base"), filepath.Join(dir, "out")
	finish(t, read(t, dir, base))
	var r *runner
	var err error
	o := options.Options{}
	o.Failpoint = func(p options.Point) {
		if p != options.Sorted {
			return
		}
		family := &r.opened.outputs[0].target.Layout.Families[0] // whose last cell goes into another column from now on
		names := append([][]byte{}, family.Qualifiers...)
		names[len(names)-1] = append(append([]byte{}, names[len(names)-1]...), 'x')
		if family.Columns, err = hfilewriter.NewColumns(family.Bytes, names); err != nil {
			t.Error(err)
		}
	}
	if r, err = newRunner(nil, read(t, dir, out), o); err != nil {
		t.Fatal(err)
	}
	ctx, err := r.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = r.stages(ctx)
	if failure.CodeOf(err) != errcode.Digest || !testwords.Names(err, "region") {
		t.Errorf("%v", err)
	}
	if err := r.end(t.Context(), ctx, nil); err != nil {
		t.Fatal(err)
	}
	m, err := manifest.Read(storage.Local, out)
	if err != nil {
		t.Fatal(err)
	}
	kept := slices.DeleteFunc(m.Slices, func(s manifest.RecordedSlice) bool { return s.Entries == 0 })
	if len(kept) > 0 || len(files(t, out)) > 0 {
		t.Errorf("%d slices with rows are recorded, %d files have names", len(kept), len(files(t, out)))
	}
	finish(t, read(t, dir, out))
	if want, got := files(t, base), files(t, out); len(want) == 0 || !maps.EqualFunc(want, got, bytes.Equal) {
		t.Errorf("%d files, written again %d, or others", len(want), len(got))
	}
}

// TestSpillNeed: what the sorts spill follows from the outputs' shares of the input, and from the memory. What is
// spilled already reduces the need, and tasks spill elsewhere.
func TestSpillNeed(t *testing.T) {
	t.Parallel()
	r := &opened{options: options.Options{Memory: 64 << 20}}
	nothing := func() int64 { return 0 }
	disk := func(part float64) preflight.OutputDisk { return preflight.OutputDisk{Text: 100 << 20, Part: part} }
	all := []preflight.OutputDisk{disk(1)}
	if need := r.spillNeed(all, nothing); need != 60<<20 {
		t.Errorf("100 MiB of input spill %s", bytesize.Format(need))
	}
	if need := r.spillNeed(all, func() int64 { return 59 << 20 }); need != 1<<20 {
		t.Errorf("of 60 MiB, 59 are spilled, and %s are left", bytesize.Format(need))
	}
	if need := r.spillNeed(all, func() int64 { return 61 << 20 }); need != 0 {
		t.Errorf("of 60 MiB, 61 are spilled, and %s are left", bytesize.Format(need))
	}
	r.options.Memory = 512 << 20
	if need := r.spillNeed(all, func() int64 { t.Error("what is spilled is asked for"); return 0 }); need != 0 {
		t.Errorf("what fits in memory spills %s", bytesize.Format(need))
	}
	all = []preflight.OutputDisk{disk(1), disk(0.25), disk(3)}
	if need := r.spillNeed(all, nothing); need != 255<<20 {
		t.Errorf("three outputs of 100 MiB of input spill %s", bytesize.Format(need))
	}
	if r.tasks = true; r.spillNeed(all, nothing) != 0 {
		t.Error("tasks spill here")
	}
}

// engine is an engine that counts how often it is closed.
type engine struct {
	tasks.Engine
	closed *int
}

func (e engine) Close() error {
	*e.closed++
	return nil
}

// TestEngineOf: an engine is made for each run, and closed after it, however it ended; without one, a run is done here.
func TestEngineOf(t *testing.T) {
	t.Parallel()
	closed := 0
	dir := skewed(t)
	finish(t, read(t, dir, filepath.Join(dir, "no function")))
	if _, err := Job(t.Context(), (*TaskEngine)(nil).Always(), read(t, dir, filepath.Join(dir, "no engine")), options.Options{}); err != nil {
		t.Error(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "in")); err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		by := (&TaskEngine{Engine: engine{closed: &closed}}).Always()
		_, err := Job(t.Context(), by, read(t, dir, filepath.Join(dir, "out")), options.Options{})
		if failure.CodeOf(err) != errcode.InputMissing || closed != n+1 {
			t.Errorf("after %d runs the engine was closed %d times; %v", n+1, closed, err)
		}
	}
	none := fmt.Errorf("no engine")
	wrong := func(*jobfile.Job, options.Options) (*TaskEngine, error) { return nil, none }
	if s, err := Job(t.Context(), wrong, read(t, dir, filepath.Join(dir, "out")), options.Options{}); err != none || s == nil {
		t.Errorf("%v, %v", s, err)
	}
}

// TestCheckOfAnotherRun: a check of an output says of the run in it what a run would say, also of one that has no
// slices left, and whose files the table has.
func TestCheckOfAnotherRun(t *testing.T) {
	t.Parallel()
	for name, loaded := range map[string]bool{"came to nothing": false, "is loaded": true} {
		dir := skewed(t)
		out := filepath.Join(dir, "out")
		finish(t, read(t, dir, out))
		m, err := manifest.Read(storage.Local, out)
		if err != nil {
			t.Fatal(err)
		}
		file := *m.Files()[0]
		file.Loaded = true
		m.RemoveAll()
		m.State, m.Cuts = manifest.Writing, nil
		if loaded {
			m.LoadedBefore = append(m.LoadedBefore, file)
		}
		if err := m.Save(storage.Local, out, out); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "check.yaml"), []byte(strings.Replace(job, "timestamp: 1", "timestamp: 2", 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		other := read(t, dir, out)
		found, err := Check(t.Context(), other, options.Options{})
		if err != nil {
			t.Fatal(err)
		}
		checked := failure.CodeOf(found.Err())
		_, err = Job(t.Context(), nil, other, options.Options{})
		if run := failure.CodeOf(err); checked != run || (run == errcode.OutputOther) != loaded {
			t.Errorf("a run that %s: the check says %q (%v), the run says %q (%v)", name, checked, found.Err(), run, err)
		}
	}
}
