package load

import (
	"bytes"
	"cmp"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/hbase"
)

// A region server that hung past its ZooKeeper session may wake up and move a file into the folder of a region that is
// meanwhile open elsewhere. The open region does not know that file until it is opened again. Moving the region to
// another server does that, and a crash at any moment can't leave it closed for good; unassigning and assigning it
// could.

// errNoOtherServer says that there is no other server to move a region to.
var errNoOtherServer = errcode.LoadMove.New("there is no other region server to move it to")

// ReopenAndProbe moves the regions of files to other servers, which opens them again, and probes the files once more.
// It needs the permission to administer the table. Without it, or with only one region server, it returns the findings
// unchanged, each with the reason. A region that can't be moved now is ErrUnavailable.
func (c *Cluster) ReopenAndProbe(ctx context.Context, name string, findings []ProbeResult) ([]ProbeResult, error) {
	moved := map[string]error{}
	for i := range findings {
		for k := range findings[i].regions {
			r := &findings[i].regions[k]
			if _, done := moved[string(r.Name)]; done {
				continue
			}
			err := c.move(ctx, r, len(moved))
			moved[string(r.Name)] = err
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			// A region that can't be moved right now says nothing about the file.
			if errors.Is(classifyBy(ctx, err, isTransient), ErrUnavailable) ||
				hbase.IsRemote(err, "DoNotRetryRegionException", "UnknownRegionException") { // it is opened or merged
				return nil, fmt.Errorf("%w: %s can't be opened again now: %w", ErrUnavailable, r, err)
			}
		}
	}
	var files []HFile
	var before, result []ProbeResult
	for _, f := range findings {
		if err := f.notMoved(moved); err != nil {
			f.Why = fmt.Sprintf("%s; the region can't be opened again: %v", f.Why, err)
			result = append(result, f)
			continue
		}
		files, before = append(files, f.HFile), append(before, f)
	}
	if len(files) == 0 {
		return result, nil
	}
	again, err := c.Probe(ctx, name, files)
	for i := range again {
		// The master's answer does not prove that the region was opened again: hbase:meta must show a new opening.
		again[i].Reopened = !again[i].sameOpenings(&before[i])
	}
	return append(result, again...), err
}

// notMoved says why one of a file's regions was not moved; nil if all were.
func (f *ProbeResult) notMoved(moved map[string]error) error {
	for i := range f.regions {
		if err := moved[string(f.regions[i].Name)]; err != nil {
			return err
		}
	}
	return nil
}

// sameOpenings reports whether one of a file's regions is still open as it was at an earlier look.
func (f *ProbeResult) sameOpenings(o *ProbeResult) bool {
	return slices.ContainsFunc(f.regions, func(r Region) bool {
		return slices.ContainsFunc(o.regions, func(before Region) bool { return r.sameOpening(&before) })
	})
}

// ReopenRegion moves the region of a row to another server, so that it is opened again, and waits until it is open
// there. The error is ErrRefused if there is no other server, or no permission.
func (c *Cluster) ReopenRegion(ctx context.Context, table *Table, row []byte) error {
	r := &table.Regions[regionOf(table.Regions, row)]
	err := c.move(ctx, r, 0)
	if errors.Is(err, errNoOtherServer) {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if err != nil {
		return classify(ctx, err)
	}
	id, err := parseName(table.Name)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, c.limits.outage)
	defer cancel()
	pause := c.servers.backoff("a region that moves")
	for {
		regions, err := c.regionsThrough(limited, id)
		if err != nil {
			return classify(ctx, err)
		}
		if !slices.ContainsFunc(regions, func(o Region) bool { return o.sameOpening(r) }) {
			return nil
		}
		if !pause.wait(limited) {
			return classify(ctx, fmt.Errorf("%w: %s of table %s was not opened on another server within %v: run this again",
				ErrUnavailable, r, table.Name, c.limits.outage))
		}
	}
}

