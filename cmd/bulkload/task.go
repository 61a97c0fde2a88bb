package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"bulkload/internal/bytesize"
	"bulkload/jobs"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/spec/jobfile"
	"bulkload/jobs/tasks"
)

// taskCommand has the steps of a run by tasks, for schedulers. run --engine does them all.
type taskCommand struct {
	Plan   taskPlanCommand   `cmd:"" help:"Begins a run: writes the plan of its tasks into the output."`
	Map    taskMapCommand    `cmd:"" help:"Does a map task: sorts its part of the input."`
	Gather taskGatherCommand `cmd:"" help:"Checks what the map tasks have done, and writes the units of the reduce tasks."`
	Reduce taskReduceCommand `cmd:"" help:"Does a reduce task: merges its slices into verified files."`
	Finish taskFinishCommand `cmd:"" help:"Ends a run: gives the files their names, checks that the counts agree, and loads."`
}

// sized is the flags of the commands that cut a run into tasks.
type sized struct {
	TaskSize string `placeholder:"SIZE" help:"Input of a map task, and sorted rows of a reduce task (default: 512MiB)."`
}

func (c *sized) sizes(s *session) (tasks.Sizes, error) {
	sizes := tasks.Sizes{Memory: s.memory, Cores: 1}
	if c.TaskSize == "" {
		return sizes, nil
	}
	var err error
	if sizes.Task, err = bytesize.Parse(c.TaskSize); err != nil {
		return sizes, usage(fmt.Errorf("--task-size: %w", err))
	}
	return sizes, nil
}

type taskPlanCommand struct {
	Job string `arg:"" help:"The job file."`
	dated
	sized
	noLoad
}

// noLoad is the flag of the commands that load.
type noLoad struct {
	NoLoad bool `help:"Stops before the load."`
}

func (c *taskPlanCommand) do(ctx context.Context, s *session) (report, error) {
	sizes, err := c.sizes(s)
	if err != nil {
		return nil, err
	}
	job, err := c.read(ctx, c.Job, jobfile.ReadOptions{})
	if err == nil {
		err = c.checkUsed()
	}
	if err != nil {
		return nil, err
	}
	o := s.options()
	o.NoLoad = c.NoLoad
	return s.handedOver(jobs.PlanTasks(ctx, job, o, sizes))
}

type taskGatherCommand struct {
	Plan string `arg:"" help:"The plan: a file, or the run's first output."`
	sized
	noLoad
}

func (c *taskGatherCommand) do(ctx context.Context, s *session) (report, error) {
	sizes, err := c.sizes(s)
	if err != nil {
		return nil, err
	}
	o := s.options()
	o.NoLoad = c.NoLoad
	return s.handedOver(jobs.GatherTasks(ctx, c.Plan, o, sizes))
}

// handedOver says which tasks the scheduler must run now.
func (s *session) handedOver(r *jobs.TaskReport, err error) (report, error) {
	s.endBar()
	if err != nil {
		return r, err
	}
	if r.Phase == "" {
		fmt.Fprintf(s.answers(), "%s: %s\n", r.Run.Job, r.Status)
		return r, nil
	}
	fmt.Fprintf(s.answers(), "%s\n", jobfile.Plural(len(r.Tasks), r.Phase+" task"))
	if len(r.Tasks) > 0 {
		fmt.Fprintf(s.answers(), "  bulkload task %s %s %s\n", r.Phase, r.Document, span(r.Tasks))
	}
	return r, nil
}

// span formats the indexes of tasks for people.
func span(indexes []int) string {
	first, last := indexes[0], indexes[len(indexes)-1]
	switch {
	case len(indexes) == 1:
		return strconv.Itoa(first)
	case last-first+1 == len(indexes):
		return fmt.Sprintf("%d … %d", first, last)
	}
	return strings.Trim(fmt.Sprint(indexes), "[]")
}

type taskMapCommand struct {
	Plan  string `arg:"" help:"The plan: a file, or the run's first output."`
	Index string `arg:"" help:"The task's index, from 0; - reads it from the first line of stdin."`
}

func (c *taskMapCommand) do(ctx context.Context, s *session) (report, error) {
	return s.task(ctx, tasks.Map, c.Plan, c.Index)
}

type taskReduceCommand struct {
	Units string `arg:"" help:"The units: a file, or the run's first output."`
	Index string `arg:"" help:"The task's index, from 0; - reads it from the first line of stdin."`
}

func (c *taskReduceCommand) do(ctx context.Context, s *session) (report, error) {
	return s.task(ctx, tasks.Reduce, c.Units, c.Index)
}

// task runs one task.
func (s *session) task(ctx context.Context, do func(context.Context, string, int, options.Options) error, document,
	index string) (report, error) {
	task, err := readIndex(index, os.Stdin)
	if err != nil {
		return nil, usage(err)
	}
	stop := every(beat, s.reportStatus, func() {})
	defer stop()
	err = do(ctx, document, task, s.options())
	done := &failure.Outcome{Schema: failure.OutcomeSchema, Status: failure.StatusDone}
	if over := (*tasks.WrittenError)(nil); errors.As(err, &over) {
		s.endBar()
		fmt.Fprintf(s.answers(), "%v\n", over)
		done.Status = failure.StatusNothing
		return done, nil
	}
	if err != nil {
		return nil, err
	}
	return done, nil
}

// readIndex reads a task's index, from stdin if it is "-". In the lines of Hadoop Streaming further fields may follow
// it.
func readIndex(text string, stdin io.Reader) (int, error) {
	if text == "-" {
		line, err := bufio.NewReader(stdin).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, fmt.Errorf("read the task's index from stdin: %w", err)
		}
		text, _, _ = strings.Cut(strings.TrimSpace(line), "\t")
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q is not the index of a task, which is 0 or more", text)
	}
	return n, nil
}

// reportStatus reports the task's progress to Hadoop Streaming, which kills a task that is silent for long.
func (s *session) reportStatus() {
	if os.Getenv("mapreduce_task_attempt_id") != "" {
		fmt.Fprintf(s.screen, "reporter:status:%v\n", s.tracker.state())
	}
}

type taskFinishCommand struct {
	Plan string `arg:"" help:"The plan: a file, or the run's first output."`
	noLoad
	busy
}

func (c *taskFinishCommand) do(ctx context.Context, s *session) (report, error) {
	o := s.options()
	o.NoLoad, o.OnBusy = c.NoLoad, c.onBusy()
	began := time.Now()
	summary, err := jobs.FinishTasks(ctx, c.Plan, o)
	took := time.Since(began)
	s.endBar()
	if summary == nil {
		return nil, err
	}
	writeSummary(s.people(), summary, took, s.Verbose > 0)
	return summary, err
}
