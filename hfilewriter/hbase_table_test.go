package hfilewriter

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bulkload/cell"
	"bulkload/internal/test/testcluster"
)

// tableFamilies are the families of a table, each stored in another way, in small blocks with indexes of many levels.
var tableFamilies = []struct {
	name string
	Settings
}{
	{"diff", smallIndex(Settings{Encoding: EncodeDiff, Compression: CompressGZ, Bloom: BloomRowCol, BlockSize: 512})},
	{"fastdiff", smallIndex(Settings{Encoding: EncodeFastDiff, Compression: CompressSnappy, Bloom: BloomRow, BlockSize: 512})},
	{"none", smallIndex(Settings{Encoding: EncodeNone, Compression: CompressNone, Bloom: BloomNone, BlockSize: 512})},
	{"prefix", smallIndex(Settings{Encoding: EncodePrefix, Compression: CompressLZ4, Bloom: BloomRowPrefix, BloomPrefix: 4, BlockSize: 512})},
	{"rowindex", smallIndex(Settings{Encoding: EncodeRowIndexV1, Compression: CompressZSTD, Bloom: BloomRow, BlockSize: 512})},
}

// TestHBaseServesOurFiles loads a file into each family of a table and has HBase read all of it back, forward,
// backward, by row and by column: from the files, from their halves after a split where HBase finds the middle, and
// after a major compaction.
func TestHBaseServesOurFiles(t *testing.T) {
	c := testcluster.Use(t)
	s := newServed(t, c.Oracle(t), c.UniqueTable(t))
	s.load(t)
	t.Run("loaded", s.reads)
	s.split(t)
	t.Run("split", s.reads)
	s.run(t, "compact", s.table)
	t.Run("compacted", s.reads)
}

// served is a table and what it must hold.
type served struct {
	oracle *testcluster.Oracle
	table  string
	rows   [][]byte
	cells  []cell.Cell // of all families, as a raw scan gives them
	live   []cell.Cell // as a scan gives them: without deletes and what they hide
}

func newServed(t *testing.T, o *testcluster.Oracle, table string) *served {
	t.Helper()
	r := rand.New(rand.NewPCG(11, 4))
	s := &served{oracle: o, table: table, rows: servedRows(r, 400)}
	for _, f := range tableFamilies {
		s.cells = append(s.cells, servedCells(r, s.rows, f.name)...)
	}
	slices.SortStableFunc(s.cells, func(a, b cell.Cell) int { return cell.Compare(&a, &b) })
	s.live = withoutDeleted(s.cells)
	if len(s.live) < len(s.cells)/2 || len(s.live) > len(s.cells)*9/10 {
		t.Fatalf("%d of %d cells are not deleted: the data tells too little", len(s.live), len(s.cells))
	}
	return s
}

// servedRows are n row keys in order, of several lengths, binary, many with the same first bytes.
func servedRows(r *rand.Rand, n int) [][]byte {
	byRow := map[string]bool{}
	for len(byRow) < n {
		row := fmt.Sprintf("%c%c%s", 'a'+r.IntN(20), r.IntN(3)*127, strconv.Itoa(r.IntN(1000)))
		if r.IntN(4) == 0 {
			row += string([]byte{0, 0xff, byte(r.IntN(256))}) + strings.Repeat("long", r.IntN(30))
		}
		byRow[row] = true
	}
	var rows [][]byte
	for row := range byRow {
		rows = append(rows, []byte(row))
	}
	slices.SortFunc(rows, bytes.Compare)
	return rows
}

// servedCells are, for most rows, puts of several versions in one family, and some of them deletes of each kind. No
// delete is older than every put: a major compaction would drop it.
func servedCells(r *rand.Rand, rows [][]byte, family string) []cell.Cell {
	var cells []cell.Cell
	for _, row := range rows {
		if r.IntN(10) == 0 {
			continue
		}
		add := func(qualifier string, kind cell.KeyType, value string) {
			cells = append(cells, cell.Cell{Row: row, Family: []byte(family), Qualifier: []byte(qualifier), Timestamp: benchTime + r.Int64N(4)*1000, Type: kind, Value: []byte(value)})
		}
		kind, first := r.IntN(24), 0
		if kind < 2 {
			// a get of a column jumps over a family's deletes that follow a put without qualifier, in HBase's own files, too
			first = 1
		}
		for q := first; q < servedQualifiers; q++ {
			for range r.IntN(4) {
				add(qualifierOf(q), cell.Put, strings.Repeat(fmt.Sprint("value", r.IntN(3)), r.IntN(6)))
			}
		}
		switch kind {
		case 0:
			add("", cell.DeleteFamily, "")
		case 1:
			add("", cell.DeleteFamilyVersion, "")
		case 2, 3, 4, 5:
			add(qualifierOf(r.IntN(servedQualifiers)), cell.DeleteColumn, "")
		case 6, 7, 8, 9:
			add(qualifierOf(r.IntN(servedQualifiers)), cell.Delete, "")
		}
	}
	slices.SortStableFunc(cells, func(a, b cell.Cell) int { return cell.Compare(&a, &b) })
	return slices.CompactFunc(cells, func(a, b cell.Cell) bool { return cell.Compare(&a, &b) == 0 })
}

