package source_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/testfs"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/base/counts"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/run"
)

// TestTouchedInputIsNoChange: an input that was touched, copied, renamed or packed is the same as long as its records
// are.
func TestTouchedInputIsNoChange(t *testing.T) {
	dir := jobdir.Check(t, jobdir.CheckJob, 2000)
	out := filepath.Join(dir, "out")
	in := filepath.Join(dir, "in/2026-11-20")
	first := runtest.Must(t, jobtest.Check(t, dir, out), options.Options{})
	part := func(i string) string { return filepath.Join(in, "part-m-0000"+i) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	nothing := func(what string) {
		t.Helper()
		for range 2 { // the second one must not have to read
			var said []string
			s, err := run.Job(context.Background(), nil, jobtest.Check(t, dir, out), options.Options{Say: func(text string) { said = append(said, text) }})
			if err != nil || s.Status != failure.StatusNothing || s.Run.ID != first.Run.ID {
				t.Fatalf("%s: %s, run %s, %v", what, s.Status, s.Run.ID, err)
			}
			if again := strings.Contains(strings.Join(said, "\n"), "reading them again to compare"); what == "" && again {
				t.Errorf("the input is read again: %q", said)
			}
			what = ""
		}
	}
	later := time.Now().Add(time.Hour)
	must(os.Chtimes(part("1"), later, later))
	nothing("touched")
	must(os.Rename(part("2"), part("7")))
	nothing("renamed")
	text, err := os.ReadFile(part("0"))
	must(err)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err = w.Write(text)
	must(err)
	must(w.Close())
	must(os.WriteFile(part("0")+".gz", packed.Bytes(), 0o600))
	must(os.Remove(part("0")))
	nothing("packed")
	must(os.WriteFile(part("1"), append([]byte{}, testfs.Read(t, part("1"))...), 0o600))
	nothing("copied")

	changed := testfs.Read(t, part("7"))
	at := bytes.IndexByte(changed, 1) + 1
	changed[at] ^= 1
	must(os.WriteFile(part("7"), changed, 0o600))
	_, err = run.Job(context.Background(), nil, jobtest.Check(t, dir, out), options.Options{})
	if failure.CodeOf(err) != errcode.OutputInput || !testwords.Names(err, "part-m-00007") {
		t.Errorf("one character changed: %v", err)
	}
	changed[at] ^= 1
	must(os.WriteFile(part("7"), changed, 0o600))
	nothing("changed back")
	must(os.Remove(part("3")))
	if _, err := run.Job(context.Background(), nil, jobtest.Check(t, dir, out), options.Options{}); failure.CodeOf(err) != errcode.OutputInput {
		t.Errorf("a file is gone: %v", err)
	}
}

// TestInputContentsSurviveAKill: what the input files hold is the same after a kill in the middle of a sort that
// spills.
func TestInputContentsSurviveAKill(t *testing.T) {
	dir := jobdir.Check(t, jobdir.CheckJob, 2000)
	out := filepath.Join(dir, "out")
	runtest.Crash(t, dir, options.Recorded, 3)
	runtest.Must(t, jobtest.Check(t, dir, out), options.Options{})
	m, err := manifest.Read(storage.Local, out)
	if err != nil {
		t.Fatal(err)
	}
	var sum counts.Content
	for _, in := range m.Inputs {
		if in.Content == nil {
			t.Fatalf("%s: no content", in.Path)
		}
		sum.Add(in.Content)
	}
	if sum.Read != 2000 || sum.Digest != m.Digest {
		t.Errorf("%+v, the digest is %v", sum, m.Digest)
	}
}

// TestEmptyFileThatIsFilled: no reader opens a file that was empty when it was listed, so it is looked at when all
// others were read.
func TestEmptyFileThatIsFilled(t *testing.T) {
	dir := jobdir.Check(t, jobdir.CheckJob, 60)
	empty := filepath.Join(dir, "in/2026-11-20/part-z")
	fill := func(text string) {
		if err := os.WriteFile(empty, []byte(text), 0o600); err != nil {
			t.Error(err)
		}
	}
	fill("")
	j := jobtest.Check(t, dir, filepath.Join(dir, "out"))
	o := options.Options{Failpoint: func(p options.Point) {
		if p == options.Planned {
			fill("x")
		}
	}}
	if _, err := run.Job(t.Context(), nil, j, o); failure.CodeOf(err) != errcode.InputChanged {
		t.Errorf("filled: %v", err)
	}
	fill("")
	runtest.Must(t, j, options.Options{})
}
