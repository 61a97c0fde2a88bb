package loading

import (
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/lock"
	"bulkload/jobs/pipeline/output"
	"bulkload/load"
)

// requests guards and counts the requests of a load. Before each of them, it checks that no other run may load the same
// files.
type requests struct {
	out   *output.Dir
	turn  *lock.Turn     // nil if loads take no turns
	sent  *options.Meter // of loaded files; nil before the first request
	files int            // how many there are at the beginning of the load
}

// begin sets how many files a load begins with.
func (r *requests) begin(files int) { r.sent, r.files = nil, files }

// hooks adds the guard and the counting to record, the hooks that record the load of some of the files.
func (r *requests) hooks(files int, record load.Hooks) load.Hooks {
	all := record
	all.Looked, all.Before = r.watchLook(files), r.check
	all.Staging = func(folder string) error {
		if folder != "" {
			r.count(0)
		}
		return record.Staging(folder)
	}
	all.Done = func(files []load.HFile) error {
		r.count(len(files))
		return record.Done(files)
	}
	return all
}

// check returns an error if another run may load the files by now. It is called before each load request.
func (r *requests) check() error {
	r.out.Options.Failpoint.Reached(options.BeforeRequest)
	if err := r.out.CheckLock(); err != nil {
		return err
	}
	// These read nothing, so a process that is stopped while it looks at the lock finds out when it wakes up. One that is
	// stopped after them still sends the request.
	if err := r.turn.Fresh(); err != nil {
		return err
	}
	return r.out.Lock.Fresh()
}

// The approximate shares of a load's time after which it knows that the table still serves what an earlier process has
// loaded, has looked for the other files' rows, and has sent all requests. The rest is probes.
const (
	checkShare = 0.05
	lookShare  = 0.1
	loadsShare = 0.8
)

// watchLook begins to count the files that the table is asked for before the first request. Later passes of the same
// load ask for few files, so it returns nil for them.
func (r *requests) watchLook(files int) func(int) {
	if r.sent != nil || files == 0 {
		return nil
	}
	return watchProbes(r.out.Options, files, checkShare, lookShare)
}

// count counts loaded files. The first call shows that the requests begin.
func (r *requests) count(files int) {
	if r.sent == nil && r.files > 0 {
		watch := options.Within(r.out.Options.Watch, lookShare, loadsShare)
		r.sent = options.NewCounter(watch, "load", int64(r.files), "files")
	}
	if r.sent != nil {
		r.sent.Add(int64(files))
	}
}
