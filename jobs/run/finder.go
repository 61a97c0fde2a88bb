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
	"bulkload/load"
	"bulkload/partition"

	"golang.org/x/sync/errgroup"
)

// finder finds the rows of an output that its table already has, before anything is loaded.
type finder struct {
	*outputRun
	rows  *sorting.Rows
	limit *throttle.Limit // in rows per second
	// again: an earlier load of this job and date may have put rows into the table, so cells with a row's own timestamp
	// don't count.
	again bool

	meter *options.Meter
	all   []load.Columns // the columns of each row; nil for a wide table, whose records differ
}

// maxSamples bounds how many rows are reported.
const maxSamples = 10

// find asks the table for every row, region by region, in the order of their keys.
func (f *finder) find(ctx context.Context) (*manifest.Existing, error) {
	if !f.target.Layout.Wide {
		f.all = f.columns(nil)
	}
	watch := options.Within(f.out.Options.Watch, sortShare, sortShare)
	f.meter = options.NewCounter(watch, "look up", f.rows.Sorted.Stats().Entries, "rows")
	regions := make([]answers, len(f.rows.Regions))
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
	// The samples are the first rows, so they do not depend on the order of the answers.
	all := &manifest.Existing{Asked: time.Now().UTC().Truncate(time.Second)}
	for _, r := range regions {
		all.Rows += r.asked
		all.Found += r.found
		all.Samples = append(all.Samples, r.samples...)
	}
	all.Samples = all.Samples[:min(len(all.Samples), maxSamples)]
	return all, nil
}

// region looks up the rows of one region.
func (f *finder) region(ctx context.Context, region int) (_ answers, err error) {
	merged, err := f.rows.Sorted.Slice(partition.Slice{Region: region})
	if err != nil {
		return answers{}, fmt.Errorf("merge: %w", err)
	}
	defer func() { err = errors.Join(err, merged.Close()) }()
	l := &lookups{finder: f}
	for {
		e, more, err := l.nextKey(merged)
		if err == nil && e != nil {
			err = l.add(e)
		}
		if full := len(l.rows) >= load.LookupsPerCall || l.bytes >= lookupBytes; err == nil && (full || !more) {
			err = l.ask(ctx)
		}
		if err != nil || !more {
			return l.answers, err
		}
	}
}

// columns returns the columns in which a row may have cells: all columns of each family of the job. In a wide table,
// they are only the columns of the record whose qualifiers begin with named.
func (f *finder) columns(named []byte) []load.Columns {
	layout := f.target.Layout
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

// answers are the results of the look-ups in one region.
type answers struct {
	asked, found int64    // rows
	samples      []string // of those that were found
}

// lookups makes the look-ups in one region.
type lookups struct {
	finder *finder
	answers

	// The next call.
	keys  [][]byte // as the sort has them
	rows  []load.Lookup
	bytes int              // of the keys
	ahead *partition.Entry // read, but not in rows yet
}

// lookupBytes bounds the keys of a call, so that its request stays small.
const lookupBytes = 1 << 20

// nextKey returns the last record of the next key, which is the one that is written. more is false if no key follows.
func (l *lookups) nextKey(merged *partition.RunReader) (last *partition.Entry, more bool, err error) {
	last = l.ahead
	for {
		e, err := sorting.NextEntry(merged)
		if err != nil {
			return nil, false, fmt.Errorf("merge: %w", err)
		}
		switch {
		case e == nil:
			return last, false, nil
		case last != nil && !bytes.Equal(last.Key, e.Key):
			l.ahead = e
			return last, true, nil
		}
		last = e
	}
}

// add adds a record to the next call. It copies what it keeps, because an entry is valid only until the next but one.
func (l *lookups) add(e *partition.Entry) error {
	key := bytes.Clone(e.Key)
	row, named, err := l.finder.target.SplitKey(key)
	if err != nil {
		return err
	}
	other := int64(-1)
	if l.finder.again {
		if other, _, err = l.finder.target.Layout.CutTimestamp(e.Payload); err != nil {
			return err
		}
	}
	columns := l.finder.all
	if columns == nil {
		columns = l.finder.columns(named)
	}
	l.keys = append(l.keys, key)
	l.rows = append(l.rows, load.Lookup{Row: row, Columns: columns, Other: other})
	l.bytes += len(key)
	return nil
}

// ask makes the next call.
func (l *lookups) ask(ctx context.Context) error {
	if len(l.rows) == 0 {
		return ctx.Err()
	}
	l.finder.limit.Wait(len(l.rows))
	exist, err := l.finder.loader.Cluster.Exist(ctx, l.finder.out.Job.Table, l.rows)
	if err != nil {
		return err
	}
	for i, yes := range exist {
		if !yes {
			continue
		}
		if l.found++; len(l.samples) == maxSamples {
			continue
		}
		row, named, err := l.finder.target.SplitKey(l.keys[i])
		if err != nil {
			return err
		}
		text := printable.Bytes(row)
		if named != nil {
			text += " and the qualifier " + printable.Bytes(named)
		}
		l.samples = append(l.samples, text)
	}
	l.asked += int64(len(l.rows))
	l.finder.meter.Add(int64(len(l.rows)))
	l.keys, l.rows, l.bytes = l.keys[:0], l.rows[:0], 0
	return nil
}
