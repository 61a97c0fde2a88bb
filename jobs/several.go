package jobs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"bulkload/internal/bytesize"
	"bulkload/internal/errcode"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/run"
	"bulkload/jobs/run/summary"
	"bulkload/jobs/spec/jobfile"

	"golang.org/x/sync/errgroup"
)

// Series is a job file for several dates. They run one after the other, until one fails.
type Series []*jobfile.Job

// Several is the result of several runs, in the order of the job files and their dates. It lacks runs that did not
// begin.
type Several struct {
	failure.Outcome
	Runs []*summary.Summary `json:"runs"`
}

// SeveralOptions are the options of RunSeveral.
type SeveralOptions struct {
	options.Options
	By       run.EngineOf // how each run is done; nil: in this process
	Parallel int          // how many series run side by side, within one memory budget; less than 2: one after the other
	// Prepare returns the options of one run; nil: all runs have the same.
	Prepare func(*jobfile.Job, options.Options) options.Options
	// Ended is called when a run has ended, by one goroutine at a time. It is called again for a run whose rows its table
	// no longer serves at the end. It may be nil.
	Ended func(*summary.Summary, error, time.Duration)
}

// RunSeveral runs several series. A failure ends its series; the others go on. The error covers all failed runs, and
// has the kind and the code of one of them: see decisive. If there are several runs and none failed, the tables must
// still serve at the end what each of them loaded.
func RunSeveral(ctx context.Context, all []Series, o SeveralOptions) (*Several, error) {
	s := &Several{Outcome: failure.NewOutcome()}
	side := max(1, min(o.Parallel, len(all)))
	if o.Memory == 0 {
		o.Memory = options.DefaultMemory
	}
	if o.Memory /= int64(side); o.Memory < options.MinMemory {
		return s, errcode.Command.Errorf("--memory is shared by all that run side by side: %s for each of %d are too "+
			"little; give at least %s, or a smaller --parallel",
			bytesize.Format(o.Memory), side, bytesize.Format(int64(side)*options.MinMemory))
	}
	o.Side = side
	r := &several{SeveralOptions: o, series: make([]seriesResult, len(all)), share: newShares(o.Watch, all, side > 1)}
	each := func(do func(context.Context, int, Series)) {
		group := new(errgroup.Group)
		group.SetLimit(side)
		for i, one := range all {
			group.Go(func() error {
				do(ctx, i, one)
				return nil
			})
		}
		_ = group.Wait() // the errors are in the results
	}
	each(r.run)
	if r.share.runs > 1 && r.err(ctx) == nil {
		each(r.requery)
	}
	for _, result := range r.series {
		s.Runs = append(s.Runs, result.runs...)
	}
	s.setStatus()
	return s, r.err(ctx)
}

// several is a call of RunSeveral in progress.
type several struct {
	SeveralOptions
	share  *shares
	mu     sync.Mutex // serializes calls of Ended
	series []seriesResult
}

// seriesResult is the result of a series, as far as it ran.
type seriesResult struct {
	runs  []*summary.Summary
	took  []time.Duration // of each run
	err   error
	later Series // the dates that did not begin
	job   *jobfile.Job
}

func (r *several) run(ctx context.Context, place int, series Series) {
	result := &r.series[place]
	for i, j := range series {
		if ctx.Err() != nil {
			result.later = series[i:]
			return
		}
		o := r.prepared(j)
		o.Watch = r.share.progressOf(place, i)
		begun := time.Now()
		sum, err := run.Job(ctx, r.By, j, o)
		result.runs, result.took = append(result.runs, sum), append(result.took, time.Since(begun))
		r.ended(sum, err, result.took[i])
		if err != nil {
			result.err, result.job, result.later = err, j, series[i+1:]
			return
		}
	}
}

// requery checks that the tables still serve what the runs of a series loaded. The later runs may have taken hours, in
// which a table may have lost rows of the first.
func (r *several) requery(ctx context.Context, place int, series Series) {
	result := &r.series[place]
	for i, j := range series {
		// A run without rows has nothing to check. Its record may even be gone, if another date's run has replaced its
		// output.
		if !result.runs[i].HasRows() {
			continue
		}
		begun := time.Now()
		if err := run.AskAgain(ctx, j, r.prepared(j)); err != nil {
			result.err, result.job = err, j
			r.ended(result.runs[i], err, result.took[i]+time.Since(begun))
			return
		}
	}
}

