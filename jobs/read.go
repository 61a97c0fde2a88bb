package jobs

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"bulkload/hfilewriter"
	"bulkload/ingest"
	"bulkload/keys"

	"gopkg.in/yaml.v3"
)

// ReadOptions say with what a job file is read.
type ReadOptions struct {
	Date         time.Time                        // the logical date; zero: none
	DateOptional bool                             // the paths and the timestamp are not needed, so their ${date} neither
	Environment  func(name string) (string, bool) // for ${env.NAME}; nil: the process's
}

// Read reads and checks a job file. Every error names the file and the line.
func Read(path string, o ReadOptions) (*Job, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, usagef("read the job file: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	return parse(path, f, o)
}

// parse reads a job file's text; path is its name.
func parse(path string, in io.Reader, o ReadOptions) (*Job, error) {
	if o.Environment == nil {
		o.Environment = os.LookupEnv
	}
	s, err := readDocument(path, in, variables{o.Date, o.Environment, o.DateOptional})
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, usagef("find the folder of %s: %w", path, err)
	}
	j := &Job{Path: path, Dir: dir, Date: o.Date}
	j.read(s)
	if err := s.doc.err(); err != nil {
		return nil, err
	}
	j.hash, err = j.identity()
	return j, err
}

func (j *Job) read(s *section) {
	s.known("table", "family", "timestamp", "input", "columns_map", "rowkey", "query", "regions", "hfile", "output",
		"load", "hbase", "duplicates", "outputs")
	s.notYet("outputs")
	s.require("table", "input", "rowkey", "regions", "output")
	j.readTable(s)
	j.readInput(s.section("input"))
	j.readColumnsMap(s)
	j.readTimestamp(s)
	j.readRowKey(s)
	j.readRegions(s.section("regions"))
	j.readHFile(s, s.section("hfile"))
	j.readHBase(s.section("hbase"))
	j.Strict = s.oneOf("duplicates", "last", "error") == "error"
	j.Output = s.undated("output")
	s.checkPlace("output", j.Output)
	j.Load = s.flag("load")
	if j.Load && !strings.HasPrefix(j.Output, "hdfs:") && s.has("output") && j.Output != "" {
		s.fail("load", "true hands the files to HBase, which takes them from HDFS; output is the local path %s", j.Output)
	}
}

// tableName follows TableName.isLegalFullyQualifiedTableName.
var tableName = regexp.MustCompile(`^(?:[A-Za-z0-9_]+:)?[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

func (j *Job) readTable(s *section) {
	j.Table = s.text("table")
	if j.Table != "" && !tableName.MatchString(j.Table) {
		s.fail("table", "%q is not a table's name; write namespace:name or name", j.Table)
	}
	if s.has("family") {
		checkFamily(s, "family", s.text("family"))
	}
}

func checkFamily(s *section, key, name string) {
	switch {
	case name == "" || len(name) > 127:
		s.fail(key, "a family's name has 1 to 127 bytes")
	case strings.ContainsAny(name, ":/") || name[0] == '.' || name[0] == '_':
		s.fail(key, "family %q can't be a folder of the output: it must hold no : or / and not begin with . or _", name)
	}
}

func (j *Job) readInput(s *section) {
	if s == nil {
		return
	}
	s.known("path", "format", "columns", "field_delimiter", "record_delimiter", "null", "charset", "max_rejects",
		"require_success", "expect_rows", "empty", "check_space")
	s.require("path", "columns")
	if format := s.oneOf("format", "delimited", "csv", "parquet"); format == "csv" || format == "parquet" {
		s.fail("format", "%s is not built yet; delimited is", format)
	}
	if charset := s.text("charset"); charset != "" && !strings.EqualFold(charset, "utf-8") {
		s.fail("charset", "%s is not built yet; utf-8 is", charset)
	}
	in := &j.Input
	in.Path = s.undated("path")
	s.checkPlace("path", in.Path)
	if _, err := path.Match(in.Path, ""); err != nil && strings.ContainsAny(in.Path, "*?") {
		s.fail("path", "%q is no glob: a [ without its ]", in.Path)
	}
	for i, c := range s.list("columns") {
		if slices.ContainsFunc(j.Columns, func(o Column) bool { return o.Name == c.text }) {
			s.doc.fail(c.node, "input.columns: %q stands twice", c.text)
		}
		if c.text == "" {
			s.doc.fail(c.node, "input.columns: column %d has no name", i+1)
		}
		j.Columns = append(j.Columns, Column{Name: c.text})
		in.Form.Columns = append(in.Form.Columns, c.text)
	}
	in.Form.FieldDelimiter = delimiterOf(s, "field_delimiter", "\x01")
	in.Form.RecordDelimiter = delimiterOf(s, "record_delimiter", "\n")
	if s.has("null") {
		in.Form.Null = []byte(s.text("null"))
	}
	if err := in.Form.Check(); err != nil && s.has("columns") {
		s.doc.fail(s.node, "input: %v", err)
	}
	in.MaxRejects = s.limit("max_rejects")
	in.RequireSuccess = s.flag("require_success")
	in.Rows, in.RowsAtLeast = s.rows("expect_rows")
	in.EmptyFails = s.oneOf("empty", "ok", "fail") == "fail"
	in.SpaceUnchecked = s.has("check_space") && !s.flag("check_space")
}

var scheme = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*)://`)

