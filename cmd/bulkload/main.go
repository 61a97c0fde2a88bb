// Command bulkload turns exports into HFiles and hands them to HBase. docs/cli.md describes it.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"syscall"

	"bulkload/jobs"

	"github.com/alecthomas/kong"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// report is what a command gives back: the summary of a run, for instance.
type report interface{ Result() *jobs.Outcome }

// command is one verb.
type command interface {
	do(context.Context, *session) (report, error)
}

// session is what all verbs share: the common flags and where to write.
type session struct {
	common
	stdout, stderr io.Writer
	answer         *bufio.Writer // see answers
	bar            *progressBar
}

// run is the whole program but for the process: it gives the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s := &session{stdout: stdout, stderr: stderr, answer: bufio.NewWriter(stdout)}
	cmd, helped, err := parse(args, s)
	if helped {
		return exitDone
	}
	var r report
	if err == nil {
		tuneCollector(s.memory)
		s.bar = newProgressBar(stderr, s.Quiet)
		r, err = cmd.do(ctx, s)
		s.bar.close()
		if failed := s.answer.Flush(); failed != nil && err == nil {
			err = jobs.AnswerError(fmt.Errorf("write the answer: %w", failed))
		}
	} else {
		s.JSON = slices.Contains(args, "--json")
	}
	return s.finish(r, err)
}

// finish says how it ended, to people or to a program.
func (s *session) finish(r report, err error) int {
	if r == nil {
		r = &jobs.Outcome{Schema: jobs.SummarySchema, Status: jobs.StatusFailed}
	}
	out := r.Result()
	out.Exit = exitCode(err)
	if err != nil {
		out.Status, out.Error, out.Code = jobs.StatusFailed, err.Error(), string(jobs.CodeOf(err))
		fmt.Fprintf(s.stderr, "bulkload: %s\n", jobs.TextOf(err))
	}
	if !s.JSON {
		return out.Exit
	}
	encoder := json.NewEncoder(s.stdout)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(r); err != nil {
		fmt.Fprintf(s.stderr, "bulkload: write the summary: %v\n", err)
		return max(out.Exit, exitFailed)
	}
	return out.Exit
}

// parse reads the command line. helped is true where help was asked for and printed.
func parse(args []string, s *session) (cmd command, helped bool, err error) {
	var c cli
	k, err := kong.New(&c, kong.Name("bulkload"), kong.Description("Turns exports into HFiles and hands them to HBase.\n\n"+exitHelp),
		kong.Writers(s.stdout, s.stderr), kong.Exit(func(int) { helped = true }))
	if err != nil {
		return nil, false, err
	}
	parsed, err := k.Parse(args)
	if helped {
		return nil, true, nil
	}
	if err != nil {
		return nil, false, usage(err)
	}
	s.common = c.common
	if s.memory, err = jobs.ParseSize(c.Memory); err != nil {
		return nil, false, usage(fmt.Errorf("--memory: %w", err))
	}
	return parsed.Selected().Target.Addr().Interface().(command), false, nil
}

// tuneCollector lets garbage grow only as far as the budget allows.
func tuneCollector(memory int64) { debug.SetMemoryLimit(memory + memory/8) }
