package parquet

import (
	"errors"
	"fmt"
	"io/fs"

	"bulkload/internal/errcode"
	"bulkload/internal/storage"
)

// RefusedError says why a file, or a column of it, is none that can be read: nothing went wrong, and trying again won't
// help.
type RefusedError struct {
	reason string
	code   errcode.Code
}

// Error is the reason, without the file.
func (r *RefusedError) Error() string { return r.reason }

// ErrorCode says which sort of refusal it is.
func (r *RefusedError) ErrorCode() errcode.Code { return r.code }

func refusef(code errcode.Code, format string, args ...any) error {
	return &RefusedError{fmt.Sprintf(format, args...), code}
}

// damagedUnlessRefused is fmt.Errorf for a file that can't be read. Unless err says that the file has what can't be read, that
// it changed, or that the disk failed, the file is damaged.
func damagedUnlessRefused(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	var path *fs.PathError
	if errcode.Of(err, func(errcode.Code) bool { return true }) != "" || errors.As(err, &path) || errors.Is(err, storage.ErrUnavailable) {
		return err
	}
	return errcode.ParquetDamaged.Wrap(err)
}
