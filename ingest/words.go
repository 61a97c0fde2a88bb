package ingest

// EveryByte times a byte is a word of eight such bytes. The text forms use it to look for delimiters and quotes in
// eight bytes at a time.
const EveryByte = 0x0101010101010101

const (
	lowBits  = 0x7f * EveryByte
	highBits = 0x80 * EveryByte
)

// ZeroBytes marks the bytes of x that are 0 with 0x80; all others become 0.
func ZeroBytes(x uint64) uint64 { return ^((x&lowBits + lowBits) | x | lowBits) }
