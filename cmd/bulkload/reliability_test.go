package main

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// faultFiles are the files whose tests are all about faults: docs/reliability.md has a row for each test in them.
var faultFiles = []string{
	"internal/seal/seal_test.go",
	"internal/storage/block_stream_test.go",
	"internal/storage/hdfs_check_test.go",
	"internal/storage/hdfs_damage_test.go",
	"jobs/balance_test.go",
	"jobs/input_content_test.go",
	"jobs/crash_test.go",
	"jobs/cut_cluster_test.go",
	"jobs/cut_directory_cluster_test.go",
	"jobs/damage_cluster_test.go",
	"jobs/staging_recovery_test.go",
	"jobs/empty_values_test.go",
	"jobs/hung_server_test.go",
	"jobs/spec/jobfile/identity_test.go",
	"jobs/pipeline/checkpoint/journal_test.go",
	"jobs/journal_golden_test.go",
	"jobs/late_test.go",
	"jobs/env/ledger/ledger_test.go",
	"jobs/ledger_cluster_test.go",
	"jobs/env/lock/lock_test.go",
	"jobs/manifest_damage_test.go",
	"jobs/read_hostile_test.go",
	"jobs/golden_runs_test.go",
	"jobs/table_changed_test.go",
	"jobs/lock_theft_cluster_test.go",
	"jobs/lock_theft_test.go",
	"load/probe_test.go",
	"load/rounds_test.go",
	"load/scan_faults_test.go",
}

// noFaults are tests in those files that are not about a fault.
var noFaults = map[string]bool{"internal/storage.TestBlockStreamAllocates": true}

