package summary

import (
	"context"
	"log/slog"
)

// handler keeps the texts of a log.
type handler struct{ said *[]string }

func (handler) Enabled(context.Context, slog.Level) bool { return true }

func (h handler) Handle(_ context.Context, r slog.Record) error {
	*h.said = append(*h.said, r.Message)
	return nil
}

func (h handler) WithAttrs([]slog.Attr) slog.Handler { return h }

func (h handler) WithGroup(string) slog.Handler { return h }
