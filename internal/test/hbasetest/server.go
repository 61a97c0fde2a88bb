// Package hbasetest is the server's side of HBase's protocol, without a cluster: it accepts connections as a real
// server does, and gives the answers that its caller chooses. Tests use it for faults that a real server does not show
// on demand.
package hbasetest

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// Request is a received call.
type Request struct {
	Method string
	Param  []byte
}

// Answer is the answer to a call: a message, an exception, or no answer at all.
type Answer struct {
	Param     []byte
	Cells     []byte // a block of cells, sent after the message
	Exception string // class
	Stack     string
	Host      string // where a region is now, with a RegionMovedException
	Port      uint64
	// DoNotRetry goes with exceptions that are a DoNotRetryIOException.
	DoNotRetry bool
	Hangup     bool // close the connection instead
	Silence    bool // answer nothing
}

// Server listens on a free port until the test ends.
type Server struct {
	Addr string

	mu          sync.Mutex
	connections [][]byte // the first bytes of each one: preamble and connection header
}

// Serve starts a server. handle is called once for each request, by several goroutines.
func Serve(t testing.TB, handle func(Request) Answer) *Server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	s := &Server{Addr: listener.Addr().String()}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() })
			go ServeConn(conn, s.greeted, handle)
		}
	}()
	return s
}

// Connections returns the preamble and connection header of each connection.
func (s *Server) Connections() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.connections
}

func (s *Server) greeted(header []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.connections = append(s.connections, header)
}

// ServeConn answers the calls of one connection until it ends. greeted gets its preamble and connection header; handle
// is called once for each request, by several goroutines.
func ServeConn(conn net.Conn, greeted func([]byte), handle func(Request) Answer) {
	defer conn.Close()
	preamble := make([]byte, 6)
	if _, err := io.ReadFull(conn, preamble); err != nil {
		return
	}
	header, err := frame(conn)
	if err != nil {
		return
	}
	greeted(append(preamble, header...))
	var write sync.Mutex
	for {
		request, err := frame(conn)
		if err != nil {
			return
		}
		go func() {
			id, r := parse(request)
			a := handle(r)
			write.Lock()
			defer write.Unlock()
			switch {
			case a.Hangup:
				conn.Close()
			case !a.Silence:
				_, _ = conn.Write(encode(id, a))
			}
		}()
	}
}

func frame(r io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err := io.ReadFull(r, b)
	return b, err
}

func parse(b []byte) (id uint64, r Request) {
	header, n := protowire.ConsumeBytes(b)
	r.Param, _ = protowire.ConsumeBytes(b[n:])
	for len(header) > 0 {
		number, t, n := protowire.ConsumeTag(header)
		header = header[n:]
		switch number {
		case 1:
			id, _ = protowire.ConsumeVarint(header)
		case 3:
			method, _ := protowire.ConsumeBytes(header)
			r.Method = string(method)
		}
		header = header[protowire.ConsumeFieldValue(number, t, header):]
	}
	return id, r
}

func encode(id uint64, a Answer) []byte {
	header := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), id)
	if a.Exception != "" {
		exception := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), a.Exception)
		exception = protowire.AppendString(protowire.AppendTag(exception, 2, protowire.BytesType), a.Stack)
		if a.Host != "" {
			exception = protowire.AppendString(protowire.AppendTag(exception, 3, protowire.BytesType), a.Host)
			exception = protowire.AppendVarint(protowire.AppendTag(exception, 4, protowire.VarintType), a.Port)
		}
		exception = protowire.AppendVarint(protowire.AppendTag(exception, 5, protowire.VarintType), protowire.EncodeBool(a.DoNotRetry))
		header = protowire.AppendBytes(protowire.AppendTag(header, 2, protowire.BytesType), exception)
	}
	if len(a.Cells) > 0 {
		meta := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), uint64(len(a.Cells)))
		header = protowire.AppendBytes(protowire.AppendTag(header, 3, protowire.BytesType), meta)
	}
	body := protowire.AppendBytes(nil, header)
	if a.Exception == "" {
		body = append(protowire.AppendBytes(body, a.Param), a.Cells...)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}
