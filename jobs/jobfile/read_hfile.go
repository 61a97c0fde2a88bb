package jobfile

import (
	"bulkload/hfilewriter"
	"bulkload/internal/errcode"
)

func readHFile(j *Job, top, s *section) {
	h := &j.HFile
	h.Settings = hfilewriter.Settings{Compression: hfilewriter.CompressNone, Bloom: hfilewriter.BloomRow, BlockSize: 64 << 10}
	h.Given = map[string]bool{}
	if s == nil {
		if j.Regions.From != "table" {
			top.doc.failCode(errcode.JobMissing, top.node, "hfile is missing: unless regions.from is table, it must give compression, encoding and bloom; hfile: {} means none, none and row")
		}
		return
	}
	s.known("compression", "encoding", "bloom", "block_size", "max_size", "slice_size")
	for _, key := range []string{"compression", "encoding", "bloom", "block_size"} {
		h.Given[key] = s.has(key)
	}
	choose(s, "compression", hfilewriter.ParseCompression, &h.Settings.Compression)
	choose(s, "encoding", hfilewriter.ParseEncoding, &h.Settings.Encoding)
	choose(s, "bloom", hfilewriter.ParseBloom, &h.Settings.Bloom)
	h.Settings.BlockSize = int(s.size("block_size", 64<<10))
	h.MaxSize = s.size("max_size", 0)
	h.SliceSize = s.size("slice_size", 0)
	checked := h.Settings
	if checked.Bloom == hfilewriter.BloomRowPrefix && j.Regions.From == "table" {
		checked.BloomPrefix = 1 // the table has it
	}
	if err := checked.Check(); err != nil {
		s.doc.fail(s.node, "hfile: %v", err)
	}
}

func choose[T any](s *section, key string, parse func(string) (T, error), into *T) {
	if !s.has(key) {
		return
	}
	text := s.text(key)
	if text == "" {
		return
	}
	v, err := parse(text)
	if err != nil {
		s.fail(key, "%v", err)
		return
	}
	*into = v
}
