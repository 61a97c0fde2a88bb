// Package delimited reads text whose fields and records end at delimiters, such as Sqoop's, with or without escapes
// and enclosures.
//
//	form.go       the settings from the job file, and how files are cut into splits
//	reader.go     records out of one split
//	text.go       the text of compressed files
//	fields.go     columns out of one record without escapes
//	scan.go       the ends of fields and records with escapes or enclosures; scanned.go reads such records
//	decoded.go    records of files in charsets other than UTF-8; the charsets are in ingest/charset
//	hint.go       what is probably wrong if every record is bad
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
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
)

// Form is the form of a delimited export, such as Sqoop's text: fields and records end at delimiters of one or more
// bytes. Without escapes and enclosures, values may contain newlines but no delimiter: a record ends at the first
// record delimiter, and is split at field delimiters from the left. With them, it is read as Sqoop's own classes
// write and parse it: see scanner. Files may be compressed.
type Form struct {
	Columns         []string
	FieldDelimiter  []byte
	RecordDelimiter []byte
	Null            []byte // the text of a null; nil: none
	// ColumnNulls are the texts of a null for each column, instead of Null; nil: Null is for all columns.
	ColumnNulls [][][]byte
	// Escape makes the character after it literal (Sqoop's --escaped-by); 0: none.
	Escape byte
	// Enclosure encloses values with a delimiter (--optionally-enclosed-by), or every value (--enclosed-by,
	// EncloseAll); 0: none.
	Enclosure  byte
	EncloseAll bool
	// Strict says that this program wrote the files, with an escape before each special byte of a value. Then text that
	// has escapes is never a null, and there is nothing between records.
	Strict bool
	// Compression of the files; Auto, the default, detects it for each one.
	Compression compressed.Codec
	// Charset is the files' charset, for delimiters too; nil is UTF-8. Null is always UTF-8.
	Charset *charset.Charset
}

// Check says why the form is unusable: no columns, an empty delimiter, or delimiters that hide each other.
func (d *Form) Check() error {
	switch {
	case len(d.Columns) == 0:
		return errors.New("read delimited text: no columns are named")
	case len(d.FieldDelimiter) == 0 && len(d.Columns) > 1:
		return errors.New("read delimited text: the field delimiter is empty")
	case len(d.RecordDelimiter) == 0:
		return errors.New("read delimited text: the record delimiter is empty")
	case len(d.FieldDelimiter) > 0 && bytes.Contains(d.FieldDelimiter, d.RecordDelimiter):
		return errcode.JobValue.Errorf("read delimited text: the field delimiter %s contains the record delimiter %s, so "+
			"fields would never end",
			ingest.FormatDelimiter(d.FieldDelimiter), ingest.FormatDelimiter(d.RecordDelimiter))
	}
	if err := d.checkMarks(); err != nil {
		return err
	}
	return d.checkCharset()
}

// checkMarks checks that the escape and the enclosure differ from each other and from the delimiters.
func (d *Form) checkMarks() error {
	for _, mark := range []struct {
		what string
		byte byte
	}{{"escape character", d.Escape}, {"enclosure", d.Enclosure}} {
		switch {
		case mark.byte == 0:
		case mark.byte >= 0x80:
			return errcode.JobValue.Errorf("read delimited text: the %s %s is not ASCII", mark.what, quoted(mark.byte))
		case bytes.IndexByte(d.FieldDelimiter, mark.byte) >= 0, bytes.IndexByte(d.RecordDelimiter, mark.byte) >= 0:
			return errcode.JobValue.Errorf("read delimited text: the %s %s is in a delimiter, too", mark.what, quoted(mark.byte))
		}
	}
	if d.Escape != 0 && d.Escape == d.Enclosure {
		return errcode.JobValue.Errorf("read delimited text: %s is the escape character and the enclosure; where a quote "+
			"inside a value is doubled, "+
			"the export is CSV: use format: csv", quoted(d.Escape))
	}
	return nil
}

// needsScanner reports whether records can't be read by searching for delimiters alone.
func (d *Form) needsScanner() bool { return d.Escape != 0 || d.Enclosure != 0 }

// Splits cuts files into parts of about size bytes that can be read in parallel and together hold each record once, in
// the order of the files. It does not cut a compressed file, a file whose form has escapes or enclosures, or one whose
// record delimiter can overlap itself, as || does: only a reader from the start can tell which bytes of ||| are the
// delimiter. It opens only files that it would cut. Empty files yield no split. A size of 0 or less cuts nothing.
//
// A record belongs to the split in which it begins: a reader skips to the first delimiter that ends in its split, and
// reads past the split's end to complete its last record. If two neighbouring readers applied different rules, a record
// would be lost or read twice.
func (d *Form) Splits(fsys storage.FS, files []ingest.SourceFile, size int64) ([]ingest.Split, error) {
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
			// The remainder goes to the last split, so that none is tiny.
			if whole || 2*(f.Size-end) <= size {
				end = f.Size
			}
			splits = append(splits, ingest.Split{File: f, Start: start, End: end})
			start = end
		}
	}
	return splits, nil
}

// detectCodec detects a file's compression, and refuses files that are not text.
func (d *Form) detectCodec(fsys storage.FS, f ingest.SourceFile) (compressed.Codec, error) {
	file, err := fsys.Open(f.Path)
	if err != nil {
		return compressed.None, err
	}
	defer file.Close() // it is only read
	head := make([]byte, min(f.Size, ingest.DetectLen))
	if n, err := file.ReadAt(head, 0); n < len(head) {
		return compressed.None, fmt.Errorf("read the start of %s: %w", f, cmp.Or(err, io.ErrUnexpectedEOF))
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

// RejectDelimiter is the record delimiter, so that the rejects can be read as input again. With escapes or enclosures
// it is one that ends a reject even inside an escape or an enclosure.
func (d *Form) RejectDelimiter() []byte {
	if !d.needsScanner() || d.Strict || d.Escape == ingest.RejectSeparator || d.Enclosure == ingest.RejectSeparator ||
		bytes.IndexByte(d.RecordDelimiter, ingest.RejectSeparator) >= 0 ||
		bytes.IndexByte(d.FieldDelimiter, ingest.RejectSeparator) >= 0 {
		return d.RecordDelimiter
	}
	return ingest.RejectEnd(d.RecordDelimiter)
}

// Codec is the files' compression.
func (d *Form) Codec() compressed.Codec { return d.Compression }

// RowOffsets is false: a record's offset is that of its first byte.
func (d *Form) RowOffsets() bool { return false }

// overlapsItself reports whether two occurrences of delimiter can share bytes: whether a proper prefix is also a
// suffix.
func overlapsItself(delimiter []byte) bool {
	for n := 1; n < len(delimiter); n++ {
		if bytes.HasSuffix(delimiter, delimiter[:n]) {
			return true
		}
	}
	return false
}

// Open opens a split. The file must be as long as when it was listed.
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
