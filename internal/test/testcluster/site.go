package testcluster

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// property is a property of a Hadoop site file.
type property struct {
	Name  string `xml:"name"`
	Value string `xml:"value"`
}

// codecs are HBase's codecs in Java and in bundled native code: none needs libhadoop.so.
var codecs = []property{
	{"hbase.io.compress.snappy.codec", "org.apache.hadoop.hbase.io.compress.xerial.SnappyCodec"},
	{"hbase.io.compress.zstd.codec", "org.apache.hadoop.hbase.io.compress.zstd.ZstdCodec"},
	{"hbase.io.compress.lz4.codec", "org.apache.hadoop.hbase.io.compress.lz4.Lz4Codec"},
}

func writeSite(file string, properties []property) error {
	site := struct {
		XMLName    xml.Name   `xml:"configuration"`
		Properties []property `xml:"property"`
	}{Properties: properties}
	b, err := xml.MarshalIndent(site, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append([]byte(xml.Header), append(b, '\n')...), 0o644)
}

// writeConf fills the cluster's conf folder.
func (c *Cluster) writeConf() error {
	conf := c.ConfDir()
	// NameNode and DataNode refuse to start without folders of these names on the class path; empty ones suffice.
	for _, dir := range []string{"hdfs", "datanode", "static", "secondary"} {
		if err := os.MkdirAll(filepath.Join(conf, "webapps", dir), 0o755); err != nil {
			return err
		}
	}
	log4j, err := javaFiles.ReadFile("java/cluster.log4j.properties")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(conf, "log4j.properties"), log4j, 0o644); err != nil {
		return err
	}
	keys, err := javaFiles.ReadFile("java/zone.jceks")
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.zoneKeys(), keys, 0o600); err != nil {
		return err
	}
	sites := map[string][]property{"core-site.xml": c.coreSite(), "hdfs-site.xml": c.hdfsSite(), "hbase-site.xml": c.hbaseSite()}
	maps.Copy(sites, c.yarnSites())
	for file, properties := range sites {
		if err := writeSite(filepath.Join(conf, file), properties); err != nil {
			return fmt.Errorf("write the cluster's configuration: %w", err)
		}
	}
	return nil
}

// FS returns the cluster's default file system, such as hdfs://localhost:29000, or hdfs://bulkload with two NameNodes.
func (c *Cluster) FS() string {
	if c.HA {
		return "hdfs://" + nameService
	}
	return "hdfs://" + c.address(portNameNode)
}

// nameService is the name of the two NameNodes together.
const nameService = "bulkload"

func (c *Cluster) coreSite() []property {
	p := []property{
		{"fs.defaultFS", c.FS()},
		{"hadoop.tmp.dir", c.path("data", "tmp")},
	}
	if c.Kerberos == nil {
		p = append(p, property{"hadoop.security.key.provider.path", "jceks://file" + c.zoneKeys()})
	}
	return append(p, c.secureCore()...)
}

// ZoneKey is a key for encryption zones (hdfs crypto -createZone) on a cluster without Kerberos. It is in a keystore
// that Hadoop reads without a KMS, which was made once: hadoop key create zone -provider jceks://file/…/zone.jceks,
// with Hadoop's default password.
const ZoneKey = "zone"

func (c *Cluster) zoneKeys() string { return c.path("conf", "zone.jceks") }

func (c *Cluster) hdfsSite() []property {
	p := []property{
		{"dfs.replication", fmt.Sprint(min(c.DataNodes, 3))},
		{"dfs.namenode.fs-limits.min-block-size", "1024"},
		{"dfs.namenode.safemode.extension", "0"},
		{"dfs.client.socket-timeout", "60000"},
		{"dfs.heartbeat.interval", "1"}, // seconds; soon enough for a DataNode to find a restarted NameNode
	}
	if c.QuickDeaths {
		p = append(p, property{"dfs.namenode.heartbeat.recheck-interval", "2000"})
	}
	p = append(p, c.secureHDFS()...)
	if c.HA {
		return append(p, c.haSite()...)
	}
	return append(p,
		property{"dfs.namenode.name.dir", "file://" + c.path("data", "nn")},
		property{"dfs.namenode.rpc-address", c.address(portNameNode)},
		property{"dfs.namenode.http-address", c.address(portNameNodeHTTP)},
	)
}

// oldEndpoint is HBase 1's coprocessor for loads.
const oldEndpoint = "org.apache.hadoop.hbase.security.access.SecureBulkLoadEndpoint"

func (c *Cluster) endpoint() []property {
	if !c.Endpoint || c.Kerberos != nil {
		return nil
	}
	return []property{{"hbase.coprocessor.region.classes", oldEndpoint}}
}

func (c *Cluster) hbaseSite() []property {
	return append(append(append(c.secureHBase(), c.endpoint()...), append([]property{
		{"hbase.rootdir", c.FS() + "/hbase"},
		{"hbase.cluster.distributed", "true"},
		{"hbase.zookeeper.quorum", "localhost"},
		{"hbase.zookeeper.property.clientPort", fmt.Sprint(c.Port + portZooKeeper)},
		{"hbase.zookeeper.property.dataDir", c.path("data", "zk")},
		{"zookeeper.session.timeout", fmt.Sprint(cmp.Or(c.Session, 20000))},
		{"hbase.zookeeper.property.tickTime", "1000"},
		{"hbase.master.hostname", "localhost"},
		{"hbase.master.port", fmt.Sprint(c.Port + portMaster)},
		{"hbase.master.info.port", "-1"},
		{"hbase.regionserver.hostname", "localhost"},
		{"hbase.regionserver.info.port", "-1"},
		{"hbase.regionserver.msginterval", "500"},
		// The master waits only for the servers that are started.
		{"hbase.master.wait.on.regionservers.mintostart", fmt.Sprint(c.RegionServers)},
		{"hbase.master.wait.on.regionservers.maxtostart", fmt.Sprint(c.RegionServers)},
		{"hbase.master.wait.on.regionservers.interval", "300"},
		{"hbase.balancer.period", "3600000"},
		{"hbase.wal.provider", "filesystem"},
		{"hbase.wal.hsync", "false"},
		{"hbase.procedure.store.wal.use.hsync", "false"},
		{"hbase.client.retries.number", "8"},
	}, codecs...)...), c.further()...)
}

func (c *Cluster) further() (p []property) {
	for _, name := range slices.Sorted(maps.Keys(c.Site)) {
		p = append(p, property{name, c.Site[name]})
	}
	return p
}
