package simcluster

import (
	"bytes"
	"cmp"
	"context"
	"hash/crc32"
	"iter"
	"math/bits"
	"net"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"bulkload/internal/storage"
	"bulkload/internal/test/hbasetest"
)

// Call is what waits at the gate: a call of a client to HBase or to the disk, or a step of a region server's work.
type Call struct {
	Client int    // number of the client, from 0
	What   string // HBase's method (see methodOf), the disk's operation, or the server's step
	On     string // the region, file or folder, with numbers in place of the random parts of its name
	RPC    bool   // to HBase
	// Endpoint: it is a call of HBase 1's endpoint for bulk loads.
	Endpoint bool
	// Server is the number, from 1, of the region server whose step in a load this is; 0: it is a client's call.
	Server int
	// Continues: it goes on with a scan, whose rows are those of its beginning.
	Continues bool
	// Late: it has waited for longer than a client waits for the answer, as one does that was sent to a server that hung.
	Late bool

	name    string
	content uint32  // of a call to HBase: tells apart calls that look alike
	server  *server // that is to answer it; nil: the NameNode
	client  *Client
	verdict chan Verdict
	arrived time.Time
	ready   time.Time // it is held until then
	order   int       // of its arrival
}

// Verdict is what becomes of a call.
type Verdict struct {
	Fate      Fate
	Exception string        // with which HBase refuses the call; "": it breaks the connection
	Delay     time.Duration // it waits again for so long; everything else is for later
}

// Fate says whether a call takes effect, and whether its caller hears of it.
type Fate int

// The fates of a call.
const (
	Answered Fate = iota // it takes effect, and is answered
	Refused              // it has no effect, and fails
	Lost                 // it takes effect, and its answer is lost
	Cut                  // its connection is lost at once, and it takes effect meanwhile
)

// gate holds every call until nothing else moves, and lets them go on one by one. So the order of all that happens is
// decided by the caller of Watch alone, whatever the scheduler of Go does.
type gate struct {
	mu      sync.Mutex
	waiting []*Call
	arrived int
	isOpen  bool
	names   map[string]int // see masked
	delays  time.Duration  // how many there were
	changed chan struct{}  // a call has arrived, or may go on
	stop    chan struct{}
}

// Watch makes a gate for the cluster and begins to hold calls. Each time that nothing moves any more, decide gets the
// calls that may go on, in an order that does not depend on when they arrived, and returns which one does, and how. It
// may call the methods of the cluster, disk and clients. It must be called in a bubble of testing/synctest.
func (c *Cluster) Watch(decide func(waiting []*Call) (pick int, v Verdict)) {
	c.gate = &gate{changed: make(chan struct{}, 1), stop: make(chan struct{}), names: map[string]int{}}
	// By folder and content, because the names of files may differ in each process.
	names, content := c.disk.Names("/"), map[string][]byte{}
	for _, name := range names {
		content[name], _ = c.disk.Read(name)
	}
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(path.Dir(a), path.Dir(b)), bytes.Compare(content[a], content[b]))
	})
	for _, name := range names {
		c.gate.register(name)
	}
	go c.gate.run(decide)
}

// Unwatch ends what Watch began: calls pass unhindered.
func (c *Cluster) Unwatch() {
	g := c.gate
	close(g.stop)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.isOpen = true
	for _, call := range g.waiting {
		call.verdict <- Verdict{}
	}
	g.waiting = nil
}

func (g *gate) run(decide func([]*Call) (int, Verdict)) {
	for {
		synctest.Wait()
		ready := g.ready()
		if len(ready) == 0 {
			select {
			case <-g.changed:
				continue
			case <-g.stop:
				return
			}
		}
		pick, v := decide(ready)
		g.release(ready[pick], v)
	}
}

// ready are the calls that may go on, in order.
func (g *gate) ready() (ready []*Call) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.waiting {
		if (c.server == nil || !c.server.isHung()) && !c.client.holds(c) && !time.Now().Before(c.ready) {
			c.On, c.Late = g.masked(c.name), time.Since(c.arrived) > patience(c.What)
			ready = append(ready, c)
		}
	}
	slices.SortFunc(ready, func(a, b *Call) int {
		return cmp.Or(cmp.Compare(a.Client, b.Client), cmp.Compare(a.What, b.What), cmp.Compare(a.On, b.On),
			cmp.Compare(a.content, b.content), cmp.Compare(a.order, b.order))
	})
	return ready
}

