package loading_test

import (
	"context"
	"errors"
	"fmt"
	"path"
	"testing"

	"bulkload/internal/errcode"
	"bulkload/internal/test/livetest"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/inspect/verify"
	"bulkload/jobs/loading"
	"bulkload/jobs/run"
	"bulkload/load"
)

// TestFilesWithoutLoadThenLoadDir: --no-load leaves the files, load hands them over, and the job knows.
func TestFilesWithoutLoadThenLoadDir(t *testing.T) {
	l := livetest.New(t)
	l.Ask(t, "create", l.Table, "f", "1,2,3,4,5,6,7,8,9", "COMPRESSION=SNAPPY", "DATA_BLOCK_ENCODING=FAST_DIFF", "BLOOMFILTER=ROW")
	l.Night(t, "2026-11-20", 3000, 5)
	ctx := context.Background()
	o := l.Options()
	o.NoLoad = true
	s := runtest.Must(t, l.Job(t, "2026-11-20"), o)
	if s.Load.Requested || len(s.Files) != 10 {
		t.Errorf("without load: %d files, load %+v", len(s.Files), s.Load)
	}
	if _, err := verify.Job(ctx, l.Job(t, "2026-11-20"), o, false); err != nil {
		t.Error(err)
	}
	first := l.ReadHDFS(t, l.Out+"/2026-11-20/"+s.Files[0].Path)
	r, err := loading.Directory(ctx, l.Out+"/2026-11-20", l.Table, l.Options())
	if err != nil || r.Load.Files != 10 {
		t.Fatalf("load the directory: %+v, %v", r, err)
	}
	l.WantTable(t, "loaded by hand", l.Expected(t, "2026-11-20"))
	if s := runtest.Must(t, l.Job(t, "2026-11-20"), l.Options()); s.Status != failure.StatusNothing {
		t.Errorf("the job after that: %s", s.Status)
	}
	fsys, dir := l.HDFS(t, l.Out+"/2026-11-20")
	w, err := fsys.Create(dir+"/f/another", 0o644)
	if err == nil {
		_, err = w.Write(first)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := loading.Directory(ctx, l.Out+"/2026-11-20", l.Table, l.Options()); failure.CodeOf(err) != errcode.OutputOther || !testwords.Names(err, "f/another") {
		t.Errorf("a file that the job did not write: %v", err)
	}
}

// TestLoadThatDiedUnrecorded: HBase took the files and the process died before it could write that down. The same
// command finds the rows in the table and is done.
func TestLoadThatDiedUnrecorded(t *testing.T) {
	l := livetest.New(t)
	l.Ask(t, "create", l.Table, "f", "1,2,3,4,5,6,7,8,9", "COMPRESSION=SNAPPY", "DATA_BLOCK_ENCODING=FAST_DIFF", "BLOOMFILTER=ROW")
	l.Night(t, "2026-11-20", 1000, 7)
	ctx := context.Background()
	j, o := l.Job(t, "2026-11-20"), l.Options()
	o.NoLoad = true
	runtest.Must(t, j, o)

	w := l.Open(t, j)
	files, err := w.Dir.Manifest.Unloaded(w.Dir.FS, w.Dir.Path)
	if err != nil {
		t.Fatal(err)
	}
	w.SaveLoading(t, l.Table)
	if _, err := w.Loader.Cluster.LoadFrom(ctx, w.Dir.FS, l.Table, files[:4], load.Hooks{}); err != nil {
		t.Fatal(err)
	}
	if _, err := run.Job(ctx, nil, j, l.Options()); failure.CodeOf(err) != errcode.Locked {
		t.Errorf("a run beside another one: %v", err)
	}
	if err := w.Dir.Close(); err != nil {
		t.Fatal(err)
	}

	s := runtest.Must(t, j, l.Options())
	if s.Status != failure.StatusDone || s.Load.Files != len(files)-4 {
		t.Errorf("after the crash: %s, load %+v", s.Status, s.Load)
	}
	l.WantTable(t, "after the crash", l.Expected(t, "2026-11-20"))
}

// TestLostFile: files that are gone and whose rows are not in the table are not taken for loaded: they are written
// again, be it one or all.
func TestLostFile(t *testing.T) {
	for _, all := range []bool{false, true} {
		t.Run(fmt.Sprintf("all=%v", all), func(t *testing.T) {
			l := livetest.New(t)
			l.Table10(t)
			l.Night(t, "2026-11-20", 1000, 8)
			j, o := l.Job(t, "2026-11-20"), l.Options()
			o.NoLoad = true
			runtest.Must(t, j, o)
			w := l.Open(t, j)
			w.SaveLoading(t, l.Table)
			lost := w.Dir.Manifest.Files()
			if !all {
				lost = lost[:1]
			}
			for _, f := range lost {
				if err := w.Dir.FS.Remove(path.Join(w.Dir.Path, f.Path)); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Dir.Close(); err != nil {
				t.Fatal(err)
			}
			if s := runtest.Must(t, j, l.Options()); s.Status != failure.StatusDone || s.Load.Files != len(s.Files) {
				t.Errorf("%d lost: %s, load %+v", len(lost), s.Status, s.Load)
			}
			l.WantDigest(t, fmt.Sprintf("%d lost", len(lost)), "2026-11-20")
			l.WantNothing(t, "again", "2026-11-20")
		})
	}
}
