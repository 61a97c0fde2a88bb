package parquet

import (
	"errors"
	"fmt"
	"io/fs"

	"bulkload/internal/errcode"
	"bulkload/internal/storage"
)

// UnsupportedError says why a sound file, or one of its columns, can't be read. Trying again does not help.
type UnsupportedError struct {
	reason string
	code   errcode.Code
}

// Error is the reason, without the file.
func (r *UnsupportedError) Error() string { return r.reason }

// ErrorCode is the code for the kind of refusal.
func (r *UnsupportedError) ErrorCode() errcode.Code { return r.code }

func refusef(code errcode.Code, format string, args ...any) error {
	return &UnsupportedError{fmt.Sprintf(format, args...), code}
}

// damagedUnlessRefused is fmt.Errorf for a file that can't be read. The file counts as damaged, unless err says that
// its content is not supported, that it changed, or that the disk failed.
func damagedUnlessRefused(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	var path *fs.PathError
	if errcode.Outermost(err) != "" || errors.As(err, &path) || errors.Is(err, storage.ErrUnavailable) {
		return err
	}
	return errcode.InputDamaged.Wrap(err)
}
