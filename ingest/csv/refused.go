package csv

import (
	"fmt"

	"bulkload/internal/errcode"
)

// FormError says why a file can't be read as the job file describes it. Trying again won't help.
type FormError struct {
	reason string
	code   errcode.Code
}

// Error names the file and the reason.
func (e *FormError) Error() string { return e.reason }

// ErrorCode says which sort of refusal it is.
func (e *FormError) ErrorCode() errcode.Code { return e.code }

func refusef(code errcode.Code, format string, args ...any) error {
	return &FormError{fmt.Sprintf(format, args...), code}
}
