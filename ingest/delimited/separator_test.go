package delimited

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"bulkload/ingest"
)

const keptIn = "/out/.rejects/" + ingest.RejectsFile

// rejectsOf are a file's rejects, and the file that keeps them.
func rejectsOf(t testing.TB, d *Form, name, content string) (bad []got, file string) {
	t.Helper()
	for _, g := range readNamed(t, d, name, content) {
		if g.reason != "" {
			file += strings.ReplaceAll(g.raw, "\x1e", "\x1e\x1e") + string(d.RejectDelimiter())
			g.offset, g.number = 0, 0
			bad = append(bad, g)
		}
	}
	return bad, file
}

// TestScannedRejectsAreInput: rejects with open enclosures and escapes at their end, read again, are the same rejects.
func TestScannedRejectsAreInput(t *testing.T) {
	forms := []*Form{
		{Columns: []string{"a", "b"}, FieldDelimiter: []byte(","), RecordDelimiter: []byte("\n"), Escape: '\\', Enclosure: '"'},
		{Columns: []string{"a", "b"}, FieldDelimiter: []byte(","), RecordDelimiter: []byte("\n"), Enclosure: '"'},
		{Columns: []string{"a", "b"}, FieldDelimiter: []byte("\x01"), RecordDelimiter: []byte("\r\n"), Escape: '\\'},
		{Columns: []string{"a", "b"}, FieldDelimiter: []byte("|"), RecordDelimiter: []byte("\n"), Escape: '\\', Enclosure: '"', EncloseAll: true,
			Charset: charsetNamed(t, "gbk")},
	}
	rng := rand.New(rand.NewPCG(1, 9))
	pieces := []string{"\"", "\"", ",", ",", "|", "\x01", "\n", "\n", "\r\n", "\\", "a", "b", "\xff", "\x81\x7c", "\x95\x5c", "\x1e", "\n\x1e\n", "1,\"x\n", "1\x002\x00", "\xff\xfe"}
	for range 20000 {
		b := *bytes.NewBufferString("1") // the input doesn't begin with a mark, but its rejects may
		for range rng.IntN(20) {
			b.WriteString(pieces[rng.IntN(len(pieces))])
		}
		d := forms[rng.IntN(len(forms))]
		bad, file := rejectsOf(t, d, "/memory", b.String())
		again, fileAgain := rejectsOf(t, d, keptIn, file)
		if !reflect.DeepEqual(again, bad) || fileAgain != file || len(readNamed(t, d, keptIn, file)) != len(bad) {
			t.Fatalf("%q of %q:\n rejects %+v\n in file %q\n again %+v", d.FieldDelimiter, b.String(), bad, file, again)
		}
	}
}
