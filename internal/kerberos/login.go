// Package kerberos logs in from a keytab or a ticket cache and gets tickets for services.
//
// It reads krb5.conf and talks to the KDC itself, with the messages and the cryptography of gokrb5, because the reasons
// why Kerberos refuses must reach the user: every error names the principal, the service, the KDC and the cause. No
// key, ticket or token is ever part of an error or a text.
package kerberos

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"bulkload/internal/errcode"

	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/iana/nametype"
	"github.com/jcmturner/gokrb5/v8/types"
)

// Config says who logs in, and how.
type Config struct {
	Principal string // "" : the cache's own, or the only one of the keytab; without a realm: of default_realm
	Keytab    string // a file; "" : the ticket cache is used
	Cache     string // the value of KRB5CCNAME; "" : the one that krb5.conf names, else /tmp/krb5cc_<uid>
	Names     string // the value of hadoop.security.auth_to_local, which makes short names; "" : DEFAULT
	Krb5Conf  string // the value of KRB5_CONFIG, files with colons between them; "" : /etc/krb5.conf
}

// Login is a principal that has logged in. Its methods are safe for concurrent use.
type Login struct {
	client  *client
	short   string
	keytab  string // one of the two is set
	cache   string
	turn    chan struct{}         // held by the goroutine that talks to the KDC and uses the fields below
	granted map[string]credential // the ticket-granting tickets by realm, including our own
	tickets map[string]credential // by service
	again   map[string]time.Time  // by service, "" for our ticket-granting one: when it may be renewed next
}

// Open logs in. With a keytab it asks the KDC; a ticket cache must have a ticket that is valid now.
func Open(ctx context.Context, c Config) (*Login, error) { return open(ctx, c, time.Now) }

func open(ctx context.Context, c Config, now func() time.Time) (*Login, error) {
	conf, err := readConf(c.Krb5Conf)
	if err != nil {
		return nil, fmt.Errorf("log in to Kerberos: %w", err)
	}
	l := &Login{client: &client{conf: conf, now: now}, keytab: c.Keytab, turn: make(chan struct{}, 1),
		granted: map[string]credential{}, tickets: map[string]credential{}, again: map[string]time.Time{}}
	if c.Keytab == "" {
		err = l.openCache(c)
	} else {
		err = l.openKeytab(c)
	}
	if err == nil {
		err = l.setShort(c.Names)
	}
	if err != nil {
		return nil, fmt.Errorf("log in to Kerberos: %w", err)
	}
	if _, err := l.own(ctx); err != nil {
		return nil, err
	}
	return l, nil
}

func (l *Login) setShort(names string) error {
	rules, err := readRules(names)
	if err != nil {
		return errcode.SiteProperty.Errorf("hadoop.security.auth_to_local: %w", err)
	}
	home := l.client.conf.realm
	if home == "" {
		home = l.client.realm
	}
	l.short, err = shortName(rules, l.client.name.NameString, l.client.realm, home)
	return err
}

func (l *Login) openKeytab(c Config) (err error) {
	if c.Principal == "" {
		if c.Principal, err = onlyPrincipal(c.Keytab); err != nil {
			return err
		}
	}
	l.client.name, l.client.realm, err = l.client.conf.parsePrincipal(c.Principal)
	if err != nil {
		return err
	}
	_, err = readKeytab(l.keytab, l.Principal())
	return err
}

func (l *Login) openCache(c Config) (err error) {
	if l.cache, err = cacheFile(c.Cache, l.client.conf); err != nil {
		return err
	}
	file, err := readCache(l.cache)
	if err != nil {
		return err
	}
	l.client.name, l.client.realm = file.client, file.realm
	if c.Principal == "" {
		return nil
	}
	name, realm, err := l.client.conf.parsePrincipal(c.Principal)
	if err == nil && (name.PrincipalNameString() != file.client.PrincipalNameString() || realm != file.realm) {
		err = errcode.KerberosNoLogin.Errorf("ticket cache %s is %s's, not %s's: run kinit %s, or give its keytab", l.cache,
			l.Principal(), c.Principal, c.Principal)
	}
	return err
}

// CheckPrincipal fails if a text is not a principal: NAME, NAME/INSTANCE, or either with @REALM.
func CheckPrincipal(text string) error {
	_, _, err := (&conf{realm: "REALM"}).parsePrincipal(text)
	return err
}

// parsePrincipal reads NAME[/INSTANCE][@REALM].
func (c *conf) parsePrincipal(text string) (types.PrincipalName, string, error) {
	name, realm, ok := strings.Cut(text, "@")
	if !ok {
		realm = c.realm
	}
	parts := strings.Split(name, "/")
	for _, part := range append(parts, realm) {
		if part == "" || strings.ContainsAny(part, "@ \t") {
			return types.PrincipalName{}, "",
				errcode.KerberosPrincipal.Errorf("principal %q: write NAME@REALM or NAME/HOST@REALM", text)
		}
	}
	return types.PrincipalName{NameType: nametype.KRB_NT_PRINCIPAL, NameString: parts}, realm, nil
}

