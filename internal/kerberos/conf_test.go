package kerberos

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"bulkload/internal/errcode"
)

// rhel is krb5.conf as RHEL 9 installs it, with a realm filled in.
const rhel = `# To opt out of the system crypto-policies configuration of krb5, remove the
# symlink at /etc/krb5.conf.d/crypto-policies which will not be recreated.
includedir DIR/krb5.conf.d/

[logging]
    default = FILE:/var/log/krb5libs.log
    kdc = FILE:/var/log/krb5kdc.log
    admin_server = FILE:/var/log/kadmind.log

[libdefaults]
    dns_lookup_realm = false
    ticket_lifetime = 24h
    renew_lifetime = 7d
    forwardable = true
    rdns = false
    pkinit_anchors = FILE:/etc/pki/tls/certs/ca-bundle.crt
    spake_preauth_groups = edwards25519
    dns_canonicalize_hostname = fallback
    qualify_shortname = ""
    default_realm = BANK.EXAMPLE
    default_ccache_name = KEYRING:persistent:%{uid}

[realms]
 BANK.EXAMPLE = {
     kdc = kdc1.bank.example
     kdc = kdc2.bank.example:8888
     kdc = [2001:db8::1]:88
     kdc = tcp/kdc4.bank.example
     admin_server = kdc1.bank.example
     auth_to_local = {
        RULE = {
          x = y
        }
     }
 }
 OTHER.EXAMPLE = {
     kdc = kdc.other.example
 }

[domain_realm]
 .bank.example = BANK.EXAMPLE
 bank.example = BANK.EXAMPLE
 .hadoop.bank.example = OTHER.EXAMPLE
 special.hadoop.bank.example = SPECIAL.EXAMPLE
[capaths]
 BANK.EXAMPLE = {
   FAR.EXAMPLE = OTHER.EXAMPLE
   NEAR.EXAMPLE = .
 }
a line of no sense
[appdefaults]
 pam = {
   debug = false
 }
`

// cryptoPolicy is the content of RHEL's krb5.conf.d/crypto-policies.
const cryptoPolicy = `[libdefaults]
permitted_enctypes = aes256-cts-hmac-sha1-96 aes256-cts-hmac-sha384-192 camellia256-cts-cmac aes128-cts-hmac-sha1-96 aes128-cts-hmac-sha256-128 camellia128-cts-cmac
`

func writeConf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "krb5.conf.d"), 0o755))
	for name, text := range files {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(strings.ReplaceAll(text, "DIR", dir)), 0o644))
	}
	return dir
}

func TestConfAsRHELShipsIt(t *testing.T) {
	dir := writeConf(t, map[string]string{"krb5.conf": rhel, "krb5.conf.d/crypto-policies": cryptoPolicy,
		"krb5.conf.d/sssd.rpmsave~": "[libdefaults]\n}", "krb5.conf.d/.hidden.conf": "}", "krb5.conf.d/more.conf": "[libdefaults]\n\tclockskew = 10m\n"})
	c, err := readConf(filepath.Join(dir, "krb5.conf"))
	must(t, err)
	if c.realm != "BANK.EXAMPLE" || c.lifetime != 24*time.Hour || c.skew != 10*time.Minute || !c.byDNS() {
		t.Errorf("got %s, %v, %v, DNS %v", c.realm, c.lifetime, c.skew, c.byDNS())
	}
	if want := []int32{18, 20, 17, 19}; !reflect.DeepEqual(c.etypes, want) {
		t.Errorf("got types %v, want %v", c.etypes, want)
	}
	if got, want := c.kdcs("BANK.EXAMPLE"), []string{"kdc1.bank.example:88", "kdc2.bank.example:8888", "[2001:db8::1]:88", "kdc4.bank.example:88"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got KDCs %v, want %v", got, want)
	}
	for host, want := range map[string]string{"rs1.bank.example": "BANK.EXAMPLE", "BANK.example": "BANK.EXAMPLE", "rs1.hadoop.bank.example": "OTHER.EXAMPLE",
		"special.hadoop.bank.example": "SPECIAL.EXAMPLE", "deep.special.hadoop.bank.example": "OTHER.EXAMPLE", "rs1.example": "", "localhost": ""} {
		if got := c.realmOf(host); got != want {
			t.Errorf("realm of %s: %q, want %q", host, got, want)
		}
	}
	for to, want := range map[string]string{"FAR.EXAMPLE": "OTHER.EXAMPLE", "NEAR.EXAMPLE": "NEAR.EXAMPLE", "ELSE.EXAMPLE": "ELSE.EXAMPLE"} {
		if got := c.next("BANK.EXAMPLE", to); got != want {
			t.Errorf("next to %s: %q, want %q", to, got, want)
		}
	}
	_, err = cacheFile("", c)
	wantError(t, err, errcode.KerberosNoLogin, "KEYRING:persistent:0", "default_ccache_name of "+dir, "kinit -c FILE:")
}

