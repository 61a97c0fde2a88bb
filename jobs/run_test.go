package jobs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"bulkload/internal/bytesize"
	"bulkload/internal/errcode"
	"bulkload/internal/test/sample"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/lock"
	"bulkload/jobs/inspect/lookup"
	"bulkload/jobs/inspect/verify"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/run/summary"
	"bulkload/jobs/spec/jobfile"
)

// checkJob is the job of the check table, over input in the folder in.
const checkJob = `table: tinawang:check
family: f
input:
  path: in/${date}
  columns: [id, check_id, rule_no, rule_type, rule_desc, hit_flag, deleted, score, created_at, updated_at,
            operator, city, result, amount, ext_info, version, comments, remark]
  record_delimiter: '\x10'
rowkey: salt(check_id, 10) + md5(check_id) + id
query: [check_id]
regions: {from: splits, splits: ['1', '2', '3', '4', '5', '6', '7', '8', '9']}
hfile: {compression: snappy, encoding: fast_diff, bloom: row, max_size: 10GiB}
output: out/${date}
`

// sampleDir makes a folder with the check job and one night's rows in several files.
func sampleDir(t testing.TB, job string, rows int) string {
	t.Helper()
	dir := t.TempDir()
	in := filepath.Join(dir, "in", "2026-11-20")
	if err := os.MkdirAll(in, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "check.yaml"), []byte(job), 0o600); err != nil {
		t.Fatal(err)
	}
	const files = 4
	for i := range files {
		var b bytes.Buffer
		if err := sample.Check(&b, sample.Options{Rows: rows / files, Seed: uint64(i)}); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(in, fmt.Sprintf("part-m-%05d", i)), b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// readCheck reads the job of a folder that sampleDir made, with another output.
func readCheck(t testing.TB, dir, output string) *jobfile.Job {
	t.Helper()
	j, err := jobfile.Read(filepath.Join(dir, "check.yaml"), jobfile.ReadOptions{Date: date20})
	if err != nil {
		t.Fatal(err)
	}
	j.Output = output
	return j
}

// mustRun does a run that is expected to come to an end.
func mustRun(t testing.TB, j *jobfile.Job, o options.Options) *summary.Summary {
	t.Helper()
	s, err := Run(context.Background(), j, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// files is the content of all HFiles below an output: path to hash.
func files(t testing.TB, output string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(output, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := e.Name(); path != output && (name[0] == '_' || name[0] == '.') {
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if e.IsDir() {
			return nil
		}
		content, err := os.ReadFile(path)
		sum := sha256.Sum256(content)
		rel, _ := filepath.Rel(output, path)
		all[rel] = fmt.Sprintf("%d bytes, %x", len(content), sum[:8])
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// sameFiles wants two outputs to hold the same names with the same bytes.
func sameFiles(t *testing.T, what, a, b string) {
	t.Helper()
	fa, fb := files(t, a), files(t, b)
	if len(fa) == 0 || len(fa) != len(fb) {
		t.Errorf("%s: %d files beside %d", what, len(fa), len(fb))
	}
	for name, content := range fa {
		if fb[name] != content {
			t.Errorf("%s: %s is %s in the one and %q in the other", what, name, content, fb[name])
		}
	}
}

// nothingLeft wants no lock, no temporary file and no reject in an output.
func nothingLeft(t *testing.T, output string) {
	t.Helper()
	for _, name := range []string{lock.LockName, manifest.RejectsDir} {
		if _, err := os.Stat(filepath.Join(output, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left in the output (%v)", name, err)
		}
	}
	if left, err := os.ReadDir(filepath.Join(output, lock.TempDir)); err == nil && len(left) > 0 {
		t.Errorf("%s still holds %v", lock.TempDir, left)
	}
}

// TestVerifyWithTooManyRejects: whatever the comparison of the other records finds, the error says that too many are rejected, and it
// says of the others only what was compared.
func TestVerifyWithTooManyRejects(t *testing.T) {
	t.Parallel()
	dir := sampleDir(t, checkJob, 40)
	out, in := filepath.Join(dir, "out"), filepath.Join(dir, "in", "2026-11-20")
	mustRun(t, readCheck(t, dir, out), options.Options{})
	part := filepath.Join(in, "part-m-00000")
	sound, err := os.ReadFile(part)
	if err != nil {
		t.Fatal(err)
	}
	const tooMany, equal = "are rejected, more than max_rejects (0): a run would load none of them", ". Of the others no cell differs"
	verifyWith := func(text []byte) (*verify.Report, error) {
		if err := os.WriteFile(part, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return verify.Job(t.Context(), readCheck(t, dir, out), options.Options{}, false)
	}
	bad := []byte("no record\x10")
	r, err := verifyWith(append(bytes.Clone(sound), bad...))
	if failure.KindOf(err) != failure.Rejects || r.Rows != 40 || !strings.HasSuffix(err.Error(), tooMany+equal) {
		t.Errorf("the others are equal: %+v, %v", r, err)
	}
	r, err = verifyWith(bad)
	if failure.CodeOf(err) != errcode.VerifyDiffers || r.Status != failure.StatusFailed || !strings.Contains(err.Error(), tooMany) || strings.Contains(err.Error(), equal) {
		t.Errorf("the others differ: %+v, %v", r, err)
	}
	empty := filepath.Join(dir, "empty")
	for i := range 4 {
		if err := os.WriteFile(filepath.Join(in, fmt.Sprintf("part-m-%05d", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mustRun(t, readCheck(t, dir, empty), options.Options{})
	out = empty
	r, err = verifyWith(bad)
	if failure.KindOf(err) != failure.Rejects || r.Rows != 0 || !strings.HasSuffix(err.Error(), tooMany) {
		t.Errorf("there are no others: %+v, %v", r, err)
	}
}

func TestRunWritesWhatTheSourceSays(t *testing.T) {
	dir := sampleDir(t, checkJob, 4000)
	out := filepath.Join(dir, "out")
	j := readCheck(t, dir, out)
	s := mustRun(t, j, options.Options{})
	if s.Status != failure.StatusDone || s.Books.Read != 4000 || s.Books.Written != 4000 || len(s.Files) != 10 || len(s.Regions) != 10 {
		t.Errorf("summary %+v", s)
	}
	if s.Digest.Cells != s.Books.CellsWritten || s.Books.CellsWritten+s.Books.Nulls != 4000*18 {
		t.Errorf("%d cells in the digest, books %v", s.Digest.Cells, s.Books)
	}
	nothingLeft(t, out)
	if r, err := verify.Job(context.Background(), j, options.Options{}, false); err != nil || r.Cells != s.Books.CellsWritten || r.Rows != 4000 {
		t.Errorf("verify the job: %+v, %v", r, err)
	}
	if r, err := verify.Dir(context.Background(), out, options.Options{}); err != nil || r.Digest != s.Digest || r.Rows != 4000 {
		t.Errorf("verify the directory: %+v, %v", r, err)
	}
	again := mustRun(t, j, options.Options{})
	if again.Status != failure.StatusNothing || again.Digest != s.Digest || again.Books != s.Books {
		t.Errorf("a second run says %+v", again)
	}
}

// TestDeterministic: the bytes do not depend on memory, cores and the order in which files come.
func TestDeterministic(t *testing.T) {
	dir := sampleDir(t, checkJob, 40_000)
	base := filepath.Join(dir, "base")
	mustRun(t, readCheck(t, dir, base), options.Options{Memory: 2 << 30})
	for _, memory := range []int64{options.MinMemory, 64 << 20} {
		for _, cores := range []int{5, 2, 1} {
			if testing.Short() && cores < 5 {
				break
			}
			what := fmt.Sprintf("%s, %d cores", bytesize.Format(memory), cores)
			out := filepath.Join(dir, fmt.Sprintf("%d-%d", memory, cores))
			before := runtime.GOMAXPROCS(cores)
			mustRun(t, readCheck(t, dir, out), options.Options{Memory: memory, WorkDir: t.TempDir()})
			runtime.GOMAXPROCS(before)
			sameFiles(t, what, base, out)
		}
	}
}

// TestMillionRows: 64 MiB give the same bytes as 2 GiB.
func TestMillionRows(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	dir := sampleDir(t, checkJob, 1_000_000)
	work := t.TempDir()
	large, small := filepath.Join(dir, "large"), filepath.Join(dir, "small")
	mustRun(t, readCheck(t, dir, large), options.Options{Memory: 2 << 30, WorkDir: work})
	s := mustRun(t, readCheck(t, dir, small), options.Options{Memory: 64 << 20, WorkDir: work})
	if s.Sort.Runs == 0 || s.Books.Written != 1_000_000 {
		t.Errorf("with 64 MiB: %d spilled runs, books %v", s.Sort.Runs, s.Books)
	}
	sameFiles(t, "64 MiB", large, small)
	if left, err := os.ReadDir(work); err != nil || len(left) > 0 {
		t.Errorf("the work folder still holds %v (%v)", left, err)
	}
}

func TestMaxSizeRollsAtRows(t *testing.T) {
	dir := sampleDir(t, strings.Replace(checkJob, "10GiB", "200kB", 1), 4000)
	out := filepath.Join(dir, "out")
	j := readCheck(t, dir, out)
	s := mustRun(t, j, options.Options{})
	if len(s.Files) <= 10 {
		t.Errorf("%d files", len(s.Files))
	}
	for i, f := range s.Files {
		last := i+1 == len(s.Files) || s.Files[i+1].Region != f.Region
		if (f.Raw < 200_000 && !last) || f.Raw > 210_000 {
			t.Errorf("file %d of region %d holds %d raw bytes", f.Sequence, f.Region, f.Raw)
		}
		if i > 0 && s.Files[i-1].LastRow >= f.FirstRow {
			t.Errorf("row %s is in two files", f.FirstRow)
		}
	}
	if _, err := verify.Job(context.Background(), j, options.Options{}, false); err != nil {
		t.Error(err)
	}
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	before := runtime.GOMAXPROCS(1)
	mustRun(t, readCheck(t, dir, one), options.Options{})
	runtime.GOMAXPROCS(3)
	mustRun(t, readCheck(t, dir, two), options.Options{Memory: options.MinMemory})
	runtime.GOMAXPROCS(before)
	sameFiles(t, "rolled", one, two)
}

func TestSeveralFamilies(t *testing.T) {
	job := checkJob + "columns_map: {remark: {to: 'g:r'}, comments: {to: 'a:c'}, version: {skip: true}, city: {to: 'a:b'}}\n"
	dir := sampleDir(t, job, 2000)
	out := filepath.Join(dir, "out")
	j := readCheck(t, dir, out)
	s := mustRun(t, j, options.Options{})
	families := map[string]int64{}
	for _, f := range s.Files {
		families[f.Family] += f.Cells
	}
	if len(families) != 3 || s.Books.Columns != 17 {
		t.Errorf("families %v, books %v", families, s.Books)
	}
	if _, err := verify.Job(context.Background(), j, options.Options{}, false); err != nil {
		t.Error(err)
	}
	if r, err := verify.Dir(context.Background(), out, options.Options{}); err != nil || r.Cells != s.Books.CellsWritten {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestGetGivesAllRowsOfAKeyAndNoOthers(t *testing.T) {
	dir := sampleDir(t, checkJob, 4000)
	out := filepath.Join(dir, "out")
	j := readCheck(t, dir, out)
	mustRun(t, j, options.Options{})
	want := map[string][]string{} // ids by check_id
	paths, err := filepath.Glob(filepath.Join(dir, "in/2026-11-20/*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, record := range strings.Split(strings.TrimSuffix(string(content), "\x10"), "\x10") {
			fields := strings.Split(record, "\x01")
			want[fields[1]] = append(want[fields[1]], fields[0])
		}
	}
	for key, ids := range want {
		r, err := lookup.Get(context.Background(), j, options.Options{}, []string{key}, out)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for _, row := range r.Rows {
			got[row.Row[33:]] = true
		}
		if len(r.Rows) != len(ids) || len(got) != len(ids) {
			t.Errorf("%s has %d rows, got %d", key, len(ids), len(r.Rows))
		}
		for _, id := range ids {
			if !got[id] {
				t.Errorf("%s: row %s is missing", key, id)
			}
		}
	}
	if len(want) < 300 {
		t.Errorf("only %d keys were tried", len(want))
	}
}

func TestInterruptedRunGoesOn(t *testing.T) {
	dir := sampleDir(t, checkJob, 4000)
	base, out := filepath.Join(dir, "base"), filepath.Join(dir, "out")
	mustRun(t, readCheck(t, dir, base), options.Options{})
	for _, stop := range []options.Point{options.Planned, options.Sorted, options.Verified, options.Recorded} {
		ctx, cancel := context.WithCancel(context.Background())
		s, err := Run(ctx, readCheck(t, dir, out), options.Options{Failpoint: func(p options.Point) {
			if p == stop {
				cancel()
			}
		}})
		cancel()
		if err == nil || failure.KindOf(err) != failure.Interrupted || s == nil {
			t.Errorf("stopped at %q: %v", stop, err)
		}
		nothingLeft(t, out)
	}
	if s := mustRun(t, readCheck(t, dir, out), options.Options{}); s.Books.Written != 4000 {
		t.Errorf("went on with books %v", s.Books)
	}
	sameFiles(t, "interrupted", base, out)
}
