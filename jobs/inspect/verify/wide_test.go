package verify

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/cell"
	"bulkload/hfilewriter"
	"bulkload/internal/storage"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/sortingtest"
	"bulkload/internal/test/testfs"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/sorting"
	"bulkload/jobs/pipeline/targets"
	"bulkload/partition"
)

// wideSource is a wide table with three families, sorted, and a verifier of it.
func wideSource(t *testing.T, lines string) (*outputVerifier, *sorting.Rows) {
	t.Helper()
	text := fmt.Sprintf("table: ns:t\nfamily: f\ntimestamp: 2026-11-20\noutput: out\nhfile: {}\nrowkey: id\nwide: {qualifier: n}\nregions: {from: splits, splits: []}\n"+
		"input: {path: '%s', columns: [id, n, a, b, c], field_delimiter: ',', record_delimiter: '\\n', null: 'null'}\n"+
		"columns_map: {id: {skip: true}, n: {skip: true}, b: {to: 'g:b'}, c: {to: 'h:c'}}\n", testfs.Tree(t, map[string]string{"part-0": lines}))
	j, src, into := jobtest.Open(t, text)
	return &outputVerifier{job: j, target: into, report: new(Verification)}, sortingtest.Sort(t, j, src, into)
}

// cellsOfFamily are the cells of a source in one family, in order.
func cellsOfFamily(t *testing.T, into *targets.Target, rows *sorting.Rows, family int) []cell.Cell {
	t.Helper()
	cells, err := sorting.NewCells(into, rows.Sorted, partition.Slice{}, family)
	if err != nil {
		t.Fatal(err)
	}
	all := present(t, cells)
	if err := cells.Close(); err != nil {
		t.Fatal(err)
	}
	return all
}

// writeCells writes an HFile.
func writeCells(t *testing.T, name string, cells []cell.Cell) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w, err := hfilewriter.NewWriter(f, hfilewriter.Settings{Compression: hfilewriter.CompressNone, Encoding: hfilewriter.EncodeNone, Bloom: hfilewriter.BloomRow}, hfilewriter.Provenance{})
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
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// openCounter counts how often each file is opened.
type openCounter struct {
	storage.FS
	opened map[string]int
}

func (o *openCounter) Open(name string) (storage.File, error) {
	o.opened[filepath.Base(name)]++
	return o.FS.Open(name)
}

// TestWideFamiliesAreReadOnce: the files of a wide table are opened once for a comparison, however many families it
// has.
func TestWideFamiliesAreReadOnce(t *testing.T) {
	t.Parallel()
	v, rows := wideSource(t, "a,1,x,null,z\na,2,x,y,z\nb,1,null,y,null\nc,3,x,y,z\n")
	dir := t.TempDir()
	cells := int64(0)
	for i, family := range v.target.Layout.Families {
		all := cellsOfFamily(t, v.target, rows, i)
		cells += int64(len(all))
		writeCells(t, filepath.Join(dir, string(family.Bytes), "file"+string(family.Bytes)), all)
	}
	counter := &openCounter{storage.Local, map[string]int{}}
	var err error
	if v.files, err = hfiles.OpenDirectory(counter, dir); err != nil {
		t.Fatal(err)
	}
	clear(counter.opened)
	found := new(differences)
	joined, err := v.joinAll(t.Context(), rows, options.Options{}, found)
	if err != nil || len(joined) != 1 {
		t.Fatal(len(joined), err)
	}
	if j := joined[0]; j.matched != cells || j.rows() != 3 || found.count() != 0 || cells != 9 {
		t.Errorf("%d of %d cells in %d rows match; %+v", j.matched, cells, j.rows(), found.listed)
	}
	if len(counter.opened) != 3 {
		t.Errorf("%v", counter.opened)
	}
	for name, n := range counter.opened {
		if n != 1 {
			t.Errorf("%s was opened %d times", name, n)
		}
	}
}

// TestWideComparison: in each family the missing, different and extra cells are found. A row is extra only if the
// source has it in no family, and is counted once.
func TestWideComparison(t *testing.T) {
	t.Parallel()
	v, rows := wideSource(t, "b,1,x,null,z\nb,2,x,y,z\nd,1,null,y,null\nf,3,x,y,z\n")
	var all []cell.Cell
	for i := range v.target.Layout.Families {
		all = append(all, cellsOfFamily(t, v.target, rows, i)...)
	}
	slices.SortStableFunc(all, func(a, b cell.Cell) int { return cell.Compare(&a, &b) })
	at := func(row, family string) cell.Cell {
		return cell.Cell{Row: []byte(row), Family: []byte(family), Qualifier: []byte("9"), Timestamp: 7, Type: cell.Put}
	}
	for what, c := range map[string]struct {
		change                               func([]cell.Cell) []cell.Cell
		matched, missing, extraCells, extras int64
		stale                                string
	}{
		"the same": {func(a []cell.Cell) []cell.Cell { return a }, 9, 0, 0, 0, ""},
		"nothing":  {func([]cell.Cell) []cell.Cell { return nil }, 0, 9, 0, 0, ""},
		"extra rows": {func(a []cell.Cell) []cell.Cell {
			return append(a, at("c", "f"), at("c", "g"), at("e", "h"), at("z", "g"))
		}, 9, 0, 4, 3, "row\tc\tf:9\t7\nrow\tc\tg:9\t7\nrow\te\th:9\t7\nrow\tz\tg:9\t7\n"},
		"rows of ours": {func(a []cell.Cell) []cell.Cell { return append(a, at("d", "f"), at("d", "h"), at("b", "g")) }, 9, 0, 3, 0, "cell\tb\tg:9\t7\ncell\td\tf:9\t7\ncell\td\th:9\t7\n"},
		"a family of a row is missing": {func(a []cell.Cell) []cell.Cell {
			return append(slices.DeleteFunc(a, func(c cell.Cell) bool { return string(c.Row) == "b" && c.Family[0] != 'h' }), at("b", "f"))
		}, 6, 3, 1, 0, "cell\tb\tf:9\t7\n"},
	} {
		got := c.change(slices.Clone(all))
		slices.SortStableFunc(got, func(a, b cell.Cell) int { return cell.Compare(&a, &b) })
		name := filepath.Join(t.TempDir(), "stale")
		list, err := newStaleList(name)
		if err != nil {
			t.Fatal(err)
		}
		var want []*sorting.Cells
		for _, family := range v.orders() {
			cells, err := sorting.NewCells(v.target, rows.Sorted, partition.Slice{}, family)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := cells.Close(); err != nil {
					t.Error(err)
				}
			}()
			want = append(want, cells)
		}
		found := new(differences)
		j, err := newJoiner(want, v.target.Layout.FamilyNamed, found, &outputVerifier{stale: list})
		for i := 0; err == nil && i < len(got); i++ {
			err = j.visit(&got[i])
		}
		if err == nil {
			err = j.end()
		}
		if err != nil {
			t.Fatal(err)
		}
		if j.matched != c.matched || found.missing != c.missing || j.extraCells != c.extraCells || j.extraRows != c.extras || found.different != 0 || j.rows() != 3 {
			t.Errorf("%s: %d matched, %d missing, %d extra cells, %d extra rows, %d rows", what, j.matched, found.missing, j.extraCells, j.extraRows, j.rows())
		}
		if err := list.save(); err != nil {
			t.Fatal(err)
		}
		if err := list.close(); err != nil {
			t.Error(err)
		}
		if text, err := os.ReadFile(name); err != nil || string(text) != c.stale {
			t.Errorf("%s: listed are %q, %v", what, strings.ReplaceAll(string(text), "\n", "; "), err)
		}
	}
}
