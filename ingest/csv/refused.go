package csv

import "fmt"

// RefusedError says why a file is none that can be read as the job file says: trying again won't help.
type RefusedError struct{ reason string }

// Error names the file and the reason.
func (e *RefusedError) Error() string { return e.reason }

func refusef(format string, args ...any) error { return &RefusedError{fmt.Sprintf(format, args...)} }
