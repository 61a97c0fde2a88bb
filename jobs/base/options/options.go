// Package options has the settings with which a command is run: memory, folders, properties, listeners of its progress,
// and the points at which tests stop it. None of them changes a byte of the output.
package options

import (
	"context"
	"log/slog"
	"time"

	"bulkload/internal/bytesize"
	"bulkload/internal/errcode"
	"bulkload/internal/pause"
	"bulkload/internal/storage"
	"bulkload/internal/throttle"
	"bulkload/load"
)

// Options say how a job is run, not what it does: none of them changes a byte of the output.
type Options struct {
	Memory     int64             // bytes for the sort, open writers and buffers; 0: 512 MiB
	Side       int               // how many runs side by side have so much each, of what the command was given; 0: one
	WorkDir    string            // for spilled runs; "": the system's temporary folder
	Conf       string            // folder of the site files; "": the job's, then the environment's
	Properties map[string]string // Hadoop and HBase properties that win over the site files
	Principal  string            // who logs in with Kerberos, using Keytab; "": as the job says
	Keytab     string            // a file; set together with Principal
	Wait       Wait              // for an input that does not exist yet
	Replica    int               // which replica of each region a verification reads; 0: the region itself
	Force      bool              // start over, even if the output already has the run's files
	OnChange   OnChange          // what to do about a finished run whose input has changed
	OnBusy     OnBusy            // what to do if another job loads into the table
	NoLoad     bool              // stop before the load
	Rate       *throttle.Limit   // of the bytes read from and written to HDFS, and read from tables; nil: no limit
	Lookups    *throttle.Limit   // of the rows that are looked up in a table before a load; nil: the default
	Log        *slog.Logger      // gets notes, warnings and, at the levels below Info, details; nil: no log
	Say        func(string)      // gets the texts of notes and warnings, as Log does; may be nil
	Watch      func(Progress)    // gets progress, from several goroutines; may be nil
	// Stopped is closed when the context of the command ends, so that calls to HDFS stop waiting; may be nil.
	Stopped <-chan struct{}

	Failpoint Hook // for tests that stop a run at one of its points; may be nil
	// Available is a hook for tests: it overrides the bytes of available memory; nil: this machine's.
	Available func() int64
	Storage   func(storage.FS) storage.FS // for tests that make storage fail: it wraps each file system; nil: no wrapper
	HDFS      storage.FS                  // for tests: a simulated HDFS; nil: that of the site files
	HBase     load.Network                // for tests: the way to a simulated HBase; nil: ZooKeeper and TCP
}

// OnChange says what to do about a finished run whose input has changed since.
type OnChange string

// The values of OnChange.
const (
	Fail   OnChange = "" // the run is refused
	Reload OnChange = "reload"
)

// OnBusy says what a load does while another job loads into the same table.
type OnBusy string

// The values of OnBusy.
const (
	BusyWait OnBusy = "" // it waits until the other load ends
	BusyLoad OnBusy = "load"
	BusyFail OnBusy = "fail"
)

// Wait says how long a run waits for an input that does not exist yet.
type Wait struct {
	For         time.Duration // 0: not at all
	QuietPeriod time.Duration // how long files must be unchanged if no _SUCCESS is required; 0: a minute, less: not at all
	Clock       Clock         // the clock of the wait; zero: the machine's
}

// DefaultQuietPeriod is how long files must be unchanged before a run that waits for its input reads them.
const DefaultQuietPeriod = time.Minute

// Clock is the clock by which to wait; tests have their own.
type Clock struct {
	Now   func() time.Time
	Sleep func(context.Context, time.Duration) error // fails only if the context ends
}

// The memory of a run.
const (
	DefaultMemory = 512 << 20 // bytes
	MinMemory     = 16 << 20  // bytes
)

// WithDefaults sets defaults, and refuses too little memory.
func (o Options) WithDefaults() (Options, error) {
	if o.Memory == 0 {
		o.Memory = DefaultMemory
	}
	if o.Memory < MinMemory {
		return o, errcode.Command.Errorf("%s of memory is too little; give at least %s", bytesize.Format(o.Memory),
			bytesize.Format(MinMemory))
	}
	if o.Wait.QuietPeriod == 0 {
		o.Wait.QuietPeriod = DefaultQuietPeriod
	}
	if o.Wait.Clock.Now == nil {
		o.Wait.Clock = Clock{time.Now, pause.For}
	}
	o = o.withListener()
	if o.Watch == nil {
		o.Watch = func(Progress) {}
	}
	return o, nil
}
