package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

// Quota is the limits and the use of a directory, with everything below it. A limit of NoQuota means no limit.
type Quota struct {
	Names, NamesUsed int64 // files and directories
	Bytes, BytesUsed int64 // of all replicas
	Replication      int   // of new files
}

// NoQuota is a limit that is not set, as HDFS has it.
const NoQuota = -1

// Quoter is a file system with quotas on directories. HDFS is one.
type Quoter interface {
	// Quota asks for the quotas of a directory. If it has none, HDFS counts everything below it, which takes about a
	// second for a million files. The error is fs.ErrPermission if the user may not list the directory.
	Quota(ctx context.Context, name string) (Quota, error)
}

// QuoterOf finds the Quoter of a file system, looking through wrappers with Unwrap.
func QuoterOf(fsys FS) (Quoter, bool) { return extension[Quoter](fsys) }

// extension finds a further interface that a file system, or one that it wraps (Unwrap), implements.
func extension[T any](fsys FS) (found T, ok bool) {
	for {
		if found, ok = fsys.(T); ok {
			return found, true
		}
		above, ok := fsys.(interface{ Unwrap() FS })
		if !ok {
			return found, false
		}
		fsys = above.Unwrap()
	}
}

var _ Quoter = (*hdfsFS)(nil)

func (h *hdfsFS) Quota(ctx context.Context, name string) (Quota, error) {
	name, err := absolute("quota", name)
	if err != nil {
		return Quota{}, err
	}
	// It needs a separate connection: the library's carries one call at a time, and this one may take long.
	a, err := h.names.call(ctx, "getQuotaUsage", message(nil).text(1, name))
	var q Quota
	if err == nil {
		q, err = parseQuotaAnswer(a.body)
		q.Replication = h.replication
	}
	var remote *remoteError
	if errors.As(err, &remote) && remote.denies() {
		err = fmt.Errorf("%w: %w", fs.ErrPermission, err)
	}
	if err != nil {
		return Quota{}, fmt.Errorf("ask for the quota of %s: %w", h.URI(name), err)
	}
	return q, nil
}

// parseQuotaAnswer reads a GetQuotaUsageResponseProto with its QuotaUsageProto: 1 fileAndDirectoryCount, 2 quota,
// 3 spaceConsumed, 4 spaceQuota. A limit that is not set is -1, as an unsigned number.
func parseQuotaAnswer(b []byte) (Quota, error) {
	q := Quota{Names: NoQuota, Bytes: NoQuota}
	found := false
	err := eachField(b, func(f field) error {
		if f.key() != bytesField(1) {
			return nil
		}
		found = true
		return eachField(f.bytes, func(f field) error {
			into := map[fieldKey]*int64{varintField(1): &q.NamesUsed, varintField(2): &q.Names, varintField(3): &q.BytesUsed,
				varintField(4): &q.Bytes}[f.key()]
			if into != nil {
				*into = int64(f.number)
			}
			return nil
		})
	})
	if err == nil && !found {
		err = malformedf("the answer has no usage")
	}
	return q, err
}
