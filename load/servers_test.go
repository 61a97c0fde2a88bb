package load

import (
	"errors"
	"net"
	"testing"

	"bulkload/internal/hbase"
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
