package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"bulkload/internal/parallel"
	"bulkload/internal/printable"
	"bulkload/internal/throttle"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/sorting"
	"bulkload/jobs/pipeline/targets"
	"bulkload/jobs/spec/jobfile"
	"bulkload/load"
	"bulkload/partition"

	"golang.org/x/sync/errgroup"
)

// Finder looks up the sorted rows of an output in the table.
type Finder struct {
	Cluster *load.Cluster
	Job     *jobfile.Job
	Target  *targets.Target
	Rows    *sorting.Rows
	Limit   *throttle.Limit // of rows a second; nil: no limit
	// Again: an earlier load of this job and date may have put rows into the table. So cells with a row's own timestamp
	// don't count.
	Again bool
	Watch func(options.Progress)

	meter *options.Meter
	all   []load.Columns // of a row; nil in a wide table, whose records differ
}

// maxSamples bounds how many rows are reported.
const maxSamples = 10

// Find asks the table for every row, region by region, in the order of their keys.
func (f *Finder) Find(ctx context.Context) (*manifest.Existing, error) {
	if !f.Target.Layout.Wide {
		f.all = f.columns(nil)
	}
	f.meter = options.NewCounter(f.Watch, "look up", f.Rows.Sorted.Stats().Entries, "rows")
	regions := make([]found, len(f.Rows.Regions))
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(parallel.Workers())
	for region := range regions {
		group.Go(func() (err error) {
			if regions[region], err = f.region(running, region); err != nil {
				return fmt.Errorf("region %d: %w", region, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return sum(regions), nil
}

// found is what a region's rows came to.
type found struct {
	asked, exist int64
	samples      []string
}

// sum adds up the regions. The samples are the first rows, so they are the same whatever the order of the answers was.
func sum(regions []found) *manifest.Existing {
	all := &manifest.Existing{Asked: time.Now().UTC().Truncate(time.Second)}
	for _, r := range regions {
		all.Rows += r.asked
		all.Found += r.exist
		all.Samples = append(all.Samples, r.samples...)
	}
	all.Samples = all.Samples[:min(len(all.Samples), maxSamples)]
	return all
}

// region looks up the rows of one region.
func (f *Finder) region(ctx context.Context, region int) (all found, err error) {
	run, err := f.Rows.Sorted.Slice(partition.Slice{Region: region})
	if err != nil {
		return all, fmt.Errorf("merge: %w", err)
	}
	defer func() { err = errors.Join(err, run.Close()) }()
	b := &batch{finder: f}
	for {
		e, more, err := f.nextKey(run, b)
		if err == nil && e != nil {
			err = b.add(e)
		}
		if err == nil && (b.full() || !more) {
			err = b.ask(ctx)
		}
		if err != nil {
			return all, err
		}
		if !more {
			return b.found, nil
		}
	}
}

// nextKey is the last record of the next key: the one that is written. more is false after the last one.
func (f *Finder) nextKey(run *partition.RunReader, b *batch) (last *partition.Entry, more bool, err error) {
	last = b.ahead
	for {
		e, err := sorting.NextEntry(run)
		if err != nil {
			return nil, false, fmt.Errorf("merge: %w", err)
		}
		switch {
		case e == nil:
			return last, false, nil
		case last != nil && !bytes.Equal(last.Key, e.Key):
			b.ahead = e
			return last, true, nil
		}
		last = e
	}
}

// batch is the rows of one region that are looked up in one call.
type batch struct {
	finder *Finder
	ahead  *partition.Entry // read, but not in the batch yet
	keys   [][]byte         // of the sort
	rows   []load.Lookup
	bytes  int
	found  found
}

// batchBytes bounds the keys of a call, so that its request stays small.
const batchBytes = 1 << 20

func (b *batch) full() bool { return len(b.rows) >= load.LookupsPerCall || b.bytes >= batchBytes }

// add adds a record. What it keeps is copied: the entry is valid until the next but one.
func (b *batch) add(e *partition.Entry) error {
	key := bytes.Clone(e.Key)
	row, named, err := b.finder.Target.SplitKey(key)
	if err != nil {
		return err
	}
	other := int64(-1)
	if b.finder.Again {
		if other, _, err = b.finder.Target.Layout.CutTimestamp(e.Payload); err != nil {
			return err
		}
	}
	columns := b.finder.all
	if columns == nil {
		columns = b.finder.columns(named)
	}
	b.keys = append(b.keys, key)
	b.rows = append(b.rows, load.Lookup{Row: row, Columns: columns, Other: other})
	b.bytes += len(key)
	return nil
}

// columns are the columns of a row's cells: all of each family of the job, but in a wide table only those that the record
// with the beginning named of the qualifiers may write.
func (f *Finder) columns(named []byte) []load.Columns {
	layout := f.Target.Layout
	all := make([]load.Columns, len(layout.Families))
	for i := range layout.Families {
		family := &layout.Families[i]
		all[i].Family = family.Bytes
		for _, q := range family.Qualifiers {
			if layout.Wide {
				all[i].Qualifiers = append(all[i].Qualifiers, slices.Concat(named, q))
			}
		}
	}
	return all
}

// ask looks up the rows of the batch, and empties it.
func (b *batch) ask(ctx context.Context) error {
	if len(b.rows) == 0 {
		return ctx.Err()
	}
	b.finder.Limit.Wait(len(b.rows))
	exist, err := b.finder.Cluster.Exist(ctx, b.finder.Job.Table, b.rows)
	if err != nil {
		return err
	}
	for i, yes := range exist {
		if !yes {
			continue
		}
		if err := b.exists(b.keys[i]); err != nil {
			return err
		}
	}
	b.found.asked += int64(len(b.rows))
	b.finder.meter.Add(int64(len(b.rows)))
	b.keys, b.rows, b.bytes = b.keys[:0], b.rows[:0], 0
	return nil
}

// exists records a row that the table has.
func (b *batch) exists(key []byte) (err error) {
	b.found.exist++
	if len(b.found.samples) < maxSamples {
		row, named, err := b.finder.Target.SplitKey(key)
		if err != nil {
			return err
		}
		text := printable.Bytes(row)
		if named != nil {
			text += " and the qualifier " + printable.Bytes(named)
		}
		b.found.samples = append(b.found.samples, text)
	}
	return nil
}
