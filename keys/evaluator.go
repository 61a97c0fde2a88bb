package keys

import (
	"bytes"

	"bulkload/values"
)

// Evaluator computes the keys of an expression and remembers the functions' results of the record before, since records
// of one query key often come one behind the other. It belongs to one goroutine.
type Evaluator struct {
	expr *Expr
	last []memo // a step each
}

// Evaluator makes an evaluator for one goroutine.
func (e *Expr) Evaluator() *Evaluator {
	return &Evaluator{e, make([]memo, len(e.steps))}
}

// Append does what Expr.Append does.
func (v *Evaluator) Append(dst []byte, fields []values.Value) ([]byte, error) {
	return v.expr.append(dst, fields, v.last)
}

// maxMemo bounds the values that are remembered.
const maxMemo = 256

// memo is the value that a step's function had last, and what it made of it.
type memo struct {
	known  bool
	x, out []byte
}

// apply is the step's applyColumn.
func (r *memo) apply(s *step, dst []byte, field values.Value) ([]byte, string) {
	x := field.Bytes()
	if r.known && !field.Null() && bytes.Equal(x, r.x) {
		return append(dst, r.out...), ""
	}
	out, problem := s.applyColumn(dst, field)
	r.known = problem == "" && len(x) <= maxMemo && len(out)-len(dst) <= maxMemo
	if r.known {
		r.x = append(r.x[:0], x...)
		r.out = append(r.out[:0], out[len(dst):]...)
	}
	return out, problem
}
