package delimited

import (
	"path/filepath"
	"strings"
	"testing"

	"bulkload/ingest"
	"bulkload/internal/storage"
	"bulkload/internal/test/testfs"
)

func TestLineEnds(t *testing.T) {
	for content, want := range map[string]string{
		"1,a\r\n2,\r\n":     `the first 2 records of NAME end with CR, which becomes a part of column b: is the record delimiter \r\n?`,
		"1,a\r\nbad\n2,b\r": `the first 2 records of NAME end with CR`,
		"1,a\r\n2,b\n":      "",
		"1,a\n":             "",
		"1\r\n2\r\n":        "", // all of them are rejects, for which there is another answer
	} {
		dir := testfs.Tree(t, map[string]string{"a": "", "b": content})
		files, err := ingest.List(storage.Local, dir)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, "b")
		d := &Form{Columns: []string{"a", "b"}, FieldDelimiter: []byte(","), RecordDelimiter: []byte("\n")}
		got := strings.ReplaceAll(d.LineEnds(storage.Local, files), name, "NAME")
		if !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%q: %s, want %s", content, got, want)
		}
		d.RecordDelimiter = []byte("\r\n")
		if got := d.LineEnds(storage.Local, files); got != "" {
			t.Errorf("%q by CR LF: %s", content, got)
		}
	}
}

// TestUnended: a plain file that ends without its record delimiter may have been cut short; a compressed one has other
// signs.
func TestUnended(t *testing.T) {
	dir := testfs.Tree(t, map[string]string{"a-empty": "", "b-cut": "1|a\r\n2|b\r", "c-whole": "1|a\r\n", "d-short": "1", "e.gz": "\x1f\x8bno delimiter at its end",
		"f-cut": "1|a\r\n2", "rejects.dat": "1|a\r\n"})
	files, err := ingest.List(storage.Local, dir)
	if err != nil {
		t.Fatal(err)
	}
	d := &Form{Columns: []string{"a", "b"}, FieldDelimiter: []byte("|"), RecordDelimiter: []byte("\r\n")}
	var names []string
	for _, f := range d.Unended(storage.Local, files) {
		names = append(names, filepath.Base(f.Path))
	}
	if got := strings.Join(names, " "); got != "b-cut d-short f-cut" {
		t.Errorf("unended: %s", got)
	}
	if got := d.Unended(storage.Local, []ingest.SourceFile{{Path: filepath.Join(dir, "gone"), Size: 10}}); got != nil {
		t.Errorf("a file that is not there: %v", got)
	}
}
