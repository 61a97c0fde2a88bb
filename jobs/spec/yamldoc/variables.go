package yamldoc

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"bulkload/internal/errcode"
)

// ErrNoDate says that a job file needs the logical date, which was not given.
var ErrNoDate = errcode.CommandDate.New("needs the logical date; give it with --date, such as --date 2026-11-20")

// Variables are the variables for ${…} in a job file.
type Variables struct {
	Time         time.Time // of ${date:LAYOUT}: the logical date; zero: none was given
	Date         string    // of ${date}
	Set          map[string]string
	Used         map[string]bool // gets the names of Set that a text uses; may be nil
	Environment  func(name string) (string, bool)
	DateOptional bool
}

var variable = regexp.MustCompile(`\$\{([^}]*)\}`)

// namesDate reports whether a text has a variable of the date.
func namesDate(text string) bool {
	return strings.Contains(text, "${date}") || strings.Contains(text, "${date:")
}

// expand replaces the variables of a text.
func (v Variables) expand(text string) (string, error) {
	var failed error
	expanded := variable.ReplaceAllStringFunc(text, func(match string) string {
		value, err := v.value(match[2 : len(match)-1])
		if err != nil && failed == nil {
			failed = err
		}
		return value
	})
	if failed == nil && strings.Contains(variable.ReplaceAllString(text, ""), "${") {
		failed = errcode.JobVariable.Errorf("%q has a ${ without a }", text)
	}
	return expanded, failed
}

func (v Variables) value(name string) (string, error) {
	layout, laidOut := strings.CutPrefix(name, "date:")
	switch {
	case laidOut && layout == "":
		return "",
			errcode.JobVariable.New("${date:} names no layout; write ${date:20060102}, in the form of Go's time layouts")
	case (laidOut || name == "date") && v.Time.IsZero():
		return "", fmt.Errorf("${%s} %w", name, ErrNoDate)
	case laidOut:
		return v.Time.Format(layout), nil
	case name == "date":
		return v.Date, nil
	}
	if value, set := v.Set[name]; set {
		if v.Used != nil {
			v.Used[name] = true
		}
		return value, nil
	}
	if env, ok := strings.CutPrefix(name, "env."); ok {
		if value, set := v.Environment(env); set {
			return value, nil
		}
		return "", errcode.JobVariable.Errorf("${%s} is not defined: the environment has no %s", name, env)
	}
	return "", errcode.JobVariable.Errorf("${%s} is not defined; there are ${date}, ${date:LAYOUT}, ${env.NAME}, and "+
		"${NAME} by --set NAME=VALUE", name)
}
