// Package hbase is a small RPC connection to HBase's master and region servers, with the messages that loading and
// reading need.
//
// It uses the protocol of HBase 2 (hbase-protocol-shaded's RPC.proto, org.apache.hadoop.hbase.ipc): a preamble, a
// connection header, then frames of requests and responses, matched by their call ids. Messages are those of gohbase's
// pb, which are HBase 1's; HBase 2's additions are encoded by hand, with the .proto's name and the fields' numbers
// beside them. Cells come in blocks after the message. It logs only the calls themselves, if a log is given.
package hbase

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"bulkload/internal/calllog"

	"google.golang.org/protobuf/proto"
)

// Service is the service that a connection uses; each connection uses one.
type Service string

// The services of HBase's servers that loading needs.
const (
	ClientService Service = "ClientService" // of region servers
	MasterService Service = "MasterService"
)

// Options are the settings of a connection.
type Options struct {
	User string // effective user; with Kerberos the full principal
	// Handshake makes the handshake with a server ("host:port"); nil: Simple.
	Handshake func(addr string, s Service) Handshake
	// Dial makes the connection to a server ("host:port"); nil: by TCP.
	Dial        func(ctx context.Context, addr string) (net.Conn, error)
	DialTimeout time.Duration // for the connection and the handshake; 0: 10 s
	Log         *slog.Logger  // gets each call, at calllog's level; nil: no log
}

// Conn is a connection to one server. Its methods are safe for concurrent use; answers may come in any order.
type Conn struct {
	addr   string
	socket net.Conn
	stream io.ReadWriter // the socket, or the security layer on top of it
	log    *slog.Logger  // see Options

	write sync.Mutex // held while a frame is written

	mu      sync.Mutex
	lastID  uint32
	pending map[uint32]chan<- answer
	broken  error // why no more calls can be made
	retired bool  // to be closed after its last call
}

// Reply is the answer to a call.
type Reply struct {
	Message []byte // the encoded response message
	Cells   []byte // the block of cells that follows, as package cellblock reads it; usually empty
}

type answer struct {
	reply Reply
	err   error
}

// Dial connects to a server ("host:port"). Its errors are *ConnError.
func Dial(ctx context.Context, addr string, service Service, o Options) (c *Conn, err error) {
	begun := time.Now()
	defer func() { calllog.Call(ctx, o.Log, addr, "connect to "+string(service), begun, err) }()
	handshake := Handshake(Simple)
	if o.Handshake != nil {
		handshake = o.Handshake(addr, service)
	}
	if o.DialTimeout == 0 {
		o.DialTimeout = 10 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, o.DialTimeout)
	defer cancel()
	if o.Dial == nil {
		o.Dial = dialTCP
	}
	socket, err := o.Dial(ctx, addr)
	if err != nil {
		return nil, &ConnError{Addr: addr, Err: err}
	}
	stream, err := greet(ctx, socket, service, o.User, handshake)
	if err != nil {
		socket.Close()
		return nil, &ConnError{Addr: addr, Err: err}
	}
	c = &Conn{addr: addr, socket: socket, stream: stream, log: o.Log, pending: make(map[uint32]chan<- answer)}
	go c.receive()
	return c, nil
}

func dialTCP(ctx context.Context, addr string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", addr)
}

// greet does everything that comes before the first call.
func greet(ctx context.Context, socket net.Conn, service Service, user string,
	handshake Handshake) (io.ReadWriter, error) {
	stop := context.AfterFunc(ctx, func() { socket.SetDeadline(time.Now()) })
	defer stop()
	stream, err := handshake(ctx, socket)
	if err == nil {
		err = sendHeader(stream, service, user)
	}
	if err != nil {
		return nil, fmt.Errorf("greet: %w", err)
	}
	if !stop() { // the deadline is set, or is being set
		return nil, ctx.Err()
	}
	return stream, nil
}

func sendHeader(stream io.Writer, service Service, user string) error {
	header, err := appendConnectionHeader(nil, service, user)
	if err == nil {
		_, err = stream.Write(header)
	}
	return err
}

// Err is why the connection can make no more calls; nil while it can.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.broken
}

// Retire closes the connection once no call is in progress. It is for a connection that returns no answers, but must
// not interrupt a call that may take long.
func (c *Conn) Retire() {
	c.mu.Lock()
	c.retired = true
	idle := len(c.pending) == 0
	c.mu.Unlock()
	if idle {
		c.fail(net.ErrClosed)
	}
}

// Close ends the connection. Calls in progress fail.
func (c *Conn) Close() error {
	c.fail(net.ErrClosed)
	return nil
}

// Call calls a method with an encoded request message and returns the encoded response message. The server gets ctx's
// deadline, too, and drops a call that has waited too long. The error is a *RemoteError if the server answered with an
// exception; otherwise it is a *ConnError, which also reports whether the server may have seen the request.
func (c *Conn) Call(ctx context.Context, method string, param []byte) ([]byte, error) {
	reply, err := c.Exchange(ctx, method, param)
	return reply.Message, err
}

