package storage

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// The client library asks the NameNode for a block without saying which DataNodes have just failed. A NameNode takes
// ten minutes to declare a silent DataNode dead, and would name it again until then. So, like Java's client, this adds
// the list of failed ones to the library's requests (AddBlockRequestProto.excludeNodes, ClientNamenodeProtocol.proto).

// excludedFor is how long a DataNode that failed gets no new block: Java's
// dfs.client.write.exclude.nodes.cache.expiry.interval.millis.
const excludedFor = 10 * time.Minute

// areExcluded is the end of the error text of BlockManager.chooseTarget4NewBlock.
const areExcluded = "excluded in this operation"

// excludedNodes are the DataNodes of a file system that could not be reached, or failed in a write.
type excludedNodes struct {
	mu     sync.Mutex
	known  map[string][]byte    // DatanodeInfoProto by address, from the NameNode's answers
	failed map[string]time.Time // when, by address
}

// learn keeps the DataNodes that an answer to addBlock names: AddBlockResponseProto{1 LocatedBlockProto{3
// DatanodeInfoProto}}.
func (e *excludedNodes) learn(answer []byte) {
	_ = eachField(answer, func(block field) error { // the library's own parser reports the fault
		if block.key() != bytesField(1) {
			return nil
		}
		return eachField(block.bytes, func(node field) error {
			if node.key() != bytesField(3) {
				return nil
			}
			e.mu.Lock()
			defer e.mu.Unlock()
			for _, address := range nodeAddresses(node.bytes) {
				if e.known == nil {
					e.known = map[string][]byte{}
				}
				e.known[address] = append([]byte(nil), node.bytes...)
			}
			return nil
		})
	})
}

// nodeAddresses are the addresses by which a DataNode may be dialed.
func nodeAddresses(info []byte) (all []string) {
	ip, host, port, _ := parseNode(info) // a malformed node has no address
	for _, name := range []string{ip, host} {
		if name != "" {
			all = append(all, net.JoinHostPort(name, fmt.Sprint(port)))
		}
	}
	return all
}

// fail excludes a DataNode for a while.
func (e *excludedNodes) fail(address string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.failed == nil {
		e.failed = map[string]time.Time{}
	}
	e.failed[address] = time.Now()
}

// refused forgets all failures if they leave the NameNode without any DataNode, because one that failed is better than
// none.
func (e *excludedNodes) refused(r *remoteError) {
	if !strings.Contains(r.message, areExcluded) {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	clear(e.failed)
}

// list returns the DataNodes to exclude, as DatanodeInfoProto. If all known ones have failed, the one that failed
// longest ago gets another chance: the NameNode may have no other one and would refuse the call, which not every caller
// repeats. Also, the wrong one may have been blamed: if the second DataNode of a pipeline hangs, the first one is
// silent for as long, and is blamed.
func (e *excludedNodes) list() (all [][]byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	last := map[string]time.Time{} // last failure of each DataNode, which may be known by several addresses
	for address, when := range e.failed {
		switch info := string(e.known[address]); {
		case time.Since(when) > excludedFor:
			delete(e.failed, address)
		case info != "" && when.After(last[info]):
			last[info] = when
		}
	}
	if e.allIn(last) {
		delete(last, slices.MinFunc(slices.Collect(maps.Keys(last)),
			func(a, b string) int { return last[a].Compare(last[b]) }))
	}
	for _, info := range slices.Sorted(maps.Keys(last)) {
		all = append(all, []byte(info))
	}
	return all
}

// allIn reports whether failed is not empty and has all known DataNodes.
func (e *excludedNodes) allIn(failed map[string]time.Time) bool {
	for _, info := range e.known {
		if _, is := failed[string(info)]; !is {
			return false
		}
	}
	return len(failed) > 0
}

// addTo returns the frame of an addBlock call with the list of failed DataNodes in its request.
func (e *excludedNodes) addTo(frame []byte) []byte {
	all := e.list()
	if len(all) == 0 {
		return frame
	}
	header, rest, err1 := delimited(frame[4:])
	request, rest, err2 := delimited(rest)
	body, rest, err3 := delimited(rest)
	if err := errors.Join(err1, err2, err3); err != nil || len(rest) > 0 {
		return frame // the NameNode reports the fault
	}
	added := message(append([]byte(nil), body...))
	for _, info := range all {
		added = added.bytes(4, info)
	}
	out := make([]byte, 4)
	for _, part := range [][]byte{header, request, added} {
		out = protowire.AppendBytes(out, part)
	}
	binary.BigEndian.PutUint32(out, uint32(len(out)-4))
	return out
}

// watched makes a dialer of DataNodes note which of them can't be reached, or fail in a write.
func (e *excludedNodes) watched(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			if ctx.Err() == nil {
				e.fail(address)
			}
			return nil, err
		}
		return &writtenConn{Conn: c, nodes: e, address: address}, nil
	}
}

