package jobfile

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// knownKeys are the keys of a job file as the page about it writes them, by what the reader's calls of known say: each
// call is listed here, so that a section that is new has to be added to this list and to the page.
func knownKeys(t *testing.T) []string {
	t.Helper()
	input := slices.Clone(inputKeys)
	for _, f := range formats {
		input = append(input, f.keys...)
	}
	calls := map[string]struct {
		prefix string
		keys   []string
	}{
		"s.known(slices.Concat(jobKeys, outputKeys, commonKeys)...)":                          {"", slices.Concat(jobKeys, outputKeys, commonKeys)},
		"own.known(slices.Concat(outputKeys, commonKeys)...)":                                 {"", nil}, // the same
		"s.known(append(inputKeys, format.keys...)...)":                                       {"input.", input},
		"rule.known(columnKeys...)":                                                           {"columns_map.COLUMN.", columnKeys},
		"rule.known(constantKeys...)":                                                         {"columns_map.NAME.", []string{"constant"}}, // the others are those of a column
		`s.known("principal", "keytab")`:                                                      {"hbase.kerberos.", nil},
		`s.known("conf", "kerberos")`:                                                         {"hbase.", nil},
		`s.known("compression", "encoding", "bloom", "block_size", "max_size", "slice_size")`: {"hfile.", nil},
		`q.known("columns", "per_day")`:                                                       {"queries[].", nil},
		`s.known("from", "splits", "file")`:                                                   {"regions.", nil},
		`own.known("input", "live")`:                                                          {"duplicates.", nil},
		`s.known("qualifier", "value")`:                                                       {"wide.", nil},
	}
	files, err := filepath.Glob("[rl]*.go")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	call, literal := regexp.MustCompile(`\w+\.known\(.*\)`), regexp.MustCompile(`"([^"]+)"`)
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range call.FindAllString(string(text), -1) {
			c, listed := calls[found]
			if !listed && !strings.HasSuffix(name, "_test.go") {
				t.Errorf("%s: %s is in the list of neither this test nor, perhaps, docs/jobfile.md", name, found)
			}
			for _, m := range literal.FindAllStringSubmatch(found, -1) {
				c.keys = append(c.keys, m[1])
			}
			for _, key := range c.keys {
				all = append(all, c.prefix+key)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// TestEveryKeyIsDocumented compares the table of keys in docs/jobfile.md with what the reader knows.
func TestEveryKeyIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/jobfile.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "## All keys")
	table, _, _ = strings.Cut(table, "\n## ")
	var documented []string
	quoted := regexp.MustCompile("`([^`]+)`")
	for line := range strings.Lines(table) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			for _, m := range quoted.FindAllStringSubmatch(cells[1], -1) {
				documented = append(documented, m[1])
			}
		}
	}
	known := knownKeys(t)
	if len(known) < 60 {
		t.Errorf("the reader is found to know %d keys only", len(known))
	}
	sections := []string{"input", "columns_map", "hbase", "hfile", "regions", "queries", "wide"} // whose keys are listed
	for _, key := range known {
		if !slices.Contains(documented, key) && !slices.Contains(sections, key) {
			t.Errorf("docs/jobfile.md has no key %s", key)
		}
	}
	for _, key := range documented {
		if !slices.Contains(known, key) {
			t.Errorf("docs/jobfile.md has the key %s, which the reader does not know", key)
		}
	}
}

// TestDocumentedFilters reads the filters that the page shows, over the columns of the example that it names.
func TestDocumentedFilters(t *testing.T) {
	text, err := os.ReadFile("../../docs/jobfile.md")
	if err != nil {
		t.Fatal(err)
	}
	j, err := Read("../examples/payments.yaml", ReadOptions{Date: date20})
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile("(?m)^filter: (.*)$").FindAllStringSubmatch(string(text), -1)
	if len(shown) == 0 {
		t.Error("no filter is shown")
	}
	for _, m := range shown {
		if m[1] != j.Filter.String() {
			t.Errorf("the page shows the filter %s, and the example has %s", m[1], j.Filter)
		}
	}
}
