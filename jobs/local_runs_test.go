package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"bulkload/internal/bytesize"
	"bulkload/internal/parallel"
	"bulkload/internal/storage"
	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/sample"
	"bulkload/internal/test/testcluster"
	"bulkload/internal/test/testfs"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/site"
	"bulkload/jobs/inspect/lookup"
	"bulkload/jobs/inspect/verify"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/targets"
	"bulkload/jobs/run"
	"bulkload/jobs/spec/jobfile"
)

func TestRunWritesWhatTheSourceSays(t *testing.T) {
	dir := jobdir.Check(t, jobdir.CheckJob, 4000)
	out := filepath.Join(dir, "out")
	j := jobtest.Check(t, dir, out)
	s := runtest.Must(t, j, options.Options{})
	if s.Status != failure.StatusDone || s.Counts.Read != 4000 || s.Counts.Written != 4000 || len(s.Files) != 10 || len(s.Regions) != 10 {
		t.Errorf("summary %+v", s)
	}
	if s.Digest.Cells != s.Counts.CellsWritten || s.Counts.CellsWritten+s.Counts.Nulls != 4000*18 {
		t.Errorf("%d cells in the digest, counts %v", s.Digest.Cells, s.Counts)
	}
	runtest.NothingLeft(t, out)
	if r, err := verify.Job(context.Background(), j, options.Options{}, false); err != nil || r.Cells != s.Counts.CellsWritten || r.Rows != 4000 {
		t.Errorf("verify the job: %+v, %v", r, err)
	}
	if r, err := verify.Dir(context.Background(), out, options.Options{}); err != nil || r.Digest != s.Digest || r.Rows != 4000 {
		t.Errorf("verify the directory: %+v, %v", r, err)
	}
	again := runtest.Must(t, j, options.Options{})
	if again.Status != failure.StatusNothing || again.Digest != s.Digest || again.Counts != s.Counts {
		t.Errorf("a second run says %+v", again)
	}
}

// TestDeterministic: the bytes do not depend on memory, cores and the order in which files come.
func TestDeterministic(t *testing.T) {
	dir := jobdir.Check(t, jobdir.CheckJob, 40_000)
	base := filepath.Join(dir, "base")
	runtest.Must(t, jobtest.Check(t, dir, base), options.Options{Memory: 2 << 30})
	for _, memory := range []int64{options.MinMemory, 64 << 20} {
		for _, cores := range []int{5, 2, 1} {
			if testing.Short() && cores < 5 {
				break
			}
			what := fmt.Sprintf("%s, %d cores", bytesize.Format(memory), cores)
			out := filepath.Join(dir, fmt.Sprintf("%d-%d", memory, cores))
			before := runtime.GOMAXPROCS(cores)
			runtest.Must(t, jobtest.Check(t, dir, out), options.Options{Memory: memory, WorkDir: t.TempDir()})
			runtime.GOMAXPROCS(before)
			runtest.SameFiles(t, what, base, out)
		}
	}
}

// TestMillionRows: 64 MiB give the same bytes as 2 GiB.
func TestMillionRows(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	dir := jobdir.Check(t, jobdir.CheckJob, 1_000_000)
	work := t.TempDir()
	large, small := filepath.Join(dir, "large"), filepath.Join(dir, "small")
	runtest.Must(t, jobtest.Check(t, dir, large), options.Options{Memory: 2 << 30, WorkDir: work})
	s := runtest.Must(t, jobtest.Check(t, dir, small), options.Options{Memory: 64 << 20, WorkDir: work})
	if s.Sort.Runs == 0 || s.Counts.Written != 1_000_000 {
		t.Errorf("with 64 MiB: %d spilled runs, counts %v", s.Sort.Runs, s.Counts)
	}
	runtest.SameFiles(t, "64 MiB", large, small)
	if left, err := os.ReadDir(work); err != nil || len(left) > 0 {
		t.Errorf("the work folder still holds %v (%v)", left, err)
	}
}

