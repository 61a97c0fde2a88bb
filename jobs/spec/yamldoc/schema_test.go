package yamldoc_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"bulkload/internal/errcode"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/spec/jobfile"
	"bulkload/jobs/spec/yamldoc"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := yamldoc.JSON()
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("job.schema.json", document); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("job.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// validate checks a job file as an editor does: dates are texts.
func validate(s *jsonschema.Schema, text string) error {
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(text), &root); err != nil {
		return err
	}
	return s.Validate(plain(root.Content[0]))
}

func plain(n *yaml.Node) any {
	switch n.Kind {
	case yaml.AliasNode:
		return plain(n.Alias)
	case yaml.SequenceNode:
		list := []any{}
		for _, e := range n.Content {
			list = append(list, plain(e))
		}
		return list
	case yaml.MappingNode:
		m := map[string]any{}
		for i := 0; i < len(n.Content); i += 2 {
			m[n.Content[i].Value] = plain(n.Content[i+1])
		}
		return m
	}
	var number any
	switch n.Tag {
	case "!!null":
		return nil
	case "!!bool":
		return n.Value == "true"
	case "!!int", "!!float":
		if json.Unmarshal([]byte(n.Value), &number) == nil {
			return json.Number(n.Value)
		}
	}
	return n.Value
}

// read is what the decoder says about a job file.
func read(path, text string) error {
	_, err := jobfile.Parse(path, strings.NewReader(text), jobfile.ReadOptions{Date: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC), AnyQuery: true,
		Set: map[string]string{"region": "cn"}, Environment: func(string) (string, bool) { return "x", true }})
	return err
}

// TestSchemaAcceptsWhatIsRead: every job file of the project that the decoder accepts is valid for an editor.
func TestSchemaAcceptsWhatIsRead(t *testing.T) {
	t.Parallel()
	s := compiled(t)
	read, all := 0, 0
	for path, text := range jobFiles(t) {
		all++
		if accepted := readAt(path, text); !accepted {
			continue
		}
		read++
		if err := validate(s, text); err != nil {
			t.Errorf("%s is read, but not valid: %v", path, err)
		}
	}
	if read < 100 {
		t.Errorf("only %d of %d job files are read", read, all)
	}
}

func readAt(path, text string) bool { return read(path, text) == nil }

// jobFiles are the examples, the job files of the documents, and those of the command line's tests.
func jobFiles(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, pattern := range []string{"../../examples/*.yaml", "../../examples/keys/*.yaml", "../../../docs/*.md", "../../../cmd/bulkload/testdata/script/*.txtar"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			addJobFiles(t, files, path, text)
		}
	}
	return files
}

func addJobFiles(t *testing.T, files map[string]string, path string, text []byte) {
	t.Helper()
	switch filepath.Ext(path) {
	case ".yaml":
		files[path] = string(text)
	case ".md":
		for i, m := range regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
			files[fmt.Sprintf("%s-%d.yaml", path, i)] = m[1]
		}
	default:
		archive, dir := txtar.Parse(text), t.TempDir()
		if err := txtar.Write(archive, dir); err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			if filepath.Ext(f.Name) == ".yaml" {
				files[filepath.Join(dir, f.Name)] = string(f.Data)
			}
		}
	}
}

const base = "table: ns:t\nfamily: f\ntimestamp: ${date}\nrowkey: id\noutput: out\nregions: {from: splits, splits: []}\ninput:\n  path: in\n  columns: [id, x]\n"

