package jobfile

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"bulkload/ingest"
	"bulkload/internal/errcode"
	"bulkload/jobs/spec/yamldoc"
)

// format is an input format: its own keys, and the function that reads them for the named columns.
type format struct {
	name string
	keys []yamldoc.Key
	read func(s *yamldoc.Section, columns []string) ingest.Format
}

var formats = map[string]format{
	"delimited": {"delimited", yamldoc.Delimited, readDelimited},
	"csv":       {"csv", yamldoc.CSV, readCSV},
	"parquet":   {"parquet", yamldoc.Parquet, readParquet},
}

func readInput(j *Job, s *yamldoc.Section) {
	if s == nil {
		return
	}
	format := formatOf(s)
	s.Known(yamldoc.Input, format.keys, refuseOthers(s, format))
	s.Require("path", "columns")
	in := &j.Input
	in.Path = s.Undated("path")
	checkPlace(s, "path", in.Path)
	in.Dated = s.Dated("path")
	if _, err := path.Match(in.Path, ""); err != nil && strings.ContainsAny(in.Path, "*?") {
		s.Fail("path", "%q is not a valid pattern: it has a [ without a ]", in.Path)
	}
	readColumns(j, s)
	s.Doc.Columns = j.columnNames()
	in.Form = format.read(s, s.Doc.Columns)
	if err := in.Form.Check(); err != nil && s.Has("columns") {
		s.Doc.Fail(s.Node, "input: %v", err)
	}
	in.MaxRejects = limit(s, "max_rejects")
	in.RequireSuccess = s.Flag("require_success")
	in.Rows, in.RowsAtLeast = rows(s, "expect_rows")
	in.EmptyFails = s.OneOf("empty", "ok", "fail") == "fail"
	in.SpaceUnchecked = s.Has("check_space") && !s.Flag("check_space")
}

// formatOf returns the input's format. It reports an unknown one and continues with delimited text that has the keys of
// all formats, so that these cause no further errors.
func formatOf(s *yamldoc.Section) format {
	name := s.OneOf("format", "delimited", "csv", "parquet")
	if f, known := formats[name]; known {
		return f
	}
	unknown := format{read: readDelimited}
	for _, f := range formats {
		unknown.keys = append(unknown.keys, f.keys...)
	}
	return unknown
}

// refuseOthers reports the keys that only inputs of other formats have, and returns them.
func refuseOthers(s *yamldoc.Section, own format) (refused []yamldoc.Key) {
	for _, key := range slices.Sorted(maps.Keys(s.Keys)) {
		if slices.Contains(yamldoc.Names(yamldoc.Input, own.keys), key) {
			continue
		}
		var of []string
		for name, f := range formats {
			if slices.Contains(yamldoc.Names(f.keys), key) {
				of = append(of, name)
			}
		}
		if of != nil {
			slices.Sort(of)
			s.Doc.FailCode(errcode.JobKey, s.Keys[key], "unknown key input.%s for format %s; it is one of format %s",
				key, own.name, strings.Join(of, " and "))
			refused = append(refused, yamldoc.Key{Name: key})
		}
	}
	return refused
}

func readColumns(j *Job, s *yamldoc.Section) {
	j.places = map[string]int{}
	for i, c := range s.Texts("columns") {
		if c.Text == "" {
			s.Doc.Fail(c.Node, "input.columns: column %d has no name", i+1)
		} else if _, twice := j.places[c.Text]; twice {
			s.Doc.Fail(c.Node, "input.columns: %q is listed twice", c.Text)
		} else {
			j.places[c.Text] = i
		}
		j.Columns = append(j.Columns, Column{Name: c.Text})
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

// checkPlace checks that bulkload supports a path's file system. If not, it reports that and returns false.
func checkPlace(s *yamldoc.Section, key, text string) bool {
	if m := scheme.FindStringSubmatch(text); m != nil && !strings.EqualFold(m[1], "hdfs") &&
		!strings.EqualFold(m[1], "file") {
		s.Fail(key, "%s: is not a file system that bulkload supports; use a local path, file:///… or hdfs://…", m[1])
		return false
	}
	return true
}

// limit reads max_rejects: a count or a percentage.
func limit(s *yamldoc.Section, key string) ingest.Limit {
	if !s.Has(key) {
		return ingest.Limit{}
	}
	text := s.Text(key)
	if text == "" {
		return ingest.Limit{}
	}
	limit, err := ingest.ParseLimit(text)
	if err != nil {
		s.Fail(key, "%v", err)
	}
	return limit
}

// rows reads expect_rows: a count, or a minimum such as ">= 1000".
func rows(s *yamldoc.Section, key string) (int64, bool) {
	if !s.Has(key) {
		return -1, false
	}
	whole := s.Text(key)
	if whole == "" {
		return -1, false
	}
	text, atLeast := strings.CutPrefix(whole, ">=")
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || n < 0 {
		s.Fail(key, "%q is neither a count such as 500000 nor a minimum such as '>= 1'", whole)
	}
	return n, atLeast
}

// isLocal distinguishes a path on this machine from an HDFS URI and from URIs that checkPlace refuses.
func isLocal(name string) bool {
	m := scheme.FindStringSubmatch(name)
	return !strings.HasPrefix(name, "hdfs:") && (m == nil || strings.EqualFold(m[1], "file"))
}
