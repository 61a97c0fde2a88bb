package failure

import (
	"context"
	"fmt"
	"io/fs"
	"syscall"

	"bulkload/hfilewriter"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/load"
	"bulkload/partition"
)

// CodeOf returns the code of an error: the outermost one of the error's kind, so that code and exit code always agree.
// Errors of packages that know no codes get one by sentinels. Every error has a code; an unforeseen error has the one
// of its kind.
func CodeOf(err error) errcode.Code {
	kind := KindOf(err)
	if code := errcode.Of(err, func(c errcode.Code) bool { return c.Kind() == kind }); code != "" {
		return code
	}
	for _, s := range sentinels() {
		if s.code.Kind() == kind && s.is(err) {
			return s.code
		}
	}
	return others[kind]
}

// Default adds a code to an error that has none.
func Default(code errcode.Code, err error) error {
	if err == nil || CodeOf(err) != others[KindOf(err)] {
		return err
	}
	return code.Wrap(err)
}

// Texts is an error of several lines, each with its own code.
type Texts interface {
	TextWithCodes() string
}

// TextOf returns an error as people see it: its message, with its code in brackets at the end.
func TextOf(err error) string {
	if several, ok := err.(Texts); ok {
		return several.TextWithCodes()
	}
	return fmt.Sprintf("%v [%s]", err, CodeOf(err))
}

// others has the codes, by kind, for errors without one.
var others = map[Kind]errcode.Code{
	Failed: errcode.OtherFailed, Usage: errcode.OtherUsage, Rejects: errcode.OtherRejects,
	Interrupted: errcode.OtherInterrupted,
	Refused:     errcode.OtherRefused, Differs: errcode.OtherDiffers, Later: errcode.OtherLater,
	NotYet: errcode.OtherNotYet,
}

// sentinel gives a code to the errors that a lower package marks with one of its own.
type sentinel struct {
	code errcode.Code
	is   func(error) bool
}

func sentinels() []sentinel {
	is := func(codes errcode.Code, marks ...error) sentinel {
		return sentinel{codes, func(err error) bool {
			for _, mark := range marks {
				if errcode.Is(err, mark) {
					return true
				}
			}
			return false
		}}
	}
	return []sentinel{
		is(errcode.Stopped, context.Canceled),
		is(errcode.DiskFull, syscall.ENOSPC, syscall.EDQUOT),
		is(errcode.Permission, fs.ErrPermission),
		is(errcode.SpillDamaged, partition.ErrDamaged, partition.ErrStaleRuns),
		is(errcode.HDFSBlockCorrupt, storage.ErrChecksum),
		is(errcode.HFileCorrupt, hfilewriter.ErrCorrupt),
		is(errcode.HFileUnsupported, hfilewriter.ErrUnsupported),
		is(errcode.RowLength, hfilewriter.ErrLength),
		is(errcode.HDFSDown, storage.ErrUnavailable),
		is(errcode.HBaseDown, load.ErrUnavailable),
		is(errcode.TableMissing, load.ErrNotFound),
		is(errcode.TableExists, load.ErrExists),
		is(errcode.HBaseRefused, load.ErrRefused),
		{errcode.InputFormat, isMark},
	}
}
