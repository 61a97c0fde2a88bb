package storage

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/kerberos"
	"bulkload/internal/siteconf"
	"bulkload/internal/test/testcluster"
	"bulkload/internal/test/testcluster/kdc"
	"bulkload/internal/test/testwords"
)

// secured is an HDFS with Kerberos, with two NameNodes and two DataNodes, for this test only. It offers all
// protections, and AES.
type secured struct {
	*testcluster.Cluster
	loader *kerberos.Login
}

// TestSecuredHDFS runs for about two minutes.
func TestSecuredHDFS(t *testing.T) {
	const all = "authentication,integrity,privacy"
	s := startSecured(t, testcluster.Options{HA: true, DataNodes: 2, Kerberos: &testcluster.Kerberos{RPC: all, Transfer: all, AES: true}})
	for _, test := range []struct {
		name string
		run  func(*testing.T, *secured)
	}{
		{"protections", securedProtections},
		{"wire", securedWire},
		{"refusals", securedRefusals},
		{"unprotected", securedUnprotected},
		{"delegation tokens", delegationTokens},
		{"damage", securedDamage},
		{"permission", securedPermission},
		{"failover", securedFailover},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, s) })
	}
}

// TestEncryptedHDFS: connections to DataNodes are encrypted with keys of the NameNode, though the site files ask only
// for authentication.
func TestEncryptedHDFS(t *testing.T) {
	s := startSecured(t, testcluster.Options{DataNodes: 2, Kerberos: &testcluster.Kerberos{Encrypt: true, RPC: "authentication,privacy"}})
	conf := siteOf(t, s.Cluster)
	for _, encrypt := range []string{"true", ""} { // the NameNode decides
		conf.Set(encryptProperty, encrypt)
		fsys, root := s.folder(t, conf, Identity{Login: s.loader})
		readsAndWrites(t, fsys, root, noise(10<<20))
		conforms(t, fsys, root)
	}
	t.Run("wire", func(t *testing.T) { encryptedWire(t, s) })
	t.Run("a key that ended", func(t *testing.T) { endedKey(t, s, conf) })
	t.Run("damage", securedDamageOf(conf, s))
}

func startSecured(t *testing.T, o testcluster.Options) *secured {
	t.Helper()
	testcluster.Use(t) // runs only if a cluster is wanted
	if testing.Short() {
		t.Skip("starts a cluster of its own")
	}
	kdc.Use(t, kdc.Options{Realm: "PROBE.TEST"}) // skips on a machine without a KDC
	o.Dir, o.HDFSOnly = t.TempDir(), true
	c, err := testcluster.Start(t.Context(), o)
	check(t, err)
	t.Cleanup(func() { check(t, c.Stop()) })
	return &secured{c, loginAs(t, c, "loader")}
}

func loginAs(t *testing.T, c *testcluster.Cluster, name string) *kerberos.Login {
	t.Helper()
	login, err := kerberos.Open(t.Context(), kerberos.Config{Principal: name, Keytab: c.Keytab(name), Krb5Conf: c.Krb5Conf()})
	check(t, err)
	return login
}

// folder returns a new directory.
func (s *secured) folder(t *testing.T, conf *siteconf.Conf, who Identity) (fsys FS, root string) {
	t.Helper()
	name := "hdfs:///secured-" + strings.NewReplacer("/", "-", ",", "-", "+", "-").Replace(t.Name()) + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	fsys, root, err := ResolveAs(name, "/", conf, who)
	check(t, err)
	check(t, fsys.MkdirAll(root, 0))
	t.Cleanup(func() {
		if err := fsys.RemoveAll(root); err != nil {
			t.Error(err)
		}
		check(t, fsys.Close())
	})
	return fsys, root
}

