package main

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"bulkload/internal/errcode"
	"bulkload/jobs/base/failure"
)

// repositoryRoot is found before any test changes the working directory.
var repositoryRoot = func() string {
	root, err := filepath.Abs("../..")
	if err != nil {
		panic(err)
	}
	return root
}()

// pageColumns is the width of the lines of docs/errors.md.
const pageColumns = 120

// errorsHead ends what of docs/errors.md is written in the file itself.
const errorsHead = "<!-- made of internal/errcode/codes.go by go test ./cmd/bulkload -run ErrorsPage -update-docs -->\n"

// errorsPage is docs/errors.md from errorsHead on.
func errorsPage() string {
	var page strings.Builder
	paragraph := func(text string) {
		if text != "" {
			page.WriteString("\n" + fold(text, pageColumns) + "\n")
		}
	}
	for _, section := range errcode.Table {
		paragraph("## " + section.Title)
		paragraph(section.About)
		for _, e := range section.Entries {
			paragraph(fmt.Sprintf("### %s (%d)", e.Code, exitCode(e.Code.New(""))))
			paragraph(e.Cause + " **Do:** " + e.Remedy)
			paragraph(saidElsewhere("Also:", &e))
		}
	}
	return page.String()
}

// TestErrorsPage: docs/errors.md has what the table of codes has. With -update-docs it writes the page.
func TestErrorsPage(t *testing.T) {
	name := filepath.Join(repositoryRoot, "docs/errors.md")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	head, page, ok := strings.Cut(string(text), errorsHead)
	want := errorsPage()
	switch {
	case !ok:
		t.Errorf("docs/errors.md lacks the line %s", errorsHead)
	case *updateDocs:
		if err := os.WriteFile(name, []byte(head+errorsHead+want), 0o600); err != nil {
			t.Fatal(err)
		}
	case page != want:
		t.Error("docs/errors.md differs from internal/errcode/codes.go: go test ./cmd/bulkload -run ErrorsPage -update-docs")
	}
}

// flagName is a flag in a text of the table.
var flagName = regexp.MustCompile("--[a-z][a-z-]+")

// TestCodesAreExplained: each code has an exit code, a cause of its own and a remedy. The flags and commands that they
// name exist.
func TestCodesAreExplained(t *testing.T) {
	s := &session{stdout: &bytes.Buffer{}, screen: newScreen(&bytes.Buffer{})}
	if _, _, _, err := parse([]string{"version"}, s); err != nil {
		t.Fatal(err)
	}
	flags := map[string]bool{"--escaped-by": true, "--hive-drop-import-delims": true} // of Sqoop
	for _, command := range s.model.Children {
		for _, f := range flagsOf(s.model, command) {
			flags["--"+f.Name] = true
		}
	}
	causes := map[string]errcode.Code{}
	for _, section := range errcode.Table {
		for _, e := range section.Entries {
			other := strings.HasPrefix(string(e.Code), "BL-OTHER-")
			code := exitCode(e.Code.New(""))
			if e.Code.Kind() != e.Kind || code == exitDone || other && fmt.Sprint("BL-OTHER-", code) != string(e.Code) {
				t.Errorf("%s has exit code %d", e.Code, code)
			}
			if len(e.Cause) < 10 && !other || len(e.Remedy) < 10 || causes[e.Cause] != "" {
				t.Errorf("%s has no cause, no remedy, or the cause of %s", e.Code, causes[e.Cause])
			}
			causes[e.Cause] = e.Code
			for _, text := range append([]string{e.Cause, e.Remedy}, e.Words...) {
				if strings.Count(text, "`")%2 != 0 || text == "" || strings.TrimSpace(text) != text {
					t.Errorf("%s: %q", e.Code, text)
				}
			}
			for _, name := range flagName.FindAllString(e.Cause+e.Remedy, -1) {
				if !flags[name] {
					t.Errorf("%s names the flag %s, which does not exist", e.Code, name)
				}
			}
			for _, m := range regexp.MustCompile("`bulkload ([a-z]+)").FindAllStringSubmatch(e.Cause+e.Remedy, -1) {
				if !isCommand(s.model, m[1]) {
					t.Errorf("%s names the command %s, which does not exist", e.Code, m[1])
				}
			}
		}
	}
	if len(causes) < 100 {
		t.Errorf("only %d codes are explained", len(causes))
	}
}

