// Package summary describes what a run did, for people and programs: its counts, files and checks, the times of its
// phases, which phase needed the most, and the HTML page of a command.
package summary

import (
	"time"

	"bulkload/ingest"
	"bulkload/internal/digest"
	"bulkload/jobs/base/counts"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/base/timing"
	"bulkload/jobs/loading"
	"bulkload/jobs/pipeline/checkpoint"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/sorting"
	"bulkload/jobs/pipeline/writing"
	"bulkload/jobs/run/preflight"
	"bulkload/jobs/spec/jobfile"
	"bulkload/partition"
)

// Summary is what a run did, for people and programs. It is returned on failure, too, as far as the run came.
type Summary struct {
	failure.Outcome
	Run            jobfile.RunInfo     `json:"run"`
	*OutputSummary                     // nil if there are several outputs
	Outputs        []*OutputReport     `json:"outputs,omitempty"` // if there are several, in the order of the job file
	Phases         []timing.PhaseTime  `json:"phases"`
	Rejects        []RejectFile        `json:"rejects"`
	Sort           *SortSummary        `json:"sort,omitempty"`
	Bound          *Bound              `json:"bound,omitempty"`   // if the run did something
	Resumed        *checkpoint.Resumed `json:"resumed,omitempty"` // if the run continued an earlier process's sort
	// Waited is the time spent waiting for the input, and for other loads into the tables.
	Waited float64                `json:"seconds_waited,omitempty"`
	Disks  preflight.CheckResults `json:"disks,omitempty"` // the checks of the disks

	only    *OutputReport   // if there is one output
	options options.Options // of the run; its log gets the phases
	began   time.Time
	job     *jobfile.Job

	reasons      []ingest.RejectReason // of the rejects
	otherReasons int64                 // records with reasons that are not in reasons
}

// OutputSummary is what a run did for one output.
type OutputSummary struct {
	Counts     counts.RowCounts          `json:"books"`
	Regions    []RegionSummary           `json:"regions"`
	Files      []hfiles.FileMeta         `json:"files"`
	Digest     digest.Sum                `json:"digest"`
	Load       loading.LoadResult        `json:"load"`
	Output     string                    `json:"output,omitempty"`
	Duplicates []writing.DuplicateSample `json:"duplicates,omitempty"`
	Existing   *ExistingRows             `json:"existing,omitempty"` // if the job asks the table for rows that exist
	Checks     preflight.CheckResults    `json:"checks,omitempty"`   // before anything was read
}

// OutputReport is the report of an output. Each of several outputs is a separate run.
type OutputReport struct {
	Status string          `json:"status"`
	Run    jobfile.RunInfo `json:"run"`
	OutputSummary

	name     string             // see Name
	manifest *manifest.Manifest // nil if the run did not get that far
}

// ExistingRows is the part of a report about rows that the table had before the load.
type ExistingRows struct {
	Live jobfile.LivePolicy `json:"live"`
	manifest.Existing
}

// RegionSummary is a region's share of a run.
type RegionSummary struct {
	Region int    `json:"region"`
	Start  string `json:"start"`
	End    string `json:"end"`
	Rows   int64  `json:"rows"`
	Cells  int64  `json:"cells"`
	Bytes  int64  `json:"bytes"`
	Files  int    `json:"files"`
}

// RejectFile is the file that has a run's rejects.
type RejectFile struct {
	Path    string `json:"path"`
	Records int64  `json:"records"`
}

// SortSummary is what the sort used.
type SortSummary struct {
	Entries int64 `json:"entries"`
	Bytes   int64 `json:"bytes"`
	Runs    int   `json:"spilled_runs"`
	Spilled int64 `json:"spilled_bytes"`
	Memory  int64 `json:"memory_without_spilling,omitempty"` // the --memory that would have avoided it
}

