package csv

import "fmt"

// RefusedError says why a file can't be read as the job file describes it. Trying again won't help.
type RefusedError struct{ reason string }

// Error names the file and the reason.
func (e *RefusedError) Error() string { return e.reason }

func refusef(format string, args ...any) error { return &RefusedError{fmt.Sprintf(format, args...)} }
