package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path"
	"strings"
	"time"

	"bulkload/internal/hbase"
	"bulkload/internal/siteconf"

	"github.com/go-zookeeper/zk"
)

// zooKeeper knows where the cluster's ZooKeeper is. No session is kept: it is asked for the master once in a while.
type zooKeeper struct {
	servers []string // host:port
	parent  string   // zookeeper.znode.parent
}

func findZooKeeper(conf *siteconf.Conf) (*zooKeeper, error) {
	const quorum, port, parent = "hbase.zookeeper.quorum", "hbase.zookeeper.property.clientPort", "zookeeper.znode.parent"
	z := &zooKeeper{parent: conf.Get(parent, "/hbase")}
	for _, host := range strings.Split(conf.Get(quorum, ""), ",") {
		host = strings.TrimSpace(host)
		if host == "" {
			continue
		}
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(host, conf.Get(port, "2181"))
		}
		z.servers = append(z.servers, host)
	}
	if len(z.servers) == 0 {
		return nil, fmt.Errorf("%w: %s is not set: name the folder of hbase-site.xml", ErrRefused, quorum)
	}
	if !path.IsAbs(z.parent) {
		return nil, fmt.Errorf("%w: %s is %q, not an absolute path (%s)", ErrRefused, parent, z.parent, conf.Source(parent))
	}
	return z, nil
}

// master is the address of the active master.
func (z *zooKeeper) master(ctx context.Context) (string, error) { return z.server(ctx, "master") }

// meta is the address of the region server that holds hbase:meta.
func (z *zooKeeper) meta(ctx context.Context) (string, error) {
	return z.server(ctx, "meta-region-server")
}

// server reads the address of a server from its znode.
func (z *zooKeeper) server(ctx context.Context, znode string) (string, error) {
	name := path.Join(z.parent, znode)
	data, err := z.get(ctx, name)
	if errors.Is(err, zk.ErrNoNode) {
		return "", fmt.Errorf("%w: there is no %s in ZooKeeper at %s: no master is active, or zookeeper.znode.parent is another",
			ErrUnavailable, name, z)
	}
	if err != nil {
		return "", err
	}
	addr, err := hbase.ParseServerZNode(data)
	if err != nil {
		return "", fmt.Errorf("read %s in ZooKeeper at %s: %w", name, z, err)
	}
	return addr, nil
}

// String lists the servers.
func (z *zooKeeper) String() string { return strings.Join(z.servers, ",") }

const zooKeeperTimeout = 20 * time.Second

// get reads a znode. Its errors are ErrUnavailable, or wrap zk.ErrNoNode.
func (z *zooKeeper) get(ctx context.Context, name string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, zooKeeperTimeout)
	defer cancel()
	if err := z.reachable(ctx); err != nil {
		return nil, err
	}
	session, _, err := zk.Connect(z.servers, zooKeeperTimeout, zk.WithLogger(silent{}), zk.WithLogInfo(false))
	if err != nil {
		return nil, fmt.Errorf("%w: connect to ZooKeeper at %s: %w", ErrUnavailable, z, err)
	}
	defer session.Close() // which also ends a Get that hangs
	type result struct {
		data []byte
		err  error
	}
	got := make(chan result, 1)
	go func() {
		data, _, err := session.Get(name)
		got <- result{data, err}
	}()
	select {
	case r := <-got:
		if r.err == nil || errors.Is(r.err, zk.ErrNoNode) {
			return r.data, r.err
		}
		return nil, fmt.Errorf("%w: read %s in ZooKeeper at %s: %w", ErrUnavailable, name, z, r.err)
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: read %s in ZooKeeper at %s: no answer: %w", ErrUnavailable, name, z, ctx.Err())
	}
}

// reachable tries whether one of the servers can be connected to: the session would try for ever, without a reason.
func (z *zooKeeper) reachable(ctx context.Context) error {
	var last error
	d := net.Dialer{Timeout: zooKeeperTimeout / time.Duration(len(z.servers)+1)}
	for _, addr := range z.servers {
		conn, err := d.DialContext(ctx, "tcp", addr)
		if err == nil {
			return conn.Close()
		}
		last = err
	}
	return fmt.Errorf("%w: connect to ZooKeeper at %s: %w", ErrUnavailable, z, last)
}

// silent keeps the ZooKeeper client from writing to stderr.
type silent struct{}

func (silent) Printf(string, ...any) {}
