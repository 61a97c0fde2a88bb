package ingest

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
)

// foreign tells files that are no plain text by how they begin.
var foreign = []struct{ magic, what string }{
	{"\x1f\x8b", "compressed with gzip"},
	{"\x28\xb5\x2f\xfd", "compressed with zstd"},
	{"\x89LZO", "compressed with lzop"},
	{"PAR1", "a Parquet file"},
	{"Obj\x01", "an Avro file"},
	{"ORC", "an ORC file"},
	{"SEQ\x06", "a SequenceFile"},
}

// Codecs that Hadoop writes without a magic number are told by the file's name alone.
var foreignNames = map[string]string{
	".snappy": "compressed with snappy", ".lz4": "compressed with lz4", ".deflate": "compressed with deflate",
}

// bzip2 is told by its level and first block: BZh alone may begin a text.
var bzip2 = regexp.MustCompile(`^BZh[1-9]1AY&SY`)

// refuseForeign answers a file that no delimiters will make sense of; the reader stands at its start.
func (r *Reader) refuseForeign() error {
	what := foreignNames[path.Ext(r.split.File.Path)]
	if bzip2.Match(r.buf[:r.fill]) {
		what = "compressed with bzip2"
	}
	for _, f := range foreign {
		if bytes.HasPrefix(r.buf[:r.fill], []byte(f.magic)) && (f.what[0] == 'c' || !bytes.Contains(r.buf[:r.fill], r.form.RecordDelimiter)) {
			what = f.what
		}
	}
	if what == "" || r.fill == 0 {
		return nil
	}
	return fmt.Errorf("read %s: it is %s, which a delimited input can't be; export it as plain text or unpack it first",
		r.split.File.Path, what)
}
