package storage

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/siteconf"
	"bulkload/internal/test/testcluster"
	"bulkload/internal/test/testwords"
)

// wire records the bytes on connections, of all of them together.
type wire struct {
	mu      sync.Mutex
	out, in bytes.Buffer
}

// tapped dials as dial does, and records the bytes on the connections.
func (w *wire) tapped(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &tap{c, w}, nil
	}
}

func (w *wire) both() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append(bytes.Clone(w.out.Bytes()), w.in.Bytes()...)
}

type tap struct {
	net.Conn
	wire *wire
}

func (c *tap) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.wire.mu.Lock()
	defer c.wire.mu.Unlock()
	c.wire.in.Write(p[:n])
	return n, err
}

func (c *tap) Write(p []byte) (int, error) {
	c.wire.mu.Lock()
	c.wire.out.Write(p)
	c.wire.mu.Unlock()
	return c.Conn.Write(p)
}

// securedWire: the first protection of a list is used on the wire if the server offers all.
func securedWire(t *testing.T, s *secured) {
	for _, c := range []struct{ rpc, transfer, suites, wantRPC, wantTransfer string }{
		{"authentication", "authentication", "", "authentication", "auth"},
		{"integrity,privacy", "privacy,authentication", "", "integrity", "auth-conf"},
		{"privacy,authentication", "integrity,privacy", "", "privacy", "auth-int"},
		{"authentication,privacy", "authentication,privacy", "", "authentication", "auth"},
		{"privacy", "privacy,integrity", aesSuite, "privacy", "auth-conf"},
	} {
		t.Run(c.rpc+"+"+c.transfer, func(t *testing.T) {
			conf := siteOf(t, s.Cluster)
			conf.Set(rpcProtectionProperty, c.rpc)
			conf.Set(transferProperty, c.transfer)
			conf.Set(cipherSuitesProperty, c.suites)
			wantWire(t, s, conf, c.wantRPC, c.wantTransfer, c.suites != "")
		})
	}
}

// encryptedWire: if a NameNode offers authentication and privacy, the first of the list that it offers is used. The
// bytes of DataNodes are encrypted though the site files ask only for authentication.
func encryptedWire(t *testing.T, s *secured) {
	for list, want := range map[string]string{"integrity,privacy,authentication": "privacy", "integrity,authentication": "authentication"} {
		conf := siteOf(t, s.Cluster)
		conf.Set(rpcProtectionProperty, list)
		wantWire(t, s, conf, want, "auth-conf", false)
	}
	conf := siteOf(t, s.Cluster)
	conf.Set(rpcProtectionProperty, "integrity")
	_, _, err := ResolveAs("hdfs:///", "/", conf, Identity{Login: s.loader})
	if errcode.Outermost(err) != errcode.SiteProperty ||
		!testwords.Names(err, "authentication,privacy,", "integrity") {
		t.Errorf("%v", err)
	}
}

// TestSecuredMixedOffers: with servers that offer only some protections, the first of the list that they offer is used,
// and a list without any of them is refused.
func TestSecuredMixedOffers(t *testing.T) {
	testcluster.OnlyIn(t, "test-secured")
	s := startSecured(t, testcluster.Options{Kerberos: &testcluster.Kerberos{RPC: "integrity,privacy", Transfer: "authentication,integrity"}})
	conf := siteOf(t, s.Cluster)
	for _, c := range []struct{ rpc, transfer, wantRPC, wantTransfer string }{
		{"authentication,privacy,integrity", "privacy,integrity,authentication", "privacy", "auth-int"},
		{"authentication,integrity", "privacy,authentication", "integrity", "auth"},
	} {
		conf.Set(rpcProtectionProperty, c.rpc)
		conf.Set(transferProperty, c.transfer)
		wantWire(t, s, conf, c.wantRPC, c.wantTransfer, false)
	}
	conf.Set(transferProperty, "privacy")
	fsys, root := s.folder(t, conf, Identity{Login: s.loader})
	wantWriteRefused(t, fsys, path.Join(root, "refused"), "authentication,integrity,", "privacy")
	sound := siteOf(t, s.Cluster)
	there, _ := s.folder(t, sound, Identity{Login: s.loader})
	write(t, there, path.Join(root, "written"), noise(1000))
	wantReadRefused(t, fsys, path.Join(root, "written"))
	conf.Set(rpcProtectionProperty, "authentication")
	_, _, err := ResolveAs("hdfs:///", "/", conf, Identity{Login: s.loader})
	if errcode.Outermost(err) != errcode.SiteProperty ||
		!testwords.Names(err, "integrity,privacy,", "authentication") {
		t.Errorf("%v", err)
	}
}

