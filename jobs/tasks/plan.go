package tasks

import (
	"crypto/sha256"
	"encoding/hex"
	"reflect"

	"bulkload/ingest"
	"bulkload/internal/errcode"
	"bulkload/internal/program"
	"bulkload/jobs/pipeline/targets"
	"bulkload/jobs/spec/jobfile"
)

// schema is the form of all documents of this package. Only the program that wrote a plan reads it, so the form never
// needs another version.
const schema = 1

// Plan has everything that a task must know: from the plan and the input, a task makes the same files on any machine.
// It has no credentials.
type Plan struct {
	Schema int `json:"schema"`
	// Program is the hash of the executable, because another one may encode entries differently.
	Program    string              `json:"program"`
	Build      string              `json:"build"` // its version, for people
	Run        string              `json:"run"`   // the ID of the first output's run, which names the run's folder
	Job        *jobfile.Origin     `json:"job"`
	Properties map[string]string   `json:"properties"` // of the site files, as far as tasks need them
	Inputs     []jobfile.InputFile `json:"inputs"`     // in the order of their ordinals
	Splits     []SplitRef          `json:"splits"`
	Pieces     []int               `json:"pieces"` // the first split of each map task; it has all before the next one's
	Outputs    []TaskOutput        `json:"outputs"`
}

// SplitRef is a part of an input file: the records that begin in [Start, End).
type SplitRef struct {
	File  int   `json:"file"` // ordinal
	Start int64 `json:"start"`
	End   int64 `json:"end"`
}

// TaskOutput is one output of the run.
type TaskOutput struct {
	Dir    string         `json:"dir"`              // a path or URI: the job file's
	Run    string         `json:"run"`              // the ID of its run
	Hash   string         `json:"hash"`             // the hash of its job
	Target *targets.Fixed `json:"target,omitempty"` // nil if the output is written and needs no rows
}

// textID identifies a plan by the text of its document.
func textID(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// splitsOf returns the splits of a map task, and the index of the first one.
func (p *Plan) splitsOf(task int, files []ingest.SourceFile) (first int, splits []ingest.Split) {
	first, end := p.Pieces[task], len(p.Splits)
	if task+1 < len(p.Pieces) {
		end = p.Pieces[task+1]
	}
	for _, s := range p.Splits[first:end] {
		splits = append(splits, ingest.Split{File: files[s.File], Start: s.Start, End: s.End})
	}
	return first, splits
}

// serves reports whether the sorted runs of a plan can be used for a fresh one, which may need fewer outputs and may be
// cut into other tasks.
func (p *Plan) serves(fresh *Plan) bool {
	if len(p.Outputs) != len(fresh.Outputs) {
		return false
	}
	same := *fresh
	same.Pieces, same.Outputs = p.Pieces, append([]TaskOutput(nil), fresh.Outputs...)
	for i := range same.Outputs {
		if same.Outputs[i].Target == nil {
			same.Outputs[i].Target = p.Outputs[i].Target
		}
	}
	return reflect.DeepEqual(p, &same)
}

// checkProgram refuses a plan of another program.
func (p *Plan) checkProgram() error {
	own, err := program.Hash()
	if err != nil {
		return err
	}
	if p.Schema != schema || p.Program != own {
		return errcode.TaskProgram.Errorf("the plan was made by another bulkload, %s (%.12s), and this is %s (%.12s): all "+
			"tasks of a run need the program that planned it",
			p.Build, p.Program, buildText(), own)
	}
	return nil
}

// check refuses a plan that no driver writes.
func (p *Plan) check() error {
	ok := len(p.Outputs) > 0 && p.Job != nil && len(p.Pieces) > 0 == (len(p.Splits) > 0)
	last := -1
	for _, first := range p.Pieces {
		ok = ok && first > last && first < len(p.Splits)
		last = first
	}
	ok = ok && (len(p.Pieces) == 0 || p.Pieces[0] == 0)
	for _, s := range p.Splits {
		ok = ok && s.File >= 0 && s.File < len(p.Inputs)
	}
	if !ok {
		return errcode.TaskPlan.New("the plan contradicts itself")
	}
	return nil
}

// buildText names this program.
func buildText() string {
	b := program.ThisBuild()
	if b.Commit == "" {
		return b.Version
	}
	return b.Version + " of " + b.Commit
}

// cutBySize divides work among tasks of at most size bytes, or of a single larger item. of returns the bytes of an
// item. It returns the index of each task's first item. Map tasks get splits, and reduce tasks slices.
func cutBySize[T any](work []T, size int64, of func(T) int64) (first []int) {
	var bytes int64
	for i, item := range work {
		n := of(item)
		if i == 0 || bytes+n > size {
			first, bytes = append(first, i), 0
		}
		bytes += n
	}
	return first
}
