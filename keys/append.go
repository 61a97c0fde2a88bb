package keys

import (
	"fmt"

	"bulkload/cell"
	"bulkload/values"
)

// Append appends the row key of one record to dst. fields are the record's columns in the order given to Parse; a null
// is an error in a column that the key uses. On an error, which is a *ValueError, dst is returned unchanged. It
// allocates nothing if dst has capacity for the key and, after it, for the longest argument of a function.
func (e *Expr) Append(dst []byte, fields []values.Value) ([]byte, error) {
	return e.append(dst, fields, nil, 1)
}

// AppendQualifier is Append for a qualifier, which may be empty.
func (e *Expr) AppendQualifier(dst []byte, fields []values.Value) ([]byte, error) {
	return e.append(dst, fields, nil, 0)
}

// append is Append with each step's memo of the previous record, or nil without memos. least is the minimum length.
func (e *Expr) append(dst []byte, fields []values.Value, last []memo, least int) ([]byte, error) {
	out, err := e.evaluate(e.steps, dst, fields, last)
	if err == nil {
		err = checkLength(len(out)-len(dst), least)
	}
	if err != nil {
		return dst, err
	}
	return out, nil
}

func checkLength(n, least int) error {
	if n < least || n > cell.MaxRowLen {
		return &ValueError{Column: -1, Reason: fmt.Sprintf("row key has %d bytes; %d to %d are possible",
			n, least, cell.MaxRowLen)}
	}
	return nil
}

// evaluate appends the results of the steps for a record.
func (e *Expr) evaluate(steps []step, dst []byte, fields []values.Value, last []memo) ([]byte, error) {
	if len(fields) < len(e.columns) {
		return dst, &ValueError{Column: -1, Reason: fmt.Sprintf("the record has %d columns, the row key is made for %d",
			len(fields), len(e.columns))}
	}
	var marks [maxDepth]int
	depth := 0
	out := dst
	for i := range steps {
		s := &steps[i]
		var problem string
		switch s.kind {
		case stepLiteral:
			out = append(out, s.literal...)
		case stepMark:
			marks[depth] = len(out)
			depth++
		case stepColumn:
			out, problem = s.appendColumn(out, fields[s.column])
		case stepColumnFunction:
			if last != nil {
				out, problem = last[i].apply(s, out, fields[s.column])
			} else {
				out, problem = s.applyColumn(out, fields[s.column])
			}
		case stepFunction:
			depth--
			out, problem = s.replace(out, marks[depth])
		case stepRecordSalt:
			out = appendPadded(out, uint64(recordHash(fields))%uint64(s.n), s.width)
		}
		if problem != "" {
			return dst, e.valueError(s, problem)
		}
	}
	return out, nil
}

const problemNull = "null"

func (s *step) appendColumn(dst []byte, field values.Value) ([]byte, string) {
	x := field.Bytes()
	switch {
	case field.Null():
		return dst, problemNull
	case s.check > 0 && len(x) != s.check:
		return dst, fmt.Sprintf("%d bytes, declared width %d", len(x), s.check)
	case s.typed.Whole():
		if n, problem := parseLong(x); problem != "" || !s.typed.Holds(n) {
			return dst, "not a value of type " + s.typed.String()
		}
	}
	return append(dst, x...), ""
}

func (s *step) applyColumn(dst []byte, field values.Value) ([]byte, string) {
	if field.Null() {
		return dst, problemNull
	}
	return s.applyChecked(dst, field.Bytes())
}

// replace replaces the function's argument, everything from mark on, by its result.
func (s *step) replace(dst []byte, mark int) ([]byte, string) {
	end := len(dst)
	out, problem := s.applyChecked(dst, dst[mark:end:end])
	if problem != "" {
		return dst, problem
	}
	n := copy(out[mark:], out[end:])
	return out[:mark+n], ""
}

func (s *step) applyChecked(dst, x []byte) ([]byte, string) {
	out, problem := s.apply(s, dst, x)
	switch {
	case problem != "":
	case s.check > 0 && len(out)-len(dst) != s.check && s.declared > 0 && len(x) != s.declared:
		problem = fmt.Sprintf("%d bytes, declared width %d", len(x), s.declared)
	case s.check > 0 && len(out)-len(dst) != s.check:
		problem = fmt.Sprintf("the result has %d bytes, and its width is fixed at %d", len(out)-len(dst), s.check)
	case s.sameUnits && units(out[len(dst):]) != units(x):
		problem = "the result has another number of characters, so the key's width is not fixed"
	}
	return out, problem
}

func (e *Expr) valueError(s *step, problem string) *ValueError {
	if problem == problemNull {
		return &ValueError{Column: s.column, Reason: fmt.Sprintf("it is null, and %s of the row key needs a value", s.text)}
	}
	return &ValueError{Column: s.column, Reason: fmt.Sprintf("%s, in %s of the row key", problem, s.text),
		Beyond: problem == problemBase}
}