// checkPlace wants a path that some file system has.
func (s *section) checkPlace(key, text string) {
	n, ok := s.values[key]
	if ok && resolve(n).Kind == yaml.ScalarNode && resolve(n).Tag != "!!null" && resolve(n).Value == "" {
		s.fail(key, "is empty; write a local path, file:///… or hdfs://…")
	}
	if m := scheme.FindStringSubmatch(text); m != nil && !strings.EqualFold(m[1], "hdfs") && !strings.EqualFold(m[1], "file") {
		s.fail(key, "%s: is no file system this program knows; use a local path, file:///… or hdfs://…", m[1])
	}
}

func delimiterOf(s *section, key, def string) []byte {
	if !s.has(key) {
		return []byte(def)
	}
	text, ok := s.scalar(key, s.values[key])
	if !ok {
		return []byte(def)
	}
	d, err := ingest.ParseDelimiter(text)
	if err != nil {
		s.fail(key, "%v", err)
		return []byte(def)
	}
	return d
}

// limit is max_rejects: a count or a percentage.
func (s *section) limit(key string) ingest.Limit {
	if !s.has(key) {
		return ingest.Limit{}
	}
	limit, err := ingest.ParseLimit(s.text(key))
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
	text, atLeast := strings.CutPrefix(s.text(key), ">=")
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || n < 0 {
		s.fail(key, "%q is neither a count such as 500000 nor a minimum such as '>= 1'", s.text(key))
	}
	return n, atLeast
}

// readColumnsMap gives each column its family and qualifier.
func (j *Job) readColumnsMap(s *section) {
	family := s.text("family")
	for i := range j.Columns {
		j.Columns[i].Family, j.Columns[i].Qualifier = family, j.Columns[i].Name
	}
	if rules := s.section("columns_map"); rules != nil {
		for name := range rules.keys {
			j.readColumnRule(rules, name, family)
		}
	}
	j.checkCells(s)
}

func (j *Job) readColumnRule(rules *section, name, family string) {
	i, ok := j.column(name)
	if !ok {
		var names []string
		for _, c := range j.Columns {
			names = append(names, c.Name)
		}
		rules.doc.fail(rules.keys[name], "columns_map: input.columns has no column %s%s", name, keys.Meant(name, names))
		return
	}
	c := &j.Columns[i]
	rule := rules.section(name)
	rule.known("to", "skip", "width", "type", "null")
	rule.notYet("type", "null")
	c.Skip = rule.flag("skip")
	c.Width = int(rule.number("width", 0, 1))
	if !rule.has("to") {
		return
	}
	to := rule.text("to")
	if f, q, found := strings.Cut(to, ":"); found {
		checkFamily(rule, "to", f)
		c.Family, c.Qualifier = f, q
	} else {
		c.Family, c.Qualifier = family, to
	}
}

// checkCells wants a family for every cell and no two cells in one place.
func (j *Job) checkCells(s *section) {
	seen := map[[2]string]string{}
	for _, c := range j.cellColumns() {
		place := [2]string{c.Family, c.Qualifier}
		if other, taken := seen[place]; taken {
			s.fail("columns_map", "columns %s and %s both become the cell %s:%s", other, c.Name, c.Family, c.Qualifier)
		}
		seen[place] = c.Name
		if c.Family == "" && !s.has("family") {
			s.doc.fail(s.node, "family is missing, and columns_map gives column %s none", c.Name)
			return
		}
	}
	if len(seen) == 0 && len(j.Columns) > 0 {
		s.fail("columns_map", "skips every column; a row needs at least one cell")
	}
}

// readTimestamp takes a date (midnight UTC), RFC 3339 or epoch milliseconds; ${date} where the key is missing.
func (j *Job) readTimestamp(s *section) {
	text := s.undated("timestamp")
	if !s.has("timestamp") && !s.doc.variables.dateOptional {
		if j.Date.IsZero() {
			s.doc.fail(s.node, "timestamp is ${date} where it is not given, which %v", errNoDate)
			return
		}
		text = j.dateText()
	}
	if text == "" {
		return
	}
	if strings.HasPrefix(text, "column:") {
		s.fail("timestamp", "%s is not built yet; a date, RFC 3339 or epoch milliseconds are", text)
		return
	}
	ms, err := parseTimestamp(text)
	if err != nil {
		s.fail("timestamp", "%v", err)
	}
	j.Timestamp = ms
}

func parseTimestamp(text string) (int64, error) {
	ms, err := parseMoment(text)
	if err == nil && ms <= 0 {
		err = fmt.Errorf("%s is not after 1970-01-01T00:00:00Z, from which HBase's timestamps count", text)
	}
	return ms, err
}

