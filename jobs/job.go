// Package jobs knows a job: its file, its plan, its run with the manifest that makes it resumable, and the ways to look
// at what it made. It puts the other packages together and knows nothing of command-line flags.
package jobs

import (
	"slices"
	"time"

	"bulkload/hfilewriter"
	"bulkload/ingest"
	"bulkload/jobs/filter"
	"bulkload/jobs/values"
	"bulkload/keys"
)

// Job is a job file that was read and found right.
type Job struct {
	Path      string    // of the job file
	Dir       string    // its folder, from which its paths are taken
	Date      time.Time // the logical date, midnight UTC; zero where none was given and none is needed
	Table     string    // namespace:name, or name in the default namespace
	Columns   []Column  // in the order of the input
	Constants []Constant
	Filter    *filter.Expr // of the records that are wanted; nil: all
	Timestamp int64        // of the cells, epoch milliseconds; 0 where each row has its own
	Moments   string       // the column that tells a row's timestamp; "" where all have the same
	RowKey    *keys.Expr
	Wide      *Wide    // nil: a record is a row
	Query     []string // the columns that a reader has
	Queries   []Query  // that plan weighs
	Input     Input
	Regions   Regions
	HFile     HFile
	HBase     HBase
	Output    string // as written: a path or an hdfs: URI
	Load      bool
	Strict    bool // duplicates: error

	// Outputs are the jobs that one reading of the input feeds, where there are several: of this job, only Path, Dir,
	// Date, Input, HBase and Load count then, and Table names them all. nil: the job is its only output.
	Outputs []*Job

	hash   string         // of all that decides the content of the files
	places map[string]int // of Columns, by name; nil where the job was not read from a file
}

// Column is one input column and the cell it becomes.
type Column struct {
	Name      string
	Family    string
	Qualifier string
	Skip      bool        // no cell
	Width     int         // declared fixed width in bytes; 0: none
	Type      values.Type // declared
	Binary    bool        // stored as Bytes.toBytes has it; else as the text that the input has
	Null      NullPolicy
}

// NullPolicy says what becomes of a null.
type NullPolicy string

// The null policies.
const (
	NullOmit  NullPolicy = ""      // no cell
	NullEmpty NullPolicy = "empty" // a cell without bytes
	NullError NullPolicy = "error" // the record is rejected
)

// Constant is a cell that every row has with the same value.
type Constant struct {
	Column
	Value []byte // as it is stored
}

// Input says where records come from and how they are written.
type Input struct {
	Path           string
	Dated          bool // the path names the logical date: each day has an input of its own
	Form           ingest.Form
	MaxRejects     ingest.Limit
	RequireSuccess bool  // a _SUCCESS file must be there
	Rows           int64 // expected records; -1: not told
	RowsAtLeast    bool  // Rows is a minimum
	EmptyFails     bool  // an input without records is a failure
	SpaceUnchecked bool  // don't look for room before the run
}

// Regions says where the table's region boundaries come from.
type Regions struct {
	From   string // "splits", "file", "table" or "plan"
	Splits [][]byte
}

// HFile is what the job file says of the files' form. Settings holds what is set there and HBase's defaults.
type HFile struct {
	Settings  hfilewriter.Settings
	Given     map[string]bool // which of compression, encoding, bloom and block_size the file names
	MaxSize   int64           // raw KeyValue bytes after which a file is ended at the next row; 0: hbase.hregion.max.filesize
	SliceSize int64           // bytes of keys and columns beyond which a region is cut into slices, which are written side by side; 0: 64 MiB
}

// HBase says where the site files are, and who logs in.
type HBase struct {
	Conf     string // folder; "": from the environment
	Kerberos Kerberos
}

// outputs are the jobs that are fed from the input: the job itself, mostly.
func (j *Job) outputs() []*Job {
	if j.Outputs == nil {
		return []*Job{j}
	}
	return j.Outputs
}

// valueColumns are the columns of a row's values: those of the input, and the constants behind them.
func (j *Job) valueColumns() []Column {
	all := slices.Clone(j.Columns)
	for _, c := range j.Constants {
		all = append(all, c.Column)
	}
	return all
}

// cellColumns lists the columns that become cells.
func (j *Job) cellColumns() []Column {
	return slices.DeleteFunc(j.valueColumns(), func(c Column) bool { return c.Skip })
}

// column is a column's place in the input.
func (j *Job) column(name string) (int, bool) {
	if j.places != nil {
		i, ok := j.places[name]
		return i, ok
	}
	for i, c := range j.Columns {
		if c.Name == name {
			return i, true
		}
	}
	return 0, false
}

// dateText is the logical date as people and file names write it; "" where there is none.
func (j *Job) dateText() string {
	if j.Date.IsZero() {
		return ""
	}
	return j.Date.Format(time.DateOnly)
}

// instant is what all clock values of the files are taken from: the logical date, or the cells' timestamp where the job
// has no date.
func (j *Job) instant() int64 {
	if j.Date.IsZero() {
		return j.Timestamp
	}
	return j.Date.UnixMilli()
}