func TestInterruptedRunGoesOn(t *testing.T) {
	dir := jobdir.Check(t, jobdir.CheckJob, 4000)
	base, out := filepath.Join(dir, "base"), filepath.Join(dir, "out")
	runtest.Must(t, jobtest.Check(t, dir, base), options.Options{})
	for _, stop := range []options.Point{options.Planned, options.Sorted, options.Verified, options.Recorded} {
		ctx, cancel := context.WithCancel(context.Background())
		s, err := run.Job(ctx, nil, jobtest.Check(t, dir, out), options.Options{Failpoint: func(p options.Point) {
			if p == stop {
				cancel()
			}
		}})
		cancel()
		if err == nil || failure.KindOf(err) != failure.Interrupted || s == nil {
			t.Errorf("stopped at %q: %v", stop, err)
		}
		runtest.NothingLeft(t, out)
	}
	if s := runtest.Must(t, jobtest.Check(t, dir, out), options.Options{}); s.Counts.Written != 4000 {
		t.Errorf("went on with counts %v", s.Counts)
	}
	runtest.SameFiles(t, "interrupted", base, out)
}

// TestPhases: every phase shows its bytes, and the times of the parts are those that the stages took.
func TestPhases(t *testing.T) {
	dir := jobdir.Check(t, jobdir.CheckJob, 60_000)
	s := runtest.Must(t, jobtest.Check(t, dir, filepath.Join(dir, "out")), options.Options{Memory: options.MinMemory, WorkDir: t.TempDir()})
	wall, parts := map[string]float64{}, map[string]float64{}
	bytes := map[string]int64{}
	var names []string
	for _, p := range s.Phases {
		if p.Of == "" {
			wall[p.Name] = p.Seconds
			continue
		}
		names = append(names, p.Name)
		parts[p.Of] += p.Seconds
		bytes[p.Name] = p.Bytes
		if p.Seconds < 0 || p.Bytes <= 0 || p.Seconds > 0 && p.Rate <= 0 {
			t.Errorf("%+v", p)
		}
	}
	want := []string{"read", "parse", "key", "sort", "spill", "merge", "encode", "compress", "write", "verify"}
	if len(names) != len(want) {
		t.Fatalf("phases %v", names)
	}
	for i := range want {
		if names[i] != want[i] {
			t.Errorf("phases %v, want %v", names, want)
		}
	}
	for stage, took := range wall {
		// A slice may be finished beside those that the cores merge.
		if sum := parts[stage]; sum > took*float64(parallel.Workers()+1)*1.05+0.01 || sum < took/10 {
			t.Errorf("the parts of %s took %.3f s together, the stage %.3f s on %d cores", stage, sum, took, parallel.Workers())
		}
	}
	var size, raw int64
	for _, f := range s.Files {
		size += f.Bytes
		raw += f.Raw
	}
	if bytes["write"] != size || bytes["verify"] != size || bytes["encode"] != raw || bytes["compress"] >= raw || bytes["compress"] < size/2 {
		t.Errorf("files of %d bytes, %d raw; phases %v", size, raw, bytes)
	}
	if in := s.Phases[0].Bytes; bytes["read"] < in || bytes["read"] > in*3/2 || bytes["merge"] != s.Sort.Bytes || bytes["key"] != s.Sort.Bytes || bytes["spill"] != s.Sort.Spilled {
		t.Errorf("%d bytes of input, %d sorted; phases %v", in, s.Sort.Bytes, bytes)
	}
	b := s.Bound
	if b == nil || b.Cores != parallel.Workers() || b.Share < 0.1 || b.Share > 1 || b.Busy <= 0 || b.Busy > 1 || bytes[b.Phase] == 0 {
		t.Errorf("bound by %+v", b)
	}
}

// BenchmarkRun is the whole local job: read, key, sort, write, read back.
func BenchmarkRun(b *testing.B) {
	const rows = 200_000
	dir := jobdir.Check(b, jobdir.CheckJob, rows)
	var size int64
	paths, err := filepath.Glob(filepath.Join(dir, "in/2026-11-20/*"))
	if err != nil {
		b.Fatal(err)
	}
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			b.Fatal(err)
		}
		size += info.Size()
	}
	b.SetBytes(size)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		out := filepath.Join(dir, fmt.Sprint("out", n))
		n++
		runtest.Must(b, jobtest.Check(b, dir, out), options.Options{WorkDir: dir})
		b.StopTimer()
		if err := os.RemoveAll(out); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(rows*18*n)/b.Elapsed().Seconds(), "cells/s")
}

