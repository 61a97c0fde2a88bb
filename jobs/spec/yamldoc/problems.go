package yamldoc

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"bulkload/internal/errcode"
	"bulkload/keys"

	"go.yaml.in/yaml/v3"
)

// problem is one thing that is wrong with a job file.
type problem struct {
	file string // the job file, or one that it includes
	line int
	text string
	code errcode.Code

	column string // an unknown column; when the problem is listed, its text gets the nearest name
}

// problems are all problems of a job file, by line.
type problems struct {
	path string // of the job file
	list []problem
	more int // problems that are not in the list
}

// Error returns a line for each problem, with the file's name and the line number.
func (p *problems) Error() string { return p.text(false) }

// TextWithCodes returns Error with the code of each problem at the end of its line.
func (p *problems) TextWithCodes() string { return p.text(true) }

// ErrorCode returns the code of the first problem.
func (p *problems) ErrorCode() errcode.Code { return p.list[0].code }

func (p *problems) text(codes bool) string {
	var lines []string
	for _, one := range p.list {
		text := fmt.Sprintf("%s:%d: %s", one.file, one.line, one.text)
		if codes {
			text += fmt.Sprintf(" [%s]", one.code)
		}
		lines = append(lines, text)
	}
	if p.more > 0 {
		lines = append(lines, fmt.Sprintf("%s: and %d more errors", p.path, p.more))
	}
	return strings.Join(lines, "\n")
}

// keyCodes are the codes of wrong values, by key. Other keys have JobValue.
var keyCodes = map[string]errcode.Code{
	"rowkey": errcode.JobRowkey, "query": errcode.JobRowkey, "wide.qualifier": errcode.JobRowkey,
	"table": errcode.TableName,
}

// codeOf returns the code of the first error among args that has a code of a wrong job file, or else other.
func codeOf(args []any, other errcode.Code) errcode.Code {
	for _, arg := range args {
		if err, ok := arg.(error); ok {
			if code := errcode.Of(err, func(c errcode.Code) bool { return c.Kind() == errcode.Usage }); code != "" {
				return code
			}
		}
	}
	return other
}

// longestProblem bounds the bytes of one problem's text, which may hold a value of the job file.
const longestProblem = 2000

// Fail reports what is wrong at a node, with the code of an error among args, or errcode.JobValue.
func (d *Document) Fail(n *yaml.Node, format string, args ...any) {
	d.FailCode(codeOf(args, errcode.JobValue), n, format, args...)
}

// FailCode reports what is wrong at a node.
func (d *Document) FailCode(code errcode.Code, n *yaml.Node, format string, args ...any) {
	d.failAt(code, d.file(n), n.Line, format, args...)
}

func (d *Document) failAt(code errcode.Code, file string, line int, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if len(text) > longestProblem {
		text = strings.ToValidUTF8(text[:longestProblem], "") + "…"
	}
	d.problems = append(d.problems, problem{file: file, line: line, text: text, code: code})
}

// NoColumn reports a name that no column of the input has. key is where the job file has it.
func (d *Document) NoColumn(n *yaml.Node, key, name string) {
	d.FailCode(errcode.JobValue, n, "%s: input.columns has no column %s", key, name)
	d.problems[len(d.problems)-1].column = name
}

// suggest returns the end of a problem's text: the column that was probably meant. It compares a name with all columns,
// so call it only for problems that are listed.
func (d *Document) suggest(p problem) string {
	if p.column == "" {
		return ""
	}
	return keys.Suggest(p.column, d.Columns)
}

// mostProblems bounds how many problems are listed.
const mostProblems = 100

// Err joins the problems, by line. A problem that several outputs have is listed once.
func (d *Document) Err() error {
	if len(d.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(d.problems, func(a, b problem) int { // problems of the job file itself first
		return cmp.Or(order(a.file != d.path, b.file != d.path), strings.Compare(a.file, b.file), cmp.Compare(a.line, b.line))
	})
	all := &problems{path: d.path}
	seen := map[problem]bool{}
	for _, p := range d.problems {
		switch {
		case seen[p]:
		case len(all.list) < mostProblems:
			listed := p
			listed.text += d.suggest(p)
			all.list = append(all.list, listed)
		default:
			all.more++
		}
		seen[p] = true
	}
	return all
}

// Sound reports whether no problem was found so far.
func (d *Document) Sound() bool { return len(d.problems) == 0 }

// order compares two bools: false comes first.
func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
