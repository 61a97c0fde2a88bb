package loading

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"bulkload/internal/digest"
	"bulkload/internal/errcode"
	"bulkload/internal/printable"
	"bulkload/jobs/env/ledger"
	"bulkload/jobs/env/site"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/output"
	"bulkload/jobs/spec/jobfile"
	"bulkload/load"
)

// lostFiles are the files that HBase took but does not serve, as the ledger lists them for each table. Each loss is a
// document of its own there, so concurrent loads need no lock to record them.
type lostFiles struct {
	ledger  *ledger.Ledger // nil if nothing is loaded: then nothing is recorded, or found
	cluster *load.Cluster
	out     *output.Dir // whose files they are
}

// cells describes the cells that a load puts into a table, as far as needed to decide whether cells of a lost file may
// win over them.
type cells struct {
	run       string
	digest    digest.Sum
	timestamp int64 // of all cells, in epoch milliseconds; 0: they have several, or it is not known
}

// cellsOf describes the cells of a run.
func cellsOf(m *manifest.Manifest) cells { return cells{m.Run.ID, m.Digest, m.Timestamp} }

// mayHide reports whether cells of a lost file may hide these, or be hidden by them, depending on which came first.
// Equal cells do no harm if they appear twice. Of cells with different timestamps, the newer one wins, whenever it was
// loaded.
func (c cells) mayHide(u *ledger.Unserved) bool {
	equal := u.Run == c.run || u.Digest == c.digest && c.digest != digest.Sum{}
	return !equal && (u.Timestamp == 0 || c.timestamp == 0 || u.Timestamp == c.timestamp)
}

// add records files in the ledger that HBase took but does not serve.
//
// It must come before the files are written again. Otherwise, after a kill in between, a later load of other cells
// would not know that old ones may still appear. A superfluous entry costs only a look at its region, and perhaps a
// move.
func (l *lostFiles) add(ctx context.Context, lost *load.LostError, of cells) error {
	if l.ledger == nil {
		return nil
	}
	table, err := site.LookUp(ctx, l.cluster, lost.Table)
	if err != nil {
		return err
	}
	var all []ledger.Unserved
	var moves []string
	for _, f := range lost.Files {
		if move := moveOf(table, f.FirstRow); !f.Reopened && !slices.Contains(moves, move) {
			moves = append(moves, move)
		}
		all = append(all, ledger.Unserved{URI: f.URI, Row: printable.Bytes(f.FirstRow), Opening: table.Opening(f.FirstRow),
			Run: of.run, Digest: of.digest, Timestamp: of.timestamp, Time: time.Now().UTC().Truncate(time.Second)})
	}
	if err := l.out.CheckLock(); err != nil {
		return err
	}
	if moves != nil {
		l.out.Options.Warnf("other rows with the same timestamps are not loaded into table %s until the regions of the "+
			"lost files are opened again, as by %s in the HBase shell", lost.Table, strings.Join(moves, ", "))
	}
	return l.ledger.AddUnserved(lost.Table, all)
}

// opened reports whether the region of an unserved file has been opened since. If so, the file is served or does not
// exist.
func opened(table *load.Table, u ledger.Unserved) bool {
	row, err := printable.Parse(u.Row)
	return err == nil && table.OpenedSince(row, u.Opening)
}

// checkCorrection refuses to load other cells over those of a load whose lost files may still appear. A region that is
// opened again finds such a file in its folder, and the file's cells may then win over later ones with the same
// timestamps. Once the region has been opened again, that can't happen any more, so checkCorrection opens it if it may
// (load.ReopenRegion).
func (l *lostFiles) checkCorrection(ctx context.Context, table *load.Table, these cells) error {
	if l.ledger == nil {
		return nil
	}
	all, err := l.ledger.Unserved(table.Name, func(u ledger.Unserved) bool { return opened(table, u) })
	if err != nil {
		return err
	}
	var moves []string // to open regions again that this user may not move
	var closed []ledger.Unserved
	var refused error
	for _, u := range all {
		if !these.mayHide(&u) || opened(table, u) {
			continue
		}
		row, err := printable.Parse(u.Row)
		if err != nil {
			return fmt.Errorf("read the ledger: %w", err)
		}
		if move := moveOf(table, row); !slices.Contains(moves, move) {
			switch err := l.cluster.ReopenRegion(ctx, table, row); {
			case err == nil:
				if table, err = site.LookUp(ctx, l.cluster, table.Name); err != nil { // other files may be in the same region
					return err
				}
				continue
			case !errors.Is(err, load.ErrRefused):
				return err
			default:
				// The table was looked up some time ago. HBase also refuses to move a region that was split since, whose
				// parts have been opened again.
				now, lookUp := site.LookUp(ctx, l.cluster, table.Name)
				if lookUp != nil {
					return lookUp
				}
				if table = now; opened(table, u) {
					continue
				}
				moves, refused = append(moves, move), err
			}
		}
		closed = append(closed, u)
	}
	if closed == nil {
		return nil
	}
	return errcode.LoadMove.Errorf("%s of earlier loads of table %s (%s, lost on %s, is one) may appear when their "+
		"regions are opened again, with cells that hide these: "+
		"open the regions again with %s in the HBase shell, as a user with the right 'A', or disable and enable the table; "+
		"then run this again (%w)",
		jobfile.Plural(len(closed), "file"), table.Name, closed[0].URI, closed[0].Time.Format(time.RFC3339),
		strings.Join(moves, ", "), refused)
}

// moveOf returns the command of the HBase shell that moves the region of a row, and so opens it again on another
// server.
func moveOf(table *load.Table, row []byte) string {
	return fmt.Sprintf("move '%s'", table.Overlapping(row, row)[0].EncodedName())
}
