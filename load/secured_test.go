package load

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bulkload/cell"
	"bulkload/internal/kerberos"
	"bulkload/internal/siteconf"
	"bulkload/internal/testcluster"
	"bulkload/internal/testcluster/kdc"
)

// These tests use a real HBase with Kerberos and its AccessController.

// secured is the site files of that cluster, with properties of the test's own.
func secured(t *testing.T, real *testcluster.Cluster, properties ...string) *siteconf.Conf {
	t.Helper()
	conf, err := siteconf.Load(real.ConfDir())
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(properties); i += 2 {
		conf.Set(properties[i], properties[i+1])
	}
	return conf
}

func loginAs(t *testing.T, real *testcluster.Cluster, name string) *kerberos.Login {
	t.Helper()
	l, err := kerberos.Open(t.Context(), kerberos.Config{Principal: name, Keytab: real.Keytab(name), Krb5Conf: real.Krb5Conf()})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// ask has the oracle, which is HBase's superuser, do something.
func ask(t *testing.T, real *testcluster.Cluster, args ...string) string {
	t.Helper()
	out, err := real.Oracle(t).Run(args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// granted makes an empty table of two regions, in which loader has rights.
func granted(t *testing.T, real *testcluster.Cluster, permissions string) string {
	t.Helper()
	table := real.UniqueTable(t)
	ask(t, real, "create", table, "f", "row1000")
	ask(t, real, "grant", "loader", table, permissions)
	return table
}

func rowsOf(t *testing.T, c *Cluster, table string) (n int, err error) {
	err = c.ScanRange(t.Context(), table, nil, nil, func(*cell.Cell) error { n++; return nil })
	return n, err
}

// TestSecuredProtections: each protection, and lists of them; HBase offers all. The master and the region servers answer.
func TestSecuredProtections(t *testing.T) {
	real := testcluster.UseSecured(t)
	table := granted(t, real, "RWXC")
	for _, protection := range []string{"authentication", "integrity", "privacy", "privacy,authentication", "integrity,privacy"} {
		t.Run(strings.ReplaceAll(protection, ",", "+"), func(t *testing.T) {
			c, err := ConnectAs(t.Context(), secured(t, real, "hbase.rpc.protection", protection), Identity{Login: loginAs(t, real, "loader")})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			described, err := c.Table(t.Context(), table)
			if err != nil || len(described.Regions) != 2 {
				t.Fatalf("got %+v, %v", described, err)
			}
			if err := c.CheckRead(t.Context(), described, []string{"f"}); err != nil {
				t.Error(err)
			}
			if n, err := rowsOf(t, c, table); err != nil || n != 0 {
				t.Errorf("%d rows, %v", n, err)
			}
			if c.user != "loader" {
				t.Errorf("HDFS names us %s", c.user)
			}
		})
	}
}

// TestSecuredCache: a ticket cache serves as a keytab does.
func TestSecuredCache(t *testing.T) {
	real := testcluster.UseSecured(t)
	cache := filepath.Join(t.TempDir(), "cc")
	if err := real.KDC().Kinit(t.Context(), cache, real.Keytab("loader"), "loader"); err != nil {
		t.Fatal(err)
	}
	login, err := kerberos.Open(t.Context(), kerberos.Config{Cache: "FILE:" + cache, Krb5Conf: real.Krb5Conf()})
	if err != nil {
		t.Fatal(err)
	}
	c, err := ConnectAs(t.Context(), secured(t, real), Identity{Login: login})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Status(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestSecuredRefusals: each reason why HBase or the KDC says no is named, at once, and is one to be refused for.
func TestSecuredRefusals(t *testing.T) {
	real := testcluster.UseSecured(t)
	login := loginAs(t, real, "loader")
	for name, test := range map[string]struct {
		properties []string
		who        Identity
		want       []string
	}{
		"no login":             {nil, Identity{User: "loader"}, []string{"hbase.security.authentication is kerberos", "hbase-site.xml", "set hbase.kerberos in the job, or run kinit"}},
		"another service":      {[]string{"hbase.master.kerberos.principal", "hdfs/localhost@LAB.TEST"}, Identity{Login: login}, []string{"authenticate with hdfs/localhost@LAB.TEST", "GSS initiate failed", "kvno"}},
		"an unknown service":   {[]string{"hbase.master.kerberos.principal", "hbase/nowhere@LAB.TEST"}, Identity{Login: login}, []string{"hbase/nowhere@LAB.TEST", "does not know the service"}},
		"no principal":         {[]string{"hbase.master.kerberos.principal", ""}, Identity{Login: login}, []string{"hbase.master.kerberos.principal is not set"}},
		"a wrong principal":    {[]string{"hbase.regionserver.kerberos.principal", "hbase"}, Identity{Login: login}, []string{"hbase.regionserver.kerberos.principal is hbase", "SERVICE/_HOST@REALM"}},
		"an open client":       {[]string{"hbase.security.authentication", "simple"}, Identity{User: "loader"}, []string{"any"}},
		"TLS":                  {[]string{"hbase.client.netty.tls.enabled", "true"}, Identity{Login: login}, []string{"hbase.client.netty.tls.enabled is true"}},
		"an unknown mechanism": {[]string{"hbase.security.authentication", "oauth"}, Identity{Login: login}, []string{"known are simple and kerberos"}},
	} {
		t.Run(name, func(t *testing.T) {
			started := time.Now()
			c, err := ConnectAs(t.Context(), secured(t, real, test.properties...), test.who)
			if err == nil {
				_, err = c.Table(t.Context(), "any")
				c.Close()
			}
			if !errors.Is(err, ErrRefused) || time.Since(started) > 30*time.Second {
				t.Errorf("after %v: %v", time.Since(started), err)
			}
			for _, part := range test.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q is missing in: %v", part, err)
				}
			}
		})
	}
}

// TestSecuredRights: who may not read is told by the name and the grant that he lacks.
func TestSecuredRights(t *testing.T) {
	real := testcluster.UseSecured(t)
	table := granted(t, real, "C")
	c, err := ConnectAs(t.Context(), secured(t, real), Identity{Login: loginAs(t, real, "loader")})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	described, err := c.Table(t.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.CheckRead(t.Context(), described, []string{"f"}); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "grant 'loader', 'R', '"+table+"'") {
		t.Error(err)
	}
	if n, err := rowsOf(t, c, table); err == nil || n > 0 {
		t.Errorf("%d rows, %v", n, err)
	}
	nobody, err := ConnectAs(t.Context(), secured(t, real), Identity{Login: loginAs(t, real, "other")})
	if err != nil {
		t.Fatal(err)
	}
	defer nobody.Close()
	if _, err := nobody.Table(t.Context(), table); !errors.Is(err, ErrRefused) && !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}

// TestKerberosIsNotGivenUp: a client with Kerberos sends nothing to an HBase without it.
func TestKerberosIsNotGivenUp(t *testing.T) {
	real := testcluster.Use(t)
	k := kdc.Use(t, kdc.Options{})
	keytab := k.Principal(t, "loader", "", "loader")
	k.Principal(t, "hbase", "", "hbase/localhost")
	login, err := kerberos.Open(t.Context(), kerberos.Config{Keytab: keytab, Krb5Conf: k.Conf()})
	if err != nil {
		t.Fatal(err)
	}
	for _, fallback := range []string{"false", "true"} {
		conf := secured(t, real, "hbase.security.authentication", "kerberos", "hbase.master.kerberos.principal", "hbase/_HOST@LAB.TEST",
			"hbase.regionserver.kerberos.principal", "hbase/_HOST@LAB.TEST", "hbase.ipc.client.fallback-to-simple-auth-allowed", fallback)
		c, err := ConnectAs(t.Context(), conf, Identity{Login: login})
		if err == nil {
			c.Close()
			t.Fatal("connected")
		}
		if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "the server wants no Kerberos") {
			t.Error(err)
		}
	}
}

// TestSecuredTicketsEnd: connections outlive the ticket that opened them, and new ones get a new ticket.
func TestSecuredTicketsEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("takes over a minute: tickets don't live for less")
	}
	real := testcluster.UseSecured(t)
	table := granted(t, real, "RWXC")
	ctx := t.Context()
	keytab, err := real.KDC().Keytab(ctx, fmt.Sprintf("brief%d", os.Getpid()), `+requires_preauth -maxlife "1 minute"`, fmt.Sprintf("brief%d", os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	login, err := kerberos.Open(ctx, kerberos.Config{Keytab: keytab, Krb5Conf: real.Krb5Conf()})
	if err != nil {
		t.Fatal(err)
	}
	ask(t, real, "grant", login.Short(), table, "R")
	c, err := ConnectAs(ctx, secured(t, real, "hbase.rpc.protection", "integrity"), Identity{Login: login})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ticket, err := login.Ticket(ctx, "hbase/localhost@LAB.TEST")
	if err != nil {
		t.Fatal(err)
	}
	for end := ticket.Expiry().Add(5 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Second) {
		if _, err := rowsOf(t, c, table); err != nil {
			t.Fatal(err)
		}
	}
	again, err := ConnectAs(ctx, secured(t, real), Identity{Login: login})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if _, err := rowsOf(t, again, table); err != nil {
		t.Error(err)
	}
}
