package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"bulkload/internal/errcode"
	"bulkload/jobs/upkeep/draft"
)

type initCommand struct {
	Input string `arg:"" help:"A file, a folder or a glob: a path or hdfs://…; or a live table: namespace:name."`
	newJobFile
}

func (c *initCommand) do(ctx context.Context, s *session) (report, error) {
	if draft.IsTable(c.Input) {
		return c.write(s, func(string) ([]byte, error) { return draft.ForTable(ctx, c.Input, s.options()) })
	}
	return c.write(s, func(base string) ([]byte, error) { return draft.ForInput(c.Input, base, s.options()) })
}

type convertCommand struct {
	Properties string `arg:"" help:"The Spark job's properties: tableName, namespace, cf, preRegions, uniqCol, queryKey, inputPathPrefix, hfilePathPrefix, cols."`
	newJobFile
}

func (c *convertCommand) do(_ context.Context, s *session) (report, error) {
	return c.write(s, func(string) ([]byte, error) { return draft.ConvertFile(c.Properties) })
}

// newJobFile says where to write a new job file.
type newJobFile struct {
	Output string `short:"o" placeholder:"FILE" help:"Writes the job file here instead of to stdout. The file must not exist."`
}

// write makes a job file and writes it. It calls written with the folder that the file will be in.
func (n *newJobFile) write(s *session, written func(base string) ([]byte, error)) (report, error) {
	if s.JSON.wanted() {
		return nil, usage(errors.New("it writes a job file, not an object: leave --json out"))
	}
	base := "."
	if n.Output != "" {
		if _, err := os.Lstat(n.Output); !errors.Is(err, fs.ErrNotExist) {
			return nil, usage(fmt.Errorf("--output: %s exists; delete it, or name another file", n.Output))
		}
		base = filepath.Dir(n.Output)
	}
	job, err := written(base)
	if err != nil {
		return nil, err
	}
	job = withSchema(base, job)
	s.endBar()
	if n.Output == "" {
		return nil, s.print(func(w *bytes.Buffer) { w.Write(job) })
	}
	if err := os.WriteFile(n.Output, job, 0o644); err != nil { //nolint:gosec // a job file has no secrets, and others run it
		return nil, errcode.Answer.Wrap(err)
	}
	fmt.Fprintf(s.people(), "%s is a draft: read it, then run bulkload plan %s --date DATE\n", n.Output, n.Output)
	return nil, nil
}
