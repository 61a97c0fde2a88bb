package draft

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"bulkload/internal/printable"
	"bulkload/jobs/spec/jobfile"
)

// Table is a live table, of which a job file is made that loads into it.
type Table struct {
	Name     string
	Output   string // for the HFiles
	Families []TableFamily
	Splits   [][]byte
	Sampled  int // regions whose first rows were read
	Rows     []TableRow
}

// TableFamily is a family and its settings in words.
type TableFamily struct{ Name, Settings string }

// TableRow is a row that was read, with the newest version of its cells in HBase's order.
type TableRow struct {
	Key   []byte
	Cells []TableCell
}

// TableCell is a cell of a row.
type TableCell struct {
	Family    string
	Qualifier []byte
	Value     []byte
}

// maxTableColumns bounds the columns of a draft. A table with more of them is probably wide.
const maxTableColumns = 300

// tableColumn is what the rows have under one family and qualifier.
type tableColumn struct {
	*column
	family    string
	qualifier []byte
	values    [][]byte // of each row; nil: it has none
	rows      int
	shortest  int
	longest   int
	text      bool   // all values are readable text
	store     string // the type of binary values; "" if it is not known
	certain   bool   // it follows from more than the length
}

// columns are the columns of the rows, at most maxTableColumns of them. all is their number.
func (t *Table) columns() (columns []*tableColumn, all int) {
	at := map[string]*tableColumn{}
	for i, row := range t.Rows {
		for _, cell := range row.Cells {
			key := cell.Family + ":" + string(cell.Qualifier)
			c := at[key]
			if c == nil {
				c = &tableColumn{column: newColumn(""), family: cell.Family, qualifier: cell.Qualifier, values: make([][]byte, len(t.Rows)), shortest: len(cell.Value), text: true}
				at[key] = c
				columns = append(columns, c)
			}
			c.addCell(i, cell.Value)
		}
	}
	slices.SortFunc(columns, func(a, b *tableColumn) int {
		if by := strings.Compare(a.family, b.family); by != 0 {
			return by
		}
		return bytes.Compare(a.qualifier, b.qualifier)
	})
	all = len(columns)
	columns = slices.DeleteFunc(columns, func(c *tableColumn) bool { return !expressible(c.qualifier) })
	columns = columns[:min(len(columns), maxTableColumns)]
	nameColumns(columns)
	for _, c := range columns {
		c.look()
	}
	return columns, all
}

func (c *tableColumn) addCell(row int, value []byte) {
	c.values[row] = value
	c.rows++
	c.shortest, c.longest = min(c.shortest, len(value)), max(c.longest, len(value))
	c.text = c.text && readable(value)
	if c.text {
		c.add(string(value))
	}
}

// readable reports whether bytes are text that a person can read.
func readable(b []byte) bool {
	return utf8.Valid(b) && bytes.IndexFunc(b, func(r rune) bool { return r != '\n' && r != '\r' && r != '\t' && unicode.IsControl(r) }) < 0
}

// expressible reports whether a job file can name a qualifier: text in one line, without variables.
func expressible(qualifier []byte) bool {
	return readable(qualifier) && !bytes.Contains(qualifier, []byte("${")) && !bytes.ContainsAny(qualifier, yamlBreaks)
}

// yamlBreaks end a line of YAML, or are lost at its beginning: a quoted text would come back as another one.
const yamlBreaks = "\n\r\u2028\u2029\ufeff"

// nameColumns names the columns by their qualifiers, or by family and qualifier where that is no name or taken.
func nameColumns(columns []*tableColumn) {
	taken := map[string]bool{}
	for _, c := range columns {
		c.name = string(c.qualifier)
		if c.name == "" || strings.ContainsAny(c.name, "`$\n\r\t") || taken[c.name] {
			c.name = unwanted.ReplaceAllString(c.family+"_"+printable.Bytes(c.qualifier), "_")
		}
		for taken[c.name] {
			c.name += "_"
		}
		taken[c.name] = true
	}
}

// look decides what the values are.
func (c *tableColumn) look() {
	if c.text {
		c.conclude(false)
		return
	}
	if c.shortest != c.longest {
		return
	}
	switch c.longest {
	case 8:
		if c.store = "int64"; c.all(func(b []byte) bool { return isMoment(int64(binary.BigEndian.Uint64(b))) }) {
			c.store, c.certain = "timestamp", true
		}
	case 4:
		c.store = "int32"
	case 2:
		c.store = "int16"
	case 1:
		if c.all(func(b []byte) bool { return b[0] == 0 || b[0] == 0xff }) {
			c.store, c.certain = "boolean", true
		}
	}
}

