package storage

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// ErrChecksum marks errors of a file of which HDFS has no sound replica: the data on its DataNodes' disks does not
// match the checksums.
var ErrChecksum = errors.New("no replica matches its checksums")

// replicas remembers, for one file system, which replicas could not be read, and why. The client library asks one
// DataNode after another and reports only the last answer; replicas keeps all of them.
type replicas struct {
	mu     sync.Mutex
	failed map[readRequest][]replicaFailure
	bare   map[blockID]bool // read without checksums, because no replica has any
	noted  map[string]bool  // messages that were already logged
	log    *slog.Logger     // nil: no log

	damages []damage // the last ones, in the order of their numbers
	latest  atomic.Uint64
}

// replicaFailure says why a DataNode did not return the requested bytes.
type replicaFailure struct {
	address string
	err     error
}

const (
	maxFailed = 1024 // requests; a message lacks forgotten ones
	maxNoted  = 20   // notes
)

// blockError is the result of a request at each DataNode that was asked.
type blockError struct {
	request  readRequest
	failures []replicaFailure
}

func (e *blockError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "block %v of %s, from its byte %d on", e.request.block, e.request.block.pool, e.request.offset)
	separator := ": "
	for _, f := range e.failures {
		fmt.Fprintf(&b, "%sDataNode %s: %v", separator, f.address, f.err)
		separator = "; "
	}
	return b.String()
}

func (e *blockError) Unwrap() []error {
	var errs []error
	for _, f := range e.failures {
		errs = append(errs, f.err)
	}
	return errs
}

// damaged reports whether all replicas were read and have wrong checksums.
func (e *blockError) damaged() bool {
	return !slices.ContainsFunc(e.failures, func(f replicaFailure) bool {
		var damage *damagedError
		return !errors.As(f.err, &damage)
	})
}

// failedAt records that a DataNode could not serve a request. The error names all DataNodes that could not.
func (r *replicas) failedAt(address string, request readRequest, err error) *blockError {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed == nil || len(r.failed) >= maxFailed {
		r.failed = map[readRequest][]replicaFailure{}
	}
	failures := slices.DeleteFunc(slices.Clone(r.failed[request]),
		func(f replicaFailure) bool { return f.address == address })
	failures = append(failures, replicaFailure{address, err})
	r.failed[request] = failures
	r.reportDamage(address, request.block, err)
	return &blockError{request, failures}
}

// reportDamage logs that a replica is damaged, because nobody else does if another one is sound. The reader of its file
// reports it to the NameNode.
func (r *replicas) reportDamage(address string, block blockID, err error) {
	var wrong *damagedError
	if !errors.As(err, &wrong) {
		return
	}
	if len(r.damages) == maxDamages {
		r.damages = append(r.damages[:0], r.damages[1:]...)
	}
	r.damages = append(r.damages, damage{r.latest.Load() + 1, block, address})
	r.latest.Add(1)
	r.note(fmt.Sprintf("the replica of block %v (%s) on DataNode %s is damaged and is not used",
		block, block.pool, address),
		fmt.Sprintf(": %v; to find its file: hdfs fsck -blockId %v", wrong, block))
}

// reportBare logs that a file has blocks without checksums.
func (r *replicas) reportBare(uri string) {
	r.mention(uri+" was written without checksums",
		" (dfs.checksum.type NULL): a byte that changes on a disk is not noticed")
}

// acceptBare allows a block to be read without checksums, if it could not be read because they are missing.
func (r *replicas) acceptBare(e *blockError) bool {
	if !errors.Is(e, errBare) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bare == nil {
		r.bare = map[blockID]bool{}
	}
	accepted := !r.bare[e.request.block]
	r.bare[e.request.block] = true
	return accepted
}

func (r *replicas) isBare(block blockID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bare[block]
}

// listen sets the log for notes about faulty replicas that do not end a read.
func (r *replicas) listen(log *slog.Logger) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = log
}

// note logs something once, with its details. The caller holds the lock.
func (r *replicas) note(what, details string) {
	if r.log == nil || r.noted[what] || len(r.noted) > maxNoted {
		return
	}
	if r.noted == nil {
		r.noted = map[string]bool{}
	}
	r.noted[what] = true
	if len(r.noted) > maxNoted {
		what, details = fmt.Sprintf("more than %d notes on blocks of HDFS; the others are left out", maxNoted), ""
	}
	r.log.Warn(what + details)
}
