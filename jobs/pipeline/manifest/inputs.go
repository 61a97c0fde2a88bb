package manifest

import (
	"bulkload/ingest"
	"bulkload/jobs/base/books"
	"bulkload/jobs/spec/jobfile"
)

// Input is one input file as it was at the run's start.
//
// Size and time decide only whether a file has to be read again for the comparison: a copy changes the time and nothing
// else. Content decides whether it has changed.
type Input struct {
	jobfile.InputFile
	// Content is what was read from the file; nil until all input is read. nil never
	// counts as equal to anything.
	Content *books.Content `json:"content,omitempty"`
}

// Inputs returns the input files as a manifest records them, without their content.
func Inputs(files []ingest.File) []Input {
	records := make([]Input, len(files))
	for i, f := range jobfile.InputFiles(files) {
		records[i].InputFile = f
	}
	return records
}

// SameFile reports whether a file was not even touched.
func (in *Input) SameFile(o *Input) bool {
	return in.Path == o.Path && in.Size == o.Size && in.ModTime == o.ModTime
}

func inputsByPath(inputs []Input) map[string]*Input {
	all := make(map[string]*Input, len(inputs))
	for i := range inputs {
		all[inputs[i].Path] = &inputs[i]
	}
	return all
}