func (c *tableColumn) all(is func([]byte) bool) bool {
	return !slices.ContainsFunc(c.values, func(b []byte) bool { return b != nil && !is(b) })
}

// isMoment reports whether a number can be milliseconds since 1970 of the years 2005 to 2055. Other numbers are rather ids.
func isMoment(n int64) bool {
	const first = 1_104_537_600_000
	return n >= first && n < first+50*int64(365*24*time.Hour/time.Millisecond)
}

// what says what the values look like.
func (c *tableColumn) what() string {
	switch {
	case c.longest == 0:
		return "empty"
	case c.text && c.kind != "":
		return "text of type " + c.kind
	case c.text:
		return "text"
	case c.certain:
		return "binary, " + c.store
	case c.store == "int64":
		return "binary: int64, float64 or a timestamp"
	case c.store == "int32":
		return "binary: int32 or float32"
	case c.store != "":
		return "binary: " + c.store
	}
	return "bytes that are not text"
}

// YAML is the job file.
func (t *Table) YAML() []byte {
	columns, all := t.columns()
	var w bytes.Buffer
	t.head(&w, columns, all)
	family := mainFamily(t.Families, columns)
	fmt.Fprintf(&w, "table: %s\nfamily: %s\n", text(t.Name), text(family))
	fmt.Fprint(&w, "timestamp: ${date}   # of all cells: midnight UTC of --date; column:NAME takes it from a column\n")
	fmt.Fprint(&w, "input:\n  path: CHANGE-THIS/${date}   # CHANGE THIS. The export: a folder, relative to this file's, or hdfs://…\n")
	fmt.Fprint(&w, "  # CHECK THIS. For delimited text, the order of the columns must be that of the export; add columns that become no cell.\n  # bulkload init EXPORT finds the delimiters, the charset and the nulls.\n")
	names := []string{"c1"}
	if len(columns) > 0 {
		names = nil
	}
	for _, c := range columns {
		names = append(names, c.name)
	}
	writeColumns(&w, names)
	fmt.Fprint(&w, "  max_rejects: 0\n")
	t.writeMap(&w, columns, family)
	t.writeKey(&w, columns, names[0])
	fmt.Fprintf(&w, "# The table's %s, and its families' settings.\nregions: {from: table}\noutput: %s\nload: true\n", jobfile.Plural(len(t.Splits)+1, "region"), text(t.Output))
	return w.Bytes()
}

// mainFamily is the family with the most columns.
func mainFamily(families []TableFamily, columns []*tableColumn) string {
	counts := map[string]int{}
	for _, c := range columns {
		counts[c.family]++
	}
	best := families[0].Name
	for _, f := range families {
		if counts[f.Name] > counts[best] {
			best = f.Name
		}
	}
	return best
}

func (t *Table) head(w *bytes.Buffer, columns []*tableColumn, all int) {
	fmt.Fprintf(w, "# A draft by bulkload init, from %s at the beginning of %s of table %s, which has %s.\n", jobfile.Plural(len(t.Rows), "row"),
		jobfile.Plural(t.Sampled, "region"), t.Name, jobfile.Plural(len(t.Splits)+1, "region"))
	fmt.Fprint(w, "# It is a guess: read each line. docs/jobfile.md describes all keys, docs/keys.md row keys. Then:\n#   bulkload plan THIS-FILE --date DATE\n")
	for _, f := range t.Families {
		fmt.Fprintf(w, "# Family %s: %s\n", f.Name, f.Settings)
	}
	if len(t.Rows) == 0 {
		fmt.Fprint(w, "# Note: no row was found, so columns and row key are not known.\n")
		return
	}
	fmt.Fprint(w, "# Columns of these rows:\n")
	for _, c := range columns {
		fmt.Fprintf(w, "#   %s:%s: %s, %s, %s\n", c.family, printable.Bytes(c.qualifier), jobfile.Plural(c.rows, "row"), lengths(c.shortest, c.longest), c.what())
	}
	if all > len(columns) {
		fmt.Fprintf(w, "# Note: there are %d columns, of which this file has %d. Qualifiers that are not text in one line are left out. If the qualifiers come from the data, the table is wide: see wide in docs/jobfile.md.\n", all, len(columns))
	}
}

func lengths(shortest, longest int) string {
	if shortest == longest {
		return jobfile.Plural(longest, "byte")
	}
	return fmt.Sprintf("%d to %d bytes", shortest, longest)
}

