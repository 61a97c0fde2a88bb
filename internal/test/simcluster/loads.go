package simcluster

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"bulkload/cell"
	"bulkload/hfilewriter"
	"bulkload/internal/hbase"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// Package pb lacks the requests that make and delete staging folders, and their answers. Their only relevant field is a
// text in field 1, as in wrapperspb.StringValue: the folder.

// Staging is the folder of all staging folders.
const Staging = "/hbase/staging"

// prepareBulkLoad makes a staging folder. The region is in field 2 of the request.
func (c *Cluster) prepareBulkLoad(s *server, request *wrapperspb.StringValue, _ *[]byte) (proto.Message, error) {
	if c.isHBase1() {
		return nil, refusal{class: "java.lang.UnsupportedOperationException", why: "PrepareBulkLoad"}
	}
	return c.makeStaging(s, regionOf(request))
}

func (c *Cluster) makeStaging(s *server, region []byte) (proto.Message, error) {
	t, _, err := c.served(s, region)
	if err != nil {
		return nil, err
	}
	if c.disk == nil {
		return nil, notAllowed
	}
	c.folders++
	folder := fmt.Sprintf("%s/tina__%s__%d", Staging, strings.ReplaceAll(t.name.String(), ":", "_"), c.folders)
	return wrapperspb.String(URI + folder), c.changeDisk(func() error { return c.disk.mkdirAll(folder, "hbase", 0o777) })
}

// regionOf is the region of a request for a staging folder.
func regionOf(request *wrapperspb.StringValue) []byte {
	region, _ := protowire.ConsumeBytes(field(request.ProtoReflect().GetUnknown(), 2))
	name, _ := protowire.ConsumeBytes(field(region, 2))
	return name
}

// cleanupBulkLoad deletes a staging folder and everything in it.
func (c *Cluster) cleanupBulkLoad(s *server, request *wrapperspb.StringValue, _ *[]byte) (proto.Message, error) {
	if c.isHBase1() {
		return nil, refusal{class: "java.lang.UnsupportedOperationException", why: "CleanupBulkLoad"}
	}
	if _, _, err := c.served(s, regionOf(request)); err != nil {
		return nil, err
	}
	return c.removeStaging(request)
}

func (c *Cluster) removeStaging(request *wrapperspb.StringValue) (proto.Message, error) {
	return new(wrapperspb.StringValue), c.changeDisk(func() error { return c.disk.remove(strings.TrimPrefix(request.Value, URI), true) })
}

// endpoint is HBase 1's SecureBulkLoadEndpoint.
func (c *Cluster) endpoint(s *server, region []byte, method string, param []byte) (proto.Message, error) {
	var folder wrapperspb.StringValue
	switch method {
	case "PrepareBulkLoad":
		return c.makeStaging(s, region)
	case "CleanupBulkLoad":
		if err := proto.Unmarshal(param, &folder); err != nil {
			return nil, err
		}
		return c.removeStaging(&folder)
	case "SecureBulkLoadHFiles": // {1 family_path, 2 assign_seq_num, 3 fs_token, 4 bulk_token}
		token, _ := protowire.ConsumeBytes(field(param, 4))
		if field(param, 3) == nil {
			return nil, refusal{class: "com.google.protobuf.UninitializedMessageException", why: "Message missing required fields: fs_token"}
		}
		request := &pb.BulkLoadHFileRequest{Region: &pb.RegionSpecifier{Type: pb.RegionSpecifier_REGION_NAME.Enum(), Value: region}}
		for rest := param; len(rest) > 0; {
			number, kind, n := protowire.ConsumeTag(rest)
			size := protowire.ConsumeFieldValue(number, kind, rest[n:])
			if size < 0 {
				return nil, fmt.Errorf("a field of %s can't be read", method)
			}
			if value, _ := protowire.ConsumeBytes(rest[n:]); number == 1 {
				var f pb.BulkLoadHFileRequest_FamilyPath
				if err := proto.Unmarshal(value, &f); err != nil {
					return nil, err
				}
				request.FamilyPath = append(request.FamilyPath, &f)
			}
			rest = rest[n+size:]
		}
		return c.loadInto(s, request, string(token))
	}
	return nil, refusal{class: exceptions + "exceptions.UnknownProtocolException", why: method}
}

// bulkLoadHFile gives files to a region.
func (c *Cluster) bulkLoadHFile(s *server, request *pb.BulkLoadHFileRequest, _ *[]byte) (proto.Message, error) {
	if c.way == hbase.EndpointLoad {
		return nil, refusal{class: exceptions + "DoNotRetryIOException", why: "this load should go through the endpoint"}
	}
	return c.loadInto(s, request, bulkToken(request))
}

