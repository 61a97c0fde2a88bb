package storage

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/kerberos"
	"bulkload/internal/sasl"
	"bulkload/internal/test/testcluster/kdc"
	"bulkload/internal/test/testwords"
)

// TestSiteProperties: each property that asks for protection is honoured, or refused with its name, the file and what
// to do. docs/security.md has a row for each.
func TestSiteProperties(t *testing.T) {
	document, err := os.ReadFile("../../docs/security.md")
	check(t, err)
	_, hdfs, _ := strings.Cut(string(document), "\n## HDFS\n")
	hdfs, _, _ = strings.Cut(hdfs, "\n## ")
	var rows []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z0-9._-]+)` \\|").FindAllStringSubmatch(hdfs, -1) {
		rows = append(rows, m[1])
	}
	for _, c := range siteProperties {
		conf := site(append([]string{authenticationProperty, "kerberos"}, c.others...)...)
		conf.Set(c.property, c.value)
		s, err := readSecurity(conf)
		switch {
		case c.refused == "" && err != nil:
			t.Errorf("%s=%s: %v", c.property, c.value, err)
		case c.refused == "":
			if c.holds != nil && !c.holds(s) {
				t.Errorf("%s=%s is not honoured: %+v", c.property, c.value, s)
			}
		case err == nil:
			t.Errorf("%s=%s is not refused", c.property, c.value)
		case errcode.SecurityUnsupported != errcode.Outermost(err), !testwords.Names(err, c.property, c.refused):
			t.Errorf("%s=%s: %v; want the property and %q", c.property, c.value, err, c.refused)
		}
		if !slices.Contains(rows, c.property) {
			t.Errorf("docs/security.md has no row for %s", c.property)
		}
	}
}

var siteProperties = []struct {
	property, value string
	others          []string // name, value …
	refused         string   // part of the refusal; "": honoured
	holds           func(*security) bool
}{
	{authenticationProperty, "Kerberos", nil, "", func(s *security) bool { return s.kerberos }},
	{authenticationProperty, "simple", nil, "", func(s *security) bool { return !s.kerberos }},
	{authenticationProperty, "token", nil, "simple and kerberos", nil},
	{rpcProtectionProperty, "privacy,integrity", nil, "", func(s *security) bool { return slices.Equal(s.rpc, []sasl.Protection{sasl.Privacy, sasl.Integrity}) }},
	{rpcProtectionProperty, "", nil, "", func(s *security) bool { return slices.Equal(s.rpc, []sasl.Protection{sasl.Authentication}) }},
	{rpcProtectionProperty, "secret", nil, "unknown protection", nil},
	{rpcProtectionProperty, "privacy", []string{authenticationProperty, "simple"},
		authenticationProperty + " to kerberos", nil},
	{rpcProtectionProperty, "integrity,authentication", []string{authenticationProperty, "simple"}, "", nil},
	{transferProperty, "Integrity", nil, "", func(s *security) bool { return slices.Equal(s.transfer, []sasl.Protection{sasl.Integrity}) }},
	{transferProperty, "", nil, "", func(s *security) bool { return s.transfer == nil }},
	{transferProperty, "privacy;integrity", nil, "unknown protection", nil},
	{transferProperty, "integrity", []string{authenticationProperty, "simple"}, "without Kerberos", nil},
	{encryptProperty, "true", nil, "", func(s *security) bool { return s.encrypt }},
	{encryptProperty, "false", nil, "", func(s *security) bool { return !s.encrypt }},
	{cipherSuitesProperty, aesSuite, nil, "", func(s *security) bool { return s.aes }},
	{cipherSuitesProperty, "SM4/CTR/NoPadding", nil, aesSuite, nil},
	{patternProperty, "hd?s/*.lab@LAB", nil, "", func(s *security) bool {
		return s.pattern.MatchString("hdfs/nn.x.lab@LAB") && !s.pattern.MatchString("hdfs/nn_lab@LAB") && !s.pattern.MatchString("hdfs/nn.lab@LAB.TEST")
	}},
	{patternProperty, "{hdfs,nn}/*", nil, "* and ? only", nil},
	{fallbackProperty, "true", nil, "", func(s *security) bool { return s.fallback }}, // TestLoginRefuses tests its effect
	{useIPProperty, "false", nil, "", func(s *security) bool { return s.tokenService("NN1:8020", nil) == "nn1:8020" }},
	{deciders[0], "com.bank.Resolver", nil, "take it out", nil},
	{deciders[0], "org.apache.hadoop.security.SaslPropertiesResolver", nil, "", nil},
	{deciders[1], "com.bank.Resolver", nil, "take it out", nil},
	{deciders[2], "com.bank.Resolver", nil, "take it out", nil},
	{deciders[2], "org.apache.hadoop.hdfs.protocol.datatransfer.TrustedChannelResolver", nil, "", nil},
	{"hadoop.security.credential.provider.path", "jceks://file/etc/x.jceks", nil, "", nil}, // TestNoPasswordIsRead
}

// TestNoPasswordIsRead: credential providers keep passwords, and a program that reads no password needs none.
func TestNoPasswordIsRead(t *testing.T) {
	files, err := filepath.Glob("*.go")
	check(t, err)
	read := regexp.MustCompile(`Get\("[^"]*(password|secret)[^"]*"`)
	for _, file := range files {
		b, err := os.ReadFile(file)
		check(t, err)
		if m := read.Find(b); m != nil && !strings.HasSuffix(file, "_test.go") {
			t.Errorf("%s reads %s: that may be in a credential provider", file, m)
		}
	}
}

// TestOwnToken: of several tokens the NameNode's own is used, with its owner's name.
func TestOwnToken(t *testing.T) {
	v := tokenVectors(t)
	mine := v.Tokens[1]
	mine.Service = "127.0.0.1:8020"
	other := mine
	other.Service, other.Identifier = "10.9.9.9:8020", []byte("not readable")
	conf := site(authenticationProperty, "kerberos")
	s, err := readSecurity(conf)
	check(t, err)
	user, err := s.as(Identity{Tokens: []Token{v.Tokens[0], other, mine}}, conf, "nn", []string{"localhost:8020"})
	check(t, err)
	if user != "loader@LAB.TEST" || len(s.tokens) != 1 || s.tokens[0].Service != mine.Service {
		t.Errorf("%s, %v", user, s.tokens)
	}
	s.tokens = nil
	_, err = s.as(Identity{Tokens: []Token{other}}, conf, "nn", []string{"localhost:8020"})
	if errcode.Outermost(err) != errcode.KerberosToken || !testwords.Names(err, other.Service) {
		t.Errorf("%v", err)
	}
}

// TestTicketBeforeToken: YARN and Oozie give every program a file of tokens. If there is also a login, the NameNode
// gets the ticket: a login with a token gets no delegation token.
func TestTicketBeforeToken(t *testing.T) {
	k := kdc.Use(t, kdc.Options{})
	login := keytabLogin(t, k)
	k.Principal(t, "nn", "", "hdfs/localhost@LAB.TEST")
	conf := site(authenticationProperty, "kerberos", principalProperty, "hdfs/_HOST@LAB.TEST")
	token := Token{Identifier: []byte("id"), Password: []byte("p"), Kind: hdfsTokenKind, Service: "127.0.0.1:8020", given: true}
	s, err := readSecurity(conf)
	check(t, err)
	user, err := s.as(Identity{Login: login, Tokens: []Token{token}}, conf, "nn", []string{"localhost:8020"})
	check(t, err)
	offers := []saslOffer{{method: "TOKEN", mechanism: "DIGEST-MD5", server: "default"},
		{method: "KERBEROS", mechanism: "GSSAPI", protocol: "hdfs", server: "localhost"}}
	way, err := s.choose(t.Context(), offers, &played{}, "localhost:8020")
	if err != nil || way.offer.method != "KERBEROS" || user != "loader@LAB.TEST" {
		t.Errorf("%s logs in with %s, %v", user, way.offer.method, err)
	}
}

// strangerConn is a connection to an IP that no hosts file has.
type strangerConn struct{ played }

func (*strangerConn) RemoteAddr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 8020}
}

// TestNamesOfIP: the names of a NameNode's IP are looked up only if the address's host is not the one in its principal.
func TestNamesOfIP(t *testing.T) {
	usual := net.DefaultResolver
	t.Cleanup(func() { net.DefaultResolver = usual })
	asked := false
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		asked = true
		return nil, net.ErrClosed
	}}
	s, err := readSecurity(site(authenticationProperty, "kerberos", principalProperty, "hdfs/_HOST@LAB.TEST"))
	check(t, err)
	for host, asks := range map[string]bool{"nn.lab.test": false, "other.lab.test": true} {
		asked = false
		service, err := s.nameNodeService(t.Context(), saslOffer{protocol: "hdfs", server: "nn.lab.test"}, &strangerConn{}, host+":8020")
		if asked != asks || (err != nil) != asks {
			t.Errorf("%s: %s, %v, asked: %v, want %v", host, service, err, asked, asks)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	_, err = s.nameNodeService(ended, saslOffer{protocol: "hdfs", server: "nn.lab.test"}, &strangerConn{}, "other.lab.test:8020")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v after the end of the context", err)
	}
}

// keytabLogin logs loader in.
func keytabLogin(t *testing.T, k *kdc.KDC) *kerberos.Login {
	t.Helper()
	login, err := kerberos.Open(t.Context(), kerberos.Config{Keytab: k.Principal(t, "loader", "", "loader@LAB.TEST"), Krb5Conf: k.Conf()})
	check(t, err)
	return login
}

// TestLoginWithoutKDC: a KDC that does not answer may do so later, so the NameNode is unavailable; a refusal is final.
func TestLoginWithoutKDC(t *testing.T) {
	k := kdc.Use(t, kdc.Options{})
	n := ticketClient(t, k)
	served := func() *played {
		return &played{in: bytes.NewReader(negotiation(saslOffer{method: "KERBEROS", mechanism: "GSSAPI", protocol: "hdfs", server: "localhost"}))}
	}
	n.dial = func(context.Context, string, string) (net.Conn, error) { return served(), nil }
	_, err := n.call(t.Context(), "getDelegationToken", nil)
	if errors.Is(err, ErrUnavailable) || errcode.Outermost(err) != errcode.KerberosService {
		t.Errorf("a KDC that refuses: %v", err)
	}
	check(t, k.Stop())
	_, err = n.logIn(t.Context(), served(), "localhost:8020")
	var refused *loginError
	if errors.As(err, &refused) || !errors.Is(err, kerberos.ErrNoKDC) {
		t.Errorf("no KDC, on a connection: %v", err)
	}
	if _, err = n.call(t.Context(), "getDelegationToken", nil); !errors.Is(err, ErrUnavailable) {
		t.Errorf("no KDC, in a call: %v", err)
	}
	conf := site(authenticationProperty, "kerberos", principalProperty, "hdfs/_HOST@LAB.TEST")
	address := offering(t, negotiation(saslOffer{method: "KERBEROS", mechanism: "GSSAPI", protocol: "hdfs", server: "localhost"}))
	p := timeouts{dial: time.Second, nameNode: 5 * time.Second, dataNode: time.Second}
	if _, err := connectHDFS(conf, "nn", []string{address}, Identity{Login: n.login}, p); !errors.Is(err, ErrUnavailable) {
		t.Errorf("no KDC, when connecting: %v", err)
	}
}

// offering listens at localhost and sends each client reply after its first frame.
func offering(t *testing.T, reply []byte) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.CopyN(io.Discard, c, int64(len(saslGreeting)))
			_, _ = readFrame(c, nil)
			_, _ = c.Write(reply)
			_, _ = io.Copy(io.Discard, c)
			c.Close()
		}
	}()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	check(t, err)
	return net.JoinHostPort("localhost", port)
}

// ticketClient is a client of loader's for one NameNode at localhost.
func ticketClient(t *testing.T, k *kdc.KDC) *rpcClient {
	t.Helper()
	s, err := readSecurity(site(authenticationProperty, "kerberos", principalProperty, "hdfs/_HOST@LAB.TEST"))
	check(t, err)
	s.login = keytabLogin(t, k)
	return &rpcClient{security: s, addresses: []string{"localhost:8020"}, user: "loader"}
}

// negotiation is a server's first answer.
func negotiation(offers ...saslOffer) []byte {
	m := message(nil).number(2, saslNegotiate)
	for _, o := range offers {
		m = m.bytes(4, o.choice())
	}
	return replyFrame(saslCall, m)
}

// TestRefusedTicket: the error for a NameNode's refusal names us, the service and what to do.
func TestRefusedTicket(t *testing.T) {
	k := kdc.Use(t, kdc.Options{})
	n := ticketClient(t, k)
	k.Principal(t, "nn", "", "hdfs/localhost@LAB.TEST")
	in := append(negotiation(saslOffer{method: "KERBEROS", mechanism: "GSSAPI", protocol: "hdfs", server: "localhost"}),
		refusalFrame(saslCall, "javax.security.sasl.SaslException", "GSS initiate failed\n\tat x")...)
	_, err := n.logIn(t.Context(), &played{in: bytes.NewReader(in)}, "localhost:8020")
	var refused *loginError
	names := []string{"localhost:8020", "loader@LAB.TEST", "hdfs/localhost@LAB.TEST",
		"SaslException: GSS initiate failed", "kvno", "clock"}
	if !errors.As(err, &refused) || errcode.Outermost(err) != errcode.KerberosService ||
		!testwords.Names(err, names...) {
		t.Errorf("%v\nwant %q", err, names)
	}
}

func TestTokenServices(t *testing.T) {
	ip := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 8020}
	byIP, byName, ha := Token{Service: "10.0.0.1:8020"}, Token{Service: "nn1:8020"}, Token{Service: "ha-hdfs:bank"}
	for _, c := range []struct {
		tokens  []Token
		service string
		want    string
	}{
		{[]Token{ha, byIP}, "", "10.0.0.1:8020"},
		{[]Token{ha, byName}, "", "nn1:8020"},
		{[]Token{byIP, ha}, "ha-hdfs:bank", "ha-hdfs:bank"},
		{[]Token{byIP}, "ha-hdfs:bank", ""},
		{[]Token{ha}, "", ""},
	} {
		s := &security{tokens: c.tokens, service: c.service}
		got, ok := s.tokenFor("NN1:8020", ip)
		if got.Service != c.want || ok != (c.want != "") {
			t.Errorf("%v, %s: %v", c.tokens, c.service, got)
		}
	}
	for service, s := range map[string]*security{"10.0.0.1:8020": {useIP: true}, "nn1:8020": {}, "ha-hdfs:bank": {useIP: true, service: "ha-hdfs:bank"}} {
		if got := s.tokenService("NN1:8020", ip); got != service {
			t.Errorf("%s; want %s", got, service)
		}
	}
}

// TestTokenServiceIPv6: Java writes all groups of an IPv6 address, and no brackets.
func TestTokenServiceIPv6(t *testing.T) {
	s := &security{useIP: true}
	for _, c := range []struct{ ip, zone, want string }{
		{"::1", "", "0:0:0:0:0:0:0:1:8020"},
		{"2001:db8::ff00:42:8329", "", "2001:db8:0:0:0:ff00:42:8329:8020"},
		{"fe80::1", "eth0", "fe80:0:0:0:0:0:0:1%eth0:8020"},
		{"::ffff:10.0.0.1", "", "10.0.0.1:8020"},
	} {
		remote := &net.TCPAddr{IP: net.ParseIP(c.ip), Zone: c.zone, Port: 8020}
		if got := s.tokenService("nn:8020", remote); got != c.want {
			t.Errorf("%s is %s, want %s", c.ip, got, c.want)
		}
		of := &security{tokens: []Token{{Service: c.want}}}
		if _, ok := of.tokenFor("nn:8020", remote); !ok {
			t.Errorf("%s: the token is not found by the connection", c.ip)
		}
		if _, ok := of.ownToken([]string{remote.String()}); !ok {
			t.Errorf("%s: the token is not found by the address", c.ip)
		}
	}
}
