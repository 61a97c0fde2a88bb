package jobfile

import (
	"bufio"
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	"bulkload/internal/errcode"
	"bulkload/internal/printable"
	"bulkload/jobs/spec/yamldoc"

	"go.yaml.in/yaml/v3"
)

func readRegions(j *Job, s *yamldoc.Section) {
	if s == nil {
		return
	}
	s.Known(yamldoc.Regions)
	s.Require("from")
	j.Regions.From = s.OneOf("from", "splits", "table", "file", "plan")
	switch j.Regions.From {
	case "splits":
		s.Require("splits")
		for _, split := range s.Texts("splits") {
			addSplit(j, s, split.Node, split.Text)
		}
	case "file":
		s.Require("file")
		readSplitsFile(j, s)
	case "plan":
		// The boundaries are computed from the input when it is read.
	}
	for _, key := range []string{"splits", "file"} {
		if s.Has(key) && j.Regions.From != key {
			s.FailCode(errcode.JobValue, key, "is given, but regions.from is %s", j.Regions.From)
		}
	}
}

func addSplit(j *Job, s *yamldoc.Section, at *yaml.Node, text string) {
	b, err := printable.Parse(text)
	if err == nil && len(b) == 0 {
		err = fmt.Errorf("a split must not be empty: the first region always begins at the empty row")
	}
	if n := len(j.Regions.Splits); err == nil && n > 0 && bytes.Compare(j.Regions.Splits[n-1], b) >= 0 {
		err = fmt.Errorf("split %q does not come after %q; list the splits in ascending order", text,
			printable.Bytes(j.Regions.Splits[n-1]))
	}
	if err != nil {
		s.Doc.FailCode(errcode.JobValue, at, "regions.%s: %v", j.Regions.From, err)
		return
	}
	j.Regions.Splits = append(j.Regions.Splits, b)
}

// maxSplitsFile bounds the bytes of a file of splits; it is enough for more regions than any table has.
const maxSplitsFile = 64 << 20

// readSplitsFile reads a file with one split on each line, in the form of the HBase shell's SPLITS_FILE.
func readSplitsFile(j *Job, s *yamldoc.Section) {
	name := s.Text("file")
	if name == "" {
		return
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(j.Dir, name)
	}
	text, err := s.Doc.Read(name, maxSplitsFile)
	if err != nil {
		s.Fail("file", "%v", err)
		return
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		if line := strings.TrimSpace(lines.Text()); line != "" {
			addSplit(j, s, s.Values["file"], line)
		}
	}
	if err := lines.Err(); err != nil {
		s.Fail("file", "read %s: %v", name, err)
	}
}
