package load

import (
	"errors"
	"slices"
	"testing"

	"bulkload/internal/kerberos"
	"bulkload/internal/siteconf"
	"bulkload/internal/test/testcluster/kdc"
	"bulkload/internal/test/testwords"
)

// siteProperty is a property of docs/security.md that decides about connections to HBase.
type siteProperty struct {
	property, value string
	kerberos        bool   // hbase.security.authentication is, and there is a login
	refused         string // what the refusal says; "": honoured, or of no matter
}

var siteProperties = []siteProperty{
	{authenticationProperty, "simple", false, ""},
	{authenticationProperty, "kerberos", true, ""},
	{authenticationProperty, "kerberos", false, "kinit"},
	{authenticationProperty, "token", false, "simple and kerberos"},
	{protectionProperty, "privacy,integrity", true, ""},
	{protectionProperty, "secret", true, `"secret"`},
	{protectionProperty, "privacy", false, authenticationProperty + " to kerberos"},
	{protectionProperty, "integrity,authentication", false, ""},
	{masterProperty, "", true, "is not set"},
	{masterProperty, "hbase", true, "SERVICE/_HOST@REALM"},
	{regionServerProperty, "", true, "is not set"},
	{regionServerProperty, "hbase", true, "SERVICE/_HOST@REALM"},
	{"hbase.rpc.crypto.encryption.aes.enabled", "true", true, ""}, // TestSecuredWire has what comes of it
	{"hbase.client.netty.tls.enabled", "true", true, "TLS to HBase"},
	{"hbase.client.netty.tls.enabled", "TRUE", false, "TLS to HBase"},
	{"hbase.client.netty.tls.enabled", "false", true, ""},
	{"hbase.rpc.tls.truststore.location", "/etc/x.jks", true, ""},
	{"hbase.zookeeper.property.client.secure", "true", true, "TLS to ZooKeeper"},
	{"hbase.zookeeper.property.zookeeper.client.secure", "true", true, "TLS to ZooKeeper"},
	{"hbase.zookeeper.property.client.secure", "false", false, ""},
}

// TestSiteProperties: each property that asks for protection is honoured, or refused by its name and what to do.
func TestSiteProperties(t *testing.T) {
	k := kdc.Use(t, kdc.Options{})
	login, err := kerberos.Open(t.Context(), kerberos.Config{Keytab: k.Principal(t, "loader", "", "loader"), Krb5Conf: k.Conf()})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range siteProperties {
		conf, who := new(siteconf.Conf), Caller{User: "tina"}
		if c.kerberos {
			who.Login = login
			conf.Set(authenticationProperty, "kerberos")
			conf.Set(masterProperty, "hbase/_HOST@LAB.TEST")
			conf.Set(regionServerProperty, "hbase/_HOST@LAB.TEST")
		}
		conf.Set(c.property, c.value)
		user, options, err := identify(conf, who)
		switch {
		case c.refused == "" && err != nil:
			t.Errorf("%s=%s: %v", c.property, c.value, err)
		case c.refused == "":
			if (options.Handshake != nil) != c.kerberos || user != map[bool]string{true: "loader", false: "tina"}[c.kerberos] {
				t.Errorf("%s=%s: user %s, Kerberos %v", c.property, c.value, user, options.Handshake != nil)
			}
		case !errors.Is(err, ErrRefused) || !testwords.Names(err, c.property, c.refused):
			t.Errorf("%s=%s: %v; want the property and %q", c.property, c.value, err, c.refused)
		}
	}
	for property := range refusedProperties {
		tested := slices.ContainsFunc(siteProperties, func(c siteProperty) bool { return c.property == property && c.refused != "" })
		if !tested {
			t.Errorf("no test of %s", property)
		}
	}
}
