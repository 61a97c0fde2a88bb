package jobs

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"bulkload/internal/bytesize"
	"bulkload/internal/errcode"
	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/runtest"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/inspect/lookup"
	"bulkload/jobs/inspect/verify"
	"bulkload/jobs/run"
)

// TestVerifyWithTooManyRejects: whatever the comparison of the other records finds, the error says that too many are rejected, and it
// says of the others only what was compared.
func TestVerifyWithTooManyRejects(t *testing.T) {
	t.Parallel()
	dir := jobdir.Check(t, jobdir.CheckJob, 40)
	out, in := filepath.Join(dir, "out"), filepath.Join(dir, "in", "2026-11-20")
	runtest.Must(t, jobtest.Check(t, dir, out), options.Options{})
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
		return verify.Job(t.Context(), jobtest.Check(t, dir, out), options.Options{}, false)
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
	runtest.Must(t, jobtest.Check(t, dir, empty), options.Options{})
	out = empty
	r, err = verifyWith(bad)
	if failure.KindOf(err) != failure.Rejects || r.Rows != 0 || !strings.HasSuffix(err.Error(), tooMany) {
		t.Errorf("there are no others: %+v, %v", r, err)
	}
}

func TestRunWritesWhatTheSourceSays(t *testing.T) {
	dir := jobdir.Check(t, jobdir.CheckJob, 4000)
	out := filepath.Join(dir, "out")
	j := jobtest.Check(t, dir, out)
	s := runtest.Must(t, j, options.Options{})
	if s.Status != failure.StatusDone || s.Books.Read != 4000 || s.Books.Written != 4000 || len(s.Files) != 10 || len(s.Regions) != 10 {
		t.Errorf("summary %+v", s)
	}
	if s.Digest.Cells != s.Books.CellsWritten || s.Books.CellsWritten+s.Books.Nulls != 4000*18 {
		t.Errorf("%d cells in the digest, books %v", s.Digest.Cells, s.Books)
	}
	runtest.NothingLeft(t, out)
	if r, err := verify.Job(context.Background(), j, options.Options{}, false); err != nil || r.Cells != s.Books.CellsWritten || r.Rows != 4000 {
		t.Errorf("verify the job: %+v, %v", r, err)
	}
	if r, err := verify.Dir(context.Background(), out, options.Options{}); err != nil || r.Digest != s.Digest || r.Rows != 4000 {
		t.Errorf("verify the directory: %+v, %v", r, err)
	}
	again := runtest.Must(t, j, options.Options{})
	if again.Status != failure.StatusNothing || again.Digest != s.Digest || again.Books != s.Books {
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
	if s.Sort.Runs == 0 || s.Books.Written != 1_000_000 {
		t.Errorf("with 64 MiB: %d spilled runs, books %v", s.Sort.Runs, s.Books)
	}
	runtest.SameFiles(t, "64 MiB", large, small)
	if left, err := os.ReadDir(work); err != nil || len(left) > 0 {
		t.Errorf("the work folder still holds %v (%v)", left, err)
	}
}

func TestGetGivesAllRowsOfAKeyAndNoOthers(t *testing.T) {
	dir := jobdir.Check(t, jobdir.CheckJob, 4000)
	out := filepath.Join(dir, "out")
	j := jobtest.Check(t, dir, out)
	runtest.Must(t, j, options.Options{})
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
	if s := runtest.Must(t, jobtest.Check(t, dir, out), options.Options{}); s.Books.Written != 4000 {
		t.Errorf("went on with books %v", s.Books)
	}
	runtest.SameFiles(t, "interrupted", base, out)
}
