package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"bulkload/cell"
	"bulkload/internal/bytesize"
	"bulkload/internal/errcode"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/inspect/lookup"
	"bulkload/jobs/inspect/plan"
	"bulkload/jobs/inspect/verify"
	"bulkload/jobs/loading"
	"bulkload/jobs/spec/jobfile"
)

// common are the flags of all verbs.
type common struct {
	Memory    string            `default:"512MiB" placeholder:"SIZE" help:"Memory for the sort, open files and buffers together (default: 512MiB)."`
	Cores     *int              `placeholder:"N" help:"How many cores compute at most (default: all)."`
	Rate      string            `placeholder:"SIZE/s" help:"How much is read from and written to the cluster at most, such as 50MB/s (default: no limit)."`
	WorkDir   string            `placeholder:"DIR" help:"Folder that the sort spills to (default: the system's temporary folder)."`
	Conf      string            `placeholder:"DIR" help:"Folder of core-site.xml, hdfs-site.xml and hbase-site.xml (default: the job's hbase.conf, then HADOOP_CONF_DIR and HBASE_CONF_DIR, then /etc/hadoop/conf and /etc/hbase/conf)."`
	Define    map[string]string `short:"D" mapsep:"none" placeholder:"KEY=VALUE" help:"Sets a Hadoop or HBase property, which overrides the site files."`
	Principal string            `placeholder:"NAME" help:"Logs in with Kerberos as this user, with --keytab (default: the job's hbase.kerberos, then the ticket cache)."`
	Keytab    string            `placeholder:"FILE" help:"The keytab of --principal."`
	JSON      jsonForm          `name:"json" help:"Prints one JSON object as the last line of stdout, and nothing else there. --json=summary prints a short one, of at most 2,048 bytes."`
	Summary   string            `enum:"stderr,stdout" default:"stderr" placeholder:"stderr|stdout" help:"Where the summary of a run, a load or a verification goes (default: stderr)."`
	Quiet     bool              `short:"q" help:"Prints errors only."`
	Verbose   int               `short:"v" type:"counter" help:"Prints more; -vv also prints calls to servers and retries."`
	Log       string            `enum:",text,json" default:"" placeholder:"text|json" help:"Writes log records with time and attributes to stderr, instead of plain lines and a progress bar."`
	LogFile   string            `placeholder:"FILE" help:"Appends log records to a file."`

	memory, rate int64
}

type cli struct {
	common `embed:"" group:"Flags of all commands:"`

	Run     runCommand     `cmd:"" help:"Reads, sorts, writes, verifies and loads whatever is not done yet."`
	Plan    planCommand    `cmd:"" help:"Shows what a run would do: rows and bytes per region, the splits, and the create statement."`
	Load    loadCommand    `cmd:"" help:"Loads an existing directory of HFiles into a table."`
	Verify  verifyCommand  `cmd:"" help:"Compares HFiles or the table with the source, or checks a directory of HFiles."`
	Inspect inspectCommand `cmd:"" help:"Shows what is in an HFile."`
	Get     getCommand     `cmd:"" help:"Shows the rows that match a query's values."`
	Keys    keysCommand    `cmd:"" help:"Shows which rows a query's values select, for readers in other languages."`
	Serve   serveCommand   `cmd:"" help:"Answers look-ups over HTTP, until it is stopped."`
	Status  statusCommand  `cmd:"" help:"Shows what was loaded when, by whom, and what waits for what."`
	List    listCommand    `cmd:"" help:"Lists the outputs in a directory: their runs, files and rejects."`
	Clean   cleanCommand   `cmd:"" help:"Deletes old outputs that were loaded, and old rejects."`

	Task taskCommand `cmd:"" help:"The steps of a run by tasks, for schedulers such as Airflow and Kubernetes."`

	Init    initCommand    `cmd:"" help:"Drafts a job file from an export or a live table."`
	Convert convertCommand `cmd:"" help:"Writes the job file that replaces a Spark job, from its properties."`
	Schema  schemaCommand  `cmd:"" help:"Prints the JSON schema of job files, for editors."`

	Version    versionCommand    `cmd:"" help:"Prints the version."`
	Completion completionCommand `cmd:"" help:"Prints a completion script for a shell."`
	Man        manCommand        `cmd:"" help:"Prints the manual page bulkload(1)."`
	Help       helpCommand       `cmd:"" help:"Shows the commands, the flags and examples of one, or the cause and remedy of an error."`
}

func usage(err error) error { return failure.UsageError(err) }

func (s *session) options() options.Options {
	return options.Options{Memory: s.memory, WorkDir: s.WorkDir, Conf: s.Conf, Properties: s.Define, Log: s.log,
		Watch: s.watch, Rate: s.limit, Principal: s.Principal, Keytab: s.Keytab, Stopped: s.stopped}
}