// securedProtections tries each protection of each connection, and some lists of them, set in a client's site files.
func securedProtections(t *testing.T, s *secured) {
	content := noise(50 << 20)
	for _, c := range []struct{ rpc, transfer, suites string }{
		{"authentication", "authentication", ""},
		{"integrity", "privacy", ""},
		{"privacy", "integrity", ""},
		{"privacy,authentication", "privacy", aesSuite},
		{"authentication,privacy", "integrity,privacy", aesSuite},
	} {
		t.Run(c.rpc+"+"+c.transfer+"+"+strconv.FormatBool(c.suites != ""), func(t *testing.T) {
			conf := siteOf(t, s.Cluster)
			conf.Set(rpcProtectionProperty, c.rpc)
			conf.Set(transferProperty, c.transfer)
			conf.Set(cipherSuitesProperty, c.suites)
			fsys, root := s.folder(t, conf, Identity{Login: s.loader})
			readsAndWrites(t, fsys, root, content)
			conforms(t, fsys, root)
		})
	}
}

// readsAndWrites uses a large file as a run uses its files.
func readsAndWrites(t *testing.T, fsys FS, root string, content []byte) {
	t.Helper()
	temporary, name := path.Join(root, "temporary"), path.Join(root, "large")
	write(t, fsys, temporary, content)
	check(t, fsys.Rename(temporary, name))
	info, err := fsys.Stat(name)
	check(t, err)
	if info.Size != int64(len(content)) || info.Owner != "loader" {
		t.Errorf("%+v", info)
	}
	if !bytes.Equal(read(t, fsys, name), content) {
		t.Error("what is read is not what was written")
	}
	f, err := fsys.Open(name)
	check(t, err)
	defer f.Close()
	for _, at := range []int{len(content) - 1000, 0, len(content) / 2} {
		piece := make([]byte, 1000)
		if _, err := f.ReadAt(piece, int64(at)); err != nil || !bytes.Equal(piece, content[at:at+1000]) {
			t.Errorf("at %d: %v", at, err)
		}
	}
}

// securedRefusals: a client that does not log in, or whose site files name another NameNode, gets a clear error at
// once.
func securedRefusals(t *testing.T, s *secured) {
	as := Identity{Login: s.loader}
	for name, c := range map[string]struct {
		set  map[string]string
		who  Identity
		code errcode.Code
		want []string
	}{
		"simple": {map[string]string{authenticationProperty: "simple"}, Identity{User: "tina"},
			errcode.KerberosNoLogin, []string{"SIMPLE", authenticationProperty}},
		"no login": {nil, Identity{}, errcode.KerberosNoLogin, []string{"kinit", tokenFileName}},
		"service": {map[string]string{principalProperty: "nn/_HOST@LAB.TEST"}, as, errcode.SiteProperty,
			[]string{"hdfs/localhost", "nn/localhost@LAB.TEST", principalProperty}},
		"host": {map[string]string{principalProperty: "hdfs/other@LAB.TEST"}, as, errcode.SiteProperty,
			[]string{"hdfs/localhost", "hdfs/other@LAB.TEST", principalProperty}},
		"not set": {map[string]string{principalProperty: ""}, as, errcode.SiteMissing, []string{principalProperty}},
		"pattern": {map[string]string{patternProperty: "nn/*@LAB.TEST"}, as, errcode.SiteProperty,
			[]string{patternProperty, "hdfs/localhost@LAB.TEST"}},
		"encryption": {map[string]string{encryptProperty: "true"}, as, errcode.SecurityUnsupported,
			[]string{encryptProperty}},
	} {
		t.Run(name, func(t *testing.T) {
			conf := siteOf(t, s.Cluster)
			for property, value := range c.set {
				conf.Set(property, value)
			}
			_, _, err := ResolveAs("hdfs:///", "/", conf, c.who)
			if errors.Is(err, ErrUnavailable) || errcode.Outermost(err) != c.code || !testwords.Names(err, c.want...) {
				t.Errorf("%v [%s]\nwant [%s] %q", err, errcode.Outermost(err), c.code, c.want)
			}
		})
	}
	conf := siteOf(t, s.Cluster)
	conf.Set(patternProperty, "hd?s/*@LAB.TEST")
	conf.Set(principalProperty, "")
	fsys, _, err := ResolveAs("hdfs:///", "/", conf, as)
	check(t, err)
	check(t, fsys.Close())
}

