package jobfile

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"bulkload/hfilewriter"
	"bulkload/ingest/delimited"
	"bulkload/internal/errcode"
	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/base/failure"
)

// goodJob is a job file, a line an element, that tests change line by line.
var goodJob = []string{
	1:  "table: ns:t",
	2:  "family: f",
	3:  "timestamp: ${date}",
	4:  "input:",
	5:  "  path: in/${date}",
	6:  "  columns: [id, check_id, note]",
	7:  `  field_delimiter: '\x01'`,
	8:  `  record_delimiter: '\x10'`,
	9:  "  max_rejects: 0",
	10: "rowkey: salt(check_id, 10) + md5(check_id) + id",
	11: "query: [check_id]",
	12: "regions:",
	13: "  from: splits",
	14: "  splits: ['1','2','3','4','5','6','7','8','9']",
	15: "hfile: {compression: snappy, encoding: fast_diff, bloom: row, block_size: 64KiB, max_size: 10GiB}",
	16: "output: out/${date}",
	17: "load: false",
}

// jobWith is the good job with some lines instead of others; a line of "-" is left out.
func jobWith(lines map[int]string) string {
	var b strings.Builder
	for i, line := range goodJob[1:] {
		if l, ok := lines[i+1]; ok {
			line = l
		}
		if line != "-" {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

func readJob(t *testing.T, text string, env map[string]string) (*Job, error) {
	t.Helper()
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	return Read(jobdir.Write(t, text), ReadOptions{Date: jobdir.Date, Environment: lookup})
}

func delimitedOf(j *Job) *delimited.Form { return j.Input.Form.(*delimited.Form) }

func TestReadJob(t *testing.T) {
	j, err := readJob(t, jobWith(nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	if j.Table != "ns:t" || j.Timestamp != 1795132800000 || !strings.HasSuffix(j.Input.Path, "in/2026-11-20") || j.Output != "out/2026-11-20" {
		t.Errorf("table %q, timestamp %d, input %q, output %q", j.Table, j.Timestamp, j.Input.Path, j.Output)
	}
	wantColumns := []Column{{Name: "id", Family: "f", Qualifier: "id"}, {Name: "check_id", Family: "f", Qualifier: "check_id"}, {Name: "note", Family: "f", Qualifier: "note"}}
	if !reflect.DeepEqual(j.Columns, wantColumns) {
		t.Errorf("columns %+v", j.Columns)
	}
	form := delimitedOf(j)
	if string(form.FieldDelimiter) != "\x01" || string(form.RecordDelimiter) != "\x10" || form.Null != nil {
		t.Errorf("form %+v", form)
	}
	wantSettings := hfilewriter.Settings{Compression: hfilewriter.CompressSnappy, Encoding: hfilewriter.EncodeFastDiff, Bloom: hfilewriter.BloomRow, BlockSize: 65536}
	if j.HFile.Settings != wantSettings || j.HFile.MaxSize != 10<<30 {
		t.Errorf("hfile %+v", j.HFile)
	}
	if len(j.Regions.Splits) != 9 || string(j.Regions.Splits[8]) != "9" {
		t.Errorf("splits %q", j.Regions.Splits)
	}
}

func TestReadJobVariants(t *testing.T) {
	cases := map[string]struct {
		lines map[int]string
		check func(*Job) bool
	}{
		"layout of the date":       {map[int]string{5: "  path: in/${date:20060102}/${env.WHO}"}, func(j *Job) bool { return j.Input.Path == "in/20261120/tina" }},
		"RFC 3339 timestamp":       {map[int]string{3: "timestamp: 2026-11-20T01:00:00Z"}, func(j *Job) bool { return j.Timestamp == 1795136400000 }},
		"epoch timestamp":          {map[int]string{3: "timestamp: 1700000000000"}, func(j *Job) bool { return j.Timestamp == 1700000000000 }},
		"timestamp left out":       {map[int]string{3: "-"}, func(j *Job) bool { return j.Timestamp == jobdir.Date.UnixMilli() }},
		"hex number delimiter":     {map[int]string{7: "  field_delimiter: 0x01"}, func(j *Job) bool { return string(delimitedOf(j).FieldDelimiter) == "\x01" }},
		"YAML's own escape":        {map[int]string{7: `  field_delimiter: "\x01"`}, func(j *Job) bool { return string(delimitedOf(j).FieldDelimiter) == "\x01" }},
		"delimiter of two bytes":   {map[int]string{7: `  field_delimiter: '|\t'`}, func(j *Job) bool { return string(delimitedOf(j).FieldDelimiter) == "|\t" }},
		"null":                     {map[int]string{9: `  null: '\N'`}, func(j *Job) bool { return string(delimitedOf(j).Null) == `\N` }},
		"empty null":               {map[int]string{9: `  null: ''`}, func(j *Job) bool { return delimitedOf(j).Null != nil && len(delimitedOf(j).Null) == 0 }},
		"percentage of rejects":    {map[int]string{9: "  max_rejects: 0.5%"}, func(j *Job) bool { return j.Input.MaxRejects.Percent == 0.5 }},
		"expected minimum of rows": {map[int]string{9: "  expect_rows: '>= 10'"}, func(j *Job) bool { return j.Input.Rows == 10 && j.Input.RowsAtLeast }},
		"binary split":             {map[int]string{10: "rowkey: id", 11: "query: [id]", 14: `  splits: ['\x00\xFF', 'b']`}, func(j *Job) bool { return string(j.Regions.Splits[0]) == "\x00\xff" }},
		"column in another family": {map[int]string{17: "columns_map: {note: {to: 'g:n'}}"}, func(j *Job) bool {
			return j.Columns[2] == Column{Name: "note", Family: "g", Qualifier: "n"}
		}},
		"renamed column": {map[int]string{17: "columns_map: {note: {to: n}}"}, func(j *Job) bool {
			return j.Columns[2] == Column{Name: "note", Family: "f", Qualifier: "n"}
		}},
		"skipped column":             {map[int]string{17: "columns_map: {note: {skip: true}}"}, func(j *Job) bool { return j.Columns[2].Skip && len(j.CellColumns()) == 2 }},
		"declared width":             {map[int]string{17: "columns_map: {id: {width: 32}}"}, func(j *Job) bool { return j.Columns[0].Width == 32 && j.RowKey.Width().Fixed() }},
		"duplicates as an error":     {map[int]string{17: "duplicates: error"}, func(j *Job) bool { return j.Strict }},
		"duplicates of records":      {map[int]string{17: "duplicates: {input: error}"}, func(j *Job) bool { return j.Strict && j.Live == LiveUnasked }},
		"rows that exist":            {map[int]string{16: "output: hdfs:///out", 17: "load: true\nduplicates: {live: overwrite}"}, func(j *Job) bool { return !j.Strict && j.Live == LiveOverwrite }},
		"live table without hfile":   {map[int]string{12: "regions: {from: table}", 13: "-", 14: "-", 15: "-"}, func(j *Job) bool { return j.Regions.From == "table" && len(j.HFile.Given) == 0 }},
		"load from HDFS":             {map[int]string{16: "output: hdfs:///out", 17: "load: true"}, func(j *Job) bool { return j.Load }},
		"YAML's anchors and aliases": {map[int]string{5: "  path: &p in", 16: "output: *p"}, func(j *Job) bool { return j.Output == "in" }},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			j, err := readJob(t, jobWith(c.lines), map[string]string{"WHO": "tina"})
			if err != nil {
				t.Fatal(err)
			}
			if !c.check(j) {
				t.Errorf("read as %+v", j)
			}
		})
	}
}

func TestReadJobErrorsNameTheLine(t *testing.T) {
	cases := map[string]struct {
		lines map[int]string
		want  []mistake
	}{
		"unknown key": {map[int]string{17: "lod: true"},
			[]mistake{atLine(17, errcode.JobKey, "lod", "load?")}},
		"unknown key below": {map[int]string{9: "  max_reject: 0"},
			[]mistake{atLine(9, errcode.JobKey, "input.max_reject", "max_rejects?")}},
		"unknown key of a column": {map[int]string{17: "columns_map: {id: {too: x}}"},
			[]mistake{atLine(17, errcode.JobKey, "columns_map.id.too", " to?")}},
		"unknown key of a column, like none": {map[int]string{17: "columns_map: {id: {omit: true}}"},
			[]mistake{atLine(17, errcode.JobKey, "columns_map.id.omit", "skip, width, null, to, type, format, zone, store")}},
		"no rules of a column": {map[int]string{17: "columns_map: {id: false}"},
			[]mistake{atLine(17, errcode.JobValue, `columns_map.id is "false"`, "{skip: true}", "skip, width, null, to, type, format, zone, store")}},
		"key of another format": {map[int]string{9: "  header: true"},
			[]mistake{atLine(9, errcode.JobKey, "input.header", "format delimited", "format csv")}},
		"version that is none": {map[int]string{15: "hfile: {hbase_version: 1.1}"},
			[]mistake{atLine(15, errcode.JobValue, "hfile.hbase_version", `"1.1"`, "1.2")}},
		"version in words": {map[int]string{15: "hfile: {hbase_version: 2.1 or later}"},
			[]mistake{atLine(15, errcode.JobValue, "hfile.hbase_version", "2.1.4")}},
		"key twice": {map[int]string{17: "table: u"},
			[]mistake{atLine(17, errcode.JobKey, "table", "line 1")}},
		"missing key": {map[int]string{10: "-"}, []mistake{atLine(1, errcode.JobKey, "rowkey")}},
		"missing key below": {map[int]string{5: "-"},
			[]mistake{atLine(5, errcode.JobKey, "input.path")}},
		"empty value": {map[int]string{1: "table:"},
			[]mistake{atLine(1, errcode.JobValue, "table is empty")}},
		"list for a text": {map[int]string{1: "table: [a]"},
			[]mistake{atLine(1, errcode.JobValue, "table is a list", "text")}},
		"text for a list": {map[int]string{6: "  columns: id"},
			[]mistake{atLine(6, errcode.JobValue, `input.columns is "id"`, "list")}},
		"text for a mapping": {map[int]string{12: "regions: table", 13: "-", 14: "-"},
			[]mistake{atLine(12, errcode.JobValue, `regions is "table"`, "mapping")}},
		"number for a flag": {map[int]string{17: "load: 1"},
			[]mistake{atLine(17, errcode.JobValue, `load: "1"`)}},
		"undefined variable": {map[int]string{16: "output: out/${dat}"},
			[]mistake{atLine(16, errcode.JobVariable, "output: ${dat}", "${date}")}},
		"undefined environment": {map[int]string{16: "output: out/${env.NOBODY}"},
			[]mistake{atLine(16, errcode.JobVariable, "output: ${env.NOBODY}")}},
		"open variable": {map[int]string{16: "output: out/${date"},
			[]mistake{atLine(16, errcode.JobVariable, `output: "out/${date"`)}},
		"bad size": {map[int]string{15: "hfile: {compression: snappy, block_size: 64Kilo}"},
			[]mistake{atLine(15, errcode.JobValue, `hfile.block_size: "64Kilo"`)}},
		"bad compression": {map[int]string{15: "hfile: {compression: snapy}"},
			[]mistake{atLine(15, errcode.JobValue, "hfile.compression: ", `"snapy"`)}},
		"bad timestamp": {map[int]string{3: "timestamp: yesterday"},
			[]mistake{atLine(3, errcode.JobValue, `"yesterday"`)}},
		"timestamp before 1970": {map[int]string{3: "timestamp: 1969-12-31"},
			[]mistake{atLine(3, errcode.JobValue, "timestamp: 1969-12-31 is")}},
		"RFC 3339 before 1970": {map[int]string{3: "timestamp: 1969-12-31T23:59:59Z"},
			[]mistake{atLine(3, errcode.JobValue, "timestamp: 1969-12-31T23:59:59Z is")}},
		"negative timestamp": {map[int]string{3: "timestamp: -5"},
			[]mistake{atLine(3, errcode.JobValue, "timestamp: -5")}},
		"timestamp from a column": {map[int]string{3: "timestamp: column:id"},
			[]mistake{atLine(3, errcode.JobValue, "column id", "columns_map: {id: ")}},
		"no format at all": {map[int]string{9: "  format: xml"},
			[]mistake{atLine(9, errcode.JobValue, `input.format: "xml"`, "delimited, csv, parquet")}},
		"charset": {map[int]string{9: "  charset: utf-16"},
			[]mistake{atLine(9, errcode.JobValue, `input.charset: charset "utf-16"`,
				"utf-8, cesu-8, us-ascii, gbk, gb18030")}},
		"outputs without a table": {map[int]string{17: "outputs: []"},
			[]mistake{atLine(17, errcode.JobValue, "outputs: ", "{table: …, rowkey: …, output: …}")}},
		"outputs that are no list": {map[int]string{17: "outputs: {table: t}"},
			[]mistake{atLine(17, errcode.JobValue, "outputs: is a mapping")}},
		"outputs beside a table": {map[int]string{17: "outputs: [{table: t, rowkey: id, output: o}]"},
			[]mistake{atLine(1, errcode.JobValue, "table")}},
		"kerberos": {map[int]string{17: "hbase: {kerberos: {principal: a@b@c, keytab: b}}"},
			[]mistake{atLine(17, errcode.JobValue, "hbase.kerberos.principal: ", `"a@b@c"`)}},
		"kerberos without a keytab": {map[int]string{17: "hbase: {kerberos: {principal: a}}"},
			[]mistake{atLine(17, errcode.JobKey, "hbase.kerberos.keytab")}},
		"rows left out": {map[int]string{16: "output: hdfs:///out",
			17: "load: true\nduplicates: {live: skip}"}, []mistake{atLine(18, errcode.JobValue, "duplicates.live: ",
			"error", "overwrite")}},
		"column type": {map[int]string{17: "columns_map: {id: {type: int}}"},
			[]mistake{atLine(17, errcode.JobValue, `columns_map.id.type: "int"`, "text, int16, int32", "int16?")}},
		"splits that do not ascend": {map[int]string{14: "  splits: ['2', '1']"},
			[]mistake{atLine(14, errcode.JobValue, "regions.splits: ", `"1"`, `"2"`)}},
		"empty split": {map[int]string{14: "  splits: ['']"},
			[]mistake{atLine(14, errcode.JobValue, "regions.splits: ", "empty")}},
		"splits beside a live table": {map[int]string{13: "  from: table"},
			[]mistake{atLine(14, errcode.JobValue, "regions.splits: ", "regions.from is table")}},
		"split file that is not there": {map[int]string{13: "  from: file", 14: "  file: nowhere"},
			[]mistake{atLine(14, errcode.JobValue, "regions.file: ", "nowhere", syscall.ENOENT.Error())}},
		"unknown column in the key": {map[int]string{10: "rowkey: md5(chek_id) + id"},
			[]mistake{atLine(10, errcode.JobRowkey, "rowkey: ", "character 5: ", "chek_id", "check_id?")}},
		"unknown function in the key": {map[int]string{10: "rowkey: md6(id)"},
			[]mistake{atLine(10, errcode.JobRowkey, "rowkey: ", "character 1: ", "md6", "md5?")}},
		"unknown query column": {map[int]string{11: "query: [check]"},
			[]mistake{atLine(11, errcode.JobValue, "query: ", "check")}},
		"column twice": {map[int]string{6: "  columns: [id, check_id, id]"},
			[]mistake{atLine(6, errcode.JobValue, `input.columns: "id"`)}},
		"unknown column in the map": {map[int]string{17: "columns_map: {nota: {skip: true}}"},
			[]mistake{atLine(17, errcode.JobValue, "columns_map: ", "nota", "note?")}},
		"two columns in one cell": {map[int]string{17: "columns_map: {note: {to: id}}"},
			[]mistake{atLine(17, errcode.JobValue, "columns_map: ", "id and note", "f:id")}},
		"no cell at all": {map[int]string{17: "columns_map: {id: {skip: true}, check_id: {skip: true}, note: {skip: true}}"}, []mistake{atLine(17, errcode.JobValue, "columns_map: ", "every column")}},
		"no family": {map[int]string{2: "-"},
			[]mistake{atLine(1, errcode.JobKey, "family", "column id")}},
		"family that is a path": {map[int]string{2: "family: a/b"},
			[]mistake{atLine(2, errcode.JobValue, "family: ", `"a/b"`)}},
		"table's name": {map[int]string{1: "table: a b"},
			[]mistake{atLine(1, errcode.TableName, `"a b"`)}},
		"delimiters that hide": {map[int]string{7: `  field_delimiter: '\x10'`},
			[]mistake{atLine(5, errcode.JobValue, "field", "record", `\x10`)}},
		"octal without its backslash": {map[int]string{7: "  field_delimiter: '020'"},
			[]mistake{atLine(7, errcode.JobValue, "input.field_delimiter: ", `"020"`)}},
		"negative rejects": {map[int]string{9: "  max_rejects: -1"},
			[]mistake{atLine(9, errcode.JobValue, "input.max_rejects: ", `"-1"`)}},
		"load from a local directory": {map[int]string{17: "load: true"},
			[]mistake{atLine(17, errcode.JobValue, "load: ", "HDFS", "out/2026-11-20")}},
		"tab in YAML":   {map[int]string{9: "\tmax_rejects: 0"}, []mistake{atLine(9, errcode.JobYaml)}},
		"two documents": {map[int]string{17: "---\nload: true"}, []mistake{atLine(1, errcode.JobYaml)}},
		"several errors, all reported": {map[int]string{1: "table: a b", 17: "lod: true"},
			[]mistake{atLine(1, errcode.TableName, `"a b"`), atLine(17, errcode.JobKey, "lod")}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := readJob(t, jobWith(c.lines), nil)
			if err == nil {
				t.Fatal("read without an error")
			}
			for _, want := range c.want {
				if !want.saidBy(err) {
					t.Errorf("error is\n  %v\nwant %v", err, want)
				}
			}
		})
	}
}

// TestNoHFile: without hfile the settings are those that plan suggests, unless they come from the table; hfile: {} is
// HBase's defaults.
func TestNoHFile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lines       map[int]string
		compression hfilewriter.Compression
		encoding    hfilewriter.Encoding
	}{
		"splits":              {map[int]string{15: "-"}, hfilewriter.CompressSnappy, hfilewriter.EncodeFastDiff},
		"plan":                {map[int]string{13: "  from: plan", 14: "-", 15: "-"}, hfilewriter.CompressSnappy, hfilewriter.EncodeFastDiff},
		"table":               {map[int]string{13: "  from: table", 14: "-", 15: "-"}, hfilewriter.CompressNone, hfilewriter.EncodeNone},
		"defaults":            {map[int]string{15: "hfile: {}"}, hfilewriter.CompressNone, hfilewriter.EncodeNone},
		"something else said": {map[int]string{15: "hfile: {max_size: 1GiB}"}, hfilewriter.CompressNone, hfilewriter.EncodeNone},
	} {
		j, err := readJob(t, jobWith(c.lines), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		s := j.HFile.Settings
		if s.Compression != c.compression || s.Encoding != c.encoding || s.Bloom != hfilewriter.BloomRow || s.BlockSize != 64<<10 || j.HFile.Given["compression"] {
			t.Errorf("%s: %+v, given %v", name, s, j.HFile.Given)
		}
	}
	// Outputs have their own or the top's.
	j, err := Parse("job.yaml", strings.NewReader("family: f\ntimestamp: 1\ninput: {path: a, columns: [id]}\nregions: {from: splits, splits: []}\n"+
		"outputs: [{table: a, rowkey: id, output: o/a}, {table: b, rowkey: id, output: o/b, hfile: {}}]"), ReadOptions{})
	if err != nil || j.Outputs[0].HFile.Settings.Compression != hfilewriter.CompressSnappy || j.Outputs[1].HFile.Settings.Compression != hfilewriter.CompressNone {
		t.Errorf("outputs: %v", err)
	}
}

func TestReadJobWithoutDate(t *testing.T) {
	path := jobdir.Write(t, jobWith(nil))
	_, err := Read(path, ReadOptions{})
	for _, want := range []mistake{atLine(3, errcode.CommandDate, "timestamp: ", "--date"),
		atLine(5, errcode.CommandDate, "input.path: "), atLine(16, errcode.CommandDate, "output: ")} {
		if !want.saidBy(err) {
			t.Errorf("error is %v, want %v", err, want)
		}
	}
	if j, err := Read(path, ReadOptions{DateOptional: true}); err != nil || j.Table != "ns:t" {
		t.Errorf("a date that is not needed: %v", err)
	}
	fixed := jobWith(map[int]string{3: "timestamp: 1700000000000", 5: "  path: in", 16: "output: out"})
	if j, err := Read(jobdir.Write(t, fixed), ReadOptions{}); err != nil || j.Instant() != 1700000000000 {
		t.Errorf("a job without ${date}: %v", err)
	}
	_, err = Read(jobdir.Write(t, jobWith(map[int]string{3: "-", 5: "  path: in", 16: "output: out"})), ReadOptions{})
	if !atLine(1, errcode.CommandDate, "timestamp is ${date}").saidBy(err) {
		t.Errorf("a default timestamp without a date: %v", err)
	}
}

func TestSplitsFile(t *testing.T) {
	path := jobdir.Write(t, jobWith(map[int]string{13: "  from: file", 14: "  file: splits.txt"}))
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "splits.txt"), []byte("1\n2\n3\n4\n5\n6\n7\n8\n9\n9\\x05\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	j, err := Read(path, ReadOptions{Date: jobdir.Date})
	if err != nil {
		t.Fatal(err)
	}
	if len(j.Regions.Splits) != 10 || string(j.Regions.Splits[9]) != "9\x05" {
		t.Errorf("splits %q", j.Regions.Splits)
	}
}

func TestJobHash(t *testing.T) {
	hash := func(lines map[int]string) string {
		j, err := readJob(t, jobWith(lines), nil)
		if err != nil {
			t.Fatal(err)
		}
		return j.hash
	}
	base := hash(nil)
	for name, lines := range map[string]map[int]string{
		"comment": {1: "table: ns:t # the table"},
		"rejects": {9: "  max_rejects: 5"},
		"output":  {16: "output: elsewhere"},
		"query":   {11: "query: [check_id, id]"},
	} {
		if hash(lines) != base {
			t.Errorf("%s: changes the hash, and not a byte of the files", name)
		}
	}
	for name, lines := range map[string]map[int]string{
		"table":       {1: "table: ns:u"},
		"timestamp":   {3: "timestamp: 2026-11-21"},
		"columns":     {6: "  columns: [id, check_id, notes]"},
		"delimiter":   {7: `  field_delimiter: '\x02'`},
		"null":        {9: "  null: ''"},
		"rowkey":      {10: "rowkey: salt(check_id, 10) + id"},
		"compression": {15: "hfile: {compression: none, encoding: fast_diff, bloom: row}"},
		"max_size":    {15: "hfile: {compression: snappy, encoding: fast_diff, bloom: row, max_size: 1GiB}"},
		"duplicates":  {17: "duplicates: error"},
		"live":        {16: "output: hdfs:///out", 17: "load: true\nduplicates: {live: error}"},
		"family":      {2: "family: g"},
	} {
		if hash(lines) == base {
			t.Errorf("%s: does not change the hash", name)
		}
	}
}

// TestNamesOfATable: a table in the default namespace has one name, however it is written: locks, ledger and checks
// compare names. So does the job's identity, which decides whether an output is finished.
func TestNamesOfATable(t *testing.T) {
	var hashes []string
	for _, name := range []string{"t", "default:t"} {
		j, err := readJob(t, jobWith(map[int]string{1: "table: " + name}), nil)
		if err != nil || j.Table != "t" {
			t.Fatalf("%s is %q, %v", name, j.Table, err)
		}
		if _, err := j.Pick("default:t"); err != nil {
			t.Error(err)
		}
		hashes = append(hashes, j.Hash())
	}
	if hashes[0] != hashes[1] {
		t.Error("one table under two names makes two jobs")
	}
	for _, name := range []string{"default:", "default:default:t", ":t"} {
		if _, err := readJob(t, jobWith(map[int]string{1: "table: '" + name + "'"}), nil); failure.CodeOf(err) != errcode.TableName {
			t.Errorf("%s: %v", name, err)
		}
	}
	text := "family: f\ninput: {path: a, columns: [id]}\noutputs:\n"
	for i, name := range []string{"t", "default:t"} {
		text += fmt.Sprintf("- {table: %q, output: 'hdfs:///%d', timestamp: 1, rowkey: id, load: true, regions: {from: table}, duplicates: {live: error}}\n", name, i)
	}
	if _, err := Read(jobdir.Write(t, text), ReadOptions{}); !atLine(5, errcode.JobValue, ": t is").saidBy(err) {
		t.Errorf("two outputs for one table: %v", err)
	}
}

// TestUnknownFileSystemIsOneMistake: an output that no file system has is not taken for a local path, too.
func TestUnknownFileSystemIsOneMistake(t *testing.T) {
	text := strings.Replace(plainJob, "output: out/${date}", "output: s3a://bucket/x\nload: true", 1)
	_, err := Read(jobdir.Write(t, text), ReadOptions{Date: jobdir.Date})
	if !atLine(13, errcode.JobValue, "output: s3a: ").saidBy(err) || testwords.Names(err, "\n") {
		t.Error(err)
	}
}