// TestJavaReadsWhatTheRuleSays: HBase's own reader finds the files of the shipped example sound, and in them exactly
// the cells that Java computes from the same text.
func TestJavaReadsWhatTheRuleSays(t *testing.T) {
	oracle := testcluster.Java(t)
	ask := func(args ...string) {
		t.Helper()
		if out, err := oracle.Run(args...); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	dir := t.TempDir()
	j, err := jobfile.Read("examples/check.yaml", jobfile.ReadOptions{Date: jobdir.Date})
	if err != nil {
		t.Fatal(err)
	}
	j.Output = filepath.Join(dir, "out")
	s := runtest.Must(t, j, options.Options{})

	ask("check", "file://"+j.Output, "-all")
	got, want := filepath.Join(dir, "got"), filepath.Join(dir, "want")
	ask("cells", "file://"+j.Output, "-o", got)
	ask("expect", jobdir.Joined(t, dir, "examples/testdata/check/2026-11-20/part-*"), strings.Join(sample.CheckColumns, ","),
		"check_id", "id", "10", "f", fmt.Sprint(j.Timestamp), "-o", want)
	gotCells, wantCells := cellsOf(t, got), cellsOf(t, want)
	if int64(len(wantCells)) != s.Counts.CellsWritten {
		t.Errorf("Java computes %d cells, the counts say %d", len(wantCells), s.Counts.CellsWritten)
	}
	if len(gotCells) != len(wantCells) {
		t.Errorf("%d cells in the files, want %d", len(gotCells), len(wantCells))
	}
	for line := range wantCells {
		if !gotCells[line] {
			t.Fatalf("no cell %s", line)
		}
	}
}

// TestPaymentsAsJava: the example with every rule gives the cells that Java makes of the same text with HBase's Bytes,
// as HBase's own reader finds them.
func TestPaymentsAsJava(t *testing.T) {
	oracle := testcluster.Java(t)
	ask := func(args ...string) {
		t.Helper()
		if out, err := oracle.Run(args...); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	dir := t.TempDir()
	j := readPayments(t, filepath.Join(dir, "out"))
	s := runtest.Must(t, j, options.Options{})
	ask("check", "file://"+j.Output, "-all")
	got, want := filepath.Join(dir, "got"), filepath.Join(dir, "want")
	ask("cells", "file://"+j.Output, "-o", got)
	ask("payments", jobdir.Joined(t, dir, "examples/testdata/payments/2026-11-20/part-*"), "2026-11-20", "-o", want)
	gotCells, wantCells := cellsOf(t, got), cellsOf(t, want)
	if int64(len(wantCells)) != s.Counts.CellsWritten || len(gotCells) != len(wantCells) {
		t.Errorf("Java computes %d cells, the files have %d, the counts say %d", len(wantCells), len(gotCells), s.Counts.CellsWritten)
	}
	for line := range wantCells {
		if !gotCells[line] {
			t.Errorf("no cell %s", line)
		}
	}
}

func readPayments(t testing.TB, output string) *jobfile.Job {
	t.Helper()
	j, err := jobfile.Read("examples/payments.yaml", jobfile.ReadOptions{Date: jobdir.Date})
	if err != nil {
		t.Fatal(err)
	}
	j.Output = output
	return j
}

// TestPayments is the example as it is shipped.
func TestPayments(t *testing.T) {
	j := readPayments(t, t.TempDir())
	s := runtest.Must(t, j, options.Options{})
	if b := s.Counts; b.Read != 306 || b.Rejected != 3 || b.Duplicates != 1 || b.Filtered < 100 || b.Written < 100 {
		t.Errorf("counts %v", b)
	}
	if r, err := verify.Job(context.Background(), j, options.Options{}, false); err != nil || r.Cells != s.Counts.CellsWritten {
		t.Errorf("verify: %+v, %v", r, err)
	}
	r, err := lookup.Get(context.Background(), j, options.Options{}, []string{"100200301"}, j.Output)
	if err != nil || len(r.Rows) == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, c := range r.Rows[0].Cells {
		if c.Qualifier == "memo" && c.Value != "again" && r.Rows[0].Cells[0].Value == "1000000009001" {
			t.Errorf("the earlier record has won: %+v", r.Rows[0])
		}
	}
}

func cellsOf(t *testing.T, name string) map[string]bool {
	t.Helper()
	cells := map[string]bool{}
	for _, line := range testfs.Lines(t, name) {
		cells[line] = true
	}
	return cells
}

// manifestBytes counts the bytes of manifests that are written.
type manifestBytes struct {
	storage.FS
	n int
}

func (f *manifestBytes) Create(name string, perm fs.FileMode) (storage.FileWriter, error) {
	w, err := f.FS.Create(name, perm)
	if err != nil || path.Base(name) != manifest.Name {
		return w, err
	}
	return &countedWriter{w, f}, nil
}

type countedWriter struct {
	storage.FileWriter
	fs *manifestBytes
}

func (w *countedWriter) Write(b []byte) (int, error) {
	w.fs.n += len(b)
	return w.FileWriter.Write(b)
}

// TestManyRegions: with twice as many regions a run writes about twice as many bytes of manifests: it is not saved for
// each region, and all regions are in it in the end.
func TestManyRegions(t *testing.T) {
	const n = 1000
	written := map[int]int{}
	for _, regions := range []int{n, 2 * n} {
		fsys := new(manifestBytes)
		o := options.Options{Storage: func(f storage.FS) storage.FS { fsys.FS = f; return fsys }}
		s := runtest.Must(t, manyRegions(t, regions, 20), o)
		if s.Counts.Written != 20 || len(s.Regions) != regions {
			t.Errorf("%d rows in %d regions", s.Counts.Written, len(s.Regions))
		}
		written[regions] = fsys.n
	}
	if one, two := written[n], written[2*n]; two > 3*one {
		t.Errorf("%d bytes of manifests for %d regions, and %d for %d", one, n, two, 2*n)
	}
}

// TestStoppedRunsMakeFewCalls: wherever a run is stopped, it makes only as many more calls to its file systems as the
// goroutines need that are at work, and none for each region or input file.
func TestStoppedRunsMakeFewCalls(t *testing.T) {
	const n, parts = 100, 8
	j := manyRegions(t, n, n)
	splitInput(t, j, n)
	counted := &testfs.Fault{}
	o := options.Options{Storage: func(f storage.FS) storage.FS { return &testfs.Failing{FS: f, Fault: counted} }}
	runtest.Must(t, j, o)
	calls := -counted.Left.Load()
	for part := range int64(parts) {
		if testing.Short() && part%3 != 0 {
			continue
		}
		if err := os.RemoveAll(filepath.Join(j.Dir, "out")); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		counted.Instead = cancel
		counted.Left.Store(1 + calls*part/parts)
		_, err := run.Job(ctx, nil, j, o)
		after := -counted.Left.Load()
		if failure.KindOf(err) != failure.Interrupted || after > int64(60+25*parallel.Workers()) {
			t.Errorf("stopped at %v (%d/%d of %d calls): %d calls later it ended with %v", counted.Failed(), part, parts, calls, after, err)
		}
	}
}

// splitInput divides the one input file of a job of manyRegions into n files, most of them empty.
func splitInput(t *testing.T, j *jobfile.Job, n int) {
	t.Helper()
	in := filepath.Join(j.Dir, "in")
	content, err := os.ReadFile(in)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(in), os.Mkdir(in, 0o700)); err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(content, []byte("\n"))
	for i := range n {
		var line []byte
		if i < len(lines) {
			line = lines[i]
		}
		if err := os.WriteFile(filepath.Join(in, fmt.Sprintf("part-%04d", i)), line, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// manyRegions is a job with so many regions and rows.
func manyRegions(t *testing.T, regions, rows int) *jobfile.Job {
	t.Helper()
	var splits []string
	for i := 1; i < regions; i++ {
		splits = append(splits, fmt.Sprintf("'%08x'", i*(1<<32)/regions))
	}
	var content strings.Builder
	for i := range rows {
		fmt.Fprintf(&content, "%d,x\n", i)
	}
	dir := t.TempDir()
	text := "table: ns:t\nfamily: f\ntimestamp: 2026-11-20\ninput: {path: in, columns: [id, a], field_delimiter: ',', record_delimiter: '\\n'}\n" +
		"rowkey: md5(id) + id\nregions: {from: splits, splits: [" + strings.Join(splits, ", ") + "]}\nhfile: {}\noutput: out\n"
	file := filepath.Join(dir, "job.yaml")
	if err := os.WriteFile(filepath.Join(dir, "in"), []byte(content.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	j, err := jobfile.Read(file, jobfile.ReadOptions{Date: jobdir.Date})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// TestRunWithPlannedRegions: a run whose splits follow from the input gives the same files whatever the cores, and
// verifies.
func TestRunWithPlannedRegions(t *testing.T) {
	dir := jobdir.Of(t, fmt.Sprintf(jobdir.NumbersJob, "md5(user, 4) + id"), jobdir.Numbers(20_000))
	j := jobtest.Check(t, dir, filepath.Join(dir, "a"))
	here, err := site.Open(options.Options{}, jobfile.HBase{}, false)
	if err != nil {
		t.Fatal(err)
	}
	planned, err := targets.Resolve(context.Background(), j, here, jobtest.Source(t, j), nil, nil, options.Options{Say: func(string) {}})
	if err != nil || len(planned.Splits) != 0 {
		t.Fatalf("20,000 small rows are cut: %+v, %v", planned, err)
	}
	if s := runtest.Must(t, j, options.Options{WorkDir: dir}); s.Counts.Written != 20_000 || len(s.Regions) != 1 {
		t.Errorf("%d rows in %d regions", s.Counts.Written, len(s.Regions))
	}
	dir = jobdir.Of(t, fmt.Sprintf(jobdir.NumbersJob, "salt(user, 7) + id"), jobdir.Numbers(20_000))
	j = jobtest.Check(t, dir, filepath.Join(dir, "a"))
	if s := runtest.Must(t, j, options.Options{WorkDir: dir}); len(s.Regions) != 7 || s.Counts.Written != 20_000 {
		t.Errorf("%d rows in %d regions, want one a salt", s.Counts.Written, len(s.Regions))
	}
	if s := runtest.Must(t, j, options.Options{WorkDir: dir}); s.Status != failure.StatusNothing {
		t.Errorf("again: %s", s.Status)
	}
	if v, err := verify.Job(context.Background(), j, options.Options{}, false); err != nil || v.Rows != 20_000 {
		t.Errorf("verify: %+v, %v", v, err)
	}
	_, err = jobfile.Read(jobdir.Write(t, strings.Replace(fmt.Sprintf(jobdir.NumbersJob, "id"), "output: out/${date}", "output: hdfs:///out\nload: true", 1)), jobfile.ReadOptions{Date: jobdir.Date})
	if failure.KindOf(err) != failure.Usage || !testwords.Names(err, "load: ", "regions.from") {
		t.Errorf("planned regions and a load: %v", err)
	}
}

// TestPlannedRegionsReadTheInputOnce: a run that came to its end before its first slice does not look for its
// boundaries again.
func TestPlannedRegionsReadTheInputOnce(t *testing.T) {
	dir := jobdir.Of(t, fmt.Sprintf(jobdir.NumbersJob, "salt(user, 7) + id"), jobdir.Numbers(2000))
	j := jobtest.Check(t, dir, filepath.Join(dir, "a"))
	run := func(force bool, stop options.Point) (planned int, err error) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		o := options.Options{WorkDir: dir, Force: force, Say: func(text string) {
			if strings.Contains(text, "were planned from the input") {
				planned++
			}
		}}
		o.Failpoint = func(p options.Point) {
			if p == stop {
				cancel()
			}
		}
		s, err := run.Job(ctx, nil, j, o)
		if err == nil && len(s.Regions) != 7 {
			t.Errorf("%d regions", len(s.Regions))
		}
		return planned, err
	}
	for i, c := range []struct {
		force bool
		stop  options.Point
		want  int
	}{{false, options.Planned, 1}, {false, options.Planned, 0}, {true, options.Planned, 1}, {false, "", 0}} {
		planned, err := run(c.force, c.stop)
		if planned != c.want || (c.stop == "") != (err == nil) {
			t.Errorf("run %d: planned %d times, want %d; %v", i, planned, c.want, err)
		}
	}
	if m, err := manifest.Read(storage.Local, filepath.Join(dir, "a")); err != nil || len(m.Splits) != 6 {
		t.Errorf("%+v, %v", m, err)
	}
}
