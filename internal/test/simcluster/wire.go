package simcluster

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"bulkload/cell"
	"bulkload/internal/hbase"
	"bulkload/internal/test/hbasetest"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// refusal is an exception with which a server answers.
type refusal struct {
	class, why string
	at         *server // where the region is now, with a RegionMovedException
}

func (r refusal) Error() string { return r.class + ": " + r.why }

const exceptions = "org.apache.hadoop.hbase."

// refused is the exception of an error.
func refused(err error) refusal {
	if r, ok := err.(refusal); ok {
		return r
	}
	return refusal{class: exceptions + "DoNotRetryIOException", why: err.Error()}
}

// forbidding are the exceptions that are a DoNotRetryIOException, by name without package.
var forbidding = []string{"AccessDeniedException", "DoNotRetryIOException", "DoNotRetryRegionException", "NamespaceExistException",
	"NamespaceNotFoundException", "NoSuchColumnFamilyException", "OutOfOrderScannerNextException", "TableExistsException",
	"UnknownProtocolException", "UnknownRegionException", "UnknownScannerException"}

func exceptionAnswer(r refusal) hbasetest.Answer {
	a := hbasetest.Answer{Exception: r.class, Stack: r.Error(), DoNotRetry: slices.Contains(forbidding, r.class[strings.LastIndexByte(r.class, '.')+1:])}
	if r.at != nil {
		a.Host, a.Port = r.at.host, port
	}
	return a
}

func notServing(region []byte) error {
	return refusal{class: exceptions + "NotServingRegionException", why: fmt.Sprintf("%q is not open here", region)}
}

// goesOn reports whether a call continues a scan, or closes it. A scanner returns the state at its opening, so a change
// before such a call comes after the client's last look.
func goesOn(r hbasetest.Request) bool {
	var request pb.ScanRequest
	return r.Method == "Scan" && proto.Unmarshal(r.Param, &request) == nil && request.Scan == nil
}

// answer answers one call of a server.
func (c *Cluster) answer(s *server, cl *Client, r hbasetest.Request) hbasetest.Answer {
	if !goesOn(r) {
		c.interrupted()
	}
	v, err := c.held(s, cl, r)
	switch {
	case err != nil || v.Fate == Refused && v.Exception == "":
		return hbasetest.Answer{Hangup: true}
	case v.Fate == Refused:
		return exceptionAnswer(refusal{class: v.Exception, why: "simulated"})
	}
	if v.Fate == Cut {
		go c.done(s, r)
		return hbasetest.Answer{Hangup: true}
	}
	a := c.done(s, r)
	if v.Fate == Lost {
		a = hbasetest.Answer{Hangup: true}
	}
	return a
}

// methodOf is the method of a call, and whether it is one of HBase 1's endpoint for bulk loads. Those have the names of
// HBase 2's.
func methodOf(r hbasetest.Request) (method string, endpoint bool) {
	var request pb.CoprocessorServiceRequest
	if r.Method != "ExecService" || proto.Unmarshal(r.Param, &request) != nil || request.GetCall().GetServiceName() != bulkLoadService {
		return r.Method, false
	}
	if method = request.GetCall().GetMethodName(); method == "SecureBulkLoadHFiles" {
		method = "BulkLoadHFile"
	}
	return method, true
}

// bulkLoadService is HBase 1's endpoint for bulk loads.
const bulkLoadService = "SecureBulkLoadService"

// done does what a call asks for.
func (c *Cluster) done(s *server, r hbasetest.Request) hbasetest.Answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	call, known := calls[r.Method]
	if !known {
		call = unknown
	}
	if method, _ := methodOf(r); (c.denyLoads || s.denies > 0) && strings.Contains(method, "BulkLoad") {
		call = denied
	}
	var block []byte
	message, err := call(c, s, r.Param, &block)
	if err == nil {
		var param []byte
		if param, err = proto.Marshal(message); err == nil {
			return hbasetest.Answer{Param: param, Cells: block}
		}
	}
	if err == errEnded || err == errNoAnswer {
		return hbasetest.Answer{Hangup: true}
	}
	return exceptionAnswer(refused(err))
}

