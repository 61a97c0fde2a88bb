package load

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/hbase"
	"bulkload/internal/siteconf"
	"bulkload/internal/test/testcluster"
	"bulkload/internal/test/testwords"
)

// siteOf has the site files' properties: names and values.
func siteOf(properties ...string) *siteconf.Conf {
	conf := new(siteconf.Conf)
	for i := 0; i < len(properties); i += 2 {
		conf.Set(properties[i], properties[i+1])
	}
	return conf
}

// unconnected is a client that knows no server of a cluster.
func unconnected(t *testing.T, properties ...string) *Cluster {
	t.Helper()
	limits, err := readSettings(siteOf(properties...))
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{user: "tina", limits: limits, servers: newServers(nil, hbase.Options{User: "tina"})}
	c.era.Store(2)
	t.Cleanup(c.servers.close)
	return c
}

func closedPort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func TestZooKeeperDown(t *testing.T) {
	conf := new(siteconf.Conf)
	addr := closedPort(t)
	conf.Set("hbase.zookeeper.quorum", addr)
	_, err := Connect(context.Background(), conf, Caller{User: "tina"}, nil)
	if !errors.Is(err, ErrUnavailable) || errcode.Outermost(err) != errcode.HBaseDown ||
		!testwords.Names(err, addr) {
		t.Errorf("got %v", err)
	}
}