// securedUnprotected: site files without dfs.data.transfer.protection, where the DataNodes want an exchange, are
// refused at once.
func securedUnprotected(t *testing.T, s *secured) {
	fsys, root := s.folder(t, siteOf(t, s.Cluster), Identity{Login: s.loader})
	write(t, fsys, path.Join(root, "written"), noise(1000))
	conf := siteOf(t, s.Cluster)
	conf.Set(transferProperty, "")
	without, _, err := ResolveAs("hdfs:///", "/", conf, Identity{Login: s.loader})
	check(t, err)
	defer without.Close()
	wantWriteRefused(t, without, path.Join(root, "refused"), transferProperty+" is not set", "hdfs-site.xml")
	wantReadRefused(t, without, path.Join(root, "written"))
}

// delegationTokens: a token is enough for another program without any ticket, until it is cancelled.
func delegationTokens(t *testing.T, s *secured) {
	conf := siteOf(t, s.Cluster)
	mine, root := s.folder(t, conf, Identity{Login: s.loader})
	delegator := mine.(Delegator)
	if !delegator.Delegates() {
		t.Error("no tokens")
	}
	token, err := delegator.DelegationToken(t.Context(), "loader")
	check(t, err)
	if token.Service != "ha-hdfs:bulkload" || token.Kind != hdfsTokenKind {
		t.Errorf("%v", token)
	}
	d, err := token.Details()
	check(t, err)
	if d.Owner != "loader@LAB.TEST" || d.Renewer != "loader" || d.Max.Sub(d.Issued) < time.Hour {
		t.Errorf("%+v", d)
	}
	until, err := delegator.RenewToken(t.Context(), token)
	check(t, err)
	if until.Before(d.Issued) || until.After(d.Max) {
		t.Errorf("renewed until %v, of %+v", until, d)
	}

	// A file, and its name in the environment, as with YARN.
	file := filepath.Join(t.TempDir(), "tokens")
	check(t, os.WriteFile(file, tokenFile(token), 0o600))
	t.Setenv(tokenFileName, file)
	for _, protection := range []string{"authentication", "integrity", "privacy"} {
		conf.Set(rpcProtectionProperty, protection)
		conf.Set(transferProperty, protection)
		tokens, err := TokensOfEnvironment()
		check(t, err)
		fsys, _, err := ResolveAs("hdfs:///", "/", conf, Identity{Tokens: tokens})
		check(t, err)
		sub := path.Join(root, protection)
		check(t, fsys.MkdirAll(sub, 0))
		readsAndWrites(t, fsys, sub, noise(3<<20))
		given, err := fsys.(Delegator).DelegationToken(t.Context(), "hbase")
		check(t, err)
		if !bytes.Equal(given.Identifier, token.Identifier) {
			t.Error("not the token that was given")
		}
		check(t, fsys.(Delegator).CancelToken(t.Context(), given)) // the user's own stays
		check(t, fsys.Close())
	}
	check(t, delegator.CancelToken(t.Context(), token))
	_, _, err = ResolveAs("hdfs:///", "/", conf, Identity{Tokens: []Token{token}})
	if !testwords.Names(err, "InvalidToken") ||
		testwords.Names(err, base64.StdEncoding.EncodeToString(token.Password)) {
		t.Errorf("with a token that is cancelled: %v", err)
	}
	other := token
	other.Service = "ha-hdfs:elsewhere"
	_, _, err = ResolveAs("hdfs:///", "/", conf, Identity{Tokens: []Token{other}})
	if errcode.Outermost(err) != errcode.KerberosToken || !testwords.Names(err, other.Service) {
		t.Errorf("with a token for another service: %v", err)
	}
}

// tokenFile is a writable file with one token. All of its parts are shorter than 128 bytes.
func tokenFile(t Token) []byte {
	b := []byte("HDTS\x00\x01")
	for _, part := range []string{t.Service, string(t.Identifier), string(t.Password), t.Kind, t.Service} {
		b = append(append(b, byte(len(part))), part...)
	}
	return append(b, 0)
}

