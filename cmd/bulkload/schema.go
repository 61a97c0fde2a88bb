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

// schemaFile is the schema beside a job file. Editors find it by the line that a new job file begins with.
const schemaFile = "job.schema.json"

// withSchema begins a new job file in a folder with the line for editors, if the schema is in that folder.
func withSchema(folder string, job []byte) []byte {
	if _, err := os.Stat(filepath.Join(folder, schemaFile)); err != nil {
		return job
	}
	return append([]byte("# yaml-language-server: $schema="+schemaFile+"\n"), job...)
}
