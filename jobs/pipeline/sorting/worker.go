package sorting

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bulkload/cell"
	"bulkload/ingest"
	"bulkload/internal/digest"
	"bulkload/jobs/base/counts"
	"bulkload/jobs/pipeline/checkpoint"
	"bulkload/jobs/pipeline/entry"
	"bulkload/jobs/pipeline/targets"
	"bulkload/partition"
)

// sortWorker is one goroutine that reads splits into its shards of the sorts.
type sortWorker struct {
	records entry.RecordReader
	outputs []*outputShard
	file    int // the file being read, by its ordinal

	counted, countedRejects int64 // of records.Read and records.Refused, the part already in the files' contents

	checkpointer checkpointer
}

func (s *SortStage) newSortWorker(number int) *sortWorker {
	f := &sortWorker{checkpointer: s.newCheckpointer(number)}
	f.records = entry.NewReader(s.Input.Form, s.Source.FS, f.checkpointer.rejects, s.meter)
	f.records.Busy = f.busy
	for i := range s.Outputs {
		out := newOutputShard(&s.Outputs[i])
		out.multiple = len(s.Outputs) > 1
		f.outputs = append(f.outputs, out)
	}
	return f
}

// busy returns how long the shards have been sorting and spilling so far.
func (f *sortWorker) busy() time.Duration {
	var sum time.Duration
	for _, out := range f.outputs {
		if out.shard != nil {
			sum += out.shard.Busy()
		}
	}
	return sum
}

func (f *sortWorker) read(ctx context.Context, p checkpoint.Piece) error {
	f.checkpointer.split = p.Number
	f.records.ResumeAfter = p.ResumeAfter
	f.file = p.File.Ordinal
	for _, out := range f.outputs {
		out.file = out.files.OfFile(f.file)
	}
	bytes, err := f.records.ReadSplit(ctx, p.Split, f.add)
	if err != nil {
		return err
	}
	f.countFile()
	f.checkpointer.end(p, bytes)
	return nil
}

// countFile adds the records that were read and rejected since the last call to the current file's content.
func (f *sortWorker) countFile() {
	read, rejected := f.records.Read-f.counted, f.records.Refused-f.countedRejects
	f.counted, f.countedRejects = f.records.Read, f.records.Refused
	for _, out := range f.outputs {
		out.file.Read += read
		out.file.Rejected += rejected
	}
}

// sort sorts what the shards hold while other workers still read. Whether it stays in memory is decided after that.
func (f *sortWorker) sort() {
	for _, out := range f.outputs {
		if out.shard != nil {
			out.shard.Sort()
		}
	}
}

func (f *sortWorker) close() error {
	var errs []error
	for _, out := range f.outputs {
		if out.shard != nil {
			errs = append(errs, out.shard.Close())
		}
	}
	return errors.Join(errs...)
}

// add adds one record to the sorts of all outputs that accept it. If one output can't use a record, no sort gets it, so
// that the outputs agree. All keys are built before the first is committed: a commit can't be undone.
func (f *sortWorker) add(r *ingest.Record) error {
	for _, out := range f.outputs {
		if err := out.begin(r); err != nil {
			return f.records.Reject(err)
		}
	}
	for _, out := range f.outputs {
		if !out.accepted {
			out.filtered++
			out.file.Filtered++
			continue
		}
		if out.shard == nil {
			continue
		}
		if err := out.commit(r); err != nil {
			return fmt.Errorf("sort: %w", err)
		}
	}
	// After all outputs have the record, never between two of them.
	if f.full() {
		return f.checkpoint()
	}
	return nil
}

// outputShard is a goroutine's shard of one output's sort.
type outputShard struct {
	key          entry.Key
	target       *targets.Target
	shard        *partition.Shard // nil: no rows are needed
	multiple     bool             // the job has several outputs
	accepted     bool             // the filter accepts the current record
	regions      []counts.RegionCounts
	files        counts.Contents // of the input since the last checkpoint
	checkpointed counts.Contents // at the checkpoints of this process
	file         *counts.Content // of the piece being read

	filtered int64 // records that the filter dropped
}

func newOutputShard(o *SortOutput) *outputShard {
	f := &outputShard{key: entry.NewKey(o.Job), target: o.Target, files: counts.Contents{},
		checkpointed: counts.Contents{}}
	if o.sorter != nil {
		f.shard = o.sorter.NewShard()
		f.regions = make([]counts.RegionCounts, o.Target.Regions.Len())
	}
	return f
}

// begin builds the record's key in the shard's buffer. The error is an *ingest.BadRecord.
func (f *outputShard) begin(r *ingest.Record) error {
	buffer := f.key.Key[:0]
	if f.shard != nil {
		buffer = f.shard.Buffer()
	}
	err := f.key.Build(buffer, r)
	f.accepted = !errors.Is(err, entry.ErrFiltered)
	if err == nil || !f.accepted {
		return nil
	}
	if bad := (*ingest.BadRecord)(nil); f.multiple && errors.As(err, &bad) {
		bad.Reason = "for table " + f.key.Job.Table + ": " + bad.Reason
	}
	return err
}

// commit packs the record after its key.
func (f *outputShard) commit(r *ingest.Record) error {
	key, layout := &f.key, f.target.Layout
	region := &f.regions[f.target.Regions.Find(key.Row)]
	packed, cells := layout.PackAndDigest(key.Key, digest.NewRow(key.Row, cell.Put),
		key.Named(), key.Values, key.Timestamp)
	region.Digest.AddRow(cells, key.Timestamp)
	f.file.Digest.AddRow(cells, key.Timestamp)
	region.Keys += int64(len(key.Key))
	region.Bytes += int64(len(packed))
	return f.shard.Commit(packed, key.RowLen, len(key.Key),
		partition.EntryOrigin{File: uint32(r.File.Ordinal), Offset: r.Offset})
}
