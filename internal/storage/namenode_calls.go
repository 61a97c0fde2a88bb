package storage

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"
)

// The client library lacks some calls, such as those for tokens, and makes one call at a time. Ours use separate
// connections, which are kept for the next calls.

// answer is the answer to one of our calls, and the address of the NameNode.
type answer struct {
	body    []byte
	address string
	remote  net.Addr
}

// callConn is a connection for our calls, one after another.
type callConn struct {
	*nameNodeConn
	address string // of the NameNode, as the site files have it
	calls   int32  // number of calls made on it so far
	used    time.Time
}

// keptIdle is how long an idle connection is kept for the next call: as long as Hadoop's client keeps one
// (ipc.client.connection.maxidletime).
const keptIdle = 10 * time.Second

// maxIdle is how many idle connections are kept at most.
const maxIdle = 16

// call makes one of our calls at the active NameNode. If no NameNode answers at the moment, the error is
// ErrUnavailable.
func (n *rpcClient) call(ctx context.Context, method string, request message) (answer, error) {
	n.mu.Lock()
	first := n.active
	n.mu.Unlock()
	var failed, final error
	for i := range n.addresses {
		which := (first + i) % len(n.addresses)
		a, err := n.callAt(ctx, n.addresses[which], method, request)
		if err == nil {
			n.mu.Lock()
			n.active = which
			n.mu.Unlock()
			return a, nil
		}
		said := fmt.Errorf("%s at NameNode %s: %w", method, n.addresses[which], err)
		if final == nil && !passes(err) {
			final = said
		} else {
			failed = errors.Join(failed, said)
		}
		var remote *remoteError
		if errors.As(err, &remote) && !remote.later() {
			break // an answer
		}
	}
	if final != nil { // a refusal counts, whatever the other NameNode does
		return answer{}, errors.Join(final, failed)
	}
	return answer{}, fmt.Errorf("%w: %w", ErrUnavailable, failed)
}

// callAt makes a call at one NameNode, on the idle connection unless the NameNode has closed it meanwhile.
func (n *rpcClient) callAt(ctx context.Context, address, method string, request message) (answer, error) {
	if c := n.takeIdle(address); c != nil {
		a, err := n.callOn(c, method, request)
		if !isCut(err) {
			return a, err
		}
	}
	c, err := n.newCallConn(ctx, address)
	if err != nil {
		return answer{}, err
	}
	return n.callOn(c, method, request)
}

// newCallConn connects, logs in and names the user for the calls.
func (n *rpcClient) newCallConn(ctx context.Context, address string) (*callConn, error) {
	raw, layer, err := n.open(ctx, address)
	if err != nil {
		return nil, err
	}
	c := &callConn{nameNodeConn: newNameNodeConn(raw, n.kerberos, layer), address: address}
	c.heard = &n.heard
	for _, p := range [][]byte{[]byte(plainGreeting), connectionContext(c.client, n.user)} {
		if _, err := c.Write(p); err != nil {
			raw.Close() // err is the one to report
			return nil, err
		}
	}
	return c, nil
}

// callOn makes a call and keeps the connection if it was answered.
func (n *rpcClient) callOn(c *callConn, method string, request message) (answer, error) {
	body, err := c.ask(method, request)
	var remote *remoteError
	if errors.As(err, &remote) {
		n.remember(remote)
	}
	if err == nil || remote != nil {
		n.keep(c)
	} else {
		c.Close() // err is the one to report
	}
	return answer{body, c.address, c.RemoteAddr()}, err
}

// ask makes a call and reads its answer.
func (c *callConn) ask(method string, request message) ([]byte, error) {
	call := c.calls
	c.calls++
	if _, err := c.Write(callFrame(call, c.client, method, request)); err != nil {
		return nil, err
	}
	frame, err := readFrame(c, nil)
	if err != nil {
		return nil, noEOF(err)
	}
	r, err := parseReply(frame)
	switch {
	case err != nil:
		return nil, err
	case r.refusal != nil:
		return nil, r.refusal
	}
	return r.body, nil
}

// takeIdle takes the kept connection to this NameNode that was used last, if that was recently.
func (n *rpcClient) takeIdle(address string) *callConn {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.idle = slices.DeleteFunc(n.idle, func(c *callConn) bool {
		old := time.Since(c.used) >= keptIdle
		if old {
			c.Close()
		}
		return old
	})
	for i, c := range slices.Backward(n.idle) {
		if c.address == address {
			n.idle = slices.Delete(n.idle, i, i+1)
			return c
		}
	}
	return nil
}

// keep keeps a connection for the next call.
func (n *rpcClient) keep(c *callConn) {
	c.used = time.Now()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed || len(n.idle) == maxIdle {
		c.Close()
		return
	}
	n.idle = append(n.idle, c)
}

// close closes the kept connections, and keeps no other.
func (n *rpcClient) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.idle {
		c.Close()
	}
	n.idle, n.closed = nil, true
}
