// Package testcluster is the project's own real HBase for tests: NameNode, DataNodes, ZooKeeper, HMaster and
// RegionServers, each in its own JVM, and YARN if wanted, from Maven's jars on this machine, and an oracle, a Java
// program on HBase's own classes that writes, reads and judges HFiles and tables.
//
// Nothing of it is in the bulkload binary. It needs java and javac 17 or 21, mvn (for the jars, once) and Linux.
//
// A test uses the running cluster, with Use, or only the oracle, with Java. `make test` starts a cluster, names it in
// the environment variable BULKLOAD_CLUSTER and stops it; by hand: go run ./internal/test/testcluster/cluster up.
package testcluster
