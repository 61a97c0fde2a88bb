package storage

import (
	"bufio"
	"context"
	"errors"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"bulkload/internal/siteconf"
)

// timeouts are how long HDFS may take. The client library itself waits forever.
type timeouts struct {
	dial     time.Duration // to connect
	nameNode time.Duration // for the NameNode to accept or send something
	dataNode time.Duration // the same for a DataNode
	start    time.Duration // to keep trying to reach any NameNode
	retry    time.Duration // to keep trying in a call, e.g. during a failover
	complete time.Duration // for a closed file's last block to be replicated
	stopped  time.Duration // for all of these once the command was stopped
}

// hdfsTimeouts returns the times for a real cluster: NameNodes that are down or hang are detected within about 30 s.
func hdfsTimeouts(conf *siteconf.Conf) timeouts {
	dataNode := time.Minute // dfs.client.socket-timeout's default
	if ms, err := strconv.Atoi(conf.Get("dfs.client.socket-timeout", "")); err == nil && ms > 0 {
		dataNode = time.Duration(ms) * time.Millisecond
	}
	return timeouts{dial: 5 * time.Second, nameNode: 20 * time.Second, dataNode: dataNode,
		start: 12 * time.Second, retry: 25 * time.Second, complete: time.Minute, stopped: 3 * time.Second}
}

// timedConn sets a deadline for each read and write. After a failure it is closed for good, because nobody can know to
// which call a late answer belongs. The library keeps a connection whose read failed, so it gets an error at its next
// write.
type timedConn struct {
	net.Conn
	wait time.Duration
	more atomic.Int64 // additional time for a read, in nanoseconds

	heard atomic.Bool // something was read

	mu     sync.Mutex
	failed error // the first failure: later calls would only say that the connection is closed
}

func (c *timedConn) Read(p []byte) (int, error) {
	if err := c.Conn.SetReadDeadline(time.Now().Add(c.wait + time.Duration(c.more.Load()))); err != nil {
		return 0, c.first(err)
	}
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.heard.Store(true)
	}
	if err != nil {
		err = c.first(err)
		c.Conn.Close() // err is the one to report
	}
	return n, err
}

// waitLonger gives each later read that much more time.
func (c *timedConn) waitLonger(d time.Duration) { c.more.Store(int64(d)) }

// first returns the first failure of the connection.
func (c *timedConn) first(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.failed == nil:
		c.failed = err
	case errors.Is(err, net.ErrClosed):
		return endedError{c.failed}
	}
	return err
}

// endedError reports the use of a connection that failed before.
type endedError struct{ first error }

func (e endedError) Error() string   { return "the connection had ended: " + e.first.Error() }
func (e endedError) Unwrap() []error { return []error{net.ErrClosed, e.first} }

func (c *timedConn) Write(p []byte) (int, error) {
	if err := c.Conn.SetWriteDeadline(time.Now().Add(c.wait)); err != nil {
		return 0, c.first(err)
	}
	n, err := c.Conn.Write(p)
	if err != nil {
		err = c.first(c.answered(err))
		c.Conn.Close()
	}
	return n, err
}

// answered returns why a write has failed: the server's message before it closed the connection, if that can still be
// read. A server that is not a NameNode, or a NameNode that does not let us in, may send one while the greeting is
// being written. If anything was read before, answered returns err.
func (c *timedConn) answered(err error) error {
	if c.heard.Load() || !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) ||
		c.Conn.SetReadDeadline(time.Now().Add(time.Second)) != nil {
		return err
	}
	frame, unread := readFrameUpTo(c.Conn, nil, maxLoginFrame)
	if errors.Is(unread, errHTTP) {
		return errHTTP
	}
	if unread != nil {
		return err
	}
	if r, malformed := parseReply(frame); malformed == nil && r.refusal != nil && r.call < 0 {
		return r.refusal
	}
	return err
}

// SetDeadline does nothing: the library sets "never" on every new connection.
func (c *timedConn) SetDeadline(time.Time) error { return nil }

// smallReads is how much to read at once if less is asked for. A packet of a block begins with its lengths. Most of
// what follows is read directly, without the buffer.
const smallReads = 4 << 10

// packetConn is a connection to a DataNode.
type packetConn struct {
	timedConn
	small *bufio.Reader
}

func newPacketConn(c net.Conn, wait time.Duration, buffer int) *packetConn {
	p := &packetConn{timedConn: timedConn{Conn: c, wait: wait}}
	p.small = bufio.NewReaderSize(&p.timedConn, buffer)
	return p
}

func (c *packetConn) Read(p []byte) (int, error) { return c.small.Read(p) }

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// dialer connects within p.dial. Each read and write on the connection has the timeout wait.
func (p timeouts) dialer(wait time.Duration) dialFunc {
	return p.connect(func(c net.Conn) net.Conn { return &timedConn{Conn: c, wait: wait} })
}

// packets is dialer for DataNodes.
func (p timeouts) packets() dialFunc {
	return p.connect(func(c net.Conn) net.Conn { return newPacketConn(c, p.dataNode, smallReads) })
}

// protectedReads is how much to read at once from a DataNode that sends small packets or tokens.
const protectedReads = 64 << 10

// tokens is dialer for DataNodes whose connections are protected.
func (p timeouts) tokens() dialFunc {
	return p.connect(func(c net.Conn) net.Conn { return newPacketConn(c, p.dataNode, protectedReads) })
}

func (p timeouts) connect(wrap func(net.Conn) net.Conn) dialFunc {
	d := &net.Dialer{Timeout: p.dial, KeepAlive: 30 * time.Second}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := d.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return wrap(c), nil
	}
}
