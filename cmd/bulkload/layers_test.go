package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// layer is a rule of depguard: what some files may import.
type layer struct {
	Files []string               `yaml:"files"`
	Deny  []struct{ Pkg string } `yaml:"deny"`
	Allow []string               `yaml:"allow"`
}

// layers are the rules of .golangci.yml.
func layers(t *testing.T) map[string]layer {
	t.Helper()
	text, err := os.ReadFile("../../.golangci.yml")
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Linters struct {
			Settings struct {
				Depguard struct{ Rules map[string]layer }
			}
		}
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	return config.Linters.Settings.Depguard.Rules
}

// sources calls visit with each Go file of the module but tests, and its path from the module's folder.
func sources(t *testing.T, mode parser.Mode, visit func(name string, file *ast.File)) {
	t.Helper()
	err := filepath.WalkDir("../..", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "out" || entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".") && entry.Name() != "..") {
			return filepath.SkipDir
		}
		if entry.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, mode)
		if err != nil {
			return err
		}
		visit(strings.TrimPrefix(filepath.ToSlash(name), "../../"), file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// importsOf are the imports of a file.
func importsOf(file *ast.File) []string {
	all := []string{}
	for _, spec := range file.Imports {
		all = append(all, strings.Trim(spec.Path.Value, `"`))
	}
	return all
}

// importsOfFiles are the imports of all Go files but tests, by the files' paths from the module's folder.
func importsOfFiles(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	sources(t, parser.ImportsOnly, func(name string, file *ast.File) { all[name] = importsOf(file) })
	return all
}

// TestTypesHaveNamesOfTheirOwn: no two packages that meet in a file, by its imports or as its own, export types of one
// name for different things.
func TestTypesHaveNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	exported := map[string]map[string]bool{} // by package
	meet := map[string][]string{}            // the packages that meet in a file
	sources(t, parser.SkipObjectResolution, func(name string, file *ast.File) {
		if strings.HasPrefix(name, "internal/test/") || strings.HasPrefix(name, "tools/") {
			return
		}
		pkg := path.Join("bulkload", path.Dir(name))
		meet[name] = append(importsOf(file), pkg)
		if exported[pkg] == nil {
			exported[pkg] = map[string]bool{}
		}
		for _, decl := range file.Decls {
			if decl, ok := decl.(*ast.GenDecl); ok && decl.Tok == token.TYPE {
				for _, spec := range decl.Specs {
					if spec := spec.(*ast.TypeSpec); spec.Name.IsExported() && !spec.Assign.IsValid() {
						exported[pkg][spec.Name.Name] = true
					}
				}
			}
		}
	})
	if len(exported) < 50 || !exported["bulkload/load"]["Table"] {
		t.Fatalf("%d packages", len(exported))
	}
	for name, packages := range meet {
		owner := map[string]string{}
		for _, pkg := range packages {
			for typeName := range exported[pkg] {
				if other := owner[typeName]; other != "" && other != pkg {
					t.Errorf("%s: %s is a type of %s and of %s", name, typeName, other, pkg)
				}
				owner[typeName] = pkg
			}
		}
	}
}

// matcher is a pattern for files as depguard reads it.
func matcher(pattern string) *regexp.Regexp {
	text := regexp.QuoteMeta(pattern)
	for _, pair := range [][2]string{{`\*\*/`, "(.*/)?"}, {`\*\*`, ".*"}, {`\*`, "[^/]*"}} {
		text = strings.ReplaceAll(text, pair[0], strings.ReplaceAll(pair[1], "*", "\x00"))
	}
	return regexp.MustCompile("^" + strings.ReplaceAll(text, "\x00", "*") + "$")
}

// imports are what the files of a rule import.
func (l layer) imports(all map[string][]string) (used []string, files int) {
	for name, imported := range all {
		matches, excluded := false, false
		for _, pattern := range l.Files {
			if not, ok := strings.CutPrefix(pattern, "!"); ok {
				excluded = excluded || not != "$test" && matcher(not).MatchString(name)
			} else {
				matches = matches || matcher(pattern).MatchString(name)
			}
		}
		if matches && !excluded {
			files++
			used = append(used, imported...)
		}
	}
	return used, files
}

// TestLayersAreUsed: each rule for imports has files, and allows nothing that they don't import; so a rule is as strict
// as it can be.
func TestLayersAreUsed(t *testing.T) {
	t.Parallel()
	all, rules := importsOfFiles(t), layers(t)
	if len(rules) < 25 || len(all) < 300 {
		t.Fatalf("%d rules, %d files", len(rules), len(all))
	}
	for name, rule := range rules {
		used, files := rule.imports(all)
		if files == 0 {
			t.Errorf("rule %s is for no file", name)
		}
		for _, allowed := range rule.Allow {
			exact, only := strings.CutSuffix(allowed, "$")
			if !slices.ContainsFunc(used, func(p string) bool { return p == exact || !only && strings.HasPrefix(p, allowed) }) {
				t.Errorf("rule %s allows %s, which no file of it imports", name, allowed)
			}
		}
	}
}

// TestParts draws the parts of jobs as rooms and what they import of each other as arrows: none leads up or in a
// circle, and the house stays low.
func TestParts(t *testing.T) {
	t.Parallel()
	room := func(pkg string) string {
		names := strings.SplitN(pkg, "/", 3)
		if len(names) == 1 || names[0] != "jobs" {
			return names[0]
		}
		return names[0] + "/" + names[1]
	}
	below := map[string]map[string]bool{}
	arrows := 0
	for name, imported := range importsOfFiles(t) {
		from := room(path.Dir(name))
		if from != "jobs" && !strings.HasPrefix(from, "jobs/") {
			continue
		}
		if below[from] == nil {
			below[from] = map[string]bool{}
		}
		for _, pkg := range imported {
			own, ok := strings.CutPrefix(pkg, "bulkload/")
			if to := room(own); ok && to != from && to != "internal" && !below[from][to] {
				below[from][to] = true
				arrows++
			}
		}
	}
	floors := map[string]int{}
	for left := len(below); left > 0; {
		before := left
		for from, all := range below {
			floor := 1
			for to := range all {
				switch {
				case floors[to] > 0:
					floor = max(floor, floors[to]+1)
				case below[to] != nil:
					floor = 0 // the rooms below it come first
				}
				if floor == 0 {
					break
				}
			}
			if floors[from] == 0 && floor > 0 {
				floors[from] = floor
				left--
			}
		}
		if left == before {
			t.Fatalf("rooms in a circle: of %v only %v have a floor", slices.Sorted(maps.Keys(below)), floors)
		}
	}
	highest := slices.Max(slices.Collect(maps.Values(floors)))
	t.Logf("%d rooms, %d floors, %d arrows: %v", len(below), highest, arrows, floors)
	if len(below) < 10 || len(below) > 12 || highest > 9 || arrows > 90 {
		t.Errorf("%d rooms on %d floors with %d arrows", len(below), highest, arrows)
	}
}
