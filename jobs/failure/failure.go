// Package failure says what the operator can do about an error: its kind, which cmd/bulkload turns into an exit code, and
// its code.
package failure

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"bulkload/hfilewriter"
	"bulkload/ingest/charset"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/load"
)

// Kind is what the operator can do about an error.
type Kind = errcode.Kind

// The kinds of failure; each has its exit code.
const (
	Failed      = errcode.Failed
	Usage       = errcode.Usage
	Rejects     = errcode.Rejects
	Interrupted = errcode.Interrupted
	Refused     = errcode.Refused
	Differs     = errcode.Differs
	Later       = errcode.Later
	NotYet      = errcode.NotYet
)

// Worst lists the kinds of failure, the worst one first: damage, and what is not understood; what a person must correct;
// what another try may correct.
var Worst = []Kind{Differs, Failed, Rejects, Refused, Usage, Interrupted, Later, NotYet}

// kindError is an error with a kind.
type kindError struct {
	kind Kind
	err  error
}

func (e *kindError) Error() string { return e.err.Error() }
func (e *kindError) Unwrap() error { return e.err }

// New gives an error a kind.
func New(kind Kind, err error) error { return &kindError{kind, err} }

// Damagedf is fmt.Errorf, of the kind Differs for a damaged file; an error of reading it keeps its own kind.
func Damagedf(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if errors.Is(err, hfilewriter.ErrCorrupt) {
		return New(Differs, err)
	}
	return err
}

// KindOf returns an error's kind.
func KindOf(err error) Kind {
	switch {
	case errors.Is(err, context.Canceled):
		return Interrupted
	case errors.Is(err, storage.ErrUnavailable), errors.Is(err, load.ErrUnavailable):
		return Later
	case errors.Is(err, storage.ErrChecksum):
		return Differs
	}
	kind, found := Failed, false
	errcode.Visit(err, func(e error) bool {
		if k, ok := e.(*kindError); ok {
			kind, found = k.kind, true
		} else if c, ok := e.(errcode.Coder); ok && c.ErrorCode() != "" {
			kind, found = c.ErrorCode().Kind(), true
		}
		return found
	})
	var marked *charset.MarkError
	if !found && (errors.Is(err, load.ErrNotFound) || errors.Is(err, load.ErrRefused) || errors.Is(err, fs.ErrPermission) || errors.As(err, &marked)) {
		return Refused
	}
	return kind
}

// Early gives an error the kind for failures before anything was changed, such as missing site files.
func Early(err error) error {
	if err != nil && KindOf(err) == Failed {
		return New(Refused, err)
	}
	return err
}
