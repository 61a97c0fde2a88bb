package storage

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
)

// Damaged replicas are reported to the NameNode, which then makes new ones from a sound one
// (ClientProtocol.reportBadBlocks).

// damage is a replica that was read and does not match its checksums.
type damage struct {
	number  uint64 // counts up
	block   blockID
	address string
}

// maxDamages bounds how many damages are kept until the readers of their files have seen them.
const maxDamages = 256

// newDamages returns the damages found after number.
func (r *replicas) newDamages(number uint64) []damage {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.damages, func(d damage) bool { return d.number > number })
	if i < 0 {
		return nil
	}
	return slices.Clone(r.damages[i:])
}

// reportDamages reports damaged replicas of this file to the NameNode. It has to look up which file a block belongs to,
// because the library does not say so where the damage is found.
func (f *hdfsFile) reportDamages() {
	latest := f.fs.replicas.latest.Load()
	found := f.fs.replicas.newDamages(f.examined)
	f.examined = latest
	if len(found) == 0 {
		return
	}
	if err := f.fs.names.reportBadBlocks(context.Background(), f.name, f.size, found); err != nil {
		f.fs.replicas.mention("damaged replicas of "+f.fs.URI(f.name)+
			" could not be reported to the NameNode", ": "+err.Error())
	}
}

// reportBadBlocks reports the damaged replicas that belong to the file.
func (n *rpcClient) reportBadBlocks(ctx context.Context, name string, size int64, found []damage) error {
	a, err := n.call(ctx, "getBlockLocations", message(nil).text(1, name).number(2, 0).number(3, uint64(size)))
	if err != nil {
		return err
	}
	blocks, err := parseLocations(a.body)
	if err != nil {
		return err
	}
	var request message
	for _, b := range blocks {
		if bad := b.damaged(found); bad != nil {
			request = request.bytes(1, bad)
		}
	}
	if request == nil {
		return nil
	}
	_, err = n.call(ctx, "reportBadBlocks", request)
	return err
}

// locatedBlock is a LocatedBlockProto.
type locatedBlock struct {
	block    blockID
	rest     message   // the block's own fields, as they were received
	replicas []replica // where the block is
}

// replica is one copy of a block on a DataNode.
type replica struct {
	node        []byte // DatanodeInfoProto
	addresses   []string
	storage     []byte // its ID
	storageType uint64
}

// parseLocations reads a GetBlockLocationsResponseProto.
func parseLocations(b []byte) ([]locatedBlock, error) {
	var blocks []locatedBlock
	err := eachField(b, func(f field) error {
		if f.key() != bytesField(1) { // LocatedBlocksProto
			return nil
		}
		return eachField(f.bytes, func(f field) error {
			if f.key() != bytesField(2) {
				return nil
			}
			b, err := parseLocated(f.bytes)
			blocks = append(blocks, b)
			return err
		})
	})
	return blocks, err
}

func parseLocated(b []byte) (locatedBlock, error) {
	var l locatedBlock
	var storages [][]byte
	var types []uint64
	err := eachField(b, func(f field) (err error) {
		switch f.key() {
		case bytesField(1):
			err = parseBlock(f.bytes, &l.block)
			l.rest = l.rest.bytes(1, f.bytes)
		case varintField(2), varintField(4):
			l.rest = l.rest.number(f.id, f.number)
		case bytesField(3):
			var r replica
			r, err = parseReplica(f.bytes)
			l.replicas = append(l.replicas, r)
		case bytesField(5):
			l.rest = l.rest.bytes(5, f.bytes)
		case varintField(7):
			types = append(types, f.number)
		case bytesField(8):
			storages = append(storages, f.bytes)
		}
		return err
	})
	for i := range l.replicas {
		if i < len(storages) && i < len(types) {
			l.replicas[i].storage, l.replicas[i].storageType = storages[i], types[i]
		}
	}
	return l, err
}

// parseReplica reads a DatanodeInfoProto.
func parseReplica(b []byte) (replica, error) {
	r := replica{node: b}
	ip, host, port, err := parseNode(b)
	for _, name := range []string{ip, host} {
		r.addresses = append(r.addresses, name+":"+strconv.FormatUint(port, 10),
			net.JoinHostPort(name, strconv.FormatUint(port, 10)))
	}
	return r, err
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

// damaged returns the block with its damaged replicas only. It returns nil if no replica is damaged, or if there are
// several and all are, because the fault may then be ours (DFSInputStream.reportCheckSumFailure).
func (l *locatedBlock) damaged(found []damage) message {
	bad := slices.DeleteFunc(slices.Clone(l.replicas), func(r replica) bool {
		return !slices.ContainsFunc(found, func(d damage) bool {
			return d.block == l.block && slices.Contains(r.addresses, d.address)
		})
	})
	if len(bad) == 0 || len(bad) == len(l.replicas) && len(bad) > 1 {
		return nil
	}
	m := slices.Clone(l.rest)
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

// mention is note for a caller that does not hold the lock.
func (r *replicas) mention(what, details string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.note(what, details)
}

// String names the replica.
func (d damage) String() string { return fmt.Sprintf("block %v on %s", d.block, d.address) }
