// Package status reports the state of jobs from their outputs and the ledger, without asking HBase.
package status

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"bulkload/internal/digest"
	"bulkload/jobs/base/counts"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/ledger"
	"bulkload/jobs/env/lock"
	"bulkload/jobs/env/site"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/source"
	"bulkload/jobs/spec/jobfile"
)

// Report is the status of runs, one for each output and date.
type Report struct {
	failure.Outcome
	Runs []*Run `json:"runs"`
}

// Run is the status of one output of a job for one date.
type Run struct {
	Job    string `json:"job"`
	Table  string `json:"table"`
	Date   string `json:"date,omitempty"`
	ID     string `json:"run,omitempty"`
	State  string `json:"state"` // one of the manifest's states, or one of those below
	Output string `json:"output,omitempty"`

	Rows   int64       `json:"rows_written"`
	Files  int         `json:"files"`
	Loaded int         `json:"files_loaded"`
	Digest *digest.Sum `json:"digest,omitempty"`

	Finished time.Time `json:"finished,omitzero"` // when all files were written
	When     time.Time `json:"loaded,omitzero"`   // when the table served all files; for an unfinished load, when it began
	User     string    `json:"user,omitempty"`    // who loaded
	Host     string    `json:"host,omitempty"`
	Version  string    `json:"version,omitempty"` // of the program that loaded
	Program  string    `json:"program,omitempty"` // SHA-256 of its executable

	Running string   `json:"running,omitempty"` // the process that works on it now
	Waits   string   `json:"waits,omitempty"`   // what it waits for, or what to do
	Others  []string `json:"others,omitempty"`  // other runs into the table that are under way
	Error   string   `json:"error,omitempty"`   // why a record can't be read
}

// States of runs that no manifest describes.
const (
	None = "none" // nothing was written or loaded
	// Damaged means that the manifest or the ledger's entry can't be read.
	Damaged = "damaged"
)

// Wanted names a job to report on.
type Wanted struct {
	Job *jobfile.Job
	// History asks for all dates in the ledger under the job file's name. The job may have been read without a date.
	History bool
}

// Collect describes the runs of jobs.
func Collect(ctx context.Context, all []Wanted, o options.Options) (*Report, error) {
	report := &Report{Outcome: failure.NewOutcome(), Runs: []*Run{}}
	o, err := o.WithDefaults()
	if err != nil {
		return report, err
	}
	for _, one := range all {
		if err := ctx.Err(); err != nil {
			return report, err
		}
		j := one.Job
		runs, err := ofJob(j, one.History, o)
		report.Runs = append(report.Runs, runs...)
		if err != nil {
			return report, fmt.Errorf("%s: %w", j.Info().Job, err)
		}
	}
	report.Status = failure.StatusDone
	return report, nil
}

// asker holds what the outputs of a job share.
type asker struct {
	job    *jobfile.Job
	site   *site.Site
	ledger *ledger.Ledger // nil if the job loads nothing
}

func ofJob(j *jobfile.Job, history bool, o options.Options) (runs []*Run, err error) {
	a := &asker{job: j}
	if a.site, err = site.Open(o, j.HBase, j.Remote(true)); err != nil {
		return nil, err
	}
	if j.Load {
		if a.ledger, err = a.site.ReadLedger(); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, a.ledger.Close()) }()
	}
	for _, out := range j.Feeds() {
		if history {
			dates, err := a.history(out)
			if err != nil {
				return runs, err
			}
			runs = append(runs, dates...)
			continue
		}
		run, err := a.run(out)
		if err != nil {
			return runs, err
		}
		runs = append(runs, run)
	}
	return runs, nil
}

// history describes all dates of a job in the ledger.
func (a *asker) history(out *jobfile.Job) (runs []*Run, err error) {
	if a.ledger == nil {
		return nil, nil
	}
	entries, damaged, err := a.ledger.Entries(out.Table)
	for _, e := range entries {
		if e.Job != out.Info().Job {
			continue
		}
		run := &Run{Job: e.Job, Table: e.Table, Date: e.Date, State: None}
		run.addLoad(e)
		run.explain()
		runs = append(runs, run)
	}
	for _, d := range damaged {
		runs = append(runs, &Run{Job: out.Info().Job, Table: out.Table, State: Damaged, Error: d.Error()})
	}
	return runs, err
}

