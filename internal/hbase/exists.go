package hbase

import (
	"context"
	"errors"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
)

// ExistsGet asks whether a reader finds a row with any of some columns: cells that are deleted or expired don't count.
type ExistsGet struct {
	Row      []byte
	Columns  []FamilyColumns
	From, To int64 // timestamps from From to before To; both 0: any
}

// FamilyColumns are columns of a family; nil Qualifiers mean all of them.
type FamilyColumns struct {
	Family     []byte
	Qualifiers [][]byte
}

// RegionExists are such questions to one region.
type RegionExists struct {
	Region []byte // its name
	Gets   []ExistsGet
}

// ExistsAnswer is the answer to one question: whether there is a cell, or a *RemoteError.
type ExistsAnswer struct {
	Exists bool
	Err    error
}

// firstKeyOnlyFilter passes a row's first cell.
const firstKeyOnlyFilter = "org.apache.hadoop.hbase.filter.FirstKeyOnlyFilter"

// MultiExists asks many questions in one call, as MultiGet does. A region server skips the store files whose row bloom
// filter does not have a row, and returns at most the key of one cell. existence_only is not used: within a Multi, HBase 2
// says that a row exists, and sends its cells all the same (RSRpcServices.doNonAtomicRegionMutation).
func (c *Conn) MultiExists(ctx context.Context, regions []RegionExists) ([][]ExistsAnswer, error) {
	request := &pb.MultiRequest{}
	for i := range regions {
		action, err := regions[i].action()
		if err != nil {
			return nil, c.connError("Multi", false, err)
		}
		request.RegionAction = append(request.RegionAction, action)
	}
	reply, err := c.ask(ctx, "Multi", request)
	if err != nil {
		return nil, err
	}
	answers, err := parseReads(reply, len(regions), func(i int) int { return len(regions[i].Gets) })
	if err != nil {
		return nil, c.malformed("Multi", err)
	}
	found := make([][]ExistsAnswer, len(regions))
	for i, region := range answers {
		for _, a := range region {
			found[i] = append(found[i], ExistsAnswer{len(a.Cells) > 0, c.named("Multi", a.Err)})
		}
	}
	return found, nil
}

func (r *RegionExists) action() (*pb.RegionAction, error) {
	filter, err := firstKey()
	if err != nil {
		return nil, err
	}
	action := &pb.RegionAction{Region: regionSpecifier(r.Region)}
	for i := range r.Gets {
		get := r.Gets[i].message()
		get.Filter = filter
		action.Action = append(action.Action, &pb.Action{Index: proto.Uint32(uint32(i)), Get: get})
	}
	return action, nil
}

func (g *ExistsGet) message() *pb.Get {
	get := &pb.Get{Row: g.Row, CacheBlocks: proto.Bool(false)}
	for _, c := range g.Columns {
		get.Column = append(get.Column, &pb.Column{Family: c.Family, Qualifier: c.Qualifiers})
	}
	if g.From != 0 || g.To != 0 {
		get.TimeRange = &pb.TimeRange{From: proto.Uint64(uint64(g.From)), To: proto.Uint64(uint64(g.To))}
	}
	return get
}

// firstKey passes the key of a row's first cell.
func firstKey() (*pb.Filter, error) {
	first, err1 := newFilter(firstKeyOnlyFilter, &pb.FirstKeyOnlyFilter{})
	keys, err2 := newFilter(keyOnlyFilter, &pb.KeyOnlyFilter{LenAsVal: proto.Bool(false)})
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	return newFilter(filterList, &pb.FilterList{Operator: pb.FilterList_MUST_PASS_ALL.Enum(), Filters: []*pb.Filter{first, keys}})
}
