// Package delimited reads text whose fields and records end at delimiters, such as Sqoop's, with escapes and enclosures
// or without.
//
//	form.go       what the job file says of the files, and how they are cut into splits
//	reader.go     records out of one split
//	text.go       the text of compressed files
//	fields.go     columns out of one record without escapes
//	scan.go       where a record with escapes or enclosures and its fields end; scanned.go reads such records
//	decoded.go    records of files in other charsets than UTF-8; the charsets are in ingest/charset
//	hint.go       what is probably wrong where every record is bad
//	line_ends.go  what looks wrong at the records' ends
package delimited

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"

	"bulkload/ingest"
	"bulkload/ingest/charset"
	"bulkload/ingest/compressed"
	"bulkload/internal/storage"
)

// Form is the form of a delimited export, such as Sqoop's text: fields and records end at delimiters of one or
// more bytes. Without escapes and enclosures values may hold newlines but no delimiter: a record ends at the first
// record delimiter; what is before it is cut at field delimiters from the left. With them it is read as Sqoop's own
// classes write and parse it: see scanner. Files may be compressed.
type Form struct {
	Columns         []string
	FieldDelimiter  []byte
	RecordDelimiter []byte
	Null            []byte // the text of a null; nil: there is none
	// ColumnNulls are each column's texts of a null, in place of Null; nil: Null is all columns'.
	ColumnNulls [][][]byte
	// Escape makes the character behind it stand for itself (Sqoop's --escaped-by); 0: there is none.
	Escape byte
	// Enclosure stands around a value that holds a delimiter (--optionally-enclosed-by), or around every value
	// (--enclosed-by, EncloseAll); 0: there is none.
	Enclosure  byte
	EncloseAll bool
	// Strict says that this program has written the files, with an escape before each byte of a value that means something:
	// the text of a null that has escapes is a value, and nothing stands between records.
	Strict bool
	// Compression of the files; Auto, the default, looks at each one.
	Compression compressed.Codec
	// Charset is how the files write characters, delimiters too; nil is UTF-8. Null is UTF-8 in any case.
	Charset *charset.Charset
}

// Check says what makes the form unusable: no columns, an empty delimiter, or delimiters that hide each other.
func (d *Form) Check() error {
	switch {
	case len(d.Columns) == 0:
		return errors.New("read delimited text: no columns are named")
	case len(d.FieldDelimiter) == 0 && len(d.Columns) > 1:
		return errors.New("read delimited text: the field delimiter is empty")
	case len(d.RecordDelimiter) == 0:
		return errors.New("read delimited text: the record delimiter is empty")
	case len(d.FieldDelimiter) > 0 && bytes.Contains(d.FieldDelimiter, d.RecordDelimiter):
		return fmt.Errorf("read delimited text: the field delimiter %s holds the record delimiter %s, so fields would never end",
			ingest.FormatDelimiter(d.FieldDelimiter), ingest.FormatDelimiter(d.RecordDelimiter))
	}
	if err := d.checkMarks(); err != nil {
		return err
	}
	return d.checkCharset()
}

// checkMarks wants an escape and an enclosure that can be told from each other and from the delimiters.
func (d *Form) checkMarks() error {
	for _, mark := range []struct {
		what string
		byte byte
	}{{"escape character", d.Escape}, {"enclosure", d.Enclosure}} {
		switch {
		case mark.byte == 0:
		case mark.byte >= 0x80:
			return fmt.Errorf("read delimited text: the %s %s is not ASCII", mark.what, quoted(mark.byte))
		case bytes.IndexByte(d.FieldDelimiter, mark.byte) >= 0, bytes.IndexByte(d.RecordDelimiter, mark.byte) >= 0:
			return fmt.Errorf("read delimited text: the %s %s is in a delimiter, too", mark.what, quoted(mark.byte))
		}
	}
	if d.Escape != 0 && d.Escape == d.Enclosure {
		return fmt.Errorf("read delimited text: %s is the escape character and the enclosure; where a quote inside a value is doubled, "+
			"the export is CSV: use format: csv", quoted(d.Escape))
	}
	return nil
}

// needsScanner says whether records are more than bytes between delimiters.
func (d *Form) needsScanner() bool { return d.Escape != 0 || d.Enclosure != 0 }

// Splits cuts files into parts of about size bytes that can be read side by side and together hold each record once,
// in the order of the files. A file is left whole where it is compressed, where the form has escapes or enclosures, and
// where its record delimiter can overlap itself, as || does: which bytes of ||| are the delimiter only a reader from
// the start can tell. Only files that would be cut are looked into. Empty files give no split. A size of 0 or less cuts
// nothing.
func (d *Form) Splits(fsys storage.FS, files []ingest.File, size int64) ([]ingest.Split, error) {
	var splits []ingest.Split
	for _, f := range files {
		whole := size <= 0 || d.needsScanner() || overlapsItself(d.RecordDelimiter)
		if !whole && 2*f.Size > 3*size {
			codec, err := d.detectCodec(fsys, f)
			if err != nil {
				return nil, err
			}
			whole = codec != compressed.None
		}
		for start := int64(0); start < f.Size; {
			end := start + size
			// What is left over goes to the last split, so that none is tiny.
			if whole || 2*(f.Size-end) <= size {
				end = f.Size
			}
			splits = append(splits, ingest.Split{File: f, Start: start, End: end})
			start = end
		}
	}
	return splits, nil
}

// detectCodec tells how a file is compressed, and refuses one that is no text.
func (d *Form) detectCodec(fsys storage.FS, f ingest.File) (compressed.Codec, error) {
	file, err := fsys.Open(f.Path)
	if err != nil {
		return compressed.None, err
	}
	defer file.Close() // only read
	head := make([]byte, min(f.Size, ingest.DetectLen))
	if n, err := file.ReadAt(head, 0); n < len(head) {
		return compressed.None, fmt.Errorf("read the start of %s: %w", f.Path, cmp.Or(err, io.ErrUnexpectedEOF))
	}
	codec := d.Compression
	if codec == compressed.Auto {
		if codec, err = compressed.Detect(f.Path, head); err != nil {
			return codec, err
		}
	}
	if codec == compressed.None {
		err = ingest.DetectForeign(f.Path, head)
	}
	return codec, err
}

// RejectDelimiter is the record delimiter, so that the rejects can be read as input again; with escapes or enclosures it is
// one that ends a reject whatever is open in it.
func (d *Form) RejectDelimiter() []byte {
	if !d.needsScanner() || d.Strict || d.Escape == ingest.RejectSeparator || d.Enclosure == ingest.RejectSeparator ||
		bytes.IndexByte(d.RecordDelimiter, ingest.RejectSeparator) >= 0 || bytes.IndexByte(d.FieldDelimiter, ingest.RejectSeparator) >= 0 {
		return d.RecordDelimiter
	}
	return ingest.RejectEnd(d.RecordDelimiter)
}

// Codec is what the files are compressed with.
func (d *Form) Codec() compressed.Codec { return d.Compression }

// RowOffsets is false: a record's offset is its first byte's.
func (d *Form) RowOffsets() bool { return false }

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
func (d *Form) Open(fsys storage.FS, split ingest.Split) (ingest.Records, error) {
	if err := d.Check(); err != nil {
		return nil, err
	}
	file, err := fsys.Open(split.File.Path)
	if err != nil {
		return nil, err
	}
	r := newReader(d, file, split)
	r.rec.Position = ingest.PositionIn(fsys, split.File, 0, 0)
	if err := r.begin(); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}
