package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/encoding/protowire"

	"bulkload/internal/errcode"
	"bulkload/internal/poison"
	"bulkload/internal/sasl"
)

// nameNodeConn is a connection to a NameNode as the client library sees it: one without security, whatever the cluster
// has. The library writes a greeting and frames. The greeting is dropped if we have already sent one, and frames are
// wrapped if the connection is protected. Answers are unwrapped. The server defaults shown to the library never ask it
// to encrypt its connections to DataNodes, because that is done below it.
type nameNodeConn struct {
	net.Conn
	layer  sasl.Layer // nil: in clear
	client []byte
	greet  int    // bytes of the library's greeting that have not been written yet
	plain  bool   // the greeting is passed on
	out    []byte // of an incomplete frame
	token  []byte // the last wrapped frame; its memory is reused

	mu    sync.Mutex
	calls map[int32]string // the methods of the calls that have no answer yet

	encrypts func(bool)         // is called with whether the DataNodes want encryption
	refuses  func(*remoteError) // is called when the server refuses a call
	ended    func(error)        // is called when the connection has ended, with the reason
	heard    *atomic.Bool       // the server has answered as a NameNode does
	nodes    *excludedNodes     // nil: no DataNode is excluded
	in, rest []byte             // the current frame, and its unread rest
}

// newNameNodeConn presents a NameNode's connection to the library. If secured, the login is complete.
func newNameNodeConn(c net.Conn, secured bool, layer sasl.Layer) *nameNodeConn {
	return &nameNodeConn{Conn: c, layer: layer, client: clientID(), greet: len(plainGreeting), plain: !secured,
		calls: map[int32]string{}, heard: &atomic.Bool{}}
}

func (c *nameNodeConn) Write(p []byte) (int, error) {
	n, err := c.write(p)
	if err != nil {
		var refusal *remoteError
		if errors.As(err, &refusal) && !refusal.later() {
			err = c.refused(refusal)
		}
		c.end(err)
	}
	return n, err
}

// end says why the connection has ended.
func (c *nameNodeConn) end(err error) {
	if c.ended != nil {
		c.ended(err)
	}
}

func (c *nameNodeConn) write(p []byte) (int, error) {
	written := len(p)
	if n := min(c.greet, len(p)); n > 0 {
		if c.plain {
			if m, err := c.Conn.Write(p[:n]); err != nil {
				return m, err
			}
		}
		c.greet -= n
		p = p[n:]
	}
	c.out = append(c.out, p...)
	for {
		frame := wholeFrame(c.out)
		if frame == nil {
			return written, nil
		}
		if err := c.send(frame); err != nil {
			return 0, err
		}
		c.out = append(c.out[:0], c.out[len(frame):]...)
	}
}

// wholeFrame returns the first frame of b; nil if it is incomplete.
func wholeFrame(b []byte) []byte {
	if len(b) < 4 {
		return nil
	}
	n := 4 + int64(binary.BigEndian.Uint32(b))
	if int64(len(b)) < n {
		return nil
	}
	return b[:n]
}

func (c *nameNodeConn) send(frame []byte) error {
	if call, method, err := parseCall(frame); err == nil && call >= 0 {
		c.note(call, method)
		if method == "addBlock" && c.nodes != nil {
			frame = c.nodes.addTo(frame)
		}
	}
	if c.layer == nil {
		_, err := c.Conn.Write(frame)
		return err
	}
	var err error
	if c.token, err = c.layer.Wrap(c.token[:0], frame); err != nil {
		return err
	}
	_, err = c.Conn.Write(requestFrame(saslCall, c.client, message(nil).number(2, saslWrap).bytes(3, c.token)))
	poison.Bytes(c.token)
	return err
}

// note remembers a call until it is answered.
func (c *nameNodeConn) note(call int32, method string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[call] = method
}

// noted returns the method of a call, and forgets it; false if the call was not made, or has already been answered.
func (c *nameNodeConn) noted(call int32) (method string, due bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	method, due = c.calls[call]
	delete(c.calls, call)
	return method, due
}

// parseCall returns the number and the method of a call; for other frames, whose second message differs, any name.
func parseCall(frame []byte) (call int32, method string, err error) {
	header, rest, err := delimited(frame[4:])
	if err != nil {
		return 0, "", err
	}
	err = eachField(header, func(f field) error {
		if f.key() == varintField(3) {
			call = int32(f.number>>1) ^ -int32(f.number&1)
		}
		return nil
	})
	if err != nil {
		return 0, "", err
	}
	request, _, err := delimited(rest)
	if err != nil {
		return 0, "", err
	}
	err = eachField(request, func(f field) error {
		if f.key() == bytesField(1) {
			method = string(f.bytes)
		}
		return nil
	})
	return call, method, err
}

