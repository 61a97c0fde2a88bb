package load

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bulkload/cell"
	"bulkload/internal/errcode"
	"bulkload/internal/kerberos"
	"bulkload/internal/siteconf"
	"bulkload/internal/storage"
	"bulkload/internal/test/testcluster"
	"bulkload/internal/test/testcluster/kdc"
	"bulkload/internal/test/testwords"
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

// TestSecuredProtections: each protection, and lists of them; HBase offers all. The master and the region servers
// answer.
func TestSecuredProtections(t *testing.T) {
	real := testcluster.UseSecured(t)
	table := granted(t, real, "RWXC")
	for _, protection := range []string{"authentication", "integrity", "privacy", "privacy,authentication", "integrity,privacy"} {
		t.Run(strings.ReplaceAll(protection, ",", "+"), func(t *testing.T) {
			c, err := Connect(t.Context(), secured(t, real, "hbase.rpc.protection", protection), Caller{Login: loginAs(t, real, "loader")}, nil)
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
	c, err := Connect(t.Context(), secured(t, real), Caller{Login: login}, nil)
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
		who        Caller
		code       errcode.Code
		want       []string
	}{
		"no login": {nil, Caller{User: "loader"}, errcode.SecurityUnsupported,
			[]string{"hbase.security.authentication is kerberos", "hbase-site.xml", "hbase.kerberos", "kinit"}},
		"another service": {[]string{"hbase.master.kerberos.principal", "hdfs/localhost@LAB.TEST"},
			Caller{Login: login},
			errcode.KerberosService, []string{"hdfs/localhost@LAB.TEST", "GSS initiate failed", "kvno"}},
		"an unknown service": {[]string{"hbase.master.kerberos.principal", "hbase/nowhere@LAB.TEST"},
			Caller{Login: login},
			errcode.KerberosService, []string{"hbase/nowhere@LAB.TEST"}},
		"no principal": {[]string{"hbase.master.kerberos.principal", ""}, Caller{Login: login}, errcode.SiteMissing,
			[]string{"hbase.master.kerberos.principal"}},
		"a wrong principal": {[]string{"hbase.regionserver.kerberos.principal", "hbase"}, Caller{Login: login},
			errcode.SecurityUnsupported, []string{"hbase.regionserver.kerberos.principal is hbase",
				"SERVICE/_HOST@REALM"}},
		"an open client": {[]string{"hbase.security.authentication", "simple"}, Caller{User: "loader"}, errcode.HBasePermission,
			[]string{"any"}},
		"TLS": {[]string{"hbase.client.netty.tls.enabled", "true"}, Caller{Login: login}, errcode.SecurityUnsupported,
			[]string{"hbase.client.netty.tls.enabled is true"}},
		"an unknown mechanism": {[]string{"hbase.security.authentication", "oauth"}, Caller{Login: login},
			errcode.SecurityUnsupported, []string{"simple and kerberos"}},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Connect(t.Context(), secured(t, real, test.properties...), test.who, nil)
			if err == nil {
				_, err = c.Table(t.Context(), "any")
				c.Close()
			}
			if !errors.Is(err, ErrRefused) || errors.Is(err, ErrUnavailable) { // which it is after tries without success
				t.Errorf("%v", err)
			}
			if errcode.Outermost(err) != test.code || !testwords.Names(err, test.want...) {
				t.Errorf("%v [%s], want [%s] %q", err, errcode.Outermost(err), test.code, test.want)
			}
		})
	}
}

