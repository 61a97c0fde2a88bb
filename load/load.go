// Package load talks to HBase: it learns a table's regions and family settings, hands finished HFiles to the region
// servers, creates tables and reads rows. It knows nothing of input and sorting.
package load

import (
	"context"
	"errors"

	"bulkload/internal/siteconf"
	"bulkload/keys"
)

// ErrUnavailable marks errors of a cluster that can't be reached now; ErrNotFound those of a table or family that
// does not exist; ErrRefused a request that HBase will go on refusing until something is changed.
var (
	ErrUnavailable = errors.New("HBase unavailable")
	ErrNotFound    = errors.New("not found")
	ErrRefused     = errors.New("refused")
)

var errSkeleton = errors.New("not built yet")

// Cluster is a connection to an HBase cluster.
type Cluster struct{}

// Connect finds the cluster of the site files. user is the name HBase and HDFS know us by. It fails within a minute.
func Connect(ctx context.Context, conf *siteconf.Conf, user string) (*Cluster, error) {
	return nil, errSkeleton
}

// Close ends the connections.
func (c *Cluster) Close() error { return nil }

// Table describes a table as it is now.
type Table struct {
	Name     string // namespace:name, or name in the default namespace
	Families []Family
	Regions  []Region // in order, without gaps
}

// Splits are the start rows of all regions but the first.
func (t *Table) Splits() [][]byte { return nil }

// Family is a column family and its settings, named as HBase names them; absent ones have HBase's defaults.
type Family struct {
	Name              string
	Compression       string            // NONE, SNAPPY, …
	DataBlockEncoding string            // NONE, FAST_DIFF, …
	BloomFilter       string            // NONE, ROW, …
	BlockSize         int               // bytes
	Attributes        map[string]string // all of them, as stored
}

// Region is a region and where it is served.
type Region struct {
	Name   []byte // as in hbase:meta
	Start  []byte // empty: the first
	End    []byte // empty: the last
	Server string // host:port
}

// Table looks a table up. A table that does not exist is ErrNotFound, one that is disabled ErrRefused.
func (c *Cluster) Table(ctx context.Context, name string) (*Table, error) { return nil, errSkeleton }

// Create makes a table with those families and splits through HBase's master, and its namespace where it is missing,
// and waits until its regions are served.
func (c *Cluster) Create(ctx context.Context, name string, families []Family, splits [][]byte) error {
	return errSkeleton
}

// HFile is a finished file to hand over.
type HFile struct {
	Family   string
	URI      string // hdfs://…
	FirstRow []byte
	LastRow  []byte
}

// Report says what a load did.
type Report struct {
	Files   int
	Regions int
	Rounds  int
}

// Load hands files to the regions that hold their rows: one request a region, with all its files. done, which may be
// nil, is told of each file once it is certain that the table has it.
func (c *Cluster) Load(ctx context.Context, table string, files []HFile, done func(HFile) error) (*Report, error) {
	return nil, errSkeleton
}

// ScanRange visits the newest version of the cells of all rows from start (nil: the first) to before end (nil: the
// last), in order. The cells are valid during the call only. An error of visit ends the scan and is returned.
func (c *Cluster) ScanRange(ctx context.Context, table string, start, end []byte, visit func(*keys.Cell) error) error {
	return errSkeleton
}
