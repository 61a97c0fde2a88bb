package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"bulkload/ingest"
	"bulkload/internal/printable"
	"bulkload/jobs/pipeline/entry"
	"bulkload/jobs/spec/jobfile"
	"bulkload/jobs/stats"
	"bulkload/values"
)

const (
	recordsShown = 3
	fieldsShown  = 100 // of a record
	bytesShown   = 120 // of a value or key part
)

// shownRecords are the first records of the input that become rows and, if these are too few, the first that don't.
type shownRecords struct {
	piece         int // being read
	rows, refused []shownRecord
}

// shownRecord is a record with its place in the input.
type shownRecord struct {
	stats.SampleRecord
	piece  int
	offset int64 // in the piece's file
}

// wants reports whether the next record can be among the first. A goroutine reads pieces in ascending order, so no
// later record can be once there are enough.
func (s *shownRecords) wants() bool { return len(s.rows) < recordsShown }

// add adds a record whose key was built.
func (s *shownRecords) add(c *candidate, r *ingest.Record, k *entry.Key) {
	shown := shownRecord{newShown(c.job, r, k), s.piece, r.Offset}
	shown.Row, shown.RowBytes, shown.Timestamp = printable.Bytes(k.Row[:min(len(k.Row), bytesShown)]),
		len(k.Row), k.Timestamp
	if apart, err := c.job.RowKey.Apart(r.Fields); err == nil {
		for i, p := range c.job.RowKey.Parts() {
			shown.Key = append(shown.Key, stats.KeyPart{Part: p.Text,
				Value: printable.Bytes(apart[i][:min(len(apart[i]), bytesShown)])})
		}
	}
	shown.Qualifier = printable.Bytes(k.Named()[:min(len(k.Named()), bytesShown)])
	s.rows = append(s.rows, shown)
}

// addRefused adds a record that does not become a row, and why.
func (s *shownRecords) addRefused(c *candidate, r *ingest.Record, err error) {
	if len(s.rows)+len(s.refused) >= recordsShown {
		return
	}
	shown := shownRecord{newShown(c.job, r, nil), s.piece, r.Offset}
	shown.Refused = "the job's filter does not want it"
	if bad := new(ingest.BadRecord); errors.As(err, &bad) {
		if shown.Refused = bad.Reason; bad.Column != "" {
			shown.Refused = fmt.Sprintf("column %s: %s", bad.Column, bad.Reason)
		}
	}
	s.refused = append(s.refused, shown)
}

// merge adds what another goroutine found, and keeps the first records of both.
func (s *shownRecords) merge(o *shownRecords) {
	s.rows, s.refused = firstOf(s.rows, o.rows), firstOf(s.refused, o.refused)
}

func firstOf(a, b []shownRecord) []shownRecord {
	all := append(a, b...)
	slices.SortStableFunc(all, func(a, b shownRecord) int {
		return cmp.Or(cmp.Compare(a.piece, b.piece), cmp.Compare(a.offset, b.offset))
	})
	return all[:min(len(all), recordsShown)]
}

func (s *shownRecords) list() []stats.SampleRecord {
	var list []stats.SampleRecord
	for _, r := range firstOf(nil, append(slices.Clip(s.rows),
		s.refused[:min(len(s.refused), recordsShown-len(s.rows))]...)) {
		list = append(list, r.SampleRecord)
	}
	return list
}

// newShown returns a record's fields, and the cells that they become if the record has a key.
func newShown(j *jobfile.Job, r *ingest.Record, k *entry.Key) stats.SampleRecord {
	shown := stats.SampleRecord{At: r.Location()}
	columns := j.ValueColumns()
	for i := range columns[:min(len(columns), fieldsShown)] {
		f := stats.Field{Name: columns[i].Name}
		if i < len(j.Columns) {
			f.Value = shownValue(&f, r.Fields[i])
		}
		if k != nil && !columns[i].Skip {
			showCell(&f, &columns[i], k, k.Values[i])
		}
		shown.Fields = append(shown.Fields, f)
	}
	shown.MoreFields = len(columns) - len(shown.Fields)
	return shown
}

// showCell adds the cell that a value becomes. A null has no cell.
func showCell(f *stats.Field, c *jobfile.Column, k *entry.Key, stored values.Value) {
	if stored.Null() {
		return
	}
	f.Cell = c.Family + ":" + readable(append(slices.Clip(k.Named()[:min(len(k.Named()), bytesShown)]), c.Qualifier...))
	text := shownValue(f, stored)
	if c.Binary {
		hex := printable.Bytes(stored.Bytes()[:min(stored.Len(), bytesShown)])
		text = &hex
	}
	if f.Value == nil || *text != *f.Value {
		f.Stored = text
	}
}

// shownValue returns the beginning of a value as text; nil for a null.
func shownValue(f *stats.Field, v values.Value) *string {
	if v.Null() {
		return nil
	}
	b := v.Bytes()
	if len(b) > bytesShown {
		f.Cut = true
		b = b[:bytesShown]
		for cut := 0; cut < utf8.UTFMax && !utf8.Valid(b); cut++ { // don't cut a character
			b = b[:len(b)-1]
		}
		if !utf8.Valid(b) {
			b = v.Bytes()[:bytesShown]
		}
	}
	text := readable(b)
	return &text
}

// readable returns text with its control characters as HBase's shell writes them. If b is not text, all of it is in the
// shell's notation.
func readable(b []byte) string {
	if !utf8.Valid(b) {
		return printable.Bytes(b)
	}
	var text strings.Builder
	for _, r := range string(b) {
		if unicode.IsControl(r) {
			text.WriteString(printable.Bytes([]byte(string(r))))
		} else {
			text.WriteRune(r)
		}
	}
	return text.String()
}
