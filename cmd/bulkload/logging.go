package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/user"
	"runtime"
	"strings"
	"time"

	"bulkload/internal/program"
	"bulkload/jobs/base/options"
	"bulkload/jobs/run/summary"
)

// A command's log has two kinds of readers. People read plain lines on stderr, with a bar below them on a terminal.
// Programs, and people later, read records with time and attributes: on stderr with --log, in a file with --log-file.

// logMode lets a log file be read also by its group, under which log collectors run. Others may not read it, because a
// log names hosts, tables and files, and errors may name row keys.
const logMode = 0o640

// openLog makes the loggers. s.log gets everything; s.records gets only records that people don't need, such as a
// command's start and end.
func (s *session) openLog() error {
	var handlers []slog.Handler
	if s.LogFile != "" {
		f, err := os.OpenFile(s.LogFile, os.O_WRONLY|os.O_APPEND|os.O_CREATE, logMode)
		if err != nil {
			return usage(fmt.Errorf("--log-file: %w", err))
		}
		s.logFile = f
		handlers = append(handlers, recordHandler(f, s.Log == "json", s.recordLevel()))
	}
	plain := slog.Handler(&plainHandler{out: s.screen, level: s.plainLevel(), colours: s.screen.colours})
	if s.Log != "" {
		level := s.recordLevel()
		if s.Quiet {
			level = slog.LevelError
		}
		plain = slog.DiscardHandler
		handlers = append(handlers, recordHandler(s.screen, s.Log == "json", level))
	}
	s.plain = plain
	s.records = slog.New(slog.NewMultiHandler(handlers...))
	s.log = slog.New(slog.NewMultiHandler(append(handlers, plain)...))
	return nil
}

// recordLevel is the level of programs' logs.
func (s *session) recordLevel() slog.Level {
	switch s.Verbose {
	case 0:
		return options.LevelStage
	case 1:
		return options.LevelDetail
	}
	return options.LevelCall
}

// plainLevel is the level of lines for people, who see stages as a bar, and files in the summary.
func (s *session) plainLevel() slog.Level {
	switch {
	case s.Quiet:
		return slog.LevelError
	case s.Verbose > 1:
		return options.LevelCall
	}
	return slog.LevelInfo
}

// recordHandler writes records with time and attributes.
func recordHandler(w io.Writer, asJSON bool, level slog.Level) slog.Handler {
	o := &slog.HandlerOptions{Level: level, ReplaceAttr: nameLevel}
	if asJSON {
		return slog.NewJSONHandler(w, o)
	}
	return slog.NewTextHandler(w, o)
}

// nameLevel names our levels, and adds the unit to durations.
func nameLevel(groups []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		return slog.Float64(a.Key+"_seconds", a.Value.Duration().Seconds())
	}
	level, ok := a.Value.Any().(slog.Level)
	if a.Key != slog.LevelKey || len(groups) > 0 || !ok {
		return a
	}
	switch level {
	case options.LevelStage:
		level = slog.LevelInfo
	case options.LevelCall:
		return slog.String(a.Key, "TRACE")
	}
	return slog.String(a.Key, level.String())
}

// plainHandler writes lines for people: the text of notes and warnings, and details with their attributes.
type plainHandler struct {
	out     io.Writer
	level   slog.Level
	colours bool
	label   string // before each line
}

// Enabled implements slog.Handler.
func (h *plainHandler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level }

// Handle implements slog.Handler.
func (h *plainHandler) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	b.WriteString(h.label + r.Message)
	if r.Level < slog.LevelInfo {
		r.Attrs(func(a slog.Attr) bool {
			fmt.Fprintf(&b, " %s=%v", a.Key, a.Value)
			return true
		})
	}
	text := continued(b.String())
	if r.Level >= slog.LevelWarn {
		text = paint(h.colours, yellow, text)
	}
	_, err := fmt.Fprintln(h.out, text)
	return err
}

// WithAttrs implements slog.Handler. It drops the attributes, because people know which run they are watching.
func (h *plainHandler) WithAttrs([]slog.Attr) slog.Handler { return h }

// WithGroup implements slog.Handler.
func (h *plainHandler) WithGroup(string) slog.Handler { return h }

// logBegin records which program runs where, as whom and for what.
func (s *session) logBegin(cmd command, what string) {
	name, host := whoAmI()
	attributes := []any{"command", what, "version", program.ThisBuild().Version, "user", name,
		"host", host, "pid", os.Getpid(),
		"memory", s.memory, "cores", runtime.GOMAXPROCS(0), "rate", s.rate, "work_dir", s.WorkDir}
	if of, ok := cmd.(interface{ wantedDate() []any }); ok {
		attributes = append(attributes, of.wantedDate()...)
	}
	if of, ok := cmd.(interface{ wantedRange() []any }); ok {
		attributes = append(attributes, of.wantedRange()...)
	}
	s.records.Info("begin", attributes...)
}

