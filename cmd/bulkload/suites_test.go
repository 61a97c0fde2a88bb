package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
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

	testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(\w+ \*testing\.[TF]\)`)
	// mention is a test in a document: `package.TestName` or `package.TestName/sub_test`, with (make suite) where make
	// test does not run it.
	mention = regexp.MustCompile("`([a-z/]+\\.(?:Test|Fuzz)\\w+)(?:/(\\w+))?`(?: \\(make ([a-z-]+)\\))?")
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

// TestSkips: a test is skipped only by -short, in a process that runs another test, or by testcluster, which fails with
// CI=true.
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

// testFile is a file of tests.
type testFile struct {
	dir, text string
}

// has reports whether a test of the file has a sub-test: its name is in the file, or is a script's.
func (f *testFile) has(subtest string) bool {
	if strings.Contains(f.text, `"`+strings.ReplaceAll(subtest, "_", " ")+`"`) {
		return true
	}
	scripts, _ := filepath.Glob(filepath.Join(f.dir, "testdata", "script", subtest+".txtar"))
	return len(scripts) == 1
}

// suite is the repository's tests by "package.TestName", and their files by path.
type suite struct {
	files map[string]*testFile
	tests map[string]string // the file's path
}

func readSuite(t *testing.T, root string) *suite {
	t.Helper()
	s := &suite{map[string]*testFile{}, map[string]string{}}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || len(d.Name()) > 2 && d.Name()[0] == '.'):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		s.add(filepath.ToSlash(rel), &testFile{filepath.Dir(name), string(text)})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *suite) add(name string, f *testFile) {
	s.files[name] = f
	for _, m := range testFunc.FindAllStringSubmatch(f.text, -1) {
		s.tests[path.Dir(name)+"."+m[1]] = name
	}
}

// TestDocumentsNameTests: the tests that any document names exist, and it names the suite of those that make test does
// not run.
func TestDocumentsNameTests(t *testing.T) {
	s := readSuite(t, "../..")
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) < 10 {
		t.Fatal(pages, err)
	}
	below, err := filepath.Glob("../../docs/*/*.md") // docs/dev among them
	if err != nil || len(below) < 3 {
		t.Fatal(below, err)
	}
	for _, name := range append(pages, below...) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range mention.FindAllStringSubmatch(string(text), -1) {
			if problem := s.checkMention(m); problem != "" {
				t.Errorf("%s: %s", name, problem)
			}
		}
	}
}

// checkMention returns what is wrong with a match of mention.
func (s *suite) checkMention(m []string) (problem string) {
	file, ok := s.tests[m[1]]
	if !ok {
		return "there is no test " + m[1]
	}
	f := s.files[file]
	if m[2] != "" && !f.has(m[2]) {
		return fmt.Sprintf("%s has no sub-test %s", m[1], m[2])
	}
	if only := f.onlyIn(path.Ext(m[1])[1:], m[2]); (m[3] != "" || len(only) > 0) && !slices.Contains(only, m[3]) {
		return fmt.Sprintf("%s/%s: make %q, and it runs in %q", m[1], m[2], m[3], only)
	}
	return ""
}

// onlyIn returns the make targets that alone run a test, or its sub-test if that is a function of its own; nil: make
// test does.
func (f *testFile) onlyIn(test, subtest string) []string {
	targets := f.targets(test)
	if m := regexp.MustCompile(`"` + strings.ReplaceAll(subtest, "_", " ") + `"[:,]\s+(?:\w+\.)?(\w+)`).FindStringSubmatch(f.text); m != nil && len(targets) == 0 {
		targets = f.targets(m[1])
	}
	return targets
}

// targets are the arguments of OnlyIn in a function's body.
func (f *testFile) targets(function string) (targets []string) {
	body := regexp.MustCompile(`(?ms)^func (?:\([^)]*\) )?` + function + `\(.*?^}`).FindString(f.text)
	if m := onlyIn.FindStringSubmatch(body); m != nil {
		for quoted := range strings.SplitSeq(m[1], ", ") {
			targets = append(targets, strings.Trim(quoted, `"`))
		}
	}
	return targets
}