type planCommand struct {
	Job string `arg:"" help:"The job file."`
	dated
	ranged
	Sample     *int64    `placeholder:"ROWS" help:"Reads this many rows, spread over the input, instead of all."`
	Create     bool      `help:"Creates the table with the splits and settings that plan shows, unless it exists."`
	CheckLive  bool      `help:"Checks whether row keys of the input are already in the table."`
	Compare    *string   `placeholder:"KEY|FILE" help:"Also plans another row key for the same input, or another job file, and compares the two."`
	Growth     string    `placeholder:"SIZE" help:"Size of a day's input, such as 20GiB (default: the size of this input, if its path has $${date})."`
	Now        time.Time `placeholder:"TIME" help:"The time (RFC 3339) for comparing the cells' ages with the table's TTL (default: now)."`
	SplitsFile string    `placeholder:"FILE" help:"Writes the splits to a file for SPLITS_FILE in the HBase shell."`
	NoRecords  bool      `help:"Leaves out the three records and the most frequent query keys, which can be personal data."`
	HTML       string    `name:"html" placeholder:"FILE.html" help:"Writes the whole plan to an HTML page with charts."`
}

func (c *planCommand) do(ctx context.Context, s *session) (report, error) {
	var sample int64
	if c.Sample != nil {
		if sample = *c.Sample; sample < 1 {
			return nil, usage(fmt.Errorf("--sample: %d is not a number of rows; give at least 1, or leave it out to read all",
				sample))
		}
	}
	if err := checkPage("--html", c.HTML); err != nil {
		return nil, err
	}
	if ext := strings.ToLower(filepath.Ext(c.SplitsFile)); ext == ".yaml" || ext == ".yml" {
		return nil, usage(fmt.Errorf("--splits-file %s: the splits replace the file, and this may be a job file; give "+
			"another name", c.SplitsFile))
	}
	if c.Compare != nil && *c.Compare == "" {
		return nil, usage(errors.New("--compare: is empty; give a row key, or a job file"))
	}
	dates, err := c.list(&c.dated)
	if err != nil {
		return nil, err
	}
	planned := jobfile.ReadOptions{AnyQuery: true}
	if dates != nil {
		planned.Date, planned.Hour = dates[0].Time, dates[0].Hour
	}
	job, err := c.read(ctx, c.Job, planned)
	if err != nil {
		return nil, err
	}
	o := plan.PlanOptions{Sample: sample, Dates: len(dates), Create: c.Create, CheckLive: c.CheckLive, Now: c.Now,
		SplitsFile: c.SplitsFile, Page: c.HTML, NoRecords: c.NoRecords}
	if c.Growth != "" {
		if o.Growth, err = bytesize.Parse(c.Growth); err != nil {
			return nil, usage(fmt.Errorf("--growth: %w", err))
		}
	}
	switch {
	case c.Compare == nil:
	case isFile(*c.Compare):
		if o.Job, err = c.read(ctx, *c.Compare, planned); err != nil {
			return nil, err
		}
	default:
		o.Expression = *c.Compare
	}
	if err := c.checkUsed(); err != nil {
		return nil, err
	}
	r, err := plan.Run(ctx, job, s.options(), o)
	s.endBar()
	if err == nil {
		writePlan(s.answers(), r, s.Log == "" && coloured(s.stdout) && !s.JSON.wanted())
	}
	return r, err
}

// isFile distinguishes a job file from a row key.
func isFile(text string) bool {
	if strings.HasSuffix(text, ".yaml") || strings.HasSuffix(text, ".yml") {
		return true
	}
	_, err := os.Stat(text)
	return text != "" && err == nil
}

type loadCommand struct {
	Dir   string `arg:"" help:"The directory: hdfs://…, with a folder for each family."`
	Table string `arg:"" help:"The table: namespace:name, or name."`
	busy
	metricsFlags
}

// busy says what a load does while another job loads into the same table.
type busy struct {
	OnBusy string `placeholder:"wait|load|fail" enum:"wait,load,fail" default:"wait" help:"What to do while another job loads into the table: wait (the default), load at the same time, or fail with 75."`
}

func (b *busy) onBusy() options.OnBusy {
	if b.OnBusy == "wait" {
		return ""
	}
	return options.OnBusy(b.OnBusy)
}

func (c *loadCommand) do(ctx context.Context, s *session) (report, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	c.Table = jobfile.TableName(c.Table)
	s.measured = newMeasured(c.metricsFlags, loadMetrics, c.Table)
	o := s.options()
	o.OnBusy = c.onBusy()
	r, err := loading.Directory(ctx, c.Dir, c.Table, o)
	s.endBar()
	if err == nil {
		writeLoad(s.people(), r)
	}
	return r, err
}

type verifyCommand struct {
	Target string `arg:"" help:"A job file, or a directory of HFiles."`
	dated
	Live    bool   `help:"Compares the table with the job's source, instead of the files."`
	All     bool   `help:"With --live: reads the whole table, and counts all rows that the source lacks."`
	Stale   string `placeholder:"FILE" help:"With --live: reads only the cells with the job's timestamp, and writes those that the source lacks to FILE."`
	Replica int    `placeholder:"N" help:"With --live: reads the Nth read replica of each region."`
	metricsFlags
}

