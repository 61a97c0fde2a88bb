package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path"

	"bulkload/internal/errcode"
	"bulkload/internal/hbase"
	"bulkload/internal/siteconf"

	"github.com/go-zookeeper/zk"
)

// zooKeeper finds the cluster's servers through ZooKeeper. It keeps no session, because it is rarely asked.
type zooKeeper struct {
	quorum
	parent string // zookeeper.znode.parent
}

const (
	quorumProperty = "hbase.zookeeper.quorum"
	parentProperty = "zookeeper.znode.parent"
)

func findZooKeeper(conf *siteconf.Conf) (*zooKeeper, error) {
	z := &zooKeeper{parent: conf.Get(parentProperty, "/hbase")}
	z.fill(quorumProperty, conf.Get(quorumProperty, ""), conf.Get("hbase.zookeeper.property.clientPort", "2181"))
	if len(z.servers) == 0 {
		return nil, errcode.SiteMissing.Errorf("%w: %s is not set: give the folder of hbase-site.xml (--conf, "+
			"HBASE_CONF_DIR or hbase.conf)", ErrRefused, quorumProperty)
	}
	if !path.IsAbs(z.parent) {
		return nil, errcode.SiteProperty.Errorf("%w: %s is %q, not an absolute path (%s)", ErrRefused, parentProperty,
			z.parent, conf.Source(parentProperty))
	}
	return z, nil
}

// Master is the address of the active master.
//
// It may be out of date, because one server of a quorum may lag behind the others. It is only where to ask next: a
// server that is no longer the active master refuses, and the address is looked up again.
func (z *zooKeeper) Master(ctx context.Context) (string, error) {
	return z.server(ctx, "master", false)
}

// Meta is the address of the region server that holds hbase:meta, as the quorum knows it now.
func (z *zooKeeper) Meta(ctx context.Context) (string, error) {
	return z.server(ctx, "meta-region-server", true)
}

// server reads the address of a server from its znode.
func (z *zooKeeper) server(ctx context.Context, znode string, sync bool) (string, error) {
	name := path.Join(z.parent, znode)
	found, err := z.get(ctx, name, sync)
	if err != nil {
		return "", err
	}
	if found == nil {
		return "", errcode.HBaseDown.Errorf("%w: there is no %s in ZooKeeper at %s: no master is active, or "+
			"%s is wrong", ErrUnavailable, name, z, parentProperty)
	}
	addr, err := hbase.ParseServerZNode(found.data)
	if err != nil {
		return "", fmt.Errorf("read %s in ZooKeeper at %s: %w", name, z, err)
	}
	return addr, nil
}

// TableState is HBase 1's record of a table's state.
//
// A server of a quorum may lag behind the others, which would make a table that was just truncated seem unchanged. So
// it first gets what its leader has.
func (z *zooKeeper) TableState(ctx context.Context, table string) (record []byte, written int64, err error) {
	name := path.Join(z.parent, "table", table)
	found, err := z.get(ctx, name, true)
	if err != nil || found == nil {
		return nil, 0, err
	}
	record, err = hbase.ParseZNode(found.data)
	if err != nil {
		err = fmt.Errorf("read %s in ZooKeeper at %s: %w", name, z, err)
	}
	return record, found.written, err
}

// znode is the content of a znode.
type znode struct {
	data    []byte
	written int64 // epoch milliseconds
}

// get reads a znode; nil if there is none. With sync it has every change that the quorum had accepted before.
func (z *zooKeeper) get(ctx context.Context, name string, sync bool) (*znode, error) {
	return first(ctx, &z.quorum, name, func(ctx context.Context, addr string) (*znode, error) {
		return readZNode(ctx, addr, name, sync)
	})
}

// wantsSASL is how the client says SESSIONCLOSEDREQUIRESASLAUTH (zookeeper.sessionRequireClientSASLAuth).
const wantsSASL = "unknown error: -124"

// readZNode reads a znode from one server, for get.
func readZNode(ctx context.Context, addr, name string, sync bool) (*znode, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr) // a session would retry forever without saying why
	if err != nil {
		return nil, err
	}
	conn.Close()
	session, _, err := zk.Connect([]string{addr}, quorumTimeout, zk.WithLogger(nopLogger{}), zk.WithLogInfo(false))
	if err != nil {
		return nil, err
	}
	type answer struct {
		found *znode
		err   error
	}
	got := make(chan answer, 1)
	go func() {
		var found *znode
		var data []byte
		var stat *zk.Stat
		var err error
		if sync {
			_, err = session.Sync(name)
		}
		if err == nil {
			data, stat, err = session.Get(name)
		}
		switch {
		case err == nil:
			found = &znode{data, stat.Mtime}
		case errors.Is(err, zk.ErrNoNode):
			err = nil
		case errors.Is(err, zk.ErrNoAuth), err.Error() == wantsSASL:
			err = errcode.SecurityUnsupported.Errorf("%w: only clients that authenticate by SASL may read %s, which this "+
				"program can't do: give it %s and %s (HBase 2.5 and later), which need no ZooKeeper, or let everybody read "+
				"%[2]s (%[5]w)", ErrRefused, name, mastersProperty, registryProperty, err)
		case errors.Is(err, zk.ErrNoServer):
			err = fmt.Errorf("it accepts connections and does not answer as ZooKeeper does: %w", err)
		}
		got <- answer{found, err}
	}()
	select {
	case a := <-got:
		session.Close()
		return a.found, a.err
	case <-ctx.Done():
		go session.Close() // ends the Get, and waits for a server that is silent
		return nil, ctx.Err()
	}
}

// nopLogger keeps the ZooKeeper client from writing to stderr.
type nopLogger struct{}

func (nopLogger) Printf(string, ...any) {}