// Exchange is Call for a method whose answer may carry cells.
func (c *Conn) Exchange(ctx context.Context, method string, param []byte) (reply Reply, err error) {
	begun := time.Now()
	defer func() { calllog.Call(ctx, c.log, c.addr, method, begun, err) }()
	if err := ctx.Err(); err != nil {
		return Reply{}, c.connError(method, false, err)
	}
	answers := make(chan answer, 1)
	id, err := c.register(answers)
	if err != nil {
		return Reply{}, c.connError(method, false, err)
	}
	defer c.forget(id)
	frame, err := appendRequest(nil, id, method, timeoutMillis(ctx), param)
	if err != nil {
		return Reply{}, c.connError(method, false, err)
	}
	if err := c.send(ctx, frame); err != nil {
		return Reply{}, c.connError(method, true, err)
	}
	select {
	case a := <-answers:
		return a.reply, c.named(method, a.err)
	case <-ctx.Done():
		return Reply{}, c.connError(method, true, fmt.Errorf("no answer: %w", ctx.Err()))
	}
}

// ask calls a method whose answer may carry cells.
func (c *Conn) ask(ctx context.Context, method string, request proto.Message) (Reply, error) {
	param, err := proto.Marshal(request)
	if err != nil {
		return Reply{}, c.connError(method, false, err)
	}
	return c.Exchange(ctx, method, param)
}

// exchange calls a method with a message and reads its answer into answer, which may be nil.
func (c *Conn) exchange(ctx context.Context, method string, request, answer proto.Message) error {
	reply, err := c.ask(ctx, method, request)
	if err != nil || answer == nil {
		return err
	}
	if err := proto.Unmarshal(reply.Message, answer); err != nil {
		return c.malformed(method, err)
	}
	return nil
}

func (c *Conn) malformed(method string, err error) error {
	return c.connError(method, true, fmt.Errorf("%w: %w", ErrMalformed, err))
}

func (c *Conn) connError(method string, sent bool, err error) error {
	return &ConnError{Addr: c.addr, Method: method, Sent: sent, Err: err}
}

// named adds the called method to an answer's error.
func (c *Conn) named(method string, err error) error {
	var remote *RemoteError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &remote):
		named := *remote
		named.Addr, named.Method = c.addr, method
		return &named
	}
	return c.connError(method, true, err)
}

func (c *Conn) register(answers chan<- answer) (uint32, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken != nil {
		return 0, c.broken
	}
	c.lastID = (c.lastID + 1) & (1<<31 - 1) // Java's ids are signed, negative ones have another meaning
	c.pending[c.lastID] = answers
	return c.lastID, nil
}

func (c *Conn) forget(id uint32) {
	c.mu.Lock()
	delete(c.pending, id)
	last := c.retired && len(c.pending) == 0
	c.mu.Unlock()
	if last {
		c.fail(net.ErrClosed)
	}
}

func (c *Conn) send(ctx context.Context, frame []byte) error {
	c.write.Lock()
	defer c.write.Unlock()
	stop := context.AfterFunc(ctx, func() { c.socket.SetWriteDeadline(time.Now()) })
	_, err := c.stream.Write(frame)
	switch {
	case err != nil:
		c.fail(err) // half a frame may have been sent
	case !stop():
		// The write deadline that was set meanwhile would fail the next call. For other calls this is no cancellation.
		c.fail(errGivenUp)
		return ctx.Err()
	}
	return err
}

var errGivenUp = errors.New("another call was given up while it was sent")

func timeoutMillis(ctx context.Context) uint32 {
	deadline, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	return uint32(min(max(time.Until(deadline).Milliseconds(), 1), 1<<31-1))
}

// receive delivers answers until the connection ends.
func (c *Conn) receive() {
	in := bufio.NewReaderSize(c.stream, 64<<10)
	for {
		frame, err := readFrame(in)
		if err != nil {
			c.fail(err)
			return
		}
		r, err := parseResponse(frame)
		if err != nil {
			c.fail(err)
			return
		}
		if !c.deliver(r) {
			return
		}
	}
}

// deliver passes an answer to its call. An answer without a call id concerns the connection, which the server then
// closes. An answer that no call waits for any longer is dropped.
func (c *Conn) deliver(r *response) bool {
	a := answer{reply: Reply{Message: r.param, Cells: r.cells}}
	if r.exception != nil {
		a.err = r.exception
	}
	if r.callID == noCallID {
		if a.err == nil {
			a.err = errNoID
		}
		c.fail(a.err)
		return false
	}
	c.mu.Lock()
	answers := c.pending[r.callID]
	delete(c.pending, r.callID)
	c.mu.Unlock()
	if answers != nil {
		answers <- a
	}
	return true
}

// fail ends the connection and all calls on it; the first reason is kept.
func (c *Conn) fail(err error) {
	c.mu.Lock()
	if c.broken == nil {
		c.broken = err
	}
	waiting := c.pending
	c.pending = make(map[uint32]chan<- answer)
	reason := c.broken
	c.mu.Unlock()
	c.socket.Close()
	for _, answers := range waiting {
		answers <- answer{err: reason}
	}
}
