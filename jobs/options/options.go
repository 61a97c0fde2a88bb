// Package options holds how a job is run: memory, folders, properties, and who listens. None of it changes a byte of the output.
package options

import (
	"fmt"

	"bulkload/internal/bytesize"
	"bulkload/internal/storage"
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
	Say        func(string)            // takes notes for people; nil: nobody listens
	Watch      func(progress.Progress) // takes progress, from several goroutines; nil: nobody listens

	Failpoint failpoint.Hook              // for tests that stop a run at one of its points; nil: none
	Storage   func(storage.FS) storage.FS // for tests that let storage fail: what is put between; nil: nothing
}

const (
	defaultMemory = 512 << 20
	MinMemory     = 16 << 20 // bytes
)

// Sayf passes a note on to people.
func (o Options) Sayf(format string, args ...any) { o.Say(fmt.Sprintf(format, args...)) }

// WithDefaults fills in what is not set, and refuses too little memory.
func (o Options) WithDefaults() (Options, error) {
	if o.Memory == 0 {
		o.Memory = defaultMemory
	}
	if o.Memory < MinMemory {
		return o, failure.Usagef("%s of memory are too few; give at least %s", bytesize.Format(o.Memory), bytesize.Format(MinMemory))
	}
	if o.Say == nil {
		o.Say = func(string) {}
	}
	if o.Watch == nil {
		o.Watch = func(progress.Progress) {}
	}
	return o, nil
}
