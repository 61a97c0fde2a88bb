// Package simcluster is an HBase cluster that exists only in memory, for tests that need thousands of clusters or
// faults in a certain order. It is a state machine: tables, regions, servers and store files as sets of cells, with
// HBase's rules for what a reader sees and what a compaction keeps. Clients talk to it in HBase's own framing over
// connections in memory, so a *load.Cluster works with it as with a real one (load.Connect). Events of a table are
// calls of methods.
//
// Nothing in it is random, and it has no clock of its own: within testing/synctest it uses the bubble's time.
//
// There are two ways to use it. Without Watch, calls are answered at once. A test changes the table between them, or in
// the middle of a command with Interrupt. With Watch, each call of a client and each step of a region server's load waits
// at the gate until nothing else moves. The test then picks the one that goes on, and decides its fate. So it controls
// the order of all events.
//
// cluster.go has the regions and their openings, events.go what people do to tables, lives.go how processes hang and end,
// gate.go the order of calls and the clients, disk.go the HDFS, loads.go the requests of a load, store.go which cells a
// reader sees, meta.go hbase:meta, and wire.go the other requests.
//
// It has no write-ahead log, no flushes, no replication, and no procedure that is interrupted halfway: a split, a merge
// or a truncation is one step.
package simcluster

import (
	"bytes"
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"bulkload/cell"
	"bulkload/internal/hbase"
	"bulkload/internal/test/hbasetest"
)

// Cluster is a master and some region servers.
type Cluster struct {
	mu         sync.Mutex
	servers    []*server // the first is the master's
	metaServer *server   // has hbase:meta: the first region server, unless it is moved
	tables     map[string]*table
	snapshots  map[string]*table // each is a copy
	denyMoves  bool
	denyLoads  bool
	lastTime   int64 // see now
	opened     int   // regions, so that they are spread over the servers
	scanners   map[uint64]*scanner
	lastID     uint64 // of a scanner
	waiting    int    // calls until interrupt
	interrupt  func()
	namespaces []string
	procedures map[[2]uint64]uint64 // the master's procedures, by the request's nonce
	disk       *Disk
	gate       *gate
	clients    int
	metaLag    time.Duration  // see LagMeta
	folders    int            // staging folders that were made
	lost       []cell.Cell    // see Lost
	states     map[string]int // see reach
	way        hbase.LoadWay  // see Old
	timers     atomic.Int64   // see After
	zooKeeper  error          // see FailZooKeeper

	smallAnswers int // see SmallAnswers
}

// server is a server's process.
type server struct {
	host      string
	startCode int64
	conns     []net.Conn
	hung      atomic.Bool
	hangs     int                     // how often it has hung
	down      bool                    // the process has ended
	expired   bool                    // its session has, so the master takes it for dead
	stale     map[string]*staleRegion // by name, of a server that hung past its session; nil: its session lives
	staleMeta [][]cell.Cell           // rows of hbase:meta, of one that had it and hung past its session
	denies    int                     // how many calls of Deny last
	movedAway map[string]movedAway    // by encoded name
}

// movedAway is what a server remembers of a region that was moved to another one.
type movedAway struct {
	to      *server
	time    time.Time
	process int64 // the server's start code
}

// remembered is how long a server remembers where it has moved a region.
const remembered = 2 * time.Minute

const port = 16020

func (s *server) addr() string { return net.JoinHostPort(s.host, strconv.Itoa(port)) }

// Family is a column family with its attributes, such as VERSIONS, MIN_VERSIONS and TTL.
type Family = hbase.FamilySchema

type table struct {
	name     hbase.TableName
	state    hbase.TableState
	written  int64 // when the state was written, in epoch milliseconds
	families []Family
	regions  []*region // in order
	parents  []*region // of splits: hbase:meta has them until their daughters are compacted
}

type region struct {
	table      hbase.TableName
	id         int64 // when it was made, in epoch milliseconds
	name       []byte
	start, end []byte
	server     *server // that has it open, or had it last; nil: none yet
	open       bool
	startCode  int64 // of the server's process when it opened the region
	openSeq    int64
	opened     int64             // when, in epoch milliseconds
	shown      opening           // what hbase:meta has of the last opening
	seq        int64             // sequence number of the last change
	stores     map[string][]file // by family
	orphans    map[string][]file // in its folder, but not known to the server that has it open
	daughters  []*region         // that it was split into
	busy       int               // load requests that a server is working on
}

// opening says where and when a region was opened.
type opening struct {
	server    *server
	startCode int64
	seq       int64
	at        int64 // in epoch milliseconds
}

// New makes a cluster with that many region servers, and without tables.
func New(servers int) *Cluster {
	c := &Cluster{tables: map[string]*table{}, snapshots: map[string]*table{}, scanners: map[uint64]*scanner{},
		namespaces: []string{"default", "hbase"}, procedures: map[[2]uint64]uint64{}}
	for i := range servers + 1 {
		c.servers = append(c.servers, &server{host: fmt.Sprint("server", i), startCode: c.now()})
	}
	c.metaServer = c.servers[1]
	return c
}

