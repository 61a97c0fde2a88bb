package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"bulkload/internal/errcode"
	"bulkload/jobs/base/failure"
)

// pageEntry is the section of a code in docs/errors.md.
type pageEntry struct {
	code, exit string
	texts      []string // as shown, with … for the parts that vary
	rest       string   // cause and remedy
}

// matches reports whether a message is one of the texts.
func (e *pageEntry) matches(message string) bool {
	for _, text := range e.texts {
		var pattern strings.Builder
		for i, piece := range strings.Split(text, "…") {
			if i > 0 {
				pattern.WriteString("(?s:.*)")
			}
			pattern.WriteString(regexp.QuoteMeta(strings.TrimSpace(piece)))
		}
		if regexp.MustCompile(pattern.String()).MatchString(message) {
			return true
		}
	}
	return false
}

var (
	pageSection = regexp.MustCompile(`(?m)^### (BL-[A-Z0-9-]+) \(exit code ([0-9]+)\)$`)
	pageText    = regexp.MustCompile("(?m)^> (.*)$")
)

// errorsPage is docs/errors.md, by code.
var errorsPage = sync.OnceValue(func() map[string]*pageEntry {
	page, err := os.ReadFile(filepath.Join(repositoryRoot, "docs/errors.md"))
	if err != nil {
		panic(err)
	}
	all := map[string]*pageEntry{}
	text := string(page)
	found := pageSection.FindAllStringSubmatchIndex(text, -1)
	for i, m := range found {
		end := len(text)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		body := text[m[1]:end]
		if next := strings.Index(body, "\n## "); next >= 0 {
			body = body[:next]
		}
		e := &pageEntry{code: text[m[2]:m[3]], exit: text[m[4]:m[5]]}
		for _, shown := range pageText.FindAllStringSubmatch(body, -1) {
			e.texts = append(e.texts, shown[1])
		}
		e.rest = strings.TrimSpace(pageText.ReplaceAllString(body, ""))
		all[e.code] = e
	}
	return all
})

// repositoryRoot is found before any test changes the working directory.
var repositoryRoot = func() string {
	root, err := filepath.Abs("../..")
	if err != nil {
		panic(err)
	}
	return root
}()

// TestErrorsPage: docs/errors.md has a section for each code and no others. Each has its exit code, a text that is in the
// source, a cause and a remedy.
func TestErrorsPage(t *testing.T) {
	page := errorsPage()
	literals := append(sourceTexts(t), libraryTexts...)
	known := map[string]bool{}
	for _, code := range codes(t) {
		known[code] = true
		e, want := page[code], fmt.Sprint(exitCode(errcode.Code(code).New("")))
		if e == nil {
			t.Errorf("docs/errors.md has no section %s (exit code %s)", code, want)
			continue
		}
		if e.exit != want {
			t.Errorf("docs/errors.md gives %s exit code %s, it is %s", code, e.exit, want)
		}
		if strings.HasPrefix(e.code, "BL-OTHER") {
			continue
		}
		if len(e.texts) == 0 || len(e.rest) < 20 {
			t.Errorf("docs/errors.md shows no text of %s, or no cause", code)
		}
		for _, text := range e.texts {
			if !inSource(literals, text) {
				t.Errorf("%s: the source has no message %q", code, text)
			}
		}
	}
	for code := range page {
		if !known[code] {
			t.Errorf("docs/errors.md has %s, which is no code", code)
		}
	}
}

// codes returns the codes by the names of their constants.
func codes(t *testing.T) map[string]string {
	t.Helper()
	source, err := os.ReadFile(filepath.Join(repositoryRoot, "internal/errcode/codes.go"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\t(\w+) +Code = "(.+)"$`).FindAllStringSubmatch(string(source), -1) {
		all[m[1]] = m[2]
	}
	if len(all) < 100 {
		t.Fatalf("only %d codes are found", len(all))
	}
	return all
}

// TestCodesAreUsed: each code belongs to some error.
func TestCodesAreUsed(t *testing.T) {
	var all strings.Builder
	eachSource(t, func(path string, source []byte) {
		if !strings.Contains(path, "internal/errcode/") {
			all.Write(source)
		}
	})
	for name := range codes(t) {
		if !regexp.MustCompile(`errcode\.` + name + `\b`).MatchString(all.String()) {
			t.Errorf("no error has the code %s", name)
		}
	}
}

// TestCodesOnTheTerminal: an error ends with its code, each problem of a job file has its own, and --json has a field for it.
func TestCodesOnTheTerminal(t *testing.T) {
	err := errcode.InputMissing.Errorf("the input %s is gone", "x")
	if got := failure.TextOf(fmt.Errorf("run: %w", err)); got != "run: the input x is gone [BL-INPUT-MISSING]" {
		t.Errorf("shown is %q", got)
	}
	outer := errcode.OutputChanged.Errorf("open the output: %w", err)
	if got := failure.CodeOf(outer); got != errcode.OutputChanged {
		t.Errorf("of two codes %s counts, want the outer one", got)
	}
	if got := failure.CodeOf(fmt.Errorf("nobody foresaw this")); got != errcode.OtherFailed {
		t.Errorf("an error without a code has %s", got)
	}
	if got := failure.CodeOf(failure.UsageError(err)); got != errcode.Command {
		t.Errorf("a usage error around a refusal has %s, which has another exit code", got)
	}
}

func eachSource(t *testing.T, visit func(path string, source []byte)) {
	t.Helper()
	err := filepath.WalkDir(repositoryRoot, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != repositoryRoot || d.Name() == "testdata") {
			if err == nil {
				err = filepath.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		source, err := os.ReadFile(path)
		visit(path, source)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// libraryTexts are texts of errors from the libraries for flags and YAML.
var libraryTexts = []string{"expected one of …", "unknown flag …", "found a tab character that violates indentation", "expected …", "permission denied", "… must be one of … but got …"}

var verb = regexp.MustCompile(`%[-+# 0]*[0-9]*(\.[0-9]+)?[a-zA-Z]`)

// sourceTexts are the texts in the program's source, with … for each verb of a format; texts joined by + are one.
func sourceTexts(t *testing.T) []string {
	var all []string
	eachSource(t, func(path string, source []byte) {
		file, err := parser.ParseFile(token.NewFileSet(), path, source, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			e, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			if text := constantText(e); text != "" {
				all = append(all, strings.ReplaceAll(verb.ReplaceAllString(text, "…"), "%%", "%"))
				return false
			}
			return true
		})
	})
	return all
}

// constantText is the text of a literal, or of several joined ones.
func constantText(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); e.Kind == token.STRING && err == nil {
			return text
		}
	case *ast.BinaryExpr:
		left, right := constantText(e.X), constantText(e.Y)
		if e.Op == token.ADD && left != "" && right != "" {
			return left + right
		}
	}
	return ""
}

// leastFixed is the number of bytes of a text on the page that must not be …, so that it can't match just anything.
const leastFixed = 7

// inSource reports whether all pieces of a text between two … are in one text of the source.
func inSource(texts []string, text string) bool {
	if len(strings.ReplaceAll(text, "…", "")) < leastFixed {
		return false
	}
	for _, candidate := range texts {
		rest, ok := candidate, true
		for _, piece := range strings.Split(text, "…") {
			_, rest, ok = strings.Cut(rest, strings.TrimSpace(piece))
			if !ok {
				break
			}
		}
		if ok {
			return true
		}
	}
	return false
}
