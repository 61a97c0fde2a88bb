package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// TestEngineFlags: flags of an engine that another one has not, and wrong settings, are mistakes of the command line.
func TestEngineFlags(t *testing.T) {
	t.Parallel()
	for flags, want := range map[string]string{
		"--dry-run":                                          "--engine yarn",
		"--engine local-tasks --dry-run":                     "--engine yarn",
		"--engine-set queue=etl":                             "--engine local has no tasks",
		"--engine yarn --engine-set queue":                   "write KEY=VALUE",
		"--engine yarn --engine-set nosuch=1":                "there are task_size, memory",
		"--engine local-tasks --engine-set task_size=many":   "task_size=many",
		"--engine yarn --engine-set properties=mapred.thing": "NAME=VALUE",
	} {
		var stderr bytes.Buffer
		code := run(context.Background(), append([]string{"run", "nosuch.yaml"}, strings.Fields(flags)...), new(bytes.Buffer), &stderr)
		if code != exitUsage || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: exit code %d, %s\nwant %s", flags, code, &stderr, want)
		}
	}
}