// now is the time in epoch milliseconds. It increases with each call, so that no two events have the same time.
func (c *Cluster) now() int64 {
	c.lastTime = max(time.Now().UnixMilli(), c.lastTime+1)
	return c.lastTime
}

// FailZooKeeper makes whatever asks ZooKeeper get an error; nil: it answers. HBase's servers keep their sessions.
func (c *Cluster) FailZooKeeper(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.zooKeeper = err
}

// Master is the master's address, for load.Network.
func (c *Cluster) Master(context.Context) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.servers[0].addr(), c.zooKeeper
}

// Meta is the address of the server that has hbase:meta, for load.Network.
func (c *Cluster) Meta(context.Context) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.metaServer.addr(), c.zooKeeper
}

// SetLoadWay makes it HBase 1, which takes files in that way, before there are tables.
func (c *Cluster) SetLoadWay(way hbase.LoadWay) { c.way = way }

// isHBase1 reports whether it is HBase 1.
func (c *Cluster) isHBase1() bool { return c.way != hbase.StagedLoad }

// TableState is what ZooKeeper has of a table, for load.Network.
func (c *Cluster) TableState(_ context.Context, name string) (record []byte, written int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !c.isHBase1():
		return nil, 0, errors.ErrUnsupported
	case c.zooKeeper != nil:
		return nil, 0, c.zooKeeper
	}
	t := c.tables[name]
	if t == nil {
		return nil, 0, nil
	}
	return t.record(), t.written, nil
}

// Dial connects to a server, for load.Network.
func (c *Cluster) Dial(_ context.Context, addr string) (net.Conn, error) { return c.dial(addr, nil) }

func (c *Cluster) dial(addr string, cl *Client) (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.servers, func(s *server) bool { return s.addr() == addr })
	if i < 0 {
		return nil, fmt.Errorf("there is no server %s", addr)
	}
	if c.servers[i].down {
		return nil, fmt.Errorf("dial %s: %w", addr, syscall.ECONNREFUSED)
	}
	// net.Pipe has no buffer, which works because both sides read while they write.
	client, conn := net.Pipe()
	s := c.servers[i]
	s.conns = append(s.conns, conn)
	go hbasetest.ServeConn(conn, func([]byte) {}, func(r hbasetest.Request) hbasetest.Answer { return c.answer(s, cl, r) })
	return client, nil
}

// Close ends all connections.
func (c *Cluster) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.servers {
		s.disconnect()
	}
}

func (s *server) disconnect() {
	for _, conn := range s.conns {
		conn.Close()
	}
	s.conns = nil
}

// Restart ends the process of the i-th region server, counted from 0, and starts another on the same host. Its regions
// open elsewhere.
func (c *Cluster) Restart(i int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.servers[1+i%(len(c.servers)-1)]
	s.disconnect()
	s.startCode = c.now()
	for _, t := range c.ordered() {
		for _, r := range t.regions {
			if r.open && r.server == s {
				c.open(r, c.after(s))
			}
		}
	}
}

// Interrupt calls a function once, after that many more calls of clients and before the next one is answered; nil:
// never.
func (c *Cluster) Interrupt(calls int, do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting, c.interrupt = calls, do
}

// interrupted calls the function given to Interrupt, if its time has come.
func (c *Cluster) interrupted() {
	c.mu.Lock()
	do := c.interrupt
	if c.waiting--; c.waiting >= 0 {
		do = nil
	}
	if do != nil {
		c.interrupt = nil
	}
	c.mu.Unlock()
	if do != nil {
		do()
	}
}

// SmallAnswers makes answers to scans end after some cells, also within a row, as HBase's do that are too large; 0: they
// do not.
func (c *Cluster) SmallAnswers(cells int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.smallAnswers = cells
}

// DenyMoves makes the master refuse to move regions, as if the user lacked the permission.
func (c *Cluster) DenyMoves(deny bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.denyMoves = deny
}

// DenyLoads makes all servers refuse the requests of a load, as if the user lacked the permission.
func (c *Cluster) DenyLoads(deny bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.denyLoads = deny
}

// after is the next living region server after another one, which is itself if there is no other; nil: none lives.
func (c *Cluster) after(s *server) *server {
	all := c.servers[1:]
	at := slices.Index(all, s)
	for i := range all {
		if next := all[(at+1+i)%len(all)]; next.alive() {
			return next
		}
	}
	return nil
}