// run describes one output, from its manifest and the ledger.
func (a *asker) run(out *jobfile.Job) (r *Run, err error) {
	info := out.Info()
	r = &Run{Job: info.Job, Table: info.Table, Date: info.Date, State: None}
	if err := a.readOutput(out, r); err != nil {
		return r, err
	}
	if a.ledger != nil && out.Load {
		e, err := a.ledger.Read(manifest.New(out).LedgerKey(r.Output))
		switch {
		case ledger.IsDamaged(err):
			r.State, r.Error = Damaged, err.Error()
		case err != nil:
			return r, err
		case e != nil:
			r.addLoad(e)
		}
		table := lock.OpenTable(a.ledger, out.Table, lock.Request{User: a.site.User})
		if r.Others, err = table.Others(); err != nil {
			return r, err
		}
	}
	r.explain()
	if r.State == None && r.Waits == "" {
		r.Waits = a.missingInput()
	}
	return r, nil
}

// readOutput reads the manifest of an output, and finds the process that works there.
func (a *asker) readOutput(out *jobfile.Job, r *Run) (err error) {
	fsys, dir, err := a.site.Resolve(out.Output, out.Dir)
	if err != nil {
		return fmt.Errorf("open the output %s: %w", out.Output, err)
	}
	defer func() { err = errors.Join(err, fsys.Close()) }()
	r.Output = fsys.URI(dir)
	if _, err := fsys.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	held, alive, err := lock.Holder(fsys, dir, a.site.User)
	if err != nil {
		return err
	}
	if alive {
		r.Running = held.String()
	}
	m, err := manifest.Read(fsys, dir)
	switch {
	case isRecord(err):
		r.State, r.Error = Damaged, err.Error()
		return nil
	case err != nil || m == nil:
		return err
	case m.JobHash != out.Hash() || m.Run.Table != r.Table || m.Run.Date != r.Date:
		r.Waits = fmt.Sprintf("the output has another run, of %s for %s: choose another output, or run with --force",
			m.Run.Job, m.Run.Date)
		return nil
	}
	r.State, r.ID, r.Finished, r.Rows = m.State, m.Run.ID, m.Finished, m.Counts.Written
	for _, f := range m.Files() {
		r.Files++
		if f.Loaded {
			r.Loaded++
		}
	}
	if m.State != manifest.Writing {
		r.Digest = &m.Digest
	}
	if m.State == manifest.Written && !out.Load {
		r.Waits = "nothing: the job has load: false"
	}
	return nil
}

// isRecord reports whether an error means that a record is damaged, rather than out of reach.
func isRecord(err error) bool {
	kind := failure.KindOf(err)
	return err != nil && (kind == failure.Differs || kind == failure.Refused) && !errors.Is(err, fs.ErrPermission)
}

// addLoad adds what the ledger says. If the output has a run, its state takes precedence.
func (r *Run) addLoad(e *ledger.Entry) {
	r.When, r.User, r.Host, r.Version, r.Program = e.Time, e.User, e.Host, e.Version, e.Program
	if r.State != None && r.State != e.State && r.ID != "" {
		return
	}
	if r.ID == "" {
		r.State, r.ID, r.Output, r.Digest = e.State, e.Run, e.Output, &e.Digest
		r.Rows, r.Files = rowsOf(e), len(e.Files)
		if e.State == ledger.Loaded {
			r.Loaded = len(e.Files)
		}
	}
}

// explain says what an unfinished run waits for.
func (r *Run) explain() {
	if r.Waits != "" || r.Error != "" {
		return
	}
	switch {
	case r.Running != "":
		r.Waits = "it is under way"
	case r.State == manifest.Writing:
		r.Waits = "it failed or was stopped: run it again to continue, or to see why it can't"
	case r.State == manifest.Written:
		r.Waits = "its files are written but not loaded: run it, or load the output"
	case r.State == manifest.Loading:
		r.Waits = "its load was stopped or failed: run it again, and it goes on"
	}
}

// rowsOf returns the number of rows of an entry's load; 0 if its counts can't be read.
func rowsOf(e *ledger.Entry) int64 {
	var old counts.RowCounts
	if json.Unmarshal(e.Counts, &old) != nil {
		return 0
	}
	return old.Written
}

// missingInput says whether a run that was not begun waits for its input.
func (a *asker) missingInput() string {
	src, err := source.Open(a.job, a.site)
	if err != nil {
		return err.Error()
	}
	if err := src.Close(); err != nil {
		return err.Error()
	}
	return "the input is there: run it"
}
