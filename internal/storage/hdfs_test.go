package storage

import (
	"errors"
	"io"
	"net"
	"reflect"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/siteconf"
	"bulkload/internal/test/testwords"
)

func site(properties ...string) *siteconf.Conf {
	conf := &siteconf.Conf{}
	for i := 0; i < len(properties); i += 2 {
		conf.Set(properties[i], properties[i+1])
	}
	return conf
}

func TestNameNodes(t *testing.T) {
	two := site("dfs.nameservices", "west, east",
		"dfs.ha.namenodes.west", "a,b", "dfs.namenode.rpc-address.west.a", "w1:8021", "dfs.namenode.rpc-address.west.b", "w2",
		"dfs.ha.namenodes.east", "a, b", "dfs.namenode.rpc-address.east.a", "e1:9000", "dfs.namenode.rpc-address.east.b", "e2:9000",
		"dfs.namenode.rpc-address.single", "s:9001")
	broken := site("dfs.nameservices", "x,y", "dfs.ha.namenodes.x", "1,2", "dfs.namenode.rpc-address.x.1", "x1:1")
	for _, c := range []struct {
		conf      *siteconf.Conf
		authority string
		want      []string
		err       string
	}{
		{two, "west", []string{"w1:8021", "w2:8020"}, ""},
		{two, "east", []string{"e1:9000", "e2:9000"}, ""}, // without west's
		{two, "single", []string{"s:9001"}, ""},
		{two, "host:9000", []string{"host:9000"}, ""},
		{two, "host", []string{"host:8020"}, ""},
		{two, "[::1]", []string{"[::1]:8020"}, ""},
		{broken, "x", nil, "dfs.namenode.rpc-address.x.2"},
		{broken, "y", nil, "dfs.ha.namenodes.y nor dfs.namenode.rpc-address.y"},
	} {
		got, err := nameNodes(c.conf, c.authority)
		if !reflect.DeepEqual(got, c.want) || (err == nil) != (c.err == "") || err != nil &&
			(errcode.Outermost(err) != errcode.SiteMissing || !testwords.Names(err, c.err)) {
			t.Errorf("%s: %q, %v; want %q, %s", c.authority, got, err, c.want, c.err)
		}
	}
}

// TestOneNameOfAFileSystem: all ways to write an authority give the same URI, because records are found by it.
func TestOneNameOfAFileSystem(t *testing.T) {
	service := []string{"dfs.ha.namenodes.west", "a,b", "dfs.namenode.rpc-address.west.a", "w1:8021", "dfs.namenode.rpc-address.west.b", "w2"}
	for _, c := range []struct {
		conf *siteconf.Conf
		want string
		as   []string
	}{
		{site("fs.defaultFS", "hdfs://nn:8020"), "nn", []string{"nn", "nn:8020", "NN:8020", "Nn"}},
		{site(), "nn", []string{"nn", "nn:8020", "NN:8020"}},
		{site(), "nn:9000", []string{"nn:9000", "NN:9000"}},
		{site(), "[::1]", []string{"[::1]", "[::1]:8020"}},
		{site(append(service, "fs.defaultFS", "hdfs://west")...), "west", []string{"west", "w1:8021", "w2", "W2:8020"}},
		{site(append(service, "fs.defaultFS", "hdfs://west")...), "w1", []string{"w1", "w1:8020"}},
		{site(service...), "west", []string{"west"}},
	} {
		for _, authority := range c.as {
			addresses, err := nameNodes(c.conf, authority)
			if got := oneName(c.conf, authority, addresses); got != c.want || err != nil {
				t.Errorf("%s: %s, %v; want %s", authority, got, err, c.want)
			}
		}
	}
}

func TestDefaultAuthority(t *testing.T) {
	for value, want := range map[string]string{
		"hdfs://ns": "ns", "hdfs://h:9000/": "h:9000", "": "", "file:///": "", "viewfs://v": "", "hdfs:///": "",
	} {
		conf := &siteconf.Conf{}
		if value != "" {
			conf.Set("fs.defaultFS", value)
		}
		got, err := defaultAuthority(conf)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", value, got, err)
		}
	}
}

