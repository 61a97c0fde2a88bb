package jobs

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"bulkload/cell"
	"bulkload/ingest"
	"bulkload/internal/digest"
	"bulkload/internal/parallel"
	"bulkload/jobs/books"
	"bulkload/jobs/failure"
	"bulkload/jobs/progress"

	"golang.org/x/sync/errgroup"
)

// sameInput tells whether the input holds what an earlier run of this job and date has read: each file is as it was, or
// holds the same records still. Files that were touched, copied, renamed or packed anew are read for that; with
// duplicates that differ their order counts, and so their names.
func (w *workplace) sameInput(ctx context.Context, old, now []manifestInput, differing int64) (bool, error) {
	var read []int // of now
	var want, gone books.Content
	byPath := map[string]*manifestInput{}
	for i := range old {
		if old[i].Content == nil {
			return false, nil // an older bulkload has recorded none
		}
		byPath[old[i].Path] = &old[i]
	}
	left := maps.Clone(byPath)
	paths := len(old) == len(now)
	for i := range now {
		was := left[now[i].Path]
		delete(left, now[i].Path)
		switch {
		case was != nil && was.sameFile(&now[i]):
			now[i].Content = was.Content
			continue
		case was != nil:
			want.Add(was.Content)
		default:
			paths = false
		}
		read = append(read, i)
	}
	for _, was := range left {
		gone.Add(was.Content)
	}
	if !paths && differing > 0 || len(read) == 0 && len(left) > 0 {
		return false, nil
	}
	want.Add(&gone)
	found, err := w.readContents(ctx, read)
	if err != nil {
		return false, err
	}
	var sum books.Content
	for _, i := range read {
		now[i].Content = found.Of(i)
		sum.Add(now[i].Content)
		if was := byPath[now[i].Path]; was != nil && paths && *was.Content != *now[i].Content {
			return false, nil
		}
	}
	return sum == want, nil
}

// sameFile tells whether a file was not even touched.
func (in *manifestInput) sameFile(o *manifestInput) bool {
	return in.Path == o.Path && in.Size == o.Size && in.ModTime == o.ModTime
}

// readContents reads input files, by their places in the list of all, as a run does, and only adds up what they hold.
func (w *workplace) readContents(ctx context.Context, files []int) (books.Contents, error) {
	if len(files) == 0 {
		return books.Contents{}, nil
	}
	var wanted []ingest.File
	for _, i := range files {
		wanted = append(wanted, w.source.files[i])
	}
	w.options.Sayf("%d input files were touched or replaced since they were read, such as %s: reading them to see whether they hold the same", len(wanted), wanted[0].Path)
	splits, err := w.source.job.Input.Form.Splits(w.source.fsys, wanted, splitSize)
	if err != nil {
		return nil, fmt.Errorf("look into the input: %w", err)
	}
	var readers []*contentReader
	group, running := errgroup.WithContext(ctx)
	next := make(chan ingest.Split)
	for range min(parallel.Workers(), len(splits)) {
		r, err := newContentReader(w)
		if err != nil {
			return nil, err
		}
		readers = append(readers, r)
	}
	for _, r := range readers {
		group.Go(func() error { return r.run(running, next) })
	}
	group.Go(func() error {
		defer close(next)
		for _, s := range splits {
			select {
			case next <- s:
			case <-running.Done():
				return running.Err()
			}
		}
		return nil
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	all := books.Contents{}
	for _, r := range readers {
		all.Add(r.found)
	}
	return all, nil
}

// contentReader is one goroutine that reads splits for what they hold.
type contentReader struct {
	records recordReader
	rejects countedRejects
	feeds   []*feed // of all outputs: each may reject a record
	own     int     // the output whose cells count
	found   books.Contents
	buffer  []byte
}

func newContentReader(w *workplace) (*contentReader, error) {
	r := &contentReader{found: books.Contents{}}
	r.records = newRecordReader(w.source.job.Input.Form, w.source.fsys, &r.rejects, progress.NewMeter(nil, "", 0, true))
	for i, out := range w.source.job.Feeds() {
		l, err := newLayout(out)
		if err != nil {
			return nil, err
		}
		r.feeds = append(r.feeds, &feed{key: newRecordKey(out), target: &target{layout: l}})
		if out == w.job {
			r.own = i
		}
	}
	return r, nil
}

func (r *contentReader) run(ctx context.Context, splits <-chan ingest.Split) error {
	for s := range splits {
		into := r.found.Of(s.File.Ordinal)
		read, rejected := r.records.read, r.records.refused
		_, err := r.records.readSplit(ctx, s, func(record *ingest.Record) error { return r.add(record, into) })
		if err != nil {
			return err
		}
		into.Read += r.records.read - read
		into.Rejected += r.records.refused - rejected
	}
	return ctx.Err()
}

func (r *contentReader) add(record *ingest.Record, into *books.Content) error {
	for _, f := range r.feeds {
		if err := f.begin(record); err != nil {
			return r.records.reject(err)
		}
	}
	f := r.feeds[r.own]
	if !f.wanted {
		into.Filtered++
		return nil
	}
	key := &f.key
	var cells digest.Row
	r.buffer, cells = f.target.layout.packAndDigest(r.buffer[:0], digest.NewRow(key.row, cell.Put), key.named(), key.values, key.timestamp)
	into.Digest.AddRow(cells, key.timestamp)
	return nil
}

// adoptInput makes a run one with the finished one in its output where only files of the input were touched, copied or
// renamed, and hold the same still: it has that one's ID then.
func (w *workplace) adoptInput(ctx context.Context, old, fresh *manifest) error {
	if old == nil || w.options.Force || old.Run.ID == fresh.Run.ID || old.JobHash != fresh.JobHash || old.Run.Date != fresh.Run.Date {
		return nil
	}
	same, err := w.sameInput(ctx, old.Inputs, fresh.Inputs, old.Books.Differing)
	if err != nil || !same {
		return err
	}
	fresh.Run.ID = old.Run.ID
	if !slices.EqualFunc(old.Inputs, fresh.Inputs, func(a, b manifestInput) bool { return a.sameFile(&b) }) {
		w.options.Sayf("the input holds the same records as when it was read")
		old.Inputs = fresh.Inputs
		return w.saveManifest(old)
	}
	return nil
}

// recordContents takes over what the input files hold. It must add up to what was sorted.
func (w *workplace) recordContents(rows *sortedRows) error {
	var sum, sorted digest.Sum
	for _, c := range rows.files {
		sum.Add(c.Digest)
	}
	for i := range rows.regions {
		sorted.Add(rows.regions[i].Digest)
	}
	if sum != sorted {
		return failure.Differsf("the input files hold %d cells with digest %v, but %d with %v were sorted", sum.Cells, sum, sorted.Cells, sorted)
	}
	inputs := slices.Clone(w.manifest.Inputs)
	for i := range inputs {
		inputs[i].Content = rows.files.Of(i)
	}
	w.manifest.Inputs = inputs
	return nil
}
