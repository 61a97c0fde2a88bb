package jobs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"bulkload/internal/errcode"
	"bulkload/jobs/failure"
	"bulkload/jobs/jobfile"
	"bulkload/jobs/options"
	"bulkload/jobs/outcome"
	"bulkload/jobs/progress"
	"bulkload/jobs/run"

	"golang.org/x/sync/errgroup"
)

// Series is a job file read for several dates, which are run one after the other. It ends at the first that fails.
type Series []*jobfile.Job

// Several is what several runs did, in the order of the job files and their dates. Runs that were not begun are not in it.
type Several struct {
	outcome.Outcome
	Runs []*Summary `json:"runs"`
}

// SeveralOptions say how several series are run.
type SeveralOptions struct {
	options.Options
	By       EngineOf // how each run is done; nil: in this process
	Parallel int      // how many series run side by side, within one memory budget; less than 2: one after the other
	// Prepare changes the options of one run; nil: all have the same.
	Prepare func(*jobfile.Job, options.Options) options.Options
	// Ended hears of each run that ended, one at a time; nil: nobody listens.
	Ended func(*Summary, error, time.Duration)
}

// RunSeveral runs several series. A failure ends its series; the others go on. The error is of the worst kind among those
// of the runs: see failure.Worst.
func RunSeveral(ctx context.Context, all []Series, o SeveralOptions) (*Several, error) {
	s := &Several{Outcome: outcome.New()}
	side := max(1, min(o.Parallel, len(all)))
	if o.Memory == 0 {
		o.Memory = options.DefaultMemory
	}
	if o.Memory /= int64(side); o.Memory < options.MinMemory {
		return s, errcode.CommandMemory.Errorf("--memory is shared by all that run side by side: %s for each of %d are too little; give at least %s, or a smaller --parallel",
			FormatSize(o.Memory), side, FormatSize(int64(side)*options.MinMemory))
	}
	r := &several{SeveralOptions: o, series: make([]seriesResult, len(all)), share: newShares(o.Watch, all, side > 1)}
	group := new(errgroup.Group)
	group.SetLimit(side)
	for i, one := range all {
		group.Go(func() error {
			r.run(ctx, i, one)
			return nil
		})
	}
	_ = group.Wait() // what went wrong is in the results
	for _, result := range r.series {
		s.Runs = append(s.Runs, result.runs...)
	}
	s.setStatus()
	return s, r.err(ctx)
}

// several is RunSeveral at work.
type several struct {
	SeveralOptions
	share  *shares
	mu     sync.Mutex // of Ended
	series []seriesResult
}

// seriesResult is how far a series came.
type seriesResult struct {
	runs  []*Summary
	err   error
	later Series // not begun
	job   *jobfile.Job
}

func (r *several) run(ctx context.Context, place int, one Series) {
	result := &r.series[place]
	for i, j := range one {
		if ctx.Err() != nil {
			result.later = one[i:]
			return
		}
		o := r.Options
		o.Watch = r.share.of(place, i)
		if r.Prepare != nil {
			o = r.Prepare(j, o)
		}
		begun := time.Now()
		summary, err := run.Job(ctx, r.By, j, o)
		result.runs = append(result.runs, summary)
		r.ended(summary, err, time.Since(begun))
		if err != nil {
			result.err, result.job, result.later = err, j, one[i+1:]
			return
		}
	}
}

func (r *several) ended(s *Summary, err error, took time.Duration) {
	if r.Ended == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Ended(s, err, took)
}

// err names each job and date that failed, and what was not begun.
func (r *several) err(ctx context.Context) error {
	var texts []string
	kind := len(failure.Worst)
	var code errcode.Code // of the first failure of the worst kind
	seen := func(k failure.Kind, c errcode.Code) {
		if at := slices.Index(failure.Worst, k); at < kind {
			kind, code = at, c
		}
	}
	for i := range r.series {
		one := &r.series[i]
		if one.err != nil {
			seen(failure.KindOf(one.err), failure.CodeOf(one.err))
			texts = append(texts, fmt.Sprintf("%s: %v%s", one.job.Title(), one.err, notBegun(one.later)))
		} else if len(one.later) > 0 {
			seen(failure.Interrupted, errcode.OtherInterrupted)
			texts = append(texts, fmt.Sprintf("%s: stopped before it began%s", one.later[0].Title(), notBegun(one.later[1:])))
		}
	}
	if texts == nil {
		return nil
	}
	if ctx.Err() != nil { // which every run ends with that was at work
		seen(failure.Interrupted, errcode.OtherInterrupted)
	}
	return code.New(strings.Join(texts, "\n"))
}

func notBegun(later Series) string {
	switch len(later) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf(" (%s was not begun)", later[0].DateText())
	}
	return fmt.Sprintf(" (%d more dates, %s to %s, were not begun)", len(later), later[0].DateText(), later[len(later)-1].DateText())
}

// setStatus derives the status of the whole from its runs: done if one is, nothing to do if all are.
func (s *Several) setStatus() {
	s.Status = outcome.Nothing
	for _, one := range s.Runs {
		switch {
		case one.Status == outcome.Done, one.Status == outcome.Empty && s.Status == outcome.Nothing:
			s.Status = one.Status
		}
	}
}

// shares makes one progress of those of several runs.
type shares struct {
	watch  func(progress.Progress)
	beside bool // several at a time, whose phases would take turns
	mu     sync.Mutex
	done   [][]float64 // of each run, by series and date
	runs   int
}

func newShares(watch func(progress.Progress), all []Series, beside bool) *shares {
	s := &shares{watch: watch, beside: beside}
	for _, one := range all {
		s.done = append(s.done, make([]float64, len(one)))
		s.runs += len(one)
	}
	return s
}

// of is what takes the progress of one run; nil where nobody listens.
func (s *shares) of(series, date int) func(progress.Progress) {
	if s.watch == nil {
		return nil
	}
	return func(p progress.Progress) {
		s.mu.Lock()
		s.done[series][date] = max(p.Whole, s.done[series][date])
		sum := 0.0
		for i := range s.done {
			for _, part := range s.done[i] {
				sum += part
			}
		}
		s.mu.Unlock()
		p.Whole = sum / float64(s.runs)
		if s.beside {
			p = progress.Progress{Phase: jobfile.Plural(s.runs, "run"), Done: int64(100 * p.Whole), Total: 100, Unit: "percent", Whole: p.Whole}
		}
		s.watch(p)
	}
}
