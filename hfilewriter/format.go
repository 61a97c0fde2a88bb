package hfilewriter

import "bulkload/cell"

// The format's constants. Sources, all in hbase-server's or hbase-common's org.apache.hadoop.hbase.io.hfile:
// HFile, HFileBlock.Header, BlockType, FixedFileTrailer.
const (
	majorVersion = 3
	minorVersion = 3

	// A block's header: each field's offset is the one before plus its length.
	headerMagicOffset        = 0
	headerOnDiskSizeOffset   = headerMagicOffset + magicLen // int: payload as stored and checksums, without header
	headerRawSizeOffset      = headerOnDiskSizeOffset + 4   // int: payload before compression
	headerPrevBlockOffset    = headerRawSizeOffset + 4      // long: offset of the previous block of this type, or -1
	headerChecksumTypeOffset = headerPrevBlockOffset + 8    // byte
	headerBytesPerSumOffset  = headerChecksumTypeOffset + 1 // int
	headerOnDiskDataOffset   = headerBytesPerSumOffset + 4  // int: header and payload as stored, without checksums
	headerLen                = headerOnDiskDataOffset + 4   // 33
	magicLen                 = 8                            //
	checksumLen              = 4                            // of each checksum
	trailerLen               = 4096                         // of version 3
	trailerVersionOffset     = trailerLen - 4               // int: minor << 24 | major
	noBlock                  = int64(-1)                    // "no such block" in an offset field

	// A flat key around its row, family and qualifier: 2-byte row length, 1-byte family length, 8-byte timestamp,
	// 1-byte type (KeyValue.KEY_INFRASTRUCTURE_SIZE).
	rowLengthLen    = 2
	familyLengthLen = 1
	timestampLen    = 8
	typeLen         = 1
	keyOverhead     = rowLengthLen + familyLengthLen + timestampLen + typeLen // 12
	cellOverhead    = 4 + 4                                                   // int key length, int value length
	mvccLen         = 1                                                       // a sequence id of 0, as a vlong

	maxRowLen    = cell.MaxRowLen
	maxFamilyLen = 1<<7 - 1
	maxKeyLen    = keyOverhead + maxRowLen + maxFamilyLen + maxQualifierLen
	// These bounds keep every length of a cell within Java's int: HBase reads lengths as signed 4-byte numbers, and
	// one of 2 GiB would be negative there.
	maxQualifierLen = 1<<30 - 1
	maxValueLen     = 1<<30 - 1

	// maxBlockLen bounds the block length that a reader accepts. The writer's largest block is the block size plus
	// one cell.
	maxBlockLen = 1<<31 - 1 - headerLen

	indexKeyTimestamp = int64(1<<63 - 1) // HConstants.LATEST_TIMESTAMP
	indexKeyType      = 255              // KeyValue.Type.Maximum
)

// blockType is the type of a block. The names are those of BlockType. The order matters: types from blockRootIndex on
// are written after the data (the load-on-open section), all others before it; the verifier relies on that.
type blockType uint8

const (
	blockData blockType = iota
	blockEncodedData
	blockLeafIndex
	blockBloomChunk
	blockMeta
	blockIntermediateIndex
	blockRootIndex
	blockFileInfo
	blockGeneralBloomMeta
	blockDeleteBloomMeta
	blockTypes int = iota
)

// blockMagics are the first eight bytes of each block type (BlockType).
var blockMagics = [blockTypes]string{
	blockData:              "DATABLK*",
	blockEncodedData:       "DATABLKE",
	blockLeafIndex:         "IDXLEAF2",
	blockBloomChunk:        "BLMFBLK2",
	blockMeta:              "METABLKc",
	blockIntermediateIndex: "IDXINTE2",
	blockRootIndex:         "IDXROOT2",
	blockFileInfo:          "FILEINF2",
	blockGeneralBloomMeta:  "BLMFMET2",
	blockDeleteBloomMeta:   "DFBLMET2",
}

var blockNames = [blockTypes]string{
	blockData:              "DATA",
	blockEncodedData:       "ENCODED_DATA",
	blockLeafIndex:         "LEAF_INDEX",
	blockBloomChunk:        "BLOOM_CHUNK",
	blockMeta:              "META",
	blockIntermediateIndex: "INTERMEDIATE_INDEX",
	blockRootIndex:         "ROOT_INDEX",
	blockFileInfo:          "FILE_INFO",
	blockGeneralBloomMeta:  "GENERAL_BLOOM_META",
	blockDeleteBloomMeta:   "DELETE_FAMILY_BLOOM_META",
}

func (t blockType) String() string { return blockNames[t] }

// chain returns the type under which a block's predecessor is recorded: data blocks, encoded or not, share one list
// (BlockType.getId).
func (t blockType) chain() blockType {
	if t == blockEncodedData {
		return blockData
	}
	return t
}

// parseBlockType returns the type with the given magic.
func parseBlockType(magic []byte) (blockType, bool) {
	for t, m := range blockMagics {
		if string(magic) == m {
			return blockType(t), true
		}
	}
	return 0, false
}

const trailerMagic = `TRABLK"$`
