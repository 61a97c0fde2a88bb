package jobfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"bulkload/internal/errcode"
	"bulkload/jobs/spec/yamldoc"
	"bulkload/keys"

	"go.yaml.in/yaml/v3"
)

// ReadOptions are the date, the variables and the leniency with which a job file is read.
type ReadOptions struct {
	Date         time.Time                        // the logical date; zero: none
	Hour         bool                             // the date is an hour: see LogicalDate
	Set          map[string]string                // for ${NAME}
	Used         map[string]bool                  // gets the names of Set that the file uses; may be nil
	AnyQuery     bool                             // query need not determine a prefix of the row key: plan reports that
	DateOptional bool                             // a missing date leaves paths, timestamp, filter and constants empty
	Environment  func(name string) (string, bool) // for ${env.NAME}; nil: the process's
}

// Read reads and checks a job file. Every error names the file and the line.
func Read(path string, o ReadOptions) (*Job, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, errcode.JobRead.Errorf("read the job file: %w%s", err, neighbour(path, err))
	}
	defer func() { _ = f.Close() }() // it was only read
	return Parse(path, f, o)
}

// neighbour suggests a YAML file with nearly the same name as one that does not exist.
func neighbour(path string, err error) string {
	if !errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	dir, name := filepath.Split(path)
	beside, _ := filepath.Glob(filepath.Join(dir, "*.y*ml")) // an odd folder name may be a bad pattern, which finds none
	for i := range beside {
		beside[i] = filepath.Base(beside[i])
	}
	return keys.Suggest(name, beside)
}

// Parse reads a job file's text; path is its name.
func Parse(path string, in io.Reader, o ReadOptions) (*Job, error) {
	if o.Environment == nil {
		o.Environment = os.LookupEnv
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, errcode.JobRead.Errorf("find the folder of %s: %w", path, err)
	}
	return parse(path, dir, in, o, diskFiles{})
}

// parse reads the job file path in dir. It reads the files that the job file names with from.
func parse(path, dir string, in io.Reader, o ReadOptions, from yamldoc.Files) (*Job, error) {
	origin := record(path, dir, &o, from)
	text, err := readText(path, in)
	if err != nil {
		return nil, err
	}
	origin.origin.Text = text
	s, err := yamldoc.Open(path, text, yamldoc.Variables{Time: o.Date, Date: LogicalDate{o.Date, o.Hour}.Text(),
		Set: o.Set, Used: o.Used, Environment: o.Environment, DateOptional: o.DateOptional}, origin)
	if err != nil {
		return nil, err
	}
	j := &Job{Path: path, Dir: dir, Date: o.Date, Hour: o.Hour, origin: origin.origin, anyQuery: o.AnyQuery}
	readJobFile(j, s)
	if err := s.Doc.Err(); err != nil {
		return nil, err
	}
	return j, j.identify()
}

func readJobFile(j *Job, s *yamldoc.Section) {
	s.Known(yamldoc.Top, yamldoc.Output, yamldoc.Common)
	s.Require("input")
	in := s.Section("input")
	readInput(j, in)
	if in != nil {
		readTypedNulls(j, in, nonStrings(s))
	}
	readHBase(j, s.Section("hbase"))
	readEngine(j, s.Section("engine"))
	if s.Has("outputs") {
		readOutputs(j, s)
	} else {
		readOutput(j, s)
	}
}

// readOutput reads the settings of one table; the input was read before.
func readOutput(j *Job, s *yamldoc.Section) {
	s.Require("table", "rowkey", "regions", "output")
	readTable(j, s)
	readColumnsMap(j, s)
	readWide(j, s.Section("wide"))
	checkCells(j, s)
	readFilter(j, s)
	readTimestamp(j, s)
	readRowKey(j, s)
	readQueries(j, s)
	readRegions(j, s.Section("regions"))
	readHFile(j, s.Section("hfile"))
	readDuplicates(j, s)
	j.Output = s.Undated("output")
	known := checkPlace(s, "output", j.Output)
	j.Load = s.Flag("load")
	if j.Load && j.Regions.From == "plan" {
		s.Fail("load", "true loads the files into a table, so they need its region boundaries: set regions.from to "+
			"table, not plan")
	}
	if j.Live != LiveUnasked && !j.Load {
		s.Fail("duplicates", "live asks the table that the files are loaded into, so it needs load: true")
	}
	if j.Load && s.Has("output") && j.Output != "" && isLocal(j.Output) && known {
		s.Fail("load", "true loads the files into HBase, which reads them from HDFS, but output is the local path %s",
			j.Output)
	}
}

// readDuplicates reads what to do with rows that have equal keys. A text says that for records, a mapping also for rows
// in the table.
func readDuplicates(j *Job, s *yamldoc.Section) {
	if n, ok := s.Values["duplicates"]; !ok || yamldoc.Resolve(n).Kind != yaml.MappingNode {
		j.Strict = s.OneOf("duplicates", "last", "error") == "error"
		return
	}
	own := s.Section("duplicates")
	own.Known(yamldoc.Duplicates)
	j.Strict = own.OneOf("input", "last", "error") == "error"
	if own.Has("live") {
		j.Live = readLive(own)
	}
}

// readLive reads what to do with rows that the table has already.
func readLive(s *yamldoc.Section) LivePolicy {
	if yamldoc.Resolve(s.Values["live"]).Value != "skip" {
		return LivePolicy(s.OneOf("live", string(LiveError), string(LiveOverwrite)))
	}
	// A load can prove that the table has its own rows, but not that the table has kept the rows of other loads.
	s.Fail("live", "no run leaves out the rows that the table has: it could not prove that they are still there after "+
		"the load. Write error, and take those rows out of the input or the table, or write overwrite")
	return LiveError
}

// tableName follows TableName.isLegalFullyQualifiedTableName.
var tableName = regexp.MustCompile(`^(?:[A-Za-z0-9_]+:)?[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// ValidTable reports whether a table may have the name: namespace:name, or name.
func ValidTable(name string) bool { return tableName.MatchString(name) }

// TableName returns a valid name in its canonical form: as HBase writes it, without the default namespace. Locks,
// ledger and checks compare names, so every name that a person writes must pass through it.
func TableName(name string) string { return strings.TrimPrefix(name, "default:") }

func readTable(j *Job, s *yamldoc.Section) {
	j.Table = s.Text("table")
	if j.Table != "" && !ValidTable(j.Table) {
		s.Fail("table", "%q is not a table's name; write namespace:name or name", j.Table)
	}
	j.Table = TableName(j.Table)
	if family := s.Text("family"); family != "" {
		checkFamily(s, "family", family)
	}
}

func checkFamily(s *yamldoc.Section, key, name string) {
	switch {
	case name == "" || len(name) > 127:
		s.Fail(key, "a family's name has 1 to 127 bytes")
	case strings.ContainsAny(name, ":/") || name[0] == '.' || name[0] == '_':
		s.Fail(key, "family %q can't be a folder of the output: it must not contain : or / or begin with . or _", name)
	}
}

func readHBase(j *Job, s *yamldoc.Section) {
	if s == nil {
		return
	}
	s.Known(yamldoc.HBase)
	j.HBase.Conf = s.Path("conf", j.Dir)
	readKerberos(j, s.Section("kerberos"))
}
