package jobs

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/storage"
	"bulkload/jobs/jobfile"
	"bulkload/jobs/manifest"
	"bulkload/jobs/options"
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
		s := mustRun(t, manyRegions(t, regions, 20), o)
		if s.Books.Written != 20 || len(s.Regions) != regions {
			t.Errorf("%d rows in %d regions", s.Books.Written, len(s.Regions))
		}
		written[regions] = fsys.n
	}
	if one, two := written[n], written[2*n]; two > 3*one {
		t.Errorf("%d bytes of manifests for %d regions, and %d for %d", one, n, two, 2*n)
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
	j, err := jobfile.Read(file, jobfile.ReadOptions{Date: date20})
	if err != nil {
		t.Fatal(err)
	}
	return j
}
