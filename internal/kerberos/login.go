// Package kerberos logs in from a keytab or a ticket cache and gets tickets for services.
//
// It reads krb5.conf and talks to the KDC by itself, with the messages and the cryptography of gokrb5, because the
// reasons why Kerberos refuses must reach the user: every error names the principal, the service, the KDC and the cause.
// No key, ticket or token is ever part of an error or a text.
package kerberos

import (
	"context"
	"errors"
	"strings"
	"time"
)

// Config says who logs in and how.
type Config struct {
	Principal string // "" : the cache's own, or the only one of the keytab
	Keytab    string // a file; "" : the ticket cache is used
	Cache     string // the value of KRB5CCNAME; "" : the one that krb5.conf names, else /tmp/krb5cc_<uid>
	Krb5Conf  string // the value of KRB5_CONFIG, files with colons between them; "" : /etc/krb5.conf
}

// Login is a principal that has logged in. Its methods are safe for concurrent use.
type Login struct {
	name, realm string
}

// Open logs in. It asks the KDC where a keytab is used; a ticket cache must have a ticket that is valid now.
func Open(ctx context.Context, c Config) (*Login, error) {
	return nil, errors.New("not built yet")
}

// Principal is the full name, user@REALM.
func (l *Login) Principal() string { return l.name + "@" + l.realm }

// Short is the name that the owner of a file has in HDFS by the default rule of hadoop.security.auth_to_local: the
// first part of the principal.
func (l *Login) Short() string {
	short, _, _ := strings.Cut(l.name, "/")
	return short
}

// Expiry is when the last ticket that this login can get without a person's help ends; zero for a keytab, which logs in
// anew when it must.
func (l *Login) Expiry() time.Time { return time.Time{} }

// Ticket gives a ticket for a service: "hbase/host" or "hbase/host@REALM". Tickets are kept and got anew before they
// end, so that it may be called for every connection.
func (l *Login) Ticket(ctx context.Context, service string) (*Ticket, error) {
	return nil, errors.New("not built yet")
}
