package hfilewriter

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bulkload/cell"

	"google.golang.org/protobuf/encoding/protowire"
)

// The file info block (HFileInfo.write):
//
//	"PBUF"
//	varint length, FileInfoProto: field 1, repeated, BytesBytesPair { bytes first = 1; bytes second = 2 }
//
// The pairs are sorted by key. Booleans are one byte, ff or 00; numbers are big-endian, 4 or 8 bytes by key.
//
// HBase takes more than statistics from it. A wrong LASTKEY hides the cells after it, a wrong TIMERANGE those outside
// it, a wrong DATA_BLOCK_ENCODING makes every block unreadable, and BLOOM_FILTER_TYPE decides whether the filter is
// used. The verifier reads the cells according to this block, and checkInfo (verify.go) compares the rest with them.
const fileInfoMagic = "PBUF"

// The keys of a bulk-loaded file's info (HFileInfo, HStoreFile, BloomFilterFactory).
const (
	infoAvgKeyLen          = "hfile.AVG_KEY_LEN"             // int
	infoAvgValueLen        = "hfile.AVG_VALUE_LEN"           // int
	infoCreateTime         = "hfile.CREATE_TIME_TS"          // long, epoch ms
	infoBiggestKey         = "hfile.KEY_OF_BIGGEST_CELL"     // key of the first cell among the largest
	infoBiggestLen         = "hfile.LEN_OF_BIGGEST_CELL"     // long
	infoLastKey            = "hfile.LASTKEY"                 // key
	infoMaxTagsLen         = "hfile.MAX_TAGS_LEN"            // int; present if cells have tags
	infoTagsCompressed     = "hfile.TAGS_COMPRESSED"         // bool
	infoBloomType          = "BLOOM_FILTER_TYPE"             // Bloom's name
	infoBloomParam         = "BLOOM_FILTER_PARAM"            // int: length of the row prefix
	infoLastBloomKey       = "LAST_BLOOM_KEY"                // bytes
	infoLoadedTask         = "BULKLOAD_SOURCE_TASK"          // text
	infoLoadedTime         = "BULKLOAD_TIMESTAMP"            // long, epoch ms
	infoEncoding           = "DATA_BLOCK_ENCODING"           // Encoding's name; absent for none
	infoDeleteFamilies     = "DELETE_FAMILY_COUNT"           // long
	infoEarliestPut        = "EARLIEST_PUT_TS"               // long
	infoNoMinorCompaction  = "EXCLUDE_FROM_MINOR_COMPACTION" // bool
	infoHistorical         = "HISTORICAL"                    // bool
	infoKeyValueVersion    = "KEY_VALUE_VERSION"             // int 1: cells have sequence ids
	infoMajorCompaction    = "MAJOR_COMPACTION_KEY"          // bool
	infoMaxSequenceID      = "MAX_MEMSTORE_TS_KEY"           // long
	infoTimeRange          = "TIMERANGE"                     // long least, long largest timestamp
	infoKeyValueVersionSet = 1
)

// Keys that only files which HBase itself flushed or compacted have (HStoreFile). They are printed, and never
// written: a bulk-loaded file gets its sequence ID from the region when it is loaded.
const (
	infoMaxFlushID = "MAX_SEQ_ID_KEY"    // long
	infoMobCells   = "MOB_CELLS_COUNT"   // long
	infoMobFiles   = "MOB_FILE_REFS"     // tables and names of MOB files; one zero byte: none
	infoSkipReset  = "SKIP_RESET_SEQ_ID" // bool
)

// FileInfo is a file's table of properties: raw values by key.
//
// An absent property is not the same as an empty one. HBase tests some keys only for presence: infoMaxTagsLen, with any
// value, makes it expect tags after every cell. So no property may be put here with a default value.
type FileInfo map[string][]byte

func (f FileInfo) putInt(key string, v int64) { f[key] = binary.BigEndian.AppendUint32(nil, uint32(v)) }
func (f FileInfo) putLong(key string, v int64) {
	f[key] = binary.BigEndian.AppendUint64(nil, uint64(v))
}
func (f FileInfo) putBool(key string, v bool) {
	// Java's Bytes.toBytes(true) is -1, a byte ff. HBase reads any byte other than 0 as true; 1 would differ from its
	// files.
	f[key] = []byte{0}
	if v {
		f[key][0] = 0xff
	}
}

