package verify_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/errcode"
	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/sample"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/inspect/verify"
)

// TestVerifyWithTooManyRejects: whatever the comparison of the other records finds, the error says that too many are
// rejected, and it says of the others only what was compared.
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
	verifyWith := func(text []byte) (*verify.Verification, error) {
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

// TestVerifyInSlices: the slices of a verification miss no cell and count none twice, where the files are cut
// elsewhere.
func TestVerifyInSlices(t *testing.T) {
	dir := jobdir.Skewed(t, jobdir.SlicedJob, 8000, sample.Options{Skew: 90})
	out := filepath.Join(dir, "out")
	j := jobtest.Check(t, dir, out)
	s := runtest.Must(t, j, options.Options{})
	j.HFile.SliceSize = 77_000
	if r, err := verify.Job(context.Background(), j, options.Options{}, false); err != nil || r.Cells != s.Counts.CellsWritten || r.Rows != 8000 || r.Extra != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if err := os.Remove(filepath.Join(dir, "in/2026-11-20/part-m-00001")); err != nil {
		t.Fatal(err)
	}
	r, err := verify.Job(context.Background(), j, options.Options{}, false)
	if failure.KindOf(err) != failure.Differs || r.Cells+r.Extra != s.Counts.CellsWritten || r.Extra != s.Counts.CellsWritten/2 || r.Missing+r.Different != 0 || r.Rows != 4000 {
		t.Errorf("half of the source: %+v, %v", r, err)
	}
}
