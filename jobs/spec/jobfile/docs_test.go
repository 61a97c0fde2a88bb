package jobfile

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bulkload/jobs/spec/yamldoc"
)

// knownKeys are the keys of a job file as the page about it writes them.
func knownKeys() []string {
	var all []string
	add := func(prefix string, lists ...[]yamldoc.Key) {
		for _, name := range yamldoc.Names(lists...) {
			all = append(all, prefix+name)
		}
	}
	add("", yamldoc.Top, yamldoc.Output, yamldoc.Common)
	add("input.", yamldoc.Input, yamldoc.Delimited, yamldoc.CSV, yamldoc.Parquet)
	add("columns_map.COLUMN.", yamldoc.Column)
	add("columns_map.NAME.", yamldoc.Constant[:1]) // the others are those of a column
	add("duplicates.", yamldoc.Duplicates)
	add("hbase.", yamldoc.HBase)
	add("hbase.kerberos.", yamldoc.Kerberos)
	add("engine.", yamldoc.Engine)
	add("hfile.", yamldoc.HFile)
	add("queries[].", yamldoc.Queries)
	add("regions.", yamldoc.Regions)
	add("wide.", yamldoc.Wide)
	slices.Sort(all)
	return slices.Compact(all)
}

// TestEveryKeyIsDocumented compares the table of keys in docs/jobfile.md with what the reader knows.
func TestEveryKeyIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../docs/jobfile.md")
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
	known := knownKeys()
	// whose keys are listed
	sections := []string{"input", "columns_map", "hbase", "hfile", "regions", "queries", "wide", "engine"}
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
