package storage

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/sasl"
	"bulkload/internal/test/testwords"
)

// blockOperation is a READ_BLOCK operation with a token.
func blockOperation(t Token) []byte {
	base := message(nil).bytes(1, message(nil).text(1, "BP-1").number(2, 7))
	if t.Identifier != nil {
		base = base.bytes(2, t.message())
	}
	m := message(nil).bytes(1, message(nil).bytes(1, base).text(2, "client")).number(2, 0).number(3, 10)
	return append([]byte{0, transferVersion, readBlock}, append(binary.AppendUvarint(nil, uint64(len(m))), m...)...)
}

var someToken = Token{Identifier: []byte("id"), Password: []byte("topsecret")}

func transfersWith(transfer []sasl.Protection, aes bool) *transfers {
	return &transfers{names: &rpcClient{security: &security{kerberos: true, transfer: transfer, aes: aes}}}
}

// serverSays is a DataNode's part of the exchange, with each message after its length.
func serverSays(messages ...message) []byte {
	var b []byte
	for _, m := range messages {
		b = append(binary.AppendUvarint(b, uint64(len(m))), m...)
	}
	return b
}

const transferChallenge = `realm="0",nonce="n",qop="auth,auth-int,auth-conf",cipher="rc4",charset=utf-8,algorithm=md5-sess`

// TestTransferRefuses: nothing is sent to a DataNode that does not protect the connection as the site files ask. What
// only a person can change, such as another protection, ends a write and a read at once; the rest may be better on
// another DataNode, or later.
func TestTransferRefuses(t *testing.T) {
	private := []sasl.Protection{sasl.Privacy}
	for name, c := range map[string]struct {
		token Token
		in    []byte
		want  string
		code  errcode.Code // of a refusal that stays one; "": another try may end otherwise
	}{
		"no token in the operation": {Token{}, nil, "dfs.block.access.token.enable", errcode.KerberosToken},
		"error":                     {someToken, serverSays(message(nil).number(1, 2).text(3, "no such key here")), "no such key here", ""},
		"unknown key":               {someToken, serverSays(message(nil).number(1, 1).text(3, "gone")), errUnknownKey.Error(), ""},
		"no challenge":              {someToken, serverSays(message(nil).number(1, 0)), "no nonce", ""},
		"only authentication": {someToken, serverSays(transferMessage([]byte(strings.Replace(transferChallenge, "auth,auth-int,auth-conf", "auth", 1)))),
			"offers authentication,", errcode.SiteProperty},
		"only integrity": {someToken, serverSays(transferMessage([]byte(strings.Replace(transferChallenge, "auth,auth-int,auth-conf", "auth-int", 1)))),
			"offers integrity,", errcode.SiteProperty},
		"no cipher": {someToken, serverSays(transferMessage([]byte(strings.Replace(transferChallenge, "rc4", "des", 1)))),
			"no cipher", errcode.SiteProperty},
		"wrong proof":   {someToken, serverSays(transferMessage([]byte(transferChallenge)), transferMessage([]byte("rspauth=0"))), "rspauth", ""},
		"closed":        {someToken, nil, io.ErrUnexpectedEOF.Error(), ""},
		"too long":      {someToken, []byte{0xff, 0xff, 0xff, 0x7f}, "more than", ""},
		"much too long": {someToken, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, "more than", ""},
		"no protobuf":   {someToken, serverSays(message{0xff}), "protobuf", ""},
	} {
		p := &played{in: bytes.NewReader(c.in)}
		conn := &transferConn{Conn: p, open: transfersWith(private, false).authenticate}
		_, err := conn.Write(blockOperation(c.token))
		if !testwords.Names(err, c.want) || testwords.Names(err, "topsecret") {
			t.Errorf("%s: %v; want %q", name, err, c.want)
		}
		if c.token.Identifier != nil && !testwords.Names(err, "DataNode 127.0.0.1:8020", "hdfs/0") {
			t.Errorf("%s: %v does not say to what", name, err)
		}
		if strings.Contains(p.out.String(), "client") {
			t.Errorf("%s: the operation was sent all the same", name)
		}
		wantKind(t, name, err, c.code)
	}
}

// wantKind requires that an error of a DataNode ends a write and a read at once, as a refusal with this code, or,
// without a code, that it is one of those that another try may cure.
func wantKind(t *testing.T, what string, err error, code errcode.Code) {
	t.Helper()
	h := &hdfsFS{uri: "hdfs://nn", names: &rpcClient{}}
	for how, explained := range map[string]error{"read": h.explain("read", "/a", err), "written": (&hdfsWriter{fs: h, name: "/a"}).explain("write", err)} {
		if refused := errcode.Outermost(explained) == code && code.Kind() == errcode.Refused && !errors.Is(explained, ErrUnavailable); code != "" && !refused {
			t.Errorf("%s, %s: %v [%s], want %s", what, how, explained, errcode.Outermost(explained), code)
		}
		if how == "written" && errors.Is(explained, ErrDataNode) != (code == "") {
			t.Errorf("%s: whether another DataNode may do it is wrong in %v", what, explained)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		_ = Rewrite(t.Context(), func() error {
			tries++
			return (&hdfsWriter{fs: h, name: "/a"}).explain("write", err)
		}, func(error) {})
		if want := map[bool]int{true: rewriteTries, false: 1}[code == ""]; tries != want {
			t.Errorf("%s: written %d times, want %d", what, tries, want)
		}
	})
}

