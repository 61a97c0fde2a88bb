package ledger_test

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/internal/test/livetest"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/testfs"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/ledger"
	"bulkload/jobs/loading"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/run"
)

// entryOf is what the ledger has of a night.
func entryOf(t *testing.T, l *livetest.Live, date string) *ledger.Entry {
	t.Helper()
	j := l.Job(t, date)
	e, err := l.Ledger(t).Read(manifest.New(j).LedgerKey(""))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// unserved are the files that the ledger remembers as lost.
func unserved(t *testing.T, l *livetest.Live) []ledger.Unserved {
	t.Helper()
	files, err := l.Ledger(t).Unserved(l.Table, func(ledger.Unserved) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestLedgerRemembers: an output that was deleted after its load is not loaded a second time.
func TestLedgerRemembers(t *testing.T) {
	l := livetest.NewNight(t, nil)
	first := runtest.Must(t, l.Job(t, livetest.Night20), l.Options())
	if e := entryOf(t, l, livetest.Night20); e == nil || e.State != ledger.Loaded || e.Run != first.Run.ID || e.Digest != first.Digest || len(e.Files) != len(first.Files) {
		t.Fatalf("%+v", e)
	}
	l.WithoutOutput(t, livetest.Night20)
	s := runtest.Must(t, l.Job(t, livetest.Night20), l.Options())
	if s.Status != failure.StatusNothing || s.Digest != first.Digest || s.Counts != first.Counts {
		t.Errorf("output deleted: %s, digest %v, counts %v", s.Status, s.Digest, s.Counts)
	}
	l.WantStoreFiles(t, len(first.Files))
	touch(t, l)
	if s := runtest.Must(t, l.Job(t, livetest.Night20), l.Options()); s.Status != failure.StatusNothing {
		t.Errorf("output deleted, input touched: %s", s.Status)
	}
	l.Correct(t, livetest.Night20)
	if _, err := run.Job(context.Background(), nil, l.Job(t, livetest.Night20), l.Options()); failure.CodeOf(err) != errcode.LoadOther {
		t.Errorf("output deleted, input corrected: %v", err)
	}
	l.WantStoreFiles(t, len(first.Files))
	o := l.Options()
	o.Force = true
	runtest.Must(t, l.Job(t, livetest.Night20), o)
	l.WantDigest(t, "corrected", livetest.Night20)
	l.WithoutOutput(t, livetest.Night20)
	l.Ask(t, "truncate", l.Table, "-preserve")
	if _, err := run.Job(context.Background(), nil, l.Job(t, livetest.Night20), l.Options()); failure.CodeOf(err) != errcode.LoadLost {
		t.Errorf("output deleted, table truncated: %v", err)
	}
}

// TestCorrectionThatIsLoadedLater: a correction is written with --no-load after the output was deleted. The command
// that loads it need not say again that it is one.
func TestCorrectionThatIsLoadedLater(t *testing.T) {
	l := livetest.New(t)
	l.Table10(t)
	l.Night(t, livetest.Night20, 300, 20)
	runtest.Must(t, l.Job(t, livetest.Night20), l.Options())
	l.WithoutOutput(t, livetest.Night20)
	l.Night(t, livetest.Night20, 310, 21)
	o := l.Options()
	o.NoLoad, o.OnChange = true, options.Reload
	runtest.Must(t, l.Job(t, livetest.Night20), o)
	if s := runtest.Must(t, l.Job(t, livetest.Night20), l.Options()); s.Status != failure.StatusDone {
		t.Errorf("the load is %s", s.Status)
	}
	l.WantNothing(t, "after the load", livetest.Night20)
}

// TestLedgerOfAnInterruptedLoad: an output that was deleted in the middle of its load is for a person to look at.
func TestLedgerOfAnInterruptedLoad(t *testing.T) {
	l := livetest.NewNight(t, nil)
	l.Crash(t, livetest.Night20, options.FilesLoaded, 4)
	l.WithoutOutput(t, livetest.Night20)
	if _, err := run.Job(context.Background(), nil, l.Job(t, livetest.Night20), l.Options()); failure.CodeOf(err) != errcode.OutputUnfinished {
		t.Error(err)
	}
	o := l.Options()
	o.Force = true
	runtest.Must(t, l.Job(t, livetest.Night20), o)
	l.WantDigest(t, "with --force", livetest.Night20)
}

// touch gives the night's input another modification time.
func touch(t *testing.T, l *livetest.Live) {
	t.Helper()
	name := filepath.Join(l.Folder, "in", livetest.Night20, "part-m-00000")
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(name, info.ModTime().Add(time.Hour), info.ModTime().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
}

// TestArchivedInput: an input that is gone after its load is no failure, as long as the table serves it.
func TestArchivedInput(t *testing.T) {
	l := livetest.NewNight(t, nil)
	in, away := filepath.Join(l.Folder, "in", livetest.Night20), filepath.Join(l.Folder, "archive")
	runtest.Must(t, l.Job(t, livetest.Night20), l.Options())
	if err := os.Rename(in, away); err != nil {
		t.Fatal(err)
	}
	if s := runtest.Must(t, l.Job(t, livetest.Night20), l.Options()); s.Status != failure.StatusNothing || s.Counts.Read != 600 {
		t.Errorf("%s, %v", s.Status, s.Counts)
	}
	l.WithoutOutput(t, livetest.Night20)
	if s := runtest.Must(t, l.Job(t, livetest.Night20), l.Options()); s.Status != failure.StatusNothing || s.Counts.Read != 600 {
		t.Errorf("output deleted, too: %s, %v", s.Status, s.Counts)
	}
	l.Ask(t, "truncate", l.Table, "-preserve")
	if _, err := run.Job(context.Background(), nil, l.Job(t, livetest.Night20), l.Options()); failure.CodeOf(err) != errcode.LoadLost {
		t.Errorf("table truncated: %v", err)
	}
	if _, err := run.Job(context.Background(), nil, l.Job(t, "2026-11-19"), l.Options()); failure.CodeOf(err) != errcode.InputMissing {
		t.Errorf("a night that never was: %v", err)
	}
}

// TestJobsOfOneFormAreTwoJobs: two exports of one form go into one table, each by a job with an input and an output of
// its own. While the second export is late, its job is not done, whatever the first one has loaded; then both are, also
// without their outputs.
func TestJobsOfOneFormAreTwoJobs(t *testing.T) {
	eu := livetest.NewNight(t, nil)
	us := *eu
	us.Folder, us.Out = t.TempDir(), eu.Out+"_us"
	job := testfs.Read(t, filepath.Join(eu.Folder, "check.yaml"))
	if err := os.WriteFile(filepath.Join(us.Folder, "check.yaml"), []byte(strings.Replace(string(job), eu.Out, us.Out, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	runtest.Must(t, eu.Job(t, livetest.Night20), eu.Options())
	reload := us.Options()
	reload.OnChange = options.Reload
	for _, o := range []options.Options{us.Options(), reload} {
		if s, err := run.Job(t.Context(), nil, us.Job(t, livetest.Night20), o); failure.CodeOf(err) != errcode.InputMissing {
			t.Errorf("the export is late: %s, %v", s.Status, err)
		}
	}
	us.Night(t, livetest.Night20, 300, 99)
	if s := runtest.Must(t, us.Job(t, livetest.Night20), us.Options()); s.Status != failure.StatusDone {
		t.Errorf("the second job: %s", s.Status)
	}
	for name, l := range map[string]*livetest.Live{"first": eu, "second": &us} {
		l.WantNothing(t, name, livetest.Night20)
		l.WithoutOutput(t, livetest.Night20)
		l.WantNothing(t, name+", without its output", livetest.Night20)
	}
}

// TestCorrectionOverALostFile: HBase took a file and does not serve it; its rows were loaded again. A correction, which
// has the same timestamps, is refused while the lost file may still appear and hide it. With a second region server no
// file would be lost: its region would be opened there.
func TestCorrectionOverALostFile(t *testing.T) {
	l := livetest.NewOwn(t, 1)
	l.Table = "lost"
	l.Retarget(t)
	l.Table10(t)
	l.Night(t, livetest.Night20, 600, 61)
	l.Orphan(t, livetest.Night20, 4)
	runtest.Must(t, l.Job(t, livetest.Night20), l.Options())
	if files := unserved(t, l); len(files) != 1 {
		t.Fatalf("the ledger remembers %+v", files)
	}
	const older = "2026-11-19"
	l.Night(t, older, 600, 61)
	runtest.Must(t, l.Job(t, older), l.Options()) // its timestamps are others: the file can't hide its cells
	l.Correct(t, livetest.Night20)
	o := l.Options()
	o.Force = true
	if _, err := run.Job(context.Background(), nil, l.Job(t, livetest.Night20), o); failure.CodeOf(err) != errcode.LoadMove {
		t.Fatalf("a correction: %v", err)
	}
	l.Ask(t, "disable", l.Table)
	l.Ask(t, "enable", l.Table)
	runtest.Must(t, l.Job(t, livetest.Night20), o)
	if files := unserved(t, l); files != nil {
		t.Errorf("after the regions were opened again the ledger remembers %+v", files)
	}
	l.WantDigest(t, "corrected after the regions were opened again", livetest.Night20)
	l.Ask(t, "disable", l.Table)
	l.Ask(t, "enable", l.Table)
	l.WantDigest(t, "and once more", livetest.Night20)
}

// TestForceRecoversStaging: --force first brings back what an interrupted load has left in HBase's staging folder, which
// is empty then.
func TestForceRecoversStaging(t *testing.T) {
	l := livetest.NewNight(t, nil)
	l.Crash(t, livetest.Night20, options.FilesLoaded, 4)
	w := l.Open(t, l.Job(t, livetest.Night20))
	staging := strings.TrimPrefix(w.Dir.Manifest.Staging, l.FS())
	f := w.Dir.Manifest.Files()[len(w.Dir.Manifest.Files())-1]
	for _, one := range w.Dir.Manifest.Files() {
		if !one.Loaded {
			f = one
		}
	}
	if staging == "" || f.Loaded {
		t.Fatalf("staging folder %q, %+v", staging, f)
	}
	to := path.Join(staging, f.Path)
	_ = w.Dir.FS.MkdirAll(path.Dir(to), 0o777)
	if err := errors.Join(w.Dir.FS.Rename(path.Join(w.Dir.Path, f.Path), to), w.Dir.Close()); err != nil {
		t.Fatal(err)
	}
	o := l.Options()
	o.Force = true
	runtest.Must(t, l.Job(t, livetest.Night20), o)
	l.WantDigest(t, "with --force", livetest.Night20)
	w = l.Open(t, l.Job(t, livetest.Night20))
	if left, err := storage.List(w.Dir.FS, path.Dir(to)); err != nil || len(left) > 0 {
		t.Errorf("in %s are still %v, %v", staging, left, err)
	}
	if err := w.Dir.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestLoadDirRemembers: a directory without a manifest, as other tools write it. A second command asks the table.
func TestLoadDirRemembers(t *testing.T) {
	l := livetest.NewNight(t, nil)
	w := l.Written(t, livetest.Night20)
	if err := errors.Join(storage.RemoveIfThere(w.Dir.FS, w.Dir.Path, manifest.Name), w.Dir.Close()); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{failure.StatusDone, failure.StatusNothing} {
		r, err := loading.Directory(context.Background(), l.Out+"/"+livetest.Night20, l.Table, l.Options())
		if err != nil || r.Status != want {
			t.Errorf("command %d: %+v, %v", i, r, err)
		}
	}
	l.WantDigest(t, "loaded", livetest.Night20)
	l.Ask(t, "truncate", l.Table, "-preserve")
	if _, err := loading.Directory(context.Background(), l.Out+"/"+livetest.Night20, l.Table, l.Options()); failure.CodeOf(err) != errcode.LoadLost {
		t.Errorf("table truncated: %v", err)
	}
}
