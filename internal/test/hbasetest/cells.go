package hbasetest

import (
	"encoding/binary"

	"bulkload/cell"
)

// AppendCell appends a cell to a cell block as KeyValueCodec does.
func AppendCell(b []byte, c *cell.Cell) []byte {
	keySize := 2 + len(c.Row) + 1 + len(c.Family) + len(c.Qualifier) + 8 + 1
	b = binary.BigEndian.AppendUint32(b, uint32(8+keySize+len(c.Value)))
	b = binary.BigEndian.AppendUint32(b, uint32(keySize))
	b = binary.BigEndian.AppendUint32(b, uint32(len(c.Value)))
	b = binary.BigEndian.AppendUint16(b, uint16(len(c.Row)))
	b = append(b, c.Row...)
	b = append(append(b, byte(len(c.Family))), c.Family...)
	b = append(b, c.Qualifier...)
	b = binary.BigEndian.AppendUint64(b, uint64(c.Timestamp))
	return append(append(b, byte(c.Type)), c.Value...)
}
