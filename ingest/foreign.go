package ingest

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"strings"

	"bulkload/ingest/compressed"
)

// DetectLen is how many bytes at a file's start DetectForeign reads, at most.
const DetectLen = 64 << 10

const exportAgain = "only Oracle's programs read it. Export the table with Sqoop (sqoop import --as-textfile, or " +
	"--as-parquetfile), or spool it with SQLcl or SQL*Plus (set markup csv on) and read that with format: csv; where " +
	"only the dump is left, import it into a scratch schema first (%s)"

// foreignFormats are files that are not text, detected by how they begin and by their first bytes.
var foreignFormats = []struct {
	is       func(name string, head []byte) bool
	what, do string
}{
	{isExport, "a dump of Oracle's old exp", strings.Replace(exportAgain, "%s", "imp", 1)},
	{isDataPump, "an Oracle Data Pump dump (expdp, or an ORACLE_DATAPUMP external table)",
		strings.Replace(exportAgain, "%s", "impdp", 1)},
	{magic("PAR1", "\x00"), "a Parquet file", "read it with format: parquet, unpacked where it is packed as a whole"},
	{magic("PARE", "\x00"), "an encrypted Parquet file", "export it without encryption and read it with format: parquet"},
	{magic("ORC", "\x00"), "an ORC file", "export it as Parquet or text"},
	{magic("Obj\x01", "avro."), "an Avro file", "export it as text (sqoop import --as-textfile) or Parquet"},
	{isSequenceFile, "a SequenceFile", "export it as text (sqoop import --as-textfile) or Parquet"},
	{magic("RCF\x01", ""), "an RCFile", "export it as Parquet or text"},
	{magic("DATABLK", "\x00"), "an HFile", "load it with bulkload load, or give the export it was made of"},
	{isTar, "a tar archive", "unpack it first"},
}

// DetectForeign returns an error for a file that is not text, given the first bytes of its decompressed content; nil
// for text. The error is a *compressed.RefusedError that says what the file is and what to do.
func DetectForeign(name string, head []byte) error {
	head = head[:min(len(head), DetectLen)]
	for _, r := range foreignFormats {
		if r.is(name, head) {
			return &compressed.RefusedError{Name: name, What: r.what, Do: r.do}
		}
	}
	return detectCompressedTwice(name, head)
}

// detectCompressedTwice detects content that is still compressed when it should be text.
func detectCompressedTwice(name string, head []byte) error {
	switch codec, _ := compressed.Detect("", head); codec {
	case compressed.Gzip, compressed.Bzip2, compressed.Zstd:
		return &compressed.RefusedError{Name: name,
			What: fmt.Sprintf("compressed twice (%s inside, unless input.compression is wrong)", codec),
			Do:   "unpack it once first, or leave out input.compression"}
	}
	return nil
}

// magic detects a file by how it begins. The text with must occur somewhere after that, because three letters may also
// begin a text.
func magic(begins, with string) func(string, []byte) bool {
	return func(_ string, head []byte) bool {
		return bytes.HasPrefix(head, []byte(begins)) && bytes.Contains(head[len(begins):], []byte(with))
	}
}

// isSequenceFile looks for SEQ, a version, and the name of the key's class with its length before it
// (org.apache.hadoop.io.SequenceFile).
func isSequenceFile(_ string, head []byte) bool {
	return len(head) > 8 && string(head[:3]) == "SEQ" && head[3] <= 6 && head[4] > 4 && int(head[4]) < len(head)-5 &&
		bytes.IndexByte(head[5:5+int(head[4])], '.') > 0
}

func isTar(_ string, head []byte) bool {
	return len(head) >= 512 && string(head[257:262]) == "ustar"
}

// isExport looks for a number from one to five, soon followed by EXPORT:V and the version. Oracle does not document it;
// people who read such files found it.
func isExport(_ string, head []byte) bool {
	return len(head) > 0 && head[0] >= 1 && head[0] <= 5 && bytes.Contains(head[:min(len(head), 40)], []byte("EXPORT:V"))
}

// jobName is the quoted owner and name of a Data Pump job's table, ended by a zero byte.
var jobName = regexp.MustCompile(`"[^"\x00-\x1f]{1,128}"\."[^"\x00-\x1f]{1,128}"\x00`)

// isDataPump checks what dumps of many versions have in common, because the format is not published: blocks of 4,096
// bytes; in the first one, zero bytes and the job's name; in compressed ones KGC and HDR; and tables described in XML.
func isDataPump(name string, head []byte) bool {
	if len(head) >= 8 && string(head[:3]) == "KGC" && string(head[5:8]) == "HDR" {
		return true
	}
	zeros := bytes.Count(head, []byte{0})
	if zeros*100 <= len(head) {
		return false
	}
	first := head[:min(len(head), 4096)]
	if bytes.Contains(first, []byte("EXPORT:V")) || jobName.Match(first) {
		return true
	}
	for at := 4096; at+7 <= len(head); at += 4096 {
		if string(head[at+2:at+7]) == "<?xml" {
			return true
		}
	}
	ext := strings.ToLower(path.Ext(name))
	return ext == ".dmp" || ext == ".expdp" || ext == ".dump"
}
