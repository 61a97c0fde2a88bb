package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"sync"

	"bulkload/internal/digest"
	"bulkload/partition"

	"golang.org/x/sync/errgroup"
)

// maxSamples bounds how many differing duplicates are shown.
const maxSamples = 10

// DuplicateSample shows a row key that came with differing columns.
type DuplicateSample struct {
	Row    string `json:"row"`
	Kept   Place  `json:"kept"`
	Lost   Place  `json:"lost"`
	region int
}

// Place is where a record stands in the input.
type Place struct {
	File   string `json:"file"`
	Offset int64  `json:"offset"`
}

// writing is the stage from sorted rows to verified files.
type writing struct {
	*workplace
	target *target
	rows   *sortedRows
	writes *meter
	checks *meter

	mu      sync.Mutex // guards the manifest and samples
	samples []DuplicateSample
}

// writeRegions writes the regions that the manifest lacks, side by side.
func (w *writing) writeRegions(ctx context.Context) error {
	regions, err := w.unfinished()
	if err != nil {
		return err
	}
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(workers())
	for _, region := range regions {
		if running.Err() != nil {
			break
		}
		group.Go(func() error { return w.writeRegion(running, region) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

// unfinished lists the regions that the manifest lacks. Those that it has must still have as many records.
func (w *writing) unfinished() ([]int, error) {
	var regions []int
	for region := range w.target.regions.Len() {
		done, entries := w.manifest.done(region), w.rows.sorted.RegionEntries(region)
		switch {
		case done == nil:
			regions = append(regions, region)
		case done.Entries != entries:
			return nil, differsf("region %d had %d records when it was written and %d now, with the same input files; use --force to do the run again",
				region, done.Entries, entries)
		default:
			w.writes.add(entries)
		}
	}
	return regions, nil
}

// writeRegion is one unit of work: its files are written, read back, compared with the sort's digest, renamed and
// recorded, or none of them is there.
func (w *writing) writeRegion(ctx context.Context, region int) (err error) {
	r := &regionWriter{writing: w, region: region, open: make([]*hfile, len(w.target.families)),
		sequence: make([]int, len(w.target.families)), values: make([][]byte, len(w.target.layout.sources))}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("region %d: %w", region, err), r.abort())
		}
	}()
	if err := r.writeRows(ctx); err != nil {
		return err
	}
	if err := r.finishAll(); err != nil {
		return err
	}
	if err := r.verify(ctx); err != nil {
		return err
	}
	r.options.reached(pointVerified)
	return r.commit()
}

// regionWriter writes one region's files.
type regionWriter struct {
	*writing
	region   int
	open     []*hfile // a family each; nil where no cell came yet
	sequence []int    // a family each: the next file's
	finished []*hfile
	values   [][]byte
	books    regionBooks
	dropped  digest.Sum // of the duplicates that were not written
	digest   digest.Sum // of the files
}

// writeRows merges the region's sorted runs, keeps one record a row and appends it.
func (r *regionWriter) writeRows(ctx context.Context) (err error) {
	run, err := r.rows.sorted.Region(r.region)
	if err != nil {
		return fmt.Errorf("merge: %w", err)
	}
	defer func() { err = errors.Join(err, run.Close()) }()
	var last *partition.Entry
	for n := int64(1); ; n++ {
		entry, err := run.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("merge: %w", err)
		}
		if err := r.settle(last, entry); err != nil {
			return err
		}
		last = entry
		if n%checkEvery == 0 {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			r.writes.add(checkEvery)
		}
	}
	if last == nil {
		return nil
	}
	return r.append(last)
}

// settle decides about the entry before next: it is written where next is another row, and dropped where it is the same
// row, since the last by path and offset wins.
func (r *regionWriter) settle(last, next *partition.Entry) error {
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
			return &kindError{Failed, fmt.Errorf("two differing records have the row key %s: %v and %v (duplicates: error)",
				Printable(next.Key), r.place(last), r.place(next))}
		}
		r.sample(last, next)
	}
	if err := r.target.layout.unpack(last.Payload, r.values); err != nil {
		return err
	}
	r.target.layout.digestValues(&r.dropped, last.Key, r.values, r.job.Timestamp)
	return nil
}

