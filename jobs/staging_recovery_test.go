package jobs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/storage"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/loading"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/load"
)

// written makes one night's files, not loaded, and opens their output.
func (l *live) written(t *testing.T, date string) *openOutput {
	t.Helper()
	o := l.options()
	o.NoLoad, o.Force = true, true
	mustRun(t, l.job(t, date), o)
	return l.work(t, l.job(t, date))
}

func (l *live) table10(t *testing.T) {
	t.Helper()
	l.oracle(t, "create", l.table, "f", "1,2,3,4,5,6,7,8,9", "COMPRESSION=SNAPPY", "DATA_BLOCK_ENCODING=FAST_DIFF", "BLOOMFILTER=ROW")
}

// correct changes one record of a night, and no row key.
func (l *live) correct(t *testing.T, date string) {
	t.Helper()
	name := filepath.Join(l.dir, "in", date, "part-m-00000")
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	records := strings.Split(string(content), "\x10")
	records[len(records)/2] += " corrected"
	if err := os.WriteFile(name, []byte(strings.Join(records, "\x10")), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestFilesLeftInStaging: a night was loaded before, its corrected files are in HBase's staging folder when the process
// dies. Their first and last rows are in the table, from the first time, and yet they are not loaded.
func TestFilesLeftInStaging(t *testing.T) {
	l := newLive(t)
	l.table10(t)
	const date = "2026-11-20"
	l.night(t, date, 1000, 21)
	mustRun(t, l.job(t, date), l.options())
	l.correct(t, date)
	w := l.written(t, date)
	// What a process leaves that dies with its request under way.
	staging := path.Join(path.Dir(w.out.Path), "staging")
	w.out.Manifest.State, w.out.Manifest.Staging = manifest.Loading, w.out.FS.URI(staging)
	if err := errors.Join(w.out.Save(), w.out.FS.MkdirAll(path.Join(staging, "f"), storage.DirPerm)); err != nil {
		t.Fatal(err)
	}
	for _, f := range w.out.Manifest.Files() {
		if err := w.out.FS.Rename(path.Join(w.out.Path, f.Path), path.Join(staging, f.Path)); err != nil {
			t.Fatal(err)
		}
	}
	all := len(w.out.Manifest.Files())
	if err := w.out.Close(); err != nil {
		t.Fatal(err)
	}
	if s := mustRun(t, l.job(t, date), l.options()); s.Load.Files != all {
		t.Errorf("%d of %d files were loaded", s.Load.Files, all)
	}
	l.wantTable(t, "the corrected night", l.expected(t, date))
}

// TestStagingIsRecordedBeforeTheFirstRequest: the manifest names HBase's staging folder while a load lasts, and no more
// when it is over.
func TestStagingIsRecordedBeforeTheFirstRequest(t *testing.T) {
	l := newLive(t)
	l.table10(t)
	const date = "2026-11-20"
	l.night(t, date, 1000, 22)
	w := l.written(t, date)
	saves := 0
	w.out.Options.Failpoint = func(p options.Point) {
		if p != options.FilesLoaded {
			return
		}
		m, failed := manifest.Read(w.out.FS, w.out.Path)
		if failed != nil || !strings.HasPrefix(m.Staging, "hdfs://") || len(m.NotLoaded()) == len(m.Files()) {
			t.Errorf("recorded: staging folder %q, %d files not loaded (%v)", m.Staging, len(m.NotLoaded()), failed)
		}
		saves++
	}
	turn, err := w.loader.AwaitTurn(t.Context())
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
	if err := w.out.Close(); err != nil {
		t.Fatal(err)
	}
	mustRun(t, l.job(t, date), l.options())
	w = l.work(t, l.job(t, date))
	if w.out.Manifest.State != manifest.Loaded || w.out.Manifest.Staging != "" {
		t.Errorf("in the end: %s, staging folder %q", w.out.Manifest.State, w.out.Manifest.Staging)
	}
	if err := w.out.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestLoadDirRecoversFirst: load DIR finds out what became of files that an interrupted load has left in doubt, also
// where the directory is empty by now.
func TestLoadDirRecoversFirst(t *testing.T) {
	const date = "2026-11-20"
	for _, loaded := range []int{4, 10} {
		t.Run(fmt.Sprintf("loaded=%d", loaded), func(t *testing.T) {
			l := newLive(t)
			l.table10(t)
			l.night(t, date, 1000, 23)
			w := l.written(t, date)
			files, err := w.out.Manifest.Unloaded(w.out.FS, w.out.Path)
			if err != nil || len(files) != 10 {
				t.Fatal(len(files), err)
			}
			w.out.Manifest.State = manifest.Loading
			if err := w.out.Save(); err != nil {
				t.Fatal(err)
			}
			if _, err := w.loader.Cluster.LoadFrom(context.Background(), w.out.FS, l.table, files[:loaded], load.Hooks{}); err != nil {
				t.Fatal(err)
			}
			if err := w.out.Close(); err != nil {
				t.Fatal(err)
			}
			r, err := loading.Directory(context.Background(), l.out+"/"+date, l.table, l.options())
			if err != nil || r.Load.Files != 10-loaded || r.Status != failure.StatusDone {
				t.Errorf("%d loaded before: %+v, %v", loaded, r, err)
			}
			w = l.work(t, l.job(t, date))
			if w.out.Manifest.State != manifest.Loaded || w.out.Manifest.NotLoaded() != nil {
				t.Errorf("%d loaded before: the manifest says %s and lacks %v", loaded, w.out.Manifest.State, w.out.Manifest.NotLoaded())
			}
			if err := w.out.Close(); err != nil {
				t.Fatal(err)
			}
			l.wantTable(t, "settled", l.expected(t, date))
		})
	}
}

// TestLoadDirMissesNoFile: load DIR loads nothing and says so where a file is lost.
func TestLoadDirMissesNoFile(t *testing.T) {
	const date = "2026-11-20"
	l := newLive(t)
	l.table10(t)
	l.night(t, date, 1000, 24)
	w := l.written(t, date)
	lost := w.out.Manifest.Files()[3].Path
	if err := w.out.FS.Remove(path.Join(w.out.Path, lost)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		state, want string
		kind        failure.Kind
	}{{manifest.Written, "nothing was loaded", failure.Refused}, {manifest.Loading, "does not serve 1 files that HBase took", failure.Refused}} {
		state, want := c.state, c.want
		w.out.Manifest.State = state
		if err := errors.Join(w.out.Save(), w.out.Lock.Release()); err != nil {
			t.Fatal(err)
		}
		r, err := loading.Directory(context.Background(), l.out+"/"+date, l.table, l.options())
		if failure.KindOf(err) != c.kind || !strings.Contains(err.Error(), lost) || !strings.Contains(err.Error(), want) || r.Load.Files != 0 {
			t.Errorf("%s: %+v, %v", state, r, err)
		}
		m, err := manifest.Read(w.out.FS, w.out.Path)
		if err != nil || m.State != state {
			t.Errorf("%s: the manifest says %+v now (%v)", state, m, err)
		}
		w.out.FS = w.out.Lock.FS
		if err = w.out.TakeLock(context.Background(), func(error) {}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.out.Close(); err != nil {
		t.Fatal(err)
	}
	l.wantTable(t, "nothing loaded", []string{""})
	_, err := loading.Directory(context.Background(), l.out+"/"+date, "elsewhere", l.options())
	if failure.KindOf(err) != failure.Refused || !strings.Contains(err.Error(), "was interrupted: run its job") {
		t.Errorf("into another table meanwhile: %v", err)
	}
}
