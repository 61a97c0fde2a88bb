// Package options holds how a job is run: memory, folders, properties, and who listens. None of it changes a byte of the output.
package options

import (
	"log/slog"

	"bulkload/internal/bytesize"
	"bulkload/jobs/failpoint"
	"bulkload/jobs/failure"
	"bulkload/jobs/progress"
)

// Options say how a job is run, not what it does: none of them changes a byte of the output.
type Options struct {
	Memory     int64                   // bytes for the sort, open writers and buffers; 0: 512 MiB
	WorkDir    string                  // for spilled runs; "": the system's temporary folder
	Conf       string                  // folder of the site files; "": the job's, then the environment's
	Properties map[string]string       // Hadoop and HBase properties that win over the site files
	Force      bool                    // begin anew, whatever is there of the run
	NoLoad     bool                    // stop before the load
	Log        *slog.Logger            // gets notes, warnings and, at the levels below Info, details; nil: nobody listens
	Say        func(string)            // gets the texts of notes and warnings, beside Log; nil: nobody listens
	Watch      func(progress.Progress) // takes progress, from several goroutines; nil: nobody listens

	Failpoint failpoint.Hook // for tests that stop a run at one of its points; nil: none
}

const (
	defaultMemory = 512 << 20
	MinMemory     = 16 << 20 // bytes
)

// WithDefaults fills in what is not set, and refuses too little memory.
func (o Options) WithDefaults() (Options, error) {
	if o.Memory == 0 {
		o.Memory = defaultMemory
	}
	if o.Memory < MinMemory {
		return o, failure.Usagef("%s of memory are too few; give at least %s", bytesize.Format(o.Memory), bytesize.Format(MinMemory))
	}
	o = o.withListener()
	if o.Watch == nil {
		o.Watch = func(progress.Progress) {}
	}
	return o, nil
}
