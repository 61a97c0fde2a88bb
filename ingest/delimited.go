package ingest

import (
	"bytes"
	"errors"
	"fmt"

	"bulkload/ingest/charset"
	"bulkload/internal/storage"
)

// Delimited is the form of a delimited export, such as Sqoop's text: fields and records end at delimiters of one or
// more bytes, without quotes or escapes, so that values may hold newlines but no delimiter. A record ends at the first
// record delimiter; what is before it is cut at field delimiters from the left.
type Delimited struct {
	Columns         []string
	FieldDelimiter  []byte
	RecordDelimiter []byte
	Null            []byte // the text of a null; nil: there is none
	// Charset is how the files write characters, delimiters too; nil is UTF-8. Null is UTF-8 in any case.
	Charset *charset.Charset `json:",omitempty"`
}

// Check says what makes the form unusable: no columns, an empty delimiter, or delimiters that hide each other.
func (d *Delimited) Check() error {
	switch {
	case len(d.Columns) == 0:
		return errors.New("read delimited text: no columns are named")
	case len(d.FieldDelimiter) == 0 && len(d.Columns) > 1:
		return errors.New("read delimited text: the field delimiter is empty")
	case len(d.RecordDelimiter) == 0:
		return errors.New("read delimited text: the record delimiter is empty")
	case len(d.FieldDelimiter) > 0 && bytes.Contains(d.FieldDelimiter, d.RecordDelimiter):
		return fmt.Errorf("read delimited text: the field delimiter %s holds the record delimiter %s, so fields would never end",
			FormatDelimiter(d.FieldDelimiter), FormatDelimiter(d.RecordDelimiter))
	}
	return d.checkCharset()
}

// Split is a part of a file: the records that begin in [Start, End).
type Split struct {
	File       File
	Start, End int64
}

// Splits cuts files into parts of about size bytes that can be read side by side and together hold each record once,
// in the order of the files. A file is left whole where its record delimiter can overlap itself, as || does: which
// bytes of ||| are the delimiter only a reader from the start can tell. Empty files give no split. A size of 0 or less
// cuts nothing.
func (d *Delimited) Splits(_ storage.FS, files []File, size int64) ([]Split, error) {
	var splits []Split
	for _, f := range files {
		whole := size <= 0 || overlapsItself(d.RecordDelimiter)
		for start := int64(0); start < f.Size; {
			end := start + size
			// What is left over goes to the last split, so that none is tiny.
			if whole || 2*(f.Size-end) <= size {
				end = f.Size
			}
			splits = append(splits, Split{File: f, Start: start, End: end})
			start = end
		}
	}
	return splits, nil
}

// RejectDelimiter is the record delimiter, so that the rejects can be read as input again.
func (d *Delimited) RejectDelimiter() []byte { return d.RecordDelimiter }

// overlapsItself says whether two occurrences of delimiter can share bytes: whether it ends as it begins.
func overlapsItself(delimiter []byte) bool {
	for n := 1; n < len(delimiter); n++ {
		if bytes.HasSuffix(delimiter, delimiter[:n]) {
			return true
		}
	}
	return false
}

// Open begins to read a split. The file must be as long as when it was listed.
func (d *Delimited) Open(fsys storage.FS, split Split) (Records, error) {
	if err := d.Check(); err != nil {
		return nil, err
	}
	file, err := fsys.Open(split.File.Path)
	if err != nil {
		return nil, err
	}
	r := newReader(d, file, split)
	r.rec.fsys = fsys
	if err := r.begin(); err != nil {
		file.Close()
		return nil, err
	}
	return r, nil
}