func (r *regionWriter) sample(lost, kept *partition.Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.samples) < maxSamples {
		r.samples = append(r.samples, DuplicateSample{Printable(kept.Key), r.place(kept), r.place(lost), r.region})
	}
}

func (r *regionWriter) place(e *partition.Entry) Place {
	return Place{r.source.files[e.File].Path, e.Offset}
}

func (p Place) String() string { return fmt.Sprintf("%s, byte %d", p.File, p.Offset) }

// append writes one row, a file a family.
func (r *regionWriter) append(e *partition.Entry) error {
	if err := r.target.layout.unpack(e.Payload, r.values); err != nil {
		return err
	}
	r.books.Rows++
	for i := range r.target.layout.families {
		family := &r.target.layout.families[i]
		cells := family.count(r.values)
		r.books.Cells += cells
		r.books.Nulls += int64(family.last-family.first) - cells
		if cells == 0 {
			continue
		}
		if err := r.appendFamily(i, e.Key); err != nil {
			return err
		}
	}
	return nil
}

func (r *regionWriter) appendFamily(i int, row []byte) error {
	family := &r.target.layout.families[i]
	if r.open[i] == nil {
		f, err := createHFile(r.writing, r.region, &r.target.families[i], r.sequence[i])
		if err != nil {
			return err
		}
		r.open[i] = f
		r.sequence[i]++
	}
	f := r.open[i]
	if err := f.w.AppendRow(family.columns, row, r.job.Timestamp, r.values[family.first:family.last]); err != nil {
		return fmt.Errorf("row %s: %w", Printable(row), err)
	}
	f.Rows++
	if f.w.RawSize() >= r.target.maxSize {
		return r.finish(i)
	}
	return nil
}

// finish ends a family's open file.
func (r *regionWriter) finish(i int) error {
	f := r.open[i]
	r.open[i] = nil
	if err := f.finish(); err != nil {
		return err
	}
	r.finished = append(r.finished, f)
	return nil
}

func (r *regionWriter) finishAll() error {
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

// verify reads all files of the region back. What they hold, with the dropped duplicates, is what was sorted.
func (r *regionWriter) verify(ctx context.Context) error {
	for _, f := range r.finished {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := f.verify(); err != nil {
			return err
		}
		r.digest.Add(f.Digest)
		r.checks.add(f.Bytes)
	}
	written := r.digest
	written.Add(r.dropped)
	if sorted := r.rows.digests[r.region]; written != sorted {
		return differsf("the files read back hold %d cells with digest %v; sorted were %d with %v",
			written.Cells, written, sorted.Cells, sorted)
	}
	return nil
}

// commit gives the files their names and records the region.
func (r *regionWriter) commit() error {
	record := regionRecord{Region: r.region, Entries: r.rows.sorted.RegionEntries(r.region), Books: r.books, Digest: r.digest}
	for _, f := range r.finished {
		if err := r.fsys.MkdirAll(path.Join(r.dir, f.Family), dirPerm); err != nil {
			return fmt.Errorf("make the family's folder: %w", err)
		}
		if err := r.fsys.Rename(f.temp, path.Join(r.dir, f.Path)); err != nil {
			return fmt.Errorf("move a finished file: %w", err)
		}
		r.options.reached(pointRenamed)
		record.Files = append(record.Files, f.FileSummary)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.manifest.add(record)
	if err := r.manifest.save(r.fsys, r.dir); err != nil {
		return err
	}
	r.options.reached(pointRecorded)
	return nil
}

// abort deletes temporary files after an error.
func (r *regionWriter) abort() error {
	var errs []error
	for _, f := range r.open {
		if f != nil {
			errs = append(errs, f.abort())
		}
	}
	for _, f := range r.finished {
		errs = append(errs, removeIfThere(r.fsys, f.temp))
	}
	return errors.Join(errs...)
}