func (r *several) prepared(j *jobfile.Job) options.Options {
	if r.Prepare == nil {
		return r.Options
	}
	return r.Prepare(j, r.Options)
}

func (r *several) ended(s *summary.Summary, err error, took time.Duration) {
	if r.Ended == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Ended(s, err, took)
}

// decisive ranks the kinds of failure by which of them decides how the whole command ended. Kinds that another try may
// mend come first, because a scheduler repeats the whole command or nothing: otherwise a night that is only late would
// be lost. A failure that a person must correct occurs again on each try, is reported each time, and decides once no
// other is left.
var decisive = slices.Concat([]failure.Kind{failure.Interrupted, failure.Later, failure.NotYet}, failure.Worst)

// failedRuns is the error of several runs.
type failedRuns struct {
	lines, coded []string // of each failed run, without and with its code
	code         errcode.Code
}

func (e *failedRuns) Error() string { return strings.Join(e.lines, "\n") }

// ErrorCode implements errcode.Coder.
func (e *failedRuns) ErrorCode() errcode.Code { return e.code }

// TextWithCodes implements failure.Texts.
func (e *failedRuns) TextWithCodes() string { return strings.Join(e.coded, "\n") }

// add adds a failed run, or one that did not begin because the command was stopped. later are the dates of its series
// that did not begin.
func (e *failedRuns) add(of *jobfile.Job, err error, later Series) {
	e.decide(failure.CodeOf(err))
	e.lines = append(e.lines, fmt.Sprintf("%s: %v%s", of.Title(), err, notBegun(later)))
	if several, ok := err.(failure.Texts); ok {
		e.coded = append(e.coded, fmt.Sprintf("%s: %s%s", of.Title(), several.TextWithCodes(), notBegun(later)))
		return
	}
	e.coded = append(e.coded, fmt.Sprintf("%s [%s]", e.lines[len(e.lines)-1], failure.CodeOf(err)))
}

// decide adopts the code if its kind ranks before those seen so far.
func (e *failedRuns) decide(code errcode.Code) {
	rank := func(c errcode.Code) int { return slices.Index(decisive, c.Kind()) }
	if e.code == "" || rank(code) < rank(e.code) {
		e.code = code
	}
}

// err returns an error that names each job and date that failed or did not begin; nil if all succeeded.
func (r *several) err(ctx context.Context) error {
	failed := &failedRuns{}
	for i := range r.series {
		one := &r.series[i]
		if one.err != nil {
			failed.add(one.job, one.err, one.later)
		} else if len(one.later) > 0 {
			failed.add(one.later[0], errcode.OtherInterrupted.New("stopped before it began"), one.later[1:])
		}
	}
	if failed.lines == nil {
		return nil
	}
	if ctx.Err() != nil { // this ended each run in progress
		failed.decide(errcode.OtherInterrupted)
	}
	return failed
}

func notBegun(later Series) string {
	switch len(later) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf(" (%s was not begun)", later[0].DateText())
	}
	return fmt.Sprintf(" (%d more dates, %s to %s, were not begun)", len(later), later[0].DateText(),
		later[len(later)-1].DateText())
}

// setStatus derives the overall status from the runs: done if any run is, otherwise empty if any is, otherwise nothing
// to do.
func (s *Several) setStatus() {
	s.Status = failure.StatusNothing
	for _, one := range s.Runs {
		switch {
		case one.Status == failure.StatusDone, one.Status == failure.StatusEmpty && s.Status == failure.StatusNothing:
			s.Status = one.Status
		}
	}
}

// shares combines the progress of several runs into one.
type shares struct {
	watch  func(options.Progress)
	beside bool // runs go on side by side, so their phases would alternate
	mu     sync.Mutex
	done   [][]float64 // the part of each run that is done, by series and date
	runs   int
}

func newShares(watch func(options.Progress), all []Series, beside bool) *shares {
	s := &shares{watch: watch, beside: beside}
	for _, one := range all {
		s.done = append(s.done, make([]float64, len(one)))
		s.runs += len(one)
	}
	return s
}

// progressOf returns the function that takes the progress of one run; nil if nobody watches.
func (s *shares) progressOf(series, date int) func(options.Progress) {
	if s.watch == nil {
		return nil
	}
	return func(p options.Progress) {
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
			p = options.Progress{Phase: jobfile.Plural(s.runs, "run"), Done: int64(100 * p.Whole), Total: 100,
				Unit: "percent", Whole: p.Whole}
		}
		s.watch(p)
	}
}
