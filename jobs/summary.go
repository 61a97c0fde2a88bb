package jobs

import (
	"log/slog"
	"time"

	"bulkload/ingest"
	"bulkload/internal/digest"
	"bulkload/jobs/books"
	"bulkload/jobs/checkpoint"
	"bulkload/jobs/hfile"
	"bulkload/jobs/jobfile"
	"bulkload/jobs/loading"
	"bulkload/jobs/manifest"
	"bulkload/jobs/options"
	"bulkload/jobs/outcome"
	"bulkload/jobs/preflight"
	"bulkload/jobs/sorting"
	"bulkload/jobs/timing"
	"bulkload/jobs/writing"
	"bulkload/partition"
)

// Summary is what a run did, for people and programs. It is returned on failure too, as far as the run came.
type Summary struct {
	outcome.Outcome
	Run            jobfile.RunInfo     `json:"run"`
	*OutputSummary                     // nil if there are several outputs
	Outputs        []*OutputReport     `json:"outputs,omitempty"` // if there are several, in the order of the job file
	Phases         []timing.Phase      `json:"phases"`
	Rejects        []RejectFile        `json:"rejects"`
	Sort           *SortSummary        `json:"sort,omitempty"`
	Bound          *Bound              `json:"bound,omitempty"`   // if the run did something
	Resumed        *checkpoint.Resumed `json:"resumed,omitempty"` // if the run continued an earlier process's sort
	Disks          preflight.Findings  `json:"disks,omitempty"`   // the checks of the disks

	only  *OutputReport   // if there is one output
	log   options.Options // gets the stages
	began time.Time
	job   *jobfile.Job

	reasons      []ingest.RejectReason // of the rejects
	otherReasons int64                 // records with reasons that are not in reasons
}

// OutputSummary is what a run did for one output.
type OutputSummary struct {
	Books      books.Books               `json:"books"`
	Regions    []RegionShare             `json:"regions"`
	Files      []hfile.Summary           `json:"files"`
	Digest     digest.Sum                `json:"digest"`
	Load       loading.Summary           `json:"load"`
	Output     string                    `json:"output,omitempty"`
	Duplicates []writing.DuplicateSample `json:"duplicates,omitempty"`
	Existing   *ExistingRows             `json:"existing,omitempty"` // if the job asks the table for its rows
	Checks     preflight.Findings        `json:"checks,omitempty"`   // before anything was read
}

// OutputReport is one of several outputs, each of which is a separate run.
type OutputReport struct {
	Status string          `json:"status"`
	Run    jobfile.RunInfo `json:"run"`
	OutputSummary

	name     string             // in phases; "" if there is one output
	manifest *manifest.Manifest // nil if the run did not come so far
}

// RegionShare is a region's share of a run.
type RegionShare struct {
	Region int    `json:"region"`
	Start  string `json:"start"`
	End    string `json:"end"`
	Rows   int64  `json:"rows"`
	Cells  int64  `json:"cells"`
	Bytes  int64  `json:"bytes"`
	Files  int    `json:"files"`
}

// RejectFile is where a run's rejects are.
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
}

func newSummary(j *jobfile.Job) *Summary {
	s := &Summary{Outcome: outcome.New(), began: time.Now(), job: j, Run: j.Info(), Phases: []timing.Phase{}, Rejects: []RejectFile{}}
	for _, out := range j.Feeds() {
		r := &OutputReport{Status: outcome.Undone, Run: out.Info(),
			OutputSummary: OutputSummary{Regions: []RegionShare{}, Files: []hfile.Summary{}}}
		if j.Outputs == nil {
			s.only, s.OutputSummary = r, &r.OutputSummary
			break
		}
		r.name = out.Table
		s.Outputs = append(s.Outputs, r)
	}
	return s
}

// output is the report of an output, by its index in the job file.
func (s *Summary) output(i int) *OutputReport {
	if s.only != nil {
		return s.only
	}
	return s.Outputs[i]
}

// setStatus derives the status of the whole from its outputs: there was nothing to do only if all of them say so.
func (s *Summary) setStatus() {
	if s.only != nil {
		s.Status, s.Run = s.only.Status, s.only.Run
		return
	}
	s.Status = outcome.Nothing
	for _, out := range s.Outputs {
		if out.Status != outcome.Nothing {
			s.Status = out.Status
		}
	}
}

