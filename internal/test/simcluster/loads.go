package simcluster

import (
	"bytes"
	"fmt"
	"path"
	"strings"
	"sync"

	"bulkload/cell"
	"bulkload/hfilewriter"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// Package pb lacks the requests that make and delete staging folders, and their answers. Their only relevant field is a
// text in field 1, as in wrapperspb.StringValue: the folder.

// staged is the folder of all staging folders.
const staged = "/hbase/staging"

// prepareBulkLoad makes a staging folder.
func (c *Cluster) prepareBulkLoad(*server, *wrapperspb.StringValue, *[]byte) (proto.Message, error) {
	if c.disk == nil {
		return nil, notAllowed
	}
	c.folders++
	folder := fmt.Sprintf("%s/tina__t__%d", staged, c.folders)
	c.disk.mu.Lock()
	defer c.disk.mu.Unlock()
	return wrapperspb.String(URI + folder), c.disk.mkdirAll(folder, "hbase", 0o777)
}

// cleanupBulkLoad deletes a staging folder and everything in it.
func (c *Cluster) cleanupBulkLoad(_ *server, request *wrapperspb.StringValue, _ *[]byte) (proto.Message, error) {
	c.disk.mu.Lock()
	defer c.disk.mu.Unlock()
	return new(wrapperspb.StringValue), c.disk.remove(strings.TrimPrefix(request.Value, URI), true)
}

// bulkLoadHFile gives files to a region.
func (c *Cluster) bulkLoadHFile(s *server, request *pb.BulkLoadHFileRequest, _ *[]byte) (proto.Message, error) {
	t, r, err := c.served(s, request.GetRegion().GetValue())
	if err != nil {
		return nil, err
	}
	l := &requested{cluster: c, server: s, startCode: s.startCode, table: t, region: r, opened: r.opened}
	err = l.load(request)
	if err == errEnded {
		return nil, err
	}
	if err != nil {
		c.reach("a load request fails") // the server's log says why: "Failed to complete bulk load"
	}
	return &pb.BulkLoadHFileResponse{Loaded: proto.Bool(err == nil)}, nil
}

// Lose deletes the files of the region of a row from its folder. The region stays open as it is, and readers find
// nothing of them.
func (c *Cluster) Lose(name string, row []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tables[name]
	if t == nil {
		return
	}
	for _, r := range t.regions {
		if r.holds(row) {
			clear(r.stores)
			clear(r.orphans)
		}
	}
}

// requested is a load request that a server is working on, as SecureBulkLoadManager and HRegion.bulkLoadHFiles do: it
// checks all files, moves one after another to the staging folder, and then one after another into the region. Whatever
// fails ends it there, and is not said to the client. Files that it has moved stay where they are, but for the one that
// failed.
type requested struct {
	cluster   *Cluster
	server    *server
	startCode int64
	table     *table
	region    *region
	opened    int64 // when the server opened the region
}

// errEnded says that the server's process has ended.
var errEnded = fmt.Errorf("the process has ended")

// load does the request. The cluster is locked, except between two steps.
func (l *requested) load(request *pb.BulkLoadHFileRequest) error {
	type moved struct {
		family, from, to string
		cells            []cell.Cell
	}
	c, r := l.cluster, l.region
	var files []moved
	for _, f := range request.FamilyPath {
		m := moved{family: string(f.Family), from: strings.TrimPrefix(f.GetPath(), URI)}
		m.to = path.Join(strings.TrimPrefix(bulkToken(request), URI), m.family, path.Base(m.from))
		var err error
		if l.table.family(m.family) == nil {
			return fmt.Errorf("no family %s", m.family)
		}
		if m.cells, err = c.cellsOf(m.from); err != nil {
			return err
		}
		for i := range m.cells {
			if !r.holds(m.cells[i].Row) {
				return fmt.Errorf("row %q of %s is not in the region", m.cells[i].Row, m.from)
			}
		}
		files = append(files, m)
	}
	for _, m := range files {
		c.disk.mu.Lock()
		err := c.disk.mkdirAll(path.Dir(m.to), "tina", 0o777)
		c.disk.mu.Unlock()
		if err != nil {
			return err
		}
	}
	r.busy++
	defer func() { r.busy = max(r.busy-1, 0) }()
	for i, m := range files {
		if err := l.step("stage", m.from); err != nil {
			if i > 0 {
				c.reach("a request fails halfway through staging")
			}
			return err
		}
		if err := c.rename(m.from, m.to); err != nil {
			return err
		}
	}
	for i, m := range files {
		if err := l.step("commit", m.to); err != nil {
			if i > 0 {
				c.reach("a request fails halfway through its commit")
			}
			return err
		}
		if err := l.commit(m.family, m.to, m.cells); err != nil {
			return err
		}
	}
	return nil
}

// commit moves a file into the region's folder. If another server has opened the region meanwhile, that one does not
// know the file until it opens the region again.
func (l *requested) commit(family, from string, cells []cell.Cell) error {
	c, name := l.cluster, l.region.name
	_, now := c.region(name)
	if now == nil && !l.isParent() { // it was merged, or its table is another
		return fmt.Errorf("region %q has no folder any more", name)
	}
	if err := c.rename(from, ""); err != nil {
		return err
	}
	as := now // as this server knows it
	if now == nil || !now.open || now.server != l.server || now.opened != l.opened {
		as = nil
		if stale := l.server.stale[string(name)]; stale != nil {
			as = stale.region
		}
	}
	f := newFile(cells, 0)
	if as != nil {
		as.seq++
		f = newFile(cells, as.seq)
		as.stores[family] = append(as.stores[family], f)
	}
	switch {
	case now == nil:
		c.reach("a file is moved into a region that was split")
	case now != as:
		c.reach("a file is moved into a region that is open elsewhere")
		now.orphans[family] = append(now.orphans[family], f)
	}
	return nil
}

// isParent reports whether the region was split, and has its folder still.
func (l *requested) isParent() bool {
	for _, t := range l.cluster.tables {
		for _, p := range t.parents {
			if bytes.Equal(p.name, l.region.name) {
				return true
			}
		}
	}
	return false
}

// step waits until the schedule lets the server do its next step.
func (l *requested) step(what, file string) error {
	c := l.cluster
	c.mu.Unlock()
	v := c.gate.pass(&Call{Client: -1, What: what, name: file, server: l.server})
	c.mu.Lock()
	if l.server.startCode != l.startCode || l.server.down {
		return errEnded
	}
	if v.Fate != Answered {
		return fmt.Errorf("the server's HDFS client failed")
	}
	return nil
}

// rename moves a file on the disk, as a server does; to "": away from it.
func (c *Cluster) rename(from, to string) error {
	c.disk.mu.Lock()
	defer c.disk.mu.Unlock()
	if c.disk.safe {
		return fmt.Errorf("name node is in safe mode")
	}
	if to == "" {
		return c.disk.remove(from, false)
	}
	if c.disk.nodes[to] != nil && c.disk.nodes[from] == nil { // it is staged already
		return nil
	}
	return c.disk.move(from, to, false)
}

// bulkToken is field 5 of the request, which package pb lacks.
func bulkToken(request *pb.BulkLoadHFileRequest) string {
	token, _ := protowire.ConsumeBytes(field(request.ProtoReflect().GetUnknown(), 5))
	return string(token)
}

// parsed has the cells of each HFile that was read, by its content.
var parsed sync.Map

// cellsOf reads an HFile. Equal files are read once.
func (c *Cluster) cellsOf(name string) ([]cell.Cell, error) {
	data, err := c.disk.Read(name)
	if err != nil {
		return nil, err
	}
	if cells, ok := parsed.Load(string(data)); ok {
		return cells.([]cell.Cell), nil
	}
	r, err := hfilewriter.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	var cells []cell.Cell
	s := r.Seek(nil)
	for s.Next() {
		one := s.Cell()
		cells = append(cells, cell.Cell{Row: bytes.Clone(one.Row), Family: bytes.Clone(one.Family), Qualifier: bytes.Clone(one.Qualifier),
			Timestamp: one.Timestamp, Type: one.Type, Value: bytes.Clone(one.Value)})
	}
	if s.Err() == nil {
		parsed.Store(string(data), cells)
	}
	return cells, s.Err()
}
