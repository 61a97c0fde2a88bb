package jobfile

import (
	"regexp"

	"bulkload/hfilewriter"
	"bulkload/jobs/spec/yamldoc"
)

// Suggested returns the settings for a table that does not exist yet. Where the job file gives none, it adds those that
// suit text read by a key prefix.
func (h HFileSettings) Suggested() HFileSettings {
	if !h.Given["compression"] {
		h.Settings.Compression = hfilewriter.CompressSnappy
	}
	if !h.Given["encoding"] {
		h.Settings.Encoding = hfilewriter.EncodeFastDiff
	}
	return h
}

// hbaseVersion is at least 1.2, which is the oldest that can take this program's files.
var hbaseVersion = regexp.MustCompile(`^(1\.([2-9]|[1-9]\d)|[2-9]\.\d+)(\.\d+)?$`)

func readHFile(j *Job, s *yamldoc.Section) {
	h := &j.HFile
	h.Settings = hfilewriter.Settings{Compression: hfilewriter.CompressNone,
		Bloom: hfilewriter.BloomRow, BlockSize: 64 << 10}
	h.Given = map[string]bool{}
	if s == nil {
		if j.Regions.From != "table" { // for a table, the job's hash must stay as it was before there was a suggestion
			*h = h.Suggested()
		}
		return
	}
	s.Known(yamldoc.HFile)
	for _, key := range []string{"compression", "encoding", "bloom", "block_size"} {
		h.Given[key] = s.Has(key)
	}
	choose(s, "compression", hfilewriter.ParseCompression, &h.Settings.Compression)
	choose(s, "encoding", hfilewriter.ParseEncoding, &h.Settings.Encoding)
	choose(s, "bloom", hfilewriter.ParseBloom, &h.Settings.Bloom)
	h.Settings.BlockSize = int(s.Size("block_size", 64<<10))
	h.MaxSize = s.Size("max_size", 0)
	h.SliceSize = s.Size("slice_size", 0)
	if j.HBaseVersion = s.Text("hbase_version"); s.Has("hbase_version") && !hbaseVersion.MatchString(j.HBaseVersion) {
		s.Fail("hbase_version", "%q is not a version of HBase from 1.2 on, such as '2.1' or 2.1.4", j.HBaseVersion)
	}
	checked := h.Settings
	if checked.Bloom == hfilewriter.BloomRowPrefix && j.Regions.From == "table" {
		checked.BloomPrefix = 1 // the table sets it
	}
	if err := checked.Check(); err != nil {
		s.Doc.Fail(s.Node, "hfile: %v", err)
	}
}

func choose[T any](s *yamldoc.Section, key string, parse func(string) (T, error), into *T) {
	if !s.Has(key) {
		return
	}
	text := s.Text(key)
	if text == "" {
		return
	}
	v, err := parse(text)
	if err != nil {
		s.Fail(key, "%v", err)
		return
	}
	*into = v
}
