package output

import (
	"context"
	"maps"
	"slices"

	"bulkload/jobs/base/counts"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/sorting"
)

// SameInput reports whether the input has the records that an earlier run of this job and date has read. To find out,
// it reads files that were touched, copied, renamed or repacked. If duplicates differ, the paths must be the same, too,
// because their order decides which duplicate wins.
func (w *Run) SameInput(ctx context.Context, old, now []manifest.RecordedInput, differing int64) (bool, error) {
	var read []int // indexes in now
	var want, gone counts.Content
	byPath := map[string]*manifest.RecordedInput{}
	for i := range old {
		if old[i].Content == nil {
			return false, nil // that run was stopped before it had read all input
		}
		byPath[old[i].Path] = &old[i]
	}
	left := maps.Clone(byPath)
	paths := len(old) == len(now)
	for i := range now {
		was := left[now[i].Path]
		delete(left, now[i].Path)
		switch {
		case was != nil && was.SameFile(&now[i]):
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
	found, err := sorting.ReadContents(ctx, w.Source, w.Job, read, w.Options)
	if err != nil {
		return false, err
	}
	for _, i := range read {
		now[i].Content = found.OfFile(i)
	}
	var sum counts.Content
	for _, i := range read {
		sum.Add(now[i].Content)
		if was := byPath[now[i].Path]; was != nil && paths && *was.Content != *now[i].Content {
			return false, nil
		}
	}
	return sum == want, nil
}

// adoptInput makes a run identical with the finished one in its output if files of the input were only touched, copied
// or renamed, and still have the same content. The run gets the ID of the finished one then.
func (w *Run) adoptInput(ctx context.Context, old *manifest.Manifest) error {
	fresh := w.Manifest
	if old.Run.ID == fresh.Run.ID {
		return nil
	}
	same, err := w.readSame(ctx, old)
	if err != nil || !same {
		return err
	}
	fresh.Run.ID = old.Run.ID
	if !slices.EqualFunc(old.Inputs, fresh.Inputs, func(a, b manifest.RecordedInput) bool { return a.SameFile(&b) }) {
		w.Options.Infof("the input holds the same records as when it was read")
		old.Inputs = fresh.Inputs
		return w.save(old)
	}
	return nil
}

// readSame reports whether a run with another ID has read the records that this one is to read, by the same job for the
// same date. To find out, it reads the files that are not the ones which that run has read.
func (w *Run) readSame(ctx context.Context, old *manifest.Manifest) (bool, error) {
	if w.Options.Force || old.JobHash != w.Manifest.JobHash || old.Run.Date != w.Manifest.Run.Date {
		return false, nil
	}
	return w.SameInput(ctx, old.Inputs, w.Manifest.Inputs, old.Counts.Differing)
}