func parseMoment(text string) (int64, error) {
	if t, err := time.Parse(time.DateOnly, text); err == nil {
		return t.UnixMilli(), nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t.UnixMilli(), nil
	}
	if t, err := time.Parse("20060102", text); err == nil {
		return 0, fmt.Errorf("%s is either a date or epoch milliseconds in 1970: write %s for the date", text, t.Format(time.DateOnly))
	}
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is neither a date such as 2026-11-20, nor RFC 3339, nor epoch milliseconds", text)
	}
	return ms, nil
}

func (j *Job) readRowKey(s *section) {
	if !s.has("rowkey") || len(j.Columns) == 0 {
		return
	}
	text := s.text("rowkey")
	if text == "" {
		return
	}
	columns := make([]keys.Column, len(j.Columns))
	for i, c := range j.Columns {
		columns[i] = keys.Column{Name: c.Name, Width: c.Width}
	}
	expr, err := keys.Parse(text, columns)
	if err != nil {
		s.fail("rowkey", "%v", err)
		return
	}
	j.RowKey = expr
	for _, q := range s.list("query") {
		if _, ok := j.column(q.text); !ok {
			s.doc.fail(q.node, "query: input.columns has no column %s%s", q.text, keys.Meant(q.text, j.Input.Form.Columns))
		}
		j.Query = append(j.Query, q.text)
	}
	if known := len(s.doc.problems) == 0; known && len(j.Query) > 0 {
		if _, err := expr.Prefix(j.Query); err != nil {
			s.fail("query", "%v", err)
		}
	}
}

func (j *Job) readRegions(s *section) {
	if s == nil {
		return
	}
	s.known("from", "splits", "file")
	s.require("from")
	j.Regions.From = s.oneOf("from", "splits", "table", "file", "plan")
	switch j.Regions.From {
	case "splits":
		s.require("splits")
		for _, split := range s.list("splits") {
			j.addSplit(s, split.node.Line, split.text)
		}
	case "file":
		s.require("file")
		j.readSplitsFile(s)
	case "plan":
		s.fail("from", "plan is not built yet; splits, file and table are")
	}
	for _, key := range []string{"splits", "file"} {
		if s.has(key) && j.Regions.From != key {
			s.fail(key, "is given, but regions.from is %s", j.Regions.From)
		}
	}
}

func (j *Job) addSplit(s *section, line int, text string) {
	b, err := ParseBinary(text)
	if err == nil && len(b) == 0 {
		err = fmt.Errorf("a split must not be empty: the first region begins at the empty row by itself")
	}
	if n := len(j.Regions.Splits); err == nil && n > 0 && bytes.Compare(j.Regions.Splits[n-1], b) >= 0 {
		err = fmt.Errorf("split %q does not come behind %q; splits ascend", text, Printable(j.Regions.Splits[n-1]))
	}
	if err != nil {
		s.doc.problems = append(s.doc.problems, problem{line, "regions." + j.Regions.From + ": " + err.Error()})
		return
	}
	j.Regions.Splits = append(j.Regions.Splits, b)
}

// readSplitsFile reads a split a line, in the form of the HBase shell's SPLITS_FILE.
func (j *Job) readSplitsFile(s *section) {
	name := s.text("file")
	if name == "" {
		return
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(j.Dir, name)
	}
	f, err := os.Open(name)
	if err != nil {
		s.fail("file", "%v", err)
		return
	}
	defer func() { _ = f.Close() }() // it was only read
	lines := bufio.NewScanner(io.LimitReader(f, 64<<20))
	for lines.Scan() {
		if line := strings.TrimSpace(lines.Text()); line != "" {
			j.addSplit(s, s.values["file"].Line, line)
		}
	}
	if err := lines.Err(); err != nil {
		s.fail("file", "read %s: %v", name, err)
	}
}

func (j *Job) readHFile(top, s *section) {
	h := &j.HFile
	h.Settings = hfilewriter.Settings{Compression: hfilewriter.CompressNone, Bloom: hfilewriter.BloomRow, BlockSize: 64 << 10}
	h.Given = map[string]bool{}
	if s == nil {
		if j.Regions.From == "splits" || j.Regions.From == "file" {
			top.doc.fail(top.node, "hfile is missing: it says compression, encoding and bloom where regions.from is not table")
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
	v, err := parse(s.text(key))
	if err != nil {
		s.fail(key, "%v", err)
		return
	}
	*into = v
}

func (j *Job) readHBase(s *section) {
	if s == nil {
		return
	}
	s.known("conf", "kerberos")
	s.notYet("kerberos")
	j.HBase.Conf = s.text("conf")
	if j.HBase.Conf != "" && !filepath.IsAbs(j.HBase.Conf) {
		j.HBase.Conf = filepath.Join(j.Dir, j.HBase.Conf)
	}
}