// phase measures one stage of a run; output is the table if there are several outputs and the stage is for one of
// them.
func (s *Summary) phase(name, output string, do func() (bytes int64, err error)) error {
	s.log.Detail(options.LevelStage, name+" begins", outputAttr(output)...)
	start := time.Now()
	bytes, err := do()
	p := timing.NewPhase(name, time.Since(start), bytes)
	p.Output, p.Start = output, start.Sub(s.began).Seconds()
	s.Phases = append(s.Phases, p)
	if err == nil {
		s.log.Detail(options.LevelStage, name+" done", append(outputAttr(output),
			slog.Float64("seconds", p.Seconds), slog.Int64("bytes", bytes))...)
	}
	return err
}

// outputAttr names one of several outputs.
func outputAttr(output string) []slog.Attr {
	if output == "" {
		return nil
	}
	return []slog.Attr{slog.String("output", output)}
}

// shift moves part of the load's time to the probe, the last two phases: before it loads files, a load probes too.
func (s *Summary) shift(asked time.Duration) {
	last := s.Phases[len(s.Phases)-2:]
	for i, by := range []time.Duration{-asked, asked} {
		p := timing.NewPhase(last[i].Name, time.Duration(last[i].Seconds*float64(time.Second))+by, last[i].Bytes)
		p.Output, p.Start = last[i].Output, last[i].Start
		if i == 1 {
			p.Start -= asked.Seconds()
		}
		last[i] = p
	}
}

// parts adds the parts of a stage.
func (s *Summary) parts(output string, parts []timing.Phase) {
	for _, p := range parts {
		p.Output = output
		s.Phases = append(s.Phases, p)
	}
}

// sorted records what the sorts of one reading did.
func (s *Summary) sorted(all []*sorting.Rows) {
	var stats partition.Stats
	for _, rows := range all {
		if rows != nil {
			addStats(&stats, rows.Sorted.Stats())
		}
	}
	s.Sort = &SortSummary{stats.Entries, stats.Bytes, stats.Runs, stats.SpilledBytes}
	for _, rows := range all {
		if rows != nil {
			s.parts("", rows.Times.Phases(stats)) // they share the reading
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

// Bound is the phase that takes most of a run's time.
type Bound struct {
	Phase   string  `json:"phase"`
	Seconds float64 `json:"seconds"`
	Share   float64 `json:"share"` // of the time of all phases, without stages that have parts
	Cores   int     `json:"cores"`
	Busy    float64 `json:"busy"` // part of the cores' time that the phases account for
}

// bound finds the phase that bounds a run: among the parts of stages, and the stages without parts, each of which
// uses all cores.
func (s *Summary) bound(cores int) {
	parts := map[string]bool{}
	var wall float64
	for _, p := range s.Phases {
		parts[p.Of] = true
		if p.Of == "" {
			wall += p.Seconds
		}
	}
	b := Bound{Cores: cores}
	var all, most float64
	for _, p := range s.Phases {
		seconds := p.Seconds
		if p.Of == "" {
			if parts[p.Name] {
				continue
			}
			seconds *= float64(cores)
		}
		all += seconds
		if seconds > most {
			b.Phase, most = p.Name, seconds
		}
	}
	if all > 0 && wall > 0 {
		b.Seconds, b.Share, b.Busy = most, most/all, min(all/wall/float64(cores), 1)
		s.Bound = &b
	}
}

// fill copies the manifest's figures.
func (s *OutputReport) fill(m *manifest.Manifest) {
	s.Run, s.Books, s.Digest = m.Run, m.Books, m.Digest
	s.Files = []hfile.Summary{}
	for _, f := range m.Files() {
		shown := *f
		shown.Probes, shown.ServedBefore = nil, false
		s.Files = append(s.Files, shown)
	}
	s.Regions = []RegionShare{}
	bounds := append(append([]string{""}, m.Splits...), "")
	for i := range len(bounds) - 1 {
		share := RegionShare{Region: i, Start: bounds[i], End: bounds[i+1]}
		s.Regions = append(s.Regions, share)
	}
	for _, done := range m.Slices {
		share := &s.Regions[done.Region]
		share.Rows += done.Books.Rows
		share.Cells += done.Books.Cells
		share.Files += len(done.Files)
		for _, f := range done.Files {
			share.Bytes += f.Bytes
		}
	}
}