// A ZooKeeper that takes connections and says nothing.
func TestZooKeeperSilent(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	conf := new(siteconf.Conf)
	conf.Set("hbase.zookeeper.quorum", listener.Addr().String())
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	_, err = Connect(ctx, conf, Caller{User: "tina"}, nil)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestConnectRefuses(t *testing.T) {
	const quorum = "hbase.zookeeper.quorum"
	for _, c := range []struct {
		properties []string
		code       errcode.Code
		names      string
	}{
		{nil, errcode.SiteMissing, quorum},
		{[]string{"hbase.security.authentication", "KERBEROS", quorum, "h"}, errcode.SecurityUnsupported,
			"set hbase.kerberos"},
		{[]string{"hbase.security.authentication", "token", quorum, "h"}, errcode.SecurityUnsupported,
			"simple and kerberos"},
		{[]string{"hbase.rpc.protection", "secret", quorum, "h"}, errcode.SecurityUnsupported, `"secret"`},
		{[]string{"hbase.rpc.protection", "privacy", quorum, "h"}, errcode.SecurityUnsupported, "without Kerberos"},
		{[]string{"hbase.client.netty.tls.enabled", "true", quorum, "h"}, errcode.SecurityUnsupported,
			"hbase.client.netty.tls.enabled is true"},
		{[]string{"hbase.zookeeper.property.client.secure", "true", quorum, "h"}, errcode.SecurityUnsupported,
			"hbase.zookeeper.property.client.secure"},
		{[]string{"hbase.zookeeper.property.zookeeper.client.secure", "TRUE", quorum, "h"}, errcode.SecurityUnsupported,
			"hbase.zookeeper.property.zookeeper.client.secure"},
		{[]string{"zookeeper.znode.parent", "hbase", quorum, "h"}, errcode.SiteProperty, "zookeeper.znode.parent"},
		{[]string{"hbase.rpc.timeout", "long", quorum, "h"}, errcode.SiteProperty, "hbase.rpc.timeout"},
		{[]string{"hbase.bulkload.retries.number", "0", quorum, "h"}, errcode.SiteProperty, "1 to 2147483647"},
	} {
		_, err := Connect(context.Background(), siteOf(c.properties...), Caller{User: "tina"}, nil)
		if !errors.Is(err, ErrRefused) || errcode.Outermost(err) != c.code || !testwords.Names(err, c.names) {
			t.Errorf("got %v [%s], want [%s] %q", err, errcode.Outermost(err), c.code, c.names)
		}
	}
}

func TestZooKeeperAddresses(t *testing.T) {
	conf := new(siteconf.Conf)
	conf.Set("hbase.zookeeper.quorum", "a, b:1,c ,")
	conf.Set("hbase.zookeeper.property.clientPort", "2222")
	z, err := findZooKeeper(conf)
	if err != nil || z.String() != "a:2222,b:1,c:2222" || z.parent != "/hbase" {
		t.Errorf("got %v, %v", z, err)
	}
}

func TestSettings(t *testing.T) {
	s, err := readSettings(new(siteconf.Conf))
	if err != nil || s.load != 10*time.Minute || s.filesPerFamily != 32 || s.scanBytes != 2<<20 || s.rounds != 10 {
		t.Errorf("defaults %+v, %v", s, err)
	}
	conf := new(siteconf.Conf)
	conf.Set("hbase.rpc.timeout", "1200000")
	conf.Set("hbase.client.scanner.timeout.period", "5000")
	conf.Set("hbase.client.scanner.max.result.size", "104857600")
	s, err = readSettings(conf)
	if err != nil || s.scanBytes != 16<<20 || s.load != 20*time.Minute || s.call != maxTimeout || s.idle != 5*time.Second {
		t.Errorf("got %+v, %v", s, err)
	}
}

// TestTimeoutsAreBounded: whatever the site files say, a server that is silent from the start is unavailable within a
// minute: one try ends with idle, and none begins after it (TestSilentServer).
func TestTimeoutsAreBounded(t *testing.T) {
	const longest = "2147483647"
	conf := new(siteconf.Conf)
	for i, name := range []string{"", "hbase.rpc.timeout", "hbase.ipc.client.socket.timeout.connect", "hbase.client.scanner.timeout.period", "zookeeper.session.timeout"} {
		if i > 0 {
			conf.Set(name, longest)
		}
		s, err := readSettings(conf)
		if err != nil {
			t.Fatal(err)
		}
		if most := max(s.dial, s.call, s.idle, callTimeout); most >= time.Minute {
			t.Errorf("after %s: a silent server is unavailable after %v", name, most)
		}
	}
}

// The right ZooKeeper, but no HBase under that znode.
func TestNoMaster(t *testing.T) {
	l := newLab(t)
	l.conf.Set("zookeeper.znode.parent", "/elsewhere")
	_, err := Connect(t.Context(), l.conf, Caller{User: "tina"}, nil)
	if errcode.Outermost(err) != errcode.HBaseDown || !errors.Is(err, ErrUnavailable) ||
		!testwords.Names(err, "/elsewhere/master") {
		t.Errorf("got %v", err)
	}
}

// silentServer takes connections and says nothing.
func silentServer(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener.Addr().String()
}

// TestOthersOfTheQuorumServe: one server of ZooKeeper that answers is enough, wherever it comes in the quorum.
func TestOthersOfTheQuorumServe(t *testing.T) {
	real := testcluster.Use(t)
	conf, err := siteconf.Load(real.ConfDir())
	if err != nil {
		t.Fatal(err)
	}
	keeper, err := findZooKeeper(conf)
	if err != nil {
		t.Fatal(err)
	}
	table := connect(t, real, testUser).newTable("5")
	good, silent := keeper.String(), silentServer(t)
	for name, quorum := range map[string]string{
		"a name that is not known, first":  "no-such-host.invalid:2181," + good,
		"a name that is not known, second": good + ",no-such-host.invalid:2181",
		"a refused port, first":            closedPort(t) + "," + good,
		"a refused port, second":           good + "," + closedPort(t),
		"a silent server, first":           silent + "," + good,
		"a silent server, second":          good + "," + silent,
		"all of them":                      silent + ",no-such-host.invalid:2181," + closedPort(t) + "," + good,
	} {
		t.Run(name, func(t *testing.T) {
			l := connect(t, real, testUser, "hbase.zookeeper.quorum", quorum)
			if found, err := l.Table(t.Context(), table); err != nil || len(found.Regions) != 2 {
				t.Errorf("%+v, %v", found, err)
			}
		})
	}
}

// TestNoServerOfTheQuorum: where none answers, each is named with what is wrong with it.
func TestNoServerOfTheQuorum(t *testing.T) {
	closed, silent := closedPort(t), silentServer(t)
	conf := new(siteconf.Conf)
	conf.Set("hbase.zookeeper.quorum", "no-such-host.invalid:2181,"+closed+","+silent)
	c, err := open(conf, Caller{User: "tina"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.servers.finder.(*zooKeeper).get(timed(t), "/hbase/master", false)
	if !errors.Is(err, ErrUnavailable) || errcode.Outermost(err) != errcode.HBaseDown ||
		!testwords.Names(err, "no-such-host.invalid:2181: ", closed+": ", "refused", silent+": no answer") {
		t.Errorf("got %v", err)
	}
}

// TestNextServerOfTheQuorum: where one server is silent, the next one is asked soon, and its answer counts.
func TestNextServerOfTheQuorum(t *testing.T) {
	t.Parallel()
	conf := new(siteconf.Conf)
	conf.Set("hbase.zookeeper.quorum", silentServer(t)+","+emptyZooKeeper(t))
	z, err := findZooKeeper(conf)
	if err != nil {
		t.Fatal(err)
	}
	_, err = z.Master(timed(t))
	if errcode.Outermost(err) != errcode.HBaseDown || !errors.Is(err, ErrUnavailable) ||
		!testwords.Names(err, "/hbase/master") {
		t.Errorf("got %v", err)
	}
}

// TestUnknownQuorum: if none of its names is known, waiting does not help.
func TestUnknownQuorum(t *testing.T) {
	conf := new(siteconf.Conf)
	conf.Set("hbase.zookeeper.quorum", "no-such-host.invalid:2181,nor-this.invalid")
	_, err := Connect(timed(t), conf, Caller{User: "tina"}, nil)
	if !errors.Is(err, ErrRefused) || errors.Is(err, ErrUnavailable) ||
		errcode.Outermost(err) != errcode.Address || !testwords.Names(err, "nor-this.invalid") {
		t.Errorf("got %v", err)
	}
}

// TestQuorumIsForgottenLater: names that are not known are a mistake in the site files only until a server of the
// quorum has answered. Later the name service has lost them for a while, so a load waits, also after another connection
// to the cluster.
func TestQuorumIsForgottenLater(t *testing.T) {
	conf := new(siteconf.Conf)
	conf.Set("hbase.zookeeper.quorum", emptyZooKeeper(t))
	known := func() *zooKeeper {
		z, err := findZooKeeper(conf)
		if err != nil {
			t.Fatal(err)
		}
		return z
	}
	ask := func(z *zooKeeper) error {
		_, err := z.Master(timed(t))
		return err
	}
	forgotten := func(z *zooKeeper) *zooKeeper {
		z.servers = []string{"no-such-host.invalid:2181"}
		return z
	}
	if err := ask(forgotten(known())); !errors.Is(err, ErrRefused) {
		t.Errorf("before an answer: %v", err)
	}
	z := known()
	err := ask(z)
	if errcode.Outermost(err) != errcode.HBaseDown || !errors.Is(err, ErrUnavailable) || !testwords.Names(err, "/hbase/master") {
		t.Fatal(err)
	}
	for name, z := range map[string]*zooKeeper{"after an answer": z, "of another connection": known()} {
		if err := ask(forgotten(z)); !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// emptyZooKeeper is a server of ZooKeeper without znodes.
func emptyZooKeeper(t *testing.T) string { return fakeZooKeeper(t, nil) }

// fakeZooKeeper is a server of ZooKeeper that lags behind its leader: it has no znodes until a client asks it to
// sync. From then on all have the same content. nil: the leader has none either.
func fakeZooKeeper(t *testing.T, content []byte) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go answerAsZooKeeper(conn, content)
		}
	}()
	return listener.Addr().String()
}

// answerAsZooKeeper gives ConnectResponse, then ReplyHeader with SyncResponse or GetDataResponse (zookeeper.jute).
func answerAsZooKeeper(conn net.Conn, content []byte) {
	defer conn.Close()
	const (
		getData, sync = 4, 9
		noNode        = -101
	)
	synced := false
	for begun := false; ; begun = true {
		var size int32
		if binary.Read(conn, binary.BigEndian, &size) != nil {
			return
		}
		request := make([]byte, size)
		if _, err := io.ReadFull(conn, request); err != nil {
			return
		}
		var answer []any
		if !begun {
			answer = []any{int32(0), int32(20_000), int64(1), int32(16), make([]byte, 16)} // version, timeout, session, password
		} else {
			xid, op, path := request[:4], binary.BigEndian.Uint32(request[4:]), request[8:]
			switch {
			case op == sync:
				synced = true
				answer = []any{xid, int64(1), int32(0), path} // zxid, error
			case op == getData && synced && content != nil:
				answer = []any{xid, int64(1), int32(0), int32(len(content)), content, make([]byte, 68)} // and Stat
			default:
				answer = []any{xid, int64(1), int32(noNode)}
			}
		}
		length := 0
		for _, field := range answer {
			length += binary.Size(field)
		}
		for _, field := range append([]any{int32(length)}, answer...) {
			if binary.Write(conn, binary.BigEndian, field) != nil {
				return
			}
		}
	}
}

// TestTableStateOfAFollower: the server of the quorum that is asked may not have got the latest state of a table yet.
func TestTableStateOfAFollower(t *testing.T) {
	enabled := []byte("\xff\x00\x00\x00\x00PBUF\x08\x00") // RecoverableZooKeeper's header without an identifier
	keeper, err := findZooKeeper(siteOf(quorumProperty, fakeZooKeeper(t, enabled)))
	if err != nil {
		t.Fatal(err)
	}
	record, _, err := keeper.TableState(timed(t), "t")
	if err != nil || record == nil {
		t.Fatalf("state %x, %v", record, err)
	}
	if state, err := hbase.ParseTableState(record); state != hbase.Enabled || err != nil {
		t.Error(state, err)
	}
}

// timed is a context that ends before ZooKeeper's own time limit does.
func timed(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// TestZooKeeperThatWantsSASL: it can't be read, which is said by name and not taken for an outage, beside a server that is
// down as well.
func TestZooKeeperThatWantsSASL(t *testing.T) {
	port, err := testcluster.Use(t).Oracle(t).Run("sasl-zookeeper", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, quorum := range []string{"127.0.0.1:" + strings.TrimSpace(port), closedPort(t) + ",127.0.0.1:" + strings.TrimSpace(port)} {
		_, err := Connect(timed(t), siteOf("hbase.zookeeper.quorum", quorum), Caller{User: "tina"}, nil)
		if !errors.Is(err, ErrRefused) || errors.Is(err, ErrUnavailable) || errcode.Outermost(err) != errcode.SecurityUnsupported ||
			!testwords.Names(err, "SASL", "/hbase/master", "hbase.client.registry.impl") {
			t.Errorf("%v [%s]", err, errcode.Outermost(err))
		}
	}
}

// TestRightsOfAServerThatIsDown: it can't be asked what the user may read, which is an outage and no answer.
func TestRightsOfAServerThatIsDown(t *testing.T) {
	c := unconnected(t, quorumProperty, closedPort(t))
	table := &Table{Name: "t", Regions: []Region{{Server: closedPort(t)}}}
	if _, err := c.askRights(timed(t), table, []string{"f"}); !errors.Is(classify(t.Context(), err), ErrUnavailable) {
		t.Error(err)
	}
}
