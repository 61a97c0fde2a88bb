package storage

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"bulkload/internal/printable"
)

// located is a file as a NameNode describes it to a reader: LocatedBlocksProto of ClientProtocol.getBlockLocations, in
// one answer.
type located struct {
	size                    int64
	blocks                  []locatedBlock // in order, and without gaps
	encrypted, erasureCoded bool
}

// locatedBlock is a LocatedBlockProto.
type locatedBlock struct {
	id             blockID
	generation     uint64    // changes when the block is appended to or cut off
	offset, length int64     // in the file
	block, token   []byte    // ExtendedBlockProto and TokenProto, as they were received
	replicas       []replica // the nearest first
	bare           bool      // no replica has checksums
}

// end is the offset in the file after the block.
func (b *locatedBlock) end() int64 { return b.offset + b.length }

// replica is one copy of a block on a DataNode.
type replica struct {
	node        []byte // DatanodeInfoProto
	address     string
	storage     []byte // its ID
	storageType uint64
}

// errNoReplica is the error for a block without a DataNode that the NameNode knows to be up.
var errNoReplica = errors.New("no available datanodes")

// same reports whether both are the same file, unchanged, and not one that has taken its name.
func (l *located) same(o *located) bool {
	return l.size == o.size && slices.EqualFunc(l.blocks, o.blocks, func(a, b locatedBlock) bool {
		return a.id == b.id && a.generation == b.generation
	})
}

// locate asks for a file's size and blocks.
func (h *hdfsFS) locate(name string) (l located, err error) {
	folder := false
	err = h.call("open", name, true, func() error {
		a, err := h.names.call(context.Background(), "getBlockLocations",
			message(nil).text(1, name).number(2, 0).number(3, math.MaxInt64))
		if err == nil {
			l, err = parseLocations(a.body, h.byHostname)
		}
		var remote *remoteError
		switch {
		case !errors.As(err, &remote):
			return err
		case remote.class == classNotFound && strings.HasPrefix(remote.message, "Path is not a file"):
			folder = true
			return nil
		case remote.class == classNotFound:
			return fs.ErrNotExist
		case remote.denies():
			return fs.ErrPermission
		}
		return err
	})
	if folder {
		err = &fs.PathError{Op: "open", Path: printable.Name(name), Err: syscall.EISDIR}
	}
	return l, err
}

// parseLocations reads a GetBlockLocationsResponseProto. The addresses of DataNodes have host names instead of IP
// addresses if byHostname is set.
//
// Hadoop's length of a file leaves out a last block that is not complete, because the file is being written, or because
// no DataNode has reported the block yet. As in a directory's listing, the size counts what the NameNode knows of it.
func parseLocations(b []byte, byHostname bool) (l located, err error) {
	var last locatedBlock
	l.size = -1
	lastComplete := true
	err = eachField(b, func(f field) error {
		if f.key() != bytesField(1) { // LocatedBlocksProto
			return nil
		}
		return eachField(f.bytes, func(f field) (err error) {
			switch f.key() {
			case varintField(1):
				l.size = int64(f.number)
			case bytesField(2):
				var b locatedBlock
				b, err = parseLocated(f.bytes, byHostname)
				l.blocks = append(l.blocks, b)
			case bytesField(4):
				last, err = parseLocated(f.bytes, byHostname)
			case varintField(5):
				lastComplete = f.number != 0
			case bytesField(6):
				l.encrypted = true
			case bytesField(7):
				l.erasureCoded = true
			}
			return err
		})
	})
	if err != nil {
		return l, err
	}
	if l.size < 0 {
		return l, malformedf("it does not say how long the file is")
	}
	if !lastComplete && last.length > 0 {
		if n := len(l.blocks); n == 0 || l.blocks[n-1].id != last.id {
			l.blocks = append(l.blocks, last)
		}
		l.size = max(l.size, last.end())
	}
	end := int64(0)
	for i := range l.blocks {
		if l.blocks[i].offset != end {
			return l, malformedf("a block begins at byte %d of the file, where byte %d is due", l.blocks[i].offset, end)
		}
		end = l.blocks[i].end()
	}
	if end < l.size && !l.erasureCoded { // the blocks of an erasure-coded file are groups
		return l, malformedf("the blocks of a file of %d bytes end at byte %d", l.size, end)
	}
	return l, nil
}

