package jobs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// exampleJobs are the job files of the examples, by name.
func exampleJobs(t testing.TB) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"examples/*.yaml", "examples/keys/*.yaml"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all[name] = string(text)
		}
	}
	if len(all) < 40 {
		t.Fatalf("%d examples", len(all))
	}
	return all
}

// jobProblem is a line of a job file's errors.
var jobProblem = regexp.MustCompile(`^job\.yaml:[1-9][0-9]*: .|^job\.yaml: and [0-9]+ more errors$`)

// hostileOptions are the ways to read a job file: with a date, and without one where it is not needed.
var hostileOptions = []ReadOptions{
	{Date: date20, Environment: func(string) (string, bool) { return "", true }},
	{DateOptional: true, AnyQuery: true, Environment: func(string) (string, bool) { return "", false }},
}

// readHostile reads a text as a job file: it is a job that can be prepared, or a usage error that names the line.
func readHostile(t *testing.T, text string) {
	t.Helper()
	for _, o := range hostileOptions {
		j, err := parse("job.yaml", strings.NewReader(text), o)
		if err == nil {
			prepare(t, text, j, o)
			continue
		}
		if KindOf(err) != Usage {
			t.Errorf("%v: the error is not one of usage\n%s", err, text)
		}
		for _, line := range strings.Split(err.Error(), "\n") {
			if !jobProblem.MatchString(line) && strings.HasPrefix(line, "job.yaml") {
				t.Errorf("%q names no line\n%s", line, text)
			}
		}
		if !jobProblem.MatchString(err.Error()) {
			t.Errorf("%q names no line\n%s", err, text)
		}
	}
}

// prepare does what a run does with a job before it looks at the input and the cluster.
func prepare(t *testing.T, text string, whole *Job, o ReadOptions) {
	t.Helper()
	s, err := openSite(Options{Conf: "testdata"}, HBase{}, false)
	if err != nil {
		t.Fatal(err)
	}
	whole.runID(nil)
	for _, j := range whole.outputs() {
		if wrong := incomplete(j, o); wrong != "" {
			t.Errorf("%s, and no error\n%s", wrong, text)
		}
		newRecordKey(j)
		j.RowKey.Findings(j.Query)
		if j.Regions.From == "table" {
			if _, err := newLayout(j); err != nil && KindOf(err) != Refused {
				t.Logf("%v\n%s", err, text)
			}
			continue
		}
		if _, err := planTarget(j, s, nil); err != nil && KindOf(err) == Later {
			t.Errorf("%v\n%s", err, text)
		}
	}
}

// incomplete is what a job that was read without an error lacks; "" where it is complete.
func incomplete(j *Job, o ReadOptions) string {
	dated := !o.Date.IsZero()
	switch {
	case j.RowKey == nil:
		return "no row key"
	case len(j.cellColumns()) == 0:
		return "no cells"
	case j.Table == "":
		return "no table"
	case j.Regions.From == "":
		return "no regions"
	case dated && j.Output == "":
		return "no output"
	case dated && j.Input.Path == "":
		return "no input"
	case dated && j.Moments == "" && (j.Timestamp <= 0 || j.Timestamp > endOf9999):
		return fmt.Sprintf("the timestamp %d", j.Timestamp)
	case j.hash == "":
		return "no hash"
	}
	return ""
}

// mutations are what each node of a job file is replaced by.
func mutations() []*yaml.Node {
	scalar := func(tag, value string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value} }
	list := func(content ...*yaml.Node) *yaml.Node { return &yaml.Node{Kind: yaml.SequenceNode, Content: content} }
	mapping := func(content ...*yaml.Node) *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode, Content: content} }
	return []*yaml.Node{
		scalar("!!str", ""), scalar("!!str", " "), scalar("!!str", "${env.EMPTY}"), scalar("!!null", "null"), scalar("!!int", "0"), scalar("!!int", "-7"),
		scalar("!!float", "1.5e300"), scalar("!!bool", "true"), scalar("!!str", strings.Repeat("huge ", 2000)), scalar("!!str", "\x00\xff"),
		list(), list(scalar("!!str", "")), list(list()), mapping(), mapping(scalar("!!str", ""), scalar("!!str", "")), mapping(scalar("!!str", "x"), list()),
	}
}