// TestSchemaAndDecoderRefuseTheSame mistakes: unknown and missing keys, and values of a wrong kind.
func TestSchemaAndDecoderRefuseTheSame(t *testing.T) {
	t.Parallel()
	s := compiled(t)
	several := "family: f\ninput: {path: in, columns: [id]}\nregions: {from: splits, splits: []}\noutputs:\n  - {table: a, rowkey: id, output: a}\n"
	for name, c := range map[string]struct {
		text  string
		valid bool
	}{
		"good":                     {base, true},
		"several":                  {several, true},
		"several, one missing":     {strings.Replace(several, "rowkey: id, ", "", 1), false},
		"several and a table":      {several + "table: t\n", false},
		"several without regions":  {strings.Replace(several, "regions: {from: splits, splits: []}\n", "", 1), false},
		"regions of each":          {strings.Replace(several, "regions: {from: splits, splits: []}\noutputs:\n  - {", "outputs:\n  - {regions: {from: splits, splits: []}, ", 1), true},
		"no outputs":               {strings.Replace(several, "\n  - {table: a, rowkey: id, output: a}", " []", 1), false},
		"unknown":                  {base + "tabel: x\n", false},
		"no table":                 {strings.Replace(base, "table: ns:t\n", "", 1), false},
		"no path":                  {strings.Replace(base, "  path: in\n", "", 1), false},
		"key of another format":    {base + "  quote: none\n", false},
		"key of CSV":               {base + "  format: csv\n  quote: none\n", true},
		"key of text in CSV":       {base + "  format: csv\n  record_delimiter: x\n", false},
		"key of text in Parquet":   {base + "  format: parquet\n  compression: gzip\n", false},
		"unknown format":           {base + "  format: json\n", false},
		"a list as a text":         {base + "filter: [x]\n", false},
		"a text as a list":         {base + "query: id\n", false},
		"a text as a flag":         {base + "load: 'false'\n", false},
		"a number as a text":       {strings.Replace(base, "table: ns:t", "table: 7", 1), true},
		"null as a text":           {base + "filter: null\n", false},
		"null as a null":           {base + "  null: null\n", true},
		"nulls":                    {base + "  null: [null, '']\n", true},
		"no nulls":                 {base + "  null: []\n", false},
		"quoted_empty":             {base + "  format: csv\n  quoted_empty: null\n", true},
		"splits beside a table":    {strings.Replace(base, "from: splits", "from: table", 1), false},
		"no splits":                {strings.Replace(base, ", splits: []", "", 1), false},
		"codec in upper case":      {base + "hfile: {compression: Snappy, encoding: FAST_DIFF}\n", true},
		"unknown codec":            {base + "hfile: {compression: lzo}\n", false},
		"size":                     {base + "hfile: {block_size: 65536, max_size: 1.5GB, slice_size: 64 MiB}\n", true},
		"no size":                  {base + "hfile: {max_size: big}\n", false},
		"a type":                   {base + "columns_map: {x: {type: int64, store: binary}}\n", true},
		"unknown type":             {base + "columns_map: {x: {type: long}}\n", false},
		"unknown rule":             {base + "columns_map: {x: {typ: int64}}\n", false},
		"a constant":               {base + "columns_map: {c: {constant: 7, type: int64}}\n", true},
		"a constant that is null":  {base + "columns_map: {c: {constant: 7, 'null': error}}\n", false},
		"a width":                  {base + "columns_map: {x: {width: 0}}\n", false},
		"duplicates":               {base + "duplicates: {input: error}\n", true},
		"unknown duplicates":       {base + "duplicates: {inputs: error}\n", false},
		"kerberos":                 {base + "hbase: {kerberos: {principal: a@B}}\n", false},
		"a query without per_day":  {base + "queries: [{columns: [id]}]\n", false},
		"wide without a qualifier": {base + "wide: {value: x}\n", false},
		"empty section":            {base + "hbase:\n", false},
	} {
		valid, decoded := validate(s, c.text), read("job.yaml", c.text)
		if (valid == nil) != c.valid || (decoded == nil) != c.valid {
			t.Errorf("%s: schema: %v; decoder: %v; want valid %v", name, valid, decoded, c.valid)
		}
	}
	included := "include: common.yaml\ntable: t\n"
	if err := validate(s, included); err != nil {
		t.Errorf("the rest is in another file: %v", err)
	}
	if err := validate(s, included+"tabel: t\n"); err == nil {
		t.Error("an unknown key beside include is valid")
	}
}

// place is where a list of keys is in a job file, and a job with a key there.
type place struct {
	keys []yamldoc.Key
	job  func(line string) string
}

