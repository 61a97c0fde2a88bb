package storage

import (
	"fmt"
	"net"
	"os"
	"os/user"
	"path"
	"slices"
	"strings"

	"bulkload/internal/errcode"
	"bulkload/internal/siteconf"
)

// nameNodePort is HDFS's default (HdfsClientConfigKeys.DFS_NAMENODE_RPC_PORT_DEFAULT).
const nameNodePort = "8020"

func resolveHDFS(uri, rest string, conf *siteconf.Conf, who Identity) (FS, string, error) {
	if conf == nil {
		conf = &siteconf.Conf{}
	}
	authority, name := splitAuthority(rest)
	if !path.IsAbs(name) {
		return nil, "", errcode.Address.Errorf("open %s: %w; write hdfs:///… or hdfs://nameservice/…", uri, ErrRelative)
	}
	var err error
	if authority == "" {
		if authority, err = defaultAuthority(conf); err != nil {
			return nil, "", fmt.Errorf("open %s: %w", uri, err)
		}
	}
	addresses, err := nameNodes(conf, authority)
	if err != nil {
		return nil, "", fmt.Errorf("open %s: %w", uri, err)
	}
	fsys, err := connectHDFS(conf, authority, addresses, who, hdfsTimeouts(conf))
	if err != nil {
		return nil, "", fmt.Errorf("open %s: %w", uri, err)
	}
	return fsys, path.Clean(name), nil
}

// defaultAuthority is the authority of fs.defaultFS, for URIs without one.
func defaultAuthority(conf *siteconf.Conf) (string, error) {
	def := conf.Get("fs.defaultFS", "")
	scheme, rest := splitScheme(def)
	authority, _ := splitAuthority(rest)
	switch {
	case def == "":
		return "",
			errcode.SiteMissing.New("the URI names no NameNode and fs.defaultFS is not set; write hdfs://host:port/… " +
				"or point hbase.conf, HADOOP_CONF_DIR or HBASE_CONF_DIR to the folder of core-site.xml")
	case scheme != "hdfs" || authority == "":
		return "", errcode.SiteProperty.Errorf(
			"the URI names no NameNode and fs.defaultFS (%s) is %s, which is not HDFS; write hdfs://host:port/…",
			conf.Source("fs.defaultFS"), def)
	}
	return authority, nil
}

// oneName returns the one authority that all URIs of a file system have, however they were written, because records are
// found by the URIs of their directories. It is the name service of fs.defaultFS if that has the address, and otherwise
// the host in lower case without the default port.
func oneName(conf *siteconf.Conf, authority string, addresses []string) string {
	plain := func(address string) string {
		return strings.TrimSuffix(strings.ToLower(address), ":"+nameNodePort)
	}
	if def, err := defaultAuthority(conf); err == nil && len(addresses) == 1 {
		known, err := nameNodes(conf, def)
		if err == nil && !slices.Contains(known, withPort(def)) && slices.ContainsFunc(known, func(address string) bool {
			return plain(address) == plain(addresses[0])
		}) {
			return def // a name service
		}
	}
	if slices.Equal(addresses, []string{withPort(authority)}) {
		return plain(authority)
	}
	return authority
}

// nameNodes returns the addresses of an authority: those of the name service that it names, or the authority itself. It
// never includes those of other name services, which the client library would mix.
func nameNodes(conf *siteconf.Conf, authority string) ([]string, error) {
	if ids := fields(conf.Get("dfs.ha.namenodes."+authority, "")); len(ids) > 0 {
		return serviceAddresses(conf, authority, ids)
	}
	if address := conf.Get("dfs.namenode.rpc-address."+authority, ""); address != "" {
		return []string{withPort(address)}, nil
	}
	for _, service := range fields(conf.Get("dfs.nameservices", "")) {
		if service == authority {
			return nil, errcode.SiteMissing.Errorf("dfs.nameservices (%s) names %s, but neither dfs.ha.namenodes.%s nor "+
				"dfs.namenode.rpc-address.%s is set",
				conf.Source("dfs.nameservices"), service, service, service)
		}
	}
	return []string{withPort(authority)}, nil
}

func serviceAddresses(conf *siteconf.Conf, service string, ids []string) ([]string, error) {
	var addresses []string
	for _, id := range ids {
		property := "dfs.namenode.rpc-address." + service + "." + id
		address := conf.Get(property, "")
		if address == "" {
			return nil, errcode.SiteMissing.Errorf("dfs.ha.namenodes.%s (%s) names %s, but %s is not set",
				service, conf.Source("dfs.ha.namenodes."+service), id, property)
		}
		addresses = append(addresses, withPort(address))
	}
	return addresses, nil
}

func fields(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\n' })
}

// SameNameNode reports whether two authorities of URIs are the same. Either may lack the default port.
func SameNameNode(a, b string) bool { return strings.EqualFold(withPort(a), withPort(b)) }

func withPort(address string) string {
	if _, _, err := net.SplitHostPort(address); err == nil {
		return address
	}
	return net.JoinHostPort(strings.Trim(address, "[]"), nameNodePort)
}

// hdfsUser is our user name in HDFS.
func hdfsUser(name string) (string, error) {
	if name == "" {
		name = os.Getenv("HADOOP_USER_NAME")
	}
	if name != "" {
		return name, nil
	}
	u, err := user.Current()
	if err != nil {
		return "", fmt.Errorf("find the user's name on HDFS: %w; set HADOOP_USER_NAME", err)
	}
	return u.Username, nil
}
