package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"bulkload/cell"
	"bulkload/internal/hbase"
	"bulkload/internal/poison"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
)

// ReadReplica makes the scans that begin after it read a replica of each region, 1 to Replicas-1, instead of the region
// itself (0). A replica shows the files that it knew when it last looked for them.
func (c *Cluster) ReadReplica(replica int) { c.reader.replica = replica }

// ScanRange visits the newest version of the cells of all rows from start (nil: the first) to before end (nil: the
// last), in order, each once. The cells are valid during the call only. An error of visit ends the scan and is
// returned.
//
// The scan continues when regions move, split or merge, and when a server dies: after its first answer it waits for the
// next one as long as the recovery from a region server's death may take.
func (c *Cluster) ScanRange(ctx context.Context, table string, start, end []byte, visit func(*cell.Cell) error) error {
	return c.scanCells(ctx, table, scan{next: start, stop: end}, nil, visit)
}

// ScanTimestamp is ScanRange for the cells with one timestamp, in epoch milliseconds, in some families (nil: all).
// HBase skips files without such cells.
func (c *Cluster) ScanTimestamp(ctx context.Context, table string, families []string, start, end []byte,
	timestamp int64, visit func(*cell.Cell) error) error {
	return c.scanCells(ctx, table, scan{next: start, stop: end, from: timestamp, before: timestamp + 1}, families, visit)
}

// ScanSince is ScanTimestamp for the newest version of each cell, if it has this timestamp or a later one.
func (c *Cluster) ScanSince(ctx context.Context, table string, families []string, start, end []byte, timestamp int64,
	visit func(*cell.Cell) error) error {
	return c.scanCells(ctx, table, scan{next: start, stop: end, from: timestamp, before: math.MaxInt64}, families, visit)
}

func (c *Cluster) scanCells(ctx context.Context, table string, s scan, families []string,
	visit func(*cell.Cell) error) error {
	for _, f := range families {
		s.columns = append(s.columns, &pb.Column{Family: []byte(f)})
	}
	id, err := parseName(table)
	if err == nil {
		err = c.usable(ctx, id)
	}
	if err == nil {
		s.reader, s.table = c.reader, id.String()
		s.usable = func(ctx context.Context) error { return c.usable(ctx, id) }
		err = s.run(ctx, visit)
	}
	var visited visitError
	switch {
	case errors.As(err, &visited):
		return visited.error
	case err != nil:
		return fmt.Errorf("scan table %s: %w", table, classify(ctx, err))
	}
	return nil
}

// visitError is an error returned by the scan's caller.
type visitError struct{ error }

// scan iterates over a range of rows, region by region.
//
// Invariant: last and within describe the last cell that was visited. A lost scanner is opened again at the row next,
// and alreadyVisited skips the cells of that row up to last. So each cell is visited exactly once, however often the
// scanner is lost.
type scan struct {
	reader  *reader
	table   string
	next    []byte // the row to continue with
	stop    []byte // empty: to the end
	columns []*pb.Column
	from    int64                       // the first timestamp of the wanted cells
	before  int64                       // the one after the last; 0: any timestamps
	usable  func(context.Context) error // see retries

	within bool      // the next row's cells up to last have been visited
	last   cell.Cell // the last one visited
}

// run visits all cells.
func (s *scan) run(ctx context.Context, visit func(*cell.Cell) error) error {
	tries := s.reader.newTries()
	tries.usable = s.usable
	for {
		done, err := s.region(ctx, tries, visit)
		if done || errors.As(err, &visitError{}) {
			return err
		}
		if err == nil {
			tries.progressed()
			continue
		}
		if again := tries.wait(ctx, err); again != nil {
			return again
		}
	}
}

// region scans the region that holds the next row. done reports the end of the scan.
func (s *scan) region(ctx context.Context, tries *retries, visit func(*cell.Cell) error) (done bool, err error) {
	region, conn, err := s.connect(ctx, tries)
	if err != nil {
		return false, err
	}
	o := &openScanner{scan: s, conn: conn}
	o.ask(ctx, tries, s.opening(region))
	for {
		answer, err := o.answer(ctx)
		if err != nil {
			s.reader.invalidate(s.table, region, conn, err)
			if remedyOf(err) == backOff {
				o.close() // it was refused, but is still open
			}
			return false, err
		}
		s.reader.rate.Wait(answer.Bytes)
		tries.answered, tries.timeout = time.Now(), max(s.reader.limits.outage, s.reader.limits.idle)
		more := answer.More && answer.MoreInRegion
		if more { // the server reads ahead while these cells are visited
			o.ask(ctx, tries, hbase.NextOf(o.id, s.reader.limits.scanRows, o.number))
		}
		if err := s.visit(answer, tries, visit); err != nil {
			o.abandon()
			return false, err
		}
		if !more {
			return s.nextRegion(region, answer.More), nil
		}
	}
}

// connect finds the server of the next row's region.
func (s *scan) connect(ctx context.Context, tries *retries) (*Region, *hbase.Conn, error) {
	limited, cancel := tries.limit(ctx, s.reader.limits.idle)
	defer cancel()
	region, err := s.reader.locate(limited, s.table, s.next)
	if err != nil {
		return nil, nil, err
	}
	conn, err := s.reader.servers.region(limited, region.Server)
	s.reader.invalidate(s.table, region, conn, err)
	return region, conn, err
}

