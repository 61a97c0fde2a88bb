package storage

import (
	"context"
	"log/slog"
)

// notingHandler is a handler that passes the texts of warnings to a function.
type notingHandler func(string)

func (h notingHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo
}
func (h notingHandler) Handle(_ context.Context, r slog.Record) error { h(r.Message); return nil }
func (h notingHandler) WithAttrs([]slog.Attr) slog.Handler            { return h }
func (h notingHandler) WithGroup(string) slog.Handler                 { return h }

// noting is a log that passes its warnings to a function.
func noting(say func(string)) *slog.Logger { return slog.New(notingHandler(say)) }