func (c *Cluster) loadInto(s *server, request *pb.BulkLoadHFileRequest, token string) (proto.Message, error) {
	t, r, err := c.served(s, request.GetRegion().GetValue())
	if err != nil {
		return nil, err
	}
	l := &requested{cluster: c, server: s, startCode: s.startCode, table: t, region: r, opened: r.opened,
		staging: strings.TrimPrefix(token, URI)}
	err = l.load(request)
	if err == errEnded {
		return nil, err
	}
	if err != nil && c.way == hbase.PlainLoad {
		c.reach("a load request fails")
		return nil, refusal{class: "java.io.IOException", why: err.Error()}
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
// fails ends it there, and is not said to the client. Files that it has moved stay where they are, but the first one is
// moved back to its source if its commit fails.
type requested struct {
	cluster   *Cluster
	server    *server
	startCode int64
	table     *table
	region    *region
	opened    int64 // when the server opened the region
	seq       int64 // of all its files
	staging   string
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
	for _, f := range request.FamilyPath { // even if it is no family of the table
		if c.way == hbase.PlainLoad {
			break
		}
		if err := c.changeDisk(func() error { return c.disk.mkdirAll(path.Join(l.staging, string(f.Family)), "tina", 0o777) }); err != nil {
			return err
		}
	}
	var files []moved
	for _, f := range request.FamilyPath {
		m := moved{family: string(f.Family), from: strings.TrimPrefix(f.GetPath(), URI)}
		m.to = path.Join(l.staging, m.family, path.Base(m.from))
		err := c.disk.checkDataNodes("read", m.from)
		if err != nil {
			return err
		}
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
	if r.busy > 0 {
		c.reach("a load request comes while another one is under way")
	}
	r.seq++
	l.seq = r.seq
	r.busy++
	defer func() {
		if r.opened == l.opened {
			r.busy = max(r.busy-1, 0)
		}
	}()
	for i, m := range files {
		if c.way == hbase.PlainLoad { // it goes from its place into the region
			files[i].to = m.from
			continue
		}
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
	slices.SortStableFunc(files, func(a, b moved) int { return cmp.Compare(a.family, b.family) })
	for i, m := range files {
		err := l.step("commit", m.to)
		if err != nil && i > 0 {
			c.reach("a request fails halfway through its commit")
		}
		if err == nil {
			err = l.commit(m.family, m.to, m.cells)
		}
		if err == nil {
			continue
		}
		if i == 0 && err != errEnded && m.to != m.from {
			l.moveBack(m.to, m.from)
		}
		return err
	}
	return nil
}

// moveBack moves a file whose commit failed from the staging folder back to its source. HBase does that only with the
// first one: after a commit, SecureBulkLoadListener.failedBulkLoad finds its file system closed.
func (l *requested) moveBack(from, to string) {
	if l.step("move back", from) == nil && l.cluster.rename(from, to) == nil {
		l.cluster.reach("a region server moves a file back")
	}
}

// commit moves a file into the region's folder. If another server has opened the region meanwhile, that one does not
// know the file until it opens the region again.
func (l *requested) commit(family, from string, cells []cell.Cell) error {
	c, name := l.cluster, l.region.name
	_, now := c.region(name)
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
	f := newFile(cells, l.seq)
	if now == nil {
		c.lost = append(c.lost, cells...)
		if c.isParent(name) {
			c.reach("a file is moved into a region that was split")
		} else { // the server makes its folder again
			c.reach("a file is moved into a region that was merged, or whose table is another")
		}
	}
	if err := c.disk.checkDataNodes("read", from); err != nil { // it can't be opened
		if now != nil {
			now.orphans[family] = append(now.orphans[family], f)
		}
		c.reach("a file is moved into its region, and not opened")
		return err
	}
	if as != nil {
		as.stores[family] = append(as.stores[family], f)
	}
	if now != nil && now != as {
		c.reach("a file is moved into a region that is open elsewhere")
		now.orphans[family] = append(now.orphans[family], f)
	}
	return nil
}

// step waits until the schedule lets the server do its next step.
func (l *requested) step(what, file string) error {
	c := l.cluster
	c.mu.Unlock()
	v := c.gate.pass(&Call{Client: -1, Server: slices.Index(c.servers, l.server), What: what, name: file, server: l.server})
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
	return c.changeDisk(func() error {
		if to == "" {
			return c.disk.remove(from, false)
		}
		return c.disk.move(from, to, false)
	})
}

// changeDisk calls a function that changes the disk, which is locked, as a server does.
func (c *Cluster) changeDisk(change func() error) error {
	c.disk.mu.Lock()
	defer c.disk.mu.Unlock()
	if c.disk.safe || c.disk.noNameNode {
		return refusal{class: "org.apache.hadoop.ipc.RemoteException", why: "the name node is in safe mode, or does not answer"}
	}
	return change()
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
