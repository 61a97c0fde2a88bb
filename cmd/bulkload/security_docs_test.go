package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// securityFiles are the files that read the properties which determine protection.
var securityFiles = []string{"../../load/security.go", "../../internal/storage/security.go", "../../internal/storage/umask.go", "../../jobs/env/site/login.go"}

// property matches a property's name in Go code.
var property = regexp.MustCompile(`"((?:hadoop|hbase|dfs|ipc|fs)\.[a-z0-9._-]*[a-z0-9])"`)

// TestSecurity: each row of the tables of docs/security.md names existing tests, and each property that determines protection
// is in a row.
func TestSecurity(t *testing.T) {
	page, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := tableRows(string(page))
	_, problems := readSuite(t, "../..").cited(rows)
	for _, problem := range problems {
		t.Errorf("docs/security.md: row %s", problem)
	}
	for _, name := range securityFiles {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, missing := range undocumented(string(text), rows) {
			t.Errorf("docs/security.md has no row for %s, which %s reads", missing, name)
		}
	}
}

// tableRows keeps the rows of a document's tables, without their heads.
func tableRows(document string) string {
	var rows []string
	for _, line := range strings.Split(document, "\n") {
		switch {
		case strings.HasPrefix(line, "|---"):
			rows = rows[:len(rows)-1]
		case strings.HasPrefix(line, "|"):
			rows = append(rows, line)
		}
	}
	return strings.Join(rows, "\n")
}

// undocumented returns the properties of a Go file that no row's first column names.
func undocumented(text, rows string) (names []string) {
	var first []string
	for _, row := range strings.Split(rows, "\n") {
		first = append(first, strings.SplitN(row, "|", 3)[1])
	}
	for _, m := range property.FindAllStringSubmatch(text, -1) {
		named := slices.ContainsFunc(first, func(column string) bool { return strings.Contains(column, "`"+m[1]+"`") })
		if !named && !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	return names
}

// TestSecurityFindsWrongRows runs the checks above with wrong tables.
func TestSecurityFindsWrongRows(t *testing.T) {
	rows := tableRows("text\n| property | what | tests |\n|---|---|---|\n| `hbase.a`, `dfs.b` | done | `load.TestA` |\n\n| to | do | tests |\n|---|---|---|\n| load | `grant` | `load.TestB` |\n")
	if want := "| `hbase.a`, `dfs.b` | done | `load.TestA` |\n| load | `grant` | `load.TestB` |"; rows != want {
		t.Errorf("rows %q", rows)
	}
	s := &suite{map[string]*testFile{}, map[string]string{}}
	s.add("load/a_test.go", &testFile{".", "func TestA(t *testing.T) {\n}\n"})
	if _, problems := s.cited(rows); len(problems) != 1 || !strings.Contains(problems[0], "there is no test load.TestB") {
		t.Errorf("%q", problems)
	}
	got := undocumented(`conf.Get("hbase.a"); conf.Get("dfs.b"); conf.Get("dfs.b.c"); conf.Get("dfs.b.c"); conf.Get("other.d")`, rows)
	if !slices.Equal(got, []string{"dfs.b.c"}) {
		t.Errorf("undocumented: %q", got)
	}
}
