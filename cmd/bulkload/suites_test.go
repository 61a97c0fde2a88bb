package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// onlyIn matches the call of a test that make test has no time for.
	onlyIn = regexp.MustCompile(`(?m)^\ttestcluster\.OnlyIn\(t, ([^)]*)\)`)
	// suiteLine matches the Makefile's call of a suite: its name, the pattern of its tests, and their packages.
	suiteLine = regexp.MustCompile(`BULKLOAD_SUITE=(\S+) .*-run '?([^' ]+)'? (.*)`)
	// switches matches the environment variables that change what tests do.
	switches = regexp.MustCompile(`"(BULKLOAD_[A-Z_]+)"`)
)

// TestSuites: make test or a target of the Makefile runs each test.
func TestSuites(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	type target struct {
		tests    *regexp.Regexp
		packages string
	}
	targets := map[string]target{}
	for _, m := range suiteLine.FindAllStringSubmatch(string(makefile), -1) {
		targets[m[1]] = target{regexp.MustCompile(strings.ReplaceAll(m[2], "$$", "$")), m[3] + " "}
	}
	if len(targets) < 7 {
		t.Fatalf("the Makefile has %d suites", len(targets))
	}
	s := readSuite(t, "../..")
	for test, name := range s.tests {
		f, short := s.files[name], path.Ext(test)[1:]
		for _, suite := range f.targets(short) {
			if to, ok := targets[suite]; !ok || !to.tests.MatchString(short) || !strings.Contains(to.packages, "./"+path.Dir(name)+" ") {
				t.Errorf("%s of %s runs only in make %s, which does not run it", short, name, suite)
			}
		}
	}
	for name, f := range s.files {
		for _, m := range switches.FindAllStringSubmatch(f.text, -1) {
			// Tests set those of their child processes.
			if v := m[1]; !strings.HasPrefix(v, "BULKLOAD_TEST_") && !slices.Contains(notSwitches, v) && !strings.Contains(string(makefile), v+"=") {
				t.Errorf("%s reads %s, which the Makefile never sets", name, v)
			}
		}
	}
}

// notSwitches are names in file infos of HFiles.
var notSwitches = []string{"BULKLOAD_TIMESTAMP", "BULKLOAD_SOURCE_TASK"}

// TestSkips: a test is skipped only by -short, in a process that runs another test, or by testcluster, which fails with CI=true.
func TestSkips(t *testing.T) {
	for name, f := range readSuite(t, "../..").files {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("../..", name), f.text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, skip := range badSkips(file, f.text) {
			t.Errorf("%s: %s: use testcluster.Without or OnlyIn, or skip with -short", name, skip)
		}
	}
}

// badSkips are the calls of Skip in a file that CI=true does not turn into a failure.
func badSkips(file *ast.File, text string) (bad []string) {
	var conditions []*ast.IfStmt
	ast.Inspect(file, func(n ast.Node) bool {
		if i, ok := n.(*ast.IfStmt); ok {
			conditions = append(conditions, i)
		}
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		f, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || !slices.Contains([]string{"t.Skip", "t.Skipf", "t.SkipNow"}, text[f.Pos()-1:f.End()-1]) {
			return true
		}
		words := text[call.Pos()-1 : call.End()-1]
		allowed := strings.Contains(words, "runs as a child of")
		for _, i := range conditions {
			around := i.Body.Pos() <= call.Pos() && call.End() <= i.Body.End()
			allowed = allowed || around && strings.Contains(text[i.Cond.Pos()-1:i.Cond.End()-1], "testing.Short()")
		}
		if !allowed {
			bad = append(bad, words)
		}
		return true
	})
	return bad
}