// TestConfAsDebianShipsIt: Debian's krb5.conf has the realms of many universities, and a closing brace after each.
func TestConfAsDebianShipsIt(t *testing.T) {
	dir := writeConf(t, map[string]string{"krb5.conf": `[libdefaults]
	default_realm = LAB.TEST

# The following krb5.conf variables are only for MIT Kerberos.
	kdc_timesync = 1
	ccache_type = 4
	forwardable = true
	proxiable = true
	rdns = false

# The following libdefaults parameters are only for Heimdal Kerberos.
	fcc-mit-ticketflags = true

[realms]
	ATHENA.MIT.EDU = {
		kdc = kerberos.mit.edu
		admin_server = kerberos.mit.edu
		default_domain = mit.edu
	}
	LAB.TEST =
	{
		kdc = kdc.lab.test
	}

[domain_realm]
	.mit.edu = ATHENA.MIT.EDU
`})
	c, err := readConf(filepath.Join(dir, "krb5.conf"))
	must(t, err)
	if c.realm != "LAB.TEST" || !reflect.DeepEqual(c.kdcs("LAB.TEST"), []string{"kdc.lab.test:88"}) || !reflect.DeepEqual(c.etypes, known) {
		t.Errorf("got %s, %v, %v", c.realm, c.kdcs("LAB.TEST"), c.etypes)
	}
	file, err := cacheFile("", c)
	if must(t, err); !strings.HasPrefix(file, "/tmp/krb5cc_") || strings.Contains(file, "%") {
		t.Errorf("got %s", file)
	}
}

