package load

import (
	"context"
	"errors"
	"maps"
	"net"
	"sync"

	"bulkload/internal/hbase"
)

// servers keeps one connection to each server, and replaces one that broke.
type servers struct {
	finder  finder
	options hbase.Options

	mu     sync.Mutex
	conns  map[server]*hbase.Conn
	closed bool // no connection may be added: nobody would close it
}

type server struct {
	addr    string
	service hbase.Service
}

func newServers(finder finder, options hbase.Options) *servers {
	return &servers{finder: finder, options: options, conns: make(map[server]*hbase.Conn)}
}

// master is a connection to the currently active master.
func (s *servers) master(ctx context.Context) (*hbase.Conn, error) {
	s.mu.Lock()
	for key, conn := range s.conns {
		if key.service == hbase.MasterService && conn.Err() == nil {
			s.mu.Unlock()
			return conn, nil
		}
	}
	s.mu.Unlock()
	addr, err := s.finder.Master(ctx)
	if err != nil {
		return nil, err
	}
	return s.connect(ctx, server{addr, hbase.MasterService})
}

// region is a connection to a region server.
func (s *servers) region(ctx context.Context, addr string) (*hbase.Conn, error) {
	key := server{addr, hbase.ClientService}
	s.mu.Lock()
	conn := s.conns[key]
	s.mu.Unlock()
	if conn != nil && conn.Err() == nil {
		return conn, nil
	}
	return s.connect(ctx, key)
}

func (s *servers) connect(ctx context.Context, key server) (*hbase.Conn, error) {
	conn, err := hbase.Dial(ctx, key.addr, key.service, s.options)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		conn.Close()
		return nil, &hbase.ConnError{Addr: key.addr, Err: net.ErrClosed}
	}
	if other := s.conns[key]; other != nil && other.Err() == nil { // another goroutine was faster
		conn.Close()
		return other, nil
	}
	s.conns[key] = conn
	return conn, nil
}

// overdue makes the next call open a new connection if a call got no answer in time, because the old connection may be
// dead without notice. Calls in flight may continue.
func (s *servers) overdue(conn *hbase.Conn, err error) {
	if conn == nil || !errors.Is(err, context.DeadlineExceeded) {
		return
	}
	s.drop(conn)
	conn.Retire()
}

// forget drops a connection to a server that is of no use now, such as an inactive master.
func (s *servers) forget(conn *hbase.Conn) {
	s.drop(conn)
	conn.Close()
}

// drop gives the connection no further calls. It stays open.
func (s *servers) drop(conn *hbase.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.conns, func(_ server, other *hbase.Conn) bool { return other == conn })
}

func (s *servers) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, conn := range s.conns {
		conn.Close()
	}
	s.closed = true
}
