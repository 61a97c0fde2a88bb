package site

import (
	"slices"
	"strings"
)

// The properties that tasks need on machines that may have no site files: how HDFS is reached, and how its connections
// are protected. Properties that decide the files' bytes are in a run's plan in another form.
var (
	taskProperties = []string{"fs.defaultFS", "fs.permissions.umask-mode", "dfs.nameservices",
		"dfs.replication", "dfs.blocksize",
		"hadoop.security.authentication", "hadoop.security.auth_to_local", "hadoop.security.token.service.use_ip",
		"hadoop.security.saslproperties.resolver.class", "hadoop.rpc.protection",
		"ipc.client.fallback-to-simple-auth-allowed",
		"dfs.trustedchannel.resolver.class"}
	taskPrefixes = []string{"dfs.ha.namenodes.", "dfs.namenode.rpc-address",
		"dfs.namenode.kerberos.principal", "dfs.client.",
		"dfs.data.transfer.", "dfs.encrypt.data.transfer"}
)

// ForTasks returns the properties that tasks need, without credentials.
func (s *Site) ForTasks() map[string]string {
	all := map[string]string{}
	for _, name := range s.Conf.Names() {
		prefixed := slices.ContainsFunc(taskPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
		if slices.Contains(taskProperties, name) || prefixed && !secretName.MatchString(name) {
			all[name] = s.Conf.Get(name, "")
		}
	}
	return all
}