// addTo adds the properties that follow neither from the cells nor from the Settings.
func (p *Provenance) addTo(f FileInfo) {
	if p.Copied != nil {
		p.Copied.copyTo(f)
		return
	}
	f.putLong(infoCreateTime, p.Created)
	f.putBool(infoHistorical, false)
	f.putBool(infoMajorCompaction, true)
	f.putBool(infoNoMinorCompaction, false)
	f.putLong(infoLoadedTime, p.Loaded)
	f[infoLoadedTask] = []byte(p.Task)
}

// infoOfContent are the properties without infoReserved that follow from a file's cells and Settings. The others are
// whatever its writer put there.
var infoOfContent = map[string]bool{
	infoBloomType: true, infoBloomParam: true, infoLastBloomKey: true, infoEncoding: true, infoDeleteFamilies: true,
	infoEarliestPut: true, infoKeyValueVersion: true, infoMaxSequenceID: true, infoTimeRange: true,
}

// infoReserved begins the keys that only HBase's writer may set (HFileInfo.isReservedFileInfoKey).
const infoReserved = "hfile."

// copyTo copies the properties that do not follow from the content, as HBase does when it splits a file for a bulk load
// (LoadIncrementalHFiles.copyHFileHalf). HBase copies the time range, too; here it is that of the copied cells.
func (f FileInfo) copyTo(other FileInfo) {
	for k, v := range f {
		if k == infoCreateTime || !strings.HasPrefix(k, infoReserved) && !infoOfContent[k] {
			other[k] = v
		}
	}
}

// OldestPut is the least timestamp of a Put, in epoch milliseconds (HFileInfo's EARLIEST_PUT_TS); false if the file
// does not say.
func (f FileInfo) OldestPut() (timestamp int64, known bool) {
	if v := f[infoEarliestPut]; len(v) == 8 {
		return int64(binary.BigEndian.Uint64(v)), true
	}
	return 0, false
}

// Uncopied names the features of a file, according to its properties, that a copy of its cells (Scanner, Writer) lacks:
// tags, sequence IDs, and references to MOB files, which belong to some of the cells and are counted for all.
func (f FileInfo) Uncopied() []string {
	var names []string
	for _, p := range []struct{ what, key string }{
		{"tags", infoMaxTagsLen}, {"sequence IDs", infoMaxSequenceID}, {"references to MOB files", infoMobCells},
		{"references to MOB files", infoMobFiles},
	} {
		if strings.Trim(string(f[p.key]), "\x00") != "" { // HBase writes 0 if there are none
			names = append(names, fmt.Sprintf("%s (%s)", p.what, p.key))
		}
	}
	return names
}

