package jobfile

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"bulkload/jobs/failure"
)

// errNoDate says that a job file needs the logical date, which was not given.
var errNoDate = errors.New("needs the logical date; give it with --date, such as --date 2026-11-20")

// variables are the variables for ${…} in a job file.
type variables struct {
	Date         time.Time // midnight UTC; zero: none was given
	Environment  func(name string) (string, bool)
	dateOptional bool
}

var variable = regexp.MustCompile(`\$\{([^}]*)\}`)

// namesDate reports whether a text needs the date.
func namesDate(text string) bool {
	return strings.Contains(text, "${date}") || strings.Contains(text, "${date:")
}

// expand replaces the variables of a text.
func (v variables) expand(text string) (string, error) {
	var failed error
	expanded := variable.ReplaceAllStringFunc(text, func(match string) string {
		value, err := v.value(match[2 : len(match)-1])
		if err != nil && failed == nil {
			failed = err
		}
		return value
	})
	if failed == nil && strings.Contains(variable.ReplaceAllString(text, ""), "${") {
		failed = fmt.Errorf("%q has a ${ without its }", text)
	}
	return expanded, failed
}

func (v variables) value(name string) (string, error) {
	layout, dated := strings.CutPrefix(name, "date:")
	switch {
	case name == "date":
		layout, dated = time.DateOnly, true
	case dated && layout == "":
		return "", errors.New("${date:} names no layout; write ${date:20060102}, in the form of Go's time layouts")
	}
	if dated {
		if v.Date.IsZero() {
			return "", fmt.Errorf("${%s} %w", name, errNoDate)
		}
		return v.Date.Format(layout), nil
	}
	if env, ok := strings.CutPrefix(name, "env."); ok {
		if value, set := v.Environment(env); set {
			return value, nil
		}
		return "", fmt.Errorf("${%s} is not defined: the environment has no %s", name, env)
	}
	return "", fmt.Errorf("${%s} is not defined; there are ${date}, ${date:LAYOUT} and ${env.NAME}", name)
}

// ParseDate parses a logical date: YYYY-MM-DD, midnight UTC.
func ParseDate(text string) (time.Time, error) {
	t, err := time.Parse(time.DateOnly, text)
	switch {
	case err != nil:
		return t, failure.Usagef("%q is not a date; write it as 2026-11-20", text)
	case t.UnixMilli() <= 0:
		return t, failure.Usagef("the date %s is not after 1970-01-01, from which HBase's timestamps and the files' clock values count", text)
	}
	return t, nil
}