func (c *client) principal() string { return c.name.PrincipalNameString() + "@" + c.realm }

// Principal is the full name, user@REALM.
func (l *Login) Principal() string { return l.client.principal() }

// String names only the principal and the source.
func (l Login) String() string { return l.Principal() + " with " + l.Source() }

// GoString is String, so that %#v does not show keys either.
func (l Login) GoString() string { return l.String() }

// Short is the principal's name in HDFS and HBase, which owns its files: by the default rule the first part of the
// principal.
func (l *Login) Short() string { return l.short }

// Source is the source of the login: a keytab or a ticket cache, with its file's name.
func (l *Login) Source() string {
	if l.keytab != "" {
		return "keytab " + l.keytab
	}
	return "ticket cache " + l.cache
}

// File is the keytab or the ticket cache.
func (l *Login) File() string { return l.keytab + l.cache }

// Expiry is when the last ticket that this login can get without a person's help ends. It is zero for a keytab, with
// which the login is repeated when necessary.
func (l *Login) Expiry() time.Time {
	if l.keytab != "" {
		return time.Time{}
	}
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	own := l.granted[l.client.realm]
	if own.renewTill.After(own.end) {
		return own.renewTill
	}
	return own.end
}

func (l *Login) failed(service, kdc string, err error) error {
	return &Error{Principal: l.Principal(), Service: service, Source: l.Source(), KDC: kdc, Err: err}
}