const servedQualifiers = 5

// qualifierOf also returns an empty qualifier.
func qualifierOf(i int) string {
	return strings.Repeat("q", min(i, 1)) + strings.Repeat("x", max(i-1, 0))
}

// withoutDeleted leaves out deletes and the puts that they hide, after HBase's manual: a delete of a column or family
// hides what is as old or older, one of a version just that.
func withoutDeleted(cells []cell.Cell) []cell.Cell {
	hidden := func(d, c *cell.Cell) bool {
		if !bytes.Equal(d.Row, c.Row) || !bytes.Equal(d.Family, c.Family) {
			return false
		}
		column := bytes.Equal(d.Qualifier, c.Qualifier)
		switch d.Type {
		case cell.DeleteFamily:
			return c.Timestamp <= d.Timestamp
		case cell.DeleteFamilyVersion:
			return c.Timestamp == d.Timestamp
		case cell.DeleteColumn:
			return column && c.Timestamp <= d.Timestamp
		case cell.Delete:
			return column && c.Timestamp == d.Timestamp
		}
		return false
	}
	deletes := map[string][]cell.Cell{}
	for _, c := range cells {
		if c.Type != cell.Put {
			deletes[string(c.Row)] = append(deletes[string(c.Row)], c)
		}
	}
	return slices.DeleteFunc(slices.Clone(cells), func(c cell.Cell) bool {
		return c.Type != cell.Put || slices.ContainsFunc(deletes[string(c.Row)], func(d cell.Cell) bool { return hidden(&d, &c) })
	})
}

func (s *served) run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := s.oracle.Run(args...)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}

// load creates the table without compactions, so that a split leaves halves of files, and loads a file of ours for each
// family.
func (s *served) load(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	args := []string{"TABLE:COMPACTION_ENABLED=false", "VERSIONS=100", "KEEP_DELETED_CELLS=TRUE", "PREFIX=4"}
	var names []string
	for _, f := range tableFamilies {
		names = append(names, f.name)
		for key, value := range map[string]any{"COMPRESSION": f.Compression, "DATA_BLOCK_ENCODING": f.Encoding, "BLOOMFILTER": f.Bloom} {
			args = append(args, fmt.Sprintf("%s:%s=%v", f.name, key, value))
		}
		cells := slices.DeleteFunc(slices.Clone(s.cells), func(c cell.Cell) bool { return string(c.Family) != f.name })
		writeFile(t, filepath.Join(dir, f.name, "file"), writeCells(t, f.Settings, cells))
	}
	s.run(t, append([]string{"create", s.table, strings.Join(names, ","), ""}, args...)...)
	if out := s.run(t, "load", "file://"+dir, s.table); out != fmt.Sprintf("%d files loaded\n", len(tableFamilies)) {
		t.Fatalf("load says %q", out)
	}
}

