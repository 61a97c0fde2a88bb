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
	"strings"
	"testing"

	"bulkload/internal/parallel"
	"bulkload/internal/storage"
	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/testfs"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/run"
	"bulkload/jobs/spec/jobfile"
)

// manifestBytes counts the bytes of manifests that are written.
type manifestBytes struct {
	storage.FS
	n int
}

func (f *manifestBytes) Create(name string, perm fs.FileMode) (storage.Writer, error) {
	w, err := f.FS.Create(name, perm)
	if err != nil || path.Base(name) != manifest.Name {
		return w, err
	}
	return &countedWriter{w, f}, nil
}

type countedWriter struct {
	storage.Writer
	fs *manifestBytes
}

func (w *countedWriter) Write(b []byte) (int, error) {
	w.fs.n += len(b)
	return w.Writer.Write(b)
}

// TestManyRegions: with twice as many regions a run writes about twice as many bytes of manifests: it is not saved for each
// region, and all regions are in it in the end.
func TestManyRegions(t *testing.T) {
	const n = 1000
	written := map[int]int{}
	for _, regions := range []int{n, 2 * n} {
		fsys := new(manifestBytes)
		o := options.Options{Storage: func(f storage.FS) storage.FS { fsys.FS = f; return fsys }}
		s := runtest.Must(t, manyRegions(t, regions, 20), o)
		if s.Books.Written != 20 || len(s.Regions) != regions {
			t.Errorf("%d rows in %d regions", s.Books.Written, len(s.Regions))
		}
		written[regions] = fsys.n
	}
	if one, two := written[n], written[2*n]; two > 3*one {
		t.Errorf("%d bytes of manifests for %d regions, and %d for %d", one, n, two, 2*n)
	}
}

// TestStoppedRunsMakeFewCalls: wherever a run is stopped, it makes only as many more calls to its file systems as the goroutines
// need that are at work, and none for each region or input file.
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
