package loading

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/manifest"
)

// commandIn is a command that loads a local directory into a table, up to the point at which it would need a cluster.
func commandIn(t *testing.T, table string) *directoryCommand {
	t.Helper()
	return &directoryCommand{out: localOutput(t, options.Options{}), report: &LoadReport{Table: table}, lost: func(error) {}}
}

// runIn opens and loads its directory.
func runIn(t *testing.T, c *directoryCommand) error {
	t.Helper()
	d, err := hfiles.OpenDirectory(storage.Local, c.out.Path)
	if err != nil {
		t.Fatal(err)
	}
	return c.run(t.Context(), d)
}

// TestLoadOfADirectoryWithoutHDFS: the site's configuration names no HDFS.
func TestLoadOfADirectoryWithoutHDFS(t *testing.T) {
	t.Parallel()
	_, err := Directory(t.Context(), "hdfs:///out", "t", options.Options{Conf: t.TempDir()})
	if failure.KindOf(err) != failure.Refused || !testwords.Names(err, "hdfs:///out") {
		t.Error(failure.CodeOf(err), err)
	}
}

// TestLoadOfAFamilyFolder: the folder of a family, given for the output by mistake, is not nothing to do.
func TestLoadOfAFamilyFolder(t *testing.T) {
	t.Parallel()
	command := commandIn(t, "t")
	if err := os.WriteFile(filepath.Join(command.out.Path, strings.Repeat("0", 32)), []byte("a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := runIn(t, command)
	if failure.CodeOf(err) != errcode.HFileMissing || !testwords.Names(err, filepath.Dir(command.out.Path)) {
		t.Errorf("a family's folder: %v", err)
	}
}

// TestHFilesBelowFamilies: a directory with HFiles, and with another one's below it, is not done when its own are
// loaded.
func TestHFilesBelowFamilies(t *testing.T) {
	t.Parallel()
	command := commandIn(t, "t")
	file := writtenFile(t, command.out, 7, cellOf("h"))
	text, err := os.ReadFile(filepath.Join(command.out.Path, file.Path))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		command    *directoryCommand
		below, why string
	}{
		{command, "2026-11-21/f", "others in directories below"},
		{command, "f/g", "others in directories below"},
		{commandIn(t, "t"), "2026-11-22/f", "no HFiles in folders of families"},
	} {
		folder := filepath.Join(c.command.out.Path, c.below)
		if err := errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(filepath.Join(folder, "file"), text, 0o600)); err != nil {
			t.Fatal(err)
		}
		name, _, _ := strings.Cut(c.below, "/")
		if err := runIn(t, c.command); failure.CodeOf(err) != errcode.HFileMissing || !testwords.Names(err, "("+name+")", c.why) {
			t.Errorf("%s: %v", c.below, err)
		}
		if err := os.RemoveAll(folder); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLoadOfAChangedManifest: a load makes no use of a manifest with a changed digit, or of one that is cut short, and
// does not write it anew.
func TestLoadOfAChangedManifest(t *testing.T) {
	t.Parallel()
	record, _ := loadOf(t, 2)
	if err := record.out.Save(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(record.out.Path, manifest.Name)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.Replace(text, []byte(`"rows":1`), []byte(`"rows":2`), 1)
	if bytes.Equal(changed, text) {
		t.Fatalf("nothing was changed in %s", text)
	}
	for what, c := range map[string]struct {
		text []byte
		want errcode.Code
	}{"a digit": {changed, errcode.ManifestChanged}, "cut": {text[:len(text)/2],
		errcode.ManifestMalformed}, "empty": {nil, errcode.ManifestMalformed}} {
		command := commandIn(t, "t")
		name := filepath.Join(command.out.Path, manifest.Name)
		if err := os.WriteFile(name, c.text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := runIn(t, command); failure.CodeOf(err) != c.want || !testwords.Names(err, name) {
			t.Errorf("%s: %v", what, err)
		}
		if now, err := os.ReadFile(name); err != nil || !bytes.Equal(now, c.text) {
			t.Errorf("%s: the manifest was written anew (%v)", what, err)
		}
	}
}

// TestLoadOfAnIncompleteOutput: an output that lacks a file which the table does not have either is not loaded in part,
// and one with a file that its job did not write is not loaded without it.
func TestLoadOfAnIncompleteOutput(t *testing.T) {
	t.Parallel()
	record, _ := loadOf(t, 3)
	files := record.out.Manifest.Files()
	files[0].Loaded = true // HBase has moved it
	there := &hfiles.Directory{Files: []*hfiles.DirFile{{Path: files[1].Path}}}
	err := checkComplete(record.out, there)
	if failure.CodeOf(err) != errcode.OutputChanged || !testwords.Names(err, files[2].Path) || testwords.Names(err, files[0].Path) {
		t.Errorf("without %s: %v", files[2].Path, err)
	}
	there.Files = append(there.Files, &hfiles.DirFile{Path: files[2].Path})
	if err := checkComplete(record.out, there); err != nil {
		t.Errorf("all are there: %v", err)
	}
	there.Files = append(there.Files, &hfiles.DirFile{Path: "f/another"})
	if err := checkComplete(record.out, there); failure.CodeOf(err) != errcode.OutputOther || !testwords.Names(err, "f/another") {
		t.Errorf("another file is there: %v", err)
	}
}
