// Package jobfile reads job files: it checks them, names all that is wrong with its line, and gives a job its identity.
package jobfile

import (
	"path/filepath"
	"slices"
	"time"

	"bulkload/hfilewriter"
	"bulkload/ingest"
	"bulkload/internal/storage"
	"bulkload/jobs/filter"
	"bulkload/keys"
	"bulkload/values"
)

// Job is a job file that was read and found right.
type Job struct {
	Path      string    // of the job file
	Dir       string    // its folder, from which its paths are taken
	Date      time.Time // the logical date, midnight UTC or the beginning of an hour; zero where none was given and none is needed
	Hour      bool      // the date is an hour
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

// Feeds are the jobs that are fed from the input: the job itself, mostly.
func (j *Job) Feeds() []*Job {
	if j.Outputs == nil {
		return []*Job{j}
	}
	return j.Outputs
}

// ValueColumns are the columns of a row's values: those of the input, and the constants after them.
func (j *Job) ValueColumns() []Column {
	all := slices.Clone(j.Columns)
	for _, c := range j.Constants {
		all = append(all, c.Column)
	}
	return all
}

// CellColumns lists the columns that become cells.
func (j *Job) CellColumns() []Column {
	return slices.DeleteFunc(j.ValueColumns(), func(c Column) bool { return c.Skip })
}

// Column is a column's place in the input.
func (j *Job) Column(name string) (int, bool) {
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

// DateText is the logical date as people and file names write it; "" where there is none.
func (j *Job) DateText() string {
	return LogicalDate{j.Date, j.Hour}.Text()
}

// Instant is what all clock values of the files are taken from: the logical date, or the cells' timestamp where the job
// has no date.
func (j *Job) Instant() int64 {
	if j.Date.IsZero() {
		return j.Timestamp
	}
	return j.Date.UnixMilli()
}

// Connects tells whether a job asks HBase; load says whether it may load.
func (j *Job) Connects(load bool) bool {
	return slices.ContainsFunc(j.Feeds(), func(out *Job) bool { return out.Regions.From == "table" || out.Load && load })
}

// Remote tells whether a job leaves the local disks; load says whether it may load.
func (j *Job) Remote(load bool) bool {
	return j.Connects(load) || storage.IsHDFS(j.Input.Path) || slices.ContainsFunc(j.Feeds(), func(out *Job) bool { return storage.IsHDFS(out.Output) })
}

// Part is about which part of the input an output takes: all of it where it is the only one; else as many of its columns
// as become cells.
func (j *Job) Part(out *Job) float64 {
	if j.Outputs == nil {
		return 1
	}
	return min(1, float64(len(out.CellColumns())+1)/float64(len(j.Outputs[0].Columns)+1))
}

// RowQuery lists the query columns that ask for rows: those that only a wide table's qualifier uses ask for cells of them.
func (j *Job) RowQuery() []string {
	if j.Wide == nil {
		return j.Query
	}
	return slices.DeleteFunc(slices.Clone(j.Query), func(name string) bool {
		at, _ := j.Column(name) // reading the job file has checked that it is there
		return slices.Contains(j.Wide.Qualifier.Columns(), at) && !slices.Contains(j.RowKey.Columns(), at)
	})
}

// RunInfo names a run.
type RunInfo struct {
	Job   string `json:"job"`
	Table string `json:"table"`
	Date  string `json:"date,omitempty"`
	ID    string `json:"id"`
}

// Info names the job's run but for the ID, which the input decides.
func (j *Job) Info() RunInfo {
	return RunInfo{Job: filepath.Base(j.Path), Table: j.Table, Date: j.DateText()}
}

// Query is a query of the job's list: what a reader has, and how often a day it is asked.
type Query struct {
	Columns []string
	PerDay  int64
}
