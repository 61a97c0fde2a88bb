// Package failure gives errors a kind, which says what the operator can do. cmd/bulkload has an exit code for each kind.
package failure

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"bulkload/hfilewriter"
	"bulkload/ingest"
	"bulkload/ingest/charset"
	"bulkload/ingest/compressed"
	"bulkload/ingest/csv"
	"bulkload/ingest/parquet"
	"bulkload/internal/storage"
	"bulkload/load"
)

// Kind says what sort of failure an error is, and with it what the operator can do.
type Kind int

// The kinds of failure; each has its exit code.
const (
	Failed      Kind = iota // it went wrong
	Usage                   // the command line or the job file is wrong
	Rejects                 // more bad records than the job bears
	Interrupted             // stopped from outside; the same command goes on
	Refused                 // a person must do something first
	Differs                 // a difference was found, or a damaged file
	Later                   // worth another try: locked, or a server is down
	NotYet                  // the input is not there yet, or not all of it
)

// kindError gives an error its kind.
type kindError struct {
	kind Kind
	err  error
}

func (e *kindError) Error() string { return e.err.Error() }
func (e *kindError) Unwrap() error { return e.err }

// New gives an error its kind.
func New(kind Kind, err error) error { return &kindError{kind, err} }

// Usagef is an error of the command line or the job file.
func Usagef(format string, args ...any) error { return kindf(Usage, format, args...) }

// Refusef is an error that a person must do something about first.
func Refusef(format string, args ...any) error { return kindf(Refused, format, args...) }

// Differsf is a difference that was found.
func Differsf(format string, args ...any) error { return kindf(Differs, format, args...) }

// Laterf is an error that may be gone at another try.
func Laterf(format string, args ...any) error { return kindf(Later, format, args...) }

// NotYetf is an input that is not there yet.
func NotYetf(format string, args ...any) error { return kindf(NotYet, format, args...) }

// Damagedf is Differsf where a file is damaged; an error of reading it keeps its own kind.
func Damagedf(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if errors.Is(err, hfilewriter.ErrCorrupt) {
		return New(Differs, err)
	}
	return err
}

func kindf(kind Kind, format string, args ...any) error {
	return New(kind, fmt.Errorf(format, args...))
}

// KindOf tells the kind of an error of this package.
func KindOf(err error) Kind {
	var kinded *kindError
	var limit *ingest.LimitError
	var refused *compressed.RefusedError
	var unreadable *parquet.RefusedError
	var noCSV *csv.RefusedError
	var marked *charset.MarkError
	switch {
	case errors.Is(err, context.Canceled):
		return Interrupted
	case errors.Is(err, storage.ErrUnavailable), errors.Is(err, load.ErrUnavailable):
		return Later
	case errors.Is(err, storage.ErrChecksum):
		return Differs
	case errors.As(err, &kinded):
		return kinded.kind
	case errors.As(err, &limit):
		return Rejects
	case errors.Is(err, load.ErrNotFound), errors.Is(err, load.ErrRefused), errors.Is(err, fs.ErrPermission), errors.As(err, &refused), errors.As(err, &unreadable), errors.As(err, &noCSV), errors.As(err, &marked):
		return Refused
	}
	return Failed
}

// Early gives an error its kind that comes when nothing was changed yet, such as that of missing site files.
func Early(err error) error {
	if err != nil && KindOf(err) == Failed {
		return New(Refused, err)
	}
	return err
}