func parseLocated(b []byte, byHostname bool) (locatedBlock, error) {
	var l locatedBlock
	var storages [][]byte
	var types []uint64
	err := eachField(b, func(f field) (err error) {
		switch f.key() {
		case bytesField(1):
			l.block = f.bytes
			err = l.parseBlock()
		case varintField(2):
			l.offset = int64(f.number)
		case bytesField(3):
			var r replica
			r, err = parseReplica(f.bytes, byHostname)
			l.replicas = append(l.replicas, r)
		case bytesField(5):
			l.token = f.bytes
		case varintField(7):
			types = append(types, f.number)
		case bytesField(8):
			storages = append(storages, f.bytes)
		}
		return err
	})
	if err == nil && (l.offset < 0 || l.length < 0 || l.end() < 0) {
		err = malformedf("a block of %d bytes at byte %d of the file", l.length, l.offset)
	}
	for i := range l.replicas {
		if i < len(storages) && i < len(types) {
			l.replicas[i].storage, l.replicas[i].storageType = storages[i], types[i]
		}
	}
	return l, err
}

// parseBlock reads the ExtendedBlockProto{1 pool, 2 number, 3 generation stamp, 4 length}.
func (b *locatedBlock) parseBlock() error {
	return eachField(b.block, func(f field) error {
		switch f.key() {
		case bytesField(1):
			b.id.pool = string(f.bytes)
		case varintField(2):
			b.id.number = f.number
		case varintField(3):
			b.generation = f.number
		case varintField(4):
			b.length = int64(f.number)
		}
		return nil
	})
}

// parseReplica reads a DatanodeInfoProto.
func parseReplica(b []byte, byHostname bool) (replica, error) {
	ip, host, port, err := parseNode(b)
	if byHostname {
		ip = host
	}
	return replica{node: b, address: net.JoinHostPort(ip, strconv.FormatUint(port, 10))}, err
}

// parseNode reads the addresses by which a DataNode may be dialed: DatanodeInfoProto{1 DatanodeIDProto{1 ip, 2 host, 4
// port}}.
func parseNode(info []byte) (ip, host string, port uint64, err error) {
	err = eachField(info, func(id field) error {
		if id.key() != bytesField(1) {
			return nil
		}
		return eachField(id.bytes, func(f field) error {
			switch f.key() {
			case bytesField(1):
				ip = string(f.bytes)
			case bytesField(2):
				host = string(f.bytes)
			case varintField(4):
				port = f.number
			}
			return nil
		})
	})
	return ip, host, port, err
}

// reportDamages tells the NameNode which replicas do not match their checksums, so that it makes new ones from a sound
// one (ClientProtocol.reportBadBlocks).
func (f *hdfsFile) reportDamages(b *locatedBlock, failed *blockError) {
	if len(failed.failures) == 0 {
		return
	}
	damaged := b.damaged(failed.damages())
	if damaged == nil {
		return
	}
	if _, err := f.fs.names.call(context.Background(), "reportBadBlocks", message(nil).bytes(1, damaged)); err != nil {
		f.fs.replicas.mention("damaged replicas of "+f.fs.URI(f.name)+
			" could not be reported to the NameNode", ": "+err.Error())
	}
}

// damaged returns the block as a LocatedBlockProto with its damaged replicas only, those at the given addresses. It
// returns nil if no replica is damaged, or if there are several and all are, because the fault may then be ours
// (DFSInputStream.reportCheckSumFailure).
func (b *locatedBlock) damaged(addresses []string) message {
	bad := slices.DeleteFunc(slices.Clone(b.replicas),
		func(r replica) bool { return !slices.Contains(addresses, r.address) })
	if len(bad) == 0 || len(bad) == len(b.replicas) && len(bad) > 1 {
		return nil
	}
	m := message(nil).bytes(1, b.block).number(2, uint64(b.offset)).number(4, 0).bytes(5, b.token)
	for _, r := range bad {
		m = m.bytes(3, r.node)
	}
	for _, r := range bad {
		if r.storage != nil {
			m = m.number(7, r.storageType).bytes(8, r.storage)
		}
	}
	return m
}