func (c *verifyCommand) do(ctx context.Context, s *session) (report, error) {
	r, err := c.verify(ctx, s)
	s.endBar()
	if r == nil {
		return nil, err
	}
	writeVerification(s.people(), r, s.Verbose > 0)
	return r, err
}

func (c *verifyCommand) verify(ctx context.Context, s *session) (*verify.Verification, error) {
	info, err := os.Stat(c.Target)
	if strings.Contains(c.Target, "://") || err == nil && info.IsDir() {
		if c.Live || c.All || c.Stale != "" || c.Replica != 0 {
			return nil, usage(errors.New("--live needs a job file: a directory alone names no table"))
		}
		if c.MetricsFile != "" || c.MetricsPush != "" {
			return nil, usage(errors.New("metrics need a job file, whose name is their label"))
		}
		return verify.Dir(ctx, c.Target, s.options())
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	s.measured = newMeasured(c.metricsFlags, verifyMetrics, c.Target)
	job, err := c.read(ctx, c.Target, jobfile.ReadOptions{})
	if err == nil {
		err = c.checkUsed()
	}
	if err != nil {
		return nil, err
	}
	o := s.options()
	o.Replica = c.Replica
	switch {
	case c.Replica < 0 || c.Replica > 0 && !c.Live:
		return nil, usage(errors.New("--replica needs --live, and a number from 1 on: the region itself is read without it"))
	case c.All && (!c.Live || c.Stale != ""):
		return nil, usage(errors.New("--all needs --live, without --stale: it says how much of the table is read"))
	case c.All:
		return verify.WholeTable(ctx, job, o)
	case c.Stale != "" && !c.Live:
		return nil, usage(errors.New("--stale needs --live: it lists cells of the table"))
	case c.Stale != "":
		return verify.ListStale(ctx, job, o, c.Stale)
	}
	return verify.Job(ctx, job, o, c.Live)
}

type inspectCommand struct {
	File   string `arg:"" help:"The HFile: a path or hdfs://…"`
	Blocks bool   `help:"Also lists the blocks."`
	Cells  bool   `help:"Also prints the cells."`
}

func (c *inspectCommand) do(ctx context.Context, s *session) (report, error) {
	if ext := filepath.Ext(c.File); ext == ".yaml" || ext == ".yml" {
		return nil, usage(fmt.Errorf("%s is a job file by its name, and inspect shows an HFile; bulkload status shows a "+
			"job's runs", c.File))
	}
	var visit func(*cell.Cell) error
	if c.Cells {
		if s.JSON.wanted() {
			return nil, usage(errors.New("--cells prints lines of text: leave --json or --cells out"))
		}
		visit = func(c *cell.Cell) error { return writeCell(s.answers(), c) }
	}
	r, err := lookup.Inspect(ctx, c.File, s.options(), c.Blocks, visit)
	if err == nil {
		writeInspection(s.answers(), r)
	}
	return r, err
}

type getCommand struct {
	Job string   `arg:"" help:"The job file."`
	Key []string `arg:"" help:"The values of the query columns, in the order of query."`
	dated
	From   string `placeholder:"DIR" help:"Reads HFiles in a directory instead of the table."`
	Fail   bool   `help:"Ends with 1 if there is no such row."`
	Output string `placeholder:"TABLE" help:"Which of several outputs to read (default: the one with the directory of --from, or else the only one whose query has that many columns)."`
}

func (c *getCommand) do(ctx context.Context, s *session) (report, error) {
	job, err := c.read(ctx, c.Job, jobfile.ReadOptions{DateOptional: true})
	if err != nil {
		return nil, err
	}
	if c.Output != "" {
		if job, err = job.Pick(c.Output); err != nil {
			return nil, err
		}
	}
	r, err := lookup.Get(ctx, job, s.options(), c.Key, c.From)
	if err != nil {
		return r, err
	}
	writeRows(s.answers(), r)
	if c.Fail && len(r.Rows) == 0 {
		return r, errcode.NotFound.Errorf("no row of %s has the key %s", r.Table, strings.Join(c.Key, " "))
	}
	return r, nil
}

type keysCommand struct {
	Job string   `arg:"" help:"The job file."`
	Key []string `arg:"" help:"The values of the query columns, in the order of query."`
	dated
	Output string `placeholder:"TABLE" help:"Which of several outputs (default: the only one whose query has that many columns)."`
}

func (c *keysCommand) do(ctx context.Context, s *session) (report, error) {
	job, err := c.read(ctx, c.Job, jobfile.ReadOptions{DateOptional: true})
	if err == nil && c.Output != "" {
		job, err = job.Pick(c.Output)
	}
	if err != nil {
		return nil, err
	}
	r, err := lookup.Keys(job, s.options(), c.Key)
	if err != nil {
		return r, err
	}
	for _, rows := range r.Ranges {
		fmt.Fprintf(s.answers(), "start %s\nstop  %s\nscan '%s', {%s}\n", rows.Start, rows.Stop, r.Table, rows.Shell)
	}
	return r, nil
}
