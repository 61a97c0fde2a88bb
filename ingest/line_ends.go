package ingest

import (
	"bytes"
	"errors"
	"fmt"

	"bulkload/internal/storage"
)

// LineEnds says whether the records of an input look as if they ended with CR LF, where the form has LF: the CR would become
// a part of the last column. It looks at the start of the first file that holds something; "" where all is well, and where
// it can't be read, which those say who have to.
func (d *Delimited) LineEnds(fsys storage.FS, files []File) string {
	if string(d.RecordDelimiter) != "\n" {
		return ""
	}
	for _, f := range files {
		if f.Size == 0 {
			continue
		}
		in, err := d.Open(fsys, Split{File: f, End: f.Size})
		if err != nil {
			return ""
		}
		n := endingWithCR(in)
		if err := in.Close(); err != nil || n == 0 {
			return ""
		}
		return fmt.Sprintf(`the first %d records of %s end with CR, which becomes a part of column %s: is the record delimiter \r\n?`,
			n, f.Path, d.Columns[len(d.Columns)-1])
	}
	return ""
}

// endingWithCR is how many records at the start of a file were looked at; 0 where one of them has no CR at its end.
func endingWithCR(in Records) (seen int) {
	for seen < hintRecords {
		rec, err := in.Next()
		if bad := new(BadRecord); errors.As(err, &bad) {
			continue
		}
		if err != nil {
			return seen // the end
		}
		if !bytes.HasSuffix(rec.Fields[len(rec.Fields)-1].Bytes(), []byte{'\r'}) {
			return 0
		}
		seen++
	}
	return seen
}
