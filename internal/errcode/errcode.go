// Package errcode gives errors their codes. A code, such as BL-INPUT-MISSING, names one action that a person can take.
// It stays the same when the text changes, so that people can search for it and programs can decide by it. Codes may be
// merged, but are never reused for another meaning. Table has the cause and the remedy of each.
//
// An error gets its code, and its text, where it is created: search for the name of the code, such as
// errcode.InputMissing. Packages that wrap it add their words and keep the code. A package that knows more than the one
// below, such as the purpose of a missing file, adds another code: the outermost code counts.
package errcode

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// Kind is what the user can do about an error. Each kind has its exit code.
type Kind int

// The kinds of errors.
const (
	Failed      Kind = iota // the command failed
	Usage                   // the command line or the job file is wrong
	Rejects                 // more bad records than the job accepts
	Interrupted             // stopped from outside; repeating the command continues
	Refused                 // a person must do something first
	Differs                 // a difference was found, or a damaged file
	Later                   // worth another try: locked, or a server is down
	NotYet                  // the input does not exist yet, or not all of it
)

// Code names a cause and its remedy, such as BL-INPUT-MISSING.
type Code string

// Coder is an error that has a code.
type Coder interface {
	error
	ErrorCode() Code // "" if the error has none
}

// coded is an error with its code.
type coded struct {
	code Code
	err  error
}

func (c *coded) Error() string   { return c.err.Error() }
func (c *coded) Unwrap() error   { return c.err }
func (c *coded) ErrorCode() Code { return c.code }

// Errorf is fmt.Errorf with the code.
func (c Code) Errorf(format string, args ...any) error { return &coded{c, fmt.Errorf(format, args...)} }

// New is errors.New with the code.
func (c Code) New(text string) error { return &coded{c, errors.New(text)} }

// Wrap gives an error the code; nil stays nil.
func (c Code) Wrap(err error) error {
	if err == nil {
		return nil
	}
	return &coded{c, err}
}

// Kind is the kind of errors with this code; Failed for a code that is not in the table.
func (c Code) Kind() Kind { return kinds[c] }

// Find is the entry of a code, or nil if there is none. The case is ignored, and BL- may be left out.
func Find(name string) *Doc {
	for _, section := range Table {
		for i := range section.Entries {
			if e := &section.Entries[i]; strings.EqualFold(string(e.Code), name) ||
				strings.EqualFold(string(e.Code), "BL-"+name) {
				return e
			}
		}
	}
	return nil
}

var kinds = func() map[Code]Kind {
	all := make(map[Code]Kind)
	for _, section := range Table {
		for _, e := range section.Entries {
			all[e.Code] = e.Kind
		}
	}
	return all
}()

// Visit calls see for an error and all errors that it wraps, from the outermost to the innermost, until see returns
// true. Of errors that were joined (errors.Join) it visits only the first, because the others come from the cleanup
// after it, and never say what the user can do about the first.
func Visit(err error, see func(error) bool) bool {
	if err == nil {
		return false
	}
	if see(err) {
		return true
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return Visit(e.Unwrap(), see)
	case interface{ Unwrap() []error }:
		all := e.Unwrap()
		if reflect.TypeOf(err) == joined && len(all) > 0 {
			all = all[:1]
		}
		for _, inner := range all {
			if Visit(inner, see) {
				return true
			}
		}
	}
	return false
}

// joined is the type of the result of errors.Join, which is not exported. An error of fmt.Errorf with several %w is one
// error with several marks, and so is any other error that wraps several.
var joined = reflect.TypeOf(errors.Join(errors.New("")))

// Is is errors.Is for the errors that Visit visits.
func Is(err, target error) bool {
	return Visit(err, func(e error) bool {
		if e == target {
			return true
		}
		same, ok := e.(interface{ Is(error) bool })
		return ok && same.Is(target)
	})
}

// Outermost is the outermost code of an error, or "".
func Outermost(err error) Code { return Of(err, func(Code) bool { return true }) }

// Of is the outermost code of an error for which accept returns true, or "".
func Of(err error, accept func(Code) bool) (found Code) {
	Visit(err, func(e error) bool {
		if c, ok := e.(Coder); ok && c.ErrorCode() != "" && accept(c.ErrorCode()) {
			found = c.ErrorCode()
		}
		return found != ""
	})
	return found
}
