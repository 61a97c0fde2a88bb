package loading

import (
	"context"

	"bulkload/jobs/base/options"
	"bulkload/jobs/env/lock"
	"bulkload/jobs/pipeline/output"
	"bulkload/load"
)

// handover sends the requests of a load. Before each of them it checks that no other run may load the same files, and
// it counts the files. The caller's hooks record it.
type handover struct {
	out     *output.Dir
	cluster *load.Cluster
	turn    *lock.Turn     // nil if loads take no turns
	sent    *options.Meter // of loaded files; nil before the first request
	files   int            // at the beginning of the load
}

// begin sets how many files a load begins with.
func (h *handover) begin(files int) { h.sent, h.files = nil, files }

// send hands files over. The hooks Staging, ServedBefore and Done of record are called, which record the load.
func (h *handover) send(ctx context.Context, table string, files []load.HFile, record load.Hooks) (*load.Report, error) {
	return h.cluster.LoadFrom(ctx, h.out.FS, table, files, load.Hooks{
		Looked:       h.watchLook(len(files)),
		Before:       h.check,
		ServedBefore: record.ServedBefore,
		Staging: func(folder string) error {
			h.count(0)
			return record.Staging(folder)
		},
		Done: func(files []load.HFile) error {
			h.count(len(files))
			return record.Done(files)
		},
	})
}

// check is an error if another run may load the files by now. It is called before each load request.
func (h *handover) check() error {
	h.out.Options.Failpoint.Reached(options.BeforeRequest)
	if err := h.turn.Fresh(); err != nil {
		return err
	}
	return h.out.CheckLock()
}

// end lets the next load begin.
func (h *handover) end() error { return h.turn.Release() }

// About where a load is, as a share of its time: when it knows that the table still serves what an earlier process has
// loaded, when it has looked for the other files' rows, and when it has sent all requests. What is left is probes.
const (
	checkShare = 0.05
	lookShare  = 0.1
	loadsShare = 0.8
)

// watchLook begins to count the files that the table is asked for before the first request. Later requests of the same
// load ask for few files again: nil.
func (h *handover) watchLook(files int) func(int) {
	if h.sent != nil || files == 0 {
		return nil
	}
	return watchProbes(h.out.Options, files, checkShare, lookShare)
}

// count counts loaded files. The first call shows that the requests begin.
func (h *handover) count(files int) {
	if h.sent == nil && h.files > 0 {
		h.sent = options.NewCounter(options.Within(h.out.Options.Watch, lookShare, loadsShare), "load", int64(h.files), "files")
	}
	if h.sent != nil {
		h.sent.Add(int64(files))
	}
}