// wantWriteRefused requires that no file can be written, for a reason that does not pass, and that the error names what
// differs.
func wantWriteRefused(t *testing.T, fsys FS, name string, names ...string) {
	t.Helper()
	w, err := fsys.Create(name, 0)
	check(t, err)
	begun := time.Now()
	_, err = w.Write(noise(1 << 20))
	if err == nil {
		err = w.Close()
	}
	if code := errcode.Outermost(err); errors.Is(err, ErrUnavailable) || errors.Is(err, ErrDataNode) ||
		code != errcode.SiteProperty && code != errcode.SecurityUnsupported {
		t.Errorf("as if it could be better later: %v", err)
	}
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	check(t, w.Abort())
	if _, err := fsys.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something is left: %v", err)
	}
	if !testwords.Names(err, names...) {
		t.Errorf("%v; want %q", err, names)
	}
}

// wantReadRefused requires that a file can't be read, for a reason that does not pass.
func wantReadRefused(t *testing.T, fsys FS, name string) {
	t.Helper()
	f, err := fsys.Open(name)
	check(t, err)
	defer f.Close()
	_, err = f.Read(make([]byte, 10))
	if errors.Is(err, ErrUnavailable) || errcode.Outermost(err) != errcode.SiteProperty {
		t.Errorf("as if it could be better later: %v", err)
	}
}

// wantWire writes and reads a file, and requires the given protections on the wire: the NameNode's by Hadoop's name,
// the DataNodes' by SASL's.
func wantWire(t *testing.T, s *secured, conf *siteconf.Conf, rpc, transfer string, aes bool) {
	t.Helper()
	fsys, root := s.folder(t, conf, Identity{Login: s.loader})
	h := fsys.(*hdfsFS)
	names, blocks := &wire{}, &wire{}
	h.names.dial, h.blocks.dial = names.tapped(h.names.dial), blocks.tapped(h.blocks.dial)
	const marker = "these words are legible on the wire; "
	name := path.Join(root, "marked")
	content := []byte(strings.Repeat(marker, 3000))
	write(t, fsys, name, content)
	if !bytes.Equal(read(t, fsys, name), content) {
		t.Error("what is read is not what was written")
	}
	if _, err := h.names.call(t.Context(), "getBlockLocations", message(nil).text(1, name).number(2, 0).number(3, 1)); err != nil {
		t.Fatal(err)
	}
	if got := nameNodeProtection(t, names.in.Bytes()); got != rpc {
		t.Errorf("NameNode: %s, want %s", got, rpc)
	}
	if legible := bytes.Contains(names.both(), []byte(name)); legible != (rpc != "privacy") {
		t.Errorf("NameNode: under %s the file's name is legible: %v", rpc, legible)
	}
	if got := dataNodeProtection(t, blocks.out.Bytes()); got != transfer {
		t.Errorf("DataNode: %s, want %s", got, transfer)
	}
	if legible := bytes.Contains(blocks.both(), []byte(marker)); legible != (transfer != "auth-conf") {
		t.Errorf("DataNode: under %s the content is legible: %v", transfer, legible)
	}
	if asked := bytes.Contains(blocks.out.Bytes(), []byte(",cipher=")); asked != (transfer == "auth-conf") {
		t.Errorf("DataNode: under %s a cipher of DIGEST-MD5 was agreed on: %v", transfer, asked)
	}
	if framed := digestTokens(t, blocks.in.Bytes()); framed != (transfer != "auth" && !aes) {
		t.Errorf("DataNode: under %s, AES %v, there are tokens of DIGEST-MD5: %v", transfer, aes, framed)
	}
}

