package loading

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"bulkload/internal/digest"
	"bulkload/internal/errcode"
	"bulkload/internal/printable"
	"bulkload/jobs/ledger"
	"bulkload/jobs/output"
	"bulkload/jobs/site"
	"bulkload/load"
)

// lostFiles are the files that HBase took and does not serve, as the ledger lists them for each table.
type lostFiles struct {
	ledger  *ledger.Ledger // nil if nothing is loaded: then nothing is recorded, or found
	cluster *load.Cluster
	out     *output.Dir // whose lock is needed to change the list
}

// add records, outside of the output, files that HBase took and does not serve.
//
// It must come before the files are written again. If a kill came first, a later load with other cells would not know
// that old ones may still appear. An entry too many costs a look at its region, and perhaps a move.
func (l *lostFiles) add(ctx context.Context, lost *load.LostError, run string, cells digest.Sum) error {
	if l.ledger == nil {
		return nil
	}
	table, err := site.LookUp(ctx, l.cluster, lost.Table)
	if err != nil {
		return err
	}
	all, err := l.ledger.Unserved(lost.Table)
	if err != nil {
		return damagedRecord(err)
	}
	// Files whose region was opened since are served or do not exist: they can't appear any more.
	all = slices.DeleteFunc(all, func(u ledger.Unserved) bool { return opened(table, u) })
	for _, f := range lost.Files {
		all = append(all, ledger.Unserved{URI: f.URI, Row: printable.Bytes(f.FirstRow), Opening: table.Opening(f.FirstRow),
			Run: run, Digest: cells, Time: time.Now().UTC().Truncate(time.Second)})
	}
	if err := l.out.CheckLock(); err != nil {
		return err
	}
	return l.ledger.SetUnserved(lost.Table, all)
}

// opened reports whether the region of an unserved file was opened since: then the file is served, or does not exist.
func opened(table *load.Table, u ledger.Unserved) bool {
	row, err := printable.Parse(u.Row)
	return err == nil && table.OpenedSince(row, u.Opening)
}

// checkCorrection refuses to load other cells over those of a load whose lost files may still appear. A region that
// is opened again finds such a file in its folder, and its cells may then win over the later ones, which have the
// same timestamps. Once the region has been opened since, that can't happen any more.
func (l *lostFiles) checkCorrection(ctx context.Context, name, run string, cells digest.Sum) error {
	if l.ledger == nil {
		return nil
	}
	all, err := l.ledger.Unserved(name)
	if err != nil || len(all) == 0 {
		return damagedRecord(err)
	}
	for _, u := range all {
		table, err := site.LookUp(ctx, l.cluster, name) // again: the region of the file before may have been moved
		if err != nil {
			return err
		}
		// The same cells with the same timestamps do no harm if they appear twice.
		if u.Run == run || u.Digest == cells || opened(table, u) {
			continue
		}
		if err := l.reopenRegion(ctx, table, &u); err != nil {
			return err
		}
	}
	return nil
}

// reopenRegion moves a region so that it finds the files in its folder.
//
// It waits until hbase:meta shows another opening (load.ReopenRegion). From then on the region knows every file in its
// folder, and none of them can appear after the cells that are loaded now.
func (l *lostFiles) reopenRegion(ctx context.Context, table *load.Table, u *ledger.Unserved) error {
	row, err := printable.Parse(u.Row)
	if err != nil {
		return fmt.Errorf("read the ledger: %w", err)
	}
	err = l.cluster.ReopenRegion(ctx, table, row)
	if err == nil || !errors.Is(err, load.ErrRefused) {
		return err
	}
	return errcode.LoadMove.Errorf("file %s of an earlier load of table %s was lost on %s and may appear when the region of row %s is opened again, with cells that hide these: move that region to another server, or disable and enable the table, and run this again (%w)",
		u.URI, table.Name, u.Time.Format(time.RFC3339), u.Row, err)
}