// patience is how long a client waits for an answer: as package load does.
func patience(method string) time.Duration {
	if method == "BulkLoadHFile" {
		return 10 * time.Minute
	}
	return 30 * time.Second
}

func (g *gate) release(c *Call, v Verdict) {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.waiting, c)
	switch {
	case i < 0: // decide has killed its client
	case v.Delay > 0:
		g.delays++ // see Cluster.After
		v.Delay += g.delays * 1000
		c.ready = time.Now().Add(v.Delay)
		time.AfterFunc(v.Delay, g.again)
	default:
		g.waiting = slices.Delete(g.waiting, i, i+1)
		g.register(c.name)
		c.verdict <- v
	}
}

// again has the calls looked at once more.
func (g *gate) again() {
	if g == nil {
		return
	}
	select {
	case g.changed <- struct{}{}:
	default:
	}
}

// pass holds a call until it may go on.
func (g *gate) pass(c *Call) Verdict {
	if g == nil {
		return Verdict{}
	}
	c.verdict, c.arrived = make(chan Verdict, 1), time.Now()
	g.mu.Lock()
	if g.isOpen {
		g.mu.Unlock()
		return Verdict{}
	}
	g.arrived++
	c.order = g.arrived
	g.waiting = append(g.waiting, c)
	g.mu.Unlock()
	g.again()
	return <-c.verdict
}

// drop refuses the calls of a killed client to the disk. Its calls to HBase have been sent, unless it was stopped before.
func (g *gate) drop(client *Client) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = slices.DeleteFunc(g.waiting, func(c *Call) bool {
		gone := c.client == client && (!c.RPC || client.holds(c))
		if gone {
			c.verdict <- Verdict{Fate: Refused}
		}
		return gone
	})
}

// randomParts are the parts of a name that may differ each time that a schedule is played: 32, 16 or 8 hexadecimal digits,
// as in tokens of locks and names of parts of cut files, and the letters of the ledger's documents.
func randomParts(name string) iter.Seq2[int, int] {
	const unserved = "unserved-"
	return func(yield func(from, to int) bool) {
		for i := 0; i < len(name); {
			n := 0
			for n < 32 && i+n < len(name) && (name[i+n] >= '0' && name[i+n] <= '9' || name[i+n] >= 'a' && name[i+n] <= 'f') {
				n++
			}
			switch {
			case n >= 8:
				n = 8 << (bits.Len(uint(n)) - 4) // 8, 16 or 32
			case strings.HasPrefix(name[i:], unserved):
				if n = strings.IndexAny(name[i:], "./"); n < 0 {
					n = len(name) - i
				}
			default:
				i++
				continue
			}
			if !yield(i, i+n) {
				return
			}
			i += n
		}
	}
}

// masked is a name with numbers in place of its random parts. A part gets its number when the first call for it goes on.
func (g *gate) masked(name string) string {
	var text []byte
	done := 0
	for from, to := range randomParts(name) {
		text = append(append(text, name[done:from]...), '#')
		if n, known := g.names[name[from:to]]; known {
			text = strconv.AppendInt(text, int64(n), 10)
		}
		done = to
	}
	return string(append(text, name[done:]...))
}

func (g *gate) register(name string) {
	for from, to := range randomParts(name) {
		part := name[from:to]
		if _, known := g.names[part]; !known {
			g.names[part] = len(g.names)
		}
	}
}

// Client is a process that uses the cluster: its load.Network, and with FS its HDFS.
type Client struct {
	User   string
	Number int

	cluster *Cluster
	mu      sync.Mutex
	dead    bool
	ended   bool
	stopped int // calls that had arrived at the gate when it was stopped; 0: it is running
	conns   []net.Conn
	onKill  func()
}

// Client makes the next client. onKill is called when it is killed.
func (c *Cluster) Client(user string, onKill func()) *Client {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clients++
	return &Client{User: user, Number: c.clients - 1, cluster: c, onKill: onKill}
}

// FS is the cluster's disk as this client uses it.
func (cl *Client) FS() storage.FS { return clientFS{cl.cluster.disk, cl} }

// Kill ends the client: from now on each of its calls fails and has no effect. What it has sent to HBase is done.
func (cl *Client) Kill() {
	cl.mu.Lock()
	cl.dead = true
	conns := cl.conns
	cl.conns = nil
	cl.mu.Unlock()
	for _, conn := range conns {
		conn.Close()
	}
	cl.cluster.gate.drop(cl)
	cl.cluster.disk.abandon(cl)
	cl.onKill()
}

