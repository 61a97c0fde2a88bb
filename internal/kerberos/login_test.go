package kerberos

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"bulkload/internal/test/testcluster/kdc"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantError requires an error with all parts, and without anything that looks like a key.
func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is missing in: %v", part, err)
		}
	}
	t.Log(err)
}

func TestLoginByKeytab(t *testing.T) {
	for _, flags := range []string{"-requires_preauth", "+requires_preauth"} {
		t.Run(flags, func(t *testing.T) {
			k := kdc.Use(t, kdc.Options{})
			keytab := k.Principal(t, "loader", flags, "loader", "etl/edge1.lab.test")
			k.Principal(t, "hbase", "", "hbase/localhost")
			l, err := Open(t.Context(), Config{Principal: "etl/edge1.lab.test", Keytab: keytab, Krb5Conf: k.Conf()})
			must(t, err)
			if l.Principal() != "etl/edge1.lab.test@LAB.TEST" || l.Short() != "etl" || !l.Expiry().IsZero() {
				t.Errorf("got %s, %s, %v", l.Principal(), l.Short(), l.Expiry())
			}
			ticket, err := l.Ticket(t.Context(), "hbase/localhost")
			must(t, err)
			if ticket.Service() != "hbase/localhost@LAB.TEST" || ticket.credential.key.KeyType != 18 {
				t.Errorf("got %v of type %d", ticket, ticket.credential.key.KeyType)
			}
			for want, values := range map[string][]any{"ticket for hbase/localhost@LAB.TEST": {ticket, *ticket},
				"etl/edge1.lab.test@LAB.TEST with keytab " + keytab: {l, *l}} {
				for _, value := range values {
					for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
						if text := fmt.Sprintf(verb, value); text != want {
							t.Errorf("%T prints with %s as %q", value, verb, text)
						}
					}
				}
			}
		})
	}
}

func TestEachEncryptionType(t *testing.T) {
	for etype, id := range map[string]int32{"aes128-cts-hmac-sha1-96": 17, "aes256-cts-hmac-sha1-96": 18,
		"aes128-cts-hmac-sha256-128": 19, "aes256-cts-hmac-sha384-192": 20} {
		t.Run(etype, func(t *testing.T) {
			k := kdc.Use(t, kdc.Options{Types: []string{etype}})
			keytab := k.Principal(t, "loader", "+requires_preauth", "loader")
			k.Principal(t, "hbase", "", "hbase/localhost")
			l, err := Open(t.Context(), Config{Principal: "loader", Keytab: keytab, Krb5Conf: k.Conf()})
			must(t, err)
			ticket, err := l.Ticket(t.Context(), "hbase/localhost@LAB.TEST")
			must(t, err)
			if ticket.credential.key.KeyType != id {
				t.Errorf("session key of type %d", ticket.credential.key.KeyType)
			}
		})
	}
}