// nameNodeProtection reads the answers after the login: in clear, in signed tokens or in sealed ones (RFC 4121,
// 4.2.2).
func nameNodeProtection(t *testing.T, b []byte) string {
	t.Helper()
	found := map[string]bool{}
	for len(b) > 0 {
		frame := wholeFrame(b)
		if frame == nil {
			t.Fatalf("half a frame: % x", b)
		}
		b = b[len(frame):]
		r, err := parseReply(frame)
		check(t, err)
		if r.call != saslCall {
			found["authentication"] = true
			continue
		}
		m, err := parseSasl(r.body)
		check(t, err)
		switch {
		case m.state != saslWrap:
		case m.token[2]&2 != 0:
			found["privacy"] = true
		default:
			found["integrity"] = true
		}
	}
	if len(found) != 1 {
		return fmt.Sprint(found)
	}
	for what := range found {
		return what
	}
	return ""
}

var chosenQOP = regexp.MustCompile(`,qop=(auth[a-z-]*)`)

// dataNodeProtection is the protection that the answers to the challenges choose, on all connections.
func dataNodeProtection(t *testing.T, b []byte) string {
	t.Helper()
	found := chosenQOP.FindAllSubmatch(b, -1)
	if len(found) < 2 {
		t.Fatalf("%d logins, want one to write and one to read", len(found))
	}
	for _, m := range found[1:] {
		if string(m[1]) != string(found[0][1]) {
			return fmt.Sprintf("%s and %s", found[0][1], m[1])
		}
	}
	return string(found[0][1])
}

// digestTokens reports whether a token of DIGEST-MD5 follows the first proof of a DataNode: a length, and at its end
// the type 1 and the number 0 (RFC 2831, 2.3).
func digestTokens(t *testing.T, b []byte) bool {
	t.Helper()
	proof := bytes.Index(b, []byte("rspauth="))
	if proof < 0 {
		t.Fatal("no proof")
	}
	const hexDigits = 32
	b = b[proof+len("rspauth=")+hexDigits:]
	if len(b) < 4 {
		return false
	}
	n := int64(binary.BigEndian.Uint32(b))
	return n > 16 && n <= int64(len(b)-4) && bytes.HasSuffix(b[:4+n], []byte{0, 1, 0, 0, 0, 0})
}

// TestSecuredPrivilegedDataNode: a DataNode on a port that only root may open is trusted without a login, as the
// DataNode itself requires, though the site files name protections. If the first of them is stronger than
// authentication, it is refused.
func TestSecuredPrivilegedDataNode(t *testing.T) {
	testcluster.OnlyIn(t, "test-secured")
	if os.Getuid() != 0 {
		testcluster.Without(t, "needs to open a port as root")
	}
	port := 1023
	for ; port > 900; port-- {
		if l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			check(t, l.Close())
			break
		}
	}
	s := startSecured(t, testcluster.Options{Kerberos: &testcluster.Kerberos{Transfer: "authentication,integrity", PrivilegedPort: port}})
	for _, list := range []string{"", "authentication", "authentication,privacy"} {
		conf := siteOf(t, s.Cluster)
		conf.Set(transferProperty, list)
		fsys, root := s.folder(t, conf, Identity{Login: s.loader})
		h := fsys.(*hdfsFS)
		blocks := &wire{}
		h.blocks.dial = blocks.tapped(h.blocks.dial)
		readsAndWrites(t, fsys, root, noise(3<<20))
		if got := blocks.both(); len(got) < 6<<20 || bytes.Contains(got, []byte("DIGEST-MD5")) || bytes.HasPrefix(got, saslMagic) {
			t.Errorf("%q: %d bytes on the wire, with a login: % x", list, len(got), got[:min(len(got), 40)])
		}
	}
	conf := siteOf(t, s.Cluster)
	conf.Set(transferProperty, "integrity,authentication")
	fsys, root := s.folder(t, conf, Identity{Login: s.loader})
	wantWriteRefused(t, fsys, path.Join(root, "refused"), transferProperty+" is integrity", "a port below 1024")
}