// errNoAnswer says that the call is not answered in time.
var errNoAnswer = fmt.Errorf("it is not answered")

// handler answers a call with a message, and with cells that it appends to a block.
type handler func(c *Cluster, s *server, param []byte, block *[]byte) (proto.Message, error)

// handle is a handler that gets the parsed request.
func handle[M any, P interface {
	*M
	proto.Message
}](do func(c *Cluster, s *server, request P, block *[]byte) (proto.Message, error)) handler {
	return func(c *Cluster, s *server, param []byte, block *[]byte) (proto.Message, error) {
		request := P(new(M))
		if err := proto.Unmarshal(param, request); err != nil {
			return nil, err
		}
		return do(c, s, request, block)
	}
}

// calls are the methods of the master and of region servers, by name.
var calls = map[string]handler{
	"BulkLoadHFile":    handle((*Cluster).bulkLoadHFile),
	"CleanupBulkLoad":  handle((*Cluster).cleanupBulkLoad),
	"CreateNamespace":  handle((*Cluster).createNamespace),
	"CreateTable":      handle((*Cluster).createTable),
	"ExecService":      handle((*Cluster).execService),
	"Get":              handle((*Cluster).get),
	"GetClusterStatus": handle((*Cluster).getClusterStatus),
	// spelt as in Master.proto
	"getProcedureResult":     handle((*Cluster).getProcedureResult),
	"GetNamespaceDescriptor": handle((*Cluster).getNamespaceDescriptor),
	"GetTableDescriptors":    handle((*Cluster).getTableDescriptors),
	"MoveRegion":             handle((*Cluster).moveRegion),
	"Multi":                  handle((*Cluster).multi),
	"PrepareBulkLoad":        handle((*Cluster).prepareBulkLoad),
	"Scan":                   handle((*Cluster).scan),
}

func unknown(*Cluster, *server, []byte, *[]byte) (proto.Message, error) {
	return nil, refusal{class: exceptions + "exceptions.UnknownProtocolException", why: "the simulated cluster has no such method"}
}

// notAllowed is what a user without the right to load gets.
var notAllowed = refusal{class: exceptions + "security.AccessDeniedException", why: "Insufficient permissions (action=CREATE)"}

func denied(*Cluster, *server, []byte, *[]byte) (proto.Message, error) { return nil, notAllowed }

// execService answers as a cluster without an AccessController. HBase 1 may have the endpoint for bulk loads.
func (c *Cluster) execService(s *server, request *pb.CoprocessorServiceRequest, _ *[]byte) (proto.Message, error) {
	region := request.GetRegion().GetValue()
	if _, _, err := c.served(s, region); err != nil {
		return nil, err
	}
	service := request.GetCall().GetServiceName()
	if service != bulkLoadService || c.way != hbase.EndpointLoad {
		return nil, refusal{class: exceptions + "exceptions.UnknownProtocolException", why: "no " + service + " is registered"}
	}
	answer, err := c.endpoint(s, region, request.GetCall().GetMethodName(), request.GetCall().GetRequest())
	if err != nil {
		return nil, err
	}
	value, err := proto.Marshal(answer)
	return &pb.CoprocessorServiceResponse{Region: request.Region, Value: &pb.NameBytesPair{Name: proto.String(""), Value: value}}, err
}

func (c *Cluster) getTableDescriptors(_ *server, request *pb.GetTableDescriptorsRequest, _ *[]byte) (proto.Message, error) {
	var answer pb.GetTableDescriptorsResponse
	for _, t := range c.tables {
		if slices.ContainsFunc(request.TableNames, func(n *pb.TableName) bool { return proto.Equal(n, t.message()) }) {
			answer.TableSchema = append(answer.TableSchema, t.schema())
		}
	}
	return &answer, nil
}

