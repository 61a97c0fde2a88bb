// Package page has what the HTML pages of plan and run share: one style for screens and paper, and charts drawn as SVG. A page
// is one file that needs nothing from elsewhere: no script, no font, no image.
package page

import (
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

//go:embed shared.html
var shared string

// New parses the template of a page. It may use the templates "style" (for the head) and "chart", and the functions text,
// cut, count, plural, duration and join besides its own.
func New(text string, own template.FuncMap) *template.Template {
	funcs := template.FuncMap{"text": Text, "cut": Cut, "count": Count, "plural": Plural, "duration": Duration, "join": strings.Join}
	t := template.Must(template.New("page").Funcs(funcs).Funcs(own).Parse(shared))
	return template.Must(t.Parse(text))
}

// WriteFile writes a page, and replaces an older one at once: a reader finds the old page or the new one, never a part. Only
// the owner may read it, since pages show row keys and records.
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

// Text shows a text of the data, the job file or the file system: what could not be seen, such as a control character, a change
// of the writing direction or a byte that is no UTF-8, is written as an escape.
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
