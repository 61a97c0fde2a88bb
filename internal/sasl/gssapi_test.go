package sasl

import (
	"bytes"
	"testing"

	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/spnego"
	"github.com/jcmturner/gokrb5/v8/types"

	"bulkload/internal/kerberos"
	"bulkload/internal/test/testcluster/kdc"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// server is a service with its keytab.
type server struct{ keys *keytab.Keytab }

// opened reads a client's initial token with gokrb5, and returns the session key and the subkey.
func (s server) opened(t *testing.T, token []byte) (session, subkey types.EncryptionKey) {
	t.Helper()
	var first spnego.KRB5Token
	must(t, first.Unmarshal(token))
	must(t, first.APReq.Ticket.DecryptEncPart(s.keys, nil))
	session = first.APReq.Ticket.DecryptedEncPart.Key
	must(t, first.APReq.DecryptAuthenticator(session))
	return session, first.APReq.Authenticator.SubKey
}

// offer is the server's first token: all protections, 64 KiB.
func offer(t *testing.T, key types.EncryptionKey) []byte {
	t.Helper()
	e, err := crypto.GetEtype(key.KeyType)
	must(t, err)
	return (&acceptor{key: key, etype: e}).wrap(t, []byte{7, 1, 0, 0}, false)
}

// TestOffersAreNotReplayed: a server's offer on one connection is not valid on the next, though both use the same
// ticket.
func TestOffersAreNotReplayed(t *testing.T) {
	for _, etype := range []string{"aes128-cts-hmac-sha1-96", "aes256-cts-hmac-sha1-96", "aes128-cts-hmac-sha256-128", "aes256-cts-hmac-sha384-192"} {
		t.Run(etype, func(t *testing.T) {
			k := kdc.Use(t, kdc.Options{Types: []string{etype}})
			login, err := kerberos.Open(t.Context(), kerberos.Config{Keytab: k.Principal(t, "loader", "", "loader"), Krb5Conf: k.Conf()})
			must(t, err)
			keys, err := keytab.Load(k.Principal(t, "hbase", "", "hbase/localhost"))
			must(t, err)
			ticket, err := login.Ticket(t.Context(), "hbase/localhost")
			must(t, err)
			begin := func() (Client, types.EncryptionKey, types.EncryptionKey) {
				client := GSSAPI(ticket, []Protection{Privacy})
				token, err := client.Start()
				must(t, err)
				session, subkey := server{keys}.opened(t, token)
				return client, session, subkey
			}
			first, session, subkey := begin()
			if subkey.KeyType != session.KeyType || len(subkey.KeyValue) != len(session.KeyValue) || bytes.Equal(subkey.KeyValue, session.KeyValue) {
				t.Fatalf("a subkey of type %d with %d bytes; the session key is of type %d", subkey.KeyType, len(subkey.KeyValue), session.KeyType)
			}
			recorded := offer(t, subkey)
			_, done, err := first.Next(bytes.Clone(recorded))
			if err != nil || !done {
				t.Fatalf("the server's offer: done %v, %v", done, err)
			}
			second, _, another := begin()
			if bytes.Equal(another.KeyValue, subkey.KeyValue) {
				t.Error("two connections have the same subkey")
			}
			if _, _, err := second.Next(bytes.Clone(recorded)); err == nil {
				t.Error("the offer of the first connection is accepted on the second")
			}
			third, _, _ := begin()
			if _, _, err := third.Next(offer(t, session)); err == nil {
				t.Error("an offer under the session key, which all connections share, is accepted")
			}
		})
	}
}

// FuzzGSSAPI passes to the client what a stranger may send in place of a server's offer.
func FuzzGSSAPI(f *testing.F) {
	key := types.EncryptionKey{KeyType: 18, KeyValue: make([]byte, 32)}
	f.Add([]byte{}, header(fromAcceptor, 12, 0))
	f.Add([]byte{0x60, 0x10}, append(header(fromAcceptor, 12, 0), 7, 1, 0, 0))
	f.Add(append(header(fromAcceptor, 12, 0), make([]byte, 16)...), []byte{})
	f.Fuzz(func(t *testing.T, first, second []byte) {
		w, err := newWrapper(key)
		if err != nil {
			t.Fatal(err)
		}
		g := &gssapi{wrapper: w, preferred: []Protection{Privacy, Integrity, Authentication}}
		for _, challenge := range [][]byte{first, second} {
			if _, done, _ := g.Next(challenge); done || g.Layer() != nil {
				t.Fatalf("a stranger is believed after % x", challenge)
			}
		}
	})
}