// mutate calls visit with the document once for each change of each of its nodes: replaced, or swapped with its neighbour.
func mutate(root, n *yaml.Node, visit func()) {
	for i := range n.Content {
		child := n.Content[i]
		for _, m := range mutations() {
			n.Content[i] = m
			visit()
		}
		n.Content[i] = child
		for _, next := range []int{i + 1, i + 2} {
			if next < len(n.Content) && n.Kind != yaml.DocumentNode {
				n.Content[i], n.Content[next] = n.Content[next], n.Content[i]
				visit()
				n.Content[i], n.Content[next] = n.Content[next], n.Content[i]
			}
		}
		mutate(root, child, visit)
	}
}

// mutated are the documents with each of their nodes changed.
func mutated(t *testing.T, text string, visit func(text string)) {
	t.Helper()
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(text), &root); err != nil {
		t.Fatal(err)
	}
	mutate(&root, &root, func() {
		changed, err := yaml.Marshal(&root)
		if err == nil {
			visit(string(changed))
		}
	})
}

// TestMutatedJobs changes each node of each example, one at a time.
func TestMutatedJobs(t *testing.T) {
	n, last := 0, ""
	defer func() {
		if p := recover(); p != nil {
			t.Fatalf("%v\n%s", p, last)
		}
	}()
	for name, text := range exampleJobs(t) {
		if strings.HasPrefix(name, "examples/keys/") { // these differ in the row key alone
			continue
		}
		mutated(t, text, func(changed string) { n++; last = changed; readHostile(t, changed) })
	}
	t.Logf("%d job files", n)
}

// FuzzReadJob gives Read any text.
func FuzzReadJob(f *testing.F) {
	for _, text := range exampleJobs(f) {
		f.Add(text)
	}
	f.Add(jobWith(nil))
	f.Add(jobWith(map[int]string{17: "columns_map: {note: {to: 'g:n', skip: true}}"}))
	f.Add("a: &a [*a]\n")
	f.Add("a: *b\n")
	f.Add("# nothing\n")
	f.Add("---\n")
	f.Add("\x00")
	f.Add("input: {columns: [[], {}]}\nregions: {splits: {}}")
	f.Fuzz(func(t *testing.T, text string) { readHostile(t, text) })
}

