package csv

import (
	"fmt"

	"bulkload/internal/errcode"
)

// RefusedError says why a file can't be read as the job file describes it. Trying again won't help.
type RefusedError struct {
	reason string
	code   errcode.Code
}

// Error names the file and the reason.
func (e *RefusedError) Error() string { return e.reason }

// ErrorCode says which sort of refusal it is.
func (e *RefusedError) ErrorCode() errcode.Code { return e.code }

func refusef(code errcode.Code, format string, args ...any) error {
	return &RefusedError{fmt.Sprintf(format, args...), code}
}
