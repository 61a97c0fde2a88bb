package storage

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// The client library lacks some calls, such as those about tokens. They are made on connections of our own, of which one is
// kept for the next call.

// answer is what a call of ours gives, and the address of who gave it.
type answer struct {
	body    []byte
	address string
	remote  net.Addr
}

// callConn is a connection for calls of ours, one after another.
type callConn struct {
	*nameNodeConn
	address string // of the NameNode, as the site files have it
	calls   int32  // that were made on it
	used    time.Time
}

// keptIdle is how long a connection without calls is used again: so long Hadoop's client keeps one, too
// (ipc.client.connection.maxidletime).
const keptIdle = 10 * time.Second

// call makes one call of ours at the NameNode that is active. Where no NameNode answers for now the error is ErrUnavailable.
func (n *rpcClient) call(ctx context.Context, method string, request message) (answer, error) {
	n.mu.Lock()
	first := n.active
	n.mu.Unlock()
	var failed error
	final := false
	for i := range n.addresses {
		which := (first + i) % len(n.addresses)
		a, err := n.callAt(ctx, n.addresses[which], method, request)
		if err == nil {
			n.mu.Lock()
			n.active = which
			n.mu.Unlock()
			return a, nil
		}
		failed = errors.Join(failed, fmt.Errorf("%s at NameNode %s: %w", method, n.addresses[which], err))
		final = final || !passes(err)
		var remote *remoteError
		if errors.As(err, &remote) && !remote.later() {
			break // an answer
		}
	}
	if !final {
		failed = fmt.Errorf("%w: %w", ErrUnavailable, failed)
	}
	return answer{}, failed
}

// callAt makes a call at one NameNode, by the connection that is kept, unless the NameNode has closed that meanwhile.
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

// newCallConn connects, logs in and says in whose name calls are made.
func (n *rpcClient) newCallConn(ctx context.Context, address string) (*callConn, error) {
	raw, layer, err := n.open(ctx, address)
	if err != nil {
		return nil, err
	}
	c := &callConn{nameNodeConn: newNameNodeConn(raw, n.kerberos, layer), address: address}
	for _, p := range [][]byte{[]byte(plainGreeting), connectionContext(c.client, n.user)} {
		if _, err := c.Write(p); err != nil {
			raw.Close() // err is the one to report
			return nil, err
		}
	}
	return c, nil
}

// callOn makes a call and keeps the connection where it was answered.
func (n *rpcClient) callOn(c *callConn, method string, request message) (answer, error) {
	body, err := c.ask(method, request)
	var remote *remoteError
	if err == nil || errors.As(err, &remote) {
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
	case r.call != call:
		return nil, malformedf("an answer to call %d where that to call %d is due", r.call, call)
	}
	return r.body, nil
}

// takeIdle takes the connection that is kept, where it is the NameNode's and was used a moment ago.
func (n *rpcClient) takeIdle(address string) *callConn {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.idle
	if c == nil || c.address != address {
		return nil
	}
	n.idle = nil
	if time.Since(c.used) >= keptIdle {
		c.Close()
		return nil
	}
	return c
}

// keep keeps a connection instead of the one that is kept.
func (n *rpcClient) keep(c *callConn) {
	c.used = time.Now()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		c.Close()
		return
	}
	if n.idle != nil {
		n.idle.Close()
	}
	n.idle = c
}

// close closes the connection that is kept, and keeps no other.
func (n *rpcClient) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.idle != nil {
		n.idle.Close()
	}
	n.idle, n.closed = nil, true
}
