package jobs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"bulkload/internal/kerberos"
	"bulkload/internal/siteconf"
	"bulkload/internal/storage"
	"bulkload/jobs/failure"
	"bulkload/jobs/jobfile"
)

// loginTime bounds a login, of which each KDC may take some seconds.
const loginTime = time.Minute

// logIn proves who we are where the site files want Kerberos. It is done once for all that a job reaches.
func (s *site) logIn(k jobfile.Kerberos) error {
	property := wantsKerberos(s.conf)
	if property == "" {
		if k.Keytab != "" {
			return failure.Refusef("hbase.kerberos is given, but neither hadoop.security.authentication nor hbase.security.authentication of the site files is kerberos: " +
				"nothing would be protected; see -conf and hbase.conf for the right site files")
		}
		return nil
	}
	tokens, err := storage.TokensOfEnvironment()
	if err != nil {
		return failure.Usagef("%w", err)
	}
	s.tokens = tokens
	ctx, cancel := context.WithTimeout(context.Background(), loginTime)
	defer cancel()
	login, err := kerberos.Open(ctx, kerberos.Config{Principal: k.Principal, Keytab: k.Keytab,
		Names: s.conf.Get("hadoop.security.auth_to_local", ""),
		Cache: os.Getenv("KRB5CCNAME"), Krb5Conf: os.Getenv("KRB5_CONFIG")})
	if err == nil {
		s.login, s.user = login, login.Short()
		s.announce(login)
		return nil
	}
	if k.Keytab == "" && len(tokens) > 0 {
		return nil // HDFS believes the tokens; what needs a ticket says so
	}
	return loginError(property, s.conf, err)
}

// loginError says why a login is needed, beside why it failed. A KDC that does not answer may do so later.
func loginError(property string, conf *siteconf.Conf, err error) error {
	err = fmt.Errorf("%s is kerberos (in %s): %w", property, conf.Source(property), err)
	if errors.Is(err, kerberos.ErrNoKDC) || errors.Is(err, context.DeadlineExceeded) {
		return failure.New(failure.Later, err)
	}
	return failure.New(failure.Refused, err)
}

// announce says who is logged in, and how long a ticket cache lasts.
func (s *site) announce(l *kerberos.Login) {
	if s.say == nil {
		return
	}
	text := fmt.Sprintf("logged in as %s with %s", l.Principal(), l.Source())
	if end := l.Expiry(); !end.IsZero() {
		text += fmt.Sprintf(", which lasts until %s (%v): what takes longer needs a keytab", end.Format(time.RFC3339), time.Until(end).Round(time.Minute))
	}
	s.say(text)
}

// wantsKerberos gives the property that asks for Kerberos; "" where none does.
func wantsKerberos(conf *siteconf.Conf) string {
	for _, property := range []string{"hadoop.security.authentication", "hbase.security.authentication"} {
		if strings.EqualFold(conf.Get(property, ""), "kerberos") {
			return property
		}
	}
	return ""
}