func TestLoginIsRefused(t *testing.T) {
	k := kdc.Use(t, kdc.Options{})
	ctx := t.Context()
	keytab := k.Principal(t, "loader", "+requires_preauth", "loader")
	k.Principal(t, "hbase", "", "hbase/localhost")
	open := func(principal, file string) error {
		_, err := Open(ctx, Config{Principal: principal, Keytab: file, Krb5Conf: k.Conf(), Names: "RULE:[1:$1]"})
		return err
	}
	t.Run("unknown to the keytab", func(t *testing.T) {
		wantError(t, open("nobody", keytab), "has no key of nobody@LAB.TEST", "it has loader@LAB.TEST", keytab)
	})
	t.Run("unknown to the KDC", func(t *testing.T) {
		gone := k.Principal(t, "gone", "", "gone")
		must(t, k.Admin(ctx, "delprinc -force gone"))
		wantError(t, open("gone", gone), "as gone@LAB.TEST", gone, "KDC "+k.Addr(), "does not know the principal", "spelling")
	})
	for _, flags := range []string{"+requires_preauth", "-requires_preauth"} {
		t.Run("key exchanged "+flags, func(t *testing.T) {
			old := k.Principal(t, "changed", flags, "changed")
			must(t, k.Admin(ctx, "cpw -randkey changed"))
			err := open("changed", old)
			wantError(t, err, "as changed@LAB.TEST", "KDC "+k.Addr(), "number 2 (aes256-cts-hmac-sha1-96)", "export")
			if strings.Contains(err.Error(), "number 0") { // the KDC does not say it
				t.Error(err)
			}
			must(t, k.Admin(ctx, "delprinc -force changed"))
		})
	}
	t.Run("locked", func(t *testing.T) {
		locked := k.Principal(t, "locked", "-allow_tix", "locked")
		wantError(t, open("locked", locked), "locked", "KDC "+k.Addr())
	})
	t.Run("missing", func(t *testing.T) {
		wantError(t, open("loader", "/nowhere/x.keytab"), "/nowhere/x.keytab", "no such file")
	})
	t.Run("damaged", func(t *testing.T) {
		bad := filepath.Join(t.TempDir(), "bad.keytab")
		must(t, os.WriteFile(bad, []byte("\x05\x02\x00\x00\x00\x50 this is no key"), 0o600))
		wantError(t, open("loader", bad), bad, "damaged")
	})
	t.Run("world-readable", func(t *testing.T) {
		must(t, os.Chmod(keytab, 0o644))
		defer os.Chmod(keytab, 0o600)
		wantError(t, open("loader", keytab), keytab, "mode 0644", "chmod 400")
	})
	t.Run("no principal of several", func(t *testing.T) {
		two := k.Principal(t, "two", "", "a1", "a2")
		wantError(t, open("", two), "a1@LAB.TEST, a2@LAB.TEST", "which principal")
	})
	t.Run("KDC down", func(t *testing.T) {
		must(t, k.Stop())
		wantError(t, open("loader", keytab), "no answer of any KDC of realm LAB.TEST", k.Addr(), "loader@LAB.TEST")
		must(t, k.Start())
	})
	t.Run("realm unknown", func(t *testing.T) {
		other := k.Principal(t, "else", "", "x@ELSE.TEST")
		wantError(t, open("x@ELSE.TEST", other), "no KDC of realm ELSE.TEST", k.Conf())
	})
}

func TestClocksThatDiffer(t *testing.T) {
	k := kdc.Use(t, kdc.Options{})
	keytab := k.Principal(t, "loader", "+requires_preauth", "loader")
	k.Principal(t, "plain", "-requires_preauth", "plain")
	at := func(d time.Duration) func() time.Time { return func() time.Time { return time.Now().Add(d) } }
	config := Config{Principal: "loader", Keytab: keytab, Krb5Conf: k.Conf()}
	_, err := open(t.Context(), config, at(time.Hour))
	wantError(t, err, "the clock of this machine says", "1h0m", "ahead of the KDC's", "KDC "+k.Addr(), "loader@LAB.TEST")
	_, err = open(t.Context(), config, at(-time.Hour))
	wantError(t, err, "behind the KDC's")
	if _, err = open(t.Context(), config, at(-time.Minute)); err != nil {
		t.Errorf("a minute is too much: %v", err)
	}
	config.Principal, config.Keytab = "plain", filepath.Join(k.Dir, "plain.keytab")
	_, err = open(t.Context(), config, at(-time.Hour))
	wantError(t, err, "behind the KDC's")
}

func TestServiceIsUnknown(t *testing.T) {
	k := kdc.Use(t, kdc.Options{})
	keytab := k.Principal(t, "loader", "", "loader")
	l, err := Open(t.Context(), Config{Keytab: keytab, Krb5Conf: k.Conf()})
	must(t, err)
	_, err = l.Ticket(t.Context(), "hbase/rs7.lab.test")
	wantError(t, err, "hbase/rs7.lab.test", "loader@LAB.TEST", "KDC "+k.Addr(), "does not know the service", ".kerberos.principal")
	_, err = l.Ticket(t.Context(), "hbase/")
	wantError(t, err, "hbase/")
}

