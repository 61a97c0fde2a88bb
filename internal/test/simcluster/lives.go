package simcluster

import (
	"errors"
	"fmt"
	"time"

	"bulkload/internal/hbase"
)

// The lives of region servers. Each has a session: if its process says nothing for that long, because it hangs or is
// gone, the master opens its regions on the other servers.
const (
	session  = 40 * time.Second // after which the regions of a server that hangs are opened elsewhere
	takeover = 10 * time.Second // after which those of a process that has ended are
	restart  = 20 * time.Second // after which a process that has ended is started again
	// unaware is how long a server that wakes up after its session acts as if its regions were still its own.
	unaware = time.Second
)

// staleRegion is a region as a server has it that hung past its session: with the files that it knows of.
type staleRegion struct {
	table  *table
	region *region
}

func (s *server) isHung() bool { return s.hung.Load() }

// alive reports whether a server can open regions.
func (s *server) alive() bool { return !s.down && !s.isHung() && s.stale == nil }

// Hang stops the process of the i-th region server, counted from 0, and resumes it after d, unless Wake resumes it earlier.
// After more than session its regions are open elsewhere by then. It serves them for a moment all the same, even to
// readers and loads that came to it before; then it ends, and is started again. It reports whether the process was alive.
func (c *Cluster) Hang(i int, d time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.regionServer(i)
	if !s.alive() {
		return false
	}
	s.hung.Store(true)
	s.hangs++
	n := s.hangs
	unlessAwake := func(do func(*server)) func() {
		return func() {
			c.locked(func() {
				if s.isHung() && s.hangs == n {
					do(s)
				}
			})
		}
	}
	if d > session {
		c.After(session, unlessAwake(c.expire))
	}
	c.After(d, unlessAwake(c.wake))
	return true
}

// Wake resumes all processes that hang. It reports whether there was one.
func (c *Cluster) Wake() (woken bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.servers {
		if s.isHung() {
			c.wake(s)
			woken = true
		}
	}
	return woken
}

func (c *Cluster) wake(s *server) {
	s.hung.Store(false)
	c.openHomeless()
	if s.stale != nil {
		c.After(unaware, func() { c.locked(func() { c.end(s) }) })
		c.After(unaware+restart, func() { c.locked(func() { c.start(s) }) })
	}
}

// Crash ends the process of the i-th region server. Its regions are opened elsewhere after some seconds, and the
// process is started again. It reports whether the process was alive.
func (c *Cluster) Crash(i int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.regionServer(i)
	if !s.alive() {
		return false
	}
	c.end(s)
	c.After(takeover, func() { c.locked(func() { c.expire(s) }) })
	c.After(restart, func() { c.locked(func() { c.start(s) }) })
	return true
}

// CrashMaster ends the master's process, and starts it again after d. Until then no region is opened. It reports whether
// the process was alive.
func (c *Cluster) CrashMaster(d time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	master := c.servers[0]
	if master.down {
		return false
	}
	c.end(master)
	c.After(d, func() { c.locked(func() { c.start(master) }) })
	return true
}

// MoveMeta moves hbase:meta to the i-th region server, counted from 0, or to the master if i is -1, where it is on
// clusters with hbase.balancer.tablesOnMaster.
func (c *Cluster) MoveMeta(i int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.servers[0]
	if i >= 0 {
		s = c.regionServer(i)
	}
	if c.servers[0].down || !s.alive() || !c.metaServer.alive() {
		return errors.New("a server does not answer")
	}
	c.metaServer = s
	return nil
}

// Deny makes the i-th region server refuse all requests of a load for d, as one does that a grant has not reached yet.
func (c *Cluster) Deny(i int, d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.regionServer(i)
	s.denies++
	c.After(d, func() { c.locked(func() { s.denies-- }) })
}

// After calls a function after d, in a goroutine of its own. Go chooses what comes first of what happens at the same
// instant, so no two of these calls are at the same one, or at one at which a client's pause ends, which is a multiple
// of a millisecond after the last.
func (c *Cluster) After(d time.Duration, do func()) {
	time.AfterFunc(d+time.Duration(c.timers.Add(1)), do)
}

func (c *Cluster) regionServer(i int) *server { return c.servers[1+i%(len(c.servers)-1)] }

// locked calls a function of a timer.
func (c *Cluster) locked(do func()) {
	c.mu.Lock()
	do()
	c.mu.Unlock()
	c.gate.again()
}

// end ends a process: what it was doing stops where it is.
func (c *Cluster) end(s *server) {
	s.down, s.stale, s.staleMeta = true, nil, nil
	s.disconnect()
}

func (c *Cluster) start(s *server) {
	s.down, s.expired, s.startCode = false, false, c.now()
	c.openHomeless()
}

// expire opens the regions of a server elsewhere, hbase:meta before all others.
func (c *Cluster) expire(s *server) {
	if s.expired = true; !s.down {
		s.stale = map[string]*staleRegion{}
	}
	if c.metaServer == s && !s.down {
		s.staleMeta = c.meta()
	}
	for _, t := range c.ordered() {
		for _, r := range t.regions {
			if !r.open || r.server != s {
				continue
			}
			if s.stale != nil {
				s.stale[string(r.name)] = &staleRegion{t, copyOf(r)}
				c.reach("a region is open twice")
			}
			// A number that was given to a load request is only in the memory of the server, until a file has it.
			r.open, r.busy, r.seq = false, 0, max(r.openSeq, r.lastSeq())
		}
	}
	c.openHomeless()
}

// openHomeless opens the regions of enabled tables that no server has open, and before them hbase:meta if its server's
// session has ended, if a server and the master are alive.
func (c *Cluster) openHomeless() {
	if next := c.after(c.metaServer); c.metaServer.expired && !c.servers[0].down && next != nil {
		c.metaServer = next
	}
	for _, t := range c.ordered() {
		for _, r := range t.regions {
			if t.state == hbase.Enabled && !r.open {
				c.open(r, r.server)
			}
		}
	}
}

// wait is why a region can't be closed now; nil if it can. HBase's procedures wait for its server then, and for the
// loads that are under way in it.
func (r *region) wait() error {
	switch {
	case r.open && (r.server.down || r.server.isHung()):
		return fmt.Errorf("the server of region %q does not answer", r.name)
	case r.open && r.shown.at != r.opened:
		return fmt.Errorf("region %q is being opened", r.name)
	case r.busy > 0:
		return fmt.Errorf("region %q has %d load requests", r.name, r.busy)
	}
	return nil
}
