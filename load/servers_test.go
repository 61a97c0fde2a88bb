package load

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"

	"bulkload/internal/hbase"
	"bulkload/internal/test/hbasetest"
)

// TestNoConnectionAfterClose: a connection that is made while the cluster is being closed is closed, too.
func TestNoConnectionAfterClose(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	s := newServers(nil, hbase.Options{User: "tina"})
	s.close()
	if _, err := s.connect(t.Context(), server{listener.Addr().String(), hbase.ClientService}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("connect: %v", err)
	}
	if len(s.conns) != 0 {
		t.Errorf("%d connections are kept", len(s.conns))
	}
}

// closing counts how often a connection is closed.
type closing struct {
	net.Conn
	closed *atomic.Int32
}

func (c closing) Close() error {
	c.closed.Add(1)
	return c.Conn.Close()
}

// TestOneConnectionToAServer: of two connections that were made at the same time one is closed, and both callers get the
// other.
func TestOneConnectionToAServer(t *testing.T) {
	t.Parallel()
	at := server{hbasetest.Serve(t, func(hbasetest.Request) hbasetest.Answer { return hbasetest.Answer{} }).Addr, hbase.ClientService}
	var made []*atomic.Int32
	all := newServers(nil, hbase.Options{User: "tina", Dial: func(ctx context.Context, addr string) (net.Conn, error) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "tcp", addr)
		made = append(made, new(atomic.Int32))
		return closing{conn, made[len(made)-1]}, err
	}})
	t.Cleanup(all.close)
	first, err := all.connect(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := all.connect(t.Context(), at); err != nil || second != first || len(made) != 2 || made[0].Load() != 0 || made[1].Load() == 0 {
		t.Errorf("%p and %p, %v, %d connections", first, second, err, len(made))
	}
}
