package lookup

import (
	"encoding/hex"
	"fmt"
	"strings"

	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/spec/jobfile"
)

// KeysReport says which rows a query reads, for readers in other languages.
type KeysReport struct {
	failure.Outcome
	Table  string     `json:"table"`
	Query  []string   `json:"query"`
	Ranges []KeyRange `json:"ranges"` // in the order of the salts, or of the other prefixes
}

// KeyRange is a range of rows from Start to before Stop, in hexadecimal; "" for Stop: to the end of the table.
type KeyRange struct {
	Start string `json:"start"`
	Stop  string `json:"stop"`
	// Shell is the range as arguments of the HBase shell's scan.
	Shell string `json:"shell"`
}

// Keys returns the ranges of rows in which Get looks for a query key. It asks no cluster.
func Keys(j *jobfile.Job, o options.Options, query []string) (*KeysReport, error) {
	report := &KeysReport{Outcome: failure.NewOutcome(), Table: j.Table, Query: query, Ranges: []KeyRange{}}
	if j.Outputs != nil {
		var err error
		if j, err = pickFor(j, o, len(query), ""); err != nil {
			return report, err
		}
		report.Table = j.Table
	}
	q, err := newQuery(j, query)
	if err != nil {
		return report, err
	}
	for _, prefix := range q.prefixes {
		stop := q.stopRow(prefix)
		r := KeyRange{Start: hex.EncodeToString(prefix), Stop: hex.EncodeToString(stop)}
		r.Shell = "STARTROW => " + shellBytes(prefix)
		if stop != nil {
			r.Shell += ", STOPROW => " + shellBytes(stop)
		}
		report.Ranges = append(report.Ranges, r)
	}
	report.Status = failure.StatusDone
	return report, nil
}

// shellBytes writes bytes as a string of Ruby, in which the HBase shell is written.
func shellBytes(b []byte) string {
	var s strings.Builder
	for _, c := range b {
		if c < ' ' || c > '~' || strings.IndexByte(`"\#`, c) >= 0 {
			fmt.Fprintf(&s, `\x%02X`, c)
		} else {
			s.WriteByte(c)
		}
	}
	return `"` + s.String() + `"`
}
