package site

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/siteconf"
	"bulkload/internal/test/testcluster/kdc"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/spec/jobfile"
)

// tokenFile is one with a token for a NameNode, in the environment as YARN puts it there.
func tokenFile(t *testing.T) {
	t.Helper()
	b := []byte("HDTS\x00\x01")
	for _, part := range []string{"a", "identifier", "password", "HDFS_DELEGATION_TOKEN", "127.0.0.1:8020"} {
		b = append(append(b, byte(len(part))), part...)
	}
	name := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(name, append(b, 0), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HADOOP_TOKEN_FILE_LOCATION", name)
}

func kerberosSite(t *testing.T) *Site {
	t.Helper()
	conf := &siteconf.Conf{}
	conf.Set("hadoop.security.authentication", "kerberos")
	conf.Set(hbaseAuthentication, "kerberos")
	return &Site{Conf: conf}
}

// TestLoginBeforeTokens: YARN gives every program tokens; a login makes them unused.
func TestLoginBeforeTokens(t *testing.T) {
	k := kdc.Use(t, kdc.Options{})
	tokenFile(t)
	t.Setenv("KRB5_CONFIG", k.Conf())
	s := kerberosSite(t)
	err := s.logIn(jobfile.Kerberos{Principal: "loader", Keytab: k.Principal(t, "loader", "", "loader@LAB.TEST")})
	if err != nil || s.login == nil || s.User != "loader" || len(s.tokens) != 0 || s.noLogin != nil {
		t.Errorf("%v: %+v", err, s)
	}
}

// TestRoughly: a ticket that ends soon has its seconds.
func TestRoughly(t *testing.T) {
	for d, want := range map[time.Duration]string{
		20 * time.Second: "20s", 19600 * time.Millisecond: "20s", 9*time.Minute + 59*time.Second: "9m59s", 10*time.Hour + 29*time.Second: "10h0m0s", -3 * time.Second: "-3s",
	} {
		if got := roughly(d).String(); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

// TestTokensAlone: without a login the tokens serve for HDFS, and HBase's error says why there is none.
func TestTokensAlone(t *testing.T) {
	k := kdc.Use(t, kdc.Options{})
	tokenFile(t)
	t.Setenv("KRB5_CONFIG", k.Conf())
	t.Setenv("KRB5CCNAME", filepath.Join(t.TempDir(), "none"))
	s := kerberosSite(t)
	if err := s.logIn(jobfile.Kerberos{}); err != nil || len(s.tokens) != 1 {
		t.Fatalf("%v: %+v", err, s)
	}
	_, err := s.Connect(t.Context())
	if failure.CodeOf(err) != errcode.KerberosNoLogin ||
		!testwords.Names(err, hbaseAuthentication, "HDFS only", "KRB5CCNAME", "kinit") {
		t.Fatalf("%s: %v", failure.CodeOf(err), err)
	}
}

// TestExposedSecrets: a ticket cache or a file of tokens that everybody may read is used, as MIT and Hadoop do, and
// said.
func TestExposedSecrets(t *testing.T) {
	k := kdc.Use(t, kdc.Options{})
	keytab := k.Principal(t, "loader", "", "loader@LAB.TEST")
	cache := filepath.Join(t.TempDir(), "cache")
	if err := k.Kinit(t.Context(), cache, keytab, "loader"); err != nil {
		t.Fatal(err)
	}
	tokenFile(t)
	tokens := os.Getenv("HADOOP_TOKEN_FILE_LOCATION")
	t.Setenv("KRB5_CONFIG", k.Conf())
	for _, test := range []struct {
		cache, file string
		mode        os.FileMode
		want        string
	}{
		{cache, cache, 0o600, ""},
		{cache, cache, 0o640, ""},
		{cache, cache, 0o644, "the ticket cache " + cache + " may be used by everybody on this machine (mode 0644): chmod 600 " + cache},
		{cache + ".none", tokens, 0o600, ""},
		{cache + ".none", tokens, 0o604, "the file of delegation tokens " + tokens + " may be used by everybody on this machine (mode 0604): chmod 600 " + tokens},
	} {
		if err := os.Chmod(test.file, test.mode); err != nil {
			t.Fatal(err)
		}
		t.Setenv("KRB5CCNAME", test.cache)
		var said strings.Builder
		s := kerberosSite(t)
		s.log.Log = slog.New(slog.NewTextHandler(&said, nil))
		if err := s.logIn(jobfile.Kerberos{}); err != nil || (s.login == nil) == (len(s.tokens) == 0) {
			t.Fatalf("%s, mode %o: %v: %+v", test.file, test.mode, err, s)
		}
		if text := said.String(); strings.Contains(text, "everybody") != (test.want != "") || !strings.Contains(text, test.want) {
			t.Errorf("%s, mode %o: said %q, want %q", test.file, test.mode, text, test.want)
		}
	}
}
