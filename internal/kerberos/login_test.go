package kerberos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/test/testcluster/kdc"
	"bulkload/internal/test/testwords"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantError requires an error with a code that names all of these.
func wantError(t *testing.T, err error, code errcode.Code, names ...string) {
	t.Helper()
	if errcode.Outermost(err) != code || !testwords.Names(err, names...) {
		t.Errorf("%v [%s], want [%s] and %q", err, errcode.Outermost(err), code, names)
	}
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
		wantError(t, open("nobody", keytab), errcode.KerberosKeytab, "nobody@LAB.TEST", "loader@LAB.TEST", keytab)
	})
	t.Run("unknown to the KDC", func(t *testing.T) {
		gone := k.Principal(t, "gone", "", "gone")
		must(t, k.Admin(ctx, "delprinc -force gone"))
		wantError(t, open("gone", gone), errcode.KerberosPrincipal, "gone@LAB.TEST", gone, "KDC "+k.Addr(),
			"not know the principal")
	})
	for _, flags := range []string{"+requires_preauth", "-requires_preauth"} {
		t.Run("key exchanged "+flags, func(t *testing.T) {
			old := k.Principal(t, "changed", flags, "changed")
			must(t, k.Admin(ctx, "cpw -randkey changed"))
			err := open("changed", old)
			wantError(t, err, errcode.KerberosKeytab, "changed@LAB.TEST", "KDC "+k.Addr(),
				"number 2 (aes256-cts-hmac-sha1-96)", "export")
			if testwords.Names(err, "number 0") { // the KDC does not say it
				t.Error(err)
			}
			must(t, k.Admin(ctx, "delprinc -force changed"))
		})
	}
	t.Run("locked", func(t *testing.T) {
		locked := k.Principal(t, "locked", "-allow_tix", "locked")
		wantError(t, open("locked", locked), errcode.KerberosPrincipal, "locked", "KDC "+k.Addr())
	})
	t.Run("missing", func(t *testing.T) {
		wantError(t, open("loader", "/nowhere/x.keytab"), errcode.KerberosKeytab, "/nowhere/x.keytab",
			syscall.ENOENT.Error())
	})
	t.Run("damaged", func(t *testing.T) {
		bad := filepath.Join(t.TempDir(), "bad.keytab")
		must(t, os.WriteFile(bad, []byte("\x05\x02\x00\x00\x00\x50 this is no key"), 0o600))
		wantError(t, open("loader", bad), errcode.KerberosKeytab, bad, "damaged")
	})
	t.Run("world-readable", func(t *testing.T) {
		must(t, os.Chmod(keytab, 0o644))
		defer os.Chmod(keytab, 0o600)
		wantError(t, open("loader", keytab), errcode.KerberosKeytab, keytab, "mode 0644", "chmod 400")
	})
	t.Run("no principal of several", func(t *testing.T) {
		two := k.Principal(t, "two", "", "a1", "a2")
		wantError(t, open("", two), errcode.KerberosKeytab, two, "a1@LAB.TEST, a2@LAB.TEST")
	})
	t.Run("KDC down", func(t *testing.T) {
		must(t, k.Stop())
		wantError(t, open("loader", keytab), errcode.KerberosNoKDC, "realm LAB.TEST", k.Addr(), "loader@LAB.TEST")
		must(t, k.Start())
	})
	t.Run("realm unknown", func(t *testing.T) {
		other := k.Principal(t, "else", "", "x@ELSE.TEST")
		wantError(t, open("x@ELSE.TEST", other), errcode.KerberosConfig, "realm ELSE.TEST", k.Conf())
	})
}

func TestClocksThatDiffer(t *testing.T) {
	k := kdc.Use(t, kdc.Options{})
	keytab := k.Principal(t, "loader", "+requires_preauth", "loader")
	k.Principal(t, "plain", "-requires_preauth", "plain")
	at := func(d time.Duration) func() time.Time { return func() time.Time { return time.Now().Add(d) } }
	config := Config{Principal: "loader", Keytab: keytab, Krb5Conf: k.Conf()}
	_, err := open(t.Context(), config, at(time.Hour))
	wantError(t, err, errcode.KerberosClock, "1h0m", "ahead of the KDC", "KDC "+k.Addr(), "loader@LAB.TEST")
	_, err = open(t.Context(), config, at(-time.Hour))
	wantError(t, err, errcode.KerberosClock, "behind the KDC")
	if _, err = open(t.Context(), config, at(-time.Minute)); err != nil {
		t.Errorf("a minute is too much: %v", err)
	}
	config.Principal, config.Keytab = "plain", filepath.Join(k.Dir, "plain.keytab")
	_, err = open(t.Context(), config, at(-time.Hour))
	wantError(t, err, errcode.KerberosClock, "behind the KDC")
}

func TestServiceIsUnknown(t *testing.T) {
	k := kdc.Use(t, kdc.Options{})
	keytab := k.Principal(t, "loader", "", "loader")
	l, err := Open(t.Context(), Config{Keytab: keytab, Krb5Conf: k.Conf()})
	must(t, err)
	_, err = l.Ticket(t.Context(), "hbase/rs7.lab.test")
	wantError(t, err, errcode.KerberosService, "hbase/rs7.lab.test", "loader@LAB.TEST", "KDC "+k.Addr(),
		".kerberos.principal")
	_, err = l.Ticket(t.Context(), "hbase/")
	wantError(t, err, errcode.KerberosPrincipal, "hbase/")
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
	wantError(t, err, errcode.KerberosNoLogin, "loader@LAB.TEST", "not somebody", cache)
	config.Principal = ""

	_, err = open(ctx, config, func() time.Time { return time.Now().Add(2 * time.Hour) })
	wantError(t, err, errcode.KerberosNoLogin, "1h0m", "kinit", cache)

	must(t, k.Kinit(ctx, cache, keytab, "loader", "-l", "1h", "-r", "3d"))
	l, err = Open(ctx, config)
	must(t, err)
	if left := time.Until(l.Expiry()); left < 71*time.Hour {
		t.Errorf("renewable for 3 days, expires in %v", left)
	}
	for name, part := range map[string]string{"KEYRING:persistent:0": "KEYRING", "KCM:": "kinit -c FILE:",
		"DIR:/tmp/x": "keytab", "FILE:/nowhere/cc": "kinit"} {
		_, err := Open(ctx, Config{Cache: name, Krb5Conf: k.Conf()})
		wantError(t, err, errcode.KerberosNoLogin, part)
	}
	for n := range 200 {
		text, err := os.ReadFile(cache)
		must(t, err)
		if _, err := parseCache(text[:len(text)-1-n]); err == nil {
			t.Errorf("a cache without its last %d bytes is accepted", n+1)
		}
	}
}

// TestTicketsAreRenewed: a login outlives its tickets: with the keytab, by renewal, and with a cache that was filled
// again.
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
	wantError(t, err, errcode.KerberosNoKDC, "realm LAB.TEST")
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
	wantError(t, err, errcode.KerberosKeytab, "loader@LAB.TEST", keytab, "export")
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
		wantError(t, err, errcode.KerberosConfig, "HOME.TEST", "THIRD.TEST", "[capaths]")
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
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	<-l.turn
}
