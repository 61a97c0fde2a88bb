package keys

import "testing"

// TestEmptyIsNoNull: what bytes a value is made of can't make it null; only the zero Value is.
func TestEmptyIsNoNull(t *testing.T) {
	var room []byte // which has never held anything, as the buffers of readers at their first record
	for name, v := range map[string]Value{"nil": ValueOf(nil), "empty": ValueOf([]byte{}), "a view of nothing": ValueOf(room[0:0:0]), "a text": ValuesOf("")[0]} {
		if v.Null() || v.Len() != 0 || v.Bytes() == nil {
			t.Errorf("%s: null %v, %d bytes", name, v.Null(), v.Len())
		}
	}
	if v := (Value{}); !v.Null() || v.Len() != 0 || len(v.Bytes()) != 0 {
		t.Errorf("the zero Value: %+v", v)
	}
}

// TestFunctionsOfEmptyValues gives every function an empty value and a null, as the first value and after another one: a
// null is said to be one, and an empty value never is.
func TestFunctionsOfEmptyValues(t *testing.T) {
	for _, f := range functions {
		if !f.takesValue {
			continue
		}
		e := functionCall(t, f)
		evaluator := e.Evaluator()
		for _, before := range []Value{{}, ValueOf(nil), ValueOf([]byte("12")), {}, ValueOf(nil)} {
			_, _ = evaluator.Append(nil, []Value{before})
			for _, v := range []Value{ValueOf(nil), {}} {
				key, err := evaluator.Append(nil, []Value{v})
				fresh, freshErr := e.Append([]byte{}, []Value{v})
				if string(key) != string(fresh) || (err == nil) != (freshErr == nil) {
					t.Errorf("%s: %q, %v; of a new evaluator %q, %v", e, key, err, fresh, freshErr)
				}
				if null := err != nil && err.Error() == "column x is null and the row key needs it"; null != v.Null() {
					t.Errorf("%s: null %v: %v", e, v.Null(), err)
				}
			}
		}
	}
}

// functionCall is a key of one function, behind a literal so that it is never empty.
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
	e, err := Parse(text+")", []Column{{Name: "x"}})
	if err != nil {
		t.Fatal(err)
	}
	return e
}
