package manifest

import (
	"errors"
	"time"
)

// Existing is what a table had of a run's rows before anything was loaded.
type Existing struct {
	Asked   time.Time `json:"asked"`             // when all answers were there
	Enabled int64     `json:"table_enabled"`     // when the table was last created, enabled, truncated or restored before; see load.Cluster.Enabled
	Rows    int64     `json:"rows_asked"`        // that were looked up
	Found   int64     `json:"rows"`              // of them, those that the table had
	Samples []string  `json:"samples,omitempty"` // the first of those, in the notation of Printable
	Files   []KeyFile `json:"files,omitempty"`   // with the keys of those, by region, if they are left out
}

// KeyFile is a file in ExistingDir with the sort keys of a region's rows.
type KeyFile struct {
	Region int    `json:"region"`
	Rows   int64  `json:"rows"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"` // in hex
}

// LeftOut reports whether rows were left out because the table had them. A nil e is that of a run that did not ask.
func (e *Existing) LeftOut() bool { return e != nil && e.Files != nil }

// check returns what no run writes.
func (e *Existing) check(regions int) error {
	if e == nil {
		return nil
	}
	var kept int64
	last := -1
	for _, f := range e.Files {
		if f.Region <= last || f.Region >= regions || f.Rows < 1 || f.Bytes < f.Rows {
			return errors.New("the files with keys of rows that the table had are not in order")
		}
		last = f.Region
		kept += f.Rows
	}
	if e.Found < 0 || e.Found > e.Rows || len(e.Files) > 0 && kept != e.Found {
		return errors.New("the counts of rows that the table had do not add up")
	}
	return nil
}
