package jobfile

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/bytesize"
	"bulkload/internal/errcode"
	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/spec/yamldoc"
)

// TestEmptyTextsAreRefused: an empty text where one is required, or where it would mean nothing, is refused by line.
func TestEmptyTextsAreRefused(t *testing.T) {
	for key, lines := range map[string]map[int]string{
		"1: table":                         {1: "table: ''"},
		"2: family":                        {2: "family: ''"},
		"3: timestamp":                     {3: "timestamp: ''"},
		"3: timestamp: ":                   {3: "timestamp: '${env.EMPTY}'"},
		"5: input.path":                    {5: "  path: ''"},
		"5: input.path: ":                  {5: "  path: '${env.EMPTY}'"},
		"9: input.format":                  {9: "  format: ''"},
		"9: input.charset":                 {9: "  charset: ''"},
		"9: input.compression":             {9: "  compression: ''"},
		"9: input.max_rejects":             {9: "  max_rejects: ''"},
		"9: input.expect_rows":             {9: "  expect_rows: ''"},
		"9: input.empty":                   {9: "  empty: ''"},
		"10: rowkey":                       {10: "rowkey: ''"},
		"10: rowkey: ":                     {10: "rowkey: ${env.EMPTY}"},
		"11: query: entry 1":               {11: "query: ['']"},
		"13: regions.from":                 {13: "  from: ''"},
		"14: regions.file":                 {13: "  from: file", 14: "  file: ''"},
		"15: hfile.compression":            {15: "hfile: {compression: ''}"},
		"15: hfile.bloom":                  {15: "hfile: {bloom: ''}"},
		"16: output":                       {16: "output: ''"},
		"16: output: ":                     {16: "output: ${env.EMPTY}"},
		"17: duplicates":                   {17: "duplicates: ''"},
		"17: filter":                       {17: "filter: ''"},
		"17: cells: entry 2":               {17: "cells: [id, '']"},
		"17: hbase.conf":                   {17: "hbase: {conf: ''}"},
		"17: wide.qualifier":               {17: "wide: {qualifier: ''}"},
		"17: wide.value":                   {17: "wide: {qualifier: id, value: ''}"},
		"17: queries[0].columns: entry 1":  {17: "queries: [{columns: [''], per_day: 1}]"},
		"17: columns_map.id.to":            {17: "columns_map: {id: {to: ''}}"},
		"17: columns_map.id.type":          {17: "columns_map: {id: {type: ''}}"},
		"17: columns_map.id.store":         {17: "columns_map: {id: {store: ''}}"},
		"17: columns_map.id.null":          {17: "columns_map: {id: {null: ''}}"},
		"17: columns_map.id.zone":          {17: "columns_map: {id: {type: date, zone: ''}}"},
		"17: columns_map.id.format":        {17: "columns_map: {id: {type: date, format: ''}}"},
		"8: input.quote":                   {7: "  format: csv", 8: "-", 9: "  quote: ''"},
		"8: input.timestamp_zone":          {7: "  format: parquet", 8: "-", 9: "  timestamp_zone: ''"},
		"8: input.int96_zone":              {7: "  format: parquet", 8: "-", 9: "  int96_zone: ''"},
		"8: input.millis_columns: entry 1": {7: "  format: parquet", 8: "-", 9: "  millis_columns: ['']"},
		"8: input.binary":                  {7: "  format: parquet", 8: "-", 9: "  binary: ''"},
		"8: input.quoted_empty":            {7: "  format: csv", 8: "-", 9: "  quoted_empty: ''"},
	} {
		line, what, _ := strings.Cut(key, ": ")
		_, err := readJob(t, jobWith(lines), map[string]string{"EMPTY": ""})
		if want := inFile("job.yaml:"+line, errcode.JobValue, strings.TrimSuffix(what, ": ")); !want.saidBy(err) {
			t.Errorf("%v: error %v, want %v", lines, err, want)
		}
	}
	_, err := readJob(t, jobWith(map[int]string{17: "columns_map: {'': {constant: x}}"}), nil)
	if !atLine(17, errcode.JobValue, "columns_map..constant").saidBy(err) {
		t.Errorf("a constant without a name: %v", err)
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
	const before, after, neither = "1970-01-01T00:00:00Z,", "9999;", "RFC 3339"
	for text, names := range map[string][]string{
		"0":                          {before},
		"-1":                         {before},
		"253402300800000":            {after, "microseconds"},
		"1795132800000000":           {after, "microseconds"},
		"99999999999999999":          {after, "microseconds"},
		"99999999999999999999":       {"range"},
		"-99999999999999999999":      {"range"},
		"9999-12-31T23:59:59-01:00":  {after},
		"1970-01-01":                 {before},
		"1970-01-01T00:00:00Z":       {before},
		"0001-01-01":                 {before},
		"'column:'":                  {"column:NAME"},
		"20261120":                   {"2026-11-20 "},
		"20261120000000":             {"2026-11-20T00:00:00Z"},
		"202611200130":               {"2026-11-20T01:30:00Z"},
		"${date:20060102}":           {"20261120,", "${date}"},
		"${date:20060102150405}":     {"20261120000000,", "${date}"},
		"${date:2006}":               {"2026,", "${date}"},
		"${date:200601}":             {"202611,", "${date}"},
		"${date:20060102}0000":       {"202611200000,", "${date}"},
		"${date:02.01.2006}":         {neither},
		"1.5":                        {neither},
		"1795132800000.0":            {neither},
		"2026-11-20 01:02:03":        {neither},
		"${env.MICROS}":              {after},
		"'1795132800000 '":           {neither},
		"'-9223372036854775808'":     {before},
		"'9223372036854775807'":      {after},
		"'+99999-01-01T00:00:00Z'":   {neither},
		"'2026-11-20T01:02:03+2400'": {neither},
	} {
		_, err := readJob(t, jobWith(map[int]string{3: "timestamp: " + text}),
			map[string]string{"MICROS": "1795132800000000"})
		if !atLine(3, errcode.JobValue, append(names, "timestamp: ")...).saidBy(err) {
			t.Errorf("%s: error %v, want %s", text, err, names)
		}
	}
	for text, want := range map[string]int64{"1": 1, "253402300799999": EndOf9999, "9999-12-31T23:59:59.999Z": EndOf9999, "${date:2006-01-02}": jobdir.Date.UnixMilli(),
		"${date:2006-01-02T15:04:05Z07:00}": jobdir.Date.UnixMilli(), "1970-01-02": 24 * time.Hour.Milliseconds()} {
		j, err := readJob(t, jobWith(map[int]string{3: "timestamp: " + text}), nil)
		if err != nil || j.Timestamp != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestDates: the logical date gives timestamps and the clock values of the files.
func TestDates(t *testing.T) {
	for _, text := range []string{"1970-01-01", "1969-12-31", "0001-01-01", "0000-01-01", "10000-01-01", "2026-02-29", "", "20261120"} {
		if d, err := (Dates{}).Parse(text); err == nil || failure.KindOf(err) != failure.Usage {
			t.Errorf("%q is the date %v, %v", text, d, err)
		}
	}
	for _, text := range []string{"1970-01-02", "2024-02-29", "9999-12-31"} {
		if _, err := (Dates{}).Parse(text); err != nil {
			t.Error(err)
		}
	}
}

const listedProblems = 100

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
	if !atLine(17, errcode.JobValue, "c0").saidBy(err) || strings.Count(err.Error(), "\n") != listedProblems ||
		!testwords.Names(err, fmt.Sprint(n+1-listedProblems)) {
		t.Errorf("error %.300v", err)
	}
	if _, err := Parse("job.yaml", strings.NewReader(strings.Repeat("# ", yamldoc.MaxBytes)), ReadOptions{}); err == nil || failure.KindOf(err) != failure.Usage {
		t.Errorf("a job file of %d bytes: %v", 2*yamldoc.MaxBytes, err)
	}
}

// TestManyUnknownColumns: names are compared for "did you mean" only where the error is listed; with all columns for
// each unknown name, this would take minutes.
func TestManyUnknownColumns(t *testing.T) {
	t.Parallel()
	const n = 20_000
	columns, unknown, rules := make([]string, n), make([]string, n), make([]string, n)
	for i := range n {
		columns[i], unknown[i], rules[i] = fmt.Sprintf("c%d", i), fmt.Sprintf("cc%d", i), fmt.Sprintf("cc%d: {}", i)
	}
	list := "[" + strings.Join(unknown, ", ") + "]"
	for key, change := range map[string]map[int]string{
		"cells":              {17: "cells: [id, " + list[1:]},
		"query":              {11: "query: " + list},
		"queries[0].columns": {17: "queries: [{columns: " + list + ", per_day: 1}]"},
		"columns_map":        {17: "columns_map: {" + strings.Join(rules, ", ") + "}"},
	} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			lines := maps.Clone(change)
			lines[6] = "  columns: [id, check_id, note, " + strings.Join(columns, ", ") + "]"
			_, err := readJob(t, jobWith(lines), nil)
			if failure.CodeOf(err) != errcode.JobValue ||
				!testwords.Names(err, fmt.Sprint(n-listedProblems)) {
				t.Fatalf("error %.300v", err)
			}
			suggestion := regexp.MustCompile(`(?m)` + regexp.QuoteMeta(key) + `: .* cc(\d+); .* c(\d+)\?$`)
			listed := suggestion.FindAllStringSubmatch(err.Error(), -1)
			if len(listed) != listedProblems ||
				slices.ContainsFunc(listed, func(m []string) bool { return m[1] != m[2] }) {
				t.Errorf("%d of the listed errors have a suggestion: %.300v", len(listed), err)
			}
		})
	}
}

// TestLargeSplitsFile: of a file that is too large no part is taken for all of it.
func TestLargeSplitsFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "splits")
	job := jobWith(map[int]string{13: "  from: file", 14: "  file: splits"})
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "job.yaml"), []byte(job), 0o600), os.WriteFile(name, []byte("2\n55\n7\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	j, err := Read(filepath.Join(dir, "job.yaml"), ReadOptions{Date: jobdir.Date})
	if err != nil || len(j.Regions.Splits) != 3 {
		t.Fatal(j, err)
	}
	if err := os.Truncate(name, maxSplitsFile+1); err != nil {
		t.Fatal(err)
	}
	want := atLine(14, errcode.JobValue, name, bytesize.Format(maxSplitsFile+1))
	if _, err := Read(filepath.Join(dir, "job.yaml"), ReadOptions{Date: jobdir.Date}); !want.saidBy(err) {
		t.Errorf("%v, want %v", err, want)
	}
}