func (t *table) message() *pb.TableName {
	return &pb.TableName{Namespace: []byte(t.name.Namespace), Qualifier: []byte(t.name.Qualifier)}
}

func (t *table) schema() *pb.TableSchema {
	schema := &pb.TableSchema{TableName: t.message(), Attributes: pairs(tableDefaults, nil)}
	for _, f := range t.families {
		schema.ColumnFamilies = append(schema.ColumnFamilies, &pb.ColumnFamilySchema{Name: []byte(f.Name), Attributes: pairs(familyDefaults, f.Attributes)})
	}
	return schema
}

// The attributes that HBase stores with each table and each family.
var (
	tableDefaults  = map[string]string{"IS_META": "false", "hbase.store.file-tracker.impl": "DEFAULT"}
	familyDefaults = map[string]string{"BLOOMFILTER": "ROW", "REPLICATION_SCOPE": "0", "VERSIONS": "1", "MIN_VERSIONS": "0", "COMPRESSION": "NONE",
		"TTL": "2147483647", "BLOCKSIZE": "65536", "IN_MEMORY": "false", "BLOCKCACHE": "true", "KEEP_DELETED_CELLS": "FALSE",
		"DATA_BLOCK_ENCODING": "NONE", "INDEX_BLOCK_ENCODING": "NONE"}
)

// pairs are attributes, of which later ones override earlier ones.
func pairs(attributes ...map[string]string) (list []*pb.BytesBytesPair) {
	all := map[string]string{}
	for _, some := range attributes {
		maps.Copy(all, some)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, &pb.BytesBytesPair{First: []byte(name), Second: []byte(all[name])})
	}
	return list
}

func (s *server) message() *pb.ServerName {
	return &pb.ServerName{HostName: &s.host, Port: proto.Uint32(port), StartCode: proto.Uint64(uint64(s.startCode))}
}

func (c *Cluster) getClusterStatus(*server, *pb.GetClusterStatusRequest, *[]byte) (proto.Message, error) {
	version := "2.6.1"
	if c.isHBase1() {
		version = "1.4.14"
	}
	status := &pb.ClusterStatus{HbaseVersion: &pb.HBaseVersionFileContent{Version: &version}}
	for _, s := range c.servers[1:] {
		if s.expired {
			status.DeadServers = append(status.DeadServers, s.message())
			continue
		}
		report := &pb.ServerLoad{ReportEndTime: proto.Uint64(uint64(time.Now().UnixMilli()))}
		for _, t := range c.tables {
			for _, r := range t.regions {
				if r.open && r.server == s {
					report.RegionLoads = append(report.RegionLoads, r.load())
				}
			}
		}
		status.LiveServers = append(status.LiveServers, &pb.LiveServerInfo{Server: s.message(), ServerLoad: report})
	}
	return &pb.GetClusterStatusResponse{ClusterStatus: status}, nil
}

// load is a region server's report about a region. It counts whole megabytes, and one for a region that has any cells.
func (r *region) load() *pb.RegionLoad {
	files, size := 0, 0
	for _, all := range r.stores {
		files += len(all)
		for _, f := range all {
			size += f.size()
		}
	}
	if size > 0 {
		size = max(1, size>>20)
	}
	return &pb.RegionLoad{Storefiles: proto.Uint32(uint32(files)), StorefileSize_MB: proto.Uint32(uint32(size)), RegionSpecifier: &pb.RegionSpecifier{
		Type: pb.RegionSpecifier_REGION_NAME.Enum(), Value: r.name}}
}

// oldMoves is how long HBase 1's master takes until it moves a region.
const oldMoves = 300 * time.Millisecond