func writeFile(t testing.TB, name string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// split has HBase split the table where the index of the largest file has its middle, and looks for halves of every
// file.
func (s *served) split(t *testing.T) {
	t.Helper()
	s.run(t, "split", s.table)
	regions := strings.Split(strings.TrimSpace(s.run(t, "regions", s.table)), "\n")
	if len(regions) != 2 {
		t.Fatalf("the table has %d regions", len(regions))
	}
	start, _, _ := strings.Cut(regions[1], "\t")
	row, err := strconv.Unquote(`"` + start + `"`)
	if err != nil {
		t.Fatalf("the second region begins with %s: %v", start, err)
	}
	at, isRow := slices.BinarySearchFunc(s.rows, []byte(row), bytes.Compare)
	if n := len(s.rows); !isRow || at < n*4/10 || at > n*6/10 {
		t.Errorf("HBase splits at %s: of %d rows, %d stand before it (a row: %v)", start, n, at, isRow)
	}
	halves := 0
	for file := range strings.Lines(s.run(t, "files", s.table)) {
		if strings.Contains(file, ".") {
			halves++
		}
	}
	if want := 2 * len(tableFamilies); halves != want {
		t.Errorf("the regions have %d halves of files, want %d", halves, want)
	}
}

// reads has HBase read the table in every way.
func (s *served) reads(t *testing.T) {
	s.same(t, s.cells, "scan", s.table, "-raw")
	s.same(t, lastRowFirst(s.cells), "scan", s.table, "-raw", "-reversed")
	s.same(t, s.live, "scan", s.table)
	s.same(t, lastRowFirst(s.live), "scan", s.table, "-reversed")
	s.getRows(t)
	s.getColumns(t)
}

func (s *served) same(t *testing.T, want []cell.Cell, args ...string) {
	t.Helper()
	s.sameText(t, cellLines(want), args...)
}

func (s *served) sameText(t *testing.T, want []byte, args ...string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	s.run(t, append(args, "-o", out)...)
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	sameLines(t, got, want)
}

func sameLines(t *testing.T, got, want []byte) {
	t.Helper()
	if bytes.Equal(got, want) {
		return
	}
	line := 1 + bytes.Count(got[:commonPrefix(got, want)], []byte("\n"))
	t.Errorf("%d lines, want %d; line %d is\n%s\nwant\n%s", bytes.Count(got, []byte("\n")), bytes.Count(want, []byte("\n")), line, lineOf(got, line), lineOf(want, line))
}

func lineOf(text []byte, n int) []byte {
	lines := bytes.SplitN(text, []byte("\n"), n+1)
	if len(lines) < n {
		return nil
	}
	return lines[n-1]
}

// lastRowFirst turns the order of the rows, not of the cells of a row.
func lastRowFirst(cells []cell.Cell) (turned []cell.Cell) {
	for end := len(cells); end > 0; {
		start := end - 1
		for start > 0 && bytes.Equal(cells[start-1].Row, cells[end-1].Row) {
			start--
		}
		turned = append(turned, cells[start:end]...)
		end = start
	}
	return turned
}

// getRows asks for every row, and for rows beside it that aren't there.
func (s *served) getRows(t *testing.T) {
	t.Helper()
	cells := map[string][]cell.Cell{}
	for _, c := range s.live {
		cells[string(c.Row)] = append(cells[string(c.Row)], c)
	}
	var asked, want bytes.Buffer
	for i, row := range s.rows {
		beside := slices.Concat(row, []byte{0})
		if i%2 == 0 {
			beside = row[:len(row)-1]
		}
		for _, row := range [][]byte{row, beside} {
			fmt.Fprintf(&asked, "%x\n", row)
			want.Write(linesOrAbsent(cells[string(row)]))
		}
	}
	fmt.Fprintf(&asked, "00\nffff\n")
	want.WriteString("absent\nabsent\n")
	s.get(t, asked.Bytes(), want.Bytes())
}

// getColumns asks for columns of some rows in every family; some have no cell, and the last qualifier none at all.
func (s *served) getColumns(t *testing.T) {
	t.Helper()
	column := func(row []byte, family, qualifier string) string {
		return fmt.Sprintf("%x\t%s\t%x", row, family, qualifier)
	}
	cells := map[string][]cell.Cell{}
	for _, c := range s.live {
		k := column(c.Row, string(c.Family), string(c.Qualifier))
		cells[k] = append(cells[k], c)
	}
	r := rand.New(rand.NewPCG(5, 5))
	var asked, want bytes.Buffer
	for range 300 {
		row := s.rows[r.IntN(len(s.rows))]
		for _, f := range tableFamilies {
			k := column(row, f.name, qualifierOf(r.IntN(servedQualifiers+1)))
			fmt.Fprintln(&asked, k)
			want.Write(linesOrAbsent(cells[k]))
		}
	}
	s.get(t, asked.Bytes(), want.Bytes())
}

func linesOrAbsent(cells []cell.Cell) []byte {
	if len(cells) == 0 {
		return []byte("absent\n")
	}
	return cellLines(cells)
}

func (s *served) get(t *testing.T, asked, want []byte) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "asked")
	writeFile(t, file, asked)
	s.sameText(t, want, "get", s.table, file)
}