// move moves a region to the n-th server other than its current one, and waits until the master has done so.
//
// r may be out of date. If the region is already on the chosen server, it stays open there and is not opened again,
// without an error. So callers must compare the openings in hbase:meta.
func (c *Cluster) move(ctx context.Context, r *Region, n int) error {
	limited, cancel := c.limit(ctx)
	defer cancel()
	err := c.onMaster(limited, func(ctx context.Context, master *hbase.Conn) error {
		status, err := master.ClusterStatus(ctx)
		if err != nil {
			return err
		}
		servers := slices.DeleteFunc(status.Servers, func(s hbase.ServerLoad) bool { return s.Server.Addr() == r.Server })
		switch {
		case len(servers) == 0 && status.Dead > 0:
			return fmt.Errorf("%w: the other region servers are dead", ErrUnavailable)
		case len(servers) == 0:
			return errNoOtherServer
		}
		return master.MoveRegion(ctx, r.EncodedName(), servers[n%len(servers)].Server)
	})
	if err == nil && c.era.Load() == 1 {
		err = c.waitMoved(limited, r)
	}
	return err
}

// OpenedSince reports whether the region that holds a row was opened after the opening named by mark (see Opening),
// or is another region by now.
func (t *Table) OpenedSince(row []byte, mark string) bool { return t.Opening(row) != mark }

// Opening names the current opening of the region that holds a row. It changes when the region moves, splits or is
// opened again for another reason.
//
// The text is stored in the ledger, so its form must not change. Otherwise every region would seem to have been opened
// since, and a corrected load would not wait for files that may still appear.
func (t *Table) Opening(row []byte) string {
	return t.Regions[regionOf(t.Regions, row)].opening()
}

func (r *Region) opening() string {
	return fmt.Sprintf("%s@%s,%d,%d", r.EncodedName(), r.Server, r.startCode, r.openSeq)
}

// OpeningsOf is Openings for the rows of one file, followed by the names of the regions (see Region.CameFrom). It also
// changes if the settings of the file's family change, or the family is gone.
//
// It is stored like Opening, in OpeningBytes if the rows are in two regions at most.
func (t *Table) OpeningsOf(f *HFile) string {
	h := sha256.New()
	for _, family := range t.Families {
		if family.Name == f.Family {
			fmt.Fprintf(h, "%q\n", family.Attributes) // maps are printed in the order of their keys
		}
	}
	fmt.Fprintln(h, t.Openings(f.FirstRow, f.LastRow))
	text := hex.EncodeToString(h.Sum(nil)[:openingHash])
	for _, r := range t.Overlapping(f.FirstRow, f.LastRow) {
		text += " " + r.EncodedName()
	}
	return text
}

// OpeningBytes is the length of OpeningsOf for rows in two regions, because one may split during a load: a hash and two
// encoded names.
const OpeningBytes = 2*openingHash + 2*(1+2*md5.Size)

// openingHash is how many bytes of a hash tell openings apart.
const openingHash = 12

// CameFrom reports whether a region is one of those that a text of OpeningsOf names, or hbase:meta has shown that it
// came from one of them only by splits. Then whatever has emptied a part of the region since has emptied all of it.
// Otherwise it may be a merge of a region that was truncated and one that was not.
//
// hbase:meta shows a split until HBase has compacted both daughters: some minutes, mostly.
func (r *Region) CameFrom(openings string) bool {
	names := strings.Fields(openings)
	return slices.Contains(names, r.EncodedName()) ||
		slices.ContainsFunc(r.ancestors, func(name string) bool { return slices.Contains(names, name) })
}

// Overlapping returns the regions that may hold rows from first to last.
func (t *Table) Overlapping(first, last []byte) []Region {
	from := sort.Search(len(t.Regions),
		func(i int) bool { r := &t.Regions[i]; return len(r.End) == 0 || bytes.Compare(r.End, first) > 0 })
	to := sort.Search(len(t.Regions), func(i int) bool { return bytes.Compare(t.Regions[i].Start, last) > 0 })
	return t.Regions[min(from, to):to]
}

// Openings is a text that changes when any of the regions that hold rows from first to last is opened again, moves,
// splits or is truncated.
func (t *Table) Openings(first, last []byte) string {
	h := sha256.New()
	for _, r := range t.Overlapping(first, last) {
		fmt.Fprintln(h, r.opening(), r.opened)
	}
	return hex.EncodeToString(h.Sum(nil)[:openingHash])
}

