package csv

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"bulkload/ingest"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
)

// maxColumns is how many columns an Oracle table can have.
const maxColumns = 4096

// readHeading reads the heading and finds the form's columns in it. A file without a heading has no records.
func (r *reader) readHeading() error {
	r.spans = make([]span, maxColumns)
	for {
		if err := r.skipMarks(); err != nil {
			return err
		}
		end, what, err := r.frame()
		if err != nil {
			r.err = err // usually the end of the file
			return ignoreEOF(err)
		}
		r.rec.Offset = r.offset()
		var raw []byte
		if what == complete {
			raw = r.consume(end)
		} else if raw, err = r.consumeLine(); err != nil {
			return err
		}
		switch kind := r.classify(raw, false); {
		case kind == blank, r.isSeparator(raw):
		case kind != noNoise:
			if err := r.handleNonRow(kind, raw); err != nil {
				return refusef(errcode.InputColumns, "read the heading: %v", err)
			}
		case what != complete:
			return refusef(errcode.InputColumns, "read the heading of %s: %s%s", r.path, r.quoteReason(raw, what), loneCR(raw))
		default:
			return r.resolve(raw)
		}
	}
}

// resolve finds the form's columns in the heading.
func (r *reader) resolve(raw []byte) error {
	if r.count > maxColumns {
		return refusef(errcode.InputColumns, "read the heading of %s: it has %d columns, more than any table",
			r.path, r.count)
	}
	r.spans = slices.Clone(r.spans[:r.count])
	for _, v := range r.spans {
		name := raw[v.start:v.end]
		if v.quoted {
			name = r.unquote(name, v.doubled)
		}
		text, bad := r.decode(name)
		if bad >= 0 {
			return refusef(errcode.InputColumns, "read the heading of %s: %q is not %s", r.path, name, r.form.Charset.Name())
		}
		r.names = append(r.names, strings.TrimSpace(string(text)))
	}
	if slices.ContainsFunc(r.names, func(name string) bool { return strings.Contains(name, "\r") }) {
		return refusef(errcode.InputColumns, "read the heading of %s: it holds CR%s", r.path, loneCR(raw))
	}
	known := columnsOf(r.names)
	for _, name := range r.form.Columns {
		place, err := known.find(name)
		if err != nil {
			other := ""
			if len(r.names) == 1 {
				other = r.otherDelimiter(raw)
			}
			return refusef(errcode.InputColumns, "read the heading of %s: %v%s", r.path, err, other)
		}
		r.indexes = append(r.indexes, place)
	}
	r.rec.Heading = string(raw)
	return nil
}

// columns maps the names of columns to their positions, or to twice.
type columns struct {
	names  []string
	exact  map[string]int
	folded map[string]int // by the names as fold returns them
}

// twice is the position of a name that occurs more than once.
const twice = -1

func columnsOf(names []string) columns {
	c := columns{names, make(map[string]int, len(names)), make(map[string]int, len(names))}
	for i, name := range names {
		put(c.exact, name, i)
		put(c.folded, fold(name), i)
	}
	return c
}

func put(at map[string]int, name string, i int) {
	if _, seen := at[name]; seen {
		i = twice
	}
	at[name] = i
}

// fold returns the same text for all names that strings.EqualFold calls equal.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			least = min(least, other)
		}
		return least
	}, name)
}

// find returns a name's position. It looks for the exact name first, then for one that differs only in case, as Oracle
// treats unquoted names.
func (c columns) find(name string) (int, error) {
	i, found := c.exact[name]
	if !found {
		i, found = c.folded[fold(name)]
	}
	switch {
	case !found:
		return 0, fmt.Errorf("no column %s, only %s (if that line is a record, set input.header: false)",
			name, listNames(c.names))
	case i == twice:
		return 0, fmt.Errorf("column %s occurs twice; give one of them another name in the query", name)
	}
	return i, nil
}

// listNames returns the first names, in quotes if they contain control characters.
func listNames(names []string) string {
	var shown []string
	for _, name := range names[:min(len(names), 20)] {
		if strings.ContainsFunc(name, unicode.IsControl) {
			name = strconv.Quote(name)
		}
		shown = append(shown, name)
	}
	more := ""
	if len(names) > len(shown) {
		more = fmt.Sprintf(" and %d more", len(names)-len(shown))
	}
	return strings.Join(shown, ", ") + more
}

// loneCR suggests that the lines of a file end with CR alone, if its first line looks like that; otherwise "".
func loneCR(line []byte) string {
	if i := bytes.IndexByte(line, '\r'); i < 0 || i == len(line)-1 {
		return ""
	}
	return `; do its lines end with CR alone? Convert them to LF first, as with tr '\r' '\n'`
}

// otherDelimiter suggests a delimiter that occurs outside quotes in a line of one value; "" if there is none.
func (r *reader) otherDelimiter(line []byte) string {
	for _, d := range []string{",", ";", "|", "\t", "\x01"} {
		if d[0] != r.form.Delimiter && r.occursUnquoted(line, d[0]) {
			return fmt.Sprintf("; is %s the field delimiter?", ingest.FormatDelimiter([]byte(d)))
		}
	}
	return ""
}

// occursUnquoted reports whether a byte occurs outside the quotes of a line.
func (r *reader) occursUnquoted(line []byte, b byte) bool {
	quoted := false
	for _, c := range line {
		switch {
		case r.form.Quote != 0 && c == r.form.Quote:
			quoted = !quoted
		case c == b && !quoted:
			return true
		}
	}
	return false
}

// checkHeadings checks that all files have the same heading, because the file of rejects has only one.
func (f *Form) checkHeadings(fsys storage.FS, files []ingest.SourceFile) error {
	var first ingest.SourceFile
	heading := ""
	for _, file := range files {
		if f.NoHeading || file.Size == 0 {
			continue
		}
		r, err := f.open(fsys, file)
		if err != nil {
			return err
		}
		found := r.rec.Heading
		if err := r.Close(); err != nil {
			return err
		}
		switch {
		case found == "":
		case heading == "":
			first, heading = file, found
		case found != heading:
			return refusef(errcode.InputColumns, "read the heading of %s: it is %s, that of %s is %s; load them by two jobs",
				file, found, first, heading)
		}
	}
	return nil
}