// TestEmptyTextsAreRefused: an empty text where one is required, or where it would mean nothing, is refused by line.
func TestEmptyTextsAreRefused(t *testing.T) {
	for key, lines := range map[string]map[int]string{
		"1: table":                             {1: "table: ''"},
		"2: family":                            {2: "family: ''"},
		"3: timestamp":                         {3: "timestamp: ''"},
		"3: timestamp: ":                       {3: "timestamp: '${env.EMPTY}'"},
		"5: input.path":                        {5: "  path: ''"},
		"5: input.path: ":                      {5: "  path: '${env.EMPTY}'"},
		"9: input.format":                      {9: "  format: ''"},
		"9: input.charset":                     {9: "  charset: ''"},
		"9: input.compression":                 {9: "  compression: ''"},
		"9: input.max_rejects":                 {9: "  max_rejects: ''"},
		"9: input.expect_rows":                 {9: "  expect_rows: ''"},
		"9: input.empty":                       {9: "  empty: ''"},
		"10: rowkey":                           {10: "rowkey: ''"},
		"10: rowkey: ":                         {10: "rowkey: ${env.EMPTY}"},
		"11: query: entry 1":                   {11: "query: ['']"},
		"13: regions.from":                     {13: "  from: ''"},
		"14: regions.file":                     {13: "  from: file", 14: "  file: ''"},
		"15: hfile.compression":                {15: "hfile: {compression: ''}"},
		"15: hfile.bloom":                      {15: "hfile: {bloom: ''}"},
		"16: output":                           {16: "output: ''"},
		"16: output: ":                         {16: "output: ${env.EMPTY}"},
		"17: duplicates":                       {17: "duplicates: ''"},
		"17: filter":                           {17: "filter: ''"},
		"17: cells: entry 2":                   {17: "cells: [id, '']"},
		"17: hbase.conf":                       {17: "hbase: {conf: ''}"},
		"17: wide.qualifier":                   {17: "wide: {qualifier: ''}"},
		"17: wide.value":                       {17: "wide: {qualifier: id, value: ''}"},
		"17: queries[0].columns: entry 1":      {17: "queries: [{columns: [''], per_day: 1}]"},
		"17: columns_map.id.to":                {17: "columns_map: {id: {to: ''}}"},
		"17: columns_map.id.type":              {17: "columns_map: {id: {type: ''}}"},
		"17: columns_map.id.store":             {17: "columns_map: {id: {store: ''}}"},
		"17: columns_map.id.null":              {17: "columns_map: {id: {null: ''}}"},
		"17: columns_map.id.zone":              {17: "columns_map: {id: {type: date, zone: ''}}"},
		"17: columns_map.id.format":            {17: "columns_map: {id: {type: date, format: ''}}"},
		"8: input.quote":                       {7: "  format: csv", 8: "-", 9: "  quote: ''"},
		"8: input.timestamp_zone":              {7: "  format: parquet", 8: "-", 9: "  timestamp_zone: ''"},
		"8: input.int96_zone":                  {7: "  format: parquet", 8: "-", 9: "  int96_zone: ''"},
		"8: input.millis_columns: entry 1":     {7: "  format: parquet", 8: "-", 9: "  millis_columns: ['']"},
		"8: input.binary":                      {7: "  format: parquet", 8: "-", 9: "  binary: ''"},
		"8: input.quoted_empty":                {7: "  format: csv", 8: "-", 9: "  quoted_empty: ''"},
		"17: columns_map..constant: has no na": {17: "columns_map: {'': {constant: x}}"},
	} {
		line, what, _ := strings.Cut(key, ": ")
		want := "job.yaml:" + line + ": " + strings.TrimSuffix(what, ": ")
		if !strings.Contains(what, ": ") {
			want += ": is empty"
		} else if strings.Contains(what, "entry") {
			want += " is empty"
		}
		_, err := readJob(t, jobWith(lines), map[string]string{"EMPTY": ""})
		if err == nil || !strings.Contains(err.Error(), want) || KindOf(err) != Usage {
			t.Errorf("%v: error %v, want %s", lines, err, want)
		}
	}
}

// TestEmptyTextsWithAMeaning: where an empty text says something it stays.
func TestEmptyTextsWithAMeaning(t *testing.T) {
	for _, lines := range []map[int]string{
		{9: "  null: ''"},
		{9: "  null: ['', 'NULL']"},
		{9: "  null_string: ''\n  null_non_string: ''"},
		{17: "columns_map: {mark: {constant: ''}}"},
		{17: "columns_map: {mark: {constant: '${env.EMPTY}'}}"},
		{17: "columns_map: {note: {to: 'g:'}}"},
		{11: "query: []"},
	} {
		if _, err := readJob(t, jobWith(lines), map[string]string{"EMPTY": ""}); err != nil {
			t.Errorf("%v: %v", lines, err)
		}
	}
}

