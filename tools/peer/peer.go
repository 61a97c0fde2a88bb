// Package peer holds what bulkload is compared with, run with the test cluster's HBase and HDFS: the Spark job that it
// replaces (java/Peer.java), a program that loads the same rows with Put (puts/Puts.java), and HBase's REST server
// (rest). It is not part of the bulkload binary. Its folder compare has the program that `make bench`, `make bench-put`
// and `make bench-serve` run.
package peer

import (
	"embed"
	"io/fs"
)

//go:embed java/pom.xml java/Peer.java puts/pom.xml puts/Puts.java rest/pom.xml
var files embed.FS

// Files are the Spark job's pom.xml and source, for testcluster's Program.
func Files() fs.FS { return in("java") }

// PutFiles are those of Puts, whose class path has ImportTsv, too.
func PutFiles() fs.FS { return in("puts") }

// RESTFiles have the class path of HBase's REST server, and no program of ours.
func RESTFiles() fs.FS { return in("rest") }

// REST is the main class of RESTFiles. Its arguments: -p, port, -i, port of its pages, start.
const REST = "org.apache.hadoop.hbase.rest.RESTServer"

func in(dir string) fs.FS {
	sub, err := fs.Sub(files, dir)
	if err != nil { // the folder is embedded above
		panic(err)
	}
	return sub
}

// Puts is the main class of PutFiles, which lists its commands.
const Puts = "peer.Puts"

// Class is the Spark job's main class. Its arguments: published or tuned, input, output, table, number of regions, columns
// joined by commas, family.
const Class = "peer.Peer"
