package writing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"time"

	"bulkload/hfilewriter"
	"bulkload/internal/digest"
	"bulkload/internal/errcode"
	"bulkload/internal/printable"
	"bulkload/internal/storage"
	"bulkload/jobs/base/counts"
	"bulkload/jobs/base/options"
	"bulkload/jobs/base/timing"
	"bulkload/jobs/pipeline/entry"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/sorting"
	"bulkload/partition"
	"bulkload/sortentry"
	"bulkload/values"
)

// sliceWriter writes one slice's files under temporary names, and reads them back.
//
// Between the sort and the table nothing else sees the rows, so a loss here must be noticed here. Three sums of cells,
// which do not depend on the cells' order, are made independently of each other:
//
//	sorted   of a region's records when they were read, before the sort (sorting.Rows.Regions)
//	merged   of the entries that the merge has returned for a slice; only in tasks
//	digest   of the cells that are in a slice's files, as they are read back; dropped, of the duplicates that are not
//
// Invariants: the sum of digest + dropped over a region's slices = sorted (Stage.judge, when the last one of them is
// finished); in tasks also digest + dropped = merged for each slice (verify). So the following faults are found, and
// cost another writing of the unfinished regions or, in a task, of the slice:
//
//   - a sorted run that lacks entries or has some twice, and an entry that is in no slice, or in two of them;
//   - an entry whose bytes were changed by the next ones: the merge reuses an entry's memory at the next call but one,
//     so decide may compare two entries, but nothing here may keep one longer;
//   - cells that are encoded wrongly, in the wrong family, or left out, and a file that is not ended or not in
//     finished;
//   - a file that the disk has changed. It is durable before it is read back (hfiles.TempFile.Finish), but the bytes
//     may come from memory, so files of another process are read once more before the load
//     (loading.VerifyBeforeLoad).
//
// The sums do not find a record that is dropped although it is not a duplicate, or the wrong one of several duplicates:
// it is in dropped, so everything agrees. Only the rule itself guards against that, see decide. A file that is cut off
// can't be taken for a file of the run: abort deletes all open and finished files, and no file of a slice that could
// not be written has its final name.
type sliceWriter struct {
	writer   *SliceWriter
	unit     sorting.SliceWork
	open     []*hfiles.TempFile // for each family; nil before its first cell
	sequence []int              // for each family: the next file's
	finished []*hfiles.TempFile
	values   []values.Value
	wide     wideRow
	entries  int64
	counted  int64 // of them, those that the progress includes
	times    timing.WriteTimes
	counts   counts.Written
	merged   digest.Sum // zero unless SliceWriter.Alone
	dropped  digest.Sum
	digest   digest.Sum
}

// run writes and verifies the slice.
func (r *sliceWriter) run(ctx context.Context) (*Finished, error) {
	w := r.writer
	w.Failpoint.Reached(options.Begun)
	w.merging <- struct{}{}
	w.Destination.Cores <- struct{}{}
	begun := time.Now()
	err := r.writeRows(ctx)
	<-w.Destination.Cores
	<-w.merging
	if err != nil {
		return nil, err
	}
	if err := r.finishAll(); err != nil {
		return nil, err
	}
	r.times.Total += time.Since(begun)
	if err := r.verify(ctx); err != nil {
		return nil, err
	}
	w.Failpoint.Reached(options.Verified)
	w.add(WriteReport{Times: r.times})
	return r.result(), nil
}

// result returns the finished slice.
func (r *sliceWriter) result() *Finished {
	f := &Finished{Record: manifest.RecordedSlice{Region: r.unit.Region, Slice: r.unit.Number,
		Start: printable.Bytes(r.unit.Start), Entries: r.entries,
		Counts: r.counts, Digest: r.digest, Dropped: r.dropped}}
	for _, file := range r.finished {
		f.Record.Files = append(f.Record.Files, file.FileMeta)
		f.Temps = append(f.Temps, file.Temp)
	}
	return f
}

// writeRows merges the slice's sorted runs and appends one record of each row.
func (r *sliceWriter) writeRows(ctx context.Context) (err error) {
	run, err := r.writer.sorted.Slice(r.unit.Slice)
	if err != nil {
		return fmt.Errorf("merge: %w", err)
	}
	defer func() { err = errors.Join(err, run.Close()) }()
	var last *partition.Entry
	for {
		timed := r.entries%timing.SampleEvery == timing.SampleEvery-1
		calls, begun := r.times.File.Calls, timing.NowIf(timed)
		merged, err := run.Next()
		mergedAt := timing.NowIf(timed)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("merge: %w", err)
		}
		if r.writer.Alone {
			if err := r.digestEntry(&r.merged, merged); err != nil {
				return err
			}
		}
		if err := r.decide(last, merged); err != nil {
			return err
		}
		if timed && calls == r.times.File.Calls { // otherwise a block was compressed and written
			r.times.Merge += mergedAt.Sub(begun)
			r.times.Append += time.Since(mergedAt)
		}
		last = merged
		r.times.Entries += int64(len(merged.Key) + len(merged.Payload))
		if r.entries++; r.entries%entry.CheckEvery == 0 {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			r.count(entry.CheckEvery)
		}
	}
	r.count(r.entries % entry.CheckEvery)
	if last == nil {
		return nil
	}
	return r.append(last)
}

// count adds entries to the progress.
func (r *sliceWriter) count(n int64) {
	r.counted += n
	r.writer.written.Add(n)
}

