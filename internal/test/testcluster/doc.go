// Package testcluster is the project's own real HBase for tests: NameNode, DataNodes, ZooKeeper, HMaster, RegionServers
// and, if wanted, YARN, each in its own JVM, from Maven's jars on this machine. It also has an oracle, a Java program
// on HBase's own classes that writes, reads and judges HFiles and tables.
//
// It is not part of the bulkload binary. It needs java and javac 17 or 21, mvn (for the jars, once) and Linux.
//
// A test uses the running cluster, with Use, or only the oracle, with Java. `make test` starts a cluster, names it in
// the environment variable BULKLOAD_CLUSTER and stops it. To start one by hand: go run
// ./internal/test/testcluster/cluster up.
package testcluster