// TestHelpOfCodes: help prints the page of a code, in capitals or not, with BL- or without. An unknown code is refused,
// with those that it may be.
func TestHelpOfCodes(t *testing.T) {
	t.Parallel()
	show := func(want int, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		if code := execute(context.Background(), append([]string{"help"}, args...), &out, &out); code != want {
			t.Errorf("%v: exit code %d\n%s", args, code, &out)
		}
		return out.String()
	}
	page := show(exitDone, "BL-INPUT-MISSING")
	if !strings.HasPrefix(page, "BL-INPUT-MISSING (exit code 66)\n\nThe input does not exist.\n\nCheck ") ||
		!strings.Contains(page, "Input path does not exist") {
		t.Errorf("the page is\n%s", page)
	}
	for _, name := range []string{"bl-input-missing", "INPUT-MISSING", "Input-Missing"} {
		if got := show(exitDone, name); got != page {
			t.Errorf("%s: %s", name, got)
		}
	}
	for _, section := range errcode.Table {
		for _, e := range section.Entries {
			got := show(exitDone, string(e.Code))
			words := strings.Join(strings.Fields(got), " ")
			before, _, _ := strings.Cut(e.Remedy, "[") // a link, of which only the target is shown
			if strings.Contains(got, "](") || !strings.Contains(words, e.Cause) || !strings.Contains(words, before) {
				t.Errorf("the page of %s is\n%s", e.Code, got)
			}
			for line := range strings.Lines(got) {
				if n := len([]rune(line)); n > 81 && strings.Contains(line, " ") {
					t.Errorf("the page of %s has a line of %d columns", e.Code, n)
				}
			}
		}
	}
	if got := show(exitDone, "BL-SECURITY-UNSUPPORTED"); !strings.Contains(got, "docs/security.md") {
		t.Error(got)
	}
	if got := show(exitDone, "convert"); got == show(exitDone, "BL-CONVERT") || !strings.Contains(got, "bulkload convert <") {
		t.Errorf("the command convert comes before the code: %s", got)
	}
	for name, want := range map[string]string{
		"BL-INPUT-MISING": `"BL-INPUT-MISING" is neither a command nor the code of an error; do you mean BL-INPUT-MISSING, `,
		"bl-krb":          "do you mean BL-KRB-CONFIG, BL-KRB-KEYTAB, ",
		"stauts":          "do you mean status, ",
		"BL-INPUT-MISSING-\xff" + strings.Repeat("x", 1<<20): "do you mean ",
	} {
		if got := show(exitUsage, name); !strings.Contains(got, want) || !strings.HasSuffix(got, "? [BL-COMMAND]\n") {
			t.Errorf("%.100s: %.1000s", name, got)
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

// TestCodesAreUsed: each code belongs to some error. A comment or a comparison with the code is no use of it.
func TestCodesAreUsed(t *testing.T) {
	used := map[string]bool{}
	eachSource(t, func(path string, source []byte) {
		file, err := parser.ParseFile(token.NewFileSet(), path, source, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BinaryExpr:
				return n.Op != token.EQL && n.Op != token.NEQ
			case *ast.SelectorExpr:
				if of, ok := n.X.(*ast.Ident); ok && of.Name == "errcode" {
					used[n.Sel.Name] = true
				}
			}
			return true
		})
	})
	for name := range codes(t) {
		if !used[name] {
			t.Errorf("no error has the code %s", name)
		}
	}
}

// TestCodesOnTheTerminal: an error ends with its code, each problem of a job file has its own, and --json has a field
// for it.
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