func TestConfOfSeveralFiles(t *testing.T) {
	dir := writeConf(t, map[string]string{
		"a": "[libdefaults]\ndefault_realm = A\n", "b": "include DIR/c\n[libdefaults]\ndefault_realm = B\nticket_lifetime = 10:30\n", "c": "[realms]\nA = {\nkdc = k\n}\n",
		"loop": "include DIR/loop\n", "brace": "[realms]\nA = {\n", "closed": "[realms]\n}\n", "time": "[libdefaults]\nticket_lifetime = soon\n", "lost": "# one\ninclude DIR/none\n"})
	at := func(names ...string) string {
		for i := range names {
			names[i] = filepath.Join(dir, names[i])
		}
		return strings.Join(names, ":")
	}
	c, err := readConf(at("a", "missing", "b"))
	must(t, err)
	if c.realm != "A" || c.lifetime != 10*time.Hour+30*time.Minute || !reflect.DeepEqual(c.kdcs("A"), []string{"k:88"}) {
		t.Errorf("got %s, %v, %v", c.realm, c.lifetime, c.kdcs("A"))
	}
	for name, parts := range map[string][]string{"missing": {"KRB5_CONFIG", "missing"}, "loop": {"include one another"}, "brace": {"{ of A is not closed"},
		"closed": {"closed:2", "} without {"}, "time": {"ticket_lifetime", "soon"}, "lost": {"lost:2", "none"}} {
		_, err := readConf(at(name))
		wantError(t, err, errcode.KerberosConfig, parts...)
	}
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{"36000": 10 * time.Hour, "10h": 10 * time.Hour, "7d": 7 * 24 * time.Hour, "1d 2h 3m": 26*time.Hour + 3*time.Minute,
		"1d2h": 26 * time.Hour, "0:05": 5 * time.Minute, "1:2:3": time.Hour + 2*time.Minute + 3*time.Second, "30m": 30 * time.Minute, "90s": 90 * time.Second} {
		if got, err := duration(text); err != nil || got != want {
			t.Errorf("%q: got %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "x", "0", "-1h", "1:2:3:4", ":", "d", "99999999d", "1e9h", "h", "1d-2h"} {
		if got, err := duration(text); err == nil {
			t.Errorf("%q is accepted as %v", text, got)
		}
	}
}

func TestPermittedTypes(t *testing.T) {
	for text, want := range map[string][]int32{"": known, "aes": sessionTypes, "aes256-cts, rc4": {18, 23}, "DEFAULT -aes128-cts": {18, 20, 19}, " , ": known, "des3-cbc-sha1 aes128-cts": {17}} {
		if got, err := permitted(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"des3-cbc-sha1", "aes256-gcm camellia", "aes -aes", "-rc4"} {
		p, err := readProfile(oneConf(t, "[libdefaults]\npermitted_enctypes = "+text+"\n"))
		must(t, err)
		_, err = newConf(p)
		wantError(t, err, errcode.KerberosConfig, "permitted_enctypes", text, "aes256-cts-hmac-sha1-96")
	}
}

func TestServicePrincipals(t *testing.T) {
	for _, c := range [][3]string{{"hbase/_HOST@LAB.TEST", "RS1.lab.test:16020", "hbase/rs1.lab.test@LAB.TEST"}, {"hbase/_HOST", "rs1", "hbase/rs1"},
		{"hbase/fixed.lab.test@LAB.TEST", "rs1:1", "hbase/fixed.lab.test@LAB.TEST"}, {"hbase/_HOST@X", "rs1.lab.test.", "hbase/rs1.lab.test@X"}} {
		if got, err := ServicePrincipal(c[0], c[1]); err != nil || got != c[2] {
			t.Errorf("%s of %s: got %q, %v; want %s", c[0], c[1], got, err, c[2])
		}
	}
	for _, bad := range []string{"", "hbase", "/x", "hbase/", "hbase/x@", "hbase/x@A@B", "hbase@LAB.TEST"} {
		if got, err := ServicePrincipal(bad, "h"); err == nil {
			t.Errorf("%q is accepted as %s", bad, got)
		}
	}
}

func FuzzConf(f *testing.F) {
	f.Add(rhel)
	f.Add("[a]\nb = {\nc =\n{\n}\n}\n")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "include") {
			return // it reads other files
		}
		p := &profile{files: []string{"krb5.conf"}}
		if p.parse("krb5.conf", text, 0) != nil {
			return
		}
		c, err := newConf(p)
		if err != nil {
			return
		}
		c.kdcs(c.realm)
		c.realmOf("a.b.c")
		c.next(c.realm, "X")
		cacheFile("", c)
	})
}

func FuzzCache(f *testing.F) {
	f.Add([]byte("\x05\x04\x00\x0c\x00\x01\x00\x08\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x01R\x00\x00\x00\x01u"))
	f.Add([]byte("\x05\x03\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x01R\x00\x00\x00\x01u\x00\x00\x00\x01"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if c, err := parseCache(text); err == nil {
			c.ticketFor("krbtgt/R", "R")
		}
	})
}

func FuzzKeytab(f *testing.F) {
	f.Add([]byte("\x05\x02\x00\x00\x00\x20\x00\x01\x00\x01R\x00\x01u\x00\x00\x00\x01\x00\x00\x00\x00\x01\x00\x11\x00\x04abcd"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if kt, err := parseKeytab(text); err == nil {
			principals(kt)
		}
	})
}

// FuzzReply reads a KDC's answers: none of them may crash the process.
func FuzzReply(f *testing.F) {
	f.Add([]byte{0x7e, 0x30, 0x80}, []byte{0x6b, 0x20})
	k := &keys{file: "x.keytab"}
	k.list = []keyOf{{version: 1}}
	k.list[0].key.KeyType, k.list[0].key.KeyValue = 18, make([]byte, 32)
	c := &client{conf: &conf{profile: &profile{}}, now: time.Now}
	f.Fuzz(func(t *testing.T, reply, data []byte) {
		if framed, err := readReply(bytes.NewReader(reply)); err == nil && len(framed) > len(reply)-4 {
			t.Errorf("%d bytes out of %d", len(framed), len(reply))
		}
		if err := krbError(reply); err != nil {
			_ = explain(err, time.Unix(0, 0), k).Error()
		}
		c.wanted(k, data)
		if _, err := c.granted(k, c.body("R", granting("R"), known), reply); err == nil {
			t.Error("an answer that nobody signed")
		}
	})
}

// oneConf writes a krb5.conf.
func oneConf(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "krb5.conf")
	must(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}
