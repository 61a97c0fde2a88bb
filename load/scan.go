package load

import (
	"bytes"
	"cmp"
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

// Range says which cells of a table are visited, and how.
type Range struct {
	Start, End []byte   // the rows from Start (empty: the first) to before End (empty: the last)
	Reversed   bool     // the rows in descending order; the cells of a row are always in ascending order
	Families   []string // nil: all
	From, To   int64    // cells with timestamps from From to before To, in epoch milliseconds; both 0: all
	Cache      bool     // the servers keep in their block caches what they read
	Rows       uint32   // in one answer, at most; 0: hbase.client.scanner.caching
	Bytes      uint64   // in one answer, about; 0, or more than that: hbase.client.scanner.max.result.size
}

// Scan visits the newest version of each of a range's cells, row by row, each once. The cells are valid during the call
// only. An error of visit ends the scan and is returned.
//
// The scan continues when regions move, split or merge, and when a server dies: after its first answer it waits for the
// next one as long as the recovery from a region server's death may take. Whether the table is enabled is asked only
// when a region does not answer, which saves short scans a call.
func (c *Cluster) Scan(ctx context.Context, table string, r Range, visit func(*cell.Cell) error) error {
	return c.scan(ctx, table, r, false, visit)
}

// ScanRange is Scan for the rows from start to before end. Like ScanTimestamp and ScanSince, it first asks whether the
// table is enabled.
func (c *Cluster) ScanRange(ctx context.Context, table string, start, end []byte, visit func(*cell.Cell) error) error {
	return c.scan(ctx, table, Range{Start: start, End: end}, true, visit)
}

// ScanTimestamp is ScanRange for the cells with one timestamp, in epoch milliseconds, in some families (nil: all).
// HBase skips files without such cells.
func (c *Cluster) ScanTimestamp(ctx context.Context, table string, families []string, start, end []byte,
	timestamp int64, visit func(*cell.Cell) error) error {
	return c.scan(ctx, table,
		Range{Start: start, End: end, Families: families, From: timestamp, To: timestamp + 1}, true, visit)
}

// ScanSince is ScanTimestamp for the newest version of each cell, if it has this timestamp or a later one.
func (c *Cluster) ScanSince(ctx context.Context, table string, families []string, start, end []byte, timestamp int64,
	visit func(*cell.Cell) error) error {
	return c.scan(ctx, table,
		Range{Start: start, End: end, Families: families, From: timestamp, To: math.MaxInt64}, true, visit)
}

// scan is Scan, which with ask first asks whether the table is enabled.
func (c *Cluster) scan(ctx context.Context, table string, r Range, ask bool, visit func(*cell.Cell) error) error {
	id, err := parseName(table)
	if err == nil && ask {
		err = c.usable(ctx, id)
	}
	if err == nil {
		s := scan{Range: r, reader: c.reader, table: id.String(),
			usable: func(ctx context.Context) error { return c.usable(ctx, id) }}
		for _, f := range r.Families {
			s.columns = append(s.columns, &pb.Column{Family: []byte(f)})
		}
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
// Invariant: next and within say which cells were visited, and last is the last of them. A lost scanner is opened again
// at the row next, and alreadyVisited skips the cells that come again. So each cell is visited exactly once, however
// often the scanner is lost.
type scan struct {
	Range
	reader  *reader
	table   string
	columns []*pb.Column                // nil: all
	usable  func(context.Context) error // see retries

	next   []byte    // the row to continue with; of a reversed scan, unless within, the one before which it continues
	within bool      // the next row's cells up to last have been visited
	last   cell.Cell // the last one visited
}

// run visits all cells.
func (s *scan) run(ctx context.Context, visit func(*cell.Cell) error) error {
	tries := s.reader.newTries()
	tries.usable = s.usable
	if s.next = s.Start; s.Reversed {
		s.next = s.End
	}
	for !s.finished() {
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
	return nil
}

// finished reports that no rows are left. HBase takes a scan that stops where it starts for one of that row.
func (s *scan) finished() bool {
	end := s.End
	if s.Reversed {
		end = s.Start
	}
	return !s.within && len(s.next) > 0 && bytes.Equal(s.next, end)
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
			o.ask(ctx, tries, hbase.NextOf(o.id, s.rows(), o.number))
		}
		past, err := s.visit(answer, tries, visit)
		if past || err != nil {
			o.abandon()
			return past, err
		}
		if !more {
			return s.nextRegion(region, answer.More), nil
		}
	}
}

// rows is how many rows one answer may have.
func (s *scan) rows() uint32 { return cmp.Or(s.Rows, s.reader.limits.scanRows) }

// connect finds the server of the region to continue with.
func (s *scan) connect(ctx context.Context, tries *retries) (*Region, *hbase.Conn, error) {
	limited, cancel := tries.limit(ctx, s.reader.limits.idle)
	defer cancel()
	region, err := s.reader.locate(limited, s.table, s.next, s.Reversed && !s.within)
	if err != nil {
		return nil, nil, err
	}
	conn, err := s.reader.servers.region(limited, region.Server)
	s.reader.invalidate(s.table, region, conn, err)
	return region, conn, err
}

// opening is the request that opens a scanner for the rest of the region.
//
// A reversed scan, too, includes the row where it starts and excludes the one where it stops. HBase 2 has an option for
// that, HBase 1 does not. So it starts at the row before which it continues, whose cells are skipped, and stops below
// the range's first row.
func (s *scan) opening(region *Region) *pb.ScanRequest {
	size := s.reader.limits.scanBytes
	if s.Bytes > 0 {
		size = min(size, s.Bytes)
	}
	m := &pb.Scan{StartRow: s.next, StopRow: s.End, Column: s.columns, CacheBlocks: &s.Cache, MaxResultSize: &size}
	if s.Reversed {
		m.StopRow, m.Reversed = below(s.Start), &s.Reversed
	}
	if s.To > 0 {
		m.TimeRange = &pb.TimeRange{From: proto.Uint64(uint64(s.From)), To: proto.Uint64(uint64(s.To))}
	}
	return hbase.OpenScanner(region.Name, m, s.rows())
}

// below is a row less than the given one, with hardly any between them, if at all; nil: none is less.
func below(row []byte) []byte {
	last := len(row) - 1
	switch {
	case last < 0:
		return nil
	case row[last] == 0:
		return row[:last] // none is between them
	}
	return append(append(bytes.Clone(row[:last]), row[last]-1), bytes.Repeat([]byte{0xff}, 9)...) // as HBase's clients do
}

// visit passes on an answer's cells, except those that were visited before, and records where to continue. past reports
// that a reversed scan came to a row before its range.
func (s *scan) visit(answer *hbase.Scanned, tries *retries, visit func(*cell.Cell) error) (past bool, err error) {
	var c cell.Cell
	again := s.within || s.Reversed // the next row's cells may come again
	for {
		ok, err := answer.Next(&c)
		switch {
		case err != nil:
			return false, err
		case !ok:
			if c.Row != nil {
				s.visited(&c, answer.Partial)
				tries.progressed()
			}
			return false, nil
		case again && s.alreadyVisited(&c):
			c.Row = nil
			continue
		case s.Reversed && bytes.Compare(c.Row, s.Start) < 0:
			return true, nil
		}
		again = false
		var lent poison.Lent
		err = visit(lent.Cell(&c))
		lent.End()
		if err != nil {
			return false, visitError{err}
		}
	}
}

// alreadyVisited reports whether a cell of the next row was visited before. Between two rows, a reversed scan has
// visited that whole row, or its range ends before it.
//
// Family and qualifier are enough, because a scan returns only the newest version of each column. If a newer one has
// been put since, it is skipped as well, and the column is visited once.
func (s *scan) alreadyVisited(c *cell.Cell) bool {
	return bytes.Equal(c.Row, s.next) && (!s.within || compareColumns(c, &s.last) <= 0)
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
	if !partial && !s.Reversed {
		s.next = append(bytes.Clone(c.Row), 0)
	}
}

// nextRegion continues with the region after this one, or if reversed before it, if there is one.
func (s *scan) nextRegion(region *Region, more bool) (done bool) {
	s.next, s.within = region.End, false
	if s.Reversed {
		s.next = region.Start
		return !more || bytes.Compare(s.next, s.Start) <= 0
	}
	return !more || len(s.next) == 0 || len(s.End) > 0 && bytes.Compare(s.next, s.End) >= 0
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
