package loading_test

import (
	"os"
	"path/filepath"
	"testing"

	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/internal/test/runtest"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/loading"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/output"
)

// TestFilesOfAnEarlierRunAreVerifiedBeforeLoad: a byte that changed since the files were written keeps them from being
// loaded, by the job and by `load DIR` alike.
func TestFilesOfAnEarlierRunAreVerifiedBeforeLoad(t *testing.T) {
	dir := runtest.OneRegion(t)
	m, err := manifest.Read(storage.Local, dir)
	if err != nil {
		t.Fatal(err)
	}
	o, err := options.Options{}.WithDefaults()
	if err != nil {
		t.Fatal(err)
	}
	out := output.New(output.At(storage.Local, dir, nil, o), m)
	if err := loading.VerifyBeforeLoad(t.Context(), out); err != nil {
		t.Errorf("sound files: %v", err)
	}
	name := filepath.Join(dir, m.Files()[0].Path)
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)/3] ^= 1
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	turn, err := (&loading.Loader{Out: out}).AwaitTurn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := turn.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := turn.Load(t.Context()); failure.KindOf(err) != failure.Differs {
		t.Errorf("a changed byte: %v", err)
	}
	here := output.New(out.Dir, &manifest.Manifest{})
	here.Manifest = m
	if err := loading.VerifyBeforeLoad(t.Context(), here); err != nil {
		t.Errorf("files that this process has verified are read again: %v", err)
	}
	if m.State != manifest.Written {
		t.Errorf("the manifest says %s", m.State)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := loading.VerifyBeforeLoad(t.Context(), out); failure.CodeOf(err) != errcode.OutputChanged {
		t.Errorf("a file that is gone: %v", err)
	}
}
