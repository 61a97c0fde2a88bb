package keys

import (
	"testing"

	"bulkload/internal/test/testwords"
	"bulkload/values"
)

// TestFunctionsOfEmptyValues gives every function an empty value and a null, as the first value and after another one:
// a null is said to be one, and an empty value never is.
func TestFunctionsOfEmptyValues(t *testing.T) {
	for _, f := range functions {
		if !f.takesValue {
			continue
		}
		e := functionCall(t, f)
		evaluator := e.Evaluator()
		for _, before := range []values.Value{{}, values.ValueOf(nil), values.ValueOf([]byte("12")), {}, values.ValueOf(nil)} {
			_, _ = evaluator.Append(nil, []values.Value{before})
			for _, v := range []values.Value{values.ValueOf(nil), {}} {
				key, err := evaluator.Append(nil, []values.Value{v})
				fresh, freshErr := e.Append([]byte{}, []values.Value{v})
				if string(key) != string(fresh) || (err == nil) != (freshErr == nil) {
					t.Errorf("%s: %q, %v; of a new evaluator %q, %v", e, key, err, fresh, freshErr)
				}
				if null := testwords.Names(err, "it is null, "); null != v.Null() {
					t.Errorf("%s: null %v: %v", e, v.Null(), err)
				}
			}
		}
	}
}

// functionCall is a key of one function, after a literal so that it is never empty.
func functionCall(t *testing.T, f *function) *Expr {
	t.Helper()
	text := "'-' + " + f.name + "(x"
	for _, p := range f.params[:f.required-1] {
		switch p.kind {
		case paramNumber:
			text += ", 3"
		case paramLayout:
			text += ", 'yyyyMMdd'"
		default:
			text += ", 'UTC'"
		}
	}
	e, err := Parse(text+")", []KeyColumn{{Name: "x"}})
	if err != nil {
		t.Fatal(err)
	}
	return e
}
