package draft

import (
	"bytes"
	"fmt"

	"bulkload/jobs/spec/jobfile"
)

// TableDraft is what a live table's descriptor and regions say, for a job file that loads into the table.
type TableDraft struct {
	Name     string
	Output   string        // for the HFiles
	Families []TableFamily // at least one
	Splits   [][]byte
}

// TableFamily is a family and its settings in words.
type TableFamily struct{ Name, Settings string }

// YAML returns the job file. Only the export has the columns, and only the table's owner knows the row key: many keys
// would fit the rows.
func (t *TableDraft) YAML() []byte {
	var w bytes.Buffer
	regions := jobfile.Plural(len(t.Splits)+1, "region")
	fmt.Fprintf(&w, "# A draft by bulkload init, from the descriptor and the regions of table %s, which has %s.\n",
		t.Name, regions)
	fmt.Fprint(&w, "# Complete it: docs/jobfile.md describes all keys, docs/keys.md row keys. Then:\n#   bulkload plan "+
		"THIS-FILE --date DATE\n")
	for _, f := range t.Families {
		fmt.Fprintf(&w, "# Family %s: %s\n", f.Name, f.Settings)
	}
	fmt.Fprintf(&w, "table: %s\nfamily: %s   # columns_map places a column in another one\n",
		text(t.Name), text(t.Families[0].Name))
	fmt.Fprint(&w, "timestamp: ${date}   # of all cells: midnight UTC of --date; column:NAME takes it from a column\n")
	fmt.Fprint(&w, "input:\n  # CHANGE THIS. The export: bulkload init EXPORT drafts this part, with columns, "+
		"delimiters, charset and nulls.\n")
	fmt.Fprint(&w, "  path: CHANGE-THIS/${date}\n  columns: [c1]\n  max_rejects: 0\n")
	salts := saltsOf(t.Splits)
	fmt.Fprint(&w, "# CHANGE THIS. The row key as readers of the table compute it.\n")
	if salts.n > 0 {
		fmt.Fprintf(&w, "# The regions begin like salts of %d values, such as %s.\n", salts.n, salts.saltFor("COLUMN"))
	}
	fmt.Fprintf(&w, "rowkey: %s\nquery: [c1]\n", text(tryKey("c1", salts)))
	fmt.Fprintf(&w, "# The table's %s, and its families' settings.\nregions: {from: table}\noutput: %s\nload: true\n",
		regions, text(t.Output))
	return w.Bytes()
}

// tryKey returns a key that suits the table's regions.
func tryKey(column string, salts salting) string {
	if salts.n == 0 {
		return quoted(column)
	}
	return salts.saltFor(quoted(column)) + " + " + quoted(column)
}

// salting describes the salts with which the keys of a table seem to begin, judging by its region boundaries.
type salting struct {
	n     int  // number of salts; 0: the regions don't begin at salts
	short bool // the salts have no leading zeros, and some have more digits than others
}

// saltFor returns the most common call, in the key language, that makes such a salt from a column.
func (s salting) saltFor(column string) string {
	if s.short {
		return fmt.Sprintf("short_salt(%s, %d)", column, s.n)
	}
	return fmt.Sprintf("salt(%s, %d)", column, s.n)
}

// saltsOf finds salts at the beginnings of regions: 1, 2 … or 01, 02 …, or without leading zeros 1, 10, 11 … 2 …. A
// region may have been split since, so other boundaries may lie between them.
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

// mostSaltDigits is how many digits a salt below mostSalts has at most.
const mostSaltDigits = 6
