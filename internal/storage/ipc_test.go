package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/test/testwords"

	"google.golang.org/protobuf/encoding/protowire"
)

// marked is a layer that marks what it protects.
type marked struct{}

func (marked) Wrap(dst, plain []byte) ([]byte, error) {
	return append(append(dst, "W:"...), plain...), nil
}

func (marked) Unwrap(token []byte) ([]byte, error) {
	plain, ok := bytes.CutPrefix(token, []byte("W:"))
	if !ok {
		return nil, errors.New("not marked")
	}
	return plain, nil
}

// replyFrame is a frame from a server.
func replyFrame(call int32, body message) []byte {
	return framed(message(nil).number(1, uint64(uint32(call))).number(2, 0), body)
}

func refusalFrame(call int32, class, text string) []byte {
	header := message(nil).number(1, uint64(uint32(call))).number(2, 2).text(4, class).text(5, text)
	return framed(header)
}

func framed(parts ...message) []byte {
	b := make([]byte, 4)
	for _, p := range parts {
		b = protowire.AppendBytes(b, p)
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

// wrapped wraps a frame in a protected one.
func wrapped(frame []byte) []byte {
	token, _ := marked{}.Wrap(nil, frame)
	return replyFrame(saslCall, message(nil).number(2, saslWrap).bytes(3, token))
}

// played is a connection to a server with prepared answers.
type played struct {
	net.Conn
	in  io.Reader
	out bytes.Buffer
}

func (p *played) Read(b []byte) (int, error)  { return p.in.Read(b) }
func (p *played) Write(b []byte) (int, error) { return p.out.Write(b) }
func (p *played) Close() error                { return nil }
func (p *played) RemoteAddr() net.Addr        { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8020} }

// defaultsBody is a GetServerDefaultsResponseProto.
func defaultsBody(encrypt uint64) message {
	return message(nil).bytes(1, message(nil).number(1, 1<<27).number(2, 512).number(3, 64<<10).number(4, 3).number(5, 4096).number(6, encrypt).number(7, 300))
}

func TestNameNodeConn(t *testing.T) {
	calls := slices.Concat([]byte(plainGreeting), connectionContext(clientID(), "loader"), callFrame(1, clientID(), "getServerDefaults", nil),
		callFrame(2, clientID(), "getServerDefaults2", message(nil).text(1, "/a")))
	replies := [][]byte{replyFrame(1, defaultsBody(1)), replyFrame(2, defaultsBody(1))}
	cleared := slices.Concat(replyFrame(1, defaultsBody(0)), replies[1])
	for _, piece := range []int{1, 2, 3, 5, 7, 100, 10_000} {
		for _, secured := range []bool{true, false} {
			p := &played{in: bytes.NewReader(slices.Concat(replies...))}
			c := newNameNodeConn(p, false, nil)
			if secured {
				p.in = bytes.NewReader(slices.Concat(wrapped(replies[0]), wrapped(replies[1])))
				c = newNameNodeConn(p, true, marked{})
			}
			var encrypts []bool
			c.encrypts = func(yes bool) { encrypts = append(encrypts, yes) }
			for part := range slices.Chunk(calls, piece) {
				n, err := c.Write(part)
				check(t, err)
				if n != len(part) {
					t.Fatalf("%d bytes of %d", n, len(part))
				}
			}
			sent := p.out.Bytes()
			if secured {
				sent = append([]byte(plainGreeting), unwrapped(t, sent)...)
			}
			if !bytes.Equal(sent, calls) {
				t.Errorf("pieces of %d, secured %v: the server gets %q", piece, secured, sent)
			}
			var got []byte
			buf := make([]byte, piece)
			for {
				n, err := c.Read(buf)
				got = append(got, buf[:n]...)
				if err == io.EOF {
					break
				}
				check(t, err)
			}
			if !bytes.Equal(got, cleared) || !slices.Equal(encrypts, []bool{true}) {
				t.Errorf("pieces of %d, secured %v: the library gets %q; encryption %v", piece, secured, got, encrypts)
			}
		}
	}
}

// unwrapped returns the frames inside protected ones.
func unwrapped(t *testing.T, b []byte) (frames []byte) {
	t.Helper()
	for len(b) > 0 {
		frame := wholeFrame(b)
		_, rest, err := delimited(frame[4:])
		check(t, err)
		body, _, err := delimited(rest)
		check(t, err)
		m, err := parseSasl(body)
		check(t, err)
		inner, err := marked{}.Unwrap(m.token)
		check(t, err)
		if m.state != saslWrap || wholeFrame(inner) == nil {
			t.Fatalf("state %d, %q", m.state, inner)
		}
		frames, b = append(frames, inner...), b[len(frame):]
	}
	return frames
}

// TestNameNodeConnRefuses: frames that a stranger could have put into a protected connection are refused, and so are
// frames that are no answer.
func TestNameNodeConnRefuses(t *testing.T) {
	good := replyFrame(1, defaultsBody(1))
	for name, c := range map[string]struct {
		in   []byte
		want string
	}{
		"in clear":          {good, errNotWrapped.Error()},
		"refusal in clear":  {refusalFrame(1, "java.io.IOException", "no"), errNotWrapped.Error()},
		"no token":          {replyFrame(saslCall, message(nil).number(2, saslWrap)), errNotWrapped.Error()},
		"another state":     {replyFrame(saslCall, message(nil).number(2, saslSuccess).bytes(3, []byte("W:"))), errNotWrapped.Error()},
		"not protected":     {replyFrame(saslCall, message(nil).number(2, saslWrap).bytes(3, good)), "not marked"},
		"half a frame":      {wrapped(good[:len(good)-1]), "no frame"},
		"more than a frame": {wrapped(append(slices.Clone(good), 0)), "no frame"},
		"nothing":           {wrapped(nil), "no frame"},
		"too long":          {[]byte{0x7f, 0, 0, 0}, "more than"},
		"cut":               {wrapped(good)[:20], io.ErrUnexpectedEOF.Error()},
		"no protobuf":       {[]byte{0, 0, 0, 2, 1, 0xff}, "protobuf"},
		"refused as such":   {wrapped(refusalFrame(-1, "org.apache.hadoop.security.AccessControlException", "may not act for root\n\tat")), "may not act for root"},
	} {
		conn := newNameNodeConn(&played{in: bytes.NewReader(c.in)}, true, marked{})
		b, err := io.ReadAll(conn)
		if !testwords.Names(err, c.want) || len(b) > 0 {
			t.Errorf("%s: %q, %v; want %q", name, b, err, c.want)
		}
		if final := name == "refused as such"; isCut(err) == final || (kindOf(err) == uncertain) == final {
			t.Errorf("%s: final is %v: %v", name, !final, err)
		}
	}
	_, err := io.ReadAll(newNameNodeConn(&played{in: bytes.NewReader(refusalFrame(-1, "x.AccessControlException",
		"SIMPLE authentication is not enabled.  Available:[TOKEN, KERBEROS]"))}, false, nil))
	var login *loginError
	if !errors.As(err, &login) || !testwords.Names(err, authenticationProperty) {
		t.Errorf("%v", err)
	}
	// The library may use the connection again, or take another NameNode's failure for the reason.
	for _, later := range []error{endedError{err}, errors.Join(io.EOF, err), errors.Join(err, io.EOF)} {
		if kindOf(later) != refused {
			t.Errorf("not final: %v", later)
		}
	}
}

// TestLoginRefuses: the client agrees neither to simple authentication nor to an exchange that proves nothing.
func TestLoginRefuses(t *testing.T) {
	token := Token{Identifier: []byte("id"), Password: []byte("topsecret"), Kind: hdfsTokenKind, Service: "127.0.0.1:8020"}
	conf := site(authenticationProperty, "kerberos", fallbackProperty, "true")
	offer := func(method, mechanism, challenge string) message {
		return message(nil).text(1, method).text(2, mechanism).text(3, "").text(4, "default").bytes(5, []byte(challenge))
	}
	negotiate := func(offers ...message) []byte {
		m := message(nil).number(2, saslNegotiate)
		for _, o := range offers {
			m = m.bytes(4, o)
		}
		return replyFrame(saslCall, m)
	}
	const challenge = `realm="default",nonce="n",qop="auth",charset=utf-8,algorithm=md5-sess`
	good := negotiate(offer("TOKEN", "DIGEST-MD5", challenge))
	question := len(saslGreeting) + len(requestFrame(saslCall, clientID(), message(nil).number(2, saslNegotiate)))
	for name, c := range map[string]struct {
		in   []byte
		want string
	}{
		"success at once": {replyFrame(saslCall, message(nil).number(2, saslSuccess)), fallbackProperty},
		"simple":          {negotiate(offer("SIMPLE", "", "")), fallbackProperty},
		"nothing":         {negotiate(), "no token"},
		"kerberos only":   {negotiate(offer("KERBEROS", "GSSAPI", "")), "KERBEROS"},
		"other mechanism": {negotiate(offer("TOKEN", "PLAIN", "")), "TOKEN"},
		"success, no proof": {append(slices.Clone(good), replyFrame(saslCall, message(nil).number(2, saslSuccess))...),
			"proved"},
		"wrong proof": {append(slices.Clone(good),
			replyFrame(saslCall, message(nil).number(2, saslSuccess).text(3, "rspauth=00"))...), "rspauth"},
		"a call's answer": {append(slices.Clone(good), replyFrame(3, nil)...), errNotSasl.Error()},
		"a strange state": {append(slices.Clone(good), replyFrame(saslCall, message(nil).number(2, 9))...), "state 9"},
		"refused": {append(slices.Clone(good),
			refusalFrame(saslCall, "a.b.InvalidToken", "token can't be found in cache")...), "InvalidToken: "},
		"many offers": {negotiate(slices.Repeat([]message{offer("TOKEN", "PLAIN", "")}, maxOffers+1)...),
			"16 ways"},
		"a long frame": {negotiate(offer("TOKEN", "DIGEST-MD5", strings.Repeat("x", maxLoginFrame))), "65536"},
		"a long challenge": {append(slices.Clone(good), replyFrame(saslCall, make(message, maxLoginFrame))...),
			"65536"},
		"weak": {negotiate(offer("TOKEN", "DIGEST-MD5", strings.Replace(challenge, "md5-sess", "md5", 1))),
			"algorithm"},
	} {
		s, err := readSecurity(conf)
		check(t, err)
		s.tokens = []Token{token}
		server := &played{in: bytes.NewReader(c.in)}
		layer, err := s.logIn(t.Context(), server, "localhost:8020")
		var refused *loginError
		if !errors.As(err, &refused) || !testwords.Names(err, c.want) || testwords.Names(err, "topsecret") ||
			layer != nil {
			t.Errorf("%s: %v; want %q", name, err, c.want)
		}
		// Whoever asks for no proof learns nothing but that somebody has connected.
		if sent := server.out.Bytes(); bytes.Contains(sent, []byte("topsecret")) || !bytes.HasPrefix(c.in, good) && len(sent) != question {
			t.Errorf("%s: sent %q", name, sent)
		}
	}
	s, err := readSecurity(conf)
	check(t, err)
	s.tokens = []Token{token}
	_, err = s.logIn(t.Context(), &played{in: bytes.NewReader(append(slices.Clone(good), refusalFrame(saslCall, "org.apache.hadoop.ipc.StandbyException", "standby")...))}, "nn:1")
	var refused *loginError
	if err == nil || errors.As(err, &refused) {
		t.Errorf("a NameNode on standby refuses for good: %v", err)
	}
}

func FuzzNameNodeFrames(f *testing.F) {
	f.Add(replyFrame(1, defaultsBody(1)), true)
	f.Add(wrapped(replyFrame(1, defaultsBody(1))), true)
	f.Add(wrapped(refusalFrame(-1, "a.b.C", "d")), true)
	f.Add(refusalFrame(-1, "a.b.C", "d"), false)
	f.Fuzz(func(t *testing.T, in []byte, secured bool) {
		c := newNameNodeConn(&played{in: bytes.NewReader(in)}, secured, nil)
		if secured {
			c.layer = marked{}
		}
		c.calls[1] = "getServerDefaults"
		out, _ := io.ReadAll(c)
		if len(out) > len(in) {
			t.Fatalf("%d bytes out of %d", len(out), len(in))
		}
		for len(out) > 0 { // only whole frames come out
			frame := wholeFrame(out)
			if frame == nil {
				t.Fatalf("%q", out)
			}
			out = out[len(frame):]
		}
		if r, err := parseReply(in); err == nil {
			_, _ = parseSasl(r.body)
		}
	})
}

// FuzzNameNodeAnswers reads the answers to our own calls.
func FuzzNameNodeAnswers(f *testing.F) {
	f.Add([]byte(defaultsBody(1)))
	f.Add([]byte(message(nil).bytes(1, Token{Identifier: []byte("i"), Password: []byte("p"), Kind: "k", Service: "s"}.message())))
	node := message(nil).bytes(1, message(nil).text(1, "10.0.0.1").text(2, "dn1").number(4, 9866))
	block := message(nil).bytes(1, message(nil).text(1, "BP-1").number(2, 7)).number(2, 0).bytes(3, node).bytes(3, node).number(4, 0).
		bytes(5, Token{}.message()).number(7, 1).number(7, 1).text(8, "DS-1").text(8, "DS-2")
	f.Add([]byte(message(nil).bytes(1, message(nil).bytes(2, block))))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = parseTokenAnswer(b)
		if k, err := parseEncryptionKey(b); err == nil {
			_ = k.digest()
		}
		clearBool(slices.Clone(b), 6)
		found, err := parseLocations(b, false)
		if err != nil {
			return
		}
		for _, l := range found.blocks {
			for _, r := range l.replicas {
				m := l.damaged([]string{r.address})
				if m == nil {
					continue
				}
				if back, err := parseLocated(m, false); err != nil || back.id != l.id {
					t.Fatalf("%v is reported as %v, %v", l.id, back.id, err)
				}
			}
		}
	})
}
