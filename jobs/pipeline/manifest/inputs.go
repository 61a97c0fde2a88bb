package manifest

import (
	"bulkload/ingest"
	"bulkload/jobs/base/counts"
	"bulkload/jobs/spec/jobfile"
)

// RecordedInput is one input file as it was at the run's start.
//
// Size and time decide only whether a file must be read again for the comparison, because a copy changes nothing but
// the time. Content decides whether it has changed.
type RecordedInput struct {
	jobfile.InputFile
	// Content describes what was read from the file; nil until all input is read. nil is never equal to anything.
	Content *counts.Content `json:"content,omitempty"`
}

// Inputs returns the input files as a manifest records them, without their content.
func Inputs(files []ingest.SourceFile) []RecordedInput {
	records := make([]RecordedInput, len(files))
	for i, f := range jobfile.InputFiles(files) {
		records[i].InputFile = f
	}
	return records
}

// SameFile reports whether a file was not even touched: its path, size and time are the same.
func (in *RecordedInput) SameFile(o *RecordedInput) bool {
	return in.Path == o.Path && in.Size == o.Size && in.ModTime == o.ModTime
}

func inputsByPath(inputs []RecordedInput) map[string]*RecordedInput {
	all := make(map[string]*RecordedInput, len(inputs))
	for i := range inputs {
		all[inputs[i].Path] = &inputs[i]
	}
	return all
}
