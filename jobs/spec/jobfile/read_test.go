package jobfile

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"bulkload/hfilewriter"
	"bulkload/ingest/delimited"
	"bulkload/internal/errcode"
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
	return Read(writeJob(t, text), ReadOptions{Date: date20, Environment: lookup})
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
		"timestamp left out":       {map[int]string{3: "-"}, func(j *Job) bool { return j.Timestamp == date20.UnixMilli() }},
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
		want  string // after the file's name
	}{
		"unknown key":               {map[int]string{17: "lod: true"}, ":17: unknown key lod; did you mean load?"},
		"unknown key below":         {map[int]string{9: "  max_reject: 0"}, ":9: unknown key input.max_reject; did you mean max_rejects?"},
		"unknown key of a column":   {map[int]string{17: "columns_map: {id: {too: x}}"}, ":17: unknown key columns_map.id.too; did you mean to?"},
		"key twice":                 {map[int]string{17: "table: u"}, ":17: table is given twice, first in line 1"},
		"missing key":               {map[int]string{10: "-"}, ":1: rowkey is missing"},
		"missing key below":         {map[int]string{5: "-"}, ":5: input.path is missing"},
		"empty value":               {map[int]string{1: "table:"}, ":1: table is empty; it must be a text"},
		"list for a text":           {map[int]string{1: "table: [a]"}, ":1: table is a list; it must be a text"},
		"text for a list":           {map[int]string{6: "  columns: id"}, `:6: input.columns is "id"; it must be a list`},
		"text for a mapping":        {map[int]string{12: "regions: table", 13: "-", 14: "-"}, `:12: regions is "table"; it must be a mapping`},
		"number for a flag":         {map[int]string{17: "load: 1"}, `:17: load: "1" is neither true nor false`},
		"undefined variable":        {map[int]string{16: "output: out/${dat}"}, ":16: output: ${dat} is not defined; there are ${date}"},
		"undefined environment":     {map[int]string{16: "output: out/${env.NOBODY}"}, ":16: output: ${env.NOBODY} is not defined: the environment has no NOBODY"},
		"open variable":             {map[int]string{16: "output: out/${date"}, ":16: output: \"out/${date\" has a ${ without a }"},
		"bad size":                  {map[int]string{15: "hfile: {compression: snappy, block_size: 64Kilo}"}, `:15: hfile.block_size: "64Kilo" is not a size`},
		"bad compression":           {map[int]string{15: "hfile: {compression: snapy}"}, `:15: hfile.compression: compression "snapy" is not supported`},
		"bad timestamp":             {map[int]string{3: "timestamp: yesterday"}, `:3: timestamp: "yesterday" is neither a date`},
		"timestamp before 1970":     {map[int]string{3: "timestamp: 1969-12-31"}, ":3: timestamp: 1969-12-31 is not after 1970-01-01"},
		"RFC 3339 before 1970":      {map[int]string{3: "timestamp: 1969-12-31T23:59:59Z"}, ":3: timestamp: 1969-12-31T23:59:59Z is not after 1970-01-01"},
		"negative timestamp":        {map[int]string{3: "timestamp: -5"}, ":3: timestamp: -5 is not after 1970-01-01"},
		"timestamp from a column":   {map[int]string{3: "timestamp: column:id"}, ":3: timestamp: column id is not declared as a point in time; declare it"},
		"no format at all":          {map[int]string{9: "  format: xml"}, `:9: input.format: "xml" is none of delimited, csv, parquet`},
		"charset":                   {map[int]string{9: "  charset: utf-16"}, `:9: input.charset: charset "utf-16" is not known; there are utf-8, cesu-8, us-ascii, gbk, gb18030`},
		"outputs without a table":   {map[int]string{17: "outputs: []"}, ":17: outputs: lists no table"},
		"outputs that are no list":  {map[int]string{17: "outputs: {table: t}"}, ":17: outputs: is a mapping; it must be a list"},
		"outputs beside a table":    {map[int]string{17: "outputs: [{table: t, rowkey: id, output: o}]"}, ":1: table can't be given beside outputs"},
		"kerberos":                  {map[int]string{17: "hbase: {kerberos: {principal: a@b@c, keytab: b}}"}, `:17: hbase.kerberos.principal: principal "a@b@c"`},
		"kerberos without a keytab": {map[int]string{17: "hbase: {kerberos: {principal: a}}"}, ":17: hbase.kerberos.keytab is missing"},
		"rows left out": {map[int]string{16: "output: hdfs:///out", 17: "load: true\nduplicates: {live: skip}"},
			":18: duplicates.live: no run leaves out the rows that the table has: it could not prove that they are still there after the load. Write error, and take"},
		"column type":                  {map[int]string{17: "columns_map: {id: {type: int}}"}, `:17: columns_map.id.type: "int" is none of text, int16, int32`},
		"splits that do not ascend":    {map[int]string{14: "  splits: ['2', '1']"}, `:14: regions.splits: split "1" does not come after "2"`},
		"empty split":                  {map[int]string{14: "  splits: ['']"}, ":14: regions.splits: a split must not be empty"},
		"splits beside a live table":   {map[int]string{13: "  from: table"}, ":14: regions.splits: is given, but regions.from is table"},
		"split file that is not there": {map[int]string{13: "  from: file", 14: "  file: nowhere"}, ":14: regions.file: open "},
		"unknown column in the key":    {map[int]string{10: "rowkey: md5(chek_id) + id"}, ":10: rowkey: "},
		"unknown function in the key":  {map[int]string{10: "rowkey: md6(id)"}, ":10: rowkey: "},
		"unknown query column":         {map[int]string{11: "query: [check]"}, ":11: query: input.columns has no column check"},
		"column twice":                 {map[int]string{6: "  columns: [id, check_id, id]"}, `:6: input.columns: "id" is listed twice`},
		"unknown column in the map":    {map[int]string{17: "columns_map: {nota: {skip: true}}"}, ":17: columns_map: input.columns has no column nota; did you mean note?"},
		"two columns in one cell":      {map[int]string{17: "columns_map: {note: {to: id}}"}, ":17: columns_map: columns id and note both become the cell f:id"},
		"no cell at all":               {map[int]string{17: "columns_map: {id: {skip: true}, check_id: {skip: true}, note: {skip: true}}"}, ":17: columns_map: skips every column"},
		"no family":                    {map[int]string{2: "-"}, ":1: family is missing, and columns_map names none for column id"},
		"family that is a path":        {map[int]string{2: "family: a/b"}, ":2: family: family \"a/b\" can't be a folder"},
		"table's name":                 {map[int]string{1: "table: a b"}, `:1: table: "a b" is not a table's name`},
		"delimiters that hide":         {map[int]string{7: `  field_delimiter: '\x10'`}, ":5: input: "},
		"octal without its backslash":  {map[int]string{7: "  field_delimiter: '020'"}, ":7: input.field_delimiter: "},
		"negative rejects":             {map[int]string{9: "  max_rejects: -1"}, ":9: input.max_rejects: "},
		"load from a local directory":  {map[int]string{17: "load: true"}, ":17: load: true loads the files into HBase"},
		"tab in YAML":                  {map[int]string{9: "\tmax_rejects: 0"}, ":9: found character that cannot start any token"},
		"two documents":                {map[int]string{17: "---\nload: true"}, ": has more than one YAML document"},
		"several errors, all told":     {map[int]string{1: "table: a b", 17: "lod: true"}, ":17: unknown key lod"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := readJob(t, jobWith(c.lines), nil)
			if err == nil {
				t.Fatal("read without an error")
			}
			if !strings.Contains(err.Error(), "job.yaml"+c.want) && !strings.Contains(err.Error(), strings.TrimPrefix(c.want, ": ")) {
				t.Errorf("error is\n  %v\nwant job.yaml%s", err, c.want)
			}
			if failure.KindOf(err) != failure.Usage {
				t.Errorf("kind %v, want a usage error", failure.KindOf(err))
			}
		})
	}
}