var (
	// faultNames are the names of tests that have a row, whatever their file.
	faultNames = regexp.MustCompile(`\.Test(Killed|Damaged|Stolen)`)
	// childNames are the names of tests that are a process of another test.
	childNames = regexp.MustCompile(`Child$`)
	// harm matches what a test does to processes and disks. A file with such a test has a row, too.
	harm = regexp.MustCompile(`\.(Kill|Pause)\(|SIG(KILL|STOP)|testcluster\.Flip\(|\b(crash|damage)\(t,`)

	testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(\w+ \*testing\.[TF]\)`)
	citation = regexp.MustCompile("^" + mention.String() + "$")
	mention  = regexp.MustCompile("`([a-z/]+\\.(?:Test|Fuzz)\\w+)(?:/(\\w+))?`(?: \\(make ([a-z-]+)\\))?")
	// longSuites is the table of the suites that make test does not run.
	longSuites = regexp.MustCompile(`(?m)^\| suite \|.*\n(?:\|.*\n)*`)
)

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

// cited checks the rows of a document's tables: fault, promise, tests. It returns the tests that they name.
func (s *suite) cited(document string) (named map[string]bool, problems []string) {
	named = map[string]bool{}
	document = longSuites.ReplaceAllStringFunc(document, func(table string) string { return strings.Repeat("\n", strings.Count(table, "\n")) })
	for i, line := range strings.Split(document, "\n") {
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") || strings.HasPrefix(line, "| fault |") {
			continue
		}
		for _, problem := range s.checkRow(line, named) {
			problems = append(problems, fmt.Sprintf("line %d: %s", i+1, problem))
		}
	}
	return named, problems
}

func (s *suite) checkRow(line string, named map[string]bool) (problems []string) {
	columns := strings.Split(strings.Trim(line, "|"), "|")
	if len(columns) != 3 {
		return []string{fmt.Sprintf("%d columns, want fault, promise and tests", len(columns))}
	}
	for i, column := range columns {
		if columns[i] = strings.TrimSpace(column); columns[i] == "" {
			problems = append(problems, fmt.Sprintf("column %d is empty", i+1))
		}
	}
	for _, test := range strings.Split(columns[2], ", ") {
		m := citation.FindStringSubmatch(test)
		if m == nil {
			problems = append(problems, fmt.Sprintf("%q is not written `package.TestName` or `package.TestName/sub_test`, with (make suite) where make test does not run it", test))
			continue
		}
		named[m[1]] = true
		if problem := s.checkMention(m); problem != "" {
			problems = append(problems, problem)
		}
	}
	return problems
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

// onlyIn returns the make targets that alone run a test, or its sub-test if that is a function of its own; nil: make test does.
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

// forgotten lists the tests of faults, and the files that do harm, that no row names.
func (s *suite) forgotten(named map[string]bool) (problems []string) {
	for _, name := range faultFiles {
		if s.files[name] == nil {
			problems = append(problems, "there is no file "+name)
		}
	}
	inRows := map[string]bool{}
	for test := range named {
		inRows[s.tests[test]] = true
	}
	for _, test := range slices.Sorted(maps.Keys(s.tests)) {
		ofFaults := slices.Contains(faultFiles, s.tests[test]) || faultNames.MatchString(test)
		if ofFaults && !named[test] && !noFaults[test] && !childNames.MatchString(test) {
			problems = append(problems, fmt.Sprintf("no row names %s of %s", test, s.tests[test]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		if harm.MatchString(s.files[name].text) && !inRows[name] && path.Dir(name) != "internal/test/testcluster" {
			problems = append(problems, "no row names a test of "+name)
		}
	}
	return problems
}

// TestReliability: the tables of docs/reliability.md name existing tests, all tests of faults, and the suite of those that make test
// does not run.
func TestReliability(t *testing.T) {
	page, err := os.ReadFile("../../docs/reliability.md")
	if err != nil {
		t.Fatal(err)
	}
	s := readSuite(t, "../..")
	named, problems := s.cited(string(page))
	for _, problem := range append(problems, s.forgotten(named)...) {
		t.Errorf("docs/reliability.md: %s", problem)
	}
}

// TestDocumentsNameTests: the tests that any document names exist, and it names the suite of those that make test does not run.
func TestDocumentsNameTests(t *testing.T) {
	s := readSuite(t, "../..")
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) < 10 {
		t.Fatal(pages, err)
	}
	for _, name := range pages {
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

// TestReliabilityFindsWrongRows runs the check above with wrong rows.
func TestReliabilityFindsWrongRows(t *testing.T) {
	s := &suite{map[string]*testFile{}, map[string]string{}}
	s.add("jobs/crash_test.go", &testFile{".", "func TestA(t *testing.T) { t.Run(\"one thing\", nil) }\nfunc helper(t *testing.T) {}\n" +
		"func TestKilledB(t *testing.T) {\n}\nfunc FuzzC(f *testing.F) {\n}\nfunc TestKilledChild(t *testing.T) {\n}\n"})
	s.files["jobs/crash_test.go"].text = strings.Replace(s.files["jobs/crash_test.go"].text, "func TestA", "\nfunc TestA", 1)
	s.add("load/x_test.go", &testFile{".", "func TestX(t *testing.T) {\n\t_ = syscall.SIG" + "STOP\n}\n"})
	s.add("load/z_test.go", &testFile{".", "func TestZ(t *testing.T) {\n\ttestcluster.OnlyIn(t, \"chaos\", \"big\")\n}\nfunc TestW(t *testing.T) {\n" +
		"\tt.Run(\"of w\", w.part)\n\tt.Run(\"of v\", w.quick)\n}\nfunc (w *w) part(t *testing.T) {\n\ttestcluster.OnlyIn(t, \"chaos\")\n}\nfunc (w *w) quick(t *testing.T) {\n}\n"})
	s.add("load/y_test.go", &testFile{".", "func TestKilledY(t *testing.T) {\n}\n"})
	for row, want := range map[string]string{
		"| f | p | `jobs.TestA` |":                                "",
		"| f | p | `jobs.TestA/one_thing`, `jobs.FuzzC` |":        "",
		"| f | p | `cmd/bulkload.TestA` |":                        "there is no test cmd/bulkload.TestA",
		"| f | p | `jobs.TestD` |":                                "there is no test jobs.TestD",
		"| f | p | `load.TestZ` (make big), `load.TestW` |":       "",
		"| f | p | `load.TestZ` |":                                `runs in ["chaos" "big"]`,
		"| f | p | `load.TestZ` (make bench) |":                   `make "bench"`,
		"| f | p | `jobs.TestA` (make chaos) |":                   `make "chaos"`,
		"| f | p | `load.TestW/of_w` |":                           `runs in ["chaos"]`,
		"| f | p | `load.TestW/of_w` (make chaos) |":              "",
		"| f | p | `load.TestW/of_v` |":                           "",
		"| suite | date |\n|---|---|\n| a | b |\n":                "",
		"| f | p | `jobs.TestA/another_thing` |":                  "has no sub-test another_thing",
		"| f | p | TestA |":                                       "is not written",
		"| f | p | `jobs.TestA` and more |":                       "is not written",
		"| f |  | `jobs.TestA` |":                                 "column 2 is empty",
		"|  | p | `jobs.TestA` |":                                 "column 1 is empty",
		"| f | p | |":                                             "column 3 is empty",
		"| f | `jobs.TestA` |":                                    "2 columns",
		"| fault | promised | tests |\n|---|---|---|\ntext | |\n": "",
	} {
		if _, problems := s.cited(row); (len(problems) > 0) != (want != "") || !strings.Contains(strings.Join(problems, "\n"), want) {
			t.Errorf("%s: %q, want %q", row, problems, want)
		}
	}
	named, _ := s.cited("| f | p | `jobs.TestA` |")
	problems := strings.Join(s.forgotten(named), "\n")
	for want, there := range map[string]bool{"names jobs.TestKilledB of": true, "names jobs.FuzzC": true, "names load.TestKilledY": true,
		"a test of load/x_test.go": true, "there is no file jobs/lock_theft_test.go": true, "names jobs.TestA": false, "Child": false, "load.TestX": false} {
		if strings.Contains(problems, want) != there {
			t.Errorf("%q: %v, want %v in\n%s", want, !there, there, problems)
		}
	}
}
