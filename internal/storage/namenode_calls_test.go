package storage

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// busyNameNode is a NameNode without security that returns the same answer to each call, and closes a connection after
// some.
type busyNameNode struct {
	net.Listener
	answer   atomic.Pointer[message] // nil: an empty one
	accepted atomic.Int64
	most     int32 // calls of a connection
}

func newBusyNameNode(t *testing.T, most int32) *busyNameNode {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	a := &busyNameNode{Listener: l, most: most}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			a.accepted.Add(1)
			go a.serve(c)
		}
	}()
	return a
}

func (a *busyNameNode) serve(c net.Conn) {
	defer c.Close()
	if _, err := readMore(c, nil, len(plainGreeting), 64); err != nil {
		return
	}
	for answered := int32(0); answered < a.most; {
		frame, err := readFrame(c, nil)
		if err != nil {
			return
		}
		call, _, err := parseCall(frame)
		if err != nil || call == contextCall {
			continue
		}
		var body message
		if b := a.answer.Load(); b != nil {
			body = *b
		}
		if _, err := c.Write(replyFrame(call, body)); err != nil {
			return
		}
		answered++
	}
}

func (a *busyNameNode) client() *rpcClient {
	return &rpcClient{security: &security{}, addresses: []string{a.Addr().String()}, user: "tina", dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}}
}

// TestLostNameNodeIsNamed: a file whose NameNode ends the connection is written again, as after a failed DataNode, but
// no DataNode is blamed.
func TestLostNameNodeIsNamed(t *testing.T) {
	a := newBusyNameNode(t, 1)
	n := a.client()
	c, err := n.connect(t.Context(), "tcp", a.Addr().String())
	check(t, err)
	defer c.Close()
	w := &hdfsWriter{fs: &hdfsFS{uri: "hdfs://nn", names: n}, name: "/a"}
	for at, want := range map[net.Addr]string{c.RemoteAddr(): "the connection to the NameNode has ended", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2), Port: 9866}: "a DataNode failed"} {
		err := w.explain("write", &net.OpError{Op: "read", Net: "tcp", Addr: at, Err: syscall.ECONNRESET})
		if !errors.Is(err, ErrDataNode) || !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", at, err)
		}
	}
}

// TestCallsShareConnections: calls one after another share a connection, and as many connections are kept as calls were
// made at a time.
func TestCallsShareConnections(t *testing.T) {
	a := newBusyNameNode(t, 1000)
	n := a.client()
	ask := func() {
		t.Helper()
		_, err := n.call(t.Context(), "getBlockLocations", message(nil))
		check(t, err)
	}
	accepted := func(want int64, when string) {
		t.Helper()
		if got := a.accepted.Load(); int64(got) != want {
			t.Errorf("%d connections %s, want %d", got, when, want)
		}
	}
	for range 10 {
		ask()
	}
	accepted(1, "for 10 calls")
	taken := n.takeIdle(a.Addr().String())
	ask()
	n.keep(taken)
	ask()
	accepted(2, "for two calls at a time")
	for _, c := range n.idle {
		c.used = time.Now().Add(-keptIdle)
	}
	ask()
	accepted(3, "after a pause")
	if len(n.idle) != 1 {
		t.Errorf("%d idle connections, want 1", len(n.idle))
	}
	n.close()
	ask()
	if n.idle != nil {
		t.Error("a connection is kept after the end")
	}
}

// TestClosedConnectionIsReplaced: a NameNode closes idle connections; the next call opens another one.
func TestClosedConnectionIsReplaced(t *testing.T) {
	a := newBusyNameNode(t, 2)
	n := a.client()
	for i := range 6 {
		if _, err := n.call(t.Context(), "getBlockLocations", message(nil)); err != nil {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if got := a.accepted.Load(); got != 3 {
		t.Errorf("%d connections, want 3", got)
	}
}
