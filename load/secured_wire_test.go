package load

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"bulkload/internal/errcode"
	"bulkload/internal/hbase"
	"bulkload/internal/siteconf"
	"bulkload/internal/test/testcluster"
	"bulkload/internal/test/testwords"
)

// wire is what went over the connections to HBase's servers, after the handshakes.
type wire struct {
	mu   sync.Mutex
	taps []*tap
}

// tap is a connection that keeps what goes over it.
type tap struct {
	io.ReadWriter
	mu       sync.Mutex
	out, in  bytes.Buffer
	outBegin int // where the handshake ends
	inBegin  int
}

func (c *tap) Read(p []byte) (int, error) {
	n, err := c.ReadWriter.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.in.Write(p[:n])
	return n, err
}

func (c *tap) Write(p []byte) (int, error) {
	c.mu.Lock()
	c.out.Write(p)
	c.mu.Unlock()
	return c.ReadWriter.Write(p)
}

// wrapped is a handshake on a tapped connection.
func (w *wire) wrapped(inner func(string, hbase.Service) hbase.Handshake) func(string, hbase.Service) hbase.Handshake {
	return func(addr string, s hbase.Service) hbase.Handshake {
		return func(ctx context.Context, connection io.ReadWriter) (io.ReadWriter, error) {
			c := &tap{ReadWriter: connection}
			stream, err := inner(addr, s)(ctx, c)
			c.outBegin, c.inBegin = c.out.Len(), c.in.Len()
			w.mu.Lock()
			defer w.mu.Unlock()
			w.taps = append(w.taps, c)
			return stream, err
		}
	}
}

// directions gives what went over each connection, each way.
func (w *wire) directions() (all [][]byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.taps {
		c.mu.Lock()
		all = append(all, bytes.Clone(c.out.Bytes()[c.outBegin:]), bytes.Clone(c.in.Bytes()[c.inBegin:]))
		c.mu.Unlock()
	}
	return all
}

// sealed is the flag of a token whose content is encrypted (RFC 4121, 4.2.2).
const sealed = 2

// protectionOf reads the tokens of one direction, each after its length: all sealed, all signed, or no tokens.
func protectionOf(b []byte) string {
	signed, encrypted := 0, 0
	for len(b) >= 4 {
		n := int64(binary.BigEndian.Uint32(b))
		if n < 16 || n > int64(len(b)-4) || b[4] != 5 || b[5] != 4 {
			return "authentication"
		}
		if b[6]&sealed != 0 {
			encrypted++
		} else {
			signed++
		}
		b = b[4+n:]
	}
	switch {
	case len(b) > 0 || signed > 0 && encrypted > 0:
		return "mixed"
	case encrypted > 0:
		return "privacy"
	}
	return "integrity"
}

// wantWire reads a table under a list of protections, and wants one of them on the wire, of master and region servers,
// both ways.
func wantWire(t *testing.T, real *testcluster.Cluster, conf *siteconf.Conf, table, want string) {
	t.Helper()
	c, err := open(conf, Caller{Login: loginAs(t, real, "loader")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	w := &wire{}
	c.servers.options.Handshake = w.wrapped(c.servers.options.Handshake)
	if _, err := c.Table(t.Context(), table); err != nil {
		t.Fatal(err)
	}
	if _, err := rowsOf(t, c, table); err != nil {
		t.Fatal(err)
	}
	all := w.directions()
	if len(all) < 4 {
		t.Fatalf("%d connections, want those of the master and of a region server", len(all)/2)
	}
	for i, b := range all {
		if len(b) == 0 {
			t.Fatalf("nothing went over connection %d", i/2)
		}
		if got := protectionOf(b); got != want {
			t.Errorf("connection %d: %s, want %s: % x…", i/2, got, want, b[:min(len(b), 24)])
		}
	}
	if legible := bytes.Contains(bytes.Join(all, nil), []byte(table)); legible != (want != "privacy") {
		t.Errorf("under %s the table's name is legible: %v", want, legible)
	}
}

// TestSecuredWire: of a list the first protection is the one on the wire, where the server offers all. AES of HBase's
// own, which replaces the encryption of privacy, is not asked for, whatever the site files say.
func TestSecuredWire(t *testing.T) {
	real := testcluster.UseSecured(t)
	table := granted(t, real, "CR")
	for list, want := range map[string]string{
		"authentication": "authentication", "integrity": "integrity", "privacy": "privacy",
		"authentication,privacy": "authentication", "integrity,privacy,authentication": "integrity", "privacy,authentication": "privacy",
	} {
		t.Run(strings.ReplaceAll(list, ",", "+"), func(t *testing.T) {
			wantWire(t, real, secured(t, real, protectionProperty, list, "hbase.rpc.crypto.encryption.aes.enabled", "true"), table, want)
		})
	}
}

// TestSecuredMixedOffers: servers that offer some protections only get the first of the list that is among them, and a
// list without any is refused. The servers have AES of HBase's own switched on.
func TestSecuredMixedOffers(t *testing.T) {
	testcluster.OnlyIn(t, "test-secured")
	testcluster.UseSecured(t) // runs where one is wanted at all
	real, err := testcluster.Start(t.Context(), testcluster.Options{Dir: filepath.Join(t.TempDir(), "cluster"),
		Kerberos: &testcluster.Kerberos{HBase: "integrity,privacy", HBaseAES: true}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := real.Stop(); err != nil {
			t.Error(err)
		}
	})
	table := granted(t, real, "CR")
	for list, want := range map[string]string{
		"authentication,privacy,integrity": "privacy", "authentication,integrity": "integrity", "privacy": "privacy", "integrity,privacy": "integrity",
	} {
		t.Run(strings.ReplaceAll(list, ",", "+"), func(t *testing.T) {
			wantWire(t, real, secured(t, real, protectionProperty, list), table, want)
		})
	}
	_, err = Connect(t.Context(), secured(t, real, protectionProperty, "authentication"), Caller{Login: loginAs(t, real, "loader")}, nil)
	if errcode.Outermost(err) != errcode.SiteProperty ||
		!testwords.Names(err, "integrity,privacy,", "authentication") {
		t.Errorf("got %v", err)
	}
}