// open opens a region on a server; nil: on the next one in turn. If that one is not alive, another one does, and if none
// is, or nothing can be written to hbase:meta, the region is opened as soon as that is over.
func (c *Cluster) open(r *region, s *server) {
	if s == nil {
		s = c.servers[1+c.opened%(len(c.servers)-1)]
		c.opened++
	}
	if !s.alive() {
		s = c.after(s)
	}
	if s == nil || c.servers[0].down || !c.metaServer.alive() { // see openHomeless
		r.open = false
		return
	}
	c.adopt(r)
	r.seq++ // the log's marker of the opening
	// A region is never closed and opened within a millisecond, but the tests' clock may stand still.
	r.open, r.server, r.startCode, r.openSeq, r.opened = true, s, s.startCode, r.seq, max(c.now(), r.opened+1)
	now := opening{s, s.startCode, r.seq, r.opened}
	if c.metaLag == 0 || c.isHBase1() {
		r.shown = now
		return
	}
	c.reach("hbase:meta shows an opening late")
	c.After(c.metaLag, func() {
		c.locked(func() {
			if r.opened == now.at {
				r.shown = now
			}
		})
	})
}

// LagMeta makes hbase:meta show each opening of a region only after that long; until then it shows that the region is
// being opened. Region servers answer for it at once. HBase 1 is never late: its region servers write an opening to
// hbase:meta before they serve the region (OpenRegionHandler.process).
func (c *Cluster) LagMeta(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.metaLag = d
}

// move moves an open region to another server.
func (c *Cluster) move(r *region, to *server) {
	if r.server != to {
		if r.server.movedAway == nil {
			r.server.movedAway = map[string]movedAway{}
		}
		r.server.movedAway[string(r.encoded())] = movedAway{to, time.Now(), r.server.startCode}
	}
	c.open(r, to)
}

// adopt makes all files in a region's folder known, as whoever opens, splits or merges it does.
func (c *Cluster) adopt(r *region) {
	for family, files := range r.orphans {
		c.reach("an orphan appears when its region is opened")
		r.stores[family] = append(r.stores[family], files...)
	}
	clear(r.orphans)
	r.seq = max(r.seq, r.lastSeq())
}

// lastSeq is the highest sequence number of the region's files.
func (r *region) lastSeq() (last int64) {
	for _, files := range r.stores {
		for _, f := range files {
			for _, s := range f {
				last = max(last, s.seq)
			}
		}
	}
	return last
}

// reach counts a state that is rare.
func (c *Cluster) reach(state string) {
	if c.states == nil {
		c.states = map[string]int{}
	}
	c.states[state]++
}

// States are the rare states that were reached, and how often.
func (c *Cluster) States() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.states)
}

// WithDisk gives the cluster its HDFS, from which clients load files. Without one, nobody may load.
func (c *Cluster) WithDisk(d *Disk) { c.disk = d }

// ordered are the tables, in the order of their names.
func (c *Cluster) ordered() (all []*table) {
	for _, name := range slices.Sorted(maps.Keys(c.tables)) {
		all = append(all, c.tables[name])
	}
	return all
}

// newRegion makes a region that is closed and has no files.
func (c *Cluster) newRegion(t *table, start, end []byte) *region {
	id := c.now()
	name := fmt.Appendf(nil, "%s,%s,%d", t.name, start, id)
	return &region{table: t.name, id: id, name: fmt.Appendf(name, ".%x.", md5.Sum(name)), start: start, end: end, stores: map[string][]file{}, orphans: map[string][]file{}, seq: 1}
}

// encoded is the part of the name that names the region's folder.
func (r *region) encoded() []byte { return r.name[len(r.name)-1-2*md5.Size : len(r.name)-1] }

// encodedName is the encoded part of a region's name, which may be only that.
func encodedName(name []byte) string {
	whole := bytes.TrimSuffix(name, []byte("."))
	return string(whole[bytes.LastIndexByte(whole, '.')+1:])
}

// isParent reports whether a region was split, and has its folder still.
func (c *Cluster) isParent(name []byte) bool {
	for _, t := range c.tables {
		for _, p := range t.parents {
			if bytes.Equal(p.name, name) || bytes.Equal(p.encoded(), name) {
				return true
			}
		}
	}
	return false
}

func (r *region) holds(row []byte) bool {
	return bytes.Compare(row, r.start) >= 0 && (len(r.end) == 0 || bytes.Compare(row, r.end) < 0)
}

// copyOf is a region with the same name and files.
func copyOf(r *region) *region {
	same := *r
	same.stores, same.orphans, same.busy = make(map[string][]file, len(r.stores)), map[string][]file{}, 0
	for family, files := range r.stores {
		same.stores[family] = slices.Clone(files)
	}
	return &same
}

// region finds a region by its name.
func (c *Cluster) region(name []byte) (*table, *region) {
	for _, t := range c.tables {
		for _, r := range t.regions {
			if bytes.Equal(r.name, name) || bytes.Equal(r.encoded(), name) {
				return t, r
			}
		}
	}
	return nil, nil
}
