package kerberos

import (
	"fmt"
	"net"
	"strings"

	"bulkload/internal/errcode"
)

// ServicePrincipal makes the principal of a server from a property such as hbase.regionserver.kerberos.principal:
// _HOST, as the whole second part, is the server's own host in lower case (SecurityUtil.getServerPrincipal). host may
// have a port.
func ServicePrincipal(pattern, host string) (string, error) {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	name, realm, hasRealm := strings.Cut(pattern, "@")
	service, instance, ok := strings.Cut(name, "/")
	if !ok || service == "" || instance == "" || strings.ContainsAny(realm, "@/") || hasRealm && realm == "" {
		return "", errcode.SiteProperty.Errorf("%q is not a service principal; write SERVICE/_HOST@REALM", pattern)
	}
	if instance == "_HOST" {
		if host == "" {
			return "", fmt.Errorf("no host for _HOST in %q", pattern)
		}
		instance = strings.ToLower(strings.TrimSuffix(host, "."))
	}
	name = service + "/" + instance
	if hasRealm {
		name += "@" + realm
	}
	return name, nil
}
