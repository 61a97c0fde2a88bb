package hfiles

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bulkload/cell"
	"bulkload/hfilewriter"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/internal/test/testfs"
	"bulkload/internal/test/testrand"
	"bulkload/internal/test/testwords"
)

// writeFile returns an HFile with a cell in each row. The values name the file.
func writeFile(t *testing.T, name string, rows ...string) string {
	t.Helper()
	family, _, _ := strings.Cut(name, "/")
	var cells []cell.Cell
	for _, row := range rows {
		cells = append(cells, cell.Cell{Row: []byte(row), Family: []byte(family), Qualifier: []byte("q"), Timestamp: 1, Type: cell.Put, Value: []byte(name)})
	}
	return writeCells(t, cells)
}

// writeCells returns an HFile of some cells, which are in order.
func writeCells(t *testing.T, cells []cell.Cell) string {
	t.Helper()
	var out bytes.Buffer
	settings := hfilewriter.Settings{Compression: hfilewriter.CompressNone, Encoding: hfilewriter.EncodeFastDiff, Bloom: hfilewriter.BloomRow}
	w, err := hfilewriter.NewWriter(&out, settings, hfilewriter.Provenance{Created: 1, Loaded: 1, Task: "test"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range cells {
		if err := w.Append(&cells[i]); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// open opens a directory of HFiles with the given rows.
func open(t *testing.T, files map[string][]string) *Directory {
	t.Helper()
	tree := map[string]string{}
	for name, rows := range files {
		tree[name] = writeFile(t, name, rows...)
	}
	d, err := OpenDirectory(storage.Local, testfs.Tree(t, tree))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// scan lists the cells of a range as row=value.
func scan(t *testing.T, d *Directory, start, end string) ([]string, error) {
	t.Helper()
	var found []string
	err := d.Scan(t.Context(), []byte(start), []byte(end), func(c *cell.Cell) error {
		found = append(found, string(c.Row)+"="+string(c.Value))
		return nil
	})
	return found, err
}

// TestOpen: HFiles are found in the folders of families, without hidden names, and are in order of family and first
// row.
func TestOpen(t *testing.T) {
	t.Parallel()
	d := open(t, map[string][]string{"g/1": {"a"}, "f/2": {"b", "c"}, "f/1": {"d", "e"}, "f/_tmp": {"a"}, "f/.crc": {"a"}, "_hidden/1": {"a"}, ".tmp/1": {"a"}})
	var got []string
	for _, f := range d.Files {
		got = append(got, fmt.Sprintf("%s %s %s-%s", f.Family, f.Path, f.First, f.Last))
	}
	if want := []string{"f f/2 b-c", "f f/1 d-e", "g g/1 a-a"}; !slices.Equal(got, want) {
		t.Errorf("files %q, want %q", got, want)
	}
	_, err := OpenDirectory(storage.Local, filepath.Join(t.TempDir(), "none"))
	if errcode.Outermost(err) != errcode.HFileMissing {
		t.Errorf("a directory that does not exist: %v", err)
	}
	bad := testfs.Tree(t, map[string]string{"f/1": "no HFile"})
	_, err = OpenDirectory(storage.Local, bad)
	if !errors.Is(err, hfilewriter.ErrCorrupt) || !testwords.Names(err, "f/1") {
		t.Errorf("a file that is no HFile: %v", err)
	}
}

// TestScan: a scan visits the cells of its range in HBase's order, however the files overlap.
func TestScan(t *testing.T) {
	t.Parallel()
	r := testrand.New(t)
	for range 20 {
		files, all := map[string][]string{}, []string{}
		for i := range 1 + r.IntN(12) {
			name := fmt.Sprintf("%c/%d", 'f'+r.IntN(2), i)
			from := r.IntN(30)
			for row := from; row <= from+r.IntN(1+r.IntN(30)); row += 1 + r.IntN(3) {
				text := fmt.Sprintf("%02d", row)
				files[name], all = append(files[name], text), append(all, text+"="+name)
			}
		}
		d := open(t, files)
		for range 40 {
			start, end := fmt.Sprintf("%02d", r.IntN(62)), fmt.Sprintf("%02d", r.IntN(62))
			switch r.IntN(5) {
			case 0:
				start = ""
			case 1:
				end = ""
			case 2:
				end = start + "\x00"
			}
			want := slices.DeleteFunc(slices.Clone(all), func(c string) bool {
				row, _, _ := strings.Cut(c, "=")
				return row < start || end != "" && row >= end
			})
			got, err := scan(t, d, start, end)
			inOrder := slices.IsSortedFunc(got, func(a, b string) int { return strings.Compare(a[:4], b[:4]) }) // row and family
			slices.Sort(want)
			if slices.Sort(got); err != nil || !inOrder || !slices.Equal(got, want) {
				t.Fatalf("from %q to %q: %q in order: %t, %v; want %q of %v", start, end, got, inOrder, err, want, files)
			}
		}
	}
}

// TestOneRow: to read one row, files whose bloom filter denies it are not read.
func TestOneRow(t *testing.T) {
	t.Parallel()
	d := open(t, map[string][]string{"f/1": {"a", "c"}, "f/2": {"a", "b", "c"}})
	name := filepath.Join(d.Path, "f/1")
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	content[40] ^= 1 // in the block of data
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := scan(t, d, "b", "b\x00"); err != nil || !slices.Equal(got, []string{"b=f/2"}) {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := scan(t, d, "c", "c\x00"); !errors.Is(err, hfilewriter.ErrCorrupt) || !testwords.Names(err, "f/1") {
		t.Errorf("a damaged file is read: %q, %v", got, err)
	}
	if got, err := scan(t, d, "b", "c"); !errors.Is(err, hfilewriter.ErrCorrupt) || !testwords.Names(err, "f/1") {
		t.Errorf("a damaged file is read for a range: %q, %v", got, err)
	}
}

// TestPickProbes: each file has the cells by which a region can prove that it serves the file.
func TestPickProbes(t *testing.T) {
	t.Parallel()
	d := open(t, map[string][]string{"f/1": {"a", "c"}, "g/1": {"b"}})
	for range 2 { // again: they are picked anew
		if err := d.PickProbes(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []int{2, 1} {
		if f := d.Files[i]; len(f.Cells) != want || len(f.Probes) != want {
			t.Errorf("%s has %d cells and %d probes, want %d", f.Path, len(f.Cells), len(f.Probes), want)
		}
	}
}

// TestPickProbesAmongMarkers: a file is proved by cells that its readers see, since a compaction removes the others,
// and delete markers with what they hide. Only a file of markers alone has one of these.
func TestPickProbesAmongMarkers(t *testing.T) {
	t.Parallel()
	types := map[string]cell.KeyType{"Put": cell.Put, "Delete": cell.Delete, "DeleteColumn": cell.DeleteColumn, "DeleteFamilyVersion": cell.DeleteFamilyVersion, "DeleteFamily": cell.DeleteFamily}
	for _, c := range []struct{ what, cells, want string }{
		{"cells", "a/q/5/Put b/q/5/Put c/q/5/Put", "a/q/5 c/q/5"},
		{"the newest of a column", "a/q/5/Put a/q/4/Put", "a/q/5"},
		{"families' markers around a cell", "a//9/DeleteFamily b/q/5/Put c//9/DeleteFamily", "b/q/5"},
		{"a family's marker above the cells of its row", "a//9/DeleteFamily a/q/5/Put a/r/5/Put b/q/5/Put", "b/q/5"},
		{"a marker of a family's version", "a//5/DeleteFamilyVersion a/q/5/Put b/q/5/Put", "b/q/5"},
		{"a column's marker above its cells", "a/q/9/DeleteColumn a/q/5/Put a/r/5/Put b/q/5/Put", "a/r/5 b/q/5"},
		{"a marker of one version, and older ones", "a/q/5/Delete a/q/5/Put a/q/4/Put a/r/3/Put", "a/r/3"},
		{"a marker below a newer cell", "a/q/9/Put a/q/5/DeleteColumn a/q/4/Put", "a/q/9"},
		{"markers in the last rows", "a/q/5/Put b//9/DeleteFamily c/q/9/DeleteColumn", "a/q/5"},
		{"markers alone", "a//9/DeleteFamily b/q/9/DeleteColumn c/q/9/Delete", "a//9"},
		{"markers of one row", "a/q/9/DeleteColumn", "a/q/9"},
	} {
		var cells []cell.Cell
		for _, text := range strings.Fields(c.cells) {
			parts := strings.Split(text, "/")
			timestamp, err := strconv.ParseInt(parts[2], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			cells = append(cells, cell.Cell{Row: []byte(parts[0]), Family: []byte("f"), Qualifier: []byte(parts[1]), Timestamp: timestamp, Type: types[parts[3]]})
		}
		d, err := OpenDirectory(storage.Local, testfs.Tree(t, map[string]string{"f/1": writeCells(t, cells)}))
		if err == nil {
			err = d.PickProbes(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range d.Files[0].Cells {
			got = append(got, fmt.Sprintf("%s/%s/%d", p.Row, p.Qualifier, p.Timestamp))
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: %s, want %s", c.what, text, c.want)
		}
	}
}

// TestManyFiles: a scan does not look at each file. With 200,000 files and as many scans, that would take minutes.
func TestManyFiles(t *testing.T) {
	t.Parallel()
	const n = 200_000
	row := func(i int) []byte { return fmt.Appendf(nil, "%08d", i) }
	d := new(Directory)
	for i := range n {
		d.Files = append(d.Files, &DirFile{Family: "f", First: row(2 * i), Last: row(2 * i)})
	}
	d.index()
	for i := range n { // between two files, so that none is opened
		if err := d.Scan(t.Context(), row(2*i+1), row(2*i+2), nil); err != nil {
			t.Fatal(err)
		}
	}
}