func TestLoginByCache(t *testing.T) {
	k := kdc.Use(t, kdc.Options{})
	ctx := t.Context()
	keytab := k.Principal(t, "loader", "", "loader")
	k.Principal(t, "hbase", "", "hbase/localhost")
	cache := filepath.Join(t.TempDir(), "cc")
	must(t, k.Kinit(ctx, cache, keytab, "loader", "-l", "1h"))
	config := Config{Cache: "FILE:" + cache, Krb5Conf: k.Conf()}
	l, err := Open(ctx, config)
	must(t, err)
	left := time.Until(l.Expiry())
	if l.Principal() != "loader@LAB.TEST" || left < 50*time.Minute || left > 61*time.Minute {
		t.Errorf("got %s, expires in %v", l.Principal(), left)
	}
	_, err = l.Ticket(ctx, "hbase/localhost")
	must(t, err)

	config.Principal = "somebody"
	_, err = Open(ctx, config)
	wantError(t, err, "loader@LAB.TEST's, not somebody's", cache)
	config.Principal = ""

	_, err = open(ctx, config, func() time.Time { return time.Now().Add(2 * time.Hour) })
	wantError(t, err, "the ticket ended at", "ago by the clock of this machine", "run kinit", "ticket cache "+cache)

	must(t, k.Kinit(ctx, cache, keytab, "loader", "-l", "1h", "-r", "3d"))
	l, err = Open(ctx, config)
	must(t, err)
	if left := time.Until(l.Expiry()); left < 71*time.Hour {
		t.Errorf("renewable for 3 days, expires in %v", left)
	}
	for name, part := range map[string]string{"KEYRING:persistent:0": "KEYRING", "KCM:": "kinit -c FILE:", "DIR:/tmp/x": "or use a keytab", "FILE:/nowhere/cc": "run kinit"} {
		_, err := Open(ctx, Config{Cache: name, Krb5Conf: k.Conf()})
		wantError(t, err, part)
	}
	for n := range 200 {
		text, err := os.ReadFile(cache)
		must(t, err)
		if _, err := parseCache(text[:len(text)-1-n]); err == nil {
			t.Errorf("a cache without its last %d bytes is accepted", n+1)
		}
	}
}

// TestTicketsAreRenewed: a login outlives its tickets: with the keytab, by renewal, and with a cache that was filled again.
func TestTicketsAreRenewed(t *testing.T) {
	k := kdc.Use(t, kdc.Options{})
	ctx := t.Context()
	short := k.Principal(t, "short", `-maxlife "1 minute" -maxrenewlife "1 hour"`, "short")
	k.Principal(t, "hbase", "", "hbase/localhost")
	must(t, k.Admin(ctx, `modprinc -maxrenewlife "1 hour" krbtgt/LAB.TEST`))
	cache := filepath.Join(t.TempDir(), "cc")
	must(t, k.Kinit(ctx, cache, short, "short", "-r", "1h"))
	for name, config := range map[string]Config{"keytab": {Keytab: short}, "renewable cache": {Cache: cache}} {
		t.Run(name, func(t *testing.T) {
			config.Krb5Conf = k.Conf()
			var shift time.Duration
			l, err := open(ctx, config, func() time.Time { return time.Now().Add(shift) })
			must(t, err)
			first, err := l.Ticket(ctx, "hbase/localhost")
			must(t, err)
			if life := time.Until(first.Expiry()); life > time.Minute {
				t.Fatalf("the ticket lives for %v", life)
			}
			again, err := l.Ticket(ctx, "hbase/localhost")
			must(t, err)
			if again.Expiry() != first.Expiry() {
				t.Error("a fresh ticket was not kept")
			}
			shift = 55 * time.Second // within the KDC's tolerance
			later, err := l.Ticket(ctx, "hbase/localhost")
			must(t, err)
			if string(later.credential.key.KeyValue) == string(first.credential.key.KeyValue) {
				t.Error("the old ticket was given, of which 5 s are left")
			}
		})
	}
}

