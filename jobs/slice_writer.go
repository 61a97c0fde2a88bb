package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"time"

	"bulkload/hfilewriter"
	"bulkload/ingest"
	"bulkload/internal/digest"
	"bulkload/internal/printable"
	"bulkload/internal/storage"
	"bulkload/jobs/books"
	"bulkload/jobs/failpoint"
	"bulkload/jobs/failure"
	"bulkload/jobs/timing"
	"bulkload/partition"
	"bulkload/values"
)

// sliceWriter writes one slice's files.
type sliceWriter struct {
	*writing
	unit
	open     []*hfile // a family each; nil where no cell came yet
	sequence []int    // a family each: the next file's
	finished []*hfile
	values   []values.Value
	wide     wideRow
	entries  int64
	times    timing.WriteTimes
	books    books.Written
	merged   digest.Sum // of all records that the merge gave; not of a region's only slice, which the region's sum is for
	dropped  digest.Sum // of the duplicates that were not written
	digest   digest.Sum // of the files
}

// writeRows merges the slice's sorted runs, keeps one record a row and appends it.
func (r *sliceWriter) writeRows(ctx context.Context) (err error) {
	run, err := r.rows.sorted.Slice(r.unit.Slice)
	if err != nil {
		return fmt.Errorf("merge: %w", err)
	}
	defer func() { err = errors.Join(err, run.Close()) }()
	var last *partition.Entry
	for {
		timed := r.entries%timing.SampleEvery == timing.SampleEvery-1
		calls, begun := r.times.File.Calls, timing.NowIf(timed)
		entry, err := run.Next()
		merged := timing.NowIf(timed)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("merge: %w", err)
		}
		if !r.alone {
			if err := r.digestEntry(&r.merged, entry); err != nil {
				return err
			}
		}
		if err := r.settle(last, entry); err != nil {
			return err
		}
		if timed && calls == r.times.File.Calls { // else a block was compressed and written
			r.times.Merge += merged.Sub(begun)
			r.times.Append += time.Since(merged)
		}
		last = entry
		r.times.Entries += int64(len(entry.Key) + len(entry.Payload))
		if r.entries++; r.entries%checkEvery == 0 {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			r.writes.Add(checkEvery)
		}
	}
	if last == nil {
		return nil
	}
	return r.append(last)
}

// settle decides about the entry before next: it is written where next is another row, and dropped where it is the same
// row, since the last by path and offset wins.
func (r *sliceWriter) settle(last, next *partition.Entry) error {
	switch {
	case last == nil:
		return nil
	case !bytes.Equal(last.Key, next.Key):
		return r.append(last)
	}
	r.books.Duplicates++
	if !bytes.Equal(last.Payload, next.Payload) {
		r.books.Differing++
		if r.job.Strict {
			return failure.New(failure.Failed, fmt.Errorf("two differing records have the row key %s: %v and %v (duplicates: error)",
				r.keyText(next.Key), r.place(last), r.place(next)))
		}
		r.sample(last, next)
	}
	return r.digestEntry(&r.dropped, last)
}

// digestEntry adds a record's cells to a sum.
func (r *sliceWriter) digestEntry(sum *digest.Sum, e *partition.Entry) error {
	row, named, err := r.target.splitKey(e.Key)
	if err != nil {
		return err
	}
	return r.target.layout.digestPayload(sum, row, named, e.Payload)
}

// keyText shows a key of the sort.
func (r *sliceWriter) keyText(key []byte) string {
	row, named, err := r.target.splitKey(key)
	switch {
	case err != nil:
		return printable.Bytes(key)
	case named != nil:
		return printable.Bytes(row) + " and the qualifier " + printable.Bytes(named)
	}
	return printable.Bytes(row)
}

func (r *sliceWriter) sample(lost, kept *partition.Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.samples) < maxSamples {
		r.samples = append(r.samples, DuplicateSample{r.keyText(kept.Key), r.place(kept), r.place(lost), r.Region})
	}
}

func (r *sliceWriter) place(e *partition.Entry) Place {
	return Place{r.source.files[e.File].Path, e.Offset, r.source.job.Input.Form.RowOffsets()}
}

// String is the file and the byte or, counted from 1, the row.
func (p Place) String() string {
	return ingest.Position{File: ingest.File{Path: p.File}, Offset: p.Offset, Rows: p.Rows}.Place()
}

// append writes one record, a file a family: a row, or in a wide table a part of one.
func (r *sliceWriter) append(e *partition.Entry) error {
	r.books.Rows++
	if r.target.layout.wide {
		timestamp, err := r.target.layout.unpack(e.Payload, r.values)
		if err != nil {
			return err
		}
		return r.appendWide(e.Key, timestamp)
	}
	timestamp, packed, err := r.target.layout.cutTimestamp(e.Payload)
	if err != nil {
		return err
	}
	for i := range r.target.layout.families {
		if packed, err = r.appendFamily(i, e.Key, timestamp, packed); err != nil {
			return err
		}
	}
	if len(packed) != 0 {
		return errPayload
	}
	return nil
}

