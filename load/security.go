package load

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"bulkload/internal/errcode"
	"bulkload/internal/hbase"
	"bulkload/internal/kerberos"
	"bulkload/internal/sasl"
	"bulkload/internal/siteconf"
	"bulkload/internal/throttle"
)

// Caller is a program's identity towards HBase, the log of its calls and their rate.
type Caller struct {
	User  string          // on a cluster without Kerberos
	Login *kerberos.Login // on one with Kerberos; nil if there is none
	Log   *slog.Logger    // gets each call to a server and each second try, at calllog's level; nil: nobody listens
	Rate  *throttle.Limit // of the bytes that scans of tables read; nil: no limit
}

// The properties that decide how connections to HBase are protected.
const (
	authenticationProperty = "hbase.security.authentication"
	protectionProperty     = "hbase.rpc.protection"
	masterProperty         = "hbase.master.kerberos.principal"
	regionServerProperty   = "hbase.regionserver.kerberos.principal"
)

// refusedProperties, if true, ask for protection that this program does not support. Without it servers would refuse
// the program or, worse, accept it.
var refusedProperties = map[string]string{
	"hbase.client.netty.tls.enabled": "TLS to HBase's servers is not supported: use " +
		"hbase.rpc.protection=privacy with Kerberos instead",
	"hbase.zookeeper.property.client.secure": "TLS to ZooKeeper is not supported: give this program the site " +
		"files of a port without TLS",
	"hbase.zookeeper.property.zookeeper.client.secure": "TLS to ZooKeeper is not supported: give this program the site " +
		"files of a port without TLS",
}

// identify makes the user's name and the handshake. If the site files ask for something unsupported, it names it in an
// error, so that nothing is done with less protection.
func identify(conf *siteconf.Conf, who Caller) (user string, options hbase.Options, err error) {
	for property, why := range refusedProperties {
		if strings.EqualFold(conf.Get(property, "false"), "true") {
			return "", options, refuseProperty(conf, property, why)
		}
	}
	protections, err := sasl.ParseProtections(conf.Get(protectionProperty, ""))
	if err != nil {
		return "", options, refuseProperty(conf, protectionProperty, err.Error())
	}
	switch how := strings.ToLower(conf.Get(authenticationProperty, "simple")); how {
	case "simple", "":
		return identifySimple(conf, who, protections)
	case "kerberos":
		return identifyKerberos(conf, who, protections)
	}
	return "", options, refuseProperty(conf, authenticationProperty, "known are simple and kerberos")
}

func identifySimple(conf *siteconf.Conf, who Caller, protections []sasl.Protection) (string, hbase.Options, error) {
	user := who.User
	if who.Login != nil {
		user = who.Login.Short()
	}
	if user == "" {
		return "", hbase.Options{}, fmt.Errorf("%w: no user name is set", ErrRefused)
	}
	if !slices.Contains(protections, sasl.Authentication) {
		return "", hbase.Options{}, refuseProperty(conf, protectionProperty,
			"without Kerberos HBase protects no connection, and says nothing; "+
				"set hbase.security.authentication to kerberos, or take this property out of the site files")
	}
	return user, hbase.Options{User: user}, nil
}

func identifyKerberos(conf *siteconf.Conf, who Caller, protections []sasl.Protection) (string, hbase.Options, error) {
	if who.Login == nil {
		return "", hbase.Options{}, refuseProperty(conf, authenticationProperty,
			"the cluster uses Kerberos: set hbase.kerberos in the job, or run kinit")
	}
	k := &hbase.Kerberos{Login: who.Login, Protections: protections, Principals: map[hbase.Service]string{
		hbase.MasterService: conf.Get(masterProperty, ""), hbase.ClientService: conf.Get(regionServerProperty, "")}}
	for service, property := range map[hbase.Service]string{hbase.MasterService: masterProperty,
		hbase.ClientService: regionServerProperty} {
		if k.Principals[service] == "" {
			return "", hbase.Options{}, errcode.SiteMissing.Errorf(
				"%w: %s is not set; it is HBase's principal, so copy it from the cluster's hbase-site.xml", ErrRefused, property)
		}
		if _, err := kerberos.ServicePrincipal(k.Principals[service], "host"); err != nil {
			return "", hbase.Options{}, refuseProperty(conf, property, err.Error())
		}
	}
	return who.Login.Short(), hbase.Options{User: who.Login.Principal(), Handshake: k.Handshake}, nil
}

// refuseProperty names a property, its value and the file that sets it.
func refuseProperty(conf *siteconf.Conf, property, why string) error {
	return errcode.SecurityUnsupported.Errorf("%w: %s is %s (in %s): %s", ErrRefused, property, conf.Get(property, ""),
		conf.Source(property), why)
}
