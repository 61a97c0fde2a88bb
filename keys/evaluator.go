package keys

import (
	"bytes"

	"bulkload/values"
)

// Evaluator computes an expression's keys and remembers each function's last result, because consecutive records often
// share values. It belongs to one goroutine.
type Evaluator struct {
	expr *Expr
	last []memo // one for each step
}

// Evaluator makes an evaluator for one goroutine.
func (e *Expr) Evaluator() *Evaluator {
	return &Evaluator{e, make([]memo, len(e.steps))}
}

// Append does what Expr.Append does.
func (v *Evaluator) Append(dst []byte, fields []values.Value) ([]byte, error) {
	return v.expr.append(dst, fields, v.last, 1)
}

// AppendQualifier does what Expr.AppendQualifier does.
func (v *Evaluator) AppendQualifier(dst []byte, fields []values.Value) ([]byte, error) {
	return v.expr.append(dst, fields, v.last, 0)
}

// maxMemo bounds the length of remembered values, in bytes.
const maxMemo = 256

// memo is the last argument of a step's function, and its result.
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
