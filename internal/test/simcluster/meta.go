package simcluster

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"bulkload/cell"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

const metaRegion = "hbase:meta,,1"

// metaOf are the rows of hbase:meta as a server has them. One that hung past its session has those of that time.
func (c *Cluster) metaOf(s *server) [][]cell.Cell {
	if s == c.metaServer {
		return c.meta()
	}
	c.reach("a server answers with an old hbase:meta")
	return s.staleMeta
}

// meta are the rows of hbase:meta in order.
func (c *Cluster) meta() (rows [][]cell.Cell) {
	for _, t := range c.tables {
		if !c.isHBase1() {
			rows = append(rows, []cell.Cell{metaCell(t.name.String(), "table", "state", t.written, t.record())})
		}
		for _, r := range t.regions {
			rows = append(rows, r.meta("OPEN"))
		}
		for _, r := range t.parents {
			rows = append(rows, r.meta("SPLIT"))
		}
	}
	if c.isHBase1() { // it does not say in which state a region is
		for i := range rows {
			rows[i] = slices.DeleteFunc(rows[i], func(c cell.Cell) bool { return string(c.Qualifier) == "state" })
		}
	}
	slices.SortFunc(rows, func(a, b []cell.Cell) int { return compareMeta(a[0].Row, b[0].Row) })
	return rows
}

// record is a table's state: TableState{1 state}, or HBase 1's Table{1 state}.
func (t *table) record() []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), uint64(t.state))
}

// meta is a region's row, in the order of its columns.
func (r *region) meta(state string) []cell.Cell {
	split := state == "SPLIT"
	switch {
	case split:
	case !r.open:
		state = "CLOSED"
	case r.shown.at != r.opened:
		state = "OPENING"
	}
	long := func(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }
	name := string(r.name)
	row := []cell.Cell{metaCell(name, "info", "regioninfo", r.id, r.info(split))}
	if at := r.shown.at; at > 0 {
		row = append(row, metaCell(name, "info", "seqnumDuringOpen", at, long(r.shown.seq)),
			metaCell(name, "info", "server", at, []byte(r.shown.server.addr())),
			metaCell(name, "info", "serverstartcode", at, long(r.shown.startCode)))
	}
	for i, daughter := range r.daughters {
		row = append(row, metaCell(name, "info", []string{"splitA", "splitB"}[i], daughter.id, daughter.info(false)))
	}
	return append(row, metaCell(name, "info", "state", r.opened, []byte(state)))
}

// info is a region's RegionInfo, as hbase:meta has it.
func (r *region) info(split bool) []byte {
	// can't fail: all fields are set
	info, _ := proto.Marshal(&pb.RegionInfo{RegionId: proto.Uint64(uint64(r.id)), StartKey: r.start, EndKey: r.end, Offline: &split, Split: &split,
		TableName: &pb.TableName{Namespace: []byte(r.table.Namespace), Qualifier: []byte(r.table.Qualifier)}})
	return append([]byte("PBUF"), info...)
}

func metaCell(row, family, qualifier string, timestamp int64, value []byte) cell.Cell {
	return cell.Cell{Row: []byte(row), Family: []byte(family), Qualifier: []byte(qualifier), Timestamp: timestamp, Type: cell.Put, Value: value}
}

// compareMeta is the order of rows of hbase:meta (MetaCellComparator): by the table's name, then the start row, then
// the rest.
func compareMeta(a, b []byte) int {
	table1, start1, rest1 := cutMeta(a)
	table2, start2, rest2 := cutMeta(b)
	return cmp.Or(strings.Compare(table1, table2), strings.Compare(start1, start2), strings.Compare(rest1, rest2))
}

// cutMeta cuts a region's name at the first and at the last comma. A missing part sorts before an empty one.
func cutMeta(name []byte) (table, start, rest string) {
	table, start, found := strings.Cut(string(name), ",")
	if !found {
		return table, "", ""
	}
	i := strings.LastIndexByte(start, ',')
	if i < 0 {
		return table, "," + start, ""
	}
	return table, "," + start[:i], "," + start[i+1:]
}

func (c *Cluster) metaRow(s *server, q *question, name []byte) []cell.Cell {
	for _, row := range c.metaOf(s) {
		if bytes.Equal(row[0].Row, name) {
			return q.ofMeta(row)
		}
	}
	return nil
}

func (c *Cluster) metaScan(s *server, q *question, scan *pb.Scan) (rows [][]cell.Cell) {
	for _, row := range c.metaOf(s) {
		from, to := compareMeta(row[0].Row, scan.StartRow), compareMeta(row[0].Row, scan.StopRow)
		inRange := from >= 0 && (len(scan.StopRow) == 0 || to < 0)
		if scan.GetReversed() {
			inRange = from <= 0
		}
		if cells := q.ofMeta(row); inRange && len(cells) > 0 {
			rows = append(rows, cells)
		}
	}
	if scan.GetReversed() {
		slices.Reverse(rows)
	}
	return rows
}

// ofMeta are the requested cells of a row. Clients ask hbase:meta neither for versions nor with filters.
func (q *question) ofMeta(row []cell.Cell) (found []cell.Cell) {
	for _, c := range row {
		if q.wants(string(c.Family), c.Qualifier) {
			found = append(found, c)
		}
	}
	return found
}
