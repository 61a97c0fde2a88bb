package hbase

import (
	"context"
	"errors"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
)

// RowGet reads a row as other readers see it: the newest version of each cell that is neither deleted nor expired.
type RowGet struct {
	Row      []byte
	Columns  []FamilyColumns
	From, To int64 // timestamps from From to before To; both 0: any
	// First returns only the first cell, without its value, which shows whether there is one.
	First bool
}

// FamilyColumns are columns of a family; nil Qualifiers mean all of them.
type FamilyColumns struct {
	Family     []byte
	Qualifiers [][]byte
}

// RegionRows are reads (RowGet) of one region.
type RegionRows struct {
	Region []byte // its name
	Gets   []RowGet
}

// firstKeyOnlyFilter passes a row's first cell.
const firstKeyOnlyFilter = "org.apache.hadoop.hbase.filter.FirstKeyOnlyFilter"

// MultiRows makes many reads in one call, as MultiGet does. A region server skips the store files whose row bloom
// filter lacks the row. existence_only is not used, because within a Multi HBase 2 says that a row exists, and sends
// its cells all the same (RSRpcServices.doNonAtomicRegionMutation).
func (c *Conn) MultiRows(ctx context.Context, regions []RegionRows) ([][]GetAnswer, error) {
	return c.multi(ctx, len(regions), func(i int) (*pb.RegionAction, error) { return regions[i].action() })
}

func (r *RegionRows) action() (*pb.RegionAction, error) {
	first, err := firstKey()
	if err != nil {
		return nil, err
	}
	action := &pb.RegionAction{Region: regionSpecifier(r.Region)}
	for i := range r.Gets {
		get := r.Gets[i].message()
		if r.Gets[i].First {
			get.Filter = first
		}
		action.Action = append(action.Action, &pb.Action{Index: proto.Uint32(uint32(i)), Get: get})
	}
	return action, nil
}

func (g *RowGet) message() *pb.Get {
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
	return newFilter(filterList, &pb.FilterList{Operator: pb.FilterList_MUST_PASS_ALL.Enum(),
		Filters: []*pb.Filter{first, keys}})
}
