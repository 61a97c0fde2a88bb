package jobfile

import (
	"fmt"
	"strings"

	"bulkload/internal/errcode"
)

// Pick chooses one of several outputs, by its table's name or by its output as the job file has it.
func (j *Job) Pick(name string) (*Job, error) {
	return j.Only(fmt.Sprintf("are called %q; there are", name),
		func(out *Job) bool { return out.Table == TableName(name) || out.Output == name })
}

// Only returns the one output that found accepts. If there is not exactly one, the error gives the text why and lists
// all outputs.
func (j *Job) Only(why string, found func(*Job) bool) (*Job, error) {
	var those []*Job
	var all []string
	for _, out := range j.Feeds() {
		if found(out) {
			those = append(those, out)
		}
		all = append(all, fmt.Sprintf("%s (query: %v)", out.Table, out.Query))
	}
	if len(those) == 1 {
		return those[0], nil
	}
	return nil, errcode.Command.Errorf("%s of %s %s %s", Plural(len(those), "output"), j.Path,
		why, strings.Join(all, ", "))
}

// Plural formats a number of things as errors and summaries write it. Plans write numbers with commas (package stats).
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
