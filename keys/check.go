package keys

import (
	"fmt"
	"slices"
	"strings"

	"bulkload/internal/lex"
	"bulkload/values"
)

// accepts describes a function's argument: its name, and the contents for which the function has no result.
type accepts struct {
	name    string
	refused []content
}

var (
	wantsAny   = accepts{}
	wantsText  = accepts{"text", []content{contentBytes}}
	wantsWhole = accepts{"whole numbers", []content{contentText, contentFloat, contentBoolean, contentMoment, contentBytes,
		contentHex}}
	wantsMoment = accepts{"a date", []content{contentFloat, contentBoolean, contentBytes, contentHex}}
	wantsHex    = accepts{"hex text", []content{contentNumber, contentFloat, contentBoolean, contentMoment, contentBytes}}
)

// propsOf returns what is known about a term.
func (e *Expr) propsOf(t *term) props {
	switch {
	case t.call != nil && !t.call.takesValue:
		return t.call.props(t.call, props{})
	case t.call != nil:
		return t.call.props(t.call, e.propsOfValue(t.call))
	case t.column >= 0:
		return propsOfColumn(e.columns[t.column])
	}
	return propsOfLiteral()
}

func (e *Expr) propsOfValue(c *call) props {
	all := make([]props, len(c.value))
	for i := range c.value {
		all[i] = e.propsOf(&c.value[i])
	}
	return propsOfSum(all)
}

// check refuses functions whose arguments they can't accept.
func (e *Expr) check(terms []term) error {
	for i := range terms {
		c := terms[i].call
		if c == nil || !c.takesValue {
			continue
		}
		if err := e.check(c.value); err != nil {
			return err
		}
		if err := e.checkCall(c); err != nil {
			return err
		}
	}
	return nil
}

func (e *Expr) checkCall(c *call) error {
	n := e.propsOfValue(c)
	at := &lex.Lexer{Text: e.text}
	if problem := e.constantProblem(c); problem != "" {
		return at.Fail(c.value[0].start, "%s can't use %s: %s", c.name, e.textOfValue(c), problem)
	}
	if slices.Contains(c.accepts.refused, n.content) {
		return at.Fail(c.value[0].start, "%s needs %s, but %s%s", c.name, c.accepts.name,
			e.whatItIs(c, n), c.instead(n.content))
	}
	if c.name == "desc" && n.moment && n.most > c.base() {
		return at.Fail(c.value[0].start, "desc subtracts the value from %d, but %s is greater: it has %d digits%s",
			c.base(), e.textOfValue(c), digits(n.most), secondsInstead(n.most))
	}
	return nil
}

// constantProblem says why a function has no result for a value that is the same in every record.
func (e *Expr) constantProblem(c *call) string {
	var p part
	p.addCall(c, "", e)
	if len(p.columns) > 0 || p.wholeRecord {
		return ""
	}
	_, err := e.evaluate(p.steps, nil, make([]values.Value, len(e.columns)), nil)
	if err == nil {
		return ""
	}
	return strings.TrimSuffix(err.Error(), ", in  of the row key")
}

func secondsInstead(most int64) string {
	if most > mostSeconds {
		return "; use seconds(x), or desc without a base"
	}
	return ""
}

func (e *Expr) textOfValue(c *call) string {
	return e.text[c.value[0].start:c.value[len(c.value)-1].end]
}

func (e *Expr) whatItIs(c *call, n props) string {
	if len(c.value) == 1 && c.value[0].column >= 0 {
		column := e.columns[c.value[0].column]
		return fmt.Sprintf("column %s is declared %s", column.Name, column.Kind)
	}
	return fmt.Sprintf("%s gives %s", e.textOfValue(c), contentNames[n.content])
}

// instead advises what to write in place of an argument that the function can't accept.
func (c *call) instead(of content) string {
	switch {
	case of == contentMoment:
		return "; millis(x) and seconds(x) make numbers of dates"
	case of == contentBytes:
		return "; md5(x) and md5_bytes(x) accept bytes"
	case of == contentText && (c.name == "mod" || c.name == "long_salt"):
		return "; salt(x, n) accepts text. If it holds numbers, declare its type in columns_map"
	case of == contentText:
		return "; if it holds numbers, declare its type in columns_map"
	}
	return ""
}
