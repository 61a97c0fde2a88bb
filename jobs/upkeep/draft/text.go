package draft

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"bulkload/ingest"
	"bulkload/internal/errcode"
	"bulkload/jobs/spec/jobfile"
)

// form describes how text is written.
type form struct {
	format    string // delimited, csv or parquet
	charset   string // "" for UTF-8
	record    string // the record delimiter
	field     string
	escape    bool // delimiters are escaped with a backslash
	enclosure bool // values may be in double quotes; in delimited text
	heading   bool // in CSV
	noise     bool // in CSV: some lines are not records
	unsure    bool // quoted as in CSV or as Sqoop does: the sample doesn't show which
	columns   int
}

// The delimiters that exports are written with. If two explain a file equally well, the first wins.
var (
	recordDelimiters = []string{"\r\n", "\n", "\x10", "\x1e"}
	fieldDelimiters  = []string{"\x01", "\x02", "\x1f", "|@|", "||", "@@", "\t", "|", ",", ";", "^", "~"}
)

// formOf finds the delimiters with which most records have the same number of columns, more than one.
func formOf(name string, texts [][]byte) (best form, err error) {
	text, score := texts[0], 0.9
	var nearly form // the best of those that don't explain the text
	nearest := 0.0
	for _, record := range recordDelimiters {
		if !bytes.Contains(text, []byte(record)) || record == "\n" && crlf(text) {
			continue
		}
		for _, field := range fieldDelimiters {
			if !bytes.Contains(text, []byte(field)) {
				continue
			}
			f := form{format: "delimited", record: record, field: field}
			f.quotes(text)
			n, share := commonest(f.split(text, false))
			switch {
			case n > 1 && share > score+0.001:
				best, score = f, share
				best.columns, best.noise = n, f.noise || share < 1
			case n > 1 && share > nearest+0.001:
				nearly, nearest = f, share
				nearly.columns = n
			}
		}
	}
	if best.field == "" {
		return best, errcode.InputUnknown.Errorf("no delimiter gives the records of %s the same number of columns%s. Write "+
			"the job file by hand, with field_delimiter and record_delimiter", name, nearly.disagreement(text))
	}
	return best, best.findHeading(name, text)
}

// disagreement shows two records with different numbers of columns, in a form that fits most records but not enough of
// them; "" if there is no such form.
func (f *form) disagreement(text []byte) string {
	if f.field == "" {
		return ""
	}
	fits, other := -1, -1
	records := f.split(text, false)
	for i, r := range records {
		switch {
		case len(r) == f.columns && fits < 0:
			fits = i
		case len(r) != f.columns && other < 0:
			other = i
		}
	}
	if fits < 0 || other < 0 {
		return ""
	}
	show := func(i int) string {
		return fmt.Sprintf("record %d has %s (%q)", i+1, jobfile.Plural(len(records[i]), "column"),
			ingest.Shown([]byte(strings.Join(records[i], f.field))))
	}
	hint := ""
	if f.record == "\n" || f.record == "\r\n" {
		hint = ". If values have line breaks, export again with Sqoop's --hive-drop-import-delims or --escaped-by, or with " +
			"another record delimiter"
	}
	return fmt.Sprintf(". With field_delimiter %s and record_delimiter %s, %s and %s%s",
		ingest.FormatDelimiter([]byte(f.field)), ingest.FormatDelimiter([]byte(f.record)), show(min(fits, other)),
		show(max(fits, other)), hint)
}

// crlf reports whether all lines end with CR LF.
func crlf(text []byte) bool {
	return bytes.Count(text, []byte("\n")) == bytes.Count(text, []byte("\r\n"))
}

