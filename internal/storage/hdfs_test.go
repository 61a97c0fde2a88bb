package storage

import (
	"errors"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"

	"bulkload/internal/siteconf"
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
		{broken, "x", nil, "dfs.namenode.rpc-address.x.2 is not set"},
		{broken, "y", nil, "neither dfs.ha.namenodes.y nor dfs.namenode.rpc-address.y"},
	} {
		got, err := nameNodes(c.conf, c.authority)
		if !reflect.DeepEqual(got, c.want) || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %q, %v; want %q, %s", c.authority, got, err, c.want, c.err)
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
		want string
	}{
		{"hdfs:///a", nil, "fs.defaultFS is not set"},
		{"hdfs:a", site("fs.defaultFS", "hdfs://h"), "not absolute"},
		{"hdfs://h/a", site("hadoop.security.authentication", "Kerberos"), "Kerberos"},
		{"hdfs://no-such-name.invalid/a", nil, "no such host"},
	} {
		_, _, err := ResolveAs(c.uri, "/", c.conf, Identity{User: "tina"})
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, ErrUnavailable) {
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
	begun := time.Now()
	_, err = connectHDFS(site(), "ns", []string{address, address}, Identity{User: "tina"}, impatient)
	wants(t, err, ErrUnavailable)
	if err == nil || !strings.Contains(err.Error(), "connection refused") || !strings.Contains(err.Error(), address) {
		t.Errorf("%v does not say why", err)
	}
	if took := time.Since(begun); took > 3*time.Second {
		t.Errorf("took %v", took)
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

// TestHDFSHangs: a NameNode accepts connections and never answers, e.g. because it is stopped in a debugger or is swapping.
func TestHDFSHangs(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer silent.Close()
	begun := time.Now()
	_, err = connectHDFS(site(), "ns", []string{silent.Addr().String()}, Identity{User: "tina"}, impatient)
	wants(t, err, ErrUnavailable)
	if took := time.Since(begun); took < impatient.nameNode || took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}

// TestOtherServers: what answers at the NameNode's address is no NameNode. The error says so, and not that a connection is closed.
func TestOtherServers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ answer, want string }{
		{"HTTP/1.1 400 Bad Request\r\n\r\n", "the server answers in HTTP"},
		{"\x00\x00\x7f\xff no frame of that length", "does not answer as a NameNode does"},
		{"", "does not answer as a NameNode does"},
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
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "closed network connection") {
			t.Errorf("%q: %v", c.answer, err)
		}
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
	if _, err := c.Read(make([]byte, 10)); err == nil || !strings.Contains(err.Error(), "answers in HTTP") {
		t.Errorf("read: %v", err)
	}
	if _, err := c.Write([]byte("hrpc")); err == nil || !strings.Contains(err.Error(), "answers in HTTP") {
		t.Errorf("write: %v", err)
	}
}

// TestTimedConnBreaks: a connection whose read timed out must not be used again: a late answer might pass for the next one.
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
