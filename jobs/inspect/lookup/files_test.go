package lookup

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/cell"
	"bulkload/hfilewriter"
	"bulkload/internal/errcode"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
)

// hfileOf is an HFile of rows with a user each.
func hfileOf(t *testing.T, rows int) []byte {
	t.Helper()
	var out bytes.Buffer
	settings := hfilewriter.Settings{Compression: hfilewriter.CompressNone, Encoding: hfilewriter.EncodeFastDiff, Bloom: hfilewriter.BloomRow, BlockSize: 512}
	w, err := hfilewriter.NewWriter(&out, settings, hfilewriter.Provenance{Created: 1, Loaded: 1, Task: "test"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		if err := w.Append(put(fmt.Sprintf("0%04d", i), "user", "0")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestQueryOfADirectory: a query of HFiles finds the rows of its user in all files, by the same rules as in a table.
func TestQueryOfADirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "f"), 0o755), os.WriteFile(filepath.Join(dir, "f", "1"), hfileOf(t, 50), 0o600)); err != nil {
		t.Fatal(err)
	}
	for user, want := range map[string]int{"0": 50, "00": 0, "1": 0} {
		report, err := Get(t.Context(), parse(t, fmt.Sprintf(jobText, "user + id")), options.Options{}, []string{user}, dir)
		if err != nil || len(report.Rows) != want || report.Status != failure.StatusDone || !strings.Contains(report.From, dir) {
			t.Errorf("user %s: %d rows, %v", user, len(report.Rows), err)
		}
	}
}

// TestInspectCountsAll: the description covers the whole file: each cell is visited, and the blocks of all types add up
// to the file's.
func TestInspectCountsAll(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "file")
	content := hfileOf(t, 1000)
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	visited := int64(0)
	report, err := Inspect(t.Context(), name, options.Options{}, true, func(*cell.Cell) error { visited++; return nil })
	if err != nil {
		t.Fatal(err)
	}
	var listed, entries int64
	for _, kind := range report.Types {
		listed += kind.Blocks
		if kind.Type == "ENCODED_DATA" {
			entries = kind.Entries
		}
	}
	if visited != 1000 || report.Cells != visited || report.Rows != visited || entries != visited || listed != int64(len(report.Blocks)) || report.Bytes != int64(len(content)) ||
		report.FirstRow != "00000" || report.LastRow != "00999" || len(report.Samples) < 2 || report.Bloom == nil || report.Bloom.Keys != visited {
		report.Blocks = nil
		t.Errorf("%d cells visited: %+v", visited, report)
	}
	broken := errors.New("no paper")
	if _, err := Inspect(t.Context(), name, options.Options{}, false, func(*cell.Cell) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("a visit that fails: %v", err)
	}
}

// TestFilesThatCantBeInspected: if a file is damaged, is no HFile or does not exist, a partial description never has
// the status "done".
func TestFilesThatCantBeInspected(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	damaged := hfileOf(t, 1000)
	damaged[len(damaged)/4] ^= 1
	for name, content := range map[string][]byte{"damaged": damaged, "cut": damaged[:len(damaged)-9], "text": []byte("no HFile"), "empty": nil} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]errcode.Code{"damaged": errcode.HFileCorrupt, "cut": errcode.HFileCorrupt, "text": errcode.HFileCorrupt, "empty": errcode.HFileCorrupt,
		"none": errcode.HFileMissing, "": errcode.HFileMissing} {
		report, err := Inspect(t.Context(), filepath.Join(dir, name), options.Options{}, false, func(*cell.Cell) error { return nil })
		if failure.CodeOf(err) != want || report.Status == failure.StatusDone {
			t.Errorf("%s: %v, status %s", name, err, report.Status)
		}
	}
}
