package sorting

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bulkload/cell"
	"bulkload/ingest"
	"bulkload/internal/digest"
	"bulkload/jobs/books"
	"bulkload/jobs/checkpoint"
	"bulkload/jobs/entry"
	"bulkload/jobs/target"
	"bulkload/partition"
)

// feeder is one goroutine that reads splits into its lanes of the sorts.
type feeder struct {
	records entry.Reader
	outputs []*feed
	present int // the file that is being read, by its ordinal

	counted, countedRejects int64 // of records.read and records.refused, those that are in the books.Contents of files

	checkpoints checkpoints
}

func (s *Stage) newFeeder(lane int) *feeder {
	f := &feeder{checkpoints: s.newCheckpoints(lane)}
	f.records = entry.NewReader(s.Input.Form, s.Source.FS, f.checkpoints.rejects, s.meter)
	f.records.Busy = f.busy
	for i := range s.Outputs {
		out := newFeed(&s.Outputs[i])
		out.several = len(s.Outputs) > 1
		f.outputs = append(f.outputs, out)
	}
	return f
}

// busy is how long the lanes have been sorting and spilling so far.
func (f *feeder) busy() time.Duration {
	var sum time.Duration
	for _, out := range f.outputs {
		if out.lane != nil {
			sum += out.lane.Busy()
		}
	}
	return sum
}

func (f *feeder) run(ctx context.Context, pieces <-chan checkpoint.Piece) error {
	for p := range pieces {
		f.begin(p)
		bytes, err := f.records.ReadSplit(ctx, p.Split, f.add)
		if err != nil {
			return err
		}
		f.countFile()
		f.checkpoints.end(p, bytes)
	}
	return ctx.Err()
}

func (f *feeder) begin(p checkpoint.Piece) {
	f.checkpoints.begin(p)
	f.records.After = p.After
	f.present = p.File.Ordinal
	for _, out := range f.outputs {
		out.file = out.files.Of(f.present)
	}
}

// countFile adds what was read and rejected since the last call to the content of the present file.
func (f *feeder) countFile() {
	read, rejected := f.records.Read-f.counted, f.records.Refused-f.countedRejects
	f.counted, f.countedRejects = f.records.Read, f.records.Refused
	for _, out := range f.outputs {
		out.file.Read += read
		out.file.Rejected += rejected
	}
}

func (f *feeder) close() error {
	var errs []error
	for _, out := range f.outputs {
		if out.lane != nil {
			errs = append(errs, out.lane.Close())
		}
	}
	return errors.Join(errs...)
}

// add moves one record into the sorts of all outputs that want it. One that an output can't use goes into none, so that
// the outputs agree.
func (f *feeder) add(r *ingest.Record) error {
	for _, out := range f.outputs {
		if err := out.begin(r); err != nil {
			return f.records.Reject(err)
		}
	}
	for _, out := range f.outputs {
		if !out.wanted {
			out.filtered++
			out.file.Filtered++
			continue
		}
		if out.lane == nil {
			continue
		}
		if err := out.commit(r); err != nil {
			return fmt.Errorf("sort: %w", err)
		}
	}
	if f.full() {
		return f.checkpoint()
	}
	return nil
}

// feed is a goroutine's way into the sort of one output.
type feed struct {
	key     entry.Key
	target  *target.Target
	lane    *partition.Lane // nil: no rows are wanted
	several bool            // it is one of several outputs
	wanted  bool            // the filter takes the present record
	regions []books.Region
	files   books.Contents // of the input since the last checkpoint
	kept    books.Contents // of the checkpoints of this process
	file    *books.Content // of the piece that is being read

	filtered int64 // records that the filter did not take
}

func newFeed(o *Output) *feed {
	f := &feed{key: entry.NewKey(o.Job), target: o.Target, files: books.Contents{}, kept: books.Contents{}}
	if o.sorter != nil {
		f.lane = o.sorter.Lane()
		f.regions = make([]books.Region, o.Target.Regions.Len())
	}
	return f
}

// begin builds the record's key, in the lane's buffer; the error is an *ingest.BadRecord where that can't be done.
func (f *feed) begin(r *ingest.Record) error {
	buffer := f.key.Key[:0]
	if f.lane != nil {
		buffer = f.lane.Buffer()
	}
	err := f.key.Build(buffer, r)
	f.wanted = !errors.Is(err, entry.ErrFiltered)
	if err == nil || !f.wanted {
		return nil
	}
	if bad := (*ingest.BadRecord)(nil); f.several && errors.As(err, &bad) {
		bad.Reason = "for table " + f.key.Job.Table + ": " + bad.Reason
	}
	return err
}

// commit packs the record behind its key.
func (f *feed) commit(r *ingest.Record) error {
	key, layout := &f.key, f.target.Layout
	region := &f.regions[f.target.Regions.Find(key.Row)]
	packed, cells := layout.PackAndDigest(key.Key, digest.NewRow(key.Row, cell.Put), key.Named(), key.Values, key.Timestamp)
	region.Digest.AddRow(cells, key.Timestamp)
	f.file.Digest.AddRow(cells, key.Timestamp)
	region.Keys += int64(len(key.Key))
	region.Bytes += int64(len(packed))
	return f.lane.Commit(packed, key.RowLen, len(key.Key), partition.Position{File: uint32(r.File.Ordinal), Offset: r.Offset})
}
