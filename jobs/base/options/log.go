package options

import (
	"context"
	"fmt"
	"log/slog"

	"bulkload/internal/calllog"
)

// The levels of a job's log, in addition to slog's Info for messages to people and Warn for what they should look into.
const (
	LevelStage  = slog.LevelInfo - 1 // a stage begins or ends: for logs that programs read; people see a progress bar
	LevelDetail = slog.LevelDebug    // a file was written, or loaded
	LevelCall   = calllog.Level      // a call to a server, or a retry
)

// Infof logs a note for people.
func (o Options) Infof(format string, args ...any) { o.logf(slog.LevelInfo, format, args...) }

// Warnf logs what a person should look into, though the job continues.
func (o Options) Warnf(format string, args ...any) { o.logf(slog.LevelWarn, format, args...) }

func (o Options) logf(level slog.Level, format string, args ...any) {
	if o.Log != nil {
		o.Log.Log(context.Background(), level, fmt.Sprintf(format, args...))
	}
}

// Detail logs at a level below Info. It formats nothing unless the log has that level.
func (o Options) Detail(level slog.Level, text string, attributes ...slog.Attr) {
	if o.Log != nil {
		o.Log.LogAttrs(context.Background(), level, text, attributes...)
	}
}

// With returns options whose log adds attributes to every record, such as the table and the run.
func (o Options) With(attributes ...any) Options {
	if o.Log != nil {
		o.Log = o.Log.With(attributes...)
	}
	return o
}

// listener is a handler that passes on the texts of notes and warnings.
type listener func(string)

func (l listener) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }
func (l listener) Handle(_ context.Context, r slog.Record) error    { l(r.Message); return nil }
func (l listener) WithAttrs([]slog.Attr) slog.Handler               { return l }
func (l listener) WithGroup(string) slog.Handler                    { return l }

// withListener passes what is logged to Say, too.
func (o Options) withListener() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Say != nil {
		o.Log = slog.New(slog.NewMultiHandler(o.Log.Handler(), listener(o.Say)))
		o.Say = nil
	}
	return o
}
