// Package keys computes row keys and knows HBase's cells and their order.
//
// It knows nothing of files or networks.
package keys

// CellType is HBase's KeyValue.Type code, as stored in the last byte of a cell's key.
type CellType uint8

// The cell types that a store file holds (org.apache.hadoop.hbase.KeyValue.Type).
const (
	Put                 CellType = 4
	Delete              CellType = 8
	DeleteFamilyVersion CellType = 10
	DeleteColumn        CellType = 12
	DeleteFamily        CellType = 14
)

// Cell is one HBase cell as views of somebody else's bytes.
type Cell struct {
	Row       []byte // 1 to 32,767 bytes
	Family    []byte // up to 127 bytes
	Qualifier []byte // may be empty
	Timestamp int64  // epoch milliseconds
	Type      CellType
	Value     []byte // may be empty
}
