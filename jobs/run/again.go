package run

import (
	"context"
	"errors"
	"slices"

	"bulkload/internal/errcode"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/output"
	"bulkload/jobs/spec/jobfile"
)

// AskAgain checks that the tables still serve what a job's run loaded, perhaps hours ago. It loads nothing.
func AskAgain(ctx context.Context, j *jobfile.Job, o options.Options) error {
	if o.NoLoad || !slices.ContainsFunc(j.Feeds(), func(out *jobfile.Job) bool { return out.Load }) {
		return nil
	}
	o.Force, o.OnChange, o.Wait, o.Watch = false, options.Fail, options.Wait{}, nil
	r, err := newRunner(nil, j, o)
	if err != nil {
		return err
	}
	running, err := r.open(ctx)
	if err == nil {
		err = r.askAgain(running)
	} else {
		err = r.withoutInput(running, err)
	}
	return r.end(ctx, running, err)
}

func (r *runner) askAgain(ctx context.Context) error {
	todo, err := r.resume(ctx)
	var another *output.AnotherRunError
	if errors.As(err, &another) { // another date's run has replaced the output, or the input has changed
		return r.loadedWithoutInput(ctx, err)
	}
	if err != nil {
		return err
	}
	for _, w := range r.opened.outputs {
		if slices.Contains(todo, w) || w.unloaded() {
			return r.opened.wrap(w, errcode.RunAgain.Errorf("%s was loaded, and was changed after that; run this again",
				w.out.FS.URI(w.out.Path)))
		}
		if w.out.WantsLoad() && w.loader.Adopted == nil { // which was just asked for
			if err := w.loader.CheckServed(ctx); err != nil {
				return r.opened.wrap(w, err)
			}
		}
	}
	return nil
}
