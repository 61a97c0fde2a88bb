package hbase

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"bulkload/internal/test/hbasetest"
	"bulkload/internal/test/testwords"
)

func dial(t *testing.T, addr string, o Options) *Conn {
	t.Helper()
	c, err := Dial(context.Background(), addr, ClientService, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func echo(r hbasetest.Request) hbasetest.Answer { return hbasetest.Answer{Param: r.Param} }

func TestCallsCrossOnOneConnection(t *testing.T) {
	release := make(chan struct{})
	server := hbasetest.Serve(t, func(r hbasetest.Request) hbasetest.Answer {
		if r.Method == "Slow" {
			<-release
		}
		return echo(r)
	})
	c := dial(t, server.Addr, Options{User: "tina"})
	slow := make(chan string)
	go func() {
		answer, err := c.Call(context.Background(), "Slow", []byte("slow"))
		slow <- fmt.Sprint(string(answer), err)
	}()
	var calls sync.WaitGroup
	for i := range 20 {
		calls.Go(func() {
			want := fmt.Sprint("call", i)
			if got, err := c.Call(context.Background(), "Fast", []byte(want)); err != nil || string(got) != want {
				t.Errorf("got %q, %v, want %q", got, err, want)
			}
		})
	}
	calls.Wait()
	close(release)
	if got := <-slow; got != "slow<nil>" {
		t.Errorf("slow call: %s", got)
	}
}

// TestGreeting: what a server receives first, as recorded from HBase's own client: preamble, length, ConnectionHeader.
func TestGreeting(t *testing.T) {
	server := hbasetest.Serve(t, echo)
	if _, err := dial(t, server.Addr, Options{User: "tina"}).Call(context.Background(), "Any", nil); err != nil {
		t.Fatal(err)
	}
	want := "HBas\x00\x50" + "\x0a\x06\x0a\x04tina" + "\x12\x0dClientService" +
		"\x1a\x2borg.apache.hadoop.hbase.codec.KeyValueCodec"
	if got := server.Connections()[0]; string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRequestFrame(t *testing.T) {
	got, err := appendRequest(nil, 7, "Get", 1000, []byte("p"))
	if err != nil {
		t.Fatal(err)
	}
	want := "0000000f" + // 15 bytes follow
		"0c" + "0807" + "1a03476574" + "2001" + "38e807" + // header: id 7, method Get, request_param, timeout 1000
		"0170"
	if hex.EncodeToString(got) != want {
		t.Errorf("got  %x\nwant %s", got, want)
	}
}

func TestException(t *testing.T) {
	const class = "org.apache.hadoop.hbase.NotServingRegionException"
	server := hbasetest.Serve(t, func(hbasetest.Request) hbasetest.Answer {
		return hbasetest.Answer{Exception: class, Stack: class + ": t,,1. is not online on h\n\tat org.Foo.bar(Foo.java:1)\n"}
	})
	_, err := dial(t, server.Addr, Options{}).Call(context.Background(), "Scan", nil)
	var remote *RemoteError
	if !errors.As(err, &remote) {
		t.Fatalf("got %T %v", err, err)
	}
	if remote.Class != class || remote.Message != "t,,1. is not online on h" || remote.Addr != server.Addr || remote.Method != "Scan" {
		t.Errorf("got %+v", remote)
	}
	if !IsRemote(err, "Other", "NotServingRegionException") || IsRemote(err, "ServingRegionException") || IsRemote(io.EOF, "EOF") {
		t.Error("IsRemote does not know it")
	}
}

func TestExceptionFields(t *testing.T) {
	frame, err := hex.DecodeString("1a" + "0801" + "1216" + "0a03434c53" + "1206434c533a206d" + "1a0168" + "2005" + "2801" + "3001")
	if err != nil {
		t.Fatal(err)
	}
	r, err := parseResponse(frame)
	if want := (RemoteError{Class: "CLS", Message: "m", Host: "h", Port: 5, DoNotRetry: true}); err != nil || r.exception == nil || *r.exception != want {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestLostConnectionFailsAllCalls(t *testing.T) {
	arrived := make(chan string, 2)
	server := hbasetest.Serve(t, func(r hbasetest.Request) hbasetest.Answer {
		arrived <- r.Method
		return hbasetest.Answer{Hangup: r.Method == "Die", Silence: true}
	})
	c := dial(t, server.Addr, Options{})
	waiting := make(chan error)
	go func() {
		_, err := c.Call(context.Background(), "Wait", nil)
		waiting <- err
	}()
	<-arrived
	_, err := c.Call(context.Background(), "Die", nil)
	for _, err := range []error{err, <-waiting} {
		var lost *ConnError
		if !errors.As(err, &lost) || !lost.Sent || lost.Addr != server.Addr {
			t.Errorf("got %+v", err)
		}
	}
	var lost *ConnError
	if _, err := c.Call(context.Background(), "After", nil); !errors.As(err, &lost) || lost.Sent {
		t.Errorf("call on a broken connection: %+v", err)
	}
	if c.Err() == nil {
		t.Error("the connection does not say that it is broken")
	}
}

func TestDeadlineLeavesTheConnection(t *testing.T) {
	server := hbasetest.Serve(t, func(r hbasetest.Request) hbasetest.Answer {
		return hbasetest.Answer{Param: r.Param, Silence: r.Method == "Wait"}
	})
	c := dial(t, server.Addr, Options{})
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	_, err := c.Call(ctx, "Wait", nil)
	var lost *ConnError
	if !errors.As(err, &lost) || !lost.Sent || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if _, err := c.Call(ctx, "Late", nil); !errors.As(err, &lost) || lost.Sent {
		t.Errorf("call after the deadline: %v", err)
	}
	if got, err := c.Call(context.Background(), "Go", []byte("on")); err != nil || string(got) != "on" {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestRetire: when a connection is retired, the calls under way can still end.
func TestRetire(t *testing.T) {
	release := make(chan struct{})
	server := hbasetest.Serve(t, func(r hbasetest.Request) hbasetest.Answer {
		<-release
		return echo(r)
	})
	c := dial(t, server.Addr, Options{})
	slow := make(chan string)
	go func() {
		answer, err := c.Call(context.Background(), "Slow", []byte("slow"))
		slow <- fmt.Sprint(string(answer), err)
	}()
	for c.calls() == 0 {
		time.Sleep(time.Millisecond)
	}
	c.Retire()
	if err := c.Err(); err != nil {
		t.Errorf("with a call under way: %v", err)
	}
	close(release)
	if got := <-slow; got != "slow<nil>" {
		t.Errorf("slow call: %s", got)
	}
	if c.Err() == nil {
		t.Error("open after the last call")
	}
	idle := dial(t, server.Addr, Options{})
	if idle.Retire(); idle.Err() == nil {
		t.Error("open without a call")
	}
}

func (c *Conn) calls() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pending)
}

func TestDialErrors(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().String()
	listener.Close()
	_, err = Dial(context.Background(), addr, MasterService, Options{})
	var conn *ConnError
	if !errors.As(err, &conn) || conn.Sent || conn.Addr != addr {
		t.Errorf("got %v", err)
	}
	hang := func(ctx context.Context, s io.ReadWriter) (io.ReadWriter, error) {
		_, err := s.Read(make([]byte, 1)) // a server that never answers
		return s, err
	}
	server := hbasetest.Serve(t, echo)
	_, err = Dial(context.Background(), server.Addr, ClientService, Options{Handshake: always(hang), DialTimeout: 50 * time.Millisecond})
	if !errors.As(err, &conn) {
		t.Errorf("got %v", err)
	}
}

// upper is a security layer like GSSAPI's: it replaces the stream and inverts every byte.
type upper struct{ below io.ReadWriter }

func (u upper) Write(b []byte) (int, error) { return u.below.Write(flip(bytes.Clone(b))) }

func (u upper) Read(b []byte) (int, error) {
	n, err := u.below.Read(b)
	flip(b[:n])
	return n, err
}

func flip(b []byte) []byte {
	for i := range b {
		b[i] ^= 0xff
	}
	return b
}

func TestHandshakeCanReplaceTheStream(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		if _, err := io.ReadFull(conn, make([]byte, 6)); err != nil {
			return
		}
		layer := upper{conn}
		if _, err := readFrame(layer); err != nil { // connection header
			return
		}
		if _, err := readFrame(layer); err != nil { // request
			return
		}
		_, _ = layer.Write([]byte{0, 0, 0, 6, 2, 8, 1, 2, 'o', 'k'})
	}()
	handshake := func(_ context.Context, s io.ReadWriter) (io.ReadWriter, error) {
		_, err := io.WriteString(s, "HBas\x00\x51")
		return upper{s}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	got, err := dial(t, listener.Addr().String(), Options{Handshake: always(handshake)}).Call(ctx, "Any", nil)
	if err != nil || string(got) != "ok" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestHostileAnswers(t *testing.T) {
	cut := io.ErrUnexpectedEOF.Error()
	for name, test := range map[string]struct{ answer, want string }{
		"huge":               {"\xff\xff\xff\xff", "an HBase server?"},
		"http":               {"HTTP/1.1 400 Bad Request\r\n", "an HBase server?"},
		"promises too much":  {"\x03\xff\xff\xff\x01", cut},
		"cut prefix":         {"\x00\x00", cut},
		"empty frame":        {"\x00\x00\x00\x00", "header"},
		"header too long":    {"\x00\x00\x00\x02\x09\x08", "header"},
		"bad header":         {"\x00\x00\x00\x02\x01\xff", "header"},
		"param too long":     {"\x00\x00\x00\x05\x02\x08\x01\x09\x00", "parse answer"},
		"no call id":         {"\x00\x00\x00\x01\x00", errNoID.Error()},
		"cells missing":      {"\x00\x00\x00\x0a\x06\x08\x01\x1a\x02\x08\x05\x01a\x00", "cells of 5"},
		"cells not promised": {"\x00\x00\x00\x07\x02\x08\x01\x01abc", "cells of 0"},
		"connection refused": {"\x00\x00\x00\x0d\x0c\x08\xff\xff\xff\xff\x0f\x12\x04\x0a\x02BA", "BA"},
	} {
		t.Run(name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			go func() {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				_, _ = io.ReadFull(conn, make([]byte, 76))
				_, _ = io.WriteString(conn, test.answer)
				conn.(*net.TCPConn).CloseWrite()
			}()
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			_, err = dial(t, listener.Addr().String(), Options{}).Call(ctx, "Any", nil)
			if !testwords.Names(err, test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func FuzzFrame(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x06\x02\x08\x01\x02ok"))
	f.Add([]byte("\x00\x00\x00\x0d\x0c\x08\xff\xff\xff\xff\x0f\x12\x04\x0a\x02BA"))
	f.Add([]byte("\x03\xff\xff\xff\x01"))
	f.Add([]byte("\x00\x00\x00\x0b\x06\x08\x01\x1a\x02\x08\x02\x01acc"))
	f.Fuzz(func(t *testing.T, b []byte) {
		frame, err := readFrame(bytes.NewReader(b))
		if err != nil {
			return
		}
		if len(frame) > len(b) {
			t.Errorf("%d bytes out of %d", len(frame), len(b))
		}
		r, err := parseResponse(frame)
		if err == nil && (r == nil || len(r.param)+len(r.cells) > len(frame)) {
			t.Errorf("%+v of %x", r, frame)
		}
	})
}

// always is one handshake for all servers.
func always(h Handshake) func(string, Service) Handshake {
	return func(string, Service) Handshake { return h }
}
