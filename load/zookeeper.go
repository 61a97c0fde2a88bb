package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/hbase"
	"bulkload/internal/siteconf"

	"github.com/go-zookeeper/zk"
)

// Network is a way to reach a cluster other than ZooKeeper and TCP.
type Network interface {
	finder
	// Dial makes a connection to a server ("host:port").
	Dial(ctx context.Context, addr string) (net.Conn, error)
}

// finder finds the servers from which all others are found.
type finder interface {
	// Master is the address of the active master.
	Master(ctx context.Context) (addr string, err error)
	// Meta is the address of the region server that holds hbase:meta.
	Meta(ctx context.Context) (addr string, err error)
}

// zooKeeper finds the cluster's servers through ZooKeeper. It keeps no session, because it is rarely asked.
type zooKeeper struct {
	servers []string // host:port
	quorum  string   // the servers of the site files, for answeredQuorums
	parent  string   // zookeeper.znode.parent

	last atomic.Int32 // the server that answered last
}

// answeredQuorums has the quorums from which a server has answered this process. They are global, because a process may
// connect to its cluster several times, each time with a zooKeeper of its own.
var answeredQuorums sync.Map

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
		return nil, errcode.SiteMissing.Errorf("%w: %s is not set: give the folder of hbase-site.xml (--conf, "+
			"HBASE_CONF_DIR or hbase.conf)", ErrRefused, quorum)
	}
	if !path.IsAbs(z.parent) {
		return nil, errcode.SiteProperty.Errorf("%w: %s is %q, not an absolute path (%s)", ErrRefused, parent,
			z.parent, conf.Source(parent))
	}
	z.quorum = z.String()
	return z, nil
}

// Master is the address of the active master.
func (z *zooKeeper) Master(ctx context.Context) (string, error) { return z.server(ctx, "master") }

// Meta is the address of the region server that holds hbase:meta.
func (z *zooKeeper) Meta(ctx context.Context) (string, error) {
	return z.server(ctx, "meta-region-server")
}

// server reads the address of a server from its znode.
//
// The address may be out of date, because one server of a quorum may be behind the others. It is only where to ask
// next: a server that no longer has that role refuses, and the address is looked up again.
func (z *zooKeeper) server(ctx context.Context, znode string) (string, error) {
	name := path.Join(z.parent, znode)
	data, err := z.get(ctx, name)
	if errors.Is(err, zk.ErrNoNode) {
		return "", errcode.HBaseDown.Errorf("%w: there is no %s in ZooKeeper at %s: no master is active, or "+
			"zookeeper.znode.parent is wrong",
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

const (
	// zooKeeperTimeout is how long all servers together may take to answer.
	zooKeeperTimeout = 20 * time.Second
	// nextServerDelay is how long to wait for one server before asking the next one in parallel.
	nextServerDelay = time.Second
)

// answer is one server's answer, or the reason why it gave none.
type answer struct {
	server int
	data   []byte
	err    error
}

// answered reports whether the server has answered. The answer that there is no such znode counts.
func (a *answer) answered() bool { return a.err == nil || errors.Is(a.err, zk.ErrNoNode) }

// get reads a znode from the first server that answers. Its errors are ErrUnavailable, wrap zk.ErrNoNode, or are
// ErrRefused if no server of the quorum has answered this process yet and no name server knows any of them.
//
// The servers are asked one after another, beginning with the one that answered last. The next one is asked at once
// after a failure, and after a second of silence. So other servers replace those that are down, or whose names can't be
// resolved.
func (z *zooKeeper) get(ctx context.Context, name string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, zooKeeperTimeout)
	defer cancel()
	asked, failed := z.newFaults(), 0
	answers := make(chan answer, len(z.servers))
	first := int(z.last.Load())
	ask := func(i int) {
		server := (first + i) % len(z.servers)
		go func() { answers <- z.ask(ctx, server, name) }()
	}
	ask(0)
	begun := 1
	for {
		var late <-chan time.Time
		if begun < len(z.servers) {
			late = time.After(nextServerDelay)
		}
		select {
		case a := <-answers:
			if a.answered() {
				z.last.Store(int32(a.server))
				answeredQuorums.Store(z.quorum, true)
				return a.data, a.err
			}
			asked[a.server].err = a.err
			if failed++; failed == len(z.servers) {
				return nil, z.unavailable(name, asked)
			}
		case <-late:
		case <-ctx.Done():
			asked.fillTimeouts(ctx.Err())
			return nil, z.unavailable(name, asked)
		}
		if begun < len(z.servers) {
			ask(begun)
			begun++
		}
	}
}

// ask reads a znode from one server.
func (z *zooKeeper) ask(ctx context.Context, server int, name string) answer {
	addr := z.servers[server]
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr) // a session would retry forever without saying why
	if err != nil {
		return answer{server: server, err: err}
	}
	conn.Close()
	session, _, err := zk.Connect([]string{addr}, zooKeeperTimeout, zk.WithLogger(nopLogger{}), zk.WithLogInfo(false))
	if err != nil {
		return answer{server: server, err: err}
	}
	got := make(chan answer, 1)
	go func() {
		data, _, err := session.Get(name)
		if errors.Is(err, zk.ErrNoServer) {
			err = fmt.Errorf("it accepts connections and does not answer as ZooKeeper does: %w", err)
		}
		got <- answer{server, data, err}
	}()
	select {
	case a := <-got:
		session.Close()
		return a
	case <-ctx.Done():
		go session.Close() // ends the Get, and waits for a server that is silent
		return answer{server: server, err: ctx.Err()}
	}
}

// fault says why a server did not answer.
type fault struct {
	addr string
	err  error
}

type faults []fault

func (z *zooKeeper) newFaults() faults {
	all := make(faults, len(z.servers))
	for i, addr := range z.servers {
		all[i].addr = addr
	}
	return all
}

// fillTimeouts sets the error of the servers that have not answered.
func (f faults) fillTimeouts(err error) {
	for i := range f {
		if f[i].err == nil {
			f[i].err = fmt.Errorf("no answer: %w", err)
		}
	}
}

func (f faults) Error() string {
	texts := make([]string, len(f))
	for i, s := range f {
		texts[i] = fmt.Sprintf("%s: %v", s.addr, s.err)
	}
	return strings.Join(texts, "; ")
}

// Unwrap returns the causes.
func (f faults) Unwrap() []error {
	errs := make([]error, len(f))
	for i, s := range f {
		errs[i] = s.err
	}
	return errs
}

// unknown reports whether no name server knows any of the servers.
func (f faults) unknown() bool {
	for _, s := range f {
		var dns *net.DNSError
		if !errors.As(s.err, &dns) || !dns.IsNotFound {
			return false
		}
	}
	return true
}

// unavailable is the error for a znode that no server returned.
//
// Unknown names are an error of the site files only as long as none of the servers has ever answered. Later the name
// service is at fault, for example while it reloads or all pods of a headless service restart, and waiting helps.
func (z *zooKeeper) unavailable(name string, all faults) error {
	if _, answered := answeredQuorums.Load(z.quorum); !answered && all.unknown() {
		return errcode.Address.Errorf("%w: hbase.zookeeper.quorum names no known host: %w", ErrRefused, all)
	}
	return errcode.HBaseDown.Errorf("%w: no ZooKeeper server returns %s: %w", ErrUnavailable, name, all)
}

// nopLogger keeps the ZooKeeper client from writing to stderr.
type nopLogger struct{}

func (nopLogger) Printf(string, ...any) {}