// opening is the request that opens a scanner for the rest of the region. hbase:meta is cached by the server; other
// rows, which are read once, are not.
func (s *scan) opening(region *Region) *pb.ScanRequest {
	m := &pb.Scan{StartRow: s.next, StopRow: s.stop, Column: s.columns, MaxResultSize: &s.reader.limits.scanBytes}
	if s.before > 0 {
		m.TimeRange = &pb.TimeRange{From: proto.Uint64(uint64(s.from)), To: proto.Uint64(uint64(s.before))}
	}
	if s.table != s.reader.limits.meta {
		m.CacheBlocks = proto.Bool(false)
	}
	return hbase.OpenScanner(region.Name, m, s.reader.limits.scanRows)
}

// visit passes on an answer's cells, except those visited before a scanner was lost, and records where to continue.
func (s *scan) visit(answer *hbase.Scanned, tries *retries, visit func(*cell.Cell) error) error {
	var c cell.Cell
	for {
		ok, err := answer.Next(&c)
		switch {
		case err != nil:
			return err
		case !ok:
			if c.Row != nil {
				s.visited(&c, answer.Partial)
				tries.progressed()
			}
			return nil
		case s.within && s.alreadyVisited(&c):
			c.Row = nil
			continue
		}
		s.within = false
		var lent poison.Lent
		err = visit(lent.Cell(&c))
		lent.End()
		if err != nil {
			return visitError{err}
		}
	}
}

// alreadyVisited reports whether a cell of the next row was visited before.
//
// Family and qualifier are enough, because a scan returns only the newest version of each column. If a newer one has
// been put since, it is skipped as well, and the column is visited once.
func (s *scan) alreadyVisited(c *cell.Cell) bool {
	return bytes.Equal(c.Row, s.last.Row) && compareColumns(c, &s.last) <= 0
}

func compareColumns(a, b *cell.Cell) int {
	if order := bytes.Compare(a.Family, b.Family); order != 0 {
		return order
	}
	return bytes.Compare(a.Qualifier, b.Qualifier)
}

// visited records the last cell of an answer: its row is complete, or continues in the next answer.
//
// It is called once for an answer, after all its cells were visited. If visit fails before, the scan ends.
func (s *scan) visited(c *cell.Cell, partial bool) {
	s.last, s.within = *c, partial
	s.next = c.Row
	if !partial {
		s.next = append(bytes.Clone(c.Row), 0)
	}
}

// nextRegion continues with the region after this one, if there is one.
func (s *scan) nextRegion(region *Region, more bool) (done bool) {
	if !more || len(region.End) == 0 || len(s.stop) > 0 && bytes.Compare(region.End, s.stop) >= 0 {
		return true
	}
	s.next, s.within = region.End, false
	return false
}

// openScanner is a scanner that a region server holds for us. Its requests are numbered. At most one is in flight.
type openScanner struct {
	scan   *scan
	conn   *hbase.Conn
	id     uint64 // 0: none yet
	number uint64 // of the next request
	ahead  chan scanned
}

type scanned struct {
	*hbase.Scanned
	err error
}

// ask sends the next request. It outlasts ctx, so that the scanner can be closed.
func (o *openScanner) ask(ctx context.Context, tries *retries, request *pb.ScanRequest) {
	limited, cancel := tries.limit(context.WithoutCancel(ctx), o.scan.reader.limits.idle)
	ahead := make(chan scanned, 1)
	o.ahead = ahead
	o.number++
	go func() {
		defer cancel()
		answer, err := o.conn.Scan(limited, request)
		ahead <- scanned{answer, err}
	}()
}

// answer waits for the request's answer, or for the end of ctx.
func (o *openScanner) answer(ctx context.Context) (*hbase.Scanned, error) {
	select {
	case got := <-o.ahead:
		o.ahead = nil
		if got.err == nil && got.Scanner != 0 {
			o.id = got.Scanner
		}
		return got.Scanned, got.err
	case <-ctx.Done():
		o.abandon()
		return nil, ctx.Err()
	}
}

// abandon closes the scanner as soon as the request in flight is answered, without waiting. Otherwise its lease would
// have to expire at the server.
func (o *openScanner) abandon() {
	if o.ahead == nil {
		return // the server has closed it
	}
	o.scan.reader.closing.Add(1)
	go func() {
		defer o.scan.reader.closing.Add(-1)
		got := <-o.ahead
		if got.err != nil || !got.More || !got.MoreInRegion {
			return
		}
		if got.Scanner != 0 {
			o.id = got.Scanner
		}
		o.tellServer()
	}()
}

// close closes the scanner while no request is in flight, without waiting.
func (o *openScanner) close() {
	if o.id == 0 {
		return
	}
	o.scan.reader.closing.Add(1)
	go func() {
		defer o.scan.reader.closing.Add(-1)
		o.tellServer()
	}()
}

func (o *openScanner) tellServer() {
	ctx, cancel := context.WithTimeout(context.Background(), o.scan.reader.limits.call)
	defer cancel()
	_, _ = o.conn.Scan(ctx, hbase.CloseOf(o.id))
}