// TestUnprotectedTransfer: a DataNode that wants an exchange closes a connection without one. It is asked on another
// connection, and then the property that is missing is named; one that has just ended is not mistaken for it.
func TestUnprotectedTransfer(t *testing.T) {
	for name, c := range map[string]struct {
		says []byte // on the other connection
		code errcode.Code
	}{
		"it wants an exchange": {serverSays(transferMessage([]byte(transferChallenge))), errcode.SiteProperty},
		"it has ended":         {nil, ""},
		"it refuses":           {serverSays(message(nil).number(1, 2).text(3, "no")), ""},
	} {
		other := &played{in: bytes.NewReader(c.says)}
		conn := &unprotectedConn{Conn: &played{in: strings.NewReader("")}, again: func() (net.Conn, error) { return other, nil }, round: transfersWith(nil, false).round}
		_, err := conn.Read(make([]byte, 10))
		if !errors.Is(err, io.EOF) || strings.Contains(err.Error(), transferProperty) != (c.code != "") {
			t.Errorf("%s: %v", name, err)
		}
		wantKind(t, name, err, c.code)
	}
}

// TestTransferCipher: a client that asks for AES does not fall back to rc4.
func TestTransferCipher(t *testing.T) {
	for name, c := range map[string]struct {
		aes    bool
		option *cipherOption
		want   string
		code   errcode.Code
	}{
		"none":      {true, nil, cipherSuitesProperty, errcode.SecurityUnsupported},
		"not asked": {false, &cipherOption{suite: aesOption}, "not asked for", ""},
		"other":     {true, &cipherOption{suite: 3}, "cipher 3", ""},
		"bad key":   {true, &cipherOption{suite: aesOption, inKey: []byte("x")}, "key of", ""},
	} {
		_, err := transfersWith(nil, c.aes).protect(nil, privateClient(t), c.option)
		if !testwords.Names(err, c.want) {
			t.Errorf("%s: %v; want %q", name, err, c.want)
		}
		wantKind(t, name, err, c.code)
	}
	for _, n := range []int{0, 15, 17, 33} {
		if _, err := newAESStream(nil, make([]byte, n), make([]byte, 16), make([]byte, 16), make([]byte, 16)); err == nil {
			t.Errorf("a key of %d bytes", n)
		}
		if _, err := newAESStream(nil, make([]byte, 16), make([]byte, 16), make([]byte, 16), make([]byte, n)); err == nil {
			t.Errorf("a counter of %d bytes", n)
		}
	}
}

// privateClient is a client that has agreed on privacy with a server.
func privateClient(t *testing.T) sasl.Client {
	t.Helper()
	c := sasl.DigestMD5(sasl.Digest{User: "u", Password: "p", Service: "hdfs", Host: "0", Preferred: []sasl.Protection{sasl.Privacy}})
	response, _, err := c.Next([]byte(transferChallenge))
	check(t, err)
	_, cnonce, _ := strings.Cut(string(response), `cnonce="`)
	cnonce, _, _ = strings.Cut(cnonce, `"`)
	secret := md5.Sum([]byte("u:0:p"))
	key := md5.Sum(append(secret[:], ":n:"+cnonce...))
	proof := hexMD5(hex.EncodeToString(key[:]) + ":n:00000001:" + cnonce + ":auth-conf:" + hexMD5(":hdfs/0:"+strings.Repeat("0", 32)))
	_, done, err := c.Next([]byte("rspauth=" + proof))
	check(t, err)
	if !done {
		t.Fatal("not done")
	}
	return c
}

func hexMD5(s string) string {
	sum := md5.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}

// TestTransferConnPieces: the operation may be written in any pieces, and so may everything after it.
func TestTransferConnPieces(t *testing.T) {
	operation := blockOperation(someToken)
	for piece := 1; piece <= len(operation)+3; piece++ {
		p := &played{in: strings.NewReader("answer")}
		opened := 0
		c := &transferConn{Conn: p, open: func(c net.Conn, op []byte) (io.ReadWriter, error) {
			opened++
			token, err := blockToken(op)
			check(t, err)
			if !bytes.Equal(token.Identifier, someToken.Identifier) || !bytes.Equal(token.Password, someToken.Password) {
				t.Errorf("pieces of %d: token %q", piece, token.Identifier)
			}
			return c, nil
		}}
		all := append(append([]byte(nil), operation...), "more"...)
		for from := 0; from < len(all); from += piece {
			_, err := c.Write(all[from:min(from+piece, len(all))])
			check(t, err)
		}
		if p.out.String() != string(all) || opened != 1 {
			t.Errorf("pieces of %d: %q, opened %d times", piece, p.out.String(), opened)
		}
		if b, err := io.ReadAll(c); err != nil || string(b) != "answer" {
			t.Errorf("%q, %v", b, err)
		}
	}
	c := &transferConn{Conn: &played{in: strings.NewReader("")}}
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("reads before anything is asked")
	}
	if _, err := c.Write([]byte{0, transferVersion, readBlock, 0xff, 0xff, 0xff, 0x7f}); err == nil {
		t.Error("an operation without end")
	}
}

