// Command bulkload turns exports into HFiles and loads them into HBase. docs/cli.md describes it.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"reflect"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"bulkload/internal/bytesize"
	"bulkload/internal/errcode"
	"bulkload/internal/throttle"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"

	"github.com/alecthomas/kong"
)

func main() {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signals = append(signals, syscall.SIGHUP)
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // never undone, because a lost terminal sends it twice
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	context.AfterFunc(ctx, stop) // a second SIGINT or SIGTERM ends the process at once
	code := execute(ctx, os.Args[1:], os.Stdout, lastingStderr())
	stop()
	os.Exit(code)
}

// lastingStderr is stderr that may lose its reader. Without it Go would end a program that then writes to file
// descriptor 2, but a load must not end with the reader of its log. A write to another descriptor only fails.
func lastingStderr() *os.File {
	fd, err := syscall.Dup(int(os.Stderr.Fd()))
	if err != nil {
		return os.Stderr // closed
	}
	syscall.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), os.Stderr.Name())
}

// report is the result of a command, such as the summary of a run.
type report interface{ Result() *failure.Outcome }

// command is a command of the program, such as run.
type command interface {
	do(context.Context, *session) (report, error)
}

// session is the state that all commands share: the common flags and the outputs.
type session struct {
	common
	stopped <-chan struct{} // is closed when the command is stopped
	stdout  io.Writer
	answer  *bufio.Writer     // see answers
	model   *kong.Application // of the command line
	screen  *screen           // stderr
	tracker tracker
	draw    func() // draws the bar
	endBar  func() // removes it

	limit    *throttle.Limit // shared by all runs of the command; nil: none
	measured *measured       // the runs whose metrics are wanted; nil: none
	reported *reported       // the wanted page; nil: none

	log     *slog.Logger // see openLog
	records *slog.Logger
	plain   slog.Handler // handler of the lines for people
	logFile *os.File     // nil without --log-file
}

// execute is the whole program except for the process: it returns the exit code. A command runs with its bar or
// heartbeat.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s := &session{stopped: ctx.Done(), stdout: stdout, screen: newScreen(stderr), answer: bufio.NewWriter(stdout),
		records: slog.New(slog.DiscardHandler)}
	cmd, name, helped, err := parse(args, s)
	if helped {
		return exitDone
	}
	s.tracker.begun = time.Now()
	if err == nil {
		err = s.openLog()
	} else {
		s.JSON = jsonOf(args)
	}
	if err != nil {
		return s.finish(nil, err)
	}
	tuneCollector(s.memory)
	defer s.useCores()()
	if s.rate > 0 {
		s.limit = throttle.New(ctx, s.rate)
	}
	s.logBegin(cmd, name)
	if s.Quiet || s.Log != "" {
		s.screen.width = nil
	}
	stop := func() {}
	if _, serves := cmd.(*serveCommand); !serves { // it has no end to which it could make progress
		stop = s.heartbeat()
	}
	s.draw, s.endBar = s.screen.begin(&s.tracker)
	r, err := cmd.do(ctx, s)
	s.endBar()
	if failed := s.answer.Flush(); failed != nil && err == nil {
		err = errcode.Answer.Errorf("write the answer: %w", failed)
	}
	stop()
	return s.finish(r, err)
}

// watch receives the progress of a command.
func (s *session) watch(p options.Progress) {
	if s.tracker.show(p) {
		s.draw()
	}
}

// people is where text for people goes that is not a note, such as the summary of a run.
func (s *session) people() io.Writer {
	switch {
	case s.Quiet:
		return io.Discard
	case s.Summary == "stdout":
		return s.answer
	case s.Log != "":
		return io.Discard
	}
	return s.screen
}

