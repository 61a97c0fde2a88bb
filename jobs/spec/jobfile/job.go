// Package jobfile reads job files. It checks them, reports every problem with its line, and gives a job its identity.
package jobfile

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bulkload/hfilewriter"
	"bulkload/ingest"
	"bulkload/internal/storage"
	"bulkload/jobs/spec/filter"
	"bulkload/keys"
	"bulkload/values"
)

// Job is a job file that was read and checked.
type Job struct {
	Path string // of the job file
	Dir  string // its folder; relative paths start there
	// the logical date, midnight UTC or the beginning of an hour; zero if none was given and none is needed
	Date      time.Time
	Hour      bool     // the date is an hour
	Table     string   // namespace:name, or name in the default namespace
	Columns   []Column // in the order of the input
	Constants []Constant
	Filter    *filter.Filter // accepts records; nil: all
	Timestamp int64          // of the cells, epoch milliseconds; 0 if each row has its own
	Moments   string         // the column with a row's timestamp; "" if all rows have the same
	RowKey    *keys.Expr
	Wide      *Wide    // nil: a record is a row
	Query     []string // the columns that a reader knows
	Queries   []Query  // for plan to weigh
	Input     Input
	Regions   RegionSettings
	HFile     HFileSettings
	// The oldest HBase that is to read the files (hfile.hbase_version), such as "2.1"; "": any that this program knows.
	// The files do not depend on it, so it is no part of the hash.
	HBaseVersion string
	HBase        HBase
	Engine       EngineSettings
	Output       string // as written: a path or an hdfs: URI
	Load         bool
	Strict       bool       // duplicates: error
	Live         LivePolicy // duplicates.live

	// Outputs are the jobs that share one reading of the input; nil if the job is its only output. If there are
	// several, only Path, Dir, Date, Hour, Input, HBase, Engine and Load of this job apply, and Table lists all tables.
	Outputs []*Job

	parts    map[string]string // see Parts
	hash     string            // of everything that decides the files' content
	anyQuery bool              // see ReadOptions
	origin   *Origin           // nil for one output of several
	places   map[string]int    // of Columns, by name; nil unless the job was read from a file
}

// Column is one input column and the cell it becomes.
type Column struct {
	Name      string
	Family    string
	Qualifier string
	Skip      bool        // no cell
	Width     int         // declared fixed width in bytes; 0: none
	Type      values.Type // declared
	Binary    bool        // stored as by Bytes.toBytes; otherwise as the input's text
	Null      NullPolicy
}

// NullPolicy is how a null is stored.
type NullPolicy string

// The null policies.
const (
	NullOmit  NullPolicy = ""      // no cell
	NullEmpty NullPolicy = "empty" // a cell without bytes
	NullError NullPolicy = "error" // the record is rejected
)

// Constant is a cell with the same value in every row.
type Constant struct {
	Column
	Value []byte // as stored
}

// LivePolicy says what to do with rows that the table has already.
type LivePolicy string

// The policies for rows that the table has already.
const (
	LiveUnasked   LivePolicy = "" // don't look up rows in the table
	LiveError     LivePolicy = "error"
	LiveOverwrite LivePolicy = "overwrite"
)

// Input says where records come from and how they are written.
type Input struct {
	Path           string
	Dated          bool // the path has the logical date: each day has its own input
	Form           ingest.Format
	MaxRejects     ingest.Limit
	RequireSuccess bool  // a _SUCCESS file is required
	Rows           int64 // expected records; -1: not given
	RowsAtLeast    bool  // Rows is a minimum
	EmptyFails     bool  // an input without records is a failure
	SpaceUnchecked bool  // don't check the disks before the run
}

// RegionSettings says where the table's region boundaries come from.
type RegionSettings struct {
	From   string // "splits", "file", "table" or "plan"
	Splits [][]byte
}

