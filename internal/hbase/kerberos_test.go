package hbase

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"testing"

	"bulkload/internal/errcode"
	"bulkload/internal/sasl"
	"bulkload/internal/test/testwords"
)

// scripted is a SASL client that sends "first" and answers "offer" with "answer".
type scripted struct{ err error }

func (s scripted) Start() ([]byte, error) { return []byte("first"), nil }
func (s scripted) Next(challenge []byte) ([]byte, bool, error) {
	if string(challenge) != "offer" {
		return nil, false, errors.New("no offer")
	}
	return []byte("answer"), true, s.err
}
func (s scripted) Layer() sasl.Layer { return nil }

// said is a connection on which the server has already sent something.
type said struct {
	io.Reader
	sent bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) { return s.sent.Write(p) }

func parts(p ...any) (b []byte) {
	for _, part := range p {
		switch v := part.(type) {
		case int:
			b = binary.BigEndian.AppendUint32(b, uint32(v))
		case string:
			b = append(binary.BigEndian.AppendUint32(b, uint32(len(v))), v...)
		}
	}
	return b
}

func TestTokensAreExchanged(t *testing.T) {
	c := &said{Reader: bytes.NewReader(parts(0, "offer"))}
	if err := authenticate(c, scripted{}, "hbase/h"); err != nil {
		t.Fatal(err)
	}
	if want := slices.Concat([]byte("HBas\x00\x51"), parts("first", "answer")); !bytes.Equal(c.sent.Bytes(), want) {
		t.Errorf("sent %q, want %q", c.sent.Bytes(), want)
	}
}

// TestServersThatCantBeBelieved: what a server may send instead of an offer. After it nothing more is sent to the
// server, and no memory is allocated because of a length that it claims.
func TestServersThatCantBeBelieved(t *testing.T) {
	for _, c := range []struct {
		answer []byte
		final  bool // and not a connection that failed
		code   errcode.Code
		names  string
	}{
		{parts(0, -88), true, errcode.SiteProperty, "hbase.security.authentication"},
		{parts(0, 1<<31-1), false, "", "1048576"},
		{parts(1, "javax.security.sasl.SaslException", "GSS initiate failed"), true, errcode.KerberosService,
			"SaslException: GSS initiate failed"},
		{parts(1), true, errcode.KerberosService, "not say why"},
		{parts(1, 1<<31-1), false, "", "2147483647 bytes"},
		{nil, false, "", "ended the connection"},
		{parts(0), false, "", "EOF"},
		{parts(0, 20, 1), false, "", "connection lost"},
		{parts(0, "what?"), true, "", "no offer"},
	} {
		answer := c.answer
		server := &said{Reader: bytes.NewReader(answer)}
		err := authenticate(server, scripted{}, "hbase/h")
		var auth *AuthError
		if errcode.Outermost(err) != c.code || !testwords.Names(err, c.names) || errors.As(err, &auth) != c.final {
			t.Errorf("%q: got %v [%s], want [%s] %q", answer, err, errcode.Outermost(err), c.code, c.names)
		}
		if server.sent.Len() != 6+4+5 {
			t.Errorf("%q: sent %q", answer, server.sent.Bytes())
		}
	}
}

func FuzzChallenge(f *testing.F) {
	f.Add(parts(0, "offer"))
	f.Add(parts(1, "class", "message"))
	f.Add(parts(0, -88))
	f.Fuzz(func(t *testing.T, answer []byte) {
		if token, err := readChallenge(bytes.NewReader(answer), "hbase/h"); err == nil && len(token) > len(answer) {
			t.Error("more than was sent")
		}
	})
}
