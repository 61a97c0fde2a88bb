package jobfile

import (
	"fmt"
	"strings"

	"bulkload/internal/errcode"
)

// Pick chooses one of several outputs: the one whose table, or whose output as the job file has it, is called name.
func (j *Job) Pick(name string) (*Job, error) {
	return j.Only(fmt.Sprintf("are called %q; there are", name),
		func(out *Job) bool { return out.Table == TableName(name) || out.Output == name })
}

// Only is the one output that found accepts; the error says why it is wanted, and lists them all.
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

// Plural is a number of things, as errors and summaries write it. Plans write theirs with commas (stats).
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
