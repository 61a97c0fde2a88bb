package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"bulkload/jobs"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/run"
	"bulkload/jobs/spec/jobfile"
	"bulkload/jobs/tasks"
	"bulkload/jobs/tasks/yarn"
)

// engineFlags say which engine runs the work.
type engineFlags struct {
	Engine string `placeholder:"local|local-tasks|yarn" enum:"local,local-tasks,yarn" default:"local" help:"Who does the run: this process (local, the default), tasks as processes of this machine, or tasks on YARN. The result is the same."`
	sized
	yarnFlags
}

// yarnFlags are the flags of --engine yarn.
type yarnFlags struct {
	EngineSet []string `sep:"none" placeholder:"KEY=VALUE" help:"Sets a key of the job file's engine, such as queue=etl."`
	DryRun    bool     `help:"With --engine yarn: prints the commands that submit the tasks, and does nothing else."`
}

// checkEngine checks the flags.
func (c *engineFlags) checkEngine(s *session) error {
	if _, err := c.sizes(s); err != nil {
		return err
	}
	switch {
	case c.DryRun && c.Engine != "yarn":
		return usage(errors.New("--dry-run: prints the commands of --engine yarn; add that, or see bulkload plan"))
	case len(c.EngineSet) > 0 && c.Engine == "local":
		return usage(errors.New("--engine-set: a run of --engine local has no tasks; leave it out"))
	}
	if _, err := c.settings(new(jobfile.Job)); err != nil {
		return err
	}
	switch {
	case c.Engine != "local" && s.Rate != "":
		return usage(fmt.Errorf("--rate: tasks of --engine %s read and write as fast as they can; leave it out, or use "+
			"--engine local", c.Engine))
	case c.Engine == "local" && c.TaskSize != "":
		return usage(errors.New("--task-size: a run of --engine local has no tasks; leave it out"))
	}
	return nil
}

// settings are the job file's settings, overridden by the flags.
func (c *engineFlags) settings(job *jobfile.Job) (jobfile.EngineSettings, error) {
	e := job.Engine
	e.Properties = nil
	for name, value := range job.Engine.Properties {
		_ = e.Set("properties", name+"="+value) // it was validated before
	}
	for _, text := range c.EngineSet {
		key, value, ok := strings.Cut(text, "=")
		if !ok {
			return e, usage(fmt.Errorf("--engine-set %s: write KEY=VALUE", text))
		}
		if err := e.Set(key, value); err != nil {
			return e, usage(fmt.Errorf("--engine-set %s: %w", text, err))
		}
	}
	return e, nil
}

// taskEngine says how the engine runs a job; nil: in this process.
func (c *engineFlags) taskEngine(s *session, job *jobfile.Job, o options.Options) (*run.TaskEngine, error) {
	if c.Engine == "local" {
		return nil, nil
	}
	sizes, err := c.sizes(s)
	if err != nil {
		return nil, err
	}
	e, err := c.settings(job)
	if err != nil {
		return nil, err
	}
	sizes.Task = cmp.Or(sizes.Task, e.TaskSize)
	if c.Engine == "local-tasks" {
		var parallel int
		parallel, sizes.Memory = shareMemory(o.Memory, runtime.GOMAXPROCS(0))
		return &run.TaskEngine{Engine: tasks.NewLocalEngine(job, o, parallel), Sizes: sizes}, nil
	}
	sizes.Memory, sizes.Cores = cmp.Or(e.Memory, sizes.Memory), cmp.Or(e.Cores, s.cores())
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program's file, which is shipped to YARN: %w", err)
	}
	engine := yarn.New(job, e, program, o)
	if s.interactive() {
		engine.Kill = s.askKill
	}
	if s.Verbose > 0 {
		engine.Flags = append(engine.Flags, "-v")
	}
	return &run.TaskEngine{Engine: engine, Sizes: sizes}, nil
}

// shareMemory is how many tasks, at most one for each core, share the memory of a run, and how much each gets. Parallel
// runs each have a part of --memory.
func shareMemory(all int64, cores int) (parallel int, each int64) {
	parallel = max(1, min(cores, int(all/options.MinMemory)))
	return parallel, all / int64(parallel)
}

// cores are --cores; 0 if it is not given.
func (s *session) cores() int {
	if s.Cores == nil {
		return 0
	}
	return *s.Cores
}

// interactive reports whether there is somebody to ask.
func (s *session) interactive() bool {
	_, out := terminal(s.screen.out)
	_, in := terminal(os.Stdin)
	return in && out
}

// answerTime bounds the wait for an answer, because a signal also comes from programs.
const answerTime = 30 * time.Second

// askKill asks whether to kill a job. Another Ctrl-C ends this process, and the job continues.
func (s *session) askKill(application string) bool {
	s.endBar()
	fmt.Fprintf(s.screen, "%s goes on when this command ends. Kill it? [y/N] ",
		cmp.Or(application, "A job that was submitted"))
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(os.Stdin).ReadString('\n')
		answer <- line
	}()
	select {
	case line := <-answer:
		return strings.HasPrefix(strings.ToLower(strings.TrimSpace(line)), "y")
	case <-time.After(answerTime):
		fmt.Fprintln(s.screen)
		return false
	}
}

// dryRun prints the commands that submit the tasks of jobs.
func (c *engineFlags) dryRun(s *session, all []jobs.Series) (report, error) {
	for _, job := range slices.Concat(all...) {
		by, err := c.taskEngine(s, job, s.options())
		if err != nil {
			return nil, err
		}
		engine := by.Engine.(*yarn.Runner)
		commands, err := engine.Commands(job.Feeds()[0].Output, engine.Program, by.Memory, max(by.Cores, 1))
		if err != nil {
			return nil, err
		}
		for _, command := range commands {
			fmt.Fprintln(s.answers(), command)
		}
	}
	return &failure.Outcome{Schema: failure.OutcomeSchema, Status: failure.StatusDone}, nil
}
