package kerberos

import (
	"crypto/rand"
	"encoding/binary"
	"slices"
	"time"

	"bulkload/internal/errcode"

	"github.com/jcmturner/gofork/encoding/asn1"
	"github.com/jcmturner/gokrb5/v8/asn1tools"
	"github.com/jcmturner/gokrb5/v8/gssapi"
	"github.com/jcmturner/gokrb5/v8/iana/chksumtype"
	"github.com/jcmturner/gokrb5/v8/types"
)

// Ticket is a ticket for one service and its key. Neither is ever printed.
type Ticket struct {
	client     *client
	service    string // name@REALM
	credential credential
}

// Service is the service's principal, with its realm.
func (t *Ticket) Service() string { return t.service }

// Expiry is when the ticket ends. Connections that were opened with it stay open.
func (t *Ticket) Expiry() time.Time { return t.credential.end }

// String names only the service.
func (t Ticket) String() string { return "ticket for " + t.service }

// GoString is String, so that %#v does not show keys either.
func (t Ticket) GoString() string { return t.String() }

// contextFlags ask for the possible protections of a connection and for numbered tokens, but not for an answer to the
// request, because the server proves its identity by the token that it signs next.
const contextFlags = gssapi.ContextFlagInteg | gssapi.ContextFlagConf | gssapi.ContextFlagReplay |
	gssapi.ContextFlagSequence

// Request makes the initial token of GSSAPI (RFC 4121, 4.1) for one connection, and the key that protects both of its
// directions: the initiator's subkey, which is random and of the session key's type. All connections of a ticket share
// its session key, so with that key the answers on one connection would be valid on another.
func (t *Ticket) Request() (token []byte, key types.EncryptionKey, err error) {
	failed := func(err error) ([]byte, types.EncryptionKey, error) {
		return nil, types.EncryptionKey{}, &Error{t.client.principal(), t.service, "its ticket", "", err}
	}
	if key, err = randomLike(t.credential.key); err != nil {
		return failed(err)
	}
	sum := make([]byte, 24) // RFC 4121, 4.1.1: the length of the bindings, 16 zero bytes for no bindings, flags
	binary.LittleEndian.PutUint32(sum, 16)
	binary.LittleEndian.PutUint32(sum[20:], contextFlags)
	request, err := t.client.request(t.credential, types.Checksum{CksumType: chksumtype.GSSAPI, Checksum: sum}, key)
	if err != nil {
		return failed(err)
	}
	oid, err := asn1.Marshal(gssapi.OIDKRB5.OID())
	if err != nil {
		return failed(err)
	}
	return asn1tools.AddASNAppTag(append(append(oid, 1, 0), request...), 0), key, nil
}

// randomLike makes a key with another's type and size. Any bytes are a valid key for AES (RFC 3962, 4; RFC 8009, 3).
func randomLike(key types.EncryptionKey) (types.EncryptionKey, error) {
	if !slices.Contains(sessionTypes, key.KeyType) {
		return types.EncryptionKey{}, errcode.KerberosPrincipal.Errorf(
			"the session key is of type %s; supported is AES: give the service AES keys", etypeName(key.KeyType))
	}
	value := make([]byte, len(key.KeyValue))
	rand.Read(value)
	return types.EncryptionKey{KeyType: key.KeyType, KeyValue: value}, nil
}
