package hbase

import (
	"context"
	"errors"
	"fmt"
	"math"

	"bulkload/cell"
	"bulkload/internal/hbase/cellblock"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
)

// RawGet reads cells of one row and family as they are stored: a raw read also returns delete markers, and cells that
// are hidden from other readers by a TTL, a delete marker or a version limit.
type RawGet struct {
	Row       []byte
	Family    string
	Qualifier []byte // nil: every column of the family; empty: the column without a name, where family markers are
	From, To  int64  // timestamps from From to before To
	// Markers also reads the column without a name, where the family's delete markers are.
	Markers  bool
	Limit    int  // the largest number of cells to return; 0: all
	KeysOnly bool // values are omitted; only with a Qualifier
}

// RegionGets are reads of one region.
type RegionGets struct {
	Region []byte // its name
	Gets   []RawGet
}

// GetAnswer is the answer to one read: cells, or a *RemoteError.
type GetAnswer struct {
	Cells []cell.Cell
	Err   error
}

// rawAttribute is Scan.RAW_ATTR. The region server copies a Get's attributes to the Scan that it makes from it.
const rawAttribute = "_raw_"

// The classes of the filters. ColumnRangeFilter reads one column without reading the others of its row.
const (
	columnRangeFilter = "org.apache.hadoop.hbase.filter.ColumnRangeFilter"
	keyOnlyFilter     = "org.apache.hadoop.hbase.filter.KeyOnlyFilter"
	filterList        = "org.apache.hadoop.hbase.filter.FilterList"
)

// MultiGet makes many reads in one call: Client.proto's MultiRequest. There is one list of answers for each element of
// regions, in its order, and one answer for each of its reads. If the server does not serve a region, the answer to
// each of that region's reads is the exception.
func (c *Conn) MultiGet(ctx context.Context, regions []RegionGets) ([][]GetAnswer, error) {
	return c.multi(ctx, len(regions), func(i int) (*pb.RegionAction, error) { return regions[i].action() })
}

// multi makes one call with an action for each of n regions, and returns the answers to their reads.
func (c *Conn) multi(ctx context.Context, n int,
	action func(region int) (*pb.RegionAction, error)) ([][]GetAnswer, error) {
	request := &pb.MultiRequest{RegionAction: make([]*pb.RegionAction, n)}
	for i := range n {
		var err error
		if request.RegionAction[i], err = action(i); err != nil {
			return nil, c.connError("Multi", false, err)
		}
	}
	reply, err := c.ask(ctx, "Multi", request)
	if err != nil {
		return nil, err
	}
	answers, err := parseMulti(reply, request)
	if err != nil {
		return nil, c.malformed("Multi", err)
	}
	for _, region := range answers {
		for i := range region {
			region[i].Err = c.named("Multi", region[i].Err)
		}
	}
	return answers, nil
}

// parseMulti reads a MultiResponse, which must have an answer for each of the reads of each region. The cells are in
// the results, or in the block, in the order of the results.
func parseMulti(reply Reply, request *pb.MultiRequest) ([][]GetAnswer, error) {
	var response pb.MultiResponse
	if err := proto.Unmarshal(reply.Message, &response); err != nil {
		return nil, err
	}
	if n := len(response.RegionActionResult); n != len(request.RegionAction) {
		return nil, fmt.Errorf("%d results for %d regions", n, len(request.RegionAction))
	}
	block := cellblock.NewReader(reply.Cells)
	answers := make([][]GetAnswer, len(request.RegionAction))
	for i, result := range response.RegionActionResult {
		var err error
		if answers[i], err = regionAnswers(result, len(request.RegionAction[i].Action), &block); err != nil {
			return nil, err
		}
	}
	return answers, allRead(&block)
}

func (r *RegionGets) action() (*pb.RegionAction, error) {
	action := &pb.RegionAction{Region: regionSpecifier(r.Region)}
	for i := range r.Gets {
		get, err := r.Gets[i].message()
		if err != nil {
			return nil, err
		}
		action.Action = append(action.Action, &pb.Action{Index: proto.Uint32(uint32(i)), Get: get})
	}
	return action, nil
}

func (g *RawGet) message() (*pb.Get, error) {
	get := &pb.Get{
		Row:         g.Row,
		Column:      []*pb.Column{{Family: []byte(g.Family)}},
		Attribute:   []*pb.NameBytesPair{{Name: proto.String(rawAttribute), Value: []byte{0xff}}}, // Bytes.toBytes(true)
		TimeRange:   &pb.TimeRange{From: proto.Uint64(uint64(g.From)), To: proto.Uint64(uint64(g.To))},
		MaxVersions: proto.Uint32(math.MaxInt32),
		CacheBlocks: proto.Bool(false),
	}
	if g.Limit > 0 {
		get.StoreLimit = proto.Uint32(uint32(g.Limit))
	}
	if g.Qualifier == nil {
		return get, nil
	}
	column, err := columnFilter(g.Qualifier)
	if g.Markers && len(g.Qualifier) > 0 { // also the column without a name
		markers, failed := columnFilter([]byte{})
		if err = errors.Join(err, failed); err == nil {
			column, err = newFilter(filterList, &pb.FilterList{Operator: pb.FilterList_MUST_PASS_ONE.Enum(),
				Filters: []*pb.Filter{markers, column}})
		}
	}
	if g.KeysOnly {
		keys, failed := newFilter(keyOnlyFilter, &pb.KeyOnlyFilter{LenAsVal: proto.Bool(false)})
		if err = errors.Join(err, failed); err == nil {
			column, err = newFilter(filterList, &pb.FilterList{Operator: pb.FilterList_MUST_PASS_ALL.Enum(),
				Filters: []*pb.Filter{column, keys}})
		}
	}
	get.Filter = column
	return get, err
}

// columnFilter passes the cells of one column.
func columnFilter(qualifier []byte) (*pb.Filter, error) {
	return newFilter(columnRangeFilter, &pb.ColumnRangeFilter{MinColumn: qualifier, MinColumnInclusive: proto.Bool(true),
		MaxColumn: qualifier, MaxColumnInclusive: proto.Bool(true)})
}

func newFilter(class string, m proto.Message) (*pb.Filter, error) {
	b, err := proto.Marshal(m)
	return &pb.Filter{Name: proto.String(class), SerializedFilter: b}, err
}

// regionAnswers reads a RegionActionResult with an answer for each of n reads.
func regionAnswers(result *pb.RegionActionResult, n int, block *cellblock.Reader) ([]GetAnswer, error) {
	answers := make([]GetAnswer, n)
	if e := result.GetException(); e != nil {
		for i := range answers {
			answers[i].Err = multiException(e)
		}
		return answers, nil
	}
	if len(result.ResultOrException) != n {
		return nil, fmt.Errorf("%d results for %d reads", len(result.ResultOrException), n)
	}
	answered := make([]bool, n)
	for _, r := range result.ResultOrException {
		i := int(r.GetIndex())
		if i >= n || answered[i] {
			return nil, fmt.Errorf("a result for read %d of %d, which there is not or which has one", i, n)
		}
		answered[i] = true
		if e := r.GetException(); e != nil {
			answers[i].Err = multiException(e)
			continue
		}
		if r.GetResult() == nil {
			return nil, errors.New("a read without a result")
		}
		var err error
		if answers[i].Cells, err = resultCells(r.GetResult(), block); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// multiException reads an exception of a MultiResponse: the class and the stack trace.
func multiException(e *pb.NameBytesPair) *RemoteError {
	return &RemoteError{Class: e.GetName(), Message: firstLine(string(e.GetValue()), e.GetName())}
}
