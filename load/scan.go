package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"bulkload/cell"
	"bulkload/internal/hbase"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
)

// ScanRange visits the newest version of the cells of all rows from start (nil: the first) to before end (nil: the
// last), in order, each once. The cells are valid during the call only. An error of visit ends the scan and is returned.
//
// The scan goes on where regions move, split or merge, and where a server dies: once it has had an answer it waits as long
// for the next one as a region server's death may last.
func (c *Cluster) ScanRange(ctx context.Context, table string, start, end []byte, visit func(*cell.Cell) error) error {
	return c.scanCells(ctx, table, scan{next: start, stop: end}, visit)
}

// ScanTimestamp is ScanRange for the cells with one timestamp, in epoch milliseconds. HBase does not read files that have
// none of them.
func (c *Cluster) ScanTimestamp(ctx context.Context, table string, start, end []byte, timestamp int64, visit func(*cell.Cell) error) error {
	return c.scanCells(ctx, table, scan{next: start, stop: end, timestamp: timestamp}, visit)
}

func (c *Cluster) scanCells(ctx context.Context, table string, s scan, visit func(*cell.Cell) error) error {
	id, err := parseName(table)
	if err == nil {
		err = c.usable(ctx, id)
	}
	if err == nil {
		s.reader, s.table = c.reader, id.String()
		s.check = func(ctx context.Context) error { return c.usable(ctx, id) }
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

// visitError is an error of the scan's user.
type visitError struct{ error }

// scan is one walk over a range of rows, region by region.
type scan struct {
	reader    *reader
	table     string
	next      []byte // the row to go on with
	stop      []byte // empty: to the end
	columns   []*pb.Column
	timestamp int64                       // of the wanted cells; 0: any
	check     func(context.Context) error // whether the table is still there; nil: not asked

	within bool      // the next row's cells up to last were visited
	last   cell.Cell // the last one visited
}

// run visits all cells.
func (s *scan) run(ctx context.Context, visit func(*cell.Cell) error) error {
	tries := s.reader.newTries()
	for {
		done, err := s.region(ctx, tries, visit)
		if done || errors.As(err, &visitError{}) {
			return err
		}
		if err == nil {
			tries.gotFurther()
			continue
		}
		if again := tries.again(ctx, err); again != nil {
			return again
		}
		if s.check != nil && remedyOf(err) == lookAgain {
			if gone := s.check(ctx); errors.Is(gone, ErrRefused) || errors.Is(gone, ErrNotFound) {
				return gone
			}
		}
	}
}

// region scans what is in the region that holds the next row. done says that the scan is at its end.
func (s *scan) region(ctx context.Context, tries *tries, visit func(*cell.Cell) error) (done bool, err error) {
	region, conn, err := s.connect(ctx, tries)
	if err != nil {
		return false, err
	}
	o := &openScanner{scan: s, conn: conn}
	o.ask(ctx, tries, s.opening(region))
	for {
		answer, err := o.answer(ctx)
		if err != nil {
			s.reader.learn(s.table, region, conn, err)
			if remedyOf(err) == waitThere {
				o.close() // it was refused, and is open still
			}
			return false, err
		}
		tries.answered, tries.patience = time.Now(), max(s.reader.limits.outage, s.reader.limits.idle)
		more := answer.More && answer.MoreInRegion
		if more { // the server reads on while these cells are visited
			o.ask(ctx, tries, hbase.NextOf(o.id, s.reader.limits.scanRows, o.number))
		}
		if err := s.visit(answer, tries, visit); err != nil {
			o.giveUp()
			return false, err
		}
		if !more {
			return s.leave(region, answer.More), nil
		}
	}
}

// connect finds the server of the next row's region.
func (s *scan) connect(ctx context.Context, tries *tries) (*Region, *hbase.Conn, error) {
	limited, cancel := tries.limit(ctx, s.reader.limits.idle)
	defer cancel()
	region, err := s.reader.locate(limited, s.table, s.next)
	if err != nil {
		return nil, nil, err
	}
	conn, err := s.reader.servers.region(limited, region.Server)
	s.reader.learn(s.table, region, conn, err)
	return region, conn, err
}

// opening is the request that opens a scanner for the rest of the region. What is read once is not worth the servers'
// caches, but hbase:meta is.
func (s *scan) opening(region *Region) *pb.ScanRequest {
	m := &pb.Scan{StartRow: s.next, StopRow: s.stop, Column: s.columns, MaxResultSize: &s.reader.limits.scanBytes}
	if s.timestamp > 0 {
		m.TimeRange = &pb.TimeRange{From: proto.Uint64(uint64(s.timestamp)), To: proto.Uint64(uint64(s.timestamp) + 1)}
	}
	if s.table != metaTable {
		m.CacheBlocks = proto.Bool(false)
	}
	return hbase.OpenScanner(region.Name, m, s.reader.limits.scanRows)
}

// visit passes on an answer's cells, but those that were visited before a scanner was lost, and notes where to go on.
func (s *scan) visit(answer *hbase.Scanned, tries *tries, visit func(*cell.Cell) error) error {
	var c cell.Cell
	for {
		ok, err := answer.Next(&c)
		switch {
		case err != nil:
			return err
		case !ok:
			if c.Row != nil {
				s.visited(&c, answer.Partial)
				tries.gotFurther()
			}
			return nil
		case s.within && s.had(&c):
			c.Row = nil
			continue
		}
		s.within = false
		if err := visit(&c); err != nil {
			return visitError{err}
		}
	}
}

// had tells whether a cell of the next row was visited already.
func (s *scan) had(c *cell.Cell) bool {
	return bytes.Equal(c.Row, s.last.Row) && compareColumns(c, &s.last) <= 0
}

func compareColumns(a, b *cell.Cell) int {
	if order := bytes.Compare(a.Family, b.Family); order != 0 {
		return order
	}
	return bytes.Compare(a.Qualifier, b.Qualifier)
}

// visited notes the last cell of an answer: its row is whole, or goes on in the next answer.
func (s *scan) visited(c *cell.Cell, partial bool) {
	s.last, s.within = *c, partial
	s.next = c.Row
	if !partial {
		s.next = append(bytes.Clone(c.Row), 0)
	}
}

// leave goes on with the region after this one, if there is one.
func (s *scan) leave(region *Region, more bool) (done bool) {
	if !more || len(region.End) == 0 || len(s.stop) > 0 && bytes.Compare(region.End, s.stop) >= 0 {
		return true
	}
	s.next, s.within = region.End, false
	return false
}

// openScanner is a scanner that a region server has for us. Its requests are numbered. One is under way at most.
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

// ask makes the next request. It outlasts ctx, so that the scanner can be closed.
func (o *openScanner) ask(ctx context.Context, tries *tries, request *pb.ScanRequest) {
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
		o.giveUp()
		return nil, ctx.Err()
	}
}

// giveUp closes the scanner as soon as the request under way is answered; nobody waits for that. Else its lease would
// have to run out at the server.
func (o *openScanner) giveUp() {
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

// close closes the scanner while no request is under way; nobody waits for that.
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
