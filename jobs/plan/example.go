package plan

import (
	"cmp"
	"fmt"
	"unicode/utf8"

	"bulkload/ingest"
	"bulkload/jobs/jobfile"
	"bulkload/jobs/plan/stats"
)

// example is the row key of the first usable record that was read, taken apart.
type example struct {
	stats.Example
	position ingest.Position
}

// newExample takes the row key of a record apart; nil if it has none.
func newExample(j *jobfile.Job, r *ingest.Record) *example {
	pieces, err := j.RowKey.Pieces(r.Fields)
	if err != nil {
		return nil
	}
	e := &example{position: r.Position, Example: stats.Example{Record: r.Location()}}
	var whole []byte
	for i, part := range j.RowKey.Parts() {
		shown := stats.KeyPart{Text: part.Text, Columns: []string{}, Key: printableText(pieces[i]), Bytes: len(pieces[i])}
		for _, c := range part.Columns {
			shown.Columns = append(shown.Columns, fmt.Sprintf("%s = %s", j.Columns[c].Name, exampleValue(r.Fields[c].Bytes())))
		}
		e.Parts = append(e.Parts, shown)
		whole = append(whole, pieces[i]...)
	}
	e.Key = printableText(whole)
	return e
}

// exampleLength bounds a value in an example, in bytes.
const exampleLength = 60

func exampleValue(value []byte) string {
	if len(value) <= exampleLength {
		return printableText(value)
	}
	n := exampleLength
	for n > 0 && !utf8.RuneStart(value[n]) {
		n--
	}
	return printableText(value[:n]) + "…"
}

// earlier is the example whose record comes first in the input.
func earlier(a, b *example) *example {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	if cmp.Or(cmp.Compare(a.position.File.Ordinal, b.position.File.Ordinal), cmp.Compare(a.position.Offset, b.position.Offset),
		cmp.Compare(a.position.Number, b.position.Number)) <= 0 {
		return a
	}
	return b
}
