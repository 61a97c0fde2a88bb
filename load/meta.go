package load

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"bulkload/cell"
	"bulkload/internal/errcode"
	"bulkload/internal/hbase"

	"github.com/tsuna/gohbase/pb"
)

// metaColumns are the columns of hbase:meta that describe a region and the place of one of its replicas; 0: of the
// region itself (CatalogFamilyFormat.getServerColumn).
func metaColumns(replica int) []*pb.Column {
	var suffix string
	if replica > 0 {
		suffix = fmt.Sprintf("_%04X", replica)
	}
	c := &pb.Column{Family: []byte("info"), Qualifier: [][]byte{[]byte("regioninfo")}}
	for _, name := range []string{"server", "serverstartcode", "seqnumDuringOpen", "state"} {
		c.Qualifier = append(c.Qualifier, []byte(name+suffix))
	}
	return []*pb.Column{c}
}

// tableState reads table:state in hbase:meta, and when it was written (epoch milliseconds). A table without it is
// ErrNotFound.
func (r *reader) tableState(ctx context.Context,
	id hbase.TableName) (state hbase.TableState, written int64, err error) {
	row, err := r.get(ctx, r.limits.meta, &pb.Get{
		Row: []byte(id.String()), Column: []*pb.Column{{Family: []byte("table"), Qualifier: [][]byte{[]byte("state")}}}})
	if err != nil {
		return 0, 0, fmt.Errorf("read the table's state in %s: %w", r.limits.meta, err)
	}
	if len(row) == 0 {
		return 0, 0, noTable(id)
	}
	state, err = hbase.ParseTableState(row[0].Value)
	return state, row[0].Timestamp, err
}

// noTable is the ErrNotFound for a table that has no state.
func noTable(id hbase.TableName) error {
	return errcode.TableMissing.Wrap(notFound(fmt.Sprintf("there is no table %s", id)))
}

// afterRegions is a row of hbase:meta after those of all regions of a table, and before those of any other table: a
// blank sorts right after the comma in hbase:meta's order of names.
func afterRegions(table string) []byte { return []byte(table + " ,,") }

// regions reads a table's regions. Parents of a split, which stay until HBase has compacted their daughters, are only
// the regions' ancestors. A region without a server is errInTransition.
func (r *reader) regions(ctx context.Context, id hbase.TableName) ([]Region, error) {
	s := scan{
		Range:   Range{Start: []byte(id.String() + ",,"), End: afterRegions(id.String()), Cache: true},
		reader:  r,
		table:   r.limits.meta,
		columns: metaColumns(r.replica),
	}
	s.columns[0].Qualifier = append(s.columns[0].Qualifier, []byte("splitA"), []byte("splitB"))
	r.metaScans.Add(1)
	var rows metaRows
	if err := s.run(ctx, rows.add); err != nil {
		return nil, fmt.Errorf("read %s: %w", r.limits.meta, err)
	}
	var regions []Region
	for i := range rows {
		for _, daughter := range rows[i].daughters {
			r.parents.Store(daughter, encodedName(rows[i].name))
		}
		region, err := rows[i].region(r.replica)
		if err != nil {
			return nil, fmt.Errorf("read %s: row %q: %w", r.limits.meta, rows[i].name, err)
		}
		if region != nil {
			regions = append(regions, *region)
		}
	}
	for i := range regions {
		regions[i].ancestors = r.ancestorsOf(regions[i].EncodedName())
	}
	return regions, nil
}

// ancestorsOf returns the regions that a region came from only by splits, nearest first: as far as hbase:meta has ever
// shown them to this reader. What it has shown stays true.
func (r *reader) ancestorsOf(name string) (all []string) {
	for {
		parent, found := r.parents.Load(name)
		if !found || slices.Contains(all, parent.(string)) { // a damaged hbase:meta may call a region its own ancestor
			return all
		}
		name = parent.(string)
		all = append(all, name)
	}
}

