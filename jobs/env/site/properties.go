package site

import (
	"log/slog"
	"regexp"
	"slices"
	"strings"

	"bulkload/jobs/base/options"
)

// shownProperties are logged if they are set. They decide which cluster a job uses, as whom, and how it is protected.
var shownProperties = []string{"fs.defaultFS", "dfs.nameservices", "dfs.replication", "dfs.blocksize",
	"fs.permissions.umask-mode",
	"hbase.zookeeper.quorum", "hbase.zookeeper.property.clientPort", "zookeeper.znode.parent",
	"hbase.client.registry.impl", "hbase.client.bootstrap.servers", "hbase.masters", "hbase.meta.table.suffix",
	"hadoop.security.authentication", hbaseAuthentication, "hadoop.rpc.protection", "hbase.rpc.protection",
	"dfs.data.transfer.protection", "dfs.encrypt.data.transfer", "hbase.rpc.timeout", "hbase.bulkload.retries.number",
	"hbase.loadincremental.threads.max", "hbase.mapreduce.bulkload.max.hfiles.perRegion.perFamily", ledgerProperty}

// logProperties logs shownProperties, and the properties of the command line.
func (s *Site) logProperties(dirs []string, commandLine map[string]string) {
	names := slices.Concat(shownProperties, ByteProperties)
	for name := range commandLine {
		names = append(names, name)
	}
	slices.Sort(names)
	var set []any
	for _, name := range slices.Compact(names) {
		if s.Conf.Source(name) != "" {
			set = append(set, slog.String(name, shown(name, s.Conf.Get(name, ""))))
		}
	}
	if len(dirs)+len(set) > 0 {
		s.log.Detail(options.LevelStage, "site", slog.String("folders", strings.Join(dirs, ", ")),
			slog.String("hadoop_user", s.User), slog.Group("properties", set...))
	}
}

var (
	secretName = regexp.MustCompile(`(?i)passw|secret|credential|token|access\.?key|private\.?key|keypass`)
	inURL      = regexp.MustCompile(`//[^/@\s]+@`)
)

// shown returns a property's value without credentials, for the log.
func shown(name, value string) string {
	if secretName.MatchString(name) {
		return "(not shown)"
	}
	return inURL.ReplaceAllString(value, "//(not shown)@")
}