// appendFamily writes a row's cells of a family, and gives the packed values of the families behind it.
func (r *sliceWriter) appendFamily(i int, row []byte, timestamp int64, packed []byte) (rest []byte, err error) {
	family := &r.target.layout.families[i]
	columns := family.last - family.first
	if len(packed) == 0 || packed[0] == 0 { // perhaps there is none, and no file to be begun
		cells, rest, err := hfilewriter.CountPacked(packed, columns)
		switch {
		case err != nil:
			return nil, errPayload
		case cells == 0:
			r.books.Nulls += int64(columns)
			return rest, nil
		}
	}
	f, err := r.file(i)
	if err != nil {
		return nil, err
	}
	cells, rest, err := f.w.AppendPacked(family.columns, row, timestamp, packed)
	switch {
	case errors.Is(err, hfilewriter.ErrPacked):
		return nil, errPayload
	case err != nil:
		return nil, fmt.Errorf("row %s: %w", printable.Bytes(row), err)
	}
	r.books.Cells += int64(cells)
	r.books.Nulls += int64(columns - cells)
	f.took(timestamp)
	if f.w.RawSize() >= r.target.maxSize {
		return rest, r.finish(i)
	}
	return rest, nil
}

// file is a family's open file, begun where there is none.
func (r *sliceWriter) file(i int) (*hfile, error) {
	if r.open[i] != nil {
		return r.open[i], nil
	}
	f, err := createHFile(r.writing, r.Region, r.number, &r.target.families[i], r.sequence[i], &r.times.File)
	if err != nil {
		return nil, err
	}
	r.open[i] = f
	r.sequence[i]++
	return f, nil
}

// finish ends a family's open file.
func (r *sliceWriter) finish(i int) error {
	f := r.open[i]
	r.open[i] = nil
	if err := f.finish(); err != nil {
		return err
	}
	r.times.Compress += f.times.Compress
	r.times.Encoded += f.times.Compressed
	r.times.Raw += f.Raw
	r.finished = append(r.finished, f)
	return nil
}

func (r *sliceWriter) finishAll() error {
	for i, f := range r.open {
		if f == nil {
			continue
		}
		if err := r.finish(i); err != nil {
			return err
		}
	}
	return nil
}

// verify reads all files of the slice back. They hold what was merged, but for the dropped duplicates. And all slices of a
// region together hold what was sorted: the last of them looks into that.
func (r *sliceWriter) verify(ctx context.Context) error {
	for _, f := range r.finished {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		begun := time.Now()
		if err := f.verify(ctx); err != nil {
			return err
		}
		r.times.Verify += time.Since(begun)
		r.times.Checked += f.Bytes
		r.digest.Add(f.Digest)
		r.checks.Add(f.Bytes)
	}
	held := r.digest
	held.Add(r.dropped)
	if !r.alone && held != r.merged {
		return failure.Differsf("the files of slice %d read back and the dropped duplicates hold %d cells with digest %v; merged were %d with %v: the slice is not kept, and the same command writes it again",
			r.number, held.Cells, held, r.merged.Cells, r.merged)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writing.times.Add(&r.times)
	sum := &r.sums[r.Region]
	sum.Add(held)
	if r.left[r.Region]--; r.left[r.Region] > 0 {
		return nil
	}
	if err := r.balanceRegion(r.rows, r.Region, *sum); err != nil {
		r.unbalanced[r.Region] = true
		return fmt.Errorf("%w: the region is not kept, and the same command writes it again", errors.Join(err, r.forget(r.Region)))
	}
	return nil
}

// commit gives the files their names and records the slice.
func (r *sliceWriter) commit() error {
	record := sliceRecord{Region: r.Region, Slice: r.number, Start: printable.Bytes(r.start), Entries: r.entries,
		Books: r.books, Digest: r.digest, Dropped: r.dropped}
	for _, f := range r.finished {
		if kept := r.keptFile(f); kept != nil {
			if err := storage.RemoveIfThere(r.fsys, f.temp); err != nil {
				return err
			}
			record.Files = append(record.Files, *kept)
			continue
		}
		if err := r.fsys.MkdirAll(path.Join(r.dir, f.Family), storage.DirPerm); err != nil {
			return fmt.Errorf("make the family's folder: %w", err)
		}
		// The name is this run's alone: a file that has it was not recorded, and has the same content.
		if err := r.fsys.Replace(f.temp, path.Join(r.dir, f.Path)); err != nil {
			return fmt.Errorf("move a finished file: %w", err)
		}
		r.options.Failpoint.Reached(failpoint.Renamed)
		record.Files = append(record.Files, f.FileSummary)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unbalanced[r.Region] { // its last slice found that while this one got its names
		return errors.Join(failure.Differsf("the region does not hold what was sorted"), r.removeFiles(record.Files))
	}
	r.manifest.add(record)
	if err := r.save(); err != nil {
		return err
	}
	r.options.Failpoint.Reached(failpoint.Recorded)
	return nil
}

// keptFile is the record of a file that the table serves already.
func (r *sliceWriter) keptFile(f *hfile) *FileSummary {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.manifest.kept(&f.FileSummary)
}

// abort deletes temporary files after an error.
func (r *sliceWriter) abort() error {
	var errs []error
	for _, f := range r.open {
		if f != nil {
			errs = append(errs, f.abort())
		}
	}
	for _, f := range r.finished {
		errs = append(errs, storage.RemoveIfThere(r.fsys, f.temp))
	}
	return errors.Join(errs...)
}