// TestNoHFile: without hfile the settings are those that plan suggests, unless they come from the table; hfile: {} is HBase's defaults.
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
	path := writeJob(t, jobWith(nil))
	_, err := Read(path, ReadOptions{})
	for _, want := range []string{"job.yaml:3: timestamp: ${date} needs the logical date; give it with --date", "job.yaml:5: input.path: ", "job.yaml:16: output: "} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want %s", err, want)
		}
	}
	if j, err := Read(path, ReadOptions{DateOptional: true}); err != nil || j.Table != "ns:t" {
		t.Errorf("a date that is not needed: %v", err)
	}
	fixed := jobWith(map[int]string{3: "timestamp: 1700000000000", 5: "  path: in", 16: "output: out"})
	if j, err := Read(writeJob(t, fixed), ReadOptions{}); err != nil || j.Instant() != 1700000000000 {
		t.Errorf("a job without ${date}: %v", err)
	}
	if _, err := Read(writeJob(t, jobWith(map[int]string{3: "-", 5: "  path: in", 16: "output: out"})), ReadOptions{}); err == nil ||
		!strings.Contains(err.Error(), "timestamp is ${date} by default") {
		t.Errorf("a default timestamp without a date: %v", err)
	}
}

func TestSplitsFile(t *testing.T) {
	path := writeJob(t, jobWith(map[int]string{13: "  from: file", 14: "  file: splits.txt"}))
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "splits.txt"), []byte("1\n2\n3\n4\n5\n6\n7\n8\n9\n9\\x05\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	j, err := Read(path, ReadOptions{Date: date20})
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

// TestNamesOfATable: a table in the default namespace has one name, however it is written: locks, ledger and checks compare
// names. So does the job's identity, which decides whether an output is finished.
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
	if _, err := Read(writeJob(t, text), ReadOptions{}); err == nil || !strings.Contains(err.Error(), "t is the table of another output, too") {
		t.Errorf("two outputs for one table: %v", err)
	}
}

// TestUnknownFileSystemIsOneMistake: an output that no file system has is not taken for a local path, too.
func TestUnknownFileSystemIsOneMistake(t *testing.T) {
	text := strings.Replace(plainJob, "output: out/${date}", "output: s3a://bucket/x\nload: true", 1)
	_, err := Read(writeJob(t, text), ReadOptions{Date: date20})
	if err == nil || !strings.Contains(err.Error(), "s3a: is not a file system that bulkload supports") || strings.Contains(err.Error(), "local path s3a") || strings.Contains(err.Error(), "\n") {
		t.Error(err)
	}
}
