package load

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sort"
	"sync"

	"bulkload/internal/errcode"
	"bulkload/internal/hbase"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
)

// metaTable lists the places of all regions, unless settings.meta is another one. It is one region, whose own server is
// found by a finder.
const metaTable = "hbase:meta"

// metaRegion is the name of its only region.
func metaRegion(table string) []byte { return []byte(table + ",,1") }

// locations remembers where regions are. It may be out of date; the server then says so.
//
// Nothing here decides about files: loads and probes read hbase:meta anew (regionsThrough). An outdated location costs
// a read one more try.
type locations struct {
	mu     sync.Mutex
	tables map[string][]*Region // in order, without overlaps, perhaps with gaps
}

// find returns the region that holds a row, or, with before, the rows right before it (nil row: the last ones); nil if
// it is not known.
func (l *locations) find(table string, row []byte, before bool) *Region {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.tables[table]
	i := sort.Search(len(known), func(i int) bool {
		order := bytes.Compare(known[i].Start, row)
		return order > 0 || before && order == 0
	})
	if before && len(row) == 0 {
		i = len(known)
	}
	if i > 0 && known[i-1].reaches(row, before) {
		return known[i-1]
	}
	return nil
}

// add remembers a region in place of those that share rows with it.
func (l *locations) add(table string, r *Region) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.tables[table]
	from := sort.Search(len(known),
		func(i int) bool { return len(known[i].End) == 0 || bytes.Compare(known[i].End, r.Start) > 0 })
	until := len(known)
	if len(r.End) > 0 {
		until = sort.Search(len(known), func(i int) bool { return bytes.Compare(known[i].Start, r.End) >= 0 })
	}
	if l.tables == nil {
		l.tables = make(map[string][]*Region)
	}
	l.tables[table] = slices.Replace(known, from, max(from, until), r)
}

// drop forgets a region, unless it has been looked up again since.
func (l *locations) drop(table string, r *Region) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.tables[table]
	i := sort.Search(len(known), func(i int) bool { return bytes.Compare(known[i].Start, r.Start) >= 0 })
	if i < len(known) && known[i] == r {
		l.tables[table] = slices.Delete(known, i, i+1)
	}
}

// locate finds the region that holds a row, or, with before, the rows right before it (nil row: the last ones).
func (r *reader) locate(ctx context.Context, table string, row []byte, before bool) (*Region, error) {
	if known := r.locations.find(table, row, before); known != nil {
		return known, nil
	}
	found, err := r.lookUp(ctx, table, row, before)
	if err == nil {
		r.locations.add(table, found)
	}
	return found, err
}

// checkMeta says errInTransition if hbase:meta is no longer on the server from which it was read, and forgets that
// place.
//
// A server that hung past its session and wakes up answers for a moment with what it knew. If it had hbase:meta, it
// would say that nothing has moved. Another server gets hbase:meta before any region moves, so what was read is true if
// hbase:meta is still there afterwards.
func (r *reader) checkMeta(ctx context.Context) error {
	now, err := r.servers.finder.Meta(ctx)
	if err != nil {
		return err
	}
	read := r.locations.find(r.limits.meta, nil, false)
	if read != nil && read.Server == now {
		return nil
	}
	if read != nil {
		r.locations.drop(r.limits.meta, read)
	}
	return fmt.Errorf("%s has moved to %s: %w", r.limits.meta, now, errInTransition)
}

func (r *reader) lookUp(ctx context.Context, table string, row []byte, before bool) (*Region, error) {
	if table == r.limits.meta {
		addr, err := r.servers.finder.Meta(ctx)
		return &Region{Name: metaRegion(table), Server: addr}, err
	}
	meta, err := r.locate(ctx, r.limits.meta, nil, false)
	if err != nil {
		return nil, err
	}
	found, err := r.lookUpIn(ctx, meta, table, row, before)
	if err != nil { // without the row, which is no matter for the logs of those who look rows up
		err = fmt.Errorf("look for a region of table %s in %s: %w", table, r.limits.meta, err)
	}
	return found, err
}

// nearby is how many rows of hbase:meta a look-up reads. Next to the region's own row there may be those of its
// parents.
const nearby = 3

// lookUpIn reads hbase:meta backwards from the last possible place of a region that begins with the row: a colon sorts
// after all digits of a region's id. With before, it begins below all regions that begin with the row.
func (r *reader) lookUpIn(ctx context.Context, meta *Region, table string, row []byte, before bool) (*Region, error) {
	from := append(append([]byte(table+","), row...), ',')
	switch {
	case !before:
		from = append(from, ':')
	case len(row) == 0:
		from = afterRegions(table)
	}
	answer, err := r.scanOnce(ctx, r.limits.meta, meta,
		&pb.Scan{StartRow: from, Reversed: proto.Bool(true), Column: metaColumns(r.replica)}, nearby)
	if err != nil {
		return nil, err
	}
	rows, err := readMeta(answer)
	if err != nil {
		return nil, err
	}
	known := false
	for i := range rows {
		if rows[i].info == nil || rows[i].info.Table.String() != table {
			continue
		}
		known = true
		if region, err := rows[i].region(r.replica); err != nil || region != nil && region.reaches(row, before) {
			return region, err
		}
	}
	if !known {
		return nil, errcode.TableMissing.Errorf("%w: no region of table %s is known", ErrNotFound, table)
	}
	return nil, fmt.Errorf("no region holds the row: %w", errInTransition)
}

// scanOnce reads the first rows of a scan, in one answer.
func (r *reader) scanOnce(ctx context.Context, table string, region *Region, scan *pb.Scan,
	rows uint32) (answer *hbase.Scanned, err error) {
	conn, err := r.servers.region(ctx, region.Server)
	if err != nil {
		r.invalidate(table, region, nil, err)
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, r.limits.call)
	defer cancel()
	answer, err = conn.Scan(ctx, hbase.ScanOnce(region.Name, scan, rows))
	r.invalidate(table, region, conn, err)
	return answer, err
}
