package delimited

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"bulkload/ingest"
	"bulkload/ingest/compressed"
	"bulkload/internal/storage"

	"golang.org/x/sync/errgroup"
)

// maxUnended bounds how many possibly truncated files are named.
const maxUnended = 10

// maxOpenFiles is the number of files whose ends are read in parallel: in HDFS each takes several calls.
const maxOpenFiles = 8

// Warnings are about how records end, see LineEnds and Unended, and about a heading that is read as a record.
func (d *Form) Warnings(fsys storage.FS, files []ingest.SourceFile) (doubts []string) {
	if doubt := d.LineEnds(fsys, files); doubt != "" {
		doubts = append(doubts, doubt)
	}
	ingest.Sample(d, fsys, files, func(in ingest.Records, f ingest.SourceFile) {
		if heading := ingest.HeadingIn(in); heading != "" {
			doubts = append(doubts, fmt.Sprintf("the first record of %s looks like a heading (%s), and is loaded as a row: "+
				"export without it, or read the file with format: csv", f, heading))
		}
	})
	unended := d.Unended(fsys, files)
	for i, f := range unended {
		if i == maxUnended {
			return append(doubts, fmt.Sprintf("%d more files end without the record delimiter", len(unended)-i))
		}
		doubts = append(doubts, fmt.Sprintf("%s ends without the record delimiter %s: its last record is taken as it is, "+
			"and cut short if the file was", f,
			ingest.FormatDelimiter(d.RecordDelimiter)))
	}
	return doubts
}

// LineEnds warns if the records of an input seem to end with CR LF although the form has LF, because the CR would
// become part of the last column. It reads the start of the first file that is not empty. It returns "" if all is well
// or if the file can't be read, which its reader will report.
func (d *Form) LineEnds(fsys storage.FS, files []ingest.SourceFile) (doubt string) {
	if string(d.RecordDelimiter) != "\n" {
		return ""
	}
	ingest.Sample(d, fsys, files, func(in ingest.Records, f ingest.SourceFile) {
		if n := ingest.EndingWithCR(in); n > 0 {
			doubt = fmt.Sprintf(
				`the first %d records of %s end with CR, which becomes a part of column %s: is the record delimiter \r\n?`,
				n, f, d.Columns[len(d.Columns)-1])
		}
	})
	return doubt
}

// Unended returns the plain-text files without a delimiter after the last record. That is the only sign of a truncated
// file, because Sqoop and SQL*Plus write a delimiter after every record. Files that can't be read are left out; their
// reader will report them.
func (d *Form) Unended(fsys storage.FS, files []ingest.SourceFile) (unended []ingest.SourceFile) {
	found := make([]bool, len(files))
	group := errgroup.Group{}
	group.SetLimit(maxOpenFiles)
	for i := range files {
		group.Go(func() error {
			found[i] = d.unended(fsys, files[i])
			return nil
		})
	}
	_ = group.Wait() // no error is returned
	for i, f := range files {
		if found[i] {
			unended = append(unended, f)
		}
	}
	return unended
}

func (d *Form) unended(fsys storage.FS, file ingest.SourceFile) bool {
	if file.Size < int64(len(d.RecordDelimiter)) {
		return file.Size > 0
	}
	in, err := fsys.Open(file.Path)
	if err != nil {
		return false
	}
	defer func() { _ = in.Close() }() // it was only read
	head, end := make([]byte, min(file.Size, 512)), make([]byte, len(d.RecordDelimiter))
	if _, err := in.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return false
	}
	codec := d.Compression
	if codec == compressed.Auto {
		if codec, err = compressed.Detect(file.Path, head); err != nil {
			return false
		}
	}
	if _, err := in.ReadAt(end, file.Size-int64(len(end))); err != nil && !errors.Is(err, io.EOF) {
		return false
	}
	return codec == compressed.None && !bytes.Equal(end, d.RecordDelimiter)
}