// quotes finds out whether values are quoted, as in CSV or as Sqoop does with escapes.
func (f *form) quotes(text []byte) {
	has := func(s string) bool { return bytes.Contains(text, []byte(s)) }
	f.escape = has(`\`+f.field) || has("\\"+f.record) || has(`\"`)
	quoted := bytes.HasPrefix(text, []byte(`"`)) || has(f.field+`"`) || has(f.record+`"`)
	if quoted && len(f.field) == 1 && !f.escape && (f.record == "\n" || f.record == "\r\n") {
		f.format = "csv"
	}
	f.enclosure = quoted && f.escape
	f.unsure = f.format == "csv" && !has(`""`)
}

// split splits a text into its first records. The last one may be cut, unless the text is whole.
func (f *form) split(text []byte, whole bool) [][]string {
	split := f.splitDelimited
	if f.format == "csv" {
		split = f.splitCSV
	}
	records := f.withoutPrompts(split(text))
	if !whole && len(records) > 1 && len(records) < maxRecords {
		records = records[:len(records)-1]
	}
	return records
}

func (f *form) splitCSV(text []byte) (records [][]string) {
	r := csv.NewReader(bytes.NewReader(bytes.TrimLeft(text, "\ufeff\r\n")))
	r.Comma, r.FieldsPerRecord, r.LazyQuotes = rune(f.field[0]), -1, true
	for len(records) < maxRecords {
		record, err := r.Read()
		if err != nil {
			return records
		}
		records = append(records, record)
	}
	return records
}

// splitDelimited reads what Sqoop writes: an escape makes the next character literal, and an enclosure begins a value.
func (f *form) splitDelimited(text []byte) (records [][]string) {
	var fields []string
	var value []byte
	enclosed := false
	end := func() { fields, value = append(fields, string(value)), value[:0] }
	for i := 0; i < len(text) && len(records) < maxRecords; {
		rest := text[i:]
		switch {
		case f.escape && rest[0] == '\\' && len(rest) > 1 && rest[1] != 'N':
			value = append(value, rest[1])
			i += 2
		case f.enclosure && rest[0] == '"' && (enclosed || len(value) == 0):
			enclosed = !enclosed
			i++
		case !enclosed && bytes.HasPrefix(rest, []byte(f.record)):
			end()
			records, fields = append(records, fields), nil
			i += len(f.record)
		case !enclosed && bytes.HasPrefix(rest, []byte(f.field)):
			end()
			i += len(f.field)
		default:
			value = append(value, rest[0])
			i++
		}
	}
	if len(value) > 0 || len(fields) > 0 {
		end()
		records = append(records, fields)
	}
	return records
}

// commonest returns the commonest number of columns, and the share of the records that have it.
func commonest(records [][]string) (columns int, share float64) {
	counts := map[int]int{}
	for _, r := range records {
		counts[len(r)]++
	}
	most := 0
	for n, count := range counts {
		if count > most || count == most && n > columns {
			columns, most = n, count
		}
	}
	return columns, float64(most) / float64(max(len(records), 1))
}

// continued matches the further lines of a statement, as SQL*Plus shows them.
var continued = regexp.MustCompile(`^ *\d+[ *] `)

// withoutPrompts drops the statement that SQL*Plus shows before the heading.
func (f *form) withoutPrompts(records [][]string) [][]string {
	for prompted := false; f.isLines() && len(records) > 0; records = records[1:] {
		first := records[0][0]
		blank := strings.TrimSpace(strings.Join(records[0], "")) == ""
		if !strings.HasPrefix(first, "SQL>") && !(prompted && (blank || continued.MatchString(first))) {
			break
		}
		f.noise, prompted = true, true
	}
	return records
}

// isLines reports whether the records are lines, as in CSV.
func (f *form) isLines() bool { return len(f.field) == 1 && (f.record == "\n" || f.record == "\r\n") }

// longestName is the longest name of a column, in characters, and longestExpression that of a column that is an
// expression, such as COUNT(*). The patterns don't say so, because a repeated class of Unicode takes megabytes.
const longestName, longestExpression = 64, 128

var (
	columnName     = regexp.MustCompile(`^[\pL_][\pL\pN_$# ]*$`)
	expressionName = regexp.MustCompile(`^[\pL_][\pL\pN_$# ().*+/|-]*$`)
)

// findHeading decides whether the first record has the columns' names. Those look like names and differ from the values
// below: some column has numbers or times, or no name recurs as a value. A heading that has a name twice is refused,
// because a run can't read such columns.
func (f *form) findHeading(file string, text []byte) error {
	records := f.split(text, false)
	if len(records) == 0 || !f.isLines() {
		return nil
	}
	seen, double, expressions := map[string]bool{}, "", false
	for _, name := range records[0] {
		length := utf8.RuneCountInString(name)
		if length > longestExpression || !expressionName.MatchString(name) {
			return nil
		}
		lower := strings.ToLower(name)
		if seen[lower] {
			double = name
		}
		seen[lower], expressions = true, expressions || length > longestName || !columnName.MatchString(name)
	}
	rows := without(records[0], records[1:])
	typed, again := f.compare(records[0], rows)
	if !typed && (again || double != "" || expressions) {
		return nil
	}
	if double != "" {
		return errcode.InputUnknown.Errorf("the heading of %s has the column %s twice: give one of them another name in "+
			"the query, and export again", file, double)
	}
	f.noise = f.noise || len(rows) < len(records)-1
	f.heading, f.format, f.escape, f.enclosure = true, "csv", false, false
	return nil
}

// compare compares names with the records below: whether some column has numbers or times, and whether some name recurs
// as a value.
func (f *form) compare(names []string, records [][]string) (typed, again bool) {
	columns, _ := columnsOf(names, records, false)
	for _, c := range columns {
		typed = typed || c.kind != ""
		again = again || slices.ContainsFunc(names, func(name string) bool { return c.distinct[name] > 0 })
	}
	return typed, again
}