// writtenConn is a connection to the first DataNode of a pipeline.
type writtenConn struct {
	net.Conn
	nodes   *excludedNodes
	address string

	mu       sync.Mutex // the library writes packets and reads their acknowledgements side by side
	sent     []byte     // the operation, as far as it was written
	whole    bool       // the operation was written
	pipeline []string   // of a write: the addresses of its DataNodes; nil for other operations
	closed   bool
	answers  []byte // the part of the current answer that was read
	begun    bool   // the first answer was read
}

func (c *writtenConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.whole {
		c.operation(p)
	}
	c.check(err)
	return n, err
}

func (c *writtenConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pipeline != nil {
		c.answered(p[:n])
	}
	c.check(err)
	return n, err
}

func (c *writtenConn) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	return c.Conn.Close()
}

// check excludes the DataNode of this connection if it fails.
func (c *writtenConn) check(err error) {
	if err != nil && c.pipeline != nil && !c.closed {
		c.nodes.fail(c.address)
	}
}

// opWriteBlock is the code of the operation (org.apache.hadoop.hdfs.protocol.datatransfer.Op), after two bytes of the
// version.
const opWriteBlock = 80

// operation adds to the written part of the operation. Once it is whole, the pipeline is known: OpWriteBlockProto{2
// targets}.
func (c *writtenConn) operation(p []byte) {
	c.sent = append(c.sent, p...)
	op, err := wholeOperation(c.sent)
	if err == nil && op == nil {
		return
	}
	c.whole = true
	if err == nil && c.sent[operationLead-1] == opWriteBlock {
		c.pipeline = []string{c.address}
		_ = eachField(op, func(f field) error {
			if f.key() == bytesField(2) {
				if all := nodeAddresses(f.bytes); len(all) > 0 {
					c.pipeline = append(c.pipeline, all[0])
				}
			}
			return nil
		})
		waitLonger(c.Conn, time.Duration(len(c.pipeline))*perNode)
	}
	c.sent = nil
}

// perNode is how much longer a pipeline's answer may take for each of its DataNodes:
// HdfsConstants.READ_TIMEOUT_EXTENSION, which DFSClient.getDatanodeReadTimeout adds. The first DataNode waits less long
// for the next one, so it can report that the next one fails.
const perNode = 5 * time.Second

// patientConn is a connection whose reads may be given more time.
type patientConn interface{ waitLonger(d time.Duration) }

// answered reads the DataNode's reports on itself and the others: first BlockOpResponseProto{1 status, 2 firstBadLink},
// then PipelineAckProto{2 status of each DataNode}, each after its length (datatransfer.proto).
func (c *writtenConn) answered(p []byte) {
	c.answers = append(c.answers, p...)
	for {
		m, rest, err := delimited(c.answers)
		if err != nil {
			if len(c.answers) > maxMessage {
				c.pipeline = nil // not an answer that this program knows
			}
			return
		}
		c.blame(m)
		c.begun = true
		c.answers = append(c.answers[:0], rest...)
	}
}

// blame excludes the DataNode that an answer names as failed.
func (c *writtenConn) blame(answer []byte) {
	at, failed, link := 0, false, ""
	_ = eachField(answer, func(f field) error {
		switch {
		case !c.begun && f.key() == varintField(1):
			failed = f.number != 0
		case !c.begun && f.key() == bytesField(2):
			link = string(f.bytes)
		case c.begun && f.key() == varintField(2):
			if f.number != 0 && at < len(c.pipeline) {
				c.nodes.fail(c.pipeline[at])
			}
			at++
		}
		return nil
	})
	switch {
	case failed && link != "":
		c.nodes.fail(link)
	case failed:
		c.nodes.fail(c.address)
	}
}