// prove decides whether the table has files that are neither at their source nor in staging, unless HBase clearly
// confirmed them. A file is loaded if its region returns cells that it did not return before the load. Otherwise the
// region is opened again, which shows it files that are in its folder without its knowledge. Files that are still not
// served are lost.
//
// It must not be called before the files have stopped moving: one that a server is still moving would be declared lost,
// written again, and loaded twice.
func (l *loadRun) prove(ctx context.Context,
	files []*pendingFile) (loaded []*pendingFile, lost []ProbeResult, err error) {
	if len(files) == 0 {
		return nil, nil, nil
	}
	for _, f := range files {
		if len(f.Probes) == 0 {
			return nil, nil, fmt.Errorf("no cells of file %s are known, so it is not known whether the table serves it", f.URI)
		}
	}
	// Look up the regions again, because those known before the request may be open elsewhere by now.
	name := l.table.String()
	findings, err := l.cluster.Probe(ctx, name, hfilesOf(files))
	if err != nil {
		return nil, nil, err
	}
	// Keep the files that no returned cell proves.
	doubtful := slices.DeleteFunc(findings, func(f ProbeResult) bool { return !f.unproven() })
	for i := range doubtful {
		doubtful[i].Why = cmp.Or(doubtful[i].Why, "it had cells like those of its first and last row before")
	}
	if len(doubtful) > 0 {
		if doubtful, err = l.cluster.ReopenAndProbe(ctx, name, doubtful); err != nil {
			return nil, nil, err
		}
	}
	unproven := map[string]*ProbeResult{}
	for i := range doubtful {
		if f := &doubtful[i]; f.unproven() {
			unproven[f.URI] = f
		}
	}
	for _, f := range files {
		if finding := unproven[f.URI]; finding != nil {
			lost = append(lost, *finding)
		} else {
			loaded = append(loaded, f)
		}
	}
	return loaded, lost, nil
}

// unproven reports whether a finding leaves open whether HBase loaded a file that it took without a clear yes. One of
// its cells must be returned that was not there before, unless the region was opened again. Then the region knows all
// files in its folder, and neither cells of earlier loads nor newer versions that may hide this file's cells matter.
func (f *ProbeResult) unproven() bool {
	if f.Serving == Missing {
		return true
	}
	for i := range f.Probes {
		if f.Reopened || f.Proves(i) {
			return false
		}
	}
	return true
}

// withWatch returns a context for a request to a region. It ends, with errElsewhere as its cause, when hbase:meta shows
// that another process has opened the region, because the server that has the request is then dead, or wrongly believes
// it is alive.
//
// The end of the watch says nothing about the files: the request counts as unanswered, and is resolved as such.
func (l *loadRun) withWatch(ctx context.Context, r *Region) (context.Context, context.CancelFunc) {
	watched, cancel := context.WithCancelCause(ctx)
	go func() {
		for tick := time.NewTicker(l.cluster.limits.watch); ; {
			select {
			case <-watched.Done():
				tick.Stop()
				return
			case <-tick.C:
			}
			if elsewhere, err := l.openedElsewhere(watched, r); elsewhere && err == nil {
				cancel(errElsewhere)
			}
		}
	}()
	return watched, func() { cancel(nil) }
}

// openedElsewhere reports whether a region is open in another place, or no longer exists. It returns an error if it
// can't tell, because hbase:meta can't be read or the region stays in transition. It reads only the row of this region,
// because it is called for each request with files that were served before.
func (l *loadRun) openedElsewhere(ctx context.Context, r *Region) (bool, error) {
	limited, cancel := l.cluster.limit(ctx)
	defer cancel()
	pause := l.cluster.servers.backoff("a region in transition")
	for {
		now, err := l.cluster.reader.region(limited, r.Name)
		if err == nil {
			return now == nil || !now.sameOpening(r), nil
		}
		if !errors.Is(err, errInTransition) || l.cluster.usable(limited, l.table) != nil || !pause.wait(limited) {
			return false, fmt.Errorf("whether the region is open elsewhere is not known: %w", err)
		}
	}
}
