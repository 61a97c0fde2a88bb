package summary

import (
	"log/slog"
	"time"

	"bulkload/jobs/base/options"
	"bulkload/jobs/base/timing"
)

// Begin begins to measure one stage of a run. output is the table if the stage is for one of several outputs; otherwise
// "". The function that it returns ends the stage. It takes how many bytes the stage handled, and its error.
func (s *Summary) Begin(name, output string) (end func(bytes int64, err error)) {
	s.options.Detail(options.LevelStage, name+" begins", outputAttr(output)...)
	start := time.Now()
	return func(bytes int64, err error) {
		p := timing.NewPhase(name, time.Since(start), bytes)
		p.Output, p.Start = output, start.Sub(s.began).Seconds()
		s.Phases = append(s.Phases, p)
		if err == nil {
			s.options.Detail(options.LevelStage, name+" done", append(outputAttr(output),
				slog.Float64("seconds", p.Seconds), slog.Int64("bytes", bytes))...)
		}
	}
}

// outputAttr names one of several outputs.
func outputAttr(output string) []slog.Attr {
	if output == "" {
		return nil
	}
	return []slog.Attr{slog.String("output", output)}
}

// Shift moves the time asked from the load to the probe, because a load probes, too, before it loads files. They must
// be the last two phases.
func (s *Summary) Shift(asked time.Duration) {
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

// AddParts adds the parts of a stage. output is as for Begin.
func (s *Summary) AddParts(output string, parts []timing.PhaseTime) {
	for _, p := range parts {
		p.Output = output
		s.Phases = append(s.Phases, p)
	}
}

// Bound is the phase that takes most of a run's time.
type Bound struct {
	Phase   string  `json:"phase"`
	Seconds float64 `json:"seconds"`
	Share   float64 `json:"share"` // of the time of all phases, without stages that have parts
	Cores   int     `json:"cores"`
	Busy    float64 `json:"busy"` // part of the cores' time that the phases account for
}

// FindBound finds the phase that bounds a run. It compares the parts of stages and the stages without parts, each of
// which uses all cores.
func (s *Summary) FindBound(cores int) {
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