// region reads the row of one region, by its name; nil if the region no longer exists. One without a server is
// errInTransition.
func (r *reader) region(ctx context.Context, name []byte) (*Region, error) {
	found, err := r.get(ctx, r.limits.meta, &pb.Get{Row: name, Column: metaColumns(r.replica)})
	if err != nil {
		return nil, fmt.Errorf("read region %q in %s: %w", name, r.limits.meta, err)
	}
	row := metaRow{name: name}
	for i := range found {
		if err := row.add(&found[i]); err != nil {
			return nil, err
		}
	}
	return row.region(r.replica)
}

// metaRow is one region's row in hbase:meta.
type metaRow struct {
	name   []byte
	info   *hbase.RegionInfo
	server string
	state  string // "" in old clusters

	startCode, openSeq int64
	opened             int64 // the time of openSeq's cell

	daughters []string // encoded names of the regions that it was split into
}

type metaRows []metaRow

// add adds a cell to the last row, or begins the next one with it.
func (m *metaRows) add(c *cell.Cell) error {
	if n := len(*m); n == 0 || !bytes.Equal((*m)[n-1].name, c.Row) {
		*m = append(*m, metaRow{name: bytes.Clone(c.Row)})
	}
	return (*m)[len(*m)-1].add(c)
}

// readMeta reads the rows of one answer.
func readMeta(answer *hbase.Scanned) (metaRows, error) {
	var rows metaRows
	var c cell.Cell
	for {
		ok, err := answer.Next(&c)
		if err != nil || !ok {
			return rows, err
		}
		if err := rows.add(&c); err != nil {
			return nil, err
		}
	}
}

func (m *metaRow) add(c *cell.Cell) (err error) {
	name, _, _ := strings.Cut(string(c.Qualifier), "_") // all columns are those of the same replica
	switch name {
	case "regioninfo":
		if m.info, err = hbase.ParseRegionInfo(c.Value); err != nil {
			err = fmt.Errorf("read %s: row %q: %w", metaTable, m.name, err)
		}
	case "server":
		m.server = string(c.Value)
	case "serverstartcode":
		m.startCode = metaNumber(c.Value)
	case "seqnumDuringOpen":
		m.openSeq, m.opened = metaNumber(c.Value), c.Timestamp
	case "state":
		m.state = string(c.Value)
	case "splitA", "splitB":
		// Like HBase, this ignores a daughter that can't be parsed. The proof then asks for more rows, not fewer.
		if daughter, unreadable := hbase.ParseRegionInfo(c.Value); unreadable == nil {
			m.daughters = append(m.daughters, encodedName(daughter.Name()))
		}
	}
	return err
}

// metaNumber reads a number as Bytes.toBytes writes a long.
//
// Anything but a long is 0. sameOpening then compares less: a region that was opened again by the same process could
// pass for the same opening.
func metaNumber(value []byte) int64 {
	if len(value) != 8 {
		return 0
	}
	return int64(binary.BigEndian.Uint64(value))
}

// region is one of the region's replicas, whose columns were read; 0: the region itself. It is nil for the row of a
// region that is offline, split or a replica.
func (m *metaRow) region(replica int) (found *Region, err error) {
	switch {
	case m.info == nil || m.info.Offline || m.info.Split || m.info.Replica != 0:
		return nil, nil
	// The server's column may still name the previous server. Only the state OPEN says that it serves the region.
	case m.server == "" || m.state != "" && m.state != "OPEN":
		return nil, fmt.Errorf("the region is not open (state %q, server %q): %w", m.state, m.server, errInTransition)
	}
	found = &Region{Name: m.name, Start: m.info.Start, End: m.info.End, Server: m.server, startCode: m.startCode,
		openSeq: m.openSeq, opened: m.opened, stateless: m.state == ""}
	if replica > 0 {
		found.Name, err = hbase.ReplicaName(m.name, replica)
	}
	return found, err
}
