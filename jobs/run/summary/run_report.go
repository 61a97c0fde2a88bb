package summary

import (
	"io"
	"time"

	"bulkload/internal/page"
	"bulkload/internal/program"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/spec/jobfile"
)

// RunReport collects what the runs of a command did, for an HTML page. Only one goroutine may use it at a time.
type RunReport struct {
	page  RunPage
	ended map[*jobfile.Job]*RunEntry
}

// NewRunReport begins the report of a command of who, such as tina@host.
func NewRunReport(began time.Time, who string) *RunReport {
	return &RunReport{page: RunPage{Began: began, Who: who, Build: program.ThisBuild()},
		ended: map[*jobfile.Job]*RunEntry{}}
}

// Add adds a run that ended now. Of one that was added before, only the outcome is another.
func (r *RunReport) Add(s *Summary, took time.Duration) {
	if known := r.ended[s.Job()]; known != nil {
		known.Outcome = s.Outcome
		return
	}
	r.ended[s.Job()] = s.Page(s.Outcome, r.page.Began, took)
	r.page.Runs = append(r.page.Runs, r.ended[s.Job()])
}

// Write writes the page into a file, which only its owner can read; an older one is replaced at once. o is how the
// command ended, meaning what its exit code says, and all the runs that it was asked for.
func (r *RunReport) Write(file string, o failure.Outcome, meaning string,
	all []*jobfile.Job, took time.Duration) error {
	p := r.page
	p.Outcome, p.Meaning, p.Seconds = o, meaning, took.Seconds()
	for _, j := range all {
		if r.ended[j] == nil {
			p.NotBegun = append(p.NotBegun, j.Title())
		}
	}
	return page.WriteFile(file, func(w io.Writer) error { return p.Write(w) })
}
