package jobs

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Pick chooses one of several outputs: the one whose table, or whose output as the job file has it, is called name.
func (j *Job) Pick(name string) (*Job, error) {
	return j.pick(fmt.Sprintf("are called %q; there are", name), func(out *Job) bool { return out.Table == name || out.Output == name })
}

// pickFor chooses the output that a query is for: the one whose files are in the directory from; else the one whose query
// has so many columns.
func (j *Job) pickFor(o Options, columns int, from string) (*Job, error) {
	if from != "" {
		table, err := j.tableIn(o, from)
		if err != nil {
			return nil, err
		}
		found := func(out *Job) bool { return isPlace(from, out) || out.Output == "" && out.Table == table }
		if out, err := j.pick("", found); err == nil {
			return out, nil
		}
	}
	why := fmt.Sprintf("have a query of %s; choose one with --output TABLE:", plural(columns, "column"))
	return j.pick(why, func(out *Job) bool { return len(out.Query) == columns })
}

// tableIn is the table that the files of a directory of ours are for; "" where that is not known.
func (j *Job) tableIn(o Options, from string) (string, error) {
	s, err := openSite(o, j.HBase, isRemote(from))
	if err != nil {
		return "", err
	}
	fsys, dir, err := s.resolve(from, ".")
	if err != nil {
		return "", fmt.Errorf("open the directory %s: %w", from, err)
	}
	defer fsys.Close()
	m, err := readManifest(fsys, dir)
	if err != nil || m == nil {
		return "", err
	}
	return m.Run.Table, nil
}

// isPlace tells whether a directory is an output's. A local one is given from the present folder.
func isPlace(dir string, out *Job) bool {
	if out.Output == "" {
		return false
	}
	if !strings.Contains(dir, ":") {
		abs, err := filepath.Abs(dir)
		return err == nil && "file:"+abs == out.place()
	}
	return strings.TrimSuffix(dir, "/") == strings.TrimSuffix(out.Output, "/")
}

func (j *Job) pick(why string, found func(*Job) bool) (*Job, error) {
	var those []*Job
	var all []string
	for _, out := range j.outputs() {
		if found(out) {
			those = append(those, out)
		}
		all = append(all, fmt.Sprintf("%s (query: %v)", out.Table, out.Query))
	}
	if len(those) == 1 {
		return those[0], nil
	}
	return nil, usagef("%s of %s %s %s", plural(len(those), "output"), j.Path, why, strings.Join(all, ", "))
}

// plural is a number of things.
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