// finish reports the result, to people or to a program.
func (s *session) finish(r report, err error) int {
	if r == nil {
		r = &failure.Outcome{Schema: failure.OutcomeSchema, Status: failure.StatusFailed}
	}
	out := r.Result()
	setOutcome(out, err)
	took := time.Since(s.tracker.begun)
	if s.measured != nil {
		s.measured.report(s, ended{r, out.Exit, took})
	}
	if s.reported != nil {
		s.reported.write(s, out, took)
	}
	s.logEnd(r, took)
	if err != nil && (s.Log == "" || s.log == nil) {
		fmt.Fprintf(s.screen, "%s %s\n", paint(s.screen.colours, red, "bulkload:"), continued(failure.TextOf(err)))
	}
	if !s.JSON.wanted() {
		return out.Exit
	}
	encoder := json.NewEncoder(s.stdout)
	encoder.SetEscapeHTML(false)
	var object any = r
	if s.JSON == shortJSON {
		object = shorten(r, took.Seconds())
	}
	if err := encoder.Encode(object); err != nil {
		fmt.Fprintf(s.screen, "bulkload: write the summary: %v\n", err)
		return max(out.Exit, exitFailed)
	}
	return out.Exit
}

// bytesAsGiven reads a text unchanged. kong decodes it through JSON, which replaces bytes that are not UTF-8, so a file
// with such a name would not be found.
func bytesAsGiven(ctx *kong.DecodeContext, target reflect.Value) error {
	token, err := ctx.Scan.PopValue("string")
	if err == nil {
		target.SetString(token.String())
	}
	return err
}

// parse reads the command line. helped is true if help was requested and printed.
func parse(args []string, s *session) (cmd command, name string, helped bool, err error) {
	var c cli
	k, err := kong.New(&c, kong.Name("bulkload"),
		kong.Description("Turns exports into HFiles and loads them into HBase.\n\n"+exitHelp),
		kong.Writers(s.stdout, s.screen), kong.Exit(func(int) { helped = true }),
		kong.KindMapper(reflect.String, kong.MapperFunc(bytesAsGiven)))
	if err != nil {
		return nil, "", false, err
	}
	if len(args) == 0 {
		return nil, "", false, usage(errors.New("give a command, such as plan or run; bulkload help lists them"))
	}
	if args[0] == "--version" { // as in other programs
		args = append([]string{"version"}, args[1:]...)
	}
	addExamples(k.Model)
	parsed, err := k.Parse(joinDates(withHelp(k.Model, args)))
	if helped {
		return nil, "", true, nil
	}
	if err != nil {
		return nil, "", false, usage(err)
	}
	s.common, s.model = c.common, k.Model
	if err := s.readLimits(); err != nil {
		return nil, "", false, err
	}
	return parsed.Selected().Target.Addr().Interface().(command), parsed.Selected().Path(), false, nil
}

// readLimits reads the flags that limit what the command uses.
func (s *session) readLimits() (err error) {
	if s.memory, err = bytesize.Parse(s.Memory); err != nil {
		return usage(fmt.Errorf("--memory: %w", err))
	}
	if s.Cores != nil && *s.Cores < 1 {
		return usage(fmt.Errorf("--cores %d: give 1 or more", *s.Cores))
	}
	if s.Summary == "stdout" && s.JSON.wanted() {
		return usage(errors.New("--summary stdout and --json both want stdout: give one of them"))
	}
	if (s.Principal == "") != (s.Keytab == "") {
		return usage(errors.New("--principal and --keytab go together"))
	}
	if s.Rate == "" {
		return nil
	}
	if s.rate, err = throttle.Parse(s.Rate); err != nil {
		return usage(fmt.Errorf("--rate: %w", err))
	}
	return nil
}

// useCores limits the process to --cores cores. The returned function undoes that.
func (s *session) useCores() (undo func()) {
	before := runtime.GOMAXPROCS(0)
	if s.Cores == nil || *s.Cores >= before {
		return func() {}
	}
	runtime.GOMAXPROCS(*s.Cores)
	return func() { runtime.GOMAXPROCS(before) }
}

// tuneCollector lets garbage grow only as far as the memory budget allows.
func tuneCollector(memory int64) { debug.SetMemoryLimit(memory + memory/8) }
