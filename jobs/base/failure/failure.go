// Package failure says how a command ended: the kind of its error, which cmd/bulkload turns into an exit code, the
// error's code, and the outcome with which every report begins.
package failure

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"bulkload/hfilewriter"
	"bulkload/ingest/charset"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/load"
)

// Kind says what the operator can do about an error.
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

// Worst lists the kinds of failure, the worst first: damage and unknown causes, then faults that a person must correct,
// then those that another try may correct.
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

// Damagedf is fmt.Errorf with the kind Differs, for a damaged file. An error of reading the file keeps its own kind.
func Damagedf(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if errors.Is(err, hfilewriter.ErrCorrupt) {
		return New(Differs, err)
	}
	return err
}

// KindOf returns an error's kind. Of joined errors (errors.Join) the first one decides, whatever errors the cleanup has
// added.
func KindOf(err error) Kind {
	switch {
	case errcode.Is(err, context.Canceled):
		return Interrupted
	case errcode.Is(err, storage.ErrUnavailable), errcode.Is(err, load.ErrUnavailable):
		return Later
	case errcode.Is(err, storage.ErrChecksum):
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
	if !found && (errcode.Is(err, load.ErrNotFound) || errcode.Is(err, load.ErrRefused) ||
		errcode.Is(err, fs.ErrPermission) || isMark(err)) {
		return Refused
	}
	return kind
}

// isMark reports a byte order mark that contradicts the job.
func isMark(err error) bool {
	return errcode.Visit(err, func(e error) bool {
		_, is := e.(*charset.MarkError)
		return is
	})
}

// Several joins the errors of parts of equal rank, such as several outputs, with the worst one first.
func Several(errs ...error) error {
	errs = slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })
	rank := func(err error) int { return slices.Index(Worst, KindOf(err)) }
	slices.SortStableFunc(errs, func(a, b error) int { return rank(a) - rank(b) })
	return errors.Join(errs...)
}

// Early gives an error the kind of failures that occur before anything was changed, such as missing site files.
func Early(err error) error {
	if err != nil && KindOf(err) == Failed {
		return New(Refused, err)
	}
	return err
}

// UsageError makes an error one of the command line.
func UsageError(err error) error {
	return Default(errcode.Command, New(Usage, err))
}
