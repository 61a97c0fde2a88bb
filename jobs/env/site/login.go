package site

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/kerberos"
	"bulkload/internal/siteconf"
	"bulkload/internal/storage"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/spec/jobfile"
)

// loginTime bounds a login, in which each KDC may need some seconds.
const loginTime = time.Minute

// logIn logs in if the site files require Kerberos, once for everything that a job uses. Tokens of the environment are
// used only if there is no login, because YARN and Oozie always provide some.
func (s *Site) logIn(k jobfile.Kerberos) error {
	property := wantsKerberos(s.Conf)
	if property == "" {
		if k.Keytab != "" {
			return errcode.SiteProperty.Errorf("a keytab is given (hbase.kerberos or --keytab), but neither " +
				"hadoop.security.authentication nor hbase.security.authentication of the site files is kerberos: " +
				"nothing would be protected; see --conf and hbase.conf for the right site files")
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), loginTime)
	defer cancel()
	login, err := kerberos.Open(ctx, kerberos.Config{Principal: k.Principal, Keytab: k.Keytab,
		Names: s.Conf.Get("hadoop.security.auth_to_local", ""),
		Cache: os.Getenv("KRB5CCNAME"), Krb5Conf: os.Getenv("KRB5_CONFIG")})
	if err == nil {
		s.login, s.User = login, login.Short()
		s.announce(login)
		return nil
	}
	if k.Keytab != "" {
		return loginError(property, s.Conf, err)
	}
	tokens, broken := storage.TokensOfEnvironment()
	if broken != nil {
		return errcode.SiteRead.Errorf("%w (they are needed, since the login failed: %w)", broken, err)
	}
	if len(tokens) == 0 {
		return loginError(property, s.Conf, err)
	}
	s.tokens = tokens // only HDFS accepts them
	s.warnOf("the file of delegation tokens", os.Getenv("HADOOP_TOKEN_FILE_LOCATION"))
	if isKerberos(s.Conf, hbaseAuthentication) {
		s.noLogin = fmt.Errorf("delegation tokens are for HDFS only: %w", loginError(hbaseAuthentication, s.Conf, err))
	}
	return nil
}

// loginError adds to the error of a login why the login is needed. The kind is Later if no KDC answered.
func loginError(property string, conf *siteconf.Conf, err error) error {
	err = fmt.Errorf("%s is kerberos (in %s): %w", property, conf.Source(property), err)
	if errors.Is(err, kerberos.ErrNoKDC) || errors.Is(err, context.DeadlineExceeded) {
		return failure.New(failure.Later, err)
	}
	return failure.New(failure.Refused, err)
}

// announce logs who is logged in, and how long a ticket cache lasts.
func (s *Site) announce(l *kerberos.Login) {
	text := fmt.Sprintf("logged in as %s with %s", l.Principal(), l.Source())
	if end := l.Expiry(); !end.IsZero() {
		text += fmt.Sprintf(", which expires at %s (in %v): use a keytab if the run takes longer",
			end.Format(time.RFC3339), roughly(time.Until(end)))
	}
	s.log.Infof("%s", text)
	s.warnOf("the ticket cache", l.File())
}

// roughly rounds a time to minutes, or to seconds if it is short.
func roughly(d time.Duration) time.Duration {
	if d < 10*time.Minute {
		return d.Round(time.Second)
	}
	return d.Round(time.Minute)
}

// warnOf warns that everybody may use a file with which the user logs in. It is only a warning because MIT's programs
// and Hadoop accept such files silently. An open keytab was refused before.
func (s *Site) warnOf(what, file string) {
	if info, err := os.Stat(file); err == nil && info.Mode().Perm()&0o007 != 0 {
		s.log.Warnf("%s %s may be used by everybody on this machine (mode %04o): chmod 600 %s", what,
			file, info.Mode().Perm(), file)
	}
}

// wantsKerberos returns the property that requires Kerberos; "" if none does.
func wantsKerberos(conf *siteconf.Conf) string {
	for _, property := range []string{"hadoop.security.authentication", hbaseAuthentication} {
		if isKerberos(conf, property) {
			return property
		}
	}
	return ""
}

const hbaseAuthentication = "hbase.security.authentication"

func isKerberos(conf *siteconf.Conf, property string) bool {
	return strings.EqualFold(conf.Get(property, ""), "kerberos")
}