func (c *Cluster) moveRegion(_ *server, request *pb.MoveRegionRequest, _ *[]byte) (proto.Message, error) {
	if c.denyMoves {
		return nil, refusal{class: exceptions + "security.AccessDeniedException", why: "Insufficient permissions (action=ADMIN)"}
	}
	name := request.GetRegion().GetValue()
	_, r := c.region(name)
	if r == nil {
		class := "UnknownRegionException"
		if c.isParent(name) {
			class = "client.DoNotRetryRegionException" // the master has it in the state SPLIT
		}
		return nil, refusal{class: exceptions + class, why: string(name)}
	}
	if r.shown.at != r.opened {
		return nil, refusal{class: exceptions + "client.DoNotRetryRegionException", why: fmt.Sprintf("%q is not OPEN; state=OPENING", r.name)}
	}
	for _, s := range c.servers[1:] {
		if !proto.Equal(s.message(), request.DestServerName) || r.open && s == r.server {
			continue
		}
		if r.wait() != nil { // the procedure waits, for longer than its caller
			return nil, errNoAnswer
		}
		if !r.open {
			return nil, refusal{class: exceptions + "client.DoNotRetryRegionException", why: fmt.Sprintf("%q is not open", name)}
		}
		if c.isHBase1() { // the master answers first
			c.After(oldMoves, func() {
				c.mu.Lock()
				defer c.mu.Unlock()
				if r.open && r.server != s && !s.down && r.wait() == nil {
					c.move(r, s)
				}
			})
			continue
		}
		c.move(r, s)
	}
	return &pb.MoveRegionResponse{}, nil
}

// question is the cells of a row that a Get or a Scan asks for.
type question struct {
	columns []*pb.Column // nil: all
	view    view
	limit   int // cells of a family; 0: all
	filter  filter
}

// filter is the part of HBase's filters that package hbase uses.
type filter struct {
	pass  func(*cell.Cell) bool
	first bool // only a row's first cell
	keys  bool // without values
}

// asker is the common part of Get and Scan.
type asker interface {
	GetColumn() []*pb.Column
	GetAttribute() []*pb.NameBytesPair
	GetFilter() *pb.Filter
	GetTimeRange() *pb.TimeRange
	GetMaxVersions() uint32
	GetStoreLimit() uint32
}

func parseQuestion(a asker) (q question, err error) {
	q = question{columns: a.GetColumn(), limit: int(a.GetStoreLimit()), view: view{to: 1<<63 - 1, versions: int(a.GetMaxVersions())}}
	if tr := a.GetTimeRange(); tr != nil {
		q.view.from, q.view.to = int64(tr.GetFrom()), int64(tr.GetTo())
	}
	for _, attribute := range a.GetAttribute() {
		if attribute.GetName() == "_raw_" {
			q.view.raw, q.view.markers = true, true
		}
	}
	q.filter, err = parseFilter(a.GetFilter())
	return q, err
}

func parseFilter(m *pb.Filter) (f filter, err error) {
	f.pass = func(*cell.Cell) bool { return true }
	name := m.GetName()
	switch name[strings.LastIndexByte(name, '.')+1:] {
	case "":
	case "KeyOnlyFilter":
		f.keys = true
	case "FirstKeyOnlyFilter":
		f.first = true
	case "ColumnRangeFilter":
		var column pb.ColumnRangeFilter
		err = proto.Unmarshal(m.SerializedFilter, &column)
		f.pass = func(c *cell.Cell) bool {
			return bytes.Compare(c.Qualifier, column.MinColumn) >= 0 && bytes.Compare(c.Qualifier, column.MaxColumn) <= 0
		}
	case "FilterList":
		return parseFilterList(m.SerializedFilter)
	default:
		err = fmt.Errorf("the simulated cluster has no filter %s", name)
	}
	return f, err
}

func parseFilterList(b []byte) (f filter, err error) {
	var m pb.FilterList
	if err := proto.Unmarshal(b, &m); err != nil {
		return f, err
	}
	var parts []filter
	for _, part := range m.Filters {
		p, err := parseFilter(part)
		if err != nil {
			return f, err
		}
		f.first, f.keys, parts = f.first || p.first, f.keys || p.keys, append(parts, p)
	}
	all := m.GetOperator() == pb.FilterList_MUST_PASS_ALL
	f.pass = func(c *cell.Cell) bool {
		return all != slices.ContainsFunc(parts, func(p filter) bool { return p.pass(c) != all })
	}
	return f, nil
}