// TestSecuredRights: a user who may not read is refused with the grant that is missing.
func TestSecuredRights(t *testing.T) {
	real := testcluster.UseSecured(t)
	table := granted(t, real, "C")
	c, err := Connect(t.Context(), secured(t, real), Caller{Login: loginAs(t, real, "loader")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	described, err := c.Table(t.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	err = c.CheckRead(t.Context(), described, []string{"f"})
	if !errors.Is(err, ErrRefused) || !testwords.Names(err, "grant 'loader', 'R', '"+table+"'") {
		t.Error(err)
	}
	if n, err := rowsOf(t, c, table); err == nil || n > 0 {
		t.Errorf("%d rows, %v", n, err)
	}
	nobody, err := Connect(t.Context(), secured(t, real), Caller{Login: loginAs(t, real, "other")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer nobody.Close()
	if _, err := nobody.Table(t.Context(), table); !errors.Is(err, ErrRefused) && !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}

// TestSecuredGrants: once the oracle has granted or revoked rights, master and region servers answer accordingly. HBase
// tells its servers later than the one who grants, and the tests use a right at once.
func TestSecuredGrants(t *testing.T) {
	real := testcluster.UseSecured(t)
	table := granted(t, real, "C")
	c, err := Connect(t.Context(), secured(t, real), Caller{Login: loginAs(t, real, "loader")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	described, err := c.Table(t.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	for range 15 {
		ask(t, real, "grant", "loader", table, "R")
		if err := c.CheckRead(t.Context(), described, []string{"f"}); err != nil {
			t.Errorf("just granted: %v", err)
		}
		if _, err := c.Table(t.Context(), table); !errors.Is(err, ErrRefused) && !errors.Is(err, ErrNotFound) {
			t.Errorf("just replaced: %v", err)
		}
		ask(t, real, "grant", "loader", table, "C")
		if err := c.CheckRead(t.Context(), described, []string{"f"}); !errors.Is(err, ErrRefused) {
			t.Errorf("just replaced: %v", err)
		}
		if _, err := c.Table(t.Context(), table); err != nil {
			t.Errorf("just granted: %v", err)
		}
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
		c, err := Connect(t.Context(), conf, Caller{Login: login}, nil)
		if err == nil {
			c.Close()
			t.Fatal("connected")
		}
		if !errors.Is(err, ErrRefused) || errcode.Outermost(err) != errcode.SiteProperty {
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
	brief := fmt.Sprintf("brief%d", time.Now().UnixNano())
	keytab, err := real.KDC().Keytab(ctx, brief, `+requires_preauth -maxlife "1 minute"`, brief)
	if err != nil {
		t.Fatal(err)
	}
	login, err := kerberos.Open(ctx, kerberos.Config{Keytab: keytab, Krb5Conf: real.Krb5Conf()})
	if err != nil {
		t.Fatal(err)
	}
	ask(t, real, "grant", login.Short(), table, "R")
	c, err := Connect(ctx, secured(t, real, "hbase.rpc.protection", "integrity"), Caller{Login: login}, nil)
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
	again, err := Connect(ctx, secured(t, real), Caller{Login: login}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if _, err := rowsOf(t, again, table); err != nil {
		t.Error(err)
	}
}

// delegator is a file system whose tokens live for a while, of which it counts.
type delegator struct {
	storage.FS
	life             time.Duration
	given, cancelled int
	failing          error // of new tokens
	lasting          error // of renewals
}

func (d *delegator) Delegates() bool { return true }

func (d *delegator) DelegationToken(_ context.Context, renewer string) (storage.Token, error) {
	if d.failing != nil {
		return storage.Token{}, d.failing
	}
	d.given++
	return storage.Token{Identifier: []byte(fmt.Sprint(renewer, d.given)), Password: []byte("p"), Kind: "HDFS_DELEGATION_TOKEN", Service: "127.0.0.1:1"}, nil
}

func (d *delegator) RenewToken(context.Context, storage.Token) (time.Time, error) {
	return time.Now().Add(d.life), d.lasting
}

func (d *delegator) CancelToken(context.Context, storage.Token) error {
	d.cancelled++
	return nil
}

// above is a file system around another one.
type above struct{ storage.FS }

func (a above) Unwrap() storage.FS { return a.FS }

// TestTokens: a fresh token serves all requests, one that is half old none, and all are cancelled; without one nothing
// goes.
func TestTokens(t *testing.T) {
	ctx := t.Context()
	d := &delegator{life: time.Hour}
	rights, err := newDelegation(&Cluster{user: "tina", secured: true}, above{above{d}})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		token, err := rights.forRequest(ctx)
		if err != nil || string(token.Identifier) != "tina1" || token.Service != "127.0.0.1:1" {
			t.Fatalf("got %v, %v", token, err)
		}
	}
	rights.change = time.Now() // half an hour later
	if token, err := rights.forRequest(ctx); err != nil || string(token.Identifier) != "tina2" {
		t.Errorf("got %v, %v", token, err)
	}
	if left := time.Until(rights.change); left < 25*time.Minute || left > 30*time.Minute {
		t.Errorf("the token is half old in %v", left)
	}
	if err := rights.cancel(ctx); err != nil || d.cancelled != 2 {
		t.Errorf("%d cancelled, %v", d.cancelled, err)
	}
	d.failing = errors.New("no tokens today")
	if token, err := rights.forRequest(ctx); token != nil || !errors.Is(err, d.failing) {
		t.Errorf("got %v, %v", token, err)
	}
	if _, err := newDelegation(&Cluster{secured: true}, above{storage.Local}); !errors.Is(err, ErrRefused) {
		t.Errorf("HBase with Kerberos, files without: %v", err)
	}
	if rights, err := newDelegation(&Cluster{}, storage.Local); err != nil || rights != nil {
		t.Errorf("got %v, %v", rights, err)
	}
}

// TestFailedExchange: a token serves to its end where no new one is to be had, which is tried again.
func TestFailedExchange(t *testing.T) {
	ctx := t.Context()
	d := &delegator{life: time.Hour}
	rights := &delegation{fs: d, user: "tina"}
	want := func(what, identifier string) {
		t.Helper()
		token, err := rights.forRequest(ctx)
		if err != nil || string(token.Identifier) != identifier {
			t.Fatalf("%s: %v, %v; want %s", what, token, err, identifier)
		}
	}
	want("at first", "tina1")
	rights.change, d.failing = time.Now(), errors.New("no tokens today")
	want("half old", "tina1")
	if !rights.change.After(time.Now()) {
		t.Error("each request tries the exchange again")
	}
	rights.change, d.failing = time.Now(), nil
	want("a minute later", "tina2")
	rights.change, rights.end, d.failing = time.Now(), time.Now(), errors.New("no tokens today")
	if token, err := rights.forRequest(ctx); !errors.Is(err, d.failing) || token != nil {
		t.Errorf("at its end: %v, %v", token, err)
	}
}

// TestUnknownLife: of a token whose end the NameNode does not tell nothing is assumed.
func TestUnknownLife(t *testing.T) {
	d := &delegator{life: time.Hour, lasting: errors.New("tina tries to renew a token with renewer tina@OTHER")}
	rights := &delegation{fs: d, user: "tina"}
	if _, err := rights.forRequest(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := time.Until(rights.change); left > unknownLife/2 || time.Until(rights.end) > unknownLife {
		t.Errorf("it is exchanged in %v", left)
	}
}

// TestSecuredLoad: loader, who is no superuser of anything, loads files that are its own and that hbase may not write.
func TestSecuredLoad(t *testing.T) {
	real := testcluster.UseSecured(t)
	for _, protection := range []string{"authentication", "privacy"} {
		t.Run(protection, func(t *testing.T) {
			table := granted(t, real, "CR")
			conf := secured(t, real, "hbase.rpc.protection", protection)
			login := loginAs(t, real, "loader")
			c, err := Connect(t.Context(), conf, Caller{Login: login}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			dir := fmt.Sprintf("%s/secured-load-%d", real.FS(), time.Now().UnixNano())
			fsys, name, err := storage.ResolveAs(dir, "/", conf, storage.Identity{Login: login})
			if err != nil {
				t.Fatal(err)
			}
			defer fsys.Close()
			defer fsys.RemoveAll(name)
			var files []HFile
			for _, rows := range [][]string{{"row0001", "row0002"}, {"row1500", "row1501", "row1502"}} {
				files = append(files, putFile(t, real, fsys, name, rows, 0))
			}
			described, err := c.Table(t.Context(), table)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.CheckStaging(t.Context(), fsys, described, "f", name, name+"/probe").Err(); err != nil {
				t.Error(err)
			}
			report, err := c.LoadFrom(t.Context(), fsys, table, files, Hooks{})
			if err != nil || report.Files != 2 || report.Staging != "" {
				t.Errorf("got %+v, %v", report, err)
			}
			if n, err := rowsOf(t, c, table); err != nil || n != 5 {
				t.Errorf("%d rows, %v", n, err)
			}
			if out := ask(t, real, "scan", table); strings.Count(out, "\n") != 5 {
				t.Errorf("HBase's client finds %s", out)
			}
		})
	}
}

// putFile writes an HFile with HBase's writer and copies it to HDFS as its owner. The mode is as for storage.FS.
func putFile(t *testing.T, real *testcluster.Cluster, fsys storage.FS, dir string, rows []string, mode fs.FileMode) HFile {
	t.Helper()
	var cells strings.Builder
	for _, row := range rows {
		fmt.Fprintf(&cells, "%x\tf\t%x\t1000\tPut\t%x\n", row, "q", "value of "+row)
	}
	local := t.TempDir()
	if err := os.WriteFile(local+"/cells", []byte(cells.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	written := strings.TrimSpace(ask(t, real, "write", local+"/cells", "file://"+local+"/file"))
	text, err := os.ReadFile(strings.TrimPrefix(written, "file:"))
	if err != nil {
		t.Fatal(err)
	}
	name := dir + "/f/" + rows[0]
	if err := fsys.MkdirAll(dir+"/f", 0); err != nil {
		t.Fatal(err)
	}
	w, err := fsys.Create(name, mode)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return HFile{Family: "f", URI: fsys.URI(name), FirstRow: []byte(rows[0]), LastRow: []byte(rows[len(rows)-1])}
}

// TestSecuredPrincipalsWithoutHost: principals may be written out, as some distributions do, without _HOST.
func TestSecuredPrincipalsWithoutHost(t *testing.T) {
	real := testcluster.UseSecured(t)
	table := granted(t, real, "RWXC")
	const literal = "hbase/localhost@LAB.TEST"
	conf := secured(t, real, masterProperty, literal, regionServerProperty, literal)
	c, err := Connect(t.Context(), conf, Caller{Login: loginAs(t, real, "loader")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if n, err := rowsOf(t, c, table); err != nil || n != 0 {
		t.Errorf("%d rows, %v", n, err)
	}
}
