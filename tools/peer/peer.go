// Package peer holds the Spark job that bulkload replaces, to compare the two: java/Peer.java, run in one JVM with the
// test cluster's HBase and HDFS. It is not part of the bulkload binary. Its folder compare has the program that `make
// bench` runs.
package peer

import (
	"embed"
	"io/fs"
)

//go:embed java/pom.xml java/Peer.java
var files embed.FS

// Files are the job's pom.xml and source, for testcluster's Program.
func Files() fs.FS {
	sub, err := fs.Sub(files, "java")
	if err != nil { // the folder is embedded above
		panic(err)
	}
	return sub
}

// Class is the job's main class. Its arguments: published or tuned, input, output, table, number of regions, columns
// joined by commas, family.
const Class = "peer.Peer"
