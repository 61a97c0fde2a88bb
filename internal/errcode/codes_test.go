package errcode

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"
)

// TestTableHasEveryCode: a code that the table lacks would have the kind of an unknown failure, and so exit code 1.
func TestTableHasEveryCode(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "codes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	left := map[Code]string{}
	for _, d := range file.Decls {
		if constants, ok := d.(*ast.GenDecl); ok && constants.Tok == token.CONST {
			for _, s := range constants.Specs {
				spec := s.(*ast.ValueSpec)
				text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				left[Code(text)] = spec.Names[0].Name
			}
		}
	}
	for _, section := range Table {
		for _, e := range section.Entries {
			if left[e.Code] == "" {
				t.Errorf("the table has %s twice, or it is no constant", e.Code)
			}
			if e.Cause == "" || e.Remedy == "" {
				t.Errorf("%s has no cause, or no remedy", e.Code)
			}
			delete(left, e.Code)
		}
	}
	for code, name := range left {
		t.Errorf("the table lacks %s = %s", name, code)
	}
}
