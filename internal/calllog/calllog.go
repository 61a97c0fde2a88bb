// Package calllog logs calls to the cluster's servers, and retries after failed ones.
package calllog

import (
	"context"
	"log/slog"
	"time"
)

// Level is the level of a call to a server. It is below slog.LevelDebug, because there are many calls.
const Level = slog.LevelDebug - 4

// Call logs a call that has ended. log may be nil. No argument of a call is logged: it may be a credential.
func Call(ctx context.Context, log *slog.Logger, server, method string, began time.Time, err error) {
	if log == nil || !log.Enabled(ctx, Level) {
		return
	}
	attributes := []slog.Attr{slog.String("server", server), slog.String("method", method),
		slog.Duration("took", time.Since(began))}
	if err != nil {
		attributes = append(attributes, slog.Any("error", err))
	}
	log.LogAttrs(ctx, Level, "call", attributes...)
}

// Again logs that an operation is tried again, after a pause. log may be nil.
func Again(ctx context.Context, log *slog.Logger, what string, pause time.Duration, err error) {
	if log == nil || !log.Enabled(ctx, Level) {
		return
	}
	attributes := []slog.Attr{slog.String("what", what), slog.Duration("pause", pause)}
	if err != nil {
		attributes = append(attributes, slog.Any("error", err))
	}
	log.LogAttrs(ctx, Level, "try again", attributes...)
}