// TestTimestampsOutOfRange: a timestamp that hides all later loads, or that HBase can't have, is refused by line.
func TestTimestampsOutOfRange(t *testing.T) {
	for text, want := range map[string]string{
		"0":                          "not after 1970",
		"-1":                         "not after 1970",
		"253402300800000":            "after the year 9999; it is most likely in microseconds",
		"1795132800000000":           "after the year 9999; it is most likely in microseconds",
		"99999999999999999":          "after the year 9999",
		"99999999999999999999":       "out of range",
		"-99999999999999999999":      "out of range",
		"9999-12-31T23:59:59-01:00":  "after the year 9999",
		"1970-01-01":                 "not after 1970",
		"1970-01-01T00:00:00Z":       "not after 1970",
		"0001-01-01":                 "not after 1970",
		"'column:'":                  "names no column",
		"20261120":                   "write 2026-11-20 for the date",
		"20261120000000":             "write 2026-11-20T00:00:00Z for the date",
		"202611200130":               "write 2026-11-20T01:30:00Z for the date",
		"${date:20060102}":           "write ${date}",
		"${date:20060102150405}":     "write ${date}",
		"${date:2006}":               "write ${date}",
		"${date:200601}":             "write ${date}",
		"${date:20060102}0000":       "write ${date}",
		"${date:02.01.2006}":         "neither a date",
		"1.5":                        "neither a date",
		"1795132800000.0":            "neither a date",
		"2026-11-20 01:02:03":        "neither a date",
		"${env.MICROS}":              "after the year 9999",
		"${env.EMPTY}":               "is empty",
		"'1795132800000 '":           "neither a date",
		"'-9223372036854775808'":     "not after 1970",
		"'9223372036854775807'":      "after the year 9999",
		"'+99999-01-01T00:00:00Z'":   "neither a date",
		"'2026-11-20T01:02:03+2400'": "neither a date",
	} {
		_, err := readJob(t, jobWith(map[int]string{3: "timestamp: " + text}), map[string]string{"MICROS": "1795132800000000", "EMPTY": ""})
		if err == nil || !strings.Contains(err.Error(), "job.yaml:3: timestamp: ") || !strings.Contains(err.Error(), want) || KindOf(err) != Usage {
			t.Errorf("%s: error %v, want %s", text, err, want)
		}
	}
	for text, want := range map[string]int64{"1": 1, "253402300799999": endOf9999, "9999-12-31T23:59:59.999Z": endOf9999, "${date:2006-01-02}": date20.UnixMilli(),
		"${date:2006-01-02T15:04:05Z07:00}": date20.UnixMilli(), "1970-01-02": 24 * time.Hour.Milliseconds()} {
		j, err := readJob(t, jobWith(map[int]string{3: "timestamp: " + text}), nil)
		if err != nil || j.Timestamp != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestDates: the logical date gives timestamps and the clock values of the files.
func TestDates(t *testing.T) {
	for _, text := range []string{"1970-01-01", "1969-12-31", "0001-01-01", "0000-01-01", "10000-01-01", "2026-02-29", "", "20261120"} {
		if d, err := ParseDate(text); err == nil || KindOf(err) != Usage {
			t.Errorf("%q is the date %v, %v", text, d, err)
		}
	}
	for _, text := range []string{"1970-01-02", "2024-02-29", "9999-12-31"} {
		if _, err := ParseDate(text); err != nil {
			t.Error(err)
		}
	}
}

// TestTimestampsOfRecords: a record's own timestamp has the bounds of the job's.
func TestTimestampsOfRecords(t *testing.T) {
	in := "1|1795132800000|x\n2|1795132800000000|x\n3|0|x\n4|-1|x\n5||x\n6|\\N|x\n7|253402300799999|x\n8|253402300800000|x\n"
	j := readRuleJob(t, "timestamp: column:a\ncolumns_map: {a: {type: int64}}\ncells: [b]\n", in)
	s := mustRun(t, j, Options{})
	if s.Books.Written != 2 || s.Books.Rejected != 6 {
		t.Errorf("books %+v", s.Books)
	}
}

// TestLargeJobFiles: reading does not grow with the square of what a list holds, which would take minutes here.
func TestLargeJobFiles(t *testing.T) {
	const n = 150_000
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("c%d", i)
	}
	all := strings.Join(names, ", ")
	if _, err := readJob(t, jobWith(map[int]string{6: "  columns: [id, check_id, note, " + all + "]", 17: "cells: [" + all + "]"}), nil); err != nil {
		t.Fatal(err)
	}
	_, err := readJob(t, jobWith(map[int]string{17: "cells: [" + all + "]"}), nil)
	if err == nil || strings.Count(err.Error(), "\n") != mostProblems || !strings.Contains(err.Error(), fmt.Sprintf("and %d more errors", n+1-mostProblems)) {
		t.Errorf("error %.300v", err)
	}
	if _, err := parse("job.yaml", strings.NewReader(strings.Repeat("# ", maxJobFile)), ReadOptions{}); err == nil || KindOf(err) != Usage {
		t.Errorf("a job file of %d bytes: %v", 2*maxJobFile, err)
	}
}