// take waits for the turn, the right to talk to the KDC.
func (l *Login) take(ctx context.Context) error {
	select {
	case l.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// fresh reports whether a ticket is good for some time. The last sixth of its life is left for getting another one.
func (l *Login) fresh(c credential) bool {
	return l.client.now().Add(c.end.Sub(c.start) / 6).Before(c.end)
}

func (l *Login) valid(c credential) bool { return l.client.now().Before(c.end) }

// own returns the ticket-granting ticket of our realm.
func (l *Login) own(ctx context.Context) (credential, error) {
	if err := l.take(ctx); err != nil {
		return credential{}, l.failed("", "", err)
	}
	defer func() { <-l.turn }()
	return l.ownLocked(ctx)
}

// renewalPause is how long a ticket that is still valid stays in use after a failed renewal, before the next attempt.
// Without it each connection would wait for a KDC that is down.
const renewalPause = time.Minute

// renewed returns the old ticket or, if that is about to expire, a new one from get. If get fails, the old one is used
// to its end. While the old one is valid, get has only part of the caller's time, because the connection that wants the
// ticket needs the rest.
func (l *Login) renewed(ctx context.Context, service string, old credential,
	get func(context.Context) (credential, error)) (credential, error) {
	valid := l.valid(old)
	if l.fresh(old) || valid && l.client.now().Before(l.again[service]) {
		return old, nil
	}
	part, cancel := ctx, context.CancelFunc(func() {})
	if valid {
		part, cancel = context.WithTimeout(ctx, timeoutShare(ctx, 2))
	}
	defer cancel()
	cred, err := get(part)
	if err == nil || !valid {
		return cred, err
	}
	if !errors.Is(ctx.Err(), context.Canceled) {
		l.again[service] = l.client.now().Add(renewalPause)
	}
	return old, nil
}

// ownLocked gets a new ticket if the old one is about to end.
func (l *Login) ownLocked(ctx context.Context) (credential, error) {
	old := l.granted[l.client.realm]
	return l.renewed(ctx, "", old, func(ctx context.Context) (credential, error) {
		get := l.byCache
		if l.keytab != "" {
			get = l.byKeytab
		}
		cred, err := get(ctx, old)
		if err == nil {
			l.granted = map[string]credential{l.client.realm: cred} // those of other realms were obtained with the old one
		}
		return cred, err
	})
}

// byKeytab logs in. It reads the file again, because it may have been replaced.
func (l *Login) byKeytab(ctx context.Context, _ credential) (credential, error) {
	k, err := readKeytab(l.keytab, l.Principal())
	if err != nil {
		return credential{}, l.failed("", "", err)
	}
	cred, kdc, err := l.client.logIn(ctx, k)
	if err != nil {
		return cred, l.failed("", kdc, explain(err, l.client.now(), k))
	}
	return cred, nil
}

// byCache uses a new ticket that kinit has put into the cache, or else renews the old one.
func (l *Login) byCache(ctx context.Context, old credential) (credential, error) {
	file, err := readCache(l.cache)
	if err != nil {
		return credential{}, l.failed("", "", err)
	}
	realm := l.client.realm
	cred, ok := file.ticketFor("krbtgt/"+realm, realm)
	switch {
	case file.client.PrincipalNameString()+"@"+file.realm != l.Principal():
		return cred, l.failed("", "", errcode.KerberosNoLogin.Errorf("the cache is %s@%s's now",
			file.client.PrincipalNameString(), file.realm))
	case !ok:
		return cred, l.failed("", "", errcode.KerberosNoLogin.New("the cache has no ticket-granting ticket: run kinit"))
	case l.fresh(cred):
		return cred, nil
	}
	if old.end.After(cred.end) {
		cred = old
	}
	return l.renew(ctx, cred)
}

func (l *Login) renew(ctx context.Context, cred credential) (credential, error) {
	now := l.client.now()
	if !l.valid(cred) {
		return cred, l.failed("", "", errcode.KerberosNoLogin.Errorf(
			"the ticket ended at %s, %v ago by the clock of this machine: run kinit again, or use a keytab",
			cred.end.UTC().Format(time.RFC3339), now.Sub(cred.end).Round(time.Second)))
	}
	if !cred.renewTill.After(cred.end) {
		return cred, nil // it is used to its end
	}
	renewed, kdc, err := l.client.ticket(ctx, cred, l.client.realm, granting(l.client.realm), true)
	if err != nil {
		return cred, l.failed("", kdc, explain(err, now, nil))
	}
	return renewed, nil
}

// Ticket returns a ticket for a service: "hbase/host" or "hbase/host@REALM". Tickets are cached and replaced before
// they end, so it may be called for every connection.
func (l *Login) Ticket(ctx context.Context, service string) (*Ticket, error) {
	if err := l.take(ctx); err != nil {
		return nil, l.failed(service, "", err)
	}
	defer func() { <-l.turn }()
	cred, err := l.renewed(ctx, service, l.tickets[service], func(ctx context.Context) (credential, error) {
		return l.get(ctx, service)
	})
	if err != nil {
		return nil, err
	}
	l.tickets[service] = cred
	return &Ticket{l.client, cred.ticket.SName.PrincipalNameString() + "@" + cred.ticket.Realm, cred}, nil
}

// maxHops bounds the realms between ours and a service's.
const maxHops = 10

// get asks our KDC and, on the way to a service of another realm, those of the realms between (RFC 4120, 3.3.1). A KDC
// may instead refer to another realm with a ticket, and that realm's KDC is asked next.
func (l *Login) get(ctx context.Context, service string) (credential, error) {
	name, target, err := l.serviceName(service)
	if err != nil {
		return credential{}, l.failed(service, "", err)
	}
	by, err := l.ownLocked(ctx)
	if err != nil {
		return credential{}, err
	}
	realm := l.client.realm
	for range maxHops {
		asked := name
		if realm != target {
			asked = granting(l.client.conf.next(realm, target))
		}
		cred, kdc, err := l.client.ticket(ctx, by, realm, asked, false)
		if err != nil {
			return credential{}, l.failed(service, kdc, l.explain(err, realm, target))
		}
		got := cred.ticket.SName.NameString
		if len(got) != 2 || got[0] != "krbtgt" {
			return cred, nil
		}
		if realm == target {
			target = got[1] // a referral
		}
		by, realm = cred, got[1]
	}
	return credential{}, l.failed(service, "",
		errcode.KerberosConfig.Errorf("no way to realm %s in %d steps: look at [capaths] of krb5.conf", target, maxHops))
}

func (l *Login) explain(err error, realm, target string) error {
	err = explain(err, l.client.now(), nil)
	var refused *refusal
	if errors.As(err, &refused) && refused.code == errorcode.KDC_ERR_S_PRINCIPAL_UNKNOWN && realm != target {
		return errcode.KerberosConfig.Errorf("the KDC knows no way from realm %s to realm %s: look at [capaths] and "+
			"[domain_realm] of krb5.conf", realm, target)
	}
	return err
}

// serviceName is a service's name and realm. The realm is the one in the name, or else that of its host in
// [domain_realm], or else ours.
func (l *Login) serviceName(service string) (types.PrincipalName, string, error) {
	text, realm, ok := strings.Cut(service, "@")
	parts := strings.Split(text, "/")
	if !ok {
		realm = l.client.conf.realmOf(parts[len(parts)-1])
	}
	if realm == "" {
		realm = l.client.realm
	}
	name, realm, err := l.client.conf.parsePrincipal(text + "@" + realm)
	name.NameType = nametype.KRB_NT_SRV_HST
	return name, realm, err
}
