package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// nodeInfo is a DatanodeInfoProto.
func nodeInfo(ip, host string, port uint64) []byte {
	return message(nil).bytes(1, message(nil).text(1, ip).text(2, host).text(3, "uuid of "+ip).number(4, port))
}

// addBlockAnswer is the body of an answer that names DataNodes.
func addBlockAnswer(nodes ...[]byte) []byte {
	block := message(nil)
	for _, n := range nodes {
		block = block.bytes(3, n)
	}
	return message(nil).bytes(1, block)
}

// excludedIn are the DataNodes in the list of an addBlock call's frame.
func excludedIn(t *testing.T, frame []byte) (all [][]byte) {
	t.Helper()
	if int(binary.BigEndian.Uint32(frame)) != len(frame)-4 {
		t.Fatalf("a frame of %d bytes says %d", len(frame)-4, binary.BigEndian.Uint32(frame))
	}
	if _, method, err := parseCall(frame); err != nil || method != "addBlock" {
		t.Fatalf("%s, %v", method, err)
	}
	_, rest, _ := delimited(frame[4:])
	_, rest, _ = delimited(rest)
	body, _, err := delimited(rest)
	if err != nil {
		t.Fatal(err)
	}
	if err := eachField(body, func(f field) error {
		if f.key() == bytesField(4) {
			all = append(all, f.bytes)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// answeringConn is a connection whose other end has said something, and then fails.
type answeringConn struct {
	net.Conn
	answer io.Reader
}

var errHungUp = errors.New("it hung up")

func (c *answeringConn) Write(p []byte) (int, error) { return len(p), nil }
func (c *answeringConn) Close() error                { return nil }

func (c *answeringConn) Read(p []byte) (int, error) {
	n, err := c.answer.Read(p)
	if errors.Is(err, io.EOF) {
		err = errHungUp
	}
	return n, err
}

// TestFailedDataNodesAreExcluded: each way in which a DataNode shows that it or another one of its pipeline fails.
func TestFailedDataNodesAreExcluded(t *testing.T) {
	t.Parallel()
	first, second := nodeInfo("10.0.0.1", "one", 9866), nodeInfo("10.0.0.2", "two", 9866)
	write := append([]byte{0, 28, opWriteBlock}, protowire.AppendBytes(nil, message(nil).bytes(2, second))...)
	read := append([]byte{0, 28, 81}, protowire.AppendBytes(nil, message(nil).bytes(2, second))...)
	said := func(all ...[]byte) (b []byte) {
		for _, m := range all {
			b = protowire.AppendBytes(b, m)
		}
		return b
	}
	good, ack := message(nil).number(1, 0), message(nil).number(1, 2).number(2, 0).number(2, 0)
	for _, c := range []struct {
		name   string
		sent   []byte
		answer []byte
		closed bool // by us
		want   [][]byte
	}{
		{"all is well, and we hang up", write, said(good, ack), true, nil},
		{"it hangs up", write, said(good, ack), false, [][]byte{first}},
		{"it refuses", write, said(message(nil).number(1, 1)), true, [][]byte{first}},
		{"it does not reach the next one", write, said(message(nil).number(1, 1).text(2, "10.0.0.2:9866")), true, [][]byte{second}},
		{"the next one fails", write, said(good, ack, message(nil).number(1, 4).number(2, 0).number(2, 1)), true, [][]byte{second}},
		{"a read fails", read, said(message(nil).number(1, 1)), false, nil},
		{"no answer that we know", write, append(protowire.AppendVarint(nil, 1<<40), make([]byte, 70<<10)...), true, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := &excludedNodes{}
			e.learn(addBlockAnswer(first, second))
			conn := &writtenConn{Conn: &answeringConn{answer: bytes.NewReader(c.answer)}, nodes: e, address: "10.0.0.1:9866"}
			for _, b := range c.sent {
				if _, err := conn.Write([]byte{b}); err != nil {
					t.Fatal(err)
				}
			}
			if got := make([]byte, len(c.answer)); c.closed {
				for n := 0; n < len(got); n += 7 {
					_, _ = conn.Read(got[n:min(n+7, len(got))])
				}
				conn.Close()
			}
			if rest, err := io.ReadAll(conn); !errors.Is(err, errHungUp) || !c.closed && !bytes.Equal(rest, c.answer) {
				t.Errorf("%d bytes, %v", len(rest), err)
			}
			frame := e.addTo(addBlockFrame())
			got := excludedIn(t, frame)
			if len(got) != len(c.want) || len(got) == 1 && !bytes.Equal(got[0], c.want[0]) {
				t.Errorf("excluded are %q, want %q", got, c.want)
			}
			e.refused(&remoteError{message: "File /a could only be written to 0 of the 1 minReplication nodes. There are 1 datanode(s) running and 1 node(s) are excluded in this operation."})
			if got := excludedIn(t, e.addTo(addBlockFrame())); got != nil {
				t.Errorf("with no other DataNode left, %q are excluded", got)
			}
		})
	}
}

// TestAllDataNodesFailed: as long as no DataNode is known that has not failed, the one that failed first gets another
// chance.
func TestAllDataNodesFailed(t *testing.T) {
	t.Parallel()
	e := &excludedNodes{}
	one, two, three := nodeInfo("10.0.0.1", "one", 9866), nodeInfo("10.0.0.2", "two", 9866), nodeInfo("10.0.0.3", "three", 9866)
	want := func(when string, nodes ...[]byte) {
		t.Helper()
		if got := excludedIn(t, e.addTo(addBlockFrame())); !slices.EqualFunc(got, nodes, bytes.Equal) {
			t.Errorf("%s: %q are excluded, want %q", when, got, nodes)
		}
	}
	want("none is known")
	e.learn(addBlockAnswer(one))
	e.fail("10.0.0.1:9866")
	want("the only one failed")
	e.learn(addBlockAnswer(two))
	want("another one is known", one)
	e.fail("two:9866")
	want("both failed, the second one later", two)
	e.fail("one:9866")
	want("the first one failed again", one)
	e.learn(addBlockAnswer(three))
	want("a third one is known", one, two)
	e.fail("10.0.0.3:9866")
	want("all three failed", one, three)
}

// patientTestConn counts the time that its reads were given.
type patientTestConn struct {
	answeringConn
	more time.Duration
}

func (c *patientTestConn) waitLonger(d time.Duration) { c.more = d }

// TestAnswersOfPipelines: a pipeline's answer may take longer, so that its first DataNode can say that another one
// hangs; what is read may not.
func TestAnswersOfPipelines(t *testing.T) {
	t.Parallel()
	second := nodeInfo("10.0.0.2", "two", 9866)
	for op, want := range map[byte]time.Duration{opWriteBlock: 10 * time.Second, 81: 0} {
		c := &patientTestConn{}
		for what, conn := range map[string]net.Conn{"open": c, "protected": &transferConn{Conn: c, stream: &bytes.Buffer{}}} {
			c.more = 0
			w := &writtenConn{Conn: conn, nodes: &excludedNodes{}, address: "10.0.0.1:9866"}
			if _, err := w.Write(append([]byte{0, 28, op}, protowire.AppendBytes(nil, message(nil).bytes(2, second))...)); err != nil {
				t.Fatal(err)
			}
			if c.more != want {
				t.Errorf("operation %d, %s: %v longer, want %v", op, what, c.more, want)
			}
		}
	}
	timed := &timedConn{wait: time.Hour}
	timed.waitLonger(-2 * time.Hour)
	ours, theirs := net.Pipe()
	defer theirs.Close()
	timed.Conn = ours
	if _, err := timed.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%v, want the end of the time", err)
	}
}

// addBlockFrame is a call as the library sends it.
func addBlockFrame() []byte {
	frame := make([]byte, 4)
	for _, part := range []message{message(nil).number(3, 10), message(nil).text(1, "addBlock"), message(nil).text(1, "/a").text(2, "client")} {
		frame = protowire.AppendBytes(frame, part)
	}
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	return frame
}