// Keys returns the keys in the order in which they are stored.
func (f FileInfo) Keys() []string {
	all := make([]string, 0, len(f))
	for k := range f {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}

// Text formats a property for people: keys as keys, numbers, booleans and the time range as such, everything else as
// text with \xNN for bytes that are not printable ASCII. A property that this package does not know is text.
func (f FileInfo) Text(key string) string {
	v := f[key]
	switch kind := infoKinds[key]; {
	case kind == infoIsKey:
		return DescribeKey(v)
	case kind == infoIsNumber && len(v) == 8:
		return strconv.FormatInt(int64(be64(v)), 10)
	case kind == infoIsNumber && len(v) == 4:
		return strconv.FormatInt(int64(int32(binary.BigEndian.Uint32(v))), 10)
	case kind == infoIsBool && len(v) == 1:
		return strconv.FormatBool(v[0] != 0)
	case kind == infoIsRange && len(v) == 16:
		return fmt.Sprintf("%d to %d", int64(be64(v)), int64(be64(v[8:])))
	}
	return cell.Printable(v)
}

// infoKind is how a property's value is formatted.
type infoKind uint8

const (
	infoIsText infoKind = iota
	infoIsKey
	infoIsNumber
	infoIsBool
	infoIsRange
)

var infoKinds = map[string]infoKind{
	infoLastKey: infoIsKey, infoBiggestKey: infoIsKey, infoTimeRange: infoIsRange,
	infoAvgKeyLen: infoIsNumber, infoAvgValueLen: infoIsNumber, infoCreateTime: infoIsNumber, infoBiggestLen: infoIsNumber,
	infoMaxTagsLen: infoIsNumber,
	infoBloomParam: infoIsNumber, infoLoadedTime: infoIsNumber, infoDeleteFamilies: infoIsNumber,
	infoEarliestPut:     infoIsNumber,
	infoKeyValueVersion: infoIsNumber, infoMaxSequenceID: infoIsNumber, infoMaxFlushID: infoIsNumber,
	infoMobCells:       infoIsNumber,
	infoTagsCompressed: infoIsBool, infoNoMinorCompaction: infoIsBool, infoHistorical: infoIsBool,
	infoMajorCompaction: infoIsBool,
	infoSkipReset:       infoIsBool,
}

// appendTo encodes the block's payload. The keys are sorted, so equal properties give equal bytes.
func (f FileInfo) appendTo(dst []byte) []byte {
	// The pairs are collected first, because their total length precedes them.
	var entries, pair []byte
	// Java writes them from a sorted map. In the order of a Go map equal files would differ from run to run.
	for _, k := range f.Keys() {
		pair = protowire.AppendTag(pair[:0], 1, protowire.BytesType)
		pair = protowire.AppendString(pair, k)
		pair = protowire.AppendTag(pair, 2, protowire.BytesType)
		pair = protowire.AppendBytes(pair, f[k])
		entries = protowire.AppendTag(entries, 1, protowire.BytesType)
		entries = protowire.AppendBytes(entries, pair)
	}
	return protowire.AppendBytes(append(dst, fileInfoMagic...), entries)
}

// parseFileInfo decodes the block's payload. The values are views of it. Of a key that occurs twice the last value
// counts, as in HBase's map.
func parseFileInfo(payload []byte) (FileInfo, error) {
	// HBase before 0.96 wrote another form, which is not supported.
	if len(payload) < len(fileInfoMagic) || string(payload[:len(fileInfoMagic)]) != fileInfoMagic {
		return nil, fmt.Errorf("%w: file info does not begin with %s", ErrCorrupt, fileInfoMagic)
	}
	entries, n := protowire.ConsumeBytes(payload[len(fileInfoMagic):])
	if n < 0 {
		return nil, fmt.Errorf("%w: file info: %v", ErrCorrupt, protowire.ParseError(n))
	}
	info := FileInfo{}
	err := eachField(entries, func(number protowire.Number, _ uint64, pair []byte) error {
		// An unknown field of a later HBase: skipped.
		if number != 1 {
			return nil
		}
		var key string
		var value []byte
		err := eachField(pair, func(number protowire.Number, _ uint64, b []byte) error {
			switch number {
			case 1:
				key = string(b)
			case 2:
				value = b
			}
			return nil
		})
		// Without a copy: the payload stays as long as the Reader.
		info[key] = value
		return err
	})
	return info, err
}

// eachField visits the fields of a protobuf message, each a number or bytes. A field of another wire type is visited
// with neither: visit sees 0 and nil. So a field with a wrong wire type is as good as zero, and not an error here.
func eachField(b []byte, visit func(number protowire.Number, v uint64, text []byte) error) error {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return fmt.Errorf("%w: protobuf: %v", ErrCorrupt, protowire.ParseError(n))
		}
		// n is positive: protowire returns a negative number for malformed input.
		b = b[n:]
		var v uint64
		var text []byte
		switch kind {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			text, n = protowire.ConsumeBytes(b)
		// Fixed-width fields and groups, which neither message has: skipped by their length.
		default:
			n = protowire.ConsumeFieldValue(number, kind, b)
		}
		if n < 0 {
			return fmt.Errorf("%w: protobuf field %d: %v", ErrCorrupt, number, protowire.ParseError(n))
		}
		if err := visit(number, v, text); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}
