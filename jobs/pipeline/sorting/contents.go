package sorting

import (
	"context"
	"fmt"

	"bulkload/cell"
	"bulkload/ingest"
	"bulkload/internal/digest"
	"bulkload/internal/parallel"
	"bulkload/jobs/base/counts"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/entry"
	"bulkload/jobs/pipeline/source"
	"bulkload/jobs/pipeline/targets"
	"bulkload/jobs/spec/jobfile"
)

// ReadContents reads the input files with the given ordinals as a run does, but only adds up their contents for the
// output of one job.
func ReadContents(ctx context.Context, src *source.Source, own *jobfile.Job, files []int,
	o options.Options) (counts.Contents, error) {
	if len(files) == 0 {
		return counts.Contents{}, nil
	}
	var wanted []ingest.SourceFile
	for _, i := range files {
		wanted = append(wanted, src.Files[i])
	}
	o.Infof("%s changed since the input was read (such as %s): reading again to compare the records",
		jobfile.Plural(len(wanted), "input file"), wanted[0])
	splits, err := src.Job.Input.Form.Splits(src.Until(ctx), wanted, src.SplitSize())
	if err != nil {
		return nil, fmt.Errorf("read the input: %w", err)
	}
	var readers []*contentReader
	for range min(parallel.Workers(), len(splits)) {
		r, err := newContentReader(src, own, new(entry.CountedRejects))
		if err != nil {
			return nil, err
		}
		readers = append(readers, r)
	}
	read := func(ctx context.Context, r *contentReader, s ingest.Split) error { return r.read(ctx, s) }
	if err := parallel.Share(ctx, readers, splits, read); err != nil {
		return nil, err
	}
	all := counts.Contents{}
	for _, r := range readers {
		all.Add(r.found)
	}
	return all, nil
}

// contentReader is one goroutine that reads splits for their content.
type contentReader struct {
	records entry.RecordReader
	shards  []*outputShard // for all outputs, because each may reject a record
	own     int            // index of the output whose cells count
	found   counts.Contents
	buffer  []byte
}

func newContentReader(src *source.Source, own *jobfile.Job, rejects entry.RejectSink) (*contentReader, error) {
	r := &contentReader{found: counts.Contents{}}
	r.records = entry.NewReader(src.Job.Input.Form, src.FS, rejects, options.NewMeter(nil, "", 0, true))
	for i, out := range src.Job.Feeds() {
		l, err := entry.NewLayout(out)
		if err != nil {
			return nil, err
		}
		r.shards = append(r.shards, &outputShard{key: entry.NewKey(out), target: &targets.Target{Layout: l}})
		if out == own {
			r.own = i
		}
	}
	return r, nil
}

func (r *contentReader) read(ctx context.Context, s ingest.Split) error {
	into := r.found.OfFile(s.File.Ordinal)
	read, rejected := r.records.Read, r.records.Refused
	_, err := r.records.ReadSplit(ctx, s, func(record *ingest.Record) error { return r.add(record, into) })
	if err != nil {
		return err
	}
	into.Read += r.records.Read - read
	into.Rejected += r.records.Refused - rejected
	return nil
}

func (r *contentReader) add(record *ingest.Record, into *counts.Content) error {
	for _, f := range r.shards {
		if err := f.begin(record); err != nil {
			return r.records.Reject(err)
		}
	}
	f := r.shards[r.own]
	if !f.accepted {
		into.Filtered++
		return nil
	}
	key := &f.key
	var cells digest.Row
	r.buffer, cells = f.target.Layout.PackAndDigest(r.buffer[:0], digest.NewRow(key.Row, cell.Put),
		key.Named(), key.Values, key.Timestamp)
	into.Digest.AddRow(cells, key.Timestamp)
	return nil
}