// wants reports whether the question asks for a column.
func (q *question) wants(family string, qualifier []byte) bool {
	return q.columns == nil || slices.ContainsFunc(q.columns, func(c *pb.Column) bool {
		return string(c.Family) == family && (len(c.Qualifier) == 0 || slices.ContainsFunc(c.Qualifier, func(b []byte) bool { return bytes.Equal(b, qualifier) }))
	})
}

// check refuses a question about a family that the table lacks.
func (q *question) check(t *table) error {
	for _, c := range q.columns {
		if t.family(string(c.Family)) == nil {
			return refusal{class: exceptions + "regionserver.NoSuchColumnFamilyException", why: fmt.Sprintf("Column family %s does not exist", c.Family)}
		}
	}
	return nil
}

// asks reports whether the question asks for any column of a family.
func (q *question) asks(family string) bool {
	return q.columns == nil || slices.ContainsFunc(q.columns, func(c *pb.Column) bool { return string(c.Family) == family })
}

// row are the cells of a row that answer a question.
func (q *question) row(t *table, r *region, row []byte) (found []cell.Cell) {
	for i := range t.families {
		f, n := &t.families[i], 0
		v := q.view
		if keeps := viewOf(f, time.Now().UnixMilli()); !v.raw {
			v.versions, v.least, v.oldest = min(v.versions, keeps.versions), keeps.least, keeps.oldest
		}
		for _, s := range v.visible(r.stored(f.Name, row, append(bytes.Clone(row), 0))) {
			if !q.wants(f.Name, s.Qualifier) || !q.filter.pass(&s.Cell) || q.limit > 0 && n == q.limit || q.filter.first && len(found) > 0 {
				continue
			}
			n++
			if q.filter.keys {
				s.Value = nil
			}
			found = append(found, s.Cell)
		}
	}
	slices.SortStableFunc(found, func(a, b cell.Cell) int { return bytes.Compare(a.Family, b.Family) })
	return found
}

// served finds a region that a server has open; for hbase:meta, nil.
func (c *Cluster) served(s *server, name []byte) (*table, *region, error) {
	if string(name) == metaRegion && (s == c.metaServer || s.staleMeta != nil) {
		return nil, nil, nil
	}
	if t, r := c.region(name); r != nil && r.open && r.server == s && r.startCode == s.startCode {
		return t, r, nil
	}
	for _, old := range s.stale {
		if bytes.Equal(old.region.name, name) || bytes.Equal(old.region.encoded(), name) {
			c.reach("a server answers for a region that is open elsewhere")
			return old.table, old.region, nil
		}
	}
	if gone, ok := s.movedAway[encodedName(name)]; ok && gone.process == s.startCode && time.Since(gone.time) < remembered {
		return nil, nil, refusal{class: exceptions + "exceptions.RegionMovedException", why: fmt.Sprintf("Region moved to: %s", gone.to.addr()), at: gone.to}
	}
	return nil, nil, notServing(name)
}

// target is the region that a call is for, or else the table; "" for calls without either.
func (c *Cluster) target(r hbasetest.Request) string {
	// RegionSpecifier is field 1 of most requests, and has the region's name in field 2.
	region, _ := protowire.ConsumeBytes(field(r.Param, 1))
	name, _ := protowire.ConsumeBytes(field(region, 2))
	table, rest, _ := bytes.Cut(name, []byte(","))
	start, _, _ := bytes.Cut(rest, []byte(","))
	return fmt.Sprintf("%s,%s", table, start)
}

