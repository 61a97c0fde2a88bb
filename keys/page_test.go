package keys

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"bulkload/cell"
)

// keysPage documents row keys. TestKeysPage compares its cards of the examples with the program.
const keysPage = "../docs/keys.md"

var keyExample = regexp.MustCompile("(?m)^\\| `(.*)` \\| .* \\| `([^`]+)` \\| `([^`]+)` \\|$")

// TestKeysPageFunctions: the page's table names every function as it is written, and its examples are right.
func TestKeysPageFunctions(t *testing.T) {
	text, err := os.ReadFile(keysPage)
	if err != nil {
		t.Fatal(err)
	}
	examples := keyExample.FindAllStringSubmatch(string(text), -1)
	for _, m := range examples {
		e, err := Parse(m[2], nil)
		if err != nil {
			t.Errorf("%s: %v", m[2], err)
			continue
		}
		key, err := e.Append(nil, nil)
		if got := cell.Printable(key); err != nil || got != m[3] && string(key) != m[3] {
			t.Errorf("%s is %s, %v; the page says %s", m[2], got, err, m[3])
		}
	}
	if len(examples) < 16 {
		t.Errorf("%d examples", len(examples))
	}
	for _, f := range functions {
		for _, form := range strings.Split(f.usage, " or ") {
			if !strings.Contains(string(text), "`"+form+"`") {
				t.Errorf("%s does not have %s", keysPage, form)
			}
		}
	}
}

// TestFindingsAreDocumented: docs/plan.md explains each finding.
func TestFindingsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/plan.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("finding.go")
	if err != nil {
		t.Fatal(err)
	}
	codes := regexp.MustCompile(`(?m)^\tFinding\w+ += "(.+?)"`).FindAllSubmatch(source, -1)
	if len(codes) < 12 {
		t.Errorf("%d codes are found", len(codes))
	}
	for _, m := range codes {
		if !strings.Contains(string(text), "\n| `key-"+string(m[1])+"` | ") {
			t.Errorf("docs/plan.md does not explain %s", m[1])
		}
	}
}
