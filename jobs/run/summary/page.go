package summary

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"bulkload/internal/bytesize"
	"bulkload/internal/page"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/spec/jobfile"
)

// Page returns the run's part of the page of a command that began at from. The run has just ended with the outcome o;
// took is how long it ran.
func (s *Summary) Page(o failure.Outcome, from time.Time, took time.Duration) *RunEntry {
	began := max(0, time.Since(from)-took)
	r := &RunEntry{Outcome: o, Name: s.Run.Job, Began: began.Seconds(), Seconds: took.Seconds(),
		Phases: s.Phases, Disks: s.Disks}
	if s.job != nil {
		r.Name, r.Settings = s.job.Title(), settingsOf(s.job, s.options)
	}
	if b := s.Bound; b != nil {
		r.Largest = fmt.Sprintf("%s, with %.0f%% of it", b.Phase, 100*b.Share)
	}
	if s.Sort != nil {
		r.Sort = fmt.Sprintf("The sort held %s of %s records", bytesize.Format(s.Sort.Bytes), page.Count(s.Sort.Entries))
		if s.Sort.Runs > 0 {
			r.Sort += fmt.Sprintf(", and spilled %s to the work folder, in %s", bytesize.Format(s.Sort.Spilled),
				jobfile.Plural(s.Sort.Runs, "sorted run"))
		}
	}
	if s.Resumed != nil {
		r.Resumed = fmt.Sprintf("An earlier process had sorted %d records of it, %s of the input.", s.Resumed.Records,
			bytesize.Format(s.Resumed.Bytes))
	}
	var rejected int64
	for _, out := range s.reports() {
		r.Tables = append(r.Tables, out.table())
		rejected = max(rejected, out.Counts.Rejected)
		if out.manifest != nil && r.Inputs.Files == 0 {
			r.SetInputs(out.manifest.Inputs)
		}
	}
	path := strings.TrimSuffix(r.Tables[0].Dir, "/") + "/" + manifest.RejectsDir
	for _, f := range s.Rejects {
		rejected, path = max(rejected, f.Records), f.Path
	}
	r.SetRejects(rejected, path, s.reasons, s.otherReasons)
	return r
}

// reports returns the reports of all outputs.
func (s *Summary) reports() []*OutputReport {
	if s.only != nil {
		return []*OutputReport{s.only}
	}
	return s.Outputs
}

// HasRows reports whether some output of the run has rows, written now or before.
func (s *Summary) HasRows() bool {
	return slices.ContainsFunc(s.reports(), func(r *OutputReport) bool { return r.Counts.Written > 0 })
}

// table returns the output's part of a page.
func (s *OutputReport) table() *TableSummary {
	t := &TableSummary{Name: s.Run.Table, Status: s.Status, RunID: s.Run.ID, Dir: s.Output, Counts: s.Counts,
		Digest: s.Digest, Load: s.Load,
		Duplicates: s.Duplicates, Checks: s.Checks}
	if s.manifest != nil {
		t.Families = s.manifest.Families
	}
	t.SetRegions(s.Regions)
	t.SetFiles(s.Files)
	return t
}

// settingsOf lists the settings of a run. It only names properties, because a value may be a secret.
func settingsOf(j *jobfile.Job, o options.Options) []Setting {
	var all []Setting
	add := func(name, value string) {
		if value != "" {
			all = append(all, Setting{Name: name, Value: value})
		}
	}
	add("job file", j.Path)
	add("input", j.Input.Path)
	add("max_rejects", j.Input.MaxRejects.String())
	for _, out := range j.Feeds() {
		of := ""
		if j.Outputs != nil {
			of = " of " + out.Table
		}
		add("row key"+of, out.RowKey.String())
		if out.Wide != nil {
			add("qualifier"+of, out.Wide.Qualifier.String())
		}
		add("query columns"+of, strings.Join(out.Query, ", "))
		add("timestamp"+of, timestampText(out))
		add("regions from"+of, out.Regions.From)
		add("output"+of, out.Output)
		add("load"+of, fmt.Sprint(out.Load && !o.NoLoad))
	}
	add("--memory", bytesize.Format(o.Memory))
	add("--work-dir", o.WorkDir)
	add("site files", o.Conf)
	add("properties set", strings.Join(slices.Sorted(maps.Keys(o.Properties)), ", "))
	add("principal", o.Principal)
	if o.Force {
		add("--force", "yes")
	}
	add("--on-change", string(o.OnChange))
	add("--on-busy", string(o.OnBusy))
	return all
}

// timestampText describes the timestamp of the cells.
func timestampText(j *jobfile.Job) string {
	if j.Moments != "" {
		return "column " + j.Moments
	}
	return fmt.Sprintf("%d (%s)", j.Timestamp, time.UnixMilli(j.Timestamp).UTC().Format(time.RFC3339Nano))
}
