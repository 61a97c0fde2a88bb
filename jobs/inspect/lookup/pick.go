package lookup

import (
	"fmt"
	"path/filepath"
	"strings"

	"bulkload/jobs/base/options"
	"bulkload/jobs/env/site"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/spec/jobfile"
)

// pickFor selects the output for a query: the owner of the files in the directory from, otherwise the output with a
// query of this number of columns.
func pickFor(j *jobfile.Job, o options.Options, columns int, from string) (*jobfile.Job, error) {
	if from != "" {
		table, err := TableIn(j, o, from)
		if err != nil {
			return nil, err
		}
		found := func(out *jobfile.Job) bool { return isDirectory(from, out) || out.Output == "" && out.Table == table }
		if out, err := j.Only("", found); err == nil {
			return out, nil
		}
	}
	why := fmt.Sprintf("have a query of %s; choose one with --output TABLE:", jobfile.Plural(columns, "column"))
	return j.Only(why, func(out *jobfile.Job) bool { return len(out.Query) == columns })
}

// TableIn returns the table of a directory's files, from its manifest; "" if unknown.
func TableIn(j *jobfile.Job, o options.Options, from string) (string, error) {
	_, fsys, dir, err := site.OpenPath(o, j.HBase, from)
	if err != nil {
		return "", err
	}
	defer fsys.Close()
	m, err := manifest.Read(fsys, dir)
	if err != nil || m == nil {
		return "", err
	}
	return m.Run.Table, nil
}

// isDirectory reports whether dir is the directory of out. A local dir is relative to the current folder.
func isDirectory(dir string, out *jobfile.Job) bool {
	if out.Output == "" {
		return false
	}
	if !strings.Contains(dir, ":") {
		abs, err := filepath.Abs(dir)
		return err == nil && "file:"+abs == out.Location()
	}
	return strings.TrimSuffix(dir, "/") == strings.TrimSuffix(out.Output, "/")
}