// TestTransferDecision: the decisions of Hadoop's client (SaslDataTransferClient.send), except that protections that a
// privileged port would drop are refused.
func TestTransferDecision(t *testing.T) {
	for name, c := range map[string]struct {
		kerberos, encrypts bool
		transfer           []sasl.Protection
		port               int
		want               string // plain, token, key, or an error
	}{
		"simple":                      {false, false, nil, 9866, "plain"},
		"simple, encrypted":           {false, true, nil, 9866, "key"},
		"encrypted":                   {true, true, []sasl.Protection{sasl.Authentication}, 9866, "key"},
		"encrypted, privileged":       {true, true, []sasl.Protection{sasl.Privacy}, 1004, "key"},
		"no protection set":           {true, false, nil, 9866, "plain"},
		"privileged, none set":        {true, false, nil, 1004, "plain"},
		"authentication":              {true, false, []sasl.Protection{sasl.Authentication}, 9866, "token"},
		"privacy":                     {true, false, []sasl.Protection{sasl.Privacy}, 1024, "token"},
		"privileged, authentication":  {true, false, []sasl.Protection{sasl.Authentication}, 1004, "plain"},
		"privileged, integrity":       {true, false, []sasl.Protection{sasl.Integrity}, 1023, transferProperty},
		"privileged, privacy or auth": {true, false, []sasl.Protection{sasl.Privacy, sasl.Authentication}, 1004, transferProperty},
	} {
		p := &played{}
		x := &transfers{names: &rpcClient{security: &security{kerberos: c.kerberos, transfer: c.transfer}, encrypts: c.encrypts},
			dial: func(context.Context, string, string) (net.Conn, error) { return atPort{p, c.port}, nil }}
		conn, err := x.connect(t.Context(), "tcp", "dn")
		got := "plain"
		if secured, ok := conn.(*transferConn); ok {
			got = "token"
			_, err := secured.open(secured.Conn, []byte{})
			if err != nil && errcode.Outermost(err) != errcode.KerberosToken {
				got = "key"
			}
		}
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %s; want %s", name, got, c.want)
		}
	}
}

// atPort is a connection to a port.
type atPort struct {
	net.Conn
	port int
}

func (a atPort) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: a.port} }

// TestKeyring: a key is kept until it expires.
func TestKeyring(t *testing.T) {
	now := time.Now()
	r := keyring{key: &encryptionKey{id: -7, pool: "BP-1", nonce: []byte("n"), key: []byte("k"), expires: now.Add(time.Second), algorithm: "3des"}}
	none := &rpcClient{security: &security{}, addresses: nil}
	k, err := r.get(t.Context(), none, now)
	check(t, err)
	d := k.digest()
	if d.User != "-7 BP-1 bg==" || d.Password != "aw==" || d.Cipher != "3des" || len(d.Preferred) != 1 || d.Preferred[0] != sasl.Privacy {
		t.Errorf("%q, %q", d.User, d.Cipher)
	}
	r.drop(&encryptionKey{})
	if again, err := r.get(t.Context(), none, now); again != k || err != nil {
		t.Errorf("another's key was dropped: %v", err)
	}
	if k, err := r.get(t.Context(), none, now.Add(time.Second)); err == nil {
		t.Errorf("%v after its end", k)
	}
}

func FuzzTransfer(f *testing.F) {
	f.Add(serverSays(transferMessage([]byte(transferChallenge)), transferMessage([]byte("rspauth=0"))), blockOperation(someToken))
	f.Add(serverSays(transferMessage([]byte(transferChallenge)).bytes(4, message(nil).number(1, 2).bytes(2, []byte("k")).bytes(3, []byte("i")))), []byte{0, 28, 81, 0})
	f.Add(serverSays(message(nil).number(1, 2).text(3, "no")), []byte{0, 28, 80, 0xff})
	f.Fuzz(func(t *testing.T, in, operation []byte) {
		x := transfersWith([]sasl.Protection{sasl.Privacy, sasl.Integrity, sasl.Authentication}, true)
		p := &played{in: bytes.NewReader(in)}
		c := &transferConn{Conn: p, open: x.authenticate}
		_, _ = c.Write(operation)
		if c.stream != nil {
			t.Fatal("a stranger is believed")
		}
		if _, err := x.exchange(&played{in: bytes.NewReader(in)}, sasl.Digest{User: "u", Preferred: x.names.transfer}); err == nil {
			t.Fatal("a stranger is believed")
		}
	})
}
