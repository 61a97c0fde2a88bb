package hbase

import (
	"bytes"
	"errors"
	"maps"
	"slices"
)

// TableSchema is HBase.proto's TableSchema.
type TableSchema struct {
	Name       TableName         // 1 table_name
	Attributes map[string]string // 2 attributes, and 4 configuration above them
	Families   []FamilySchema    // 3 column_families
}

// FamilySchema is HBase.proto's ColumnFamilySchema.
type FamilySchema struct {
	Name       string            // 1
	Attributes map[string]string // 2 attributes, and 3 configuration above them
}

func (s *TableSchema) build(m *message) {
	m.message(1, s.Name.build)
	buildPairs(m, s.Attributes)
	for _, f := range s.Families {
		m.message(3, f.build)
	}
}

func (f *FamilySchema) build(m *message) {
	m.string(1, f.Name)
	buildPairs(m, f.Attributes)
}

// buildPairs builds 2 attributes, BytesBytesPair{1 first, 2 second}, in the order of their names.
func buildPairs(m *message, pairs map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(pairs)) {
		m.message(2, func(m *message) {
			m.string(1, name)
			m.string(2, pairs[name])
		})
	}
}

func parseTableSchema(b []byte) (*TableSchema, error) {
	s := &TableSchema{Attributes: make(map[string]string)}
	err := fields(b, func(f field) (err error) {
		switch f.number {
		case 1:
			s.Name, err = parseTableName(f.bytes)
		case 2, 4:
			err = parsePair(f.bytes, s.Attributes)
		case 3:
			var family FamilySchema
			family, err = parseFamilySchema(f.bytes)
			s.Families = append(s.Families, family)
		}
		return err
	})
	return s, err
}

func parseFamilySchema(b []byte) (FamilySchema, error) {
	s := FamilySchema{Attributes: make(map[string]string)}
	err := fields(b, func(f field) (err error) {
		switch f.number {
		case 1:
			s.Name = string(f.bytes)
		case 2, 3:
			err = parsePair(f.bytes, s.Attributes)
		}
		return err
	})
	return s, err
}

func parsePair(b []byte, into map[string]string) error {
	var name, value string
	err := fields(b, func(f field) error {
		switch f.number {
		case 1:
			name = string(f.bytes)
		case 2:
			value = string(f.bytes)
		}
		return nil
	})
	into[name] = value
	return err
}

// RegionInfo is HBase.proto's RegionInfo.
type RegionInfo struct {
	ID      uint64    // 1 region_id
	Table   TableName // 2 table_name
	Start   []byte    // 3 start_key
	End     []byte    // 4 end_key
	Offline bool      // 5
	Split   bool      // 6
	Replica int       // 7 replica_id
}

// ParseRegionInfo reads the value of info:regioninfo in hbase:meta. The result holds no view of b.
func ParseRegionInfo(b []byte) (*RegionInfo, error) {
	pb, ok := bytes.CutPrefix(b, []byte(magic))
	if !ok {
		return nil, errors.New("region info does not begin with PBUF")
	}
	r := &RegionInfo{}
	err := fields(pb, func(f field) (err error) {
		switch f.number {
		case 1:
			r.ID = f.uint
		case 2:
			r.Table, err = parseTableName(f.bytes)
		case 3:
			r.Start = bytes.Clone(f.bytes)
		case 4:
			r.End = bytes.Clone(f.bytes)
		case 5:
			r.Offline = f.bool()
		case 6:
			r.Split = f.bool()
		case 7:
			r.Replica = int(int32(f.uint))
		}
		return err
	})
	return r, err
}

// TableState is the state in HBase.proto's TableState.
type TableState int

// The states of a table.
const (
	Enabled   TableState = 0
	Disabled  TableState = 1
	Disabling TableState = 2
	Enabling  TableState = 3
)

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

// ParseTableState reads the value of table:state in hbase:meta, a TableState{1 state}.
func ParseTableState(b []byte) (TableState, error) {
	state := TableState(-1)
	err := fields(b, func(f field) error {
		if f.number == 1 {
			state = TableState(int32(f.uint))
		}
		return nil
	})
	if err == nil && state < 0 {
		err = errors.New("table state without a state")
	}
	return state, err
}
