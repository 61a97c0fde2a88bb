package delimited

import (
	"bytes"
	"fmt"

	"bulkload/ingest"
)

// hintRecords is how many records at the start of a file are looked at to tell a bad record from a wrong job file.
const hintRecords = 1000

// hint says what is wrong with the file as a whole, where its start looks like that. The record in r.rec is its first.
func (r *Reader) hint() string {
	start := r.buf[:r.fill]
	first := r.rec.Raw
	looked := start[:min(len(start), ingest.LookAt)]
	zeros := bytes.Count(looked, []byte{0})
	if zeros*100 > len(looked) && bytes.IndexByte(r.form.FieldDelimiter, 0) < 0 && bytes.IndexByte(r.form.RecordDelimiter, 0) < 0 {
		return fmt.Sprintf("%d of the first %d bytes are zero: is the file text?", zeros, len(looked))
	}
	if len(first) >= chunkSize || r.eof && r.pos >= r.fill && !bytes.HasSuffix(start, r.form.RecordDelimiter) {
		if other := otherDelimiter(first[:min(len(first), chunkSize)], r.form.RecordDelimiter); other != "" {
			return fmt.Sprintf("the first %d bytes hold no record delimiter %s%s",
				min(len(first), chunkSize), ingest.FormatDelimiter(r.form.RecordDelimiter), other)
		}
	}
	return r.driftHint(start[r.pos:])
}

// driftHint compares the first record with those in rest, whose last one may be cut off.
func (r *Reader) driftHint(rest []byte) string {
	columns, seen := r.columns(r.rec.Raw), 1
	for seen < hintRecords {
		raw, behind, found := bytes.Cut(rest, r.form.RecordDelimiter)
		if !found {
			break
		}
		if r.columns(raw) != columns {
			return ""
		}
		seen, rest = seen+1, behind
	}
	if seen < 2 {
		return ""
	}
	if columns == 1 {
		return fmt.Sprintf("none of the first %d records has the field delimiter %s%s",
			seen, ingest.FormatDelimiter(r.form.FieldDelimiter), r.otherField())
	}
	return fmt.Sprintf("every one of the first %d records has %d columns, the job file names %d", seen, columns, len(r.form.Columns))
}

// otherField counts, since a delimiter of delimited text is never quoted; csv.reader.otherDelimiter can only ask. It looks in the first record, which has no field delimiter, for what may be the real one: what would give as many
// columns as there are, else what is there and likely.
func (r *Reader) otherField() string {
	text, _ := r.form.Charset.Append(nil, r.rec.Raw)
	likely, found := "", 0
	for _, c := range []string{"\x01", "\t", "|", ";", ",", "\x02", "^"} {
		switch n := bytes.Count(text, []byte(c)); {
		case n == 0:
		case n+1 == len(r.form.Columns):
			return fmt.Sprintf(", but the first one %d times %s: is that it?", n, ingest.FormatDelimiter([]byte(c)))
		case likely == "":
			likely, found = c, n
		}
	}
	if likely == "" {
		return ""
	}
	return fmt.Sprintf(", but the first one %d times %s: is that it?", found, ingest.FormatDelimiter([]byte(likely)))
}

// otherDelimiter looks in a piece of a file, where delimiter does not occur, for a byte that may be the real one.
func otherDelimiter(piece, delimiter []byte) string {
	for _, c := range []string{"\x10", "\n", "\x1e", "\x02"} {
		if n := bytes.Count(piece, []byte(c)); n > 0 && string(delimiter) != c {
			return fmt.Sprintf(", but %d times %s: is that it?", n, ingest.FormatDelimiter([]byte(c)))
		}
	}
	return ""
}
