package hbase

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/sasl"
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

// TestServersThatCantBeBelieved: what a server may send instead of an offer. After it nothing more is sent to the server, and
// no memory is allocated because of a length that it claims.
func TestServersThatCantBeBelieved(t *testing.T) {
	for want, answer := range map[string][]byte{
		"the server does not use Kerberos":          parts(0, -88),
		"more than the 1048576 that are accepted":   parts(0, 1<<31-1),
		"SaslException: GSS initiate failed":        parts(1, "javax.security.sasl.SaslException", "GSS initiate failed"),
		"does not say why":                          parts(1),
		"2147483647 bytes while authenticating":     parts(1, 1<<31-1),
		"the server ended the connection":           nil,
		"connection lost while authenticating: EOF": parts(0),
		"connection lost while authenticating":      parts(0, 20, 1),
		"no offer":                                  parts(0, "what?"),
	} {
		c := &said{Reader: bytes.NewReader(answer)}
		err := authenticate(c, scripted{}, "hbase/h")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", answer, err, want)
		}
		var auth *AuthError
		if lost := strings.Contains(want, "connection") || strings.Contains(want, "bytes") || strings.Contains(want, "accepted"); errors.As(err, &auth) == lost {
			t.Errorf("%q: final: %v", answer, !lost)
		}
		if c.sent.Len() != 6+4+5 {
			t.Errorf("%q: sent %q", answer, c.sent.Bytes())
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