// Stop stops the client for d, as SIGSTOP does, unless it is stopped already. Until then only calls already sent to
// HBase go on; connecting to a server and asking ZooKeeper are not affected. After the time of a lease the NameNode closes
// the files that it was writing. It reports whether it was running.
func (cl *Client) Stop(d time.Duration) bool {
	g := cl.cluster.gate
	g.mu.Lock()
	arrived := g.arrived
	g.mu.Unlock()
	cl.mu.Lock()
	if cl.dead || cl.stopped > 0 {
		cl.mu.Unlock()
		return false
	}
	cl.stopped = arrived
	cl.mu.Unlock()
	var endLeases func()
	endLeases = func() {
		cl.mu.Lock()
		still := cl.stopped == arrived
		cl.mu.Unlock()
		if !still {
			return
		}
		switch closed, able := cl.cluster.disk.endLeases(cl); {
		case !able:
			cl.cluster.After(time.Minute, endLeases)
		case closed:
			cl.cluster.locked(func() { cl.cluster.reach("a lease ends while its writer is stopped") })
		}
	}
	if d > lease {
		cl.cluster.After(lease, endLeases)
	}
	cl.cluster.After(d, func() {
		cl.mu.Lock()
		over := cl.stopped == arrived
		cl.mu.Unlock()
		if over {
			cl.Resume()
		}
	})
	return true
}

// Resume ends Stop before its time. It reports whether the client was stopped.
func (cl *Client) Resume() bool {
	cl.mu.Lock()
	was := cl.stopped > 0
	cl.stopped = 0
	cl.mu.Unlock()
	cl.cluster.gate.again()
	return was
}

// End says that the client's process has ended by itself.
func (cl *Client) End() {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	cl.ended = true
}

// runs reports whether the client's process has not ended.
func (cl *Client) runs() bool {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	return !cl.dead && !cl.ended
}

// holds reports whether a call waits because its client is stopped. Calls without a client are servers' steps.
func (cl *Client) holds(c *Call) bool {
	if cl == nil {
		return false
	}
	cl.mu.Lock()
	defer cl.mu.Unlock()
	return cl.stopped > 0 && (!c.RPC || c.order > cl.stopped)
}

func (cl *Client) isDead() bool {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	return cl.dead
}

// pass holds a call to the disk at the gate.
func (cl *Client) pass(op, name string) Fate {
	if cl.isDead() {
		return Refused
	}
	return cl.cluster.gate.pass(&Call{Client: cl.Number, What: op, name: path.Clean(name), client: cl}).Fate
}

// Master is the master's address, for load.Network.
func (cl *Client) Master(ctx context.Context) (string, error) { return cl.cluster.Master(ctx) }

// Meta is the address of the server that has hbase:meta, for load.Network.
func (cl *Client) Meta(ctx context.Context) (string, error) { return cl.cluster.Meta(ctx) }

// TableState is what ZooKeeper has of a table, for load.Network.
func (cl *Client) TableState(ctx context.Context, name string) ([]byte, int64, error) {
	if cl.isDead() {
		return nil, 0, errKilled
	}
	return cl.cluster.TableState(ctx, name)
}

// Dial connects to a server, for load.Network.
func (cl *Client) Dial(_ context.Context, addr string) (net.Conn, error) {
	conn, err := cl.cluster.dial(addr, cl)
	if err != nil {
		return nil, err
	}
	cl.mu.Lock()
	defer cl.mu.Unlock()
	if cl.dead {
		conn.Close()
		return nil, errKilled
	}
	cl.conns = append(cl.conns, conn)
	return conn, nil
}

// held holds a call to HBase at the gate. If the server's process ends meanwhile, the call has no effect.
func (c *Cluster) held(s *server, cl *Client, r hbasetest.Request) (Verdict, error) {
	if c.gate == nil {
		return Verdict{}, nil
	}
	c.mu.Lock()
	process := s.startCode
	c.mu.Unlock()
	method, endpoint := methodOf(r)
	v := c.gate.pass(&Call{Client: cl.Number, What: method, Endpoint: endpoint, name: c.target(r), RPC: true, Continues: goesOn(r), content: crc32.ChecksumIEEE(r.Param), server: s, client: cl})
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.startCode != process || s.down {
		return v, errEnded
	}
	return v, nil
}
