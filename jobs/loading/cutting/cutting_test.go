package cutting

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/errcode"
	"bulkload/internal/seal"
	"bulkload/internal/storage"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/manifest"
)

// TestCutsShareRecords: the cut of many files writes some dozens of records, and leaves none out.
func TestCutsShareRecords(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 63, 64, 1000, 100_000} {
		batches, files := 0, 0
		for batch := range cutBatches(make([]*fileCutter, n)) {
			batches++
			files += len(batch)
		}
		if files != n || batches > maxBatches || n < maxBatches && batches != n {
			t.Errorf("%d files: %d in %d batches", n, files, batches)
		}
	}
}

// TestCrossed: a boundary cuts a file if rows are on both of its sides. It belongs to the rows after it.
func TestCrossed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ first, last, splits, want string }{
		{"b", "d", "", ""},
		{"b", "d", "a b e", ""},
		{"b", "d", "b0 c d", "b0 c d"},
		{"b", "d", "a bz dd", "bz"},
		{"b", "b", "b c", ""},
		{"b", "b0", "b b0", "b0"},
	} {
		var splits [][]byte
		for _, s := range strings.Fields(c.splits) {
			splits = append(splits, []byte(s))
		}
		var got []string
		for _, s := range crossed([]byte(c.first), []byte(c.last), splits) {
			got = append(got, string(s))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s to %s: %q of %q, want %q", c.first, c.last, got, c.splits, c.want)
		}
	}
}

// TestDamagedRecordOfCuts: a record of which a bit has changed, that names files elsewhere, or whose file is gone, is
// refused, and no part is deleted. One whose file is there is undone.
func TestDamagedRecordOfCuts(t *testing.T) {
	t.Parallel()
	part := hfiles.FileMeta{Path: "f/" + strings.Repeat("0", 32), Family: "f", FirstRow: "a", LastRow: "a", Bytes: 1, Rows: 1, Cells: 1}
	part.Digest.Cells = 1
	outside := part
	outside.Path = "../" + part.Path
	for name, c := range map[string]struct {
		cut    manifest.Cut
		change func(text []byte) []byte
		says   string
	}{
		"sound": {manifest.Cut{Of: "f/file", Parts: []hfiles.FileMeta{part}}, nil, ""},
		"a bit": {manifest.Cut{Of: "f/file", Parts: []hfiles.FileMeta{part}},
			func(text []byte) []byte { text[len(text)/2] ^= 1; return text }, "not a record"},
		"cut short": {manifest.Cut{Of: "f/file", Parts: []hfiles.FileMeta{part}},
			func(text []byte) []byte { return text[:len(text)-9] }, "not a record"},
		"file outside":   {manifest.Cut{Of: "../file", Parts: []hfiles.FileMeta{part}}, nil, "not a record"},
		"part outside":   {manifest.Cut{Of: "f/file", Parts: []hfiles.FileMeta{outside}}, nil, "not a record"},
		"file gone":      {manifest.Cut{Of: "f/gone", Parts: []hfiles.FileMeta{part}}, nil, "f/gone"},
		"another schema": {manifest.Cut{Of: "f/file"}, func([]byte) []byte { return []byte(`{"schema":2,"cuts":[]}`) }, "not a record"},
		"another schema, sealed": {manifest.Cut{Of: "f/file"}, func([]byte) []byte {
			text, err := seal.Seal([]byte(`{"schema":2,"cuts":[]}`))
			if err != nil {
				t.Fatal(err)
			}
			return text
		}, "its schema is 2"},
		"empty": {manifest.Cut{Of: "f/file"}, func([]byte) []byte { return nil }, "not a record"},
	} {
		w := DirectoryCutter{Out: localDir(t, storage.Local, t.TempDir(), nil)}
		for _, file := range []string{"f/file", part.Path} {
			if err := os.MkdirAll(filepath.Join(w.Out.Path, "f"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(w.Out.Path, file), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.write(&cutsRecord{Cuts: []manifest.Cut{c.cut}}); err != nil {
			t.Fatal(err)
		}
		if c.change != nil {
			text, err := os.ReadFile(w.path())
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(w.path(), c.change(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		err := w.Finish()
		_, left := os.Stat(filepath.Join(w.Out.Path, part.Path))
		if c.says == "" {
			if err != nil || left == nil {
				t.Errorf("%s: %v, and the part: %v", name, err, left)
			}
			continue
		}
		if failure.CodeOf(err) != errcode.LoadFiles || !testwords.Names(err, c.says) || left != nil {
			t.Errorf("%s: %v, and the part: %v", name, err, left)
		}
	}
}