// TestKDCGoesAway: while the KDC is down, tickets serve to their end; after that the error says so.
func TestKDCGoesAway(t *testing.T) {
	k := kdc.Use(t, kdc.Options{})
	ctx := t.Context()
	keytab := k.Principal(t, "loader", "", "loader")
	k.Principal(t, "hbase", "", "hbase/localhost")
	var shift time.Duration
	l, err := open(ctx, Config{Keytab: keytab, Krb5Conf: k.Conf()}, func() time.Time { return time.Now().Add(shift) })
	must(t, err)
	_, err = l.Ticket(ctx, "hbase/localhost")
	must(t, err)
	must(t, k.Stop())
	shift = 23 * time.Hour
	if _, err := l.Ticket(ctx, "hbase/localhost"); err != nil {
		t.Errorf("an hour is left: %v", err)
	}
	shift = 25 * time.Hour
	_, err = l.Ticket(ctx, "hbase/localhost")
	wantError(t, err, "no answer of any KDC of realm LAB.TEST")
}

// TestKeytabIsExchanged: the error names a keytab that is revoked during a run; a new one in its place is used.
func TestKeytabIsExchanged(t *testing.T) {
	k := kdc.Use(t, kdc.Options{})
	ctx := t.Context()
	keytab := k.Principal(t, "loader", "+requires_preauth", "loader")
	k.Principal(t, "hbase", "", "hbase/localhost")
	var shift time.Duration
	l, err := open(ctx, Config{Keytab: keytab, Krb5Conf: k.Conf()}, func() time.Time { return time.Now().Add(shift) })
	must(t, err)
	must(t, k.Admin(ctx, "cpw -randkey loader"))
	l.granted = map[string]credential{} // as if the ticket had ended
	_, err = l.Ticket(ctx, "hbase/localhost")
	wantError(t, err, "log in to Kerberos as loader@LAB.TEST with keytab "+keytab, "export the keytab again")
	must(t, k.Admin(ctx, "ktadd -k "+keytab+" loader"))
	_, err = l.Ticket(ctx, "hbase/localhost")
	must(t, err)
}

func TestOtherRealms(t *testing.T) {
	home := kdc.Use(t, kdc.Options{Realm: "HOME.TEST"})
	far := kdc.Use(t, kdc.Options{Realm: "FAR.TEST"})
	ctx := t.Context()
	for _, k := range []*kdc.KDC{home, far} {
		must(t, k.Admin(ctx, "addprinc -pw shared krbtgt/FAR.TEST@HOME.TEST"))
	}
	keytab := home.Principal(t, "loader", "", "loader")
	far.Principal(t, "hbase", "", "hbase/rs1.far.test")
	conf := filepath.Join(t.TempDir(), "krb5.conf")
	must(t, os.WriteFile(conf, fmt.Appendf(nil, "[libdefaults]\ndefault_realm = HOME.TEST\n[realms]\nHOME.TEST = {\nkdc = %s\n}\nFAR.TEST = {\nkdc = %s\n}\n[domain_realm]\n.far.test = FAR.TEST\n",
		home.Addr(), far.Addr()), 0o644))
	for _, service := range []string{"hbase/rs1.far.test", "hbase/rs1.far.test@FAR.TEST"} {
		l, err := Open(ctx, Config{Keytab: keytab, Krb5Conf: conf})
		must(t, err)
		ticket, err := l.Ticket(ctx, service)
		must(t, err)
		if ticket.Service() != "hbase/rs1.far.test@FAR.TEST" {
			t.Errorf("%s: got %v", service, ticket)
		}
		_, err = l.Ticket(ctx, "hbase/rs1.third.test@THIRD.TEST")
		wantError(t, err, "no way from realm HOME.TEST to realm THIRD.TEST", "[capaths]")
	}
}

func TestTicketsForManyAtOnce(t *testing.T) {
	k := kdc.Use(t, kdc.Options{})
	keytab := k.Principal(t, "loader", "", "loader")
	k.Principal(t, "hbase", "", "hbase/localhost")
	l, err := Open(t.Context(), Config{Keytab: keytab, Krb5Conf: k.Conf()})
	must(t, err)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			ticket, err := l.Ticket(t.Context(), "hbase/localhost")
			if err != nil {
				t.Error(err)
				return
			}
			if _, _, err := ticket.Request(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	l.turn <- struct{}{} // another one is at it, and hangs
	_, err = l.Ticket(ended, "hbase/localhost")
	wantError(t, err, "context canceled")
	<-l.turn
}
