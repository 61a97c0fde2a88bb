package jobs

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/storage"
	"bulkload/jobs/failure"
	"bulkload/jobs/options"
)

// TestFilesOfAnEarlierRunAreReadAgain: a byte that changed since the files were written keeps them from being loaded, by
// the job and by `load DIR` alike.
func TestFilesOfAnEarlierRunAreReadAgain(t *testing.T) {
	dir := writtenDir(t)
	m, err := readManifest(storage.Local, dir)
	if err != nil {
		t.Fatal(err)
	}
	o, err := options.Options{}.WithDefaults()
	if err != nil {
		t.Fatal(err)
	}
	work := func() *workplace { return &workplace{fsys: storage.Local, dir: dir, options: o, manifest: m} }
	if err := work().reread(context.Background()); err != nil {
		t.Errorf("sound files: %v", err)
	}
	name := filepath.Join(dir, m.files()[0].Path)
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)/3] ^= 1
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := work().handOver(context.Background(), "t"); failure.KindOf(err) != failure.Differs {
		t.Errorf("a changed byte: %v", err)
	}
	w := work()
	w.earlier = map[string]bool{}
	if err := w.reread(context.Background()); err != nil {
		t.Errorf("files that this process has verified are read again: %v", err)
	}
	if m.State != stateWritten {
		t.Errorf("the manifest says %s", m.State)
	}
}

// TestLoadOfAFamilyFolder: the folder of a family, given for the output by mistake, is not nothing to do.
func TestLoadOfAFamilyFolder(t *testing.T) {
	dir := filepath.Join(writtenDir(t), "f")
	d, err := openDirectory(storage.Local, dir)
	if err != nil {
		t.Fatal(err)
	}
	w := &workplace{fsys: storage.Local, dir: dir}
	if err := w.loadFiles(context.Background(), d, &LoadReport{Table: "t"}); failure.KindOf(err) != failure.Refused || !strings.Contains(err.Error(), "the directory above") {
		t.Errorf("a family's folder: %v", err)
	}
}