// digestEntry adds a record's cells to a sum.
func (r *sliceWriter) digestEntry(sum *digest.Sum, e *partition.Entry) error {
	row, named, err := r.writer.Target.SplitKey(e.Key)
	if err != nil {
		return err
	}
	return r.writer.Target.Layout.DigestPayload(sum, row, named, e.Payload)
}

// append writes one record into a file for each family: a row or, in a wide table, a part of one.
func (r *sliceWriter) append(e *partition.Entry) error {
	r.counts.Rows++
	if r.writer.Target.Layout.Wide {
		timestamp, err := r.writer.Target.Layout.Unpack(e.Payload, r.values)
		if err != nil {
			return err
		}
		return r.appendWide(e.Key, timestamp)
	}
	timestamp, packed, err := r.writer.Target.Layout.CutTimestamp(e.Payload)
	if err != nil {
		return err
	}
	for i := range r.writer.Target.Layout.Families {
		if packed, err = r.appendFamily(i, e.Key, timestamp, packed); err != nil {
			return err
		}
	}
	if len(packed) != 0 {
		return entry.ErrPayload
	}
	return nil
}

// appendFamily writes a row's cells of a family, and returns the packed values of the following families.
func (r *sliceWriter) appendFamily(i int, row []byte, timestamp int64, packed []byte) (rest []byte, err error) {
	family := &r.writer.Target.Layout.Families[i]
	columns := family.Last - family.First
	if len(packed) == 0 || packed[0] == 0 { // there may be no cells, so that no file is needed
		cells, rest, err := sortentry.CountValues(packed, columns)
		switch {
		case err != nil:
			return nil, entry.ErrPayload
		case cells == 0:
			r.counts.Nulls += int64(columns)
			return rest, nil
		}
	}
	f, err := r.file(i)
	if err != nil {
		return nil, err
	}
	cells, rest, err := f.Writer.AppendPacked(family.Columns, row, timestamp, packed)
	switch {
	case errors.Is(err, sortentry.ErrDamaged):
		return nil, entry.ErrPayload
	case err != nil:
		return nil, fmt.Errorf("row %s: %w", printable.Bytes(row), err)
	}
	r.counts.Cells += int64(cells)
	r.counts.Nulls += int64(columns - cells)
	f.CountRow(timestamp)
	if f.Writer.RawSize() >= r.writer.Target.MaxSize {
		return rest, r.finish(i)
	}
	return rest, nil
}

// file returns a family's open file, a new one if necessary. Its name and its bytes follow from the run and the slice
// alone, so a slice that is written again replaces its files, and a file that a kill has left is found by its name.
func (r *sliceWriter) file(i int) (*hfiles.TempFile, error) {
	if r.open[i] != nil {
		return r.open[i], nil
	}
	family, region, slice, sequence := &r.writer.Target.Families[i], r.unit.Region, r.unit.Number, r.sequence[i]
	instant := r.writer.Job.Instant()
	stamp := hfilewriter.Provenance{Created: instant, Loaded: instant,
		Task: fmt.Sprintf("bulkload_%05d_%02d_%s_%04d", region, slice, family.Name, sequence)}
	summary := hfiles.FileMeta{Path: path.Join(family.Name,
		hfiles.Name(r.writer.RunID, region, slice, family.Name, sequence)), Family: family.Name,
		Region: region, Slice: slice, Sequence: sequence}
	f, err := hfiles.Create(r.writer.Destination, summary, family.Settings, stamp, &r.times.File)
	if err != nil {
		return nil, err
	}
	r.open[i] = f
	r.sequence[i]++
	return f, nil
}

// finish ends a family's open file. Until the file is in finished, only its own Abort or a failed Finish deletes it.
func (r *sliceWriter) finish(i int) error {
	f := r.open[i]
	r.open[i] = nil
	if err := f.Finish(); err != nil {
		return err
	}
	r.times.Compress += f.Times.Compress
	r.times.Total += f.Times.Elsewhere
	r.times.Encoded += f.Times.Compressed
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

// verify reads all files of the slice back and adds up their cells. Stage.judge compares the sum with those of the
// region's other slices. In a task, the files must contain all merged entries except the dropped duplicates.
func (r *sliceWriter) verify(ctx context.Context) error {
	for _, f := range r.finished {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		begun := time.Now()
		if err := f.ReadBack(ctx); err != nil {
			return err
		}
		r.times.Verify += time.Since(begun)
		r.times.Checked += f.Bytes
		r.digest.Add(f.Digest)
		r.writer.add(WriteReport{ReadBack: f.Bytes})
	}
	held := r.digest
	held.Add(r.dropped)
	if r.writer.Alone && held != r.merged {
		return errcode.Digest.Errorf("slice %d: the files read back and the dropped duplicates have %d cells with digest "+
			"%v, but %d with %v were merged: the slice was discarded, and the same command writes it again",
			r.unit.Number, held.Cells, held, r.merged.Cells, r.merged)
	}
	return nil
}

// abort deletes temporary files after an error.
func (r *sliceWriter) abort() error {
	var errs []error
	for _, f := range r.open {
		if f != nil {
			errs = append(errs, f.Abort())
		}
	}
	for _, f := range r.finished {
		errs = append(errs, storage.RemoveIfThere(r.writer.Destination.FS, f.Temp))
	}
	return errors.Join(errs...)
}
