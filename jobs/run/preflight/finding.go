// Package preflight checks, before any input is read, whether a job's table and directories are fit for its run. It
// makes all checks and reports all of them, each with what to do.
package preflight

import (
	"fmt"
	"slices"
	"strings"

	"bulkload/jobs/base/failure"
)

// State is the result of a check.
type State string

// The values of State. A check without an answer is Unknown, never OK.
const (
	OK      State = "ok"
	Warning State = "warning" // the run goes on
	Failed  State = "failed"  // the run would fail
	Unknown State = "unknown"
)

// CheckResult is a check and what it found.
type CheckResult struct {
	Table  string `json:"table,omitempty"` // of the output that was checked, if there are several
	Name   string `json:"name"`
	State  State  `json:"state"`
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"`  // what to do, unless the detail says so
	Code   string `json:"code,omitempty"` // of a failure, as docs/errors.md lists them

	err error
}

// Fail returns the finding of an error.
func Fail(name string, err error, fix string) CheckResult {
	return CheckResult{Name: name, State: Failed, Detail: err.Error(), Fix: fix,
		Code: string(failure.CodeOf(err)), err: err}
}

// Text returns the detail and what to do.
func (f *CheckResult) Text() string {
	if f.Fix == "" {
		return f.Detail
	}
	return f.Detail + ": " + f.Fix
}

// ForTable returns the finding with the table's name.
func (f CheckResult) ForTable(table string) CheckResult {
	f.Table = table
	return f
}

// CheckResults are findings in the order of the checks.
type CheckResults []CheckResult

// Failed returns those that failed.
func (f CheckResults) Failed() CheckResults {
	return slices.DeleteFunc(slices.Clone(f), func(one CheckResult) bool { return one.State != Failed })
}

// Err returns nil if no check failed, the error of a single failure, or a *FailedError of several.
func (f CheckResults) Err() error {
	failed := f.Failed()
	switch len(failed) {
	case 0:
		return nil
	case 1:
		return failed[0].err
	}
	return &FailedError{failed}
}

// FailedError says that several checks failed. Its kind and its code are those of the worst failure.
type FailedError struct{ Failed CheckResults }

func (e *FailedError) Error() string { return e.text(false) }

// TextWithCodes returns the error's text with the code of each failure.
func (e *FailedError) TextWithCodes() string { return e.text(true) }

func (e *FailedError) text(codes bool) string {
	lines := []string{fmt.Sprintf("%d checks failed before anything was read:", len(e.Failed))}
	for _, one := range e.Failed {
		name := one.Name
		if one.Table != "" {
			name = one.Table + ", " + name
		}
		line := fmt.Sprintf("  %s: %s", name, one.Detail)
		if codes {
			line += fmt.Sprintf(" [%s]", one.Code)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the worst failure.
func (e *FailedError) Unwrap() error {
	_, err := e.Failed.Worst()
	return err
}

// Worst returns the first of the worst failures, with its name. There must be one.
func (f CheckResults) Worst() (name string, err error) {
	rank := func(one CheckResult) int { return slices.Index(failure.Worst, failure.KindOf(one.err)) }
	worst := slices.MinFunc(f.Failed(), func(a, b CheckResult) int { return rank(a) - rank(b) })
	return worst.Name, worst.err
}
