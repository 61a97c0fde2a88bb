package writing

import (
	"bytes"

	"bulkload/ingest"
	"bulkload/internal/errcode"
	"bulkload/internal/printable"
	"bulkload/jobs/base/failure"
	"bulkload/partition"
)

// DuplicateSample is an example of a row key with differing columns.
type DuplicateSample struct {
	Row  string         `json:"row"`
	Kept RecordPosition `json:"kept"`
	Lost RecordPosition `json:"lost"`
}

// RecordPosition is a record's position in the input.
type RecordPosition struct {
	File   string `json:"file"`
	Offset int64  `json:"offset"`
	Rows   bool   `json:"rows,omitempty"` // Offset is a row number counted from 0, as in Parquet
}

// String returns the file with the byte offset, or with the row number counted from 1.
func (p RecordPosition) String() string {
	return ingest.Position{File: ingest.SourceFile{Path: p.File}, Offset: p.Offset, Rows: p.Rows}.Location()
}

// maxSamples bounds how many differing duplicates are reported.
const maxSamples = 10

// decide decides about the entry before next. If next is another row, the entry is written. If it is the same row, the
// entry is dropped, because the last one by path and offset wins. The merge returns equal keys in that order, in every
// run and after every resume, so the same record wins each time.
//
// sorting.Cells applies the same rule to the records that verification compares with. Whoever changes one must change
// both.
func (r *sliceWriter) decide(last, next *partition.Entry) error {
	switch {
	case last == nil:
		return nil
	case !bytes.Equal(last.Key, next.Key):
		return r.append(last)
	}
	r.counts.Duplicates++
	if !bytes.Equal(last.Payload, next.Payload) {
		r.counts.Differing++
		if r.writer.Job.Strict {
			return failure.New(failure.Failed,
				errcode.Duplicates.Errorf("two differing records have the row key %s: %v and %v (duplicates: error)",
					r.keyText(next.Key), r.place(last), r.place(next)))
		}
		r.sample(last, next)
	}
	return r.digestEntry(&r.dropped, last)
}

func (r *sliceWriter) sample(lost, kept *partition.Entry) {
	r.writer.guard.Lock()
	defer r.writer.guard.Unlock()
	if report := &r.writer.report; len(report.Samples) < maxSamples {
		report.Samples = append(report.Samples, DuplicateSample{r.keyText(kept.Key), r.place(kept), r.place(lost)})
	}
}

func (r *sliceWriter) place(e *partition.Entry) RecordPosition {
	return RecordPosition{r.writer.Inputs[e.File].Path, e.Offset, r.writer.Job.Input.Form.RowOffsets()}
}

// keyText formats a key of the sort.
func (r *sliceWriter) keyText(key []byte) string {
	row, named, err := r.writer.Target.SplitKey(key)
	switch {
	case err != nil:
		return printable.Bytes(key)
	case named != nil:
		return printable.Bytes(row) + " and the qualifier " + printable.Bytes(named)
	}
	return printable.Bytes(row)
}
