package storage

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"

	"bulkload/internal/sasl"
)

// rpcClient connects to the NameNodes of a file system, for the client library and for calls that the library lacks.
type rpcClient struct {
	*security
	addresses []string
	user      string // in whose name calls are made
	dial      dialFunc

	nodes excludedNodes
	heard atomic.Bool // a server has answered as a NameNode does

	mu       sync.Mutex
	failures map[string]error // of the last connection, by address
	encrypts bool             // DataNodes want encrypted connections, by the servers' defaults
	active   int              // index in addresses of the one that answered last
	idle     *callConn        // for our next call; nil if there is none
	closed   bool             // no connection is kept any more
	denials  []denial         // of the library's calls, the newest last
}

// connect is the library's dialer.
func (n *rpcClient) connect(ctx context.Context, _, address string) (net.Conn, error) {
	c, layer, err := n.open(ctx, address)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.failures == nil {
		n.failures = map[string]error{}
	}
	n.failures[address] = err
	if err != nil {
		return nil, err
	}
	wrapped := newNameNodeConn(c, n.kerberos, layer)
	wrapped.encrypts = func(yes bool) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.encrypts = yes
	}
	wrapped.nodes = &n.nodes
	wrapped.heard = func() { n.heard.Store(true) }
	wrapped.refuses = func(e *remoteError) {
		n.nodes.refused(e)
		n.remember(e)
	}
	return wrapped, nil
}

// open connects to a NameNode and logs in.
func (n *rpcClient) open(ctx context.Context, address string) (net.Conn, sasl.Layer, error) {
	c, err := n.dial(ctx, "tcp", address)
	if err != nil || !n.kerberos {
		return c, nil, err
	}
	layer, err := n.logIn(ctx, c, address)
	if err != nil {
		c.Close()
		return nil, nil, err
	}
	return c, layer, nil
}

// refusal returns why no NameNode lets us in, if all refuse for good, or if one does and the others can't be reached.
func (n *rpcClient) refusal() *loginError {
	n.mu.Lock()
	defer n.mu.Unlock()
	var refused *loginError
	for _, address := range n.addresses {
		switch err, known := n.failures[address]; {
		case known && err == nil:
			return nil
		case refused == nil:
			errors.As(err, &refused)
		}
	}
	return refused
}

// accepts reports whether a server accepts connections, and has never answered as a NameNode does.
func (n *rpcClient) accepts() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, err := range n.failures {
		if err == nil {
			return !n.heard.Load()
		}
	}
	return false
}

// encrypted reports whether DataNodes want encrypted connections.
func (n *rpcClient) encrypted() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.encrypts
}

// isCut reports whether the other end closed the connection, or was never there.
func isCut(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