// HFileSettings are the job file's settings for the HFiles. Settings also has HBase's defaults.
type HFileSettings struct {
	Settings hfilewriter.Settings
	Given    map[string]bool // which of compression, encoding, bloom and block_size the job file sets
	// raw KeyValue bytes after which a file is ended at the next row; 0: hbase.hregion.max.filesize
	MaxSize int64
	// bytes of keys and columns above which a region is cut into slices, which are written in parallel; 0: 64 MiB
	SliceSize int64
}

// HBase says where the site files are, and who logs in.
type HBase struct {
	Conf     string // folder; "": from the environment
	Kerberos Kerberos
}

// Feeds returns the jobs that share the input: usually the job itself.
func (j *Job) Feeds() []*Job {
	if j.Outputs == nil {
		return []*Job{j}
	}
	return j.Outputs
}

// ValueColumns returns the columns of a row's values: those of the input, and the constants after them.
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

// Families lists the families of the job's cells, in order.
func (j *Job) Families() []string {
	var all []string
	for _, c := range j.CellColumns() {
		all = append(all, c.Family)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Column returns a column's index in the input.
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

// DateText returns the logical date as text; "" if there is none.
func (j *Job) DateText() string {
	return LogicalDate{j.Date, j.Hour}.Text()
}

// Instant returns the time from which all clock values in the files come: the logical date, or the cells' timestamp if
// the job has no date.
func (j *Job) Instant() int64 {
	if j.Date.IsZero() {
		return j.Timestamp
	}
	return j.Date.UnixMilli()
}

// Connects reports whether a job connects to HBase. load says whether it may load.
func (j *Job) Connects(load bool) bool {
	return slices.ContainsFunc(j.Feeds(), func(out *Job) bool {
		return out.Regions.From == "table" || out.Load && (load || out.Live != LiveUnasked)
	})
}

// Remote reports whether a job uses more than local disks. load says whether it may load.
func (j *Job) Remote(load bool) bool {
	return j.Connects(load) || storage.IsHDFS(j.Input.Path) ||
		slices.ContainsFunc(j.Feeds(), func(out *Job) bool { return storage.IsHDFS(out.Output) })
}

// Part estimates the share of the input that an output has: all of it if it is the only output, otherwise by the number
// of its columns that become cells.
func (j *Job) Part(out *Job) float64 {
	if j.Outputs == nil {
		return 1
	}
	return min(1, float64(len(out.CellColumns())+1)/float64(len(j.Outputs[0].Columns)+1))
}

// RowQuery lists the query columns that select rows. Columns that occur only in a wide table's qualifier select cells
// instead.
func (j *Job) RowQuery() []string {
	if j.Wide == nil {
		return j.Query
	}
	return slices.DeleteFunc(slices.Clone(j.Query), func(name string) bool {
		at, _ := j.Column(name) // checked when the job file was read
		return slices.Contains(j.Wide.Qualifier.Columns(), at) && !slices.Contains(j.RowKey.Columns(), at)
	})
}

// RunInfo identifies a run.
type RunInfo struct {
	Job   string `json:"job"`
	Table string `json:"table"`
	Date  string `json:"date,omitempty"`
	ID    string `json:"id"`
}

// Info returns the job's run without the ID, which depends on the input.
func (j *Job) Info() RunInfo {
	return RunInfo{Job: filepath.Base(j.Path), Table: j.Table, Date: j.DateText()}
}

// Source returns where the job looks for the date's input: a URI or an absolute path. Jobs with the same Hash that
// differ in it, and in their outputs, load different rows.
func (j *Job) Source() string {
	if strings.Contains(j.Input.Path, "://") || filepath.IsAbs(j.Input.Path) {
		return j.Input.Path
	}
	return filepath.Join(j.Dir, j.Input.Path)
}

// Title names the job and its date, for people.
func (j *Job) Title() string {
	if j.DateText() == "" {
		return j.Info().Job
	}
	return j.Info().Job + " for " + j.DateText()
}

// Query is a query of the job's list: the columns that a reader knows, and how often a day the query runs.
type Query struct {
	Columns []string
	PerDay  int64
}
