package storage

import (
	"context"
	"errors"
	"io"
	"net"
	"time"
)

// checkedConn is a connection to a DataNode as the client library sees it. When the library reads a block, bytes are
// passed on only if their checksums match. The library (v2.4.0) compares them too, but returns them all the same. An
// error of the connection makes it continue at the next DataNode, with the next byte that it needs. Other operations
// pass unchanged. Authentication and encryption belong below this connection.
type checkedConn struct {
	net.Conn
	address   string
	replicas  *replicas
	operation []byte // the written part, while that can still be a READ_BLOCK operation
	other     bool   // it is another operation
	stream    *blockStream
}

func (c *checkedConn) Write(p []byte) (int, error) {
	c.watch(p)
	n, err := c.Conn.Write(p)
	if request, ok := parseOperation(c.operation); ok && err != nil {
		err = c.fail(request, err)
	}
	return n, err
}

// watch detects which operation is written.
func (c *checkedConn) watch(p []byte) {
	if c.other {
		return
	}
	c.operation = append(c.operation, p[:min(len(p), maxOperation+1-len(c.operation))]...)
	if len(c.operation) < operationLead || beginsRead(c.operation) {
		return
	}
	c.other, c.operation = true, nil
}

func (c *checkedConn) Read(p []byte) (int, error) {
	if c.other {
		return c.Conn.Read(p)
	}
	if c.stream == nil {
		request, ok := parseOperation(c.operation)
		if !ok {
			c.Conn.Close() // the error below is the one to report
			return 0, errors.New("read from a DataNode: the request is not one that can be checked")
		}
		c.stream = &blockStream{in: c.Conn, request: request, bare: c.replicas.isBare(request.block)}
	}
	n, err := c.stream.Read(p)
	if err != nil && err != io.EOF {
		err = c.fail(c.stream.request, err)
	}
	return n, err
}

// fail closes a connection, because the library does not when it continues at another DataNode.
func (c *checkedConn) fail(request readRequest, err error) error {
	c.Conn.Close() // err is the one to report
	return c.replicas.failedAt(c.address, request, err)
}

// checked adds the check to a dialer's connections. A DataNode that can't be reached is reported at the first write,
// because only the request says which block was wanted.
func (r *replicas) checked(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			c = unreached{err}
		}
		return &checkedConn{Conn: c, address: address, replicas: r}, nil
	}
}

// unreached is a connection that could not be made.
type unreached struct{ err error }

func (c unreached) Read([]byte) (int, error)         { return 0, c.err }
func (c unreached) Write([]byte) (int, error)        { return 0, c.err }
func (c unreached) Close() error                     { return nil }
func (c unreached) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (c unreached) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (c unreached) SetDeadline(time.Time) error      { return nil }
func (c unreached) SetReadDeadline(time.Time) error  { return nil }
func (c unreached) SetWriteDeadline(time.Time) error { return nil }
