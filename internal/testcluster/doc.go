// Package testcluster is the project's own real HBase for tests: NameNode, DataNodes, ZooKeeper, HMaster and RegionServers, each a JVM of its own
// from Maven's jars on this machine, and an oracle, a Java program on HBase's own classes that writes, reads and judges HFiles and tables.
//
// Nothing of it is in the bulkload binary. It needs java and javac 17, mvn (for the jars, once) and Linux.
//
// A test takes the cluster that is up already, with Use, or the oracle alone, with Java. `make test` brings a cluster up, names it in the
// environment variable BULKLOAD_CLUSTER and takes it down; by hand: go run ./internal/testcluster/cluster up.
package testcluster
