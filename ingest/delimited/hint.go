package delimited

import (
	"bytes"
	"fmt"

	"bulkload/ingest"
)

// hintRecords is how many records at the start of a file are examined to distinguish a bad record from a wrong job
// file.
const hintRecords = 1000

// hint says what is wrong with the file as a whole, if its start suggests it. r.rec holds the first record.
func (r *Reader) hint() string {
	start := r.buf[:r.fill]
	first := r.rec.Raw
	looked := start[:min(len(start), ingest.DetectLen)]
	zeros := bytes.Count(looked, []byte{0})
	if zeros*100 > len(looked) && bytes.IndexByte(r.form.FieldDelimiter, 0) < 0 &&
		bytes.IndexByte(r.form.RecordDelimiter, 0) < 0 {
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
		raw, after, found := r.cutRecord(rest)
		if !found {
			break
		}
		if r.columns(raw) != columns {
			return ""
		}
		seen, rest = seen+1, after
	}
	if seen < 2 {
		return ""
	}
	if columns == 1 {
		return fmt.Sprintf("none of the first %d records has the field delimiter %s%s",
			seen, ingest.FormatDelimiter(r.form.FieldDelimiter), r.otherField())
	}
	return fmt.Sprintf("every one of the first %d records has %d columns, the job file names %d",
		seen, columns, len(r.form.Columns))
}

// quoted reports whether a value of r.rec begins with a double quote although the form has no enclosure.
func (r *Reader) quoted() bool {
	raw := r.rec.Raw
	return r.form.Enclosure == 0 && (bytes.HasPrefix(raw, []byte{'"'}) ||
		bytes.Contains(raw, append(bytes.Clone(r.form.FieldDelimiter), '"')))
}

// cutRecord cuts text after its first record; false if the record may continue after text. A record delimiter may be
// escaped or enclosed.
func (r *Reader) cutRecord(text []byte) (raw, after []byte, found bool) {
	if r.scan == nil {
		return bytes.Cut(text, r.form.RecordDelimiter)
	}
	if len(text) == 0 {
		return nil, nil, false
	}
	end, next, err := r.scan.record(text, r.eof)
	if err != nil {
		return nil, nil, false
	}
	return text[:end], text[next:], true
}

// otherField searches the first record, which has no field delimiter, for the likely one: preferably one that yields
// the right number of columns. Occurrences that are escaped or enclosed do not count.
func (r *Reader) otherField() string {
	likely, found := "", 0
	for _, c := range []string{"\x01", "\t", "|", ";", ",", "\x02", "^"} {
		switch n := r.delimitersIn(r.rec.Raw, c); {
		case n == 0:
		case n+1 == len(r.form.Columns):
			return suggest(c, n, " in the first one")
		case likely == "":
			likely, found = c, n
		}
	}
	if likely == "" {
		return ""
	}
	return suggest(likely, found, " in the first one")
}

// delimitersIn is how many field delimiters a record would have if c were the delimiter.
func (r *Reader) delimitersIn(raw []byte, c string) int {
	if r.scan == nil {
		text, _ := r.form.Charset.Append(nil, raw)
		return bytes.Count(text, []byte(c))
	}
	other := *r.form
	other.FieldDelimiter = []byte(c)
	if other.Escape == c[0] || other.Enclosure == c[0] {
		return 0
	}
	return max(newScanner(&other, r.split.File.Path).count(raw)-1, 0)
}

// suggest words the question whether c, which occurs n times, is the delimiter.
func suggest(c string, n int, where string) string {
	times := "once"
	if n > 1 {
		times = fmt.Sprintf("%d times", n)
	}
	return fmt.Sprintf(", but %s occurs %s%s: is that the delimiter?", ingest.FormatDelimiter([]byte(c)), times, where)
}

// otherDelimiter searches a piece of a file that has no delimiter for a byte that may be the real one.
func otherDelimiter(piece, delimiter []byte) string {
	for _, c := range []string{"\x10", "\n", "\x1e", "\x02"} {
		if n := bytes.Count(piece, []byte(c)); n > 0 && string(delimiter) != c {
			return suggest(c, n, "")
		}
	}
	return ""
}