// whoAmI returns the user and the host, as far as they are known.
func whoAmI() (name, host string) {
	host, _ = os.Hostname() // an empty name does no harm
	if u, err := user.Current(); err == nil {
		return u.Username, host
	}
	return os.Getenv("USER"), host
}

// logEnd records how a command ended.
func (s *session) logEnd(r report, took time.Duration) {
	out := r.Result()
	attributes := []slog.Attr{slog.String("status", out.Status), slog.Int("exit", out.Exit),
		slog.Float64("seconds", took.Seconds())}
	if sum, ok := r.(*summary.Summary); ok {
		attributes = append(attributes, summaryAttrs(sum)...)
	}
	level := slog.LevelInfo
	if out.Error != "" {
		level, attributes = slog.LevelError, append(attributes, slog.String("error", out.Error),
			slog.String("code", out.Code))
	}
	s.records.LogAttrs(context.Background(), level, "end", attributes...)
}

// logRun records how one of several runs ended.
func (s *session) logRun(sum *summary.Summary, took time.Duration) {
	level := slog.LevelInfo
	attributes := []slog.Attr{slog.String("status", sum.Status), slog.Int("exit", sum.Exit),
		slog.Float64("seconds", took.Seconds())}
	attributes = append(attributes, summaryAttrs(sum)...)
	if sum.Error != "" {
		level, attributes = slog.LevelError, append(attributes, slog.String("error", sum.Error),
			slog.String("code", sum.Code))
	}
	s.records.LogAttrs(context.Background(), level, "run ended", attributes...)
}

// summaryAttrs are the figures of a run.
func summaryAttrs(s *summary.Summary) []slog.Attr {
	attributes := []slog.Attr{slog.String("job", s.Run.Job), slog.String("date", s.Run.Date)}
	if s.OutputSummary != nil {
		return append(append(attributes, slog.String("table", s.Run.Table), slog.String("run", s.Run.ID)),
			outputAttrs(s.OutputSummary)...)
	}
	for _, out := range s.Outputs {
		all := append([]slog.Attr{slog.String("status", out.Status), slog.String("run", out.Run.ID)},
			outputAttrs(&out.OutputSummary)...)
		attributes = append(attributes, slog.GroupAttrs(out.Run.Table, all...))
	}
	return attributes
}

func outputAttrs(s *summary.OutputSummary) []slog.Attr {
	var bytes int64
	for _, f := range s.Files {
		bytes += f.Bytes
	}
	b := s.Counts
	return []slog.Attr{slog.Int64("rows_read", b.Read), slog.Int64("rows_written", b.Written),
		slog.Int64("rows_rejected", b.Rejected),
		slog.Int64("rows_duplicate", b.Duplicates), slog.Int64("rows_filtered", b.Filtered),
		slog.Int64("cells_written", b.CellsWritten),
		slog.Int("files", len(s.Files)), slog.Int64("bytes", bytes), slog.String("output", s.Output),
		slog.Int("files_loaded", s.Load.Files)}
}

// beat is how often a command logs its progress when there is no bar.
const beat = time.Minute

// heartbeat logs the command's progress from time to time, until the returned function is called.
func (s *session) heartbeat() (stop func()) {
	return every(beat, s.logProgress, func() {})
}

func (s *session) logProgress() {
	now := s.tracker.state()
	if s.screen.width == nil && s.Log == "" && !s.Quiet {
		fmt.Fprintf(s.screen, "%s %v\n", time.Now().Format(time.TimeOnly), now)
	}
	attributes := []slog.Attr{slog.Duration("running", now.running.Round(time.Millisecond)),
		slog.Duration("silent", now.silent.Round(time.Millisecond))}
	if now.Phase != "" {
		attributes = append(attributes, slog.String("phase", now.Phase), slog.Int64("done", now.Done),
			slog.Int64("total", now.Total),
			slog.String("unit", now.unit()), slog.Float64("whole", now.Whole))
	}
	if now.rate > 0 {
		attributes = append(attributes, slog.Float64("per_second", now.rate),
			slog.Duration("left", now.left.Round(time.Millisecond)))
	}
	s.records.LogAttrs(context.Background(), slog.LevelInfo, "progress", attributes...)
}
