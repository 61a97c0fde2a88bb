package manifest

import (
	"errors"
	"time"
)

// Existing is what a table had of a run's rows before anything was loaded.
type Existing struct {
	Asked   time.Time `json:"asked"`             // when all answers were there
	Rows    int64     `json:"rows_asked"`        // that were looked up
	Found   int64     `json:"rows"`              // of them, those that the table had
	Samples []string  `json:"samples,omitempty"` // the first of those, in the notation of Printable
}

// check returns what no run writes.
func (e *Existing) check() error {
	if e != nil && (e.Found < 0 || e.Found > e.Rows) {
		return errors.New("the counts of rows that the table had do not add up")
	}
	return nil
}
