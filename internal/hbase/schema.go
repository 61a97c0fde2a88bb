package hbase

import (
	"bytes"
	"crypto/md5"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
)

// TableSchema is HBase.proto's TableSchema.
type TableSchema struct {
	Name       TableName
	Attributes map[string]string // its attributes, overridden by its configuration
	Families   []FamilySchema
}

// FamilySchema is HBase.proto's ColumnFamilySchema.
type FamilySchema struct {
	Name       string
	Attributes map[string]string // its attributes, overridden by its configuration
}

func (s *TableSchema) message() *pb.TableSchema {
	m := &pb.TableSchema{TableName: s.Name.message(), Attributes: pairs(s.Attributes)}
	for _, f := range s.Families {
		m.ColumnFamilies = append(m.ColumnFamilies,
			&pb.ColumnFamilySchema{Name: []byte(f.Name), Attributes: pairs(f.Attributes)})
	}
	return m
}

// pairs are sorted by name, so that a request's bytes are always the same.
func pairs(attributes map[string]string) []*pb.BytesBytesPair {
	var sorted []*pb.BytesBytesPair
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		sorted = append(sorted, &pb.BytesBytesPair{First: []byte(name), Second: []byte(attributes[name])})
	}
	return sorted
}

func tableSchema(m *pb.TableSchema) *TableSchema {
	s := &TableSchema{Name: tableName(m.GetTableName()), Attributes: attributes(m.GetAttributes(), m.GetConfiguration())}
	for _, f := range m.GetColumnFamilies() {
		s.Families = append(s.Families, FamilySchema{Name: string(f.GetName()),
			Attributes: attributes(f.GetAttributes(), f.GetConfiguration())})
	}
	return s
}

// attributes lets a configuration override attributes, as HBase's servers do.
func attributes(pairs []*pb.BytesBytesPair, configuration []*pb.NameStringPair) map[string]string {
	all := make(map[string]string, len(pairs)+len(configuration))
	for _, p := range pairs {
		all[string(p.GetFirst())] = string(p.GetSecond())
	}
	for _, p := range configuration {
		all[p.GetName()] = p.GetValue()
	}
	return all
}

// RegionInfo is HBase.proto's RegionInfo.
type RegionInfo struct {
	ID      uint64 // when the region was made, in epoch milliseconds
	Table   TableName
	Start   []byte // empty: the first
	End     []byte // empty: the last
	Offline bool
	Split   bool
	Replica int // 0: the primary
}

// Name is the region's name, the key of its row in hbase:meta: table, start row, id and the MD5 of them
// (RegionInfo.createRegionName).
func (i *RegionInfo) Name() []byte {
	name := fmt.Appendf(nil, "%s,%s,%d", i.Table, i.Start, i.ID)
	return fmt.Appendf(name, ".%x.", md5.Sum(name))
}

// ParseRegionInfo reads the value of info:regioninfo, splitA or splitB in hbase:meta. The result holds no views of b.
func ParseRegionInfo(b []byte) (*RegionInfo, error) {
	found, ok := bytes.CutPrefix(b, []byte(magic))
	if !ok {
		return nil, errors.New("region info does not begin with PBUF")
	}
	var m pb.RegionInfo
	if err := proto.Unmarshal(found, &m); err != nil {
		return nil, fmt.Errorf("region info: %w", err)
	}
	return &RegionInfo{ID: m.GetRegionId(), Table: tableName(m.GetTableName()), Start: m.GetStartKey(), End: m.GetEndKey(),
		Offline: m.GetOffline(), Split: m.GetSplit(), Replica: int(m.GetReplicaId())}, nil
}

// TableState is the state in HBase 2's HBase.proto's TableState, and in HBase 1's ZooKeeper.proto's Table.
type TableState int

// The states of a table.
const (
	Enabled   TableState = 0
	Disabled  TableState = 1
	Disabling TableState = 2
	Enabling  TableState = 3
)

// String is the state's name.
func (s TableState) String() string {
	switch s {
	case Enabled:
		return "ENABLED"
	case Disabled:
		return "DISABLED"
	case Disabling:
		return "DISABLING"
	case Enabling:
		return "ENABLING"
	}
	return "in an unknown state"
}

// ParseTableState reads the value of table:state in hbase:meta, a TableState{1 state}, which gohbase's pb lacks. HBase
// 1 has the same in ZooKeeper: ZooKeeper.proto's Table{1 state}.
func ParseTableState(b []byte) (TableState, error) {
	state := TableState(-1)
	err := fields(b, func(f field) {
		if f.number == 1 {
			state = TableState(int32(f.uint))
		}
	})
	if err == nil && state < 0 {
		err = errors.New("table state without a state")
	}
	return state, err
}
