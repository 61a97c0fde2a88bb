package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mutant is one change of one line.
type mutant struct {
	file     string // absolute
	line     int
	begins   int // the line of the statement that it is in, if that is a switch; else as line
	from, to int // offsets of the text that is replaced
	with     string
	old      string
}

func (m *mutant) String() string {
	return fmt.Sprintf("%s:%d: %s → %s", filepath.Base(m.file), m.line, short(m.old), short(m.with))
}

// short is a text on one line.
func short(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if text == "" {
		return "nothing"
	}
	if runes := []rune(text); len(runes) > 80 {
		text = string(runes[:79]) + "…"
	}
	return text
}

// isIn reports whether the mutant's line is one of these, by the file's name.
func (m *mutant) isIn(lines map[string]map[int]bool) bool {
	return lines[filepath.Base(m.file)][m.begins]
}

// apply returns the file's text with the change.
func (m *mutant) apply() ([]byte, error) {
	text, err := os.ReadFile(m.file)
	if err != nil {
		return nil, err
	}
	return slices.Concat(text[:m.from], []byte(m.with), text[m.to:]), nil
}

// mutantsOf are the possible mutants of the package in a folder, without its tests: one per line, drawn at random, in
// random order.
func mutantsOf(dir string, r *rand.Rand) ([]*mutant, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var drawn []*mutant
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		all, err := mutantsIn(name, text)
		if err != nil {
			return nil, err
		}
		byLine := map[int][]*mutant{}
		var lines []int
		for _, m := range all {
			if byLine[m.line] == nil {
				lines = append(lines, m.line)
			}
			byLine[m.line] = append(byLine[m.line], m)
		}
		for _, line := range lines {
			drawn = append(drawn, byLine[line][r.IntN(len(byLine[line]))])
		}
	}
	r.Shuffle(len(drawn), func(i, j int) { drawn[i], drawn[j] = drawn[j], drawn[i] })
	return drawn, nil
}

// mutantsIn are all mutants of a file.
func mutantsIn(name string, text []byte) (all []*mutant, err error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	source := func(n ast.Node) string {
		return string(text[fset.Position(n.Pos()).Offset:fset.Position(n.End()).Offset])
	}
	var cases []*ast.CaseClause
	switches := map[*ast.CaseClause]int{} // the line of a case's switch
	add := func(from, to token.Pos, with string) {
		at := fset.Position(from)
		end := fset.Position(to).Offset
		m := &mutant{file: name, line: at.Line, begins: at.Line, from: at.Offset, to: end, with: with, old: string(text[at.Offset:end])}
		for _, c := range cases { // a profile has the line of a case only if it was the one
			if c.Pos() <= from && to <= c.Colon {
				m.begins = switches[c]
			}
		}
		all = append(all, m)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SwitchStmt:
			for _, s := range n.Body.List {
				c := s.(*ast.CaseClause)
				cases, switches[c] = append(cases, c), fset.Position(n.Switch).Line
			}
		case *ast.GenDecl:
			return n.Tok == token.VAR // constants and types stay
		case *ast.IfStmt:
			condition := source(n.Cond)
			add(n.Cond.Pos(), n.Cond.End(), "!("+condition+")")
			add(n.Cond.Pos(), n.Cond.End(), "("+condition+") && false")
		case *ast.BinaryExpr:
			if other, ok := opposites[n.Op]; ok {
				add(n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), other.String())
			}
		case *ast.ReturnStmt:
			if len(n.Results) > 0 && isError(n.Results[len(n.Results)-1]) {
				last := n.Results[len(n.Results)-1]
				add(last.Pos(), last.End(), "error(nil)")
			}
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE && isState(n.Lhs) && len(n.Lhs) == len(n.Rhs) {
				var values []string
				for _, v := range n.Rhs {
					values = append(values, source(v))
				}
				add(n.Pos(), n.End(), strings.Repeat("_, ", len(values)-1)+"_ = "+strings.Join(values, ", "))
			}
		case *ast.IncDecStmt:
			if isState([]ast.Expr{n.X}) {
				add(n.Pos(), n.End(), "")
			}
		case *ast.ExprStmt:
			if _, ok := n.X.(*ast.CallExpr); ok && !strings.HasPrefix(source(n), "panic(") {
				add(n.Pos(), n.End(), "")
			}
		}
		return true
	})
	return all, nil
}

var opposites = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LAND: token.LOR, token.LOR: token.LAND,
}

// isError reports whether an expression is an error: err, or a call that makes one.
func isError(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name == "err"
	case *ast.CallExpr:
		f, ok := e.Fun.(*ast.SelectorExpr)
		return ok && slices.Contains([]string{"Errorf", "New", "Join", "Damagedf"}, f.Sel.Name)
	}
	return false
}

// isState reports whether an assignment changes, or may change, a value that outlives the function.
func isState(to []ast.Expr) bool {
	return slices.ContainsFunc(to, func(e ast.Expr) bool {
		switch e.(type) {
		case *ast.SelectorExpr, *ast.IndexExpr, *ast.StarExpr:
			return true
		}
		return false
	})
}
