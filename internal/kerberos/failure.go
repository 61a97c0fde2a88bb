package kerberos

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"bulkload/internal/errcode"

	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/messages"
)

// Error says why Kerberos issued no ticket.
type Error struct {
	Principal string // the client, with the realm
	Service   string // the service asked for; "" while logging in
	Source    string // the keytab or the ticket cache
	KDC       string // the address of the KDC that refused; "" if none was asked
	Err       error  // the cause and the remedy
}

func (e *Error) Error() string {
	text := "log in to Kerberos as " + e.Principal
	if e.Service != "" {
		text = fmt.Sprintf("get a Kerberos ticket for %s as %s", e.Service, e.Principal)
	}
	text += " with " + e.Source
	if e.KDC != "" {
		text += " (KDC " + e.KDC + ")"
	}
	return text + ": " + e.Err.Error()
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// explain turns a KDC's answer into a cause and a remedy.
func explain(err error, now time.Time, k *keys) error {
	var refused messages.KRBError
	if errors.Is(err, errKey) {
		return fmt.Errorf("%w; the password was changed after the keytab was made: export it again", err)
	}
	if !errors.As(err, &refused) {
		return err
	}
	return &refusal{code: refused.ErrorCode, text: cause(refused, now, k)}
}

// refusal is a KDC's answer in words.
type refusal struct {
	code int32
	text string
}

func (r *refusal) Error() string { return r.text }

// ErrorCode is the code for the remedy.
func (r *refusal) ErrorCode() errcode.Code {
	switch r.code {
	case errorcode.KDC_ERR_S_PRINCIPAL_UNKNOWN:
		return errcode.KerberosService
	case errorcode.KDC_ERR_PREAUTH_FAILED, errorcode.KRB_AP_ERR_BAD_INTEGRITY:
		return errcode.KerberosKeytab
	case errorcode.KDC_ERR_ETYPE_NOSUPP:
		return errcode.KerberosPrincipal
	case errorcode.KRB_AP_ERR_SKEW:
		return errcode.KerberosClock
	case errorcode.KRB_AP_ERR_TKT_EXPIRED, errorcode.KDC_ERR_NEVER_VALID, errorcode.KDC_ERR_BADOPTION:
		return errcode.KerberosNoLogin
	}
	return errcode.KerberosPrincipal
}

func cause(e messages.KRBError, now time.Time, k *keys) string {
	switch e.ErrorCode {
	case errorcode.KDC_ERR_C_PRINCIPAL_UNKNOWN:
		return "the KDC does not know the principal: check its spelling and its realm, or have it created"
	case errorcode.KDC_ERR_S_PRINCIPAL_UNKNOWN:
		return "the KDC does not know the service: check the *.kerberos.principal properties of the site files, " +
			"the host name that they get for _HOST, and [domain_realm] of krb5.conf"
	case errorcode.KDC_ERR_CLIENT_REVOKED:
		return "the principal is locked or has expired at the KDC: have it unlocked"
	case errorcode.KDC_ERR_KEY_EXPIRED:
		return "the principal's password has expired: have it changed and the keytab exported again"
	case errorcode.KDC_ERR_PREAUTH_FAILED, errorcode.KRB_AP_ERR_BAD_INTEGRITY:
		if k != nil {
			return fmt.Sprintf("the KDC refuses the key; %s has key number %s: the password was changed after the keytab "+
				"was made, "+
				"or it is of another KDC. Compare kvno and klist -kt, and export the keytab again", k.file, k.versions())
		}
		return "the KDC can't read the ticket: run kinit again"
	case errorcode.KDC_ERR_ETYPE_NOSUPP:
		return "the KDC and bulkload share no encryption type: give the principal and the service AES keys, and check " +
			"permitted_enctypes in krb5.conf"
	case errorcode.KRB_AP_ERR_SKEW:
		return skew(e.STime, now)
	case errorcode.KRB_AP_ERR_TKT_EXPIRED, errorcode.KDC_ERR_NEVER_VALID:
		return "the ticket has expired: run kinit again, or use a keytab. " + skew(e.STime, now)
	case errorcode.KDC_ERR_BADOPTION:
		return "the KDC does not renew the ticket: run kinit again, or use a keytab"
	case errorcode.KDC_ERR_POLICY:
		return "the KDC's policy forbids it: ask who runs the KDC"
	case errorcode.KDC_ERR_WRONG_REALM:
		return fmt.Sprintf("the principal is of realm %s: write it with that one", e.CRealm)
	}
	text := "the KDC refuses: " + errorcode.Lookup(e.ErrorCode)
	if e.EText != "" && utf8.ValidString(e.EText) {
		text += fmt.Sprintf(" (%q)", e.EText)
	}
	return text
}

// skew compares the two clocks, in words.
func skew(kdc, now time.Time) string {
	difference := now.Sub(kdc).Round(time.Second)
	if kdc.IsZero() || difference.Abs() < 2*time.Second {
		return fmt.Sprintf("The clocks of this machine and of the KDC agree (%s)", kdc.UTC().Format(time.RFC3339))
	}
	way := "ahead of"
	if difference < 0 {
		way = "behind"
	}
	return fmt.Sprintf("the clock of this machine says %s, %v %s the KDC's: set the one that is wrong (NTP)",
		now.UTC().Format(time.RFC3339), difference.Abs(), way)
}

// etypeName is MIT's name for an encryption type.
func etypeName(etype int32) string {
	for _, name := range []string{"aes256-cts-hmac-sha1-96", "aes128-cts-hmac-sha1-96", "aes256-cts-hmac-sha384-192",
		"aes128-cts-hmac-sha256-128", "arcfour-hmac", "camellia256-cts-cmac", "camellia128-cts-cmac", "des3-cbc-sha1-kd"} {
		if etypeID.ETypesByName[name] == etype {
			return name
		}
	}
	return fmt.Sprintf("encryption type %d", etype)
}