// securedDamage: a damaged replica is found under each protection, and the sound one is read.
func securedDamage(t *testing.T, s *secured) {
	for _, protection := range []string{"authentication", "integrity", "privacy", "AES"} {
		conf := siteOf(t, s.Cluster)
		conf.Set(cipherSuitesProperty, "")
		if protection == "AES" {
			protection = "privacy"
			conf.Set(cipherSuitesProperty, aesSuite)
		}
		conf.Set(transferProperty, protection)
		t.Run(protection, securedDamageOf(conf, s))
	}
}

func securedDamageOf(conf *siteconf.Conf, s *secured) func(t *testing.T) {
	return func(t *testing.T) {
		d := &damaged{Cluster: s.Cluster, conf: conf}
		d.fsys, d.root = s.folder(t, conf, Identity{Login: s.loader})
		Listen(d.fsys, noting(func(s string) { d.said = append(d.said, s) }))
		d.fsys.(*hdfsFS).timeouts.retry = 3 * time.Second
		name, content, replicas := d.file(t, 300_000, 2)
		flip(t, replicas[0].Data, 150_000)
		for range 3 { // both DataNodes are asked
			d.wantRight(t, name, content)
		}
		d.wantReported(t, name, replicas[0])
		check(t, d.fsys.Remove(name))
		d.said = nil
		name, content, replicas = d.file(t, 300_000, 1)
		flip(t, replicas[0].Data, 150_000)
		d.wantDamage(t, name, content, 150_000, replicas)
	}
}

func securedPermission(t *testing.T, s *secured) {
	conf := siteOf(t, s.Cluster)
	mine, root := s.folder(t, conf, Identity{Login: s.loader})
	check(t, mine.MkdirAll(path.Join(root, "locked"), 0o700))
	fsys, _, err := ResolveAs("hdfs:///", "/", conf, Identity{Login: loginAs(t, s.Cluster, "other")})
	check(t, err)
	defer fsys.Close()
	_, err = fsys.Create(path.Join(root, "locked/f"), 0)
	wants(t, err, fs.ErrPermission)
	if !testwords.Names(err, "other@LAB.TEST") {
		t.Errorf("%v does not say who", err)
	}
}

// securedFailover: everything continues after a failover, with a ticket and with a token, which both NameNodes accept.
func securedFailover(t *testing.T, s *secured) {
	conf := siteOf(t, s.Cluster)
	conf.Set(rpcProtectionProperty, "privacy")
	mine, root := s.folder(t, conf, Identity{Login: s.loader})
	token, err := mine.(Delegator).DelegationToken(t.Context(), "loader")
	check(t, err)
	theirs, _, err := ResolveAs("hdfs:///", "/", conf, Identity{Tokens: []Token{token}})
	check(t, err)
	defer theirs.Close()
	for _, active := range []string{"nn2", "nn1"} {
		check(t, s.Failover(t.Context(), active))
		for i, fsys := range []FS{mine, theirs} {
			sub := path.Join(root, active+strconv.Itoa(i))
			check(t, fsys.MkdirAll(sub, 0))
			readsAndWrites(t, fsys, sub, noise(1<<20))
		}
		if _, err := mine.(Delegator).RenewToken(t.Context(), token); err != nil {
			t.Error(err)
		}
	}
	check(t, mine.(Delegator).CancelToken(t.Context(), token))
}

// endedKey: a key that the DataNodes no longer know is fetched again.
func endedKey(t *testing.T, s *secured, conf *siteconf.Conf) {
	fsys, root := s.folder(t, conf, Identity{Login: s.loader})
	readsAndWrites(t, fsys, root, noise(1<<20))
	blocks := fsys.(*hdfsFS).blocks
	blocks.key.key.id += 1000
	unknown := blocks.key.key
	if got := read(t, fsys, path.Join(root, "large")); len(got) != 1<<20 {
		t.Errorf("%d bytes", len(got))
	}
	if blocks.key.key == unknown {
		t.Error("the key is the same")
	}
}