// New begins the summary of a run of a job.
func New(j *jobfile.Job) *Summary {
	s := &Summary{Outcome: failure.NewOutcome(), began: time.Now(), job: j, Run: j.Info(),
		Phases: []timing.PhaseTime{}, Rejects: []RejectFile{}}
	for _, out := range j.Feeds() {
		r := &OutputReport{Status: failure.Undone, Run: out.Info(),
			OutputSummary: OutputSummary{Regions: []RegionSummary{}, Files: []hfiles.FileMeta{}}}
		if j.Outputs == nil {
			s.only, s.OutputSummary = r, &r.OutputSummary
			break
		}
		r.name = out.Table
		s.Outputs = append(s.Outputs, r)
	}
	return s
}

// SetOptions sets the options of the run. Their log receives the phases.
func (s *Summary) SetOptions(o options.Options) { s.options = o }

// Job returns the job of the run.
func (s *Summary) Job() *jobfile.Job { return s.job }

// Output returns the report of an output, by its index in the job file.
func (s *Summary) Output(i int) *OutputReport {
	if s.only != nil {
		return s.only
	}
	return s.Outputs[i]
}

// SetStatus derives the overall status from the outputs. It is "nothing to do" only if it is for all of them.
func (s *Summary) SetStatus() {
	if s.only != nil {
		s.Status, s.Run = s.only.Status, s.only.Run
		return
	}
	s.Status = failure.StatusNothing
	for _, out := range s.Outputs {
		if out.Status != failure.StatusNothing {
			s.Status = out.Status
		}
	}
}

// SetSort records what the sorts of one reading did.
func (s *Summary) SetSort(all []*sorting.Rows) {
	var stats partition.Stats
	var memory int64
	for _, rows := range all {
		if rows != nil {
			addStats(&stats, rows.Sorted.Stats())
			memory = max(memory, rows.Memory)
		}
	}
	s.Sort = &SortSummary{stats.Entries, stats.Bytes, stats.Runs, stats.SpilledBytes, memory}
	for _, rows := range all {
		if rows != nil {
			s.AddParts("", rows.Times.Phases(stats)) // they share the reading
			break
		}
	}
}

// addStats adds what another sort did.
func addStats(sum *partition.Stats, s partition.Stats) {
	sum.Entries += s.Entries
	sum.Bytes += s.Bytes
	sum.Runs += s.Runs
	sum.SpilledBytes += s.SpilledBytes
	sum.SortTime += s.SortTime
	sum.SpillTime += s.SpillTime
}

// SetRejects records the reasons and the number of the rejects. file is the URI of the file that has them.
func (s *Summary) SetRejects(rejects *ingest.Rejects, file string) {
	s.reasons, s.otherReasons = rejects.Reasons()
	if records := rejects.Count(); records > 0 {
		s.Rejects = []RejectFile{{file, records}}
	}
}

// Name returns the output's name in phases: its table, or "" if it is the only output.
func (s *OutputReport) Name() string { return s.name }

// SetManifest sets the output's manifest, for the page; nil: the run has none.
func (s *OutputReport) SetManifest(m *manifest.Manifest) { s.manifest = m }

// SetExisting records which rows the table had.
func (s *OutputReport) SetExisting(live jobfile.LivePolicy, e *manifest.Existing) {
	s.Existing = &ExistingRows{live, *e}
}

// Fill copies the manifest's figures.
func (s *OutputReport) Fill(m *manifest.Manifest) {
	s.Run, s.Counts, s.Digest = m.Run, m.Counts, m.Digest
	s.Files = []hfiles.FileMeta{}
	for _, f := range m.Files() {
		shown := *f
		shown.Probes, shown.Opening = nil, ""
		s.Files = append(s.Files, shown)
	}
	s.Regions = []RegionSummary{}
	bounds := append(append([]string{""}, m.Splits...), "")
	for i := range len(bounds) - 1 {
		share := RegionSummary{Region: i, Start: bounds[i], End: bounds[i+1]}
		s.Regions = append(s.Regions, share)
	}
	for _, done := range m.Slices {
		share := &s.Regions[done.Region]
		share.Rows += done.Counts.Rows
		share.Cells += done.Counts.Cells
		share.Files += len(done.Files)
		for _, f := range done.Files {
			share.Bytes += f.Bytes
		}
	}
}
