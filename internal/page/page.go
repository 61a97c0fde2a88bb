// Package page has the HTML pages of plan, run and serve: their templates, one style for screens and paper, and charts
// drawn as SVG. A page of plan or run is one file that needs nothing from elsewhere: no script, no font, no image.
package page

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"bulkload/internal/bytesize"
)

//go:embed *.html serve.js
var files embed.FS

// pages are parsed when the first one is written, because most commands write none.
var pages = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"text": Text, "cut": Cut, "start": start, "count": Count, "plural": Plural[int],
		"plural64": Plural[int64], "duration": Duration,
		"join": strings.Join, "size": bytesize.Format,
		"float":   func(n float64) string { return Count(int64(n + 0.5)) },
		"bytes":   func(n float64) string { return bytesize.Format(int64(n)) },
		"rate":    func(bytesPerSecond float64) string { return bytesize.Format(int64(bytesPerSecond)) + "/s" },
		"seconds": func(s float64) string { return fmt.Sprintf("%.2f s", s) },
		"more":    func(shown, all int) int { return max(0, all-shown) },
		"lines":   func(err string) []string { return strings.Split(Cut(4000, err), "\n") },
		"when":    func(t time.Time) string { return t.Format("2006-01-02 15:04:05 -07:00") },
	}).ParseFS(files, "*.html"))
})

// WritePlan writes the page of a plan, whose content is a stats.PlanPage.
func WritePlan(w io.Writer, content any) error {
	return pages().ExecuteTemplate(w, "plan.html", content)
}

// WriteRun writes the page of a command's result, whose content is a summary.RunPage.
func WriteRun(w io.Writer, content any) error { return pages().ExecuteTemplate(w, "run.html", content) }

// WriteServe writes the page on which a person tries the queries of a service, with its title. It runs ServeScript.
func WriteServe(w io.Writer, title string) error {
	return pages().ExecuteTemplate(w, "serve.html", title)
}

// ServeScript is the script of that page, to be served as page.js.
func ServeScript() []byte {
	script, _ := files.ReadFile("serve.js") // it is embedded
	return script
}

// Fact is one of the figures at the top of a table's part.
type Fact struct{ Name, Value, More string }

// Check is a finding. Class selects its colour: problem or warning.
type Check struct{ Class, State, Code, Text, Remedy string }

// RegionTable lists the largest regions of a table, in their order, and the number of the others.
type RegionTable struct {
	Heads   []string // of the figures
	Regions []RegionLine
	More    int
}

// RegionLine is a line of a RegionTable.
type RegionLine struct {
	Number     int
	Start, End string
	Rows       int64
	Figures    []string
}

// WriteFile writes a page and atomically replaces an older one: a reader finds the old page or the new one, never a
// part. Only the owner may read it, because pages show row keys and records.
func WriteFile(name string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".bulkload-page-*") // with mode 0600
	if err != nil {
		return fmt.Errorf("write the page %s: %w", name, err)
	}
	err = errors.Join(write(f), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return fmt.Errorf("write the page %s: %w", name, errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}

// Text shows a text of the data, the job file or the file system. Anything that could not be seen, such as a control
// character, a change of the writing direction or a byte that is not UTF-8, is written as an escape.
func Text(s string) string {
	if strings.IndexFunc(s, hidden) < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x100 && hidden(r):
			fmt.Fprintf(&b, `\x%02x`, r)
		case hidden(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func hidden(r rune) bool { return !unicode.IsGraphic(r) }

// Cut shortens a text to n characters, and marks that with an ellipsis.
func Cut(n int, s string) string { return shorten(s, n) }

// start is the start of a record whose end may be cut off.
func start(record []byte, cut bool) string {
	if !cut {
		return string(record)
	}
	for n := 1; n < utf8.UTFMax && n <= len(record); n++ { // not half of a character at the end
		if last := record[len(record)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				record = record[:len(record)-n]
			}
			break
		}
	}
	return string(record) + "…"
}

// Largest returns the n largest elements, in the order in which they are given.
func Largest[T any, S cmp.Ordered](all []T, n int, size func(T) S) []T {
	if len(all) <= n {
		return slices.Clone(all)
	}
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(size(all[b]), size(all[a])) })
	order = order[:n]
	slices.Sort(order)
	out := make([]T, n)
	for i, at := range order {
		out[i] = all[at]
	}
	return out
}