// field is the value of a field of an encoded message; nil if it has none.
func field(b []byte, want protowire.Number) []byte {
	for len(b) > 0 {
		number, t, n := protowire.ConsumeTag(b)
		if n < 0 {
			return nil
		}
		if b = b[n:]; number == want {
			return b
		}
		if n = protowire.ConsumeFieldValue(number, t, b); n < 0 {
			return nil
		}
		b = b[n:]
	}
	return nil
}

func appendCells(block *[]byte, cells []cell.Cell) *pb.Result {
	for i := range cells {
		*block = hbasetest.AppendCell(*block, &cells[i])
	}
	return &pb.Result{AssociatedCellCount: proto.Int32(int32(len(cells)))}
}

func (c *Cluster) read(s *server, region []byte, get *pb.Get) ([]cell.Cell, error) {
	t, r, err := c.served(s, region)
	if err != nil {
		return nil, err
	}
	q, err := parseQuestion(get)
	if err != nil {
		return nil, err
	}
	switch {
	case t == nil && c.isHBase1() && slices.ContainsFunc(q.columns, func(c *pb.Column) bool { return string(c.Family) == "table" }):
		return nil, refusal{class: exceptions + "regionserver.NoSuchColumnFamilyException", why: "Column family table does not exist in region " + metaRegion}
	case t == nil:
		return c.metaRow(s, &q, get.Row), nil
	case !r.holds(get.Row):
		return nil, refusal{class: exceptions + "regionserver.WrongRegionException", why: fmt.Sprintf("row %q is not in region %q", get.Row, region)}
	}
	return q.row(t, r, get.Row), q.check(t)
}

func (c *Cluster) get(s *server, request *pb.GetRequest, block *[]byte) (proto.Message, error) {
	cells, err := c.read(s, request.GetRegion().GetValue(), request.Get)
	return &pb.GetResponse{Result: appendCells(block, cells)}, err
}

func (c *Cluster) multi(s *server, request *pb.MultiRequest, block *[]byte) (proto.Message, error) {
	var answer pb.MultiResponse
	for _, region := range request.RegionAction {
		var result pb.RegionActionResult
		if _, _, err := c.served(s, region.GetRegion().GetValue()); err != nil {
			result.Exception = exception(err)
		} else {
			for _, action := range region.Action {
				one := &pb.ResultOrException{Index: action.Index}
				if cells, err := c.read(s, region.GetRegion().GetValue(), action.Get); err != nil {
					one.Exception = exception(err)
				} else {
					one.Result = appendCells(block, cells)
				}
				result.ResultOrException = append(result.ResultOrException, one)
			}
		}
		answer.RegionActionResult = append(answer.RegionActionResult, &result)
	}
	return &answer, nil
}

func exception(err error) *pb.NameBytesPair {
	r := refused(err)
	return &pb.NameBytesPair{Name: &r.class, Value: []byte(r.Error())}
}

// scanner has the rows that an open scanner has yet to return.
type scanner struct {
	server  *server
	process int64  // the server's start code
	region  []byte // its name
	opened  int64  // when the server opened the region; 0: hbase:meta
	// rows are those that are stored. Some are empty: no cell answers the question.
	rows   [][]cell.Cell
	next   uint64 // number of the next request
	closed bool
}

