package loading_test

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"testing"

	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/internal/test/livetest"
	"bulkload/internal/test/runtest"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/loading"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/load"
)

// TestFilesLeftInStaging: a night was loaded before, its corrected files are in HBase's staging folder when the process
// dies. Their first and last rows are in the table, from the first time, and yet they are not loaded.
func TestFilesLeftInStaging(t *testing.T) {
	l := livetest.New(t)
	l.Table10(t)
	const date = "2026-11-20"
	l.Night(t, date, 1000, 21)
	runtest.Must(t, l.Job(t, date), l.Options())
	l.Correct(t, date)
	w := l.Written(t, date)
	// What a process leaves that dies with its request under way.
	staging := path.Join(path.Dir(w.Dir.Path), "staging")
	w.Dir.Manifest.Staging = w.Dir.FS.URI(staging)
	w.SaveLoading(t, l.Table)
	if err := w.Dir.FS.MkdirAll(path.Join(staging, "f"), storage.DirPerm); err != nil {
		t.Fatal(err)
	}
	for _, f := range w.Dir.Manifest.Files() {
		if err := w.Dir.FS.Rename(path.Join(w.Dir.Path, f.Path), path.Join(staging, f.Path)); err != nil {
			t.Fatal(err)
		}
	}
	all := len(w.Dir.Manifest.Files())
	if err := w.Dir.Close(); err != nil {
		t.Fatal(err)
	}
	if s := runtest.Must(t, l.Job(t, date), l.Options()); s.Load.Files != all {
		t.Errorf("%d of %d files were loaded", s.Load.Files, all)
	}
	l.WantTable(t, "the corrected night", l.Expected(t, date))
}

// TestStagingIsRecordedBeforeTheFirstRequest: the manifest names HBase's staging folder while a load lasts, and no more
// when it is over.
func TestStagingIsRecordedBeforeTheFirstRequest(t *testing.T) {
	l := livetest.New(t)
	l.Table10(t)
	const date = "2026-11-20"
	l.Night(t, date, 1000, 22)
	w := l.Written(t, date)
	saves := 0
	w.Dir.Options.Failpoint = func(p options.Point) {
		if p != options.FilesLoaded {
			return
		}
		m, failed := manifest.Read(w.Dir.FS, w.Dir.Path)
		if failed != nil || !strings.HasPrefix(m.Staging, "hdfs://") || len(m.NotLoaded()) == len(m.Files()) {
			t.Errorf("recorded: staging folder %q, %d files not loaded (%v)", m.Staging, len(m.NotLoaded()), failed)
		}
		saves++
	}
	turn, err := w.Loader.AwaitTurn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := turn.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	report, err := turn.Load(t.Context())
	if err != nil || saves != report.Regions {
		t.Errorf("%d records for %d requests: %v", saves, report.Regions, err)
	}
	if err := w.Dir.Close(); err != nil {
		t.Fatal(err)
	}
	runtest.Must(t, l.Job(t, date), l.Options())
	w = l.Open(t, l.Job(t, date))
	if w.Dir.Manifest.State != manifest.Loaded || w.Dir.Manifest.Staging != "" {
		t.Errorf("in the end: %s, staging folder %q", w.Dir.Manifest.State, w.Dir.Manifest.Staging)
	}
	if err := w.Dir.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestLoadDirRecoversFirst: load DIR finds out what became of files that an interrupted load has left in doubt, also
// where the directory is empty by now.
func TestLoadDirRecoversFirst(t *testing.T) {
	const date = "2026-11-20"
	for _, loaded := range []int{4, 10} {
		t.Run(fmt.Sprintf("loaded=%d", loaded), func(t *testing.T) {
			l := livetest.New(t)
			l.Table10(t)
			l.Night(t, date, 1000, 23)
			w := l.Written(t, date)
			files, err := w.Dir.Manifest.Unloaded(w.Dir.FS, w.Dir.Path)
			if err != nil || len(files) != 10 {
				t.Fatal(len(files), err)
			}
			w.SaveLoading(t, l.Table)
			if _, err := w.Loader.Cluster.LoadFrom(context.Background(), w.Dir.FS, l.Table, files[:loaded], load.Hooks{}); err != nil {
				t.Fatal(err)
			}
			if err := w.Dir.Close(); err != nil {
				t.Fatal(err)
			}
			r, err := loading.Directory(context.Background(), l.Out+"/"+date, l.Table, l.Options())
			if err != nil || r.Load.Files != 10-loaded || r.Status != failure.StatusDone {
				t.Errorf("%d loaded before: %+v, %v", loaded, r, err)
			}
			w = l.Open(t, l.Job(t, date))
			if w.Dir.Manifest.State != manifest.Loaded || w.Dir.Manifest.NotLoaded() != nil {
				t.Errorf("%d loaded before: the manifest says %s and lacks %v", loaded, w.Dir.Manifest.State, w.Dir.Manifest.NotLoaded())
			}
			if err := w.Dir.Close(); err != nil {
				t.Fatal(err)
			}
			l.WantTable(t, "settled", l.Expected(t, date))
		})
	}
}

// TestLoadDirMissesNoFile: load DIR loads nothing and says so where a file is lost.
func TestLoadDirMissesNoFile(t *testing.T) {
	const date = "2026-11-20"
	l := livetest.New(t)
	l.Table10(t)
	l.Night(t, date, 1000, 24)
	w := l.Written(t, date)
	lost := w.Dir.Manifest.Files()[3].Path
	if err := w.Dir.FS.Remove(path.Join(w.Dir.Path, lost)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		state string
		code  errcode.Code
	}{{manifest.Written, errcode.OutputChanged}, {manifest.Loading, errcode.LoadLost}} {
		state := c.state
		w.Dir.Manifest.State = state
		if err := errors.Join(w.Dir.Save(), w.Dir.Lock.Release()); err != nil {
			t.Fatal(err)
		}
		r, err := loading.Directory(context.Background(), l.Out+"/"+date, l.Table, l.Options())
		if failure.CodeOf(err) != c.code || !strings.Contains(err.Error(), lost) || r.Load.Files != 0 {
			t.Errorf("%s: %+v, %v", state, r, err)
		}
		m, err := manifest.Read(w.Dir.FS, w.Dir.Path)
		if err != nil || m.State != state {
			t.Errorf("%s: the manifest says %+v now (%v)", state, m, err)
		}
		w.Dir.FS = w.Dir.Lock.FS
		if err = w.Dir.TakeLock(context.Background(), func(error) {}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Dir.Close(); err != nil {
		t.Fatal(err)
	}
	l.WantTable(t, "nothing loaded", []string{""})
	_, err := loading.Directory(context.Background(), l.Out+"/"+date, "elsewhere", l.Options())
	if failure.CodeOf(err) != errcode.OutputUnfinished {
		t.Errorf("into another table meanwhile: %v", err)
	}
}
