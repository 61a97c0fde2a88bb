package hfilewriter

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"bulkload/cell"
	"bulkload/internal/test/testcluster"
)

// encodings are all of them.
var encodings = []Encoding{EncodeNone, EncodePrefix, EncodeDiff, EncodeFastDiff, EncodeRowIndexV1}

// writtenByHBase is a file of HBase's writer, opened.
func writtenByHBase(t *testing.T, o *testcluster.Oracle, cells []cell.Cell, settings ...string) *Reader {
	t.Helper()
	dir := t.TempDir()
	lines := filepath.Join(dir, "cells")
	if err := os.WriteFile(lines, cellLines(cells), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := o.Run(append([]string{"write", lines, "file://" + dir}, settings...)...)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(strings.TrimPrefix(strings.TrimSpace(out), "file:"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// severalVersions are cells of some rows, with several versions and deletes of each kind.
func severalVersions() []cell.Cell {
	var cells []cell.Cell
	for _, row := range []string{"a", "b", "c"} {
		add := func(qualifier string, time int64, kind cell.KeyType, value string) {
			cells = append(cells, cell.Cell{Row: []byte(row), Family: []byte("f"), Qualifier: []byte(qualifier), Timestamp: time, Type: kind, Value: []byte(value)})
		}
		add("", 5, cell.DeleteFamily, "")
		add("", 4, cell.DeleteFamilyVersion, "")
		add("p", 9, cell.Put, "newer than "+row)
		add("p", 8, cell.Delete, "")
		add("p", 8, cell.Put, "deleted")
		add("q", 7, cell.DeleteColumn, "")
		add("q", 6, cell.Put, "")
	}
	return cells
}

// TestCopiedFileInfo: a copy of the cells of a file by HBase has the same file info, with what its writer put there and
// without what it did not, under any settings.
func TestCopiedFileInfo(t *testing.T) {
	o := testcluster.Java(t)
	for _, encoding := range encodings {
		s := Settings{Encoding: encoding, Compression: CompressNone, Bloom: BloomRow}
		r := writtenByHBase(t, o, severalVersions(), append(oracleSettings(s), "INFO:MINE=some text", "INFO:MAX_SEQ_ID_KEY=8 bytes!")...)
		for _, to := range []Settings{s, {Encoding: EncodeDiff, Compression: CompressGZ, Bloom: BloomRowCol}} {
			var b bytes.Buffer
			w, err := NewWriter(&b, to, Provenance{Created: 99, Loaded: 99, Task: "not used", Copied: r.Info()})
			if err != nil {
				t.Fatal(err)
			}
			scan := r.Seek(nil)
			for scan.Next() {
				if err := w.Append(scan.Cell()); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := w.Close(); err != nil || scan.Err() != nil {
				t.Fatal(err, scan.Err())
			}
			copied, err := Open(bytes.NewReader(b.Bytes()), int64(b.Len()))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := copied.Verify(nil); err != nil {
				t.Error(err)
			}
			if got := copied.Info(); got.Text("MINE") != "some text" || got.Text(infoLoadedTask) != "test" || got.Text(infoCreateTime) != "1" {
				t.Errorf("%s: the copy has %q, %q and %q", encoding, got.Text("MINE"), got.Text(infoLoadedTask), got.Text(infoCreateTime))
			}
			if to == s && !reflect.DeepEqual(copied.Info(), r.Info()) {
				t.Errorf("%s: the copy has %q, the file %q", encoding, copied.Info(), r.Info())
			}
			if tags, sequences := scan.Skipped(); tags || sequences || r.Info().Uncopied() != nil {
				t.Errorf("%s: tags %v, sequence IDs %v, %q", encoding, tags, sequences, r.Info().Uncopied())
			}
		}
	}
}

// TestWhatACopyLacksIsKnown: tags and sequence IDs that a copy would lose are noticed in the cells and named by the
// file info, in every encoding. A file that may have tags, and has none, is no such file.
func TestWhatACopyLacksIsKnown(t *testing.T) {
	o := testcluster.Java(t)
	for _, encoding := range encodings {
		for name, c := range map[string]struct {
			settings        []string
			tags, sequences bool
			names           string
		}{
			"none":         {[]string{"TAGS=true"}, false, false, ""},
			"tags":         {[]string{"TAGS=true", "TAG=of a cell"}, true, false, "tags (hfile.MAX_TAGS_LEN)"},
			"sequence IDs": {[]string{"SEQUENCE=300"}, false, true, "sequence IDs (MAX_MEMSTORE_TS_KEY)"},
			"MOB":          {[]string{"INFO:MOB_CELLS_COUNT=12345678"}, false, false, "references to MOB files (MOB_CELLS_COUNT)"},
		} {
			s := Settings{Encoding: encoding, Compression: CompressNone, Bloom: BloomRow}
			cells := severalVersions()
			r := writtenByHBase(t, o, cells, append(oracleSettings(s), c.settings...)...)
			scan, n := r.Seek(nil), 0
			for ; scan.Next(); n++ {
				if cell.Compare(scan.Cell(), &cells[n]) != 0 || !bytes.Equal(scan.Cell().Value, cells[n].Value) {
					t.Errorf("%s, %s: cell %d is %v", encoding, name, n, scan.Cell())
				}
			}
			tags, sequences := scan.Skipped()
			if names := strings.Join(r.Info().Uncopied(), ", "); n != len(cells) || scan.Err() != nil || tags != c.tags || sequences != c.sequences || names != c.names {
				t.Errorf("%s, %s: %d cells, %v, tags %v, sequence IDs %v, named %q", encoding, name, n, scan.Err(), tags, sequences, names)
			}
			if _, err := r.Verify(nil); err != nil {
				t.Errorf("%s, %s: %v", encoding, name, err)
			}
		}
	}
}
