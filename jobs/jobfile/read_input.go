package jobfile

import (
	"path"
	"regexp"
	"strconv"
	"strings"

	"bulkload/ingest"
	"bulkload/jobs/jobkeys"
)

// format is a format of input: its own keys, and how they are read into a form of the named columns.
type format struct {
	keys []jobkeys.Key
	read func(s *section, columns []string) ingest.Form
}

var formats = map[string]format{
	"delimited": {jobkeys.Delimited, readDelimited},
	"csv":       {jobkeys.CSV, readCSV},
	"parquet":   {jobkeys.Parquet, readParquet},
}

func readInput(j *Job, s *section) {
	if s == nil {
		return
	}
	format := s.format()
	s.known(jobkeys.Input, format.keys)
	s.require("path", "columns")
	in := &j.Input
	in.Path = s.undated("path")
	s.checkPlace("path", in.Path)
	in.Dated = s.dated("path")
	if _, err := path.Match(in.Path, ""); err != nil && strings.ContainsAny(in.Path, "*?") {
		s.fail("path", "%q is not a valid pattern: it has a [ without a ]", in.Path)
	}
	readColumns(j, s)
	s.doc.columns = j.columnNames()
	in.Form = format.read(s, s.doc.columns)
	if err := in.Form.Check(); err != nil && s.has("columns") {
		s.doc.fail(s.node, "input: %v", err)
	}
	in.MaxRejects = s.limit("max_rejects")
	in.RequireSuccess = s.flag("require_success")
	in.Rows, in.RowsAtLeast = s.rows("expect_rows")
	in.EmptyFails = s.oneOf("empty", "ok", "fail") == "fail"
	in.SpaceUnchecked = s.has("check_space") && !s.flag("check_space")
}

// format is the input's format; if the file names an unknown one, which is reported, delimited text with the keys of
// all formats.
func (s *section) format() format {
	name := s.oneOf("format", "delimited", "csv", "parquet")
	if f, known := formats[name]; known {
		return f
	}
	unknown := format{read: readDelimited}
	for _, f := range formats {
		unknown.keys = append(unknown.keys, f.keys...)
	}
	return unknown
}

func readColumns(j *Job, s *section) {
	j.places = map[string]int{}
	for i, c := range s.texts("columns") {
		if c.text == "" {
			s.doc.fail(c.node, "input.columns: column %d has no name", i+1)
		} else if _, twice := j.places[c.text]; twice {
			s.doc.fail(c.node, "input.columns: %q is listed twice", c.text)
		} else {
			j.places[c.text] = i
		}
		j.Columns = append(j.Columns, Column{Name: c.text})
	}
}

func (j *Job) columnNames() []string {
	names := make([]string, len(j.Columns))
	for i, c := range j.Columns {
		names[i] = c.Name
	}
	return names
}

var scheme = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*)://`)

// checkPlace checks that a file system exists for a path; it is false where none has it, which is reported.
func (s *section) checkPlace(key, text string) bool {
	if m := scheme.FindStringSubmatch(text); m != nil && !strings.EqualFold(m[1], "hdfs") && !strings.EqualFold(m[1], "file") {
		s.fail(key, "%s: is not a file system that bulkload supports; use a local path, file:///… or hdfs://…", m[1])
		return false
	}
	return true
}

// limit is max_rejects: a count or a percentage.
func (s *section) limit(key string) ingest.Limit {
	if !s.has(key) {
		return ingest.Limit{}
	}
	text := s.text(key)
	if text == "" {
		return ingest.Limit{}
	}
	limit, err := ingest.ParseLimit(text)
	if err != nil {
		s.fail(key, "%v", err)
	}
	return limit
}

// rows is expect_rows: a count, or a minimum such as ">= 1000".
func (s *section) rows(key string) (int64, bool) {
	if !s.has(key) {
		return -1, false
	}
	whole := s.text(key)
	if whole == "" {
		return -1, false
	}
	text, atLeast := strings.CutPrefix(whole, ">=")
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || n < 0 {
		s.fail(key, "%q is neither a count such as 500000 nor a minimum such as '>= 1'", whole)
	}
	return n, atLeast
}

// isLocal distinguishes a path on this machine from an HDFS URI and from URIs that checkPlace refuses.
func isLocal(name string) bool {
	m := scheme.FindStringSubmatch(name)
	return !strings.HasPrefix(name, "hdfs:") && (m == nil || strings.EqualFold(m[1], "file"))
}
