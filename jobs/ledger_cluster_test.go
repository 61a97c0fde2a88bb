package jobs

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bulkload/internal/storage"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/ledger"
	"bulkload/jobs/env/site"
	"bulkload/jobs/loading"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/spec/jobfile"
)

// withoutOutput deletes the output of a night.
func (l *live) withoutOutput(t *testing.T, date string) {
	t.Helper()
	s, err := site.Open(l.options(), jobfile.HBase{}, true)
	if err != nil {
		t.Fatal(err)
	}
	fsys, dir, err := s.Resolve(l.out+"/"+date, "/")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(fsys.RemoveAll(dir), fsys.Close()); err != nil {
		t.Fatal(err)
	}
}

func (l *live) ledger(t *testing.T) *ledger.Ledger {
	t.Helper()
	s, err := site.Open(l.options(), jobfile.HBase{}, true)
	if err != nil {
		t.Fatal(err)
	}
	book, err := s.OpenLedger()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := book.Close(); err != nil {
			t.Error(err)
		}
	})
	return book
}

// entryOf is what the ledger has of a night.
func (l *live) entryOf(t *testing.T, date string) *ledger.Entry {
	t.Helper()
	j := l.job(t, date)
	e, err := l.ledger(t).Read(j.Table, j.DateText(), j.Hash())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// unserved are the files that the ledger remembers as lost.
func (l *live) unserved(t *testing.T) []ledger.Unserved {
	t.Helper()
	files, err := l.ledger(t).Unserved(l.table, func(ledger.Unserved) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestLedgerRemembers: an output that was deleted after its load is not loaded a second time.
func TestLedgerRemembers(t *testing.T) {
	l := changedTable(t, nil)
	first := mustRun(t, l.job(t, night20), l.options())
	if e := l.entryOf(t, night20); e == nil || e.State != ledger.Loaded || e.Run != first.Run.ID || e.Digest != first.Digest || len(e.Files) != len(first.Files) {
		t.Fatalf("%+v", e)
	}
	l.withoutOutput(t, night20)
	s := mustRun(t, l.job(t, night20), l.options())
	if s.Status != failure.StatusNothing || s.Digest != first.Digest || s.Books != first.Books {
		t.Errorf("output deleted: %s, digest %v, books %v", s.Status, s.Digest, s.Books)
	}
	l.wantStoreFiles(t, len(first.Files))
	l.touch(t)
	if s := mustRun(t, l.job(t, night20), l.options()); s.Status != failure.StatusNothing {
		t.Errorf("output deleted, input touched: %s", s.Status)
	}
	l.correct(t, night20)
	if _, err := Run(context.Background(), l.job(t, night20), l.options()); failure.KindOf(err) != failure.Refused || !strings.Contains(err.Error(), "from another input") {
		t.Errorf("output deleted, input corrected: %v", err)
	}
	l.wantStoreFiles(t, len(first.Files))
	o := l.options()
	o.Force = true
	mustRun(t, l.job(t, night20), o)
	l.wantDigest(t, "corrected", night20)
	l.withoutOutput(t, night20)
	l.oracle(t, "truncate", l.table, "-preserve")
	if _, err := Run(context.Background(), l.job(t, night20), l.options()); failure.KindOf(err) != failure.Refused || !strings.Contains(err.Error(), "does not serve") {
		t.Errorf("output deleted, table truncated: %v", err)
	}
}

// TestCorrectionThatIsLoadedLater: a correction is written with --no-load after the output was deleted. The command that loads it need
// not say again that it is one.
func TestCorrectionThatIsLoadedLater(t *testing.T) {
	l := newLive(t)
	l.table10(t)
	l.night(t, night20, 300, 20)
	mustRun(t, l.job(t, night20), l.options())
	l.withoutOutput(t, night20)
	l.night(t, night20, 310, 21)
	o := l.options()
	o.NoLoad, o.OnChange = true, options.Reload
	mustRun(t, l.job(t, night20), o)
	if s := mustRun(t, l.job(t, night20), l.options()); s.Status != failure.StatusDone {
		t.Errorf("the load is %s", s.Status)
	}
	l.wantNothing(t, "after the load", night20)
}

// TestLedgerOfAnInterruptedLoad: an output that was deleted in the middle of its load is for a person to look at.
func TestLedgerOfAnInterruptedLoad(t *testing.T) {
	l := changedTable(t, nil)
	l.crash(t, night20, options.FilesLoaded, 4)
	l.withoutOutput(t, night20)
	if _, err := Run(context.Background(), l.job(t, night20), l.options()); failure.KindOf(err) != failure.Refused || !strings.Contains(err.Error(), "was interrupted") {
		t.Error(err)
	}
	o := l.options()
	o.Force = true
	mustRun(t, l.job(t, night20), o)
	l.wantDigest(t, "with --force", night20)
}

// touch gives the night's input another modification time.
func (l *live) touch(t *testing.T) {
	t.Helper()
	name := filepath.Join(l.dir, "in", night20, "part-m-00000")
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
	l := changedTable(t, nil)
	in, away := filepath.Join(l.dir, "in", night20), filepath.Join(l.dir, "archive")
	mustRun(t, l.job(t, night20), l.options())
	if err := os.Rename(in, away); err != nil {
		t.Fatal(err)
	}
	if s := mustRun(t, l.job(t, night20), l.options()); s.Status != failure.StatusNothing || s.Books.Read != 600 {
		t.Errorf("%s, %v", s.Status, s.Books)
	}
	l.withoutOutput(t, night20)
	if s := mustRun(t, l.job(t, night20), l.options()); s.Status != failure.StatusNothing || s.Books.Read != 600 {
		t.Errorf("output deleted, too: %s, %v", s.Status, s.Books)
	}
	l.oracle(t, "truncate", l.table, "-preserve")
	if _, err := Run(context.Background(), l.job(t, night20), l.options()); failure.KindOf(err) != failure.Refused || !strings.Contains(err.Error(), "does not serve") {
		t.Errorf("table truncated: %v", err)
	}
	if _, err := Run(context.Background(), l.job(t, "2026-11-19"), l.options()); failure.KindOf(err) != failure.NotYet || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("a night that never was: %v", err)
	}
}

// TestCorrectionOverALostFile: HBase took a file and does not serve it; its rows were loaded again. A correction, which has
// the same timestamps, is refused while the lost file may still appear and hide it. With a second region server no file would be lost:
// its region would be opened there.
func TestCorrectionOverALostFile(t *testing.T) {
	l := newOwn(t, 1)
	l.table = "lost"
	l.retarget(t)
	l.table10(t)
	l.night(t, night20, 600, 61)
	l.orphan(t, night20, 4)
	mustRun(t, l.job(t, night20), l.options())
	if files := l.unserved(t); len(files) != 1 {
		t.Fatalf("the ledger remembers %+v", files)
	}
	const older = "2026-11-19"
	l.night(t, older, 600, 61)
	mustRun(t, l.job(t, older), l.options()) // its timestamps are others: the file can't hide its cells
	l.correct(t, night20)
	o := l.options()
	o.Force = true
	if _, err := Run(context.Background(), l.job(t, night20), o); failure.KindOf(err) != failure.Refused || !strings.Contains(err.Error(), "may appear when their regions") {
		t.Fatalf("a correction: %v", err)
	}
	l.oracle(t, "disable", l.table)
	l.oracle(t, "enable", l.table)
	mustRun(t, l.job(t, night20), o)
	if files := l.unserved(t); files != nil {
		t.Errorf("after the regions were opened again the ledger remembers %+v", files)
	}
	l.wantDigest(t, "corrected after the regions were opened again", night20)
	l.oracle(t, "disable", l.table)
	l.oracle(t, "enable", l.table)
	l.wantDigest(t, "and once more", night20)
}

// TestForceRecoversStaging: --force first brings back what an interrupted load has left in HBase's staging folder, which is
// deleted then.
func TestForceRecoversStaging(t *testing.T) {
	l := changedTable(t, nil)
	l.crash(t, night20, options.FilesLoaded, 4)
	w := l.work(t, l.job(t, night20))
	staging := strings.TrimPrefix(w.out.Manifest.Staging, l.FS())
	f := w.out.Manifest.Files()[len(w.out.Manifest.Files())-1]
	for _, one := range w.out.Manifest.Files() {
		if !one.Loaded {
			f = one
		}
	}
	if staging == "" || f.Loaded {
		t.Fatalf("staging folder %q, %+v", staging, f)
	}
	to := path.Join(staging, f.Path)
	_ = w.out.FS.MkdirAll(path.Dir(to), 0o777)
	if err := errors.Join(w.out.FS.Rename(path.Join(w.out.Path, f.Path), to), w.out.Close()); err != nil {
		t.Fatal(err)
	}
	o := l.options()
	o.Force = true
	mustRun(t, l.job(t, night20), o)
	l.wantDigest(t, "with --force", night20)
	w = l.work(t, l.job(t, night20))
	if _, err := w.out.FS.Stat(staging); err == nil {
		t.Errorf("%s is still there", staging)
	}
	if err := w.out.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestLoadDirRemembers: a directory without a manifest, as other tools write it. A second command asks the table.
func TestLoadDirRemembers(t *testing.T) {
	l := changedTable(t, nil)
	w := l.written(t, night20)
	if err := errors.Join(storage.RemoveIfThere(w.out.FS, w.out.Path, manifest.Name), w.out.Close()); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{failure.StatusDone, failure.StatusNothing} {
		r, err := loading.Directory(context.Background(), l.out+"/"+night20, l.table, l.options())
		if err != nil || r.Status != want {
			t.Errorf("command %d: %+v, %v", i, r, err)
		}
	}
	l.wantDigest(t, "loaded", night20)
	l.oracle(t, "truncate", l.table, "-preserve")
	if _, err := loading.Directory(context.Background(), l.out+"/"+night20, l.table, l.options()); failure.KindOf(err) != failure.Refused || !strings.Contains(err.Error(), "does not serve") {
		t.Errorf("table truncated: %v", err)
	}
}