func (c *nameNodeConn) Read(p []byte) (int, error) {
	for len(c.rest) == 0 {
		if err := c.next(); err != nil {
			if t, ok := c.Conn.(*timedConn); ok {
				_ = t.first(err) // a later write fails with the same error
			}
			c.Conn.Close() // err is the one to report
			c.end(err)
			return 0, err
		}
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// keptFrame is the largest buffer that is reused for the next answer, in bytes.
const keptFrame = 1 << 20

// next reads an answer.
func (c *nameNodeConn) next() error {
	frame, err := c.frame()
	if err != nil {
		return err
	}
	r, err := parseReply(frame)
	if err != nil {
		return c.untrusted(err)
	}
	c.heard.Store(true)
	if r.refusal != nil && r.call < 0 && !r.refusal.later() { // the library expects no answer without a call
		return c.refused(r.refusal)
	}
	method, due := c.noted(r.call)
	if !due {
		return c.untrusted(malformedf("an answer to call %d, which is not due", r.call))
	}
	c.rest = frame
	switch {
	case r.refusal != nil && c.refuses != nil:
		c.refuses(r.refusal)
	case r.refusal != nil:
	case method == "addBlock" && c.nodes != nil:
		c.nodes.learn(r.body)
	case method == "getServerDefaults":
		c.clearEncryption(r)
	}
	return nil
}

// frame reads a frame, and unwraps it.
func (c *nameNodeConn) frame() ([]byte, error) {
	if cap(c.in) > keptFrame {
		c.in = nil
	}
	poison.Bytes(c.in)
	var err error
	if c.in, err = readFrame(c.Conn, c.in); err != nil {
		if _, malformed := err.(malformedError); malformed {
			err = c.untrusted(err)
		}
		return nil, err
	}
	if c.layer == nil {
		return c.in, nil
	}
	frame, err := c.unwrap(c.in)
	if err != nil {
		return nil, c.untrusted(err)
	}
	return frame, nil
}

// untrustedError is the end of a connection on which something was changed, repeated or lost, or came from another
// sender. Like a connection that was cut, it gets no more calls; a new one may be sound.
type untrustedError struct{ err error }

func (e *untrustedError) Error() string {
	return "connection to the NameNode given up: " + e.err.Error()
}
func (e *untrustedError) Unwrap() error { return e.err }

// untrusted is the error for an answer that can't be the NameNode's. A server that has never answered otherwise, and
// has not logged us in, is not a NameNode.
func (c *nameNodeConn) untrusted(err error) error {
	if c.plain && !c.heard.Load() {
		return errcode.Address.Errorf("%v does not answer as a NameNode does (%w): is this its port for clients?",
			c.RemoteAddr(), err)
	}
	return &untrustedError{err}
}

// refused is the error for the server's refusal of the connection itself.
func (c *nameNodeConn) refused(e *remoteError) error {
	var err error
	switch {
	case c.plain && strings.Contains(e.message, "SIMPLE authentication is not enabled"):
		err = errcode.KerberosNoLogin.Errorf("%w; the cluster uses Kerberos: set hadoop.security.authentication to "+
			"kerberos in the site files that bulkload reads", e)
	case strings.HasSuffix(e.class, "AccessControlException"), strings.HasSuffix(e.class, "AuthorizationException"):
		err = errcode.Permission.Wrap(e)
	case c.plain:
		err = errcode.Address.Wrap(e)
	default:
		err = errcode.KerberosService.Wrap(e)
	}
	return &loginError{"NameNode " + c.RemoteAddr().String(), err}
}

var errNotWrapped = errors.New("the NameNode answers in clear on a protected connection")

// unwrap returns the frame inside a frame. Nothing may come in clear, not even a refusal, because anybody could have
// sent it.
func (c *nameNodeConn) unwrap(frame []byte) ([]byte, error) {
	r, err := parseReply(frame)
	if err != nil {
		return nil, err
	}
	if r.refusal != nil || r.call != saslCall {
		return nil, errNotWrapped
	}
	m, err := parseSasl(r.body)
	if err != nil {
		return nil, err
	}
	if m.state != saslWrap || m.token == nil {
		return nil, errNotWrapped
	}
	inner, err := c.layer.Unwrap(m.token)
	if err != nil {
		return nil, fmt.Errorf("NameNode: %w", err)
	}
	if whole := wholeFrame(inner); len(whole) != len(inner) || whole == nil {
		return nil, malformedf("%d bytes that are no frame in a protected one", len(inner))
	}
	return inner, nil
}

// clearEncryption sets encryptDataTransfer (field 6) to false in the servers' defaults, and reports its former value.
func (c *nameNodeConn) clearEncryption(r response) {
	encrypts := false
	_ = eachField(r.body, func(f field) error { // the library's own parser reports the fault
		if f.key() == bytesField(1) {
			encrypts = clearBool(f.bytes, 6)
		}
		return nil
	})
	if c.encrypts != nil {
		c.encrypts(encrypts)
	}
}

// clearBool sets a boolean field to false, and returns its former value.
func clearBool(b []byte, id protowire.Number) (was bool) {
	for len(b) > 0 {
		f, n, err := nextField(b)
		if err != nil {
			return was
		}
		if f.key() == varintField(id) {
			was = f.number != 0
			_, _, tag := protowire.ConsumeTag(b)
			for i := tag; i < n; i++ {
				b[i] &= 0x80 // keeps the bits that say that the number continues
			}
		}
		b = b[n:]
	}
	return was
}
