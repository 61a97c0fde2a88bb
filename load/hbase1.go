package load

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"bulkload/internal/errcode"
	"bulkload/internal/hbase"
	"bulkload/internal/storage"
)

// What is different with HBase 1: where the states of tables are, how regions take files (hbase.LoadWay), and that the
// master moves a region after it has answered.

// isHBase1 reports whether the cluster has HBase 1. It is asked for the state of a table, unless that is known.
func (c *Cluster) isHBase1(ctx context.Context, id hbase.TableName) (bool, error) {
	if c.era.Load() == 0 {
		if _, err := c.stateOf(ctx, id); err != nil && c.era.Load() == 0 {
			return false, err
		}
	}
	return c.era.Load() == 1, nil
}

// oldState reads a table's state in ZooKeeper, and when it was written (epoch milliseconds). A table without it is
// ErrNotFound.
func (c *Cluster) oldState(ctx context.Context, id hbase.TableName) (state hbase.TableState, written int64, err error) {
	record, written, err := c.servers.finder.TableState(ctx, id.String())
	if errors.Is(err, errors.ErrUnsupported) {
		err = errcode.SiteMissing.Errorf("%w: this is HBase 1, which keeps the states of tables in ZooKeeper: set %s",
			ErrRefused, quorumProperty)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("read the table's state: %w", err)
	}
	if record == nil {
		return 0, 0, noTable(id)
	}
	state, err = hbase.ParseTableState(record)
	return state, written, err
}

// oldDefaults are the attributes that HBase 1's servers require of a new family, because only its client has defaults
// (HColumnDescriptor).
var oldDefaults = map[string]string{
	"VERSIONS": "1", "MIN_VERSIONS": "0", "TTL": "2147483647", "KEEP_DELETED_CELLS": "FALSE", "REPLICATION_SCOPE": "0",
	"BLOCKCACHE": "true", "IN_MEMORY": "false", blockSize: "65536", compression: "NONE", dataBlockEncoding: "NONE",
	bloomFilter: "ROW",
}

const rootProperty = "hbase.rootdir"

// noStaging is the name, below HBase's root folder, that stands for the staging folder of a plain load, which has none.
// No such folder is made. It is recorded before the first request like a staging folder, since a kill must show.
const noStaging = ".bulkload-plain"

// isPlain reports whether a recorded staging folder stands for a plain load.
func isPlain(folder string) bool { return path.Base(folder) == noStaging }

// preparePlain is what comes in place of a staging folder for a plain load, in which region servers move the files from
// their places. They do so as their own user, and would copy files from another file system.
func (l *loadRun) preparePlain() error {
	root := l.cluster.conf.Get(rootProperty, "")
	switch authority, _ := storage.SplitURI(root); {
	case l.cluster.secured:
		return errcode.SecurityUnsupported.Errorf("%w: this HBase 1 with Kerberos lacks a coprocessor: add "+
			"org.apache.hadoop.hbase.security.access.SecureBulkLoadEndpoint to hbase.coprocessor.region.classes", ErrRefused)
	case authority == "":
		return errcode.SiteMissing.Errorf("%w: %s is %q, which names no file system: this HBase 1 loads only files of the "+
			"file system that it is on; copy the property from the cluster's hbase-site.xml", ErrRefused, rootProperty, root)
	}
	l.way, l.token = hbase.PlainLoad, root+"/"+noStaging
	return nil
}

// checkPlain refuses files that HBase's user can't take from their places: a rename needs the right to write to the
// folder and to pass through those above, and the region reads the file. The user is the owner of HBase's root folder.
// A right by group may suffice, but who is in which group is not known here; if it does not, the region server says so.
func (l *loadRun) checkPlain(user string, names ...string) error {
	const write, enter, read = 2, 1, 4
	folders := map[string]bool{"/": true} // which everybody may pass
	for _, name := range names {
		if err := l.checkRight(user, name, read, "read"); err != nil {
			return err
		}
		folder, wants, what := path.Dir(name), fs.FileMode(write|enter), "take files from"
		for !folders[folder] {
			folders[folder] = true
			if err := l.checkRight(user, folder, wants, what); err != nil {
				return err
			}
			folder, wants, what = path.Dir(folder), enter, "pass through"
		}
	}
	return nil
}

// checkRight refuses a file or folder for which only others than HBase's user can have a right.
func (l *loadRun) checkRight(user, name string, right fs.FileMode, what string) error {
	const others, group = 1, 8
	info, err := l.fs.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return goneSince(l.fs.URI(name), err)
	case err != nil:
		return fmt.Errorf("look at %s: %w", l.fs.URI(name), err)
	}
	may := func(who fs.FileMode) bool { return info.Mode.Perm()&(right*who) == right*who }
	if info.Owner == user || may(others) || may(group) {
		return nil
	}
	return errcode.LoadFiles.Errorf("%w: HBase's user %s may not %s %s (mode %v, owner %s): this HBase 1 lacks the "+
		"coprocessor SecureBulkLoadEndpoint, so its servers take the files in their own name; give others the right, "+
		"or run this as %[2]s", ErrRefused, user, what, l.fs.URI(name), info.Mode.Perm(), info.Owner)
}

// waitMoved waits until hbase:meta shows another opening of a region than r: HBase 1's master answers before it moves a
// region.
func (c *Cluster) waitMoved(ctx context.Context, r *Region) error {
	pause := c.servers.backoff("a region that moves")
	for {
		now, err := c.reader.region(ctx, r.Name)
		switch {
		case err == nil && (now == nil || !now.sameOpening(r)):
			return nil
		case err != nil && !errors.Is(err, errInTransition):
			return err
		case !pause.wait(ctx):
			return fmt.Errorf("%w: %s does not move", ErrUnavailable, r)
		}
	}
}