// scan answers all requests of a scanner. A scanner sees its region as it was when it was opened, and ends with the
// region's opening.
func (c *Cluster) scan(s *server, request *pb.ScanRequest, block *[]byte) (proto.Message, error) {
	var open *scanner
	id := request.GetScannerId()
	if request.Scan != nil {
		var err error
		if open, err = c.openScanner(s, request); err != nil {
			return nil, err
		}
		c.lastID++
		id = c.lastID
		c.scanners[id] = open
	} else if open = c.scanners[id]; open == nil || open.server != s || open.process != s.startCode {
		return nil, refusal{class: exceptions + "UnknownScannerException", why: fmt.Sprint(id)}
	}
	answer := &pb.ScanResponse{ScannerId: &id}
	outOfOrder := refusal{class: exceptions + "exceptions.OutOfOrderScannerNextException", why: fmt.Sprintf("number %d, expected %d", request.GetNextCallSeq(), open.next)}
	switch {
	case open.closed && request.NextCallSeq != nil && request.GetNextCallSeq() != open.next+1: // HBase's, too, is one too high
		return nil, outOfOrder
	case open.closed:
		return answer, nil
	case !c.isOpening(s, open.region, open.opened):
		delete(c.scanners, id)
		return nil, notServing(open.region)
	case request.NextCallSeq != nil && request.GetNextCallSeq() != open.next:
		return nil, outOfOrder
	case request.NextCallSeq != nil:
		open.next++
	}
	room := math.MaxInt
	if c.smallAnswers > 0 && request.GetClientHandlesPartials() {
		room = c.smallAnswers
	}
	for left := request.GetNumberOfRows(); left > 0 && room > 0 && len(open.rows) > 0; {
		row := open.rows[0]
		n := min(len(row), room)
		if open.rows[0] = row[n:]; n == len(row) {
			open.rows = open.rows[1:]
		}
		if n > 0 {
			left, room = left-1, room-n
			answer.CellsPerResult = append(answer.CellsPerResult, uint32(n))
			answer.PartialFlagPerResult = append(answer.PartialFlagPerResult, n < len(row))
			appendCells(block, row[:n])
		}
	}
	answer.MoreResultsInRegion = proto.Bool(len(open.rows) > 0 || request.GetNumberOfRows() == 0)
	answer.MoreResults = proto.Bool(true)
	if !answer.GetMoreResultsInRegion() || request.GetCloseScanner() {
		open.closed, open.rows = true, nil
	}
	return answer, nil
}

// isOpening reports whether a server has a region open since that time, or hbase:meta.
func (c *Cluster) isOpening(s *server, name []byte, opened int64) bool {
	_, r, err := c.served(s, name)
	return err == nil && (r == nil || r.opened == opened)
}

// openScanner makes a scanner with all rows of a region that a scan asks for.
func (c *Cluster) openScanner(s *server, request *pb.ScanRequest) (*scanner, error) {
	t, r, err := c.served(s, request.GetRegion().GetValue())
	if err != nil {
		return nil, err
	}
	q, err := parseQuestion(request.Scan)
	if err != nil {
		return nil, err
	}
	open := &scanner{server: s, process: s.startCode, region: request.GetRegion().GetValue()}
	if t == nil {
		open.rows = c.metaScan(s, &q, request.Scan)
		return open, nil
	}
	open.opened = r.opened
	if err := q.check(t); err != nil {
		return nil, err
	}
	var names [][]byte
	from, to := rowsOf(request.Scan)
	for family, files := range r.stores {
		for _, f := range files {
			if !q.asks(family) || !f.within(q.view.from, q.view.to) {
				continue
			}
			for _, row := range eachRow(f.rows(from, to)) {
				names = append(names, row[0].Row)
			}
		}
	}
	slices.SortFunc(names, bytes.Compare)
	for _, name := range slices.CompactFunc(names, bytes.Equal) {
		open.rows = append(open.rows, q.row(t, r, name))
	}
	if request.Scan.GetReversed() {
		slices.Reverse(open.rows)
	}
	return open, nil
}

// rowsOf are the first row that a scan asks for, and the first one after all of them; nil: without a bound. A scan that
// stops at the row at which it starts asks for that row (ProtobufUtil.toScan).
func rowsOf(scan *pb.Scan) (from, to []byte) {
	after := func(row []byte) []byte {
		if len(row) == 0 {
			return nil
		}
		return append(bytes.Clone(row), 0)
	}
	switch {
	case bytes.Equal(scan.StartRow, scan.StopRow):
		return scan.StartRow, after(scan.StartRow)
	case scan.GetReversed():
		return after(scan.StopRow), after(scan.StartRow)
	}
	return scan.StartRow, scan.StopRow
}
