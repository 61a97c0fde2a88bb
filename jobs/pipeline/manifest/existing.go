package manifest

import (
	"errors"
	"time"
)

// Existing counts the rows of a run that the table had before anything was loaded.
type Existing struct {
	Asked   time.Time `json:"asked"`             // when the last answer had come
	Rows    int64     `json:"rows_asked"`        // looked up
	Found   int64     `json:"rows"`              // found in the table
	Samples []string  `json:"samples,omitempty"` // the first rows found, in the notation of Printable
}

// check refuses counts that no run writes.
func (e *Existing) check() error {
	if e != nil && (e.Found < 0 || e.Found > e.Rows) {
		return errors.New("the counts of rows that the table had do not add up")
	}
	return nil
}
