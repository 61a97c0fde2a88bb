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

// NewRunReport begins the report of a command. who is the user who ran it, such as tina@host.
func NewRunReport(began time.Time, who string) *RunReport {
	return &RunReport{page: RunPage{Began: began, Who: who, Build: program.ThisBuild()},
		ended: map[*jobfile.Job]*RunEntry{}}
}

// Add adds a run that has just ended. If the run was added before, only its outcome changes.
func (r *RunReport) Add(s *Summary, took time.Duration) {
	if known := r.ended[s.Job()]; known != nil {
		known.Outcome = s.Outcome
		return
	}
	r.ended[s.Job()] = s.Page(s.Outcome, r.page.Began, took)
	r.page.Runs = append(r.page.Runs, r.ended[s.Job()])
}

// Write writes the page into a file that only its owner can read, and replaces an older one atomically. o is how the
// command ended, meaning says what its exit code means, and all are the runs that it was asked for.
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
