package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bulkload/internal/errcode"
	"bulkload/internal/hbase"
)

// Region is a region and the place where it is served.
type Region struct {
	Name   []byte // as in hbase:meta
	Start  []byte // empty: the first
	End    []byte // empty: the last
	Server string // host:port

	startCode int64 // of the server's process; 0 if hbase:meta does not say
	openSeq   int64 // sequence number with which the region was opened last; 0 if hbase:meta does not say
	opened    int64 // when it was opened last, in epoch milliseconds; 0 if hbase:meta does not say
	stateless bool  // hbase:meta does not say whether it is open

	// encoded names of the regions that it came from only by splits, as far as they are known; nearest first
	ancestors []string
}

// sameOpening reports whether two look-ups found a region opened by the same process, and not opened again in between.
//
// Every proof by probes rests on this. The name changes with a split or merge, the start code with the server's
// process, and the sequence number with each opening by one process. A truncated region's sequence numbers begin again,
// but the time of the opening changes then.
func (r *Region) sameOpening(o *Region) bool {
	return bytes.Equal(r.Name, o.Name) && r.Server == o.Server && r.startCode == o.startCode &&
		r.openSeq == o.openSeq && r.opened == o.opened
}

// EncodedName is the part of a region's name between the last two dots, which names its folder and, in the HBase shell,
// the region.
func (r *Region) EncodedName() string { return encodedName(r.Name) }

func encodedName(region []byte) string {
	name := strings.TrimSuffix(string(region), ".")
	return name[strings.LastIndexByte(name, '.')+1:]
}

// String shows a region by its rows.
func (r *Region) String() string { return fmt.Sprintf("region [%q, %q)", r.Start, r.End) }

// holds reports whether a row is in the region.
func (r *Region) holds(row []byte) bool {
	return bytes.Compare(row, r.Start) >= 0 && (len(r.End) == 0 || bytes.Compare(row, r.End) < 0)
}

// reaches is holds for a row, or, with before, for the rows right before it (nil row: the last ones).
func (r *Region) reaches(row []byte, before bool) bool {
	if !before {
		return r.holds(row)
	}
	if len(row) == 0 {
		return len(r.End) == 0
	}
	return bytes.Compare(r.Start, row) < 0 && (len(r.End) == 0 || bytes.Compare(row, r.End) <= 0)
}

// errInTransition says that hbase:meta shows a region in transition, which may be over in a moment.
var errInTransition = errors.New("in transition")

// regions reads a table's regions from hbase:meta. While regions split, merge and move, they can lack a server, and the
// chain of their rows can have gaps; regions waits for that to pass, as long as ctx lets it.
func (c *Cluster) regions(ctx context.Context, id hbase.TableName) ([]Region, error) {
	pause := c.servers.backoff("regions in transition")
	for {
		regions, err := c.reader.regions(ctx, id)
		if err == nil {
			err = c.reader.checkMeta(ctx)
		}
		if err == nil {
			err = c.checkLive(ctx, regions)
		}
		if err == nil {
			err = checkChain(regions)
		}
		if !errors.Is(err, errInTransition) {
			return regions, err
		}
		if unusable := c.usable(ctx, id); errors.Is(unusable, ErrRefused) || errors.Is(unusable, ErrNotFound) {
			return nil, unusable
		}
		if !pause.wait(ctx) {
			return nil, errcode.HBaseRegion.Errorf("%w: %w; if that lasts, run hbase hbck", ErrUnavailable, err)
		}
	}
}

// checkLive says errInTransition if hbase:meta does not record the states of regions, as in HBase 1, and the master
// takes a region's server for dead.
//
// HBase 1's hbase:meta names a dead server until another one has opened the region. That server may only have hung.
// When it wakes up, it answers for the region for a moment, while the new one may already have listed the files.
func (c *Cluster) checkLive(ctx context.Context, regions []Region) error {
	if !slices.ContainsFunc(regions, func(r Region) bool { return r.stateless }) {
		return nil
	}
	return c.onMaster(ctx, func(ctx context.Context, master *hbase.Conn) error {
		status, err := master.ClusterStatus(ctx)
		if err != nil {
			return err
		}
		live := map[string]int64{} // start codes by address
		for _, s := range status.Servers {
			live[s.Server.Addr()] = int64(s.Server.StartCode)
		}
		for i := range regions {
			r := &regions[i]
			if code, found := live[r.Server]; !found || r.startCode != 0 && r.startCode != code {
				return fmt.Errorf("%s is on server %s, which is dead: %w", r, r.Server, errInTransition)
			}
		}
		return nil
	})
}

// regionsThrough is regions for a call that continues while a server is down and its regions move. It retries every
// failure until ctx ends, unless the table is gone or disabled.
func (c *Cluster) regionsThrough(ctx context.Context, id hbase.TableName) ([]Region, error) {
	pause := c.servers.backoff("looking up the regions")
	for {
		limited, cancel := c.limit(ctx)
		regions, err := c.regions(limited, id)
		cancel()
		if err == nil || errors.Is(err, ErrRefused) || errors.Is(err, ErrNotFound) || !pause.wait(ctx) {
			return regions, err
		}
	}
}

// checkChain checks that every row is in one region.
//
// hbase:meta is read row by row, not at one moment, so during a split the answer may have both parent and daughters, or
// neither. With such regions a file would be sent to the wrong one, or a cut would miss a boundary.
func checkChain(regions []Region) error {
	if len(regions) == 0 {
		return fmt.Errorf("hbase:meta has no regions: %w", errInTransition)
	}
	slices.SortFunc(regions, func(a, b Region) int { return bytes.Compare(a.Start, b.Start) })
	var breaks []string
	if first := &regions[0]; len(first.Start) > 0 {
		breaks = append(breaks, fmt.Sprintf("no region below %s", first))
	}
	for i := 1; i < len(regions); i++ {
		before, r := &regions[i-1], &regions[i]
		switch order := bytes.Compare(before.End, r.Start); {
		case len(before.End) == 0 || order > 0:
			breaks = append(breaks, fmt.Sprintf("overlapping regions, %s and %s", before, r))
		case order < 0:
			breaks = append(breaks, fmt.Sprintf("a hole between %s and %s", before, r))
		}
	}
	if last := &regions[len(regions)-1]; len(last.End) > 0 {
		breaks = append(breaks, fmt.Sprintf("no region above %s", last))
	}
	if breaks == nil {
		return nil
	}
	return fmt.Errorf("hbase:meta has %s: %w", firstFew(breaks), errInTransition)
}

// maxBreaks is how many faults of a table's regions an error names.
const maxBreaks = 5

// firstFew names the first of many faults. failure.FirstFew does the same for names, but load must not import jobs.
func firstFew(faults []string) string {
	if len(faults) <= maxBreaks {
		return strings.Join(faults, ", ")
	}
	return fmt.Sprintf("%s and %d more such faults", strings.Join(faults[:maxBreaks], ", "), len(faults)-maxBreaks)
}
