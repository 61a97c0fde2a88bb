package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"bulkload/jobs"
)

type initCommand struct {
	Input  string `arg:"" help:"A file, a folder or a glob: a path or hdfs://…"`
	Output string `short:"o" placeholder:"FILE" help:"Writes the job file here instead of to stdout. The file must not exist."`
}

func (c *initCommand) do(_ context.Context, s *session) (report, error) {
	if s.JSON.wanted() {
		return nil, usage(errors.New("it writes a job file, not an object: leave --json out"))
	}
	base := "."
	if c.Output != "" {
		if _, err := os.Lstat(c.Output); !errors.Is(err, fs.ErrNotExist) {
			return nil, usage(fmt.Errorf("--output: %s exists; delete it, or name another file", c.Output))
		}
		base = filepath.Dir(c.Output)
	}
	job, err := jobs.Draft(c.Input, base, s.options())
	if err != nil {
		return nil, err
	}
	job = withSchema(base, job)
	s.endBar()
	if c.Output == "" {
		return nil, s.print(func(w *bytes.Buffer) { w.Write(job) })
	}
	if err := os.WriteFile(c.Output, job, 0o644); err != nil { //nolint:gosec // a job file has no secrets, and others run it
		return nil, jobs.AnswerError(err)
	}
	fmt.Fprintf(s.people(), "%s is a draft: read it, then run bulkload plan %s\n", c.Output, c.Output)
	return nil, nil
}
