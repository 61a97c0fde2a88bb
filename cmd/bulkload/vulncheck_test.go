package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestVulncheck: the check for known vulnerabilities asks the database. Where that can't be reached, it asks the
// extract, and fails if that is too old.
func TestVulncheck(t *testing.T) {
	script, err := os.ReadFile("../../.ci/vulncheck")
	if err != nil {
		t.Fatal(err)
	}
	here := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/index/db.json" {
			http.NotFound(w, r)
		}
	}))
	defer here.Close()
	const nowhere = "http://127.0.0.1:1"
	for what, c := range map[string]struct {
		database, made, most string
		fails                bool
		says                 string // in its output, or the database that the command is given
	}{
		"the database":            {here.URL, "2000-01-01", "", false, "-db " + here.URL},
		"a fresh extract":         {nowhere, "2999-01-01", "", false, "as of 2999-01-01"},
		"an old extract":          {nowhere, "2000-01-01", "", true, "days old"},
		"an old one, as accepted": {nowhere, "2000-01-01", "9999999", false, "NOT known"},
		"an extract of no date":   {nowhere, "yesterweek", "", true, "invalid date"},
		"another error":           {here.URL + "/none", "2000-01-01", "", true, "days old"},
	} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "vulndb"), 0o700); err != nil {
			t.Fatal(err)
		}
		readme := "# Known vulnerabilities, as of " + c.made + "\n\nAn extract.\n"
		if err := os.WriteFile(filepath.Join(dir, "vulndb", "README.md"), []byte(readme), 0o600); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, "vulncheck")
		if err := os.WriteFile(name, script, 0o700); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "bash", name, "echo", "checked")
		cmd.Env = append(os.Environ(), "GOVULNDB="+c.database, "VULNDB_MAX_AGE="+c.most, "LC_ALL=C")
		out, err := cmd.CombinedOutput()
		checked := strings.Contains(string(out), "checked -db ")
		if (err != nil) != c.fails || checked == c.fails || !strings.Contains(string(out), c.says) {
			t.Errorf("%s: %v\n%s", what, err, out)
		}
		if extract := "-db file://" + dir + "/vulndb ./..."; checked && c.database == nowhere && !strings.Contains(string(out), extract) {
			t.Errorf("%s: the extract was not asked:\n%s", what, out)
		}
	}
	// The extract says of what day it is.
	if readme, err := os.ReadFile("../../.ci/vulndb/README.md"); err != nil || !strings.HasPrefix(string(readme), "# Known vulnerabilities, as of 20") {
		t.Errorf("%.60s, %v", readme, err)
	}
}
