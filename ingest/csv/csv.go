// Package csv reads CSV as SQL*Plus (set markup csv on) and SQLcl (set sqlformat csv) spool it: a heading with the
// names of the columns, quoted values with doubled quotes and line breaks, and the client's own messages between rows.
//
//	csv.go      the form: what the job file says of the files
//	reader.go   records out of one file
//	text.go     the window of a file that records are read from
//	scan.go     where a record and its values end
//	values.go   values out of a record: quotes, nulls, charset
//	heading.go  the heading, and the columns by their names
//	noise.go    what a client writes that is no row: headings, prompts, "5 rows selected.", ORA- and SP2- messages
//	fault.go    what is wrong with a record
package csv

import (
	"errors"
	"fmt"

	"bulkload/ingest"
	"bulkload/ingest/charset"
	"bulkload/ingest/compressed"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
)

// Form is how CSV files are written. A record is a line, or several if a quoted value contains line breaks. Lines end
// with LF or CR LF, as the first one of the file does. An empty line is not a record. A value is quoted from its first
// byte to its last or not at all; in a quoted value a quote is doubled.
type Form struct {
	Columns     []string         // by their names in the heading; all columns of the file, in order, if NoHeading is set
	NoHeading   bool             // the files begin with a record
	Delimiter   byte             // between values
	Quote       byte             // 0: values are never quoted
	Null        []byte           // unquoted text of a null, in UTF-8, as well as the empty one; nil: only that
	Nulls       [][]byte         // several such texts, instead of Null
	QuotedEmpty string           // meaning of a quoted empty value: "value" or "null"
	SkipNoise   bool             // skip repeated headings, prompts and feedback; otherwise they are rejects
	SkipErrors  bool             // skip Oracle's error messages; otherwise they end the reading
	Charset     *charset.Charset // nil is UTF-8
	Compression compressed.Codec // Auto: detected from content and name
}

// separator is the line after each record in the file of rejects, and only there. It ends the record before it even if
// that has unmatched quotes. See ingest.Unstuff.
const separator = ingest.RejectSeparator

// Check says why the form is unusable.
func (f *Form) Check() error {
	switch {
	case len(f.Columns) == 0:
		return errors.New("read CSV: no columns are named")
	case f.Delimiter == 0 || f.Delimiter >= 0x80 || f.Delimiter == '\n' || f.Delimiter == '\r' || f.Delimiter == separator:
		return errcode.JobValue.Errorf("read CSV: %q can't be the field delimiter; it must be one ASCII character other "+
			"than a line break", f.Delimiter)
	case f.Quote == f.Delimiter:
		return errcode.JobValue.Errorf("read CSV: %q can't be both the field delimiter and the quote", f.Quote)
	case f.Quote >= 0x80 || f.Quote == '\n' || f.Quote == '\r' || f.Quote == separator || f.Quote != 0 &&
		f.Charset.CanTrail(f.Quote):
		return errcode.JobValue.Errorf("read CSV: %q can't be the quote in %s", f.Quote, f.Charset.Name())
	}
	return nil
}

// Splits makes one split for each file, because only a reader from the start can tell whether a line break ends a
// record.
func (f *Form) Splits(fsys storage.FS, files []ingest.SourceFile, _ int64) ([]ingest.Split, error) {
	if err := f.checkHeadings(fsys, files); err != nil {
		return nil, err
	}
	var splits []ingest.Split
	for _, file := range files {
		if file.Size > 0 {
			splits = append(splits, ingest.Split{File: file, End: file.Size})
		}
	}
	return splits, nil
}

// RejectDelimiter ends a rejected record, even if a quote in it is open.
func (f *Form) RejectDelimiter() []byte { return []byte{'\n', separator, '\n'} }

// Codec is the files' compression.
func (f *Form) Codec() compressed.Codec { return f.Compression }

// RowOffsets is false: a record's offset is that of its first byte.
func (f *Form) RowOffsets() bool { return false }

// Warnings reports lines that end with CR LF although the first line of the file does not: the CR becomes part of an
// unquoted value. It also reports a heading that is read as a record.
func (f *Form) Warnings(fsys storage.FS, files []ingest.SourceFile) (doubts []string) {
	ingest.Sample(f, fsys, files, func(in ingest.Records, file ingest.SourceFile) {
		if n := ingest.EndingWithCR(in); n > 0 {
			doubts = append(doubts, fmt.Sprintf("the first %d records of %s end with CR LF and its first line with LF: the CR "+
				"becomes a part of the last value; give all lines the same end", n, file))
		}
	})
	if f.NoHeading {
		ingest.Sample(f, fsys, files, func(in ingest.Records, file ingest.SourceFile) {
			if heading := ingest.HeadingIn(in); heading != "" {
				doubts = append(doubts, fmt.Sprintf("the first record of %s looks like a heading (%s), and is loaded as a row: "+
					"remove input.header: false", file, heading))
			}
		})
	}
	return doubts
}

// Open opens a file and reads its heading.
func (f *Form) Open(fsys storage.FS, split ingest.Split) (ingest.Records, error) {
	if err := f.Check(); err != nil {
		return nil, err
	}
	return f.open(fsys, split.File)
}
