package hbase

import (
	"context"
	"errors"
	"fmt"

	"bulkload/cell"
	"bulkload/internal/hbase/cellblock"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
)

// Get reads a row of a region. The cells are views of the answer. A row that does not exist has no cells.
func (c *Conn) Get(ctx context.Context, region []byte, get *pb.Get) ([]cell.Cell, error) {
	const method = "Get"
	reply, err := c.ask(ctx, method, &pb.GetRequest{Region: regionSpecifier(region), Get: get})
	if err != nil {
		return nil, err
	}
	cells, err := parseGet(reply)
	if err != nil {
		return nil, c.malformed(method, err)
	}
	return cells, nil
}

func parseGet(reply Reply) ([]cell.Cell, error) {
	var response pb.GetResponse
	if err := proto.Unmarshal(reply.Message, &response); err != nil {
		return nil, err
	}
	block := cellblock.NewReader(reply.Cells)
	cells, err := resultCells(response.GetResult(), &block)
	if err != nil {
		return nil, err
	}
	return cells, allRead(&block)
}

// resultCells are a result's cells: those inside it, or as many of the block's next ones as the result counts.
func resultCells(result *pb.Result, block *cellblock.Reader) ([]cell.Cell, error) {
	var cells []cell.Cell
	for _, m := range result.GetCell() {
		cells = append(cells, fromMessage(m))
	}
	for range result.GetAssociatedCellCount() {
		var c cell.Cell
		ok, err := block.Next(&c)
		if err == nil && !ok {
			err = errFewCells
		}
		if err != nil {
			return nil, err
		}
		cells = append(cells, c)
	}
	return cells, nil
}

var (
	errFewCells  = errors.New("the block has fewer cells than the message counts")
	errManyCells = errors.New("the block has more cells than the message counts")
)

func allRead(block *cellblock.Reader) error {
	if block.Left() > 0 {
		return errManyCells
	}
	return nil
}

// fromMessage reads a cell from a message. gohbase's CellType lacks HBase 2's DELETE_FAMILY_VERSION, so that type is 0
// here; in a block it is right.
func fromMessage(m *pb.Cell) cell.Cell {
	return cell.Cell{Row: m.GetRow(), Family: m.GetFamily(), Qualifier: m.GetQualifier(),
		Timestamp: int64(m.GetTimestamp()), Type: cell.KeyType(m.GetCellType()), Value: m.GetValue()}
}

// OpenScanner is a scanner's first request. rows bounds an answer's rows. It allows answers that end within a row, and
// asks for a heartbeat if the server finds nothing for a long time.
func OpenScanner(region []byte, scan *pb.Scan, rows uint32) *pb.ScanRequest {
	return &pb.ScanRequest{
		Region: regionSpecifier(region), Scan: scan, NumberOfRows: &rows, NextCallSeq: proto.Uint64(0),
		ClientHandlesPartials: proto.Bool(true), ClientHandlesHeartbeats: proto.Bool(true),
	}
}

// ScanOnce is a request for the first rows of a scan, in a single answer with whole rows.
func ScanOnce(region []byte, scan *pb.Scan, rows uint32) *pb.ScanRequest {
	return &pb.ScanRequest{Region: regionSpecifier(region), Scan: scan, NumberOfRows: &rows,
		CloseScanner: proto.Bool(true)}
}

// NextOf is a request to an open scanner. number counts the scanner's requests from 0. A server refuses a number out of
// order (OutOfOrderScannerNextException), so that the rows of a lost answer are not skipped.
func NextOf(scanner uint64, rows uint32, number uint64) *pb.ScanRequest {
	return &pb.ScanRequest{
		ScannerId: &scanner, NumberOfRows: &rows, NextCallSeq: &number,
		ClientHandlesPartials: proto.Bool(true), ClientHandlesHeartbeats: proto.Bool(true),
	}
}

// CloseOf is the request that closes a scanner.
func CloseOf(scanner uint64) *pb.ScanRequest {
	return &pb.ScanRequest{ScannerId: &scanner, NumberOfRows: proto.Uint32(0), CloseScanner: proto.Bool(true)}
}

// Scanned is the answer to a request of a scanner.
type Scanned struct {
	Scanner      uint64 // its id; 0 if the answer has none
	More         bool   // false: the scan has ended, whatever regions follow
	MoreInRegion bool   // false: the server has closed the scanner
	Partial      bool   // cells of the last row may follow in the next answer
	Bytes        int    // of the answer: its message and its cells

	cells    int // cells of the block that were not read yet
	block    cellblock.Reader
	messages []*pb.Result // from a server that sends no blocks
}

// ErrScannerClosed is the answer to a request to a scanner that the server has already closed: without rows, and
// without saying whether the region has more of them (RSRpcServices.scan, SCANNER_ALREADY_CLOSED).
var ErrScannerClosed = errors.New("the scanner is closed already")

// Scan sends a request of a scanner.
func (c *Conn) Scan(ctx context.Context, request *pb.ScanRequest) (*Scanned, error) {
	const method = "Scan"
	reply, err := c.ask(ctx, method, request)
	if err != nil {
		return nil, err
	}
	answer, err := parseScan(reply)
	switch {
	case errors.Is(err, ErrScannerClosed):
		return nil, c.connError(method, true, err)
	case err != nil:
		return nil, c.malformed(method, err)
	}
	return answer, nil
}

func parseScan(reply Reply) (*Scanned, error) {
	var response pb.ScanResponse
	if err := proto.Unmarshal(reply.Message, &response); err != nil {
		return nil, err
	}
	if response.MoreResultsInRegion == nil {
		return nil, ErrScannerClosed
	}
	s := &Scanned{
		Scanner:      response.GetScannerId(),
		More:         response.MoreResults == nil || response.GetMoreResults(),
		MoreInRegion: response.GetMoreResultsInRegion(),
		Bytes:        len(reply.Message) + len(reply.Cells),
		block:        cellblock.NewReader(reply.Cells),
		messages:     response.GetResults(),
	}
	for _, n := range response.GetCellsPerResult() {
		s.cells += int(n)
	}
	if s.cells > 0 && len(s.messages) > 0 {
		return nil, fmt.Errorf("%d cells in a block and %d results as messages", s.cells, len(s.messages))
	}
	if flags := response.GetPartialFlagPerResult(); len(flags) > 0 {
		s.Partial = flags[len(flags)-1]
	} else if n := len(s.messages); n > 0 {
		s.Partial = s.messages[n-1].GetPartial()
	}
	return s, nil
}

// Next reads the answer's next cell, as views of it; at the end it does not change c. Its error is ErrMalformed.
func (s *Scanned) Next(c *cell.Cell) (bool, error) {
	if s.cells == 0 {
		return s.nextMessage(c)
	}
	ok, err := s.block.Next(c)
	if !ok {
		if err == nil {
			err = errFewCells
		}
		return false, fmt.Errorf("%w: scan: %w", ErrMalformed, err)
	}
	s.cells--
	return true, nil
}

func (s *Scanned) nextMessage(c *cell.Cell) (bool, error) {
	if err := allRead(&s.block); err != nil {
		return false, fmt.Errorf("%w: scan: %w", ErrMalformed, err)
	}
	for len(s.messages) > 0 {
		if cells := s.messages[0].Cell; len(cells) > 0 {
			*c, s.messages[0].Cell = fromMessage(cells[0]), cells[1:]
			return true, nil
		}
		s.messages = s.messages[1:]
	}
	return false, nil
}
