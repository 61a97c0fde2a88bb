package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"bulkload/jobs/base/options"
	"bulkload/jobs/spec/jobfile"
	"bulkload/jobs/tasks"
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
		"--engine yarn --rate 50MB/s":                        "--rate: tasks of --engine yarn",
		"--engine local-tasks --rate 50MB/s":                 "--rate: tasks of --engine local-tasks",
		"--engine local-tasks --engine-set task_size=many":   "task_size=many",
		"--engine yarn --engine-set properties=mapred.thing": "NAME=VALUE",
	} {
		var stderr bytes.Buffer
		code := execute(context.Background(), append([]string{"run", "nosuch.yaml"}, strings.Fields(flags)...), new(bytes.Buffer), &stderr)
		if code != exitUsage || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: exit code %d, %s\nwant %s", flags, code, &stderr, want)
		}
	}
}

// TestMemoryOfLocalTasks: local tasks share the memory of their run, which is a part of --memory if several runs are
// side by side.
func TestMemoryOfLocalTasks(t *testing.T) {
	t.Parallel()
	s := &session{common: common{memory: 1 << 30}}
	c := &engineFlags{Engine: "local-tasks"}
	for _, memory := range []int64{options.MinMemory, 3*options.MinMemory + 1, 1 << 30} {
		one, err := c.taskEngine(s, new(jobfile.Job), options.Options{Memory: memory})
		if err != nil {
			t.Fatal(err)
		}
		side := one.Engine.(*tasks.LocalEngine).Parallel
		if all := one.Memory * int64(side); side < 1 || all > memory || all < memory-int64(side) || one.Memory < options.MinMemory {
			t.Errorf("%d tasks have %d bytes each, of %d", side, one.Memory, memory)
		}
	}
	for _, c := range []struct {
		all   int64
		cores int
		side  int
	}{{options.MinMemory, 8, 1}, {8 * options.MinMemory, 8, 8}, {3*options.MinMemory + 1, 8, 3}, {100 * options.MinMemory, 2, 2}} {
		if side, each := shareMemory(c.all, c.cores); side != c.side || each != c.all/int64(side) {
			t.Errorf("%d bytes for %d cores: %d tasks of %d", c.all, c.cores, side, each)
		}
	}
}
