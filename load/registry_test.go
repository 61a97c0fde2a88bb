package load

import (
	"errors"
	"maps"
	"net"
	"strconv"
	"sync"
	"testing"

	"bulkload/internal/errcode"
	"bulkload/internal/hbase"
	"bulkload/internal/siteconf"
	"bulkload/internal/test/hbasetest"
	"bulkload/internal/test/testcluster"
	"bulkload/internal/test/testwords"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
)

// serversOf are the addresses of a cluster's active master and of the server that has hbase:meta, as ZooKeeper knows them.
func serversOf(t *testing.T, conf *siteconf.Conf) (master, meta string) {
	t.Helper()
	z, err := findZooKeeper(conf)
	if err == nil {
		master, err = z.Master(t.Context())
	}
	if err == nil {
		meta, err = z.Meta(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return master, meta
}

// TestRegistry: a client whose site files do not name ZooKeeper reads a table, whichever servers they name, if one of
// them answers.
func TestRegistry(t *testing.T) {
	real := testcluster.Use(t)
	table := connect(t, real, testUser).newTable("5")
	conf, err := siteconf.Load(real.ConfDir())
	if err != nil {
		t.Fatal(err)
	}
	master, server := serversOf(t, conf)
	const quorum = "hbase.zookeeper.quorum"
	for name, properties := range map[string][]string{
		"the master":      {quorum, "", "hbase.masters", master},
		"a region server": {quorum, "", "hbase.client.bootstrap.servers", server},
		"by name, although there is a quorum": {quorum, closedPort(t), "hbase.masters", master,
			"hbase.client.registry.impl", "org.apache.hadoop.hbase.client.RpcConnectionRegistry"},
		"a silent one, one that is down, one that is unknown": {quorum, "", "hbase.client.bootstrap.servers",
			silentServer(t) + "," + closedPort(t) + ",no-such-host.invalid:1," + server},
		"one that knows nothing": {quorum, "", "hbase.masters", empty(t) + "," + master},
		"ZooKeeper, by name": {"hbase.masters", closedPort(t),
			"hbase.client.registry.impl", "org.apache.hadoop.hbase.client.ZKConnectionRegistry"},
		"ZooKeeper, because it is there": {"hbase.masters", closedPort(t)},
	} {
		t.Run(name, func(t *testing.T) {
			l := connect(t, real, testUser, properties...)
			if found, err := l.Table(t.Context(), table); err != nil || len(found.Regions) != 2 {
				t.Errorf("%+v, %v", found, err)
			}
		})
	}
}

// empty is a server that knows of no other.
func empty(t *testing.T) string {
	t.Helper()
	return hbasetest.Serve(t, func(hbasetest.Request) hbasetest.Answer { return hbasetest.Answer{} }).Addr
}

// TestRegistryRefuses: what is missing is named, and no server that answers is a reason to wait.
func TestRegistryRefuses(t *testing.T) {
	t.Parallel()
	closed, nothing := closedPort(t), empty(t)
	old := hbasetest.Serve(t, func(hbasetest.Request) hbasetest.Answer {
		return hbasetest.Answer{Exception: "org.apache.hadoop.hbase.ipc.UnknownServiceException", Stack: "ClientMetaService", DoNotRetry: true}
	}).Addr
	const registry, rpc = "hbase.client.registry.impl", "org.apache.hadoop.hbase.client.RpcConnectionRegistry"
	for _, c := range []struct {
		properties []string
		kind       error
		code       errcode.Code
		names      []string
	}{
		{[]string{registry, rpc}, ErrRefused, errcode.SiteMissing, []string{"hbase.client.bootstrap.servers", "hbase.masters"}},
		{[]string{registry, "org.example.Own", "hbase.masters", closed}, ErrRefused, errcode.SiteProperty, []string{registry, "org.example.Own"}},
		{[]string{"hbase.masters", closed + "," + nothing + "," + old}, ErrUnavailable, errcode.HBaseDown,
			[]string{closed + ": ", "refused", nothing + ": ", "knows of none", old + ": ", "UnknownServiceException"}},
		{[]string{"hbase.masters", "no-such-host.invalid"}, ErrRefused, errcode.Address, []string{"hbase.masters", "no-such-host.invalid:16000"}},
	} {
		_, err := Connect(timed(t), siteOf(c.properties...), Caller{User: "tina"}, nil)
		if !errors.Is(err, c.kind) || errcode.Outermost(err) != c.code || !testwords.Names(err, c.names...) {
			t.Errorf("%q: %v [%s], want %v [%s] with %q", c.properties, err, errcode.Outermost(err), c.kind, c.code, c.names)
		}
	}
}

// TestRegistryAnswers reads answers as servers write them: of hbase:meta's replicas the first counts.
func TestRegistryAnswers(t *testing.T) {
	t.Parallel()
	location := func(replica byte, port byte) []byte { // RegionLocation{1 RegionInfo{7 replica_id}, 2 ServerName{1 "h", 2 port}}
		return []byte{0x0a, 13, 0x0a, 2, 0x38, replica, 0x12, 5, 0x0a, 1, 'h', 0x10, port, 0x18, 0}
	}
	for want, answer := range map[string][]byte{
		"h:7": append(location(1, 6), append(location(0, 7), location(2, 8)...)...),
		"":    location(1, 6),
		"-":   {0x0a, 3, 0x0a, 9, 9}, // a region longer than its location
	} {
		addr := hbasetest.Serve(t, func(hbasetest.Request) hbasetest.Answer { return hbasetest.Answer{Param: answer} }).Addr
		r, err := findServers(siteOf("hbase.masters", addr), hbase.Options{User: "tina"})
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Meta(timed(t))
		if err != nil {
			got = map[bool]string{true: "-", false: ""}[errors.Is(err, hbase.ErrMalformed)]
		}
		if got != want {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
}

// TestSecuredRegistry: with Kerberos, too, no ZooKeeper is needed. A server that is named may be a master or another one,
// so both principals are tried.
func TestSecuredRegistry(t *testing.T) {
	real := testcluster.UseSecured(t)
	table := granted(t, real, "RWXC")
	master, server := serversOf(t, secured(t, real))
	for name, properties := range map[string][]string{
		"the master":      {"hbase.masters", master},
		"a region server": {"hbase.client.bootstrap.servers", server},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Connect(t.Context(), secured(t, real, append(properties, "hbase.zookeeper.quorum", "")...), Caller{Login: loginAs(t, real, "loader")}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if n, err := rowsOf(t, c, table); err != nil || n != 0 {
				t.Errorf("%d rows, %v", n, err)
			}
		})
	}
	const other = "other/_HOST@LAB.TEST"
	for _, c := range []struct {
		properties []string
		refused    bool
	}{
		{[]string{"hbase.client.bootstrap.servers", master, regionServerProperty, other}, false},
		{[]string{"hbase.client.bootstrap.servers", server, masterProperty, other}, false},
		{[]string{"hbase.masters", master, regionServerProperty, other}, false},
		{[]string{"hbase.masters", master, masterProperty, other}, true},
		{[]string{"hbase.masters", closedPort(t) + "," + master, masterProperty, other}, true},
		{[]string{"hbase.client.bootstrap.servers", server, regionServerProperty, other, masterProperty, other}, true},
	} {
		c1, err := open(secured(t, real, append(c.properties, "hbase.zookeeper.quorum", "")...), Caller{Login: loginAs(t, real, "loader")}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c1.servers.finder.Master(t.Context())
		if c.refused && !errors.Is(err, ErrRefused) || !c.refused && (err != nil || got != master) {
			t.Errorf("%q: %s, %v", c.properties, got, err)
		}
		if err := c1.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestMetaOfAnotherName: a cluster that shares its root folder with another one has a hbase:meta of its own, which is
// asked for a table's state, its regions and the region of a row.
func TestMetaOfAnotherName(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	asked := map[string]bool{}
	var addr string
	addr = hbasetest.Serve(t, func(r hbasetest.Request) hbasetest.Answer {
		mu.Lock()
		defer mu.Unlock()
		switch r.Method {
		case "GetActiveMaster":
			host, port, err := net.SplitHostPort(addr)
			if err != nil {
				t.Error(err)
			}
			number, err := strconv.ParseUint(port, 10, 32)
			if err != nil {
				t.Error(err)
			}
			server, err := proto.Marshal(&pb.ServerName{HostName: &host, Port: proto.Uint32(uint32(number))})
			if err != nil {
				t.Error(err)
			}
			return hbasetest.Answer{Param: append([]byte{0x0a, byte(len(server))}, server...)}
		case "Get", "Scan":
			var question pb.GetRequest // a ScanRequest has the region in the same field
			if err := proto.Unmarshal(r.Param, &question); question.Region == nil {
				t.Error(r.Method, err)
			}
			asked[r.Method+" "+string(question.GetRegion().GetValue())] = true
			if r.Method == "Scan" {
				return hbasetest.Answer{Exception: "org.apache.hadoop.hbase.TableNotFoundException", DoNotRetry: true}
			}
		}
		return hbasetest.Answer{}
	}).Addr
	c, err := Connect(t.Context(), siteOf("hbase.masters", addr, "hbase.meta.table.suffix", "b"), Caller{User: "tina"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.reader.locations.add("hbase:meta_b", &Region{Name: metaRegion("hbase:meta_b"), Server: addr})
	c.servers.finder = metaAt{addr: addr}
	id := hbase.TableName{Namespace: "default", Qualifier: "t"}
	if _, _, err := c.reader.tableState(t.Context(), id); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	if _, err := c.reader.regions(t.Context(), id); !hbase.IsRemote(err, "TableNotFoundException") {
		t.Error(err)
	}
	if _, err := c.reader.locate(t.Context(), "t", nil, false); !hbase.IsRemote(err, "TableNotFoundException") {
		t.Error(err)
	}
	if want := map[string]bool{"Get hbase:meta_b,,1": true, "Scan hbase:meta_b,,1": true}; !maps.Equal(asked, want) {
		t.Error(asked)
	}
}
