package jobs

import (
	"bytes"
	"compress/gzip"
	"context"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/cell"
	"bulkload/internal/storage"
	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/livetest"
	"bulkload/internal/test/runtest"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/inspect/lookup"
	"bulkload/jobs/inspect/verify"
	"bulkload/jobs/loading"
	"bulkload/jobs/run"
	"bulkload/jobs/spec/jobfile"
)

// wantDamaged wants exit code 6 and an error that names a file and a block of it.
func wantDamaged(t *testing.T, what string, err error, file, block string) {
	t.Helper()
	if err == nil || failure.KindOf(err) != failure.Differs {
		t.Errorf("%s: %v, want a difference", what, err)
		return
	}
	for _, want := range []string{file, block, "DataNode 127.0.0.1:", "CRC32C of its bytes"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q in it", what, err, want)
		}
	}
}

// TestDamagedInput: a byte of an input changes on a DataNode's disk. No form of input lets it through.
func TestDamagedInput(t *testing.T) {
	l := livetest.New(t)
	night := func(name string) []byte {
		content, err := os.ReadFile(filepath.Join("examples/testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	l.Night(t, "2026-11-20", 3000, 4711)
	text, err := os.ReadFile(filepath.Join(l.Folder, "in/2026-11-20/part-m-00000"))
	if err != nil {
		t.Fatal(err)
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write(text); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, job string
		content   []byte
	}{
		{"part-m-00000", "check", text},
		{"part-m-00000.gz", "check", zipped.Bytes()},
		{"check.csv", "check-csv", night("check-csv/2026-11-20/check.csv")},
		{"part-00000.zstd.parquet", "check-parquet", night("check-parquet/2026-11-20/part-00000.zstd.parquet")},
	} {
		t.Run(c.name, func(t *testing.T) {
			j, err := jobfile.Read(filepath.Join("examples", c.job+".yaml"), jobfile.ReadOptions{Date: jobdir.Date})
			if err != nil {
				t.Fatal(err)
			}
			in := l.Out + "-in/" + c.name
			fsys, name := l.HDFS(t, in)
			if err := fsys.MkdirAll(path.Dir(name), 0); err != nil {
				t.Fatal(err)
			}
			if err := storage.CreateFile(fsys, name, c.content); err != nil {
				t.Fatal(err)
			}
			j.Input.Path, j.Input.RequireSuccess, j.Output = in, false, t.TempDir()
			runtest.Must(t, j, l.Options())
			block := l.Damage(t, in, int64(len(c.content)/2))
			_, err = verify.Job(context.Background(), j, l.Options(), false)
			wantDamaged(t, "verify", err, name, block)
			j.Output = t.TempDir()
			var notes []string
			o := l.Options()
			o.Say = func(s string) { notes = append(notes, s) }
			_, err = run.Job(context.Background(), nil, j, o)
			wantDamaged(t, "run", err, name, block)
			if made, err := filepath.Glob(filepath.Join(j.Output, "f", "*")); err != nil || len(made) > 0 {
				t.Errorf("HFiles were written: %q, %v", made, err)
			}
			if !strings.Contains(strings.Join(notes, "\n"), "the replica of block "+block) {
				t.Errorf("notes %q", notes)
			}
		})
	}
}

// TestDamagedHFile: a byte of a finished HFile changes on a DataNode's disk. Nothing reads it as if it were right, and it is
// not loaded; --force writes it anew.
func TestDamagedHFile(t *testing.T) {
	l := livetest.New(t)
	l.Table10(t)
	const date = "2026-11-20"
	l.Night(t, date, 1000, 4712)
	ctx, j, o := context.Background(), l.Job(t, date), l.Options()
	unloaded := o
	unloaded.NoLoad = true
	s := runtest.Must(t, j, unloaded)
	dir := l.Out + "/" + date
	uri := dir + "/" + s.Files[3].Path
	block := l.Damage(t, uri, 100) // of the first data block
	file := s.Files[3].Path

	_, err := verify.Job(ctx, j, unloaded, false)
	wantDamaged(t, "verify", err, file, block)
	_, err = verify.Dir(ctx, dir, o)
	wantDamaged(t, "verify DIR", err, file, block)
	_, err = lookup.Inspect(ctx, uri, o, false, func(*cell.Cell) error { return nil })
	wantDamaged(t, "inspect", err, file, block)
	_, err = lookup.Get(ctx, j, o, []string{keyOf(t, l, date, s.Files[3].FirstRow)}, dir)
	wantDamaged(t, "get --from", err, file, block)
	r, err := loading.Directory(ctx, dir, l.Table, o)
	wantDamaged(t, "load DIR", err, file, block)
	if r.Load.Files != 0 {
		t.Errorf("load DIR loaded %d files", r.Load.Files)
	}
	_, err = run.Job(ctx, nil, j, o)
	wantDamaged(t, "run", err, file, block)
	l.WantTable(t, "nothing is loaded", []string{""})

	again := o
	again.Force = true
	runtest.Must(t, j, again)
	l.WantTable(t, "written anew", l.Expected(t, date))
}

// keyOf returns the query key of a night's row: of the salt, 32 digits, and the record's id.
func keyOf(t *testing.T, l *livetest.Live, date, row string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(l.Folder, "in", date, "part-m-00000"))
	if err != nil {
		t.Fatal(err)
	}
	for _, record := range strings.Split(string(content), "\x10") {
		if fields := strings.Split(record, "\x01"); fields[0] == row[1+32:] {
			return fields[1]
		}
	}
	t.Fatalf("no record of row %s", row)
	return ""
}