func TestResolveHDFSRefuses(t *testing.T) {
	for _, c := range []struct {
		uri  string
		conf *siteconf.Conf
		code errcode.Code
		want string
	}{
		{"hdfs:///a", nil, errcode.SiteMissing, "fs.defaultFS"},
		{"hdfs:a", site("fs.defaultFS", "hdfs://h"), errcode.Address, ErrRelative.Error()},
		{"hdfs://h/a", site("hadoop.security.authentication", "Kerberos"), errcode.KerberosNoLogin, "Kerberos"},
		{"hdfs://no-such-name.invalid/a", nil, errcode.Address, "no-such-name.invalid"},
	} {
		_, _, err := ResolveAs(c.uri, "/", c.conf, Identity{User: "tina"})
		if errcode.Outermost(err) != c.code || !testwords.Names(err, c.want) || errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: %v; want %q in it", c.uri, err, c.want)
		}
	}
}

func TestByteSize(t *testing.T) {
	for text, want := range map[string]int64{"134217728": 128 << 20, "128m": 128 << 20, "1G": 1 << 30, "64k": 65536,
		"": 0, "m": 0, "-1": 0, "0": 0, "1x": 0, "1mm": 0, "9999999t": 0, "1.5m": 0} {
		if got, err := byteSize(text); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d, %v; want %d", text, got, err, want)
		}
	}
}

// impatient are the timeouts for NameNodes that will not answer.
var impatient = timeouts{dial: time.Second, nameNode: 300 * time.Millisecond, dataNode: time.Second,
	start: 100 * time.Millisecond, retry: 500 * time.Millisecond, complete: time.Second}

func TestHDFSDown(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	address := closed.Addr().String()
	check(t, closed.Close())
	_, err = connectHDFS(site(), "ns", []string{address, address}, Identity{User: "tina"}, impatient)
	wants(t, err, ErrUnavailable)
	if !testwords.Names(err, syscall.ECONNREFUSED.Error(), address) {
		t.Errorf("%v does not say why", err)
	}
}

// TestPatience: the times for a real cluster keep the promise of the command: exit 75 within 60 s.
func TestPatience(t *testing.T) {
	p := hdfsTimeouts(site())
	if worst := p.retry + p.nameNode + 2*p.dial; worst > 56*time.Second {
		t.Errorf("a NameNode that hangs is noticed after up to %v", worst)
	}
	if got := hdfsTimeouts(site("dfs.client.socket-timeout", "5000")).dataNode; got != 5*time.Second {
		t.Errorf("dfs.client.socket-timeout: %v", got)
	}
}

// TestHDFSHangs: a NameNode accepts connections and never answers, e.g. because it is stopped in a debugger or is
// swapping.
func TestHDFSHangs(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer silent.Close()
	begun := time.Now()
	_, err = connectHDFS(site(), "ns", []string{silent.Addr().String()}, Identity{User: "tina"}, impatient)
	wants(t, err, ErrUnavailable)
	if took := time.Since(begun); took < impatient.nameNode {
		t.Errorf("took %v", took)
	}
}

// TestOtherServers: what answers at the NameNode's address is no NameNode. The error says so, and not that a connection
// is closed.
func TestOtherServers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ answer, want string }{
		{"HTTP/1.1 400 Bad Request\r\n\r\n", "HTTP"},
		{"\x00\x00\x7f\xff no frame of that length", "as a NameNode"},
		{"\x16\x03\x03\x00\x02 too long a frame", "as a NameNode"},
		{"\x00\x00\x00\x02\x01\xff no frame", "as a NameNode"},
		{"", "as a NameNode"},
	} {
		other, err := net.Listen("tcp", "127.0.0.1:0")
		check(t, err)
		t.Cleanup(func() { other.Close() })
		go func() {
			for {
				conn, err := other.Accept()
				if err != nil {
					return
				}
				_, _ = conn.Read(make([]byte, 100))
				_, _ = conn.Write([]byte(c.answer))
				conn.Close()
			}
		}()
		_, err = connectHDFS(site(), "ns", []string{other.Addr().String()}, Identity{User: "tina"}, impatient)
		if !testwords.Names(err, c.want) || testwords.Names(err, net.ErrClosed.Error()) {
			t.Errorf("%q: %v", c.answer, err)
		}
	}
}

