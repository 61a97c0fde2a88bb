package kerberos

import (
	"time"

	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// Ticket is a ticket for one service and the key that goes with it. Neither is ever printed.
type Ticket struct {
	client  types.PrincipalName
	realm   string // of the client
	service string // name@REALM
	ticket  messages.Ticket
	key     types.EncryptionKey
	end     time.Time
}

// Service is the service's principal, with its realm.
func (t *Ticket) Service() string { return t.service }

// Key is the session key.
func (t *Ticket) Key() types.EncryptionKey { return t.key }

// Expiry is when the ticket ends.
func (t *Ticket) Expiry() time.Time { return t.end }

// String names the service only.
func (t *Ticket) String() string { return "ticket for " + t.service }

// GoString is String: keys don't get into logs by %#v either.
func (t *Ticket) GoString() string { return t.String() }
