package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"

	"bulkload/jobs/spec/yamldoc"
)

type schemaCommand struct{}

func (schemaCommand) do(_ context.Context, s *session) (report, error) {
	schema, err := yamldoc.JSON()
	if err != nil {
		return nil, err
	}
	return nil, s.print(func(w *bytes.Buffer) { w.Write(schema) })
}

// schemaFile is the schema beside a job file. The first line of a new job file leads editors to it.
const schemaFile = "job.schema.json"

// withSchema puts the line for editors at the start of a new job file, if the schema is in its folder.
func withSchema(folder string, job []byte) []byte {
	if _, err := os.Stat(filepath.Join(folder, schemaFile)); err != nil {
		return job
	}
	return append([]byte("# yaml-language-server: $schema="+schemaFile+"\n"), job...)
}