// serving is a server that hands each connection, with its number from 1 on, to a function. It returns the address.
func serving(t *testing.T, serve func(n int, c net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for n := 1; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { defer c.Close(); serve(n, c) }()
		}
	}()
	return l.Addr().String()
}

// TestRefusedByOneNameNode: a NameNode that lets nobody in without Kerberos may close the connection while the greeting
// is still being written. That stays a refusal, whatever the other NameNode does.
func TestRefusedByOneNameNode(t *testing.T) {
	t.Parallel()
	refuses := serving(t, func(_ int, c net.Conn) {
		_, _ = c.Write(refusalFrame(-1, "org.apache.hadoop.security.AccessControlException", "SIMPLE authentication is not enabled.  Available:[TOKEN, KERBEROS]"))
	})
	cuts := serving(t, func(int, net.Conn) {})
	patient := impatient
	// a reset connection loses the refusal, and is tried again
	patient.start, patient.retry = 15*time.Second, 15*time.Second
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	check(t, closed.Close())
	for name, addresses := range map[string][]string{
		"alone": {refuses}, "both": {refuses, refuses}, "the other is down": {closed.Addr().String(), refuses}, "the other cuts": {refuses, cuts},
	} {
		for range 20 { // whether the greeting is still being written
			_, err := connectHDFS(site(), "ns", addresses, Identity{User: "tina"}, patient)
			if err == nil || errors.Is(err, ErrUnavailable) || !testwords.Names(err, authenticationProperty) ||
				!isFinal(err) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestRepeatedAnswer: an answer that comes twice belongs to no call, so the connection is given up, and the call is
// made on another one. Closing the file system says nothing about the connection that had ended.
func TestRepeatedAnswer(t *testing.T) {
	t.Parallel()
	repeat := false
	address := serving(t, func(n int, c net.Conn) {
		_, err := io.ReadFull(c, make([]byte, len(plainGreeting)))
		for err == nil {
			var frame []byte
			if frame, err = readFrame(c, nil); err != nil {
				break
			}
			call, method, _ := parseCall(frame)
			answer := replyFrame(call, defaultsBody(0))
			switch {
			case call < 0:
				continue
			case method == "getFsStats":
				answer = replyFrame(call, message(nil).number(1, 9).number(2, 1).number(3, 8).number(4, 0).number(5, 0).number(6, 0))
			case method != "getServerDefaults":
				answer = refusalFrame(call, "java.io.IOException", method)
			}
			if _, err = c.Write(answer); err == nil && n == 1 && !repeat {
				repeat = true
				_, err = c.Write(answer)
			}
		}
	})
	patient := impatient
	patient.retry = 15 * time.Second
	h, err := connectHDFS(site(), "ns", []string{address}, Identity{User: "tina"}, patient)
	check(t, err)
	if free, err := h.Free("/"); err != nil || free <= 0 {
		t.Errorf("%d, %v", free, err)
	}
	check(t, h.Close())
}

// TestCloseAfterTheEnd: closing a file system says nothing about a connection that had ended before.
func TestCloseAfterTheEnd(t *testing.T) {
	t.Parallel()
	address := serving(t, func(_ int, c net.Conn) {
		if _, err := io.ReadFull(c, make([]byte, len(plainGreeting))); err != nil {
			return
		}
		for range 2 { // the context and the first call
			frame, err := readFrame(c, nil)
			if err != nil {
				return
			}
			if call, _, _ := parseCall(frame); call >= 0 {
				_, _ = c.Write(replyFrame(call, defaultsBody(0)))
			}
		}
	})
	h, err := connectHDFS(site(), "ns", []string{address}, Identity{User: "tina"}, impatient)
	check(t, err)
	_, err = h.Free("/")
	wants(t, err, ErrUnavailable)
	check(t, h.Close())
}

// TestStoppedCommandsDoNotWait: a call is tried for a short time after the command was stopped, not for as long as a
// NameNode may take to fail over.
func TestStoppedCommandsDoNotWait(t *testing.T) {
	t.Parallel()
	stopped := make(chan struct{})
	h := &hdfsFS{uri: "hdfs://ns", names: &rpcClient{}, timeouts: timeouts{retry: time.Hour, complete: time.Hour, stopped: 300 * time.Millisecond}, stopped: stopped}
	time.AfterFunc(50*time.Millisecond, func() { close(stopped) })
	tries := 0
	err := h.call("stat", "/a", true, func() error { tries++; return errors.New(noNameNode + "connection refused") })
	wants(t, err, ErrUnavailable)
	if tries < 2 { // one more at least; how many depends on the machine
		t.Errorf("%d tries", tries)
	}
	begun := time.Now()
	wants(t, h.call("stat", "/a", true, func() error { return errors.New(noNameNode + "connection refused") }), ErrUnavailable)
	if took := time.Since(begun); took > time.Minute {
		t.Errorf("another call took %v", took)
	}
	begun = time.Now()
	for h.pause(time.Hour) {
		t.Error("it waits for an hour")
	}
	if took := time.Since(begun); took > time.Minute {
		t.Errorf("a pause took %v", took)
	}
}

// TestOtherServerWhileWriting: what is written after an answer of another server fails with that reason.
func TestOtherServerWhileWriting(t *testing.T) {
	t.Parallel()
	other, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer other.Close()
	client, err := net.Dial("tcp", other.Addr().String())
	check(t, err)
	server, err := other.Accept()
	check(t, err)
	defer server.Close()
	_, err = server.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
	check(t, err)
	c := newNameNodeConn(&timedConn{Conn: client, wait: 5 * time.Second}, false, nil)
	if _, err := c.Read(make([]byte, 10)); !errors.Is(err, errHTTP) {
		t.Errorf("read: %v", err)
	}
	if _, err := c.Write([]byte("hrpc")); !errors.Is(err, errHTTP) {
		t.Errorf("write: %v", err)
	}
}

// TestTimedConnBreaks: a connection whose read timed out must not be used again: a late answer might pass for the next
// one.
func TestTimedConnBreaks(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer silent.Close()
	c, err := impatient.dialer(50*time.Millisecond)(t.Context(), "tcp", silent.Addr().String())
	check(t, err)
	check(t, c.SetDeadline(time.Time{}))
	_, err = c.Read(make([]byte, 1))
	var timeout net.Error
	if !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("Read: %v", err)
	}
	if _, err = c.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Write after that: %v", err)
	}
}

// TestLeaseLost: what the NameNode says of a file that is no longer its writer's (FSNamesystem.checkLease, checkUCBlock),
// some of which it says only at certain moments.
func TestLeaseLost(t *testing.T) {
	const io = "java.io.IOException"
	for _, c := range []struct {
		class, text string
		lost        bool
	}{
		{"org.apache.hadoop.hdfs.server.namenode.LeaseExpiredException", "", true},
		{io, "blk_1_2 does not exist.\n\tat …", true},
		{io, "Unexpected BlockUCState: blk_1_2 is COMPLETE but not UNDER_CONSTRUCTION", true},
		{io, "The file blk_1_2 belonged to does not exist or it is not under construction.\n\tat …", true},
		{io, "the blocks are all wrong", false},
	} {
		if isLeaseLost(&remoteError{c.class, c.text}) != c.lost {
			t.Errorf("%s: %s: want %v", c.class, c.text, c.lost)
		}
	}
}