// writeMap writes the places of columns that are not called as their cells, and the types of binary ones.
func (t *Table) writeMap(w *bytes.Buffer, columns []*tableColumn, family string) {
	begun := false
	for _, c := range columns {
		var rules []string
		if c.family != family || c.name != string(c.qualifier) {
			rules = append(rules, "to: "+quotedList([]string{c.family + ":" + string(c.qualifier)}))
		}
		comment := ""
		switch {
		case !c.text && c.store == "":
			comment = "   # CHECK THIS. The values are bytes that are not text; type: hex with store: binary stores what hex text names"
		case !c.text && c.store == "timestamp":
			rules = append(rules, "type: timestamp", "zone: UTC", "store: binary")
			comment = "   # CHECK THIS. The zone of the export's clock; or int64, if these are numbers"
		case !c.text:
			rules = append(rules, "type: "+c.store, "store: binary")
			if !c.certain {
				comment = "   # CHECK THIS. It is " + c.what()
			}
		}
		if rules == nil && comment == "" {
			continue
		}
		if !begun {
			begun = true
			fmt.Fprint(w, "columns_map:\n")
		}
		fmt.Fprintf(w, "  %s: {%s}%s\n", flow(c.name), strings.Join(rules, ", "), comment)
	}
}

// writeKey writes the row key: one that gives the rows' keys, if there is one.
func (t *Table) writeKey(w *bytes.Buffer, columns []*tableColumn, first string) {
	salts := saltsOf(t.Splits)
	if found := t.findKey(columns, salts); found != nil {
		fmt.Fprintf(w, "# The keys of all %s are this, computed from their cells. Text of another width or zone may still differ.\n", jobfile.Plural(len(t.Rows), "row"))
		fmt.Fprintf(w, "rowkey: %s\nquery: [%s]\n", text(strings.Join(found.parts, " + ")), flow(found.query))
		return
	}
	if len(t.Rows) > 0 {
		shortest, longest := len(t.Rows[0].Key), 0
		for _, r := range t.Rows {
			shortest, longest = min(shortest, len(r.Key)), max(longest, len(r.Key))
		}
		fmt.Fprintf(w, "# Row keys have %s.\n", lengths(shortest, longest))
	}
	if salts.n > 0 {
		fmt.Fprintf(w, "# The regions begin like salts of %d values, such as %s.\n", salts.n, salts.of("COLUMN"))
	}
	fmt.Fprintf(w, "# CHANGE THIS. No row key was found that gives the keys of the table from its cells.\nrowkey: %s\nquery: [%s]\n", text(tryKey(first, salts)), flow(first))
}

// tryKey is a key that suits the table's regions.
func tryKey(column string, salts salting) string {
	if salts.n == 0 {
		return quoted(column)
	}
	return salts.of(quoted(column)) + " + " + quoted(column)
}

// salting is how the keys of a table seem to begin, judging by the boundaries of its regions.
type salting struct {
	n     int  // number of salts; 0: the regions don't begin at salts
	short bool // the salts have no leading zeros, and some have more digits than others
}

// of is the most frequent call, in the key language, that makes the salt of a column.
func (s salting) of(column string) string { return s.calls(column)[0] }

// calls are the calls that make such salts of a column, the most frequent first; none if the regions don't begin at salts.
func (s salting) calls(column string) (all []string) {
	functions := []string{"salt", "long_salt", "mod"}
	switch {
	case s.n == 0:
		return nil
	case s.short:
		functions = []string{"short_salt"}
	}
	for _, f := range functions {
		all = append(all, fmt.Sprintf("%s(%s, %d)", f, column, s.n))
	}
	return all
}

// saltsOf finds salts at the beginnings of regions: 1, 2 … or 01, 02 …, or without leading zeros 1, 10, 11 … 2 …. A region
// may have been split since, so other boundaries may lie between them.
func saltsOf(splits [][]byte) salting {
	starts := make(map[string]bool, len(splits))
	for _, s := range splits {
		starts[string(s)] = true
	}
	for width := 1; width <= mostSaltDigits; width++ {
		n := 1
		for starts[fmt.Sprintf("%0*d", width, n)] {
			n++
		}
		switch digits := len(fmt.Sprint(n - 1)); {
		case n > 1 && digits == width:
			return salting{n: n}
		case n > 1 && width == 1:
			return salting{n: n, short: true}
		}
	}
	return salting{}
}

// mostSaltDigits is how many digits a salt below mostSalts has.
const mostSaltDigits = 6
