package parquet

import "fmt"

// RefusedError says why a file, or a column of it, is none that can be read: nothing went wrong, and trying again won't
// help.
type RefusedError struct{ reason string }

// Error is the reason, without the file.
func (r *RefusedError) Error() string { return r.reason }

func refusef(format string, args ...any) error { return &RefusedError{fmt.Sprintf(format, args...)} }
