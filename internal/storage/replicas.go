package storage

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// ErrChecksum marks errors of a file of which HDFS has no sound replica: the data on its DataNodes' disks does not
// match the checksums.
var ErrChecksum = errors.New("no replica matches its checksums")

// replicas remembers, for one file system, which DataNodes failed a reader.
type replicas struct {
	mu     sync.Mutex
	failed map[string]time.Time // when last, by address
	noted  map[string]bool      // messages that were already logged
	log    *slog.Logger         // nil: no log
}

// replicaFailure says why a DataNode did not return the requested bytes.
type replicaFailure struct {
	address string
	err     error
}

// maxNoted bounds the number of notes.
const maxNoted = 20

// blockError says why no DataNode returned a part of a block.
type blockError struct {
	block    blockID
	from     int64 // in the block
	failures []replicaFailure
}

func (e *blockError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "block %v of %s, from its byte %d on", e.block, e.block.pool, e.from)
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
func (e *blockError) damaged() bool { return len(e.damages()) == len(e.failures) }

// damages are the addresses of the DataNodes whose replicas have wrong checksums.
func (e *blockError) damages() (addresses []string) {
	for _, f := range e.failures {
		var damage *damagedError
		if errors.As(f.err, &damage) {
			addresses = append(addresses, f.address)
		}
	}
	return addresses
}

// choose returns the first replica that is not among those that failed, on a DataNode that has never failed, or else on
// the one that failed longest ago; nil if there is no other replica.
func (r *replicas) choose(b *locatedBlock, failed *blockError) (chosen *replica) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range b.replicas {
		other := &b.replicas[i]
		tried := slices.ContainsFunc(failed.failures, func(f replicaFailure) bool { return f.address == other.address })
		if !tried && (chosen == nil || r.failed[other.address].Before(r.failed[chosen.address])) {
			chosen = other
		}
	}
	return chosen
}

// fail records that a DataNode could not serve a part of a block. A damaged replica is logged, because nobody else does
// if another one is sound.
func (r *replicas) fail(failed *blockError, address string, err error) {
	failed.failures = append(failed.failures, replicaFailure{address, err})
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed == nil {
		r.failed = map[string]time.Time{}
	}
	if !errors.Is(err, errBare) { // the DataNode did what it could
		r.failed[address] = time.Now()
	}
	var wrong *damagedError
	if errors.As(err, &wrong) {
		r.note(fmt.Sprintf("the replica of block %v (%s) on DataNode %s is damaged and is not used",
			failed.block, failed.block.pool, address),
			fmt.Sprintf(": %v; to find its file: hdfs fsck -blockId %v", wrong, failed.block))
	}
}

// reportBare logs that a file has blocks without checksums.
func (r *replicas) reportBare(uri string) {
	r.mention(uri+" was written without checksums",
		" (dfs.checksum.type NULL): a byte that changes on a disk is not noticed")
}

// listen sets the log for notes about faulty replicas that do not end a read.
func (r *replicas) listen(log *slog.Logger) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = log
}

// mention logs something once, with its details.
func (r *replicas) mention(what, details string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.note(what, details)
}

// note is mention for a caller that holds the lock.
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
