package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"bulkload/cell"

	"github.com/tsuna/gohbase/hrpc"
	"github.com/tsuna/gohbase/pb"
	"github.com/tsuna/gohbase/region"
	"google.golang.org/protobuf/proto"
)

// ScanRange visits the newest version of the cells of all rows from start (nil: the first) to before end (nil: the
// last), in order. The cells are valid during the call only. An error of visit ends the scan and is returned.
func (c *Cluster) ScanRange(ctx context.Context, table string, start, end []byte, visit func(*cell.Cell) error) error {
	id, err := parseName(table)
	if err != nil {
		return fmt.Errorf("scan table %s: %w", table, err)
	}
	if err := c.usable(ctx, id); err != nil {
		return fmt.Errorf("scan table %s: %w", table, classify(ctx, err))
	}
	s := scan{reader: c.reader, table: id.String(), start: start, stop: end}
	var current cell.Cell
	var visited error
	err = s.run(ctx, func(from *pb.Cell) error {
		current = cell.Cell{
			Row: from.Row, Family: from.Family, Qualifier: from.Qualifier,
			Timestamp: int64(from.GetTimestamp()), Type: cell.Type(from.GetCellType()), Value: from.Value,
		}
		visited = visit(&current)
		return visited
	})
	switch {
	case visited != nil:
		return visited
	case err != nil:
		return fmt.Errorf("scan table %s: %w", table, classify(ctx, err))
	}
	return nil
}

// scan is one walk over a range of rows, region by region.
//
// gohbase's own Scanner sends a request whose answer got lost once more, and the region server then answers with the
// rows behind the lost ones. Here every request carries its number (next_call_seq), so that the server refuses that,
// and the walk begins again behind the last cell that was visited.
type scan struct {
	reader   *reader
	table    string
	start    []byte
	stop     []byte
	families map[string][]string

	last *pb.Cell // the last one visited
}

// maxRestarts bounds the restarts of a scan that gets no further.
const maxRestarts = 5

// run visits all cells. Their bytes are valid as long as they are held.
func (s *scan) run(ctx context.Context, visit func(*pb.Cell) error) error {
	for restarts := 0; ; restarts++ {
		before := s.last
		err := s.walk(ctx, visit)
		if err == nil || !isBrokenScanner(err) {
			return err
		}
		if s.last != before {
			restarts = 0
		}
		if restarts == maxRestarts {
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		select {
		case <-time.After(firstWait << restarts):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// isBrokenScanner tells whether beginning again helps: the scanner's lease ran out, its region moved, or an answer was
// lost. gohbase gives exceptions as text.
func isBrokenScanner(err error) bool {
	var noRegion region.NotServingRegionError
	var server region.ServerError
	var again region.RetryableError
	if errors.As(err, &noRegion) || errors.As(err, &server) || errors.As(err, &again) {
		return true
	}
	text := err.Error()
	for _, class := range []string{"UnknownScannerException", "OutOfOrderScannerNextException", "ScannerResetException", "LeaseException"} {
		if strings.Contains(text, class) {
			return true
		}
	}
	return false
}

// walk scans from the last visited cell, or the start, to the stop row.
func (s *scan) walk(ctx context.Context, visit func(*pb.Cell) error) error {
	row := s.start
	if s.last != nil {
		row = s.last.Row
	}
	for {
		end, err := s.region(ctx, row, visit)
		if err != nil {
			return err
		}
		if len(end) == 0 || len(s.stop) > 0 && bytes.Compare(end, s.stop) >= 0 {
			return nil
		}
		row = end
	}
}

// region scans what is in the region that holds a row and returns the region's end.
func (s *scan) region(ctx context.Context, row []byte, visit func(*pb.Cell) error) (end []byte, err error) {
	scanner := uint64(math.MaxUint64) // gohbase's "none yet"
	for number := uint64(0); ; number++ {
		call, err := s.call(ctx, row, scanner, number)
		if err != nil {
			return nil, err
		}
		message, err := s.reader.send(ctx, call)
		if err != nil {
			return nil, err
		}
		answer, ok := message.(*pb.ScanResponse)
		if !ok {
			return nil, fmt.Errorf("answer to a scan is a %T", message)
		}
		if answer.ScannerId != nil {
			scanner = answer.GetScannerId()
		}
		err = s.visit(answer, visit)
		switch {
		case err != nil:
			s.close(row, scanner)
			return nil, err
		case answer.MoreResults != nil && !answer.GetMoreResults():
			return nil, nil
		case !answer.GetMoreResultsInRegion():
			return call.Region().StopKey(), nil
		}
	}
}

// visit passes on the cells of an answer but those that were visited before a restart.
func (s *scan) visit(answer *pb.ScanResponse, visit func(*pb.Cell) error) error {
	for _, result := range answer.GetResults() {
		for _, cell := range result.GetCell() {
			if s.last != nil && compareColumns(cell, s.last) <= 0 && bytes.Equal(cell.Row, s.last.Row) {
				continue
			}
			s.last = cell
			if err := visit(cell); err != nil {
				return err
			}
		}
	}
	return nil
}

func compareColumns(a, b *pb.Cell) int {
	if order := bytes.Compare(a.Family, b.Family); order != 0 {
		return order
	}
	return bytes.Compare(a.Qualifier, b.Qualifier)
}

// call is the request that opens a scanner in the region of a row, or the next one to an open scanner.
func (s *scan) call(ctx context.Context, row []byte, scanner, number uint64) (*numberedScan, error) {
	options := []func(hrpc.Call) error{
		hrpc.NumberOfRows(s.reader.limits.scanRows),
		hrpc.MaxResultSize(s.reader.limits.scanBytes),
		hrpc.ScannerID(scanner),
	}
	if s.families != nil {
		options = append(options, hrpc.Families(s.families))
	}
	request, err := hrpc.NewScanRange(ctx, []byte(s.table), row, s.stop, options...)
	return &numberedScan{Scan: request, number: number}, err
}

// close tells the region server that a scanner is done with. Otherwise its lease would run out there.
func (s *scan) close(row []byte, scanner uint64) {
	if scanner == math.MaxUint64 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	request, err := hrpc.NewScanRange(ctx, []byte(s.table), row, nil,
		hrpc.ScannerID(scanner), hrpc.CloseScanner(), hrpc.NumberOfRows(0))
	if err == nil {
		_, _ = s.reader.send(ctx, request)
	}
}

// numberedScan is a scan request with a next_call_seq, which gohbase does not set.
type numberedScan struct {
	*hrpc.Scan
	number uint64
}

// ToProto is the request message.
func (s *numberedScan) ToProto() proto.Message {
	request := s.Scan.ToProto().(*pb.ScanRequest)
	request.NextCallSeq = proto.Uint64(s.number)
	return request
}
