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

// rpcClient connects to the NameNodes of a file system, for the client library and for our own calls.
type rpcClient struct {
	*security
	addresses []string
	user      string // in whose name calls are made
	dial      dialFunc

	nodes         excludedNodes
	opened, heard atomic.Bool // a server has accepted a connection, and has answered as a NameNode does

	mu    sync.Mutex
	peers map[string]bool // the remote addresses of the connections
	// why the last connection could not be opened, or has ended, by address; nil while it is open
	failures map[string]error
	encrypts bool        // DataNodes want encrypted connections, by the servers' defaults
	active   int         // index in addresses of the one that answered last
	idle     []*callConn // for our next calls, in the order of their last use
	closed   bool        // no connection is kept any more
	denials  []denial    // the newest last
}

// connect is the library's dialer.
func (n *rpcClient) connect(ctx context.Context, _, address string) (net.Conn, error) {
	c, layer, err := n.open(ctx, address)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.failures == nil {
		n.failures, n.peers = map[string]error{}, map[string]bool{}
	}
	n.failures[address] = err
	if err != nil {
		return nil, err
	}
	n.peers[c.RemoteAddr().String()] = true
	n.opened.Store(true)
	wrapped := newNameNodeConn(c, n.kerberos, layer)
	wrapped.ended = func(err error) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.failures[address] = err
	}
	wrapped.encrypts = func(yes bool) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.encrypts = yes
	}
	wrapped.nodes = &n.nodes
	wrapped.heard = &n.heard
	wrapped.refuses = func(e *remoteError) {
		n.nodes.refused(e)
		n.remember(e)
	}
	return wrapped, nil
}

// lost reports whether an error is that of a connection to a NameNode.
func (n *rpcClient) lost(err error) bool {
	var op *net.OpError
	if !errors.As(err, &op) || op.Addr == nil {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.peers[op.Addr.String()]
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
func (n *rpcClient) refusal() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	var refused error
	for _, address := range n.addresses {
		switch err, known := n.failures[address]; {
		case known && err == nil:
			return nil
		case refused == nil && isFinal(err):
			refused = err
		}
	}
	return refused
}

// accepts reports whether a server accepts connections although it has never answered as a NameNode does.
func (n *rpcClient) accepts() bool {
	return n.opened.Load() && !n.heard.Load()
}

// encrypted reports whether DataNodes want encrypted connections.
func (n *rpcClient) encrypted() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.encrypts
}

// isCut reports whether the connection is lost: the other end closed it or was never there, or it can't be trusted.
func isCut(err error) bool {
	var untrusted *untrustedError
	return errors.As(err, &untrusted) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
