// Package cell is HBase's cell: its fields, their limits, the order of cells, and how bytes are shown.
//
// It imports no other package of the program, and every package may import it.
package cell

// KeyType is HBase's KeyValue.Type code, as stored in the last byte of a cell's key.
type KeyType uint8

// The cell types that a store file holds (org.apache.hadoop.hbase.KeyValue.Type).
const (
	Put                 KeyType = 4
	Delete              KeyType = 8
	DeleteFamilyVersion KeyType = 10
	DeleteColumn        KeyType = 12
	DeleteFamily        KeyType = 14
)

// Cell is one HBase cell as views of the caller's bytes.
type Cell struct {
	Row       []byte // 1 to 32,767 bytes
	Family    []byte // up to 127 bytes
	Qualifier []byte // may be empty
	Timestamp int64  // epoch milliseconds
	Type      KeyType
	Value     []byte // may be empty
}