func places() map[string]place {
	below := func(section, other string) func(string) string {
		return func(line string) string { return base + other + section + "\n  " + line + "\n" }
	}
	input := func(format string) func(string) string {
		return func(line string) string { return base + "  format: " + format + "\n  " + line + "\n" }
	}
	return map[string]place{
		"top": {slices.Concat(yamldoc.Top, yamldoc.Output, yamldoc.Common), func(line string) string {
			key, _, _ := strings.Cut(line, ":")
			return regexp.MustCompile("(?m)^"+key+":.*\n(  .*\n)*").ReplaceAllString(base, "") + line + "\n"
		}},
		"delimited":  {slices.Concat(yamldoc.Delimited, yamldoc.Input[3:]), input("delimited")},
		"csv":        {slices.Concat(yamldoc.CSV, yamldoc.Input[3:]), input("csv")},
		"parquet":    {slices.Concat(yamldoc.Parquet, yamldoc.Input[3:]), input("parquet")},
		"column":     {yamldoc.Column, below("columns_map:\n x:", "")},
		"constant":   {yamldoc.Constant[1:], below("columns_map:\n c:\n  constant: 7", "")},
		"hfile":      {yamldoc.HFile, below("hfile:", "")},
		"duplicates": {yamldoc.Duplicates, below("duplicates:", "")},
		"hbase":      {yamldoc.HBase, below("hbase:", "")},
		"engine":     {yamldoc.Engine, below("engine:", "")},
		"wide":       {yamldoc.Wide, below("wide:", "")},
	}
}

// TestChoices: a key with a choice has the texts that the decoder names when it is given another.
func TestChoices(t *testing.T) {
	t.Parallel()
	choice := regexp.MustCompile(`one of ([a-z0-9_, -]+|[A-Z0-9_, ]+)`)
	checked := 0
	for where, p := range places() {
		for _, key := range p.keys {
			if key.Kind != yamldoc.Choice && key.Kind != yamldoc.AnyCase {
				continue
			}
			line := key.Name + ": zzzz"
			if key.Name == "format" && where != "top" {
				line = "type: date\n  " + line
			}
			err := read("job.yaml", p.job(line))
			if err == nil {
				t.Errorf("%s: %s: zzzz is read", where, key.Name)
				continue
			}
			m := choice.FindStringSubmatch(err.Error())
			if m == nil {
				t.Errorf("%s: %s: %v", where, key.Name, err)
				continue
			}
			want := strings.Split(strings.ToLower(m[1]), ", ")
			got := slices.Clone(key.Choice)
			if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
				t.Errorf("%s: %s is one of %v, the decoder says %v", where, key.Name, got, want)
			}
			checked++
		}
	}
	if checked < 15 {
		t.Errorf("only %d choices", checked)
	}
}

// TestKindsOfKeys: what a key's kind refuses, the decoder refuses, too, and what it accepts is at least no wrong kind.
func TestKindsOfKeys(t *testing.T) {
	t.Parallel()
	s := compiled(t)
	for where, p := range places() {
		for _, key := range p.keys {
			for _, value := range []string{"[a]", "a", "7", "true", "null", "{}", "[]", "''", "'${region}'"} {
				text := p.job(key.Name + ": " + value)
				valid, decoded := validate(s, text), read("job.yaml", text)
				if decoded == nil && valid != nil {
					t.Errorf("%s: %s: %s is read, but not valid: %v", where, key.Name, value, valid)
				}
				wrongType := regexp.MustCompile(`\b` + key.Name + ` is .* \[` + string(errcode.JobValue) + `\](\n|$)`)
				if valid == nil && decoded != nil && wrongType.MatchString(failure.TextOf(decoded)) {
					t.Errorf("%s: %s: %s is valid, but: %v", where, key.Name, value, decoded)
				}
			}
		}
	}
}

// TestEveryKeyHasMeaning: editors show it.
func TestEveryKeyHasMeaning(t *testing.T) {
	t.Parallel()
	var check func(prefix string, keys []yamldoc.Key)
	check = func(prefix string, keys []yamldoc.Key) {
		for i, key := range keys {
			if key.Means == "" || !strings.HasSuffix(key.Means, ".") {
				t.Errorf("%s%s means %s", prefix, key.Name, strconv.Quote(key.Means))
			}
			if slices.ContainsFunc(keys[:i], func(k yamldoc.Key) bool { return k.Name == key.Name }) {
				t.Errorf("%s%s is twice", prefix, key.Name)
			}
			check(prefix+key.Name+".", key.Fixed)
		}
	}
	check("", slices.Concat(yamldoc.Top, yamldoc.Output, yamldoc.Common))
	for _, keys := range [][]yamldoc.Key{yamldoc.Input, yamldoc.Delimited, yamldoc.CSV, yamldoc.Parquet, yamldoc.Column, yamldoc.Constant} {
		check("", keys)
	}
}
