package main

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"bulkload/jobs/spec/jobfile"
	"bulkload/jobs/stats"
)

// Limits of a record in the text of a plan; --json and --html show more.
const (
	columnsShown = 40
	widthShown   = 34 // characters of a value
)

// writeRecords shows the first records side by side: the value of each column, the cell that it becomes, and the parts
// of the row key.
func writeRecords(w io.Writer, p *stats.InputReport) {
	t := stats.NewRecordTable(p, columnsShown, widthShown)
	if t == nil {
		return
	}
	line(w, "records", "the first %d, with their cells and the parts of their row keys", len(t.Records))
	widths := make([]int, 2+len(t.Records))
	for _, l := range t.Lines {
		for i, text := range append([]string{l.Name, l.Cell}, l.Values...) {
			widths[i] = max(widths[i], columnsOf(text))
		}
	}
	for i, l := range t.Lines {
		if l.Key && (i == 0 || !t.Lines[i-1].Key) {
			writeMore(w, t.More)
		}
		var b strings.Builder
		for i, text := range append([]string{l.Name, l.Cell}, l.Values...) {
			fmt.Fprintf(&b, "%s%s  ", text, strings.Repeat(" ", max(0, widths[i]-columnsOf(text))))
		}
		line(w, "", "%s", strings.TrimRight(b.String(), " "))
	}
	if n := len(t.Lines); n == 0 || !t.Lines[n-1].Key {
		writeMore(w, t.More)
	}
	for i, row := range t.Rows {
		line(w, "", "row %d of %s: %s", i+1, t.Records[i], row)
	}
}

// rejectWidth is how many characters of an unusable record are shown.
const rejectWidth = 80

// writeRejected shows the first unusable records: their place, the reason and their beginning.
func writeRejected(w io.Writer, p *stats.InputReport) {
	title := "rejected"
	for i := range p.RejectedRecords {
		r := &p.RejectedRecords[i]
		line(w, title, "%s: %s: %s", r.At, r.Why(), r.Quoted(rejectWidth))
		title = ""
	}
	if more := p.Rejected - int64(len(p.RejectedRecords)); more > 0 && len(p.RejectedRecords) > 0 {
		line(w, "", "and %s more", count(more))
	}
}

// columnsOf is how many columns of a terminal a text takes, two for each Chinese character.
func columnsOf(text string) int {
	n := 0
	for _, r := range text {
		n++
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) || r >= '\u3000' && r <= '\u303f' ||
			r >= '\uff01' && r <= '\uff60' {
			n++
		}
	}
	return n
}

func writeMore(w io.Writer, more int) {
	if more > 0 {
		line(w, "", "and %s more", jobfile.Plural(more, "column"))
	}
}
