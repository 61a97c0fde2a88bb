package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"bulkload/cell"
	"bulkload/jobs"
)

// common are the flags of all verbs.
type common struct {
	Memory  string            `default:"512MiB" placeholder:"SIZE" help:"Memory for the sort, open files and buffers together (default 512MiB)."`
	WorkDir string            `placeholder:"DIR" help:"Folder that the sort spills to (default the system's temporary folder)."`
	Conf    string            `placeholder:"DIR" help:"Folder of core-site.xml, hdfs-site.xml and hbase-site.xml (default the job's hbase.conf, then HADOOP_CONF_DIR and HBASE_CONF_DIR, then /etc/hadoop/conf and /etc/hbase/conf)."`
	Define  map[string]string `short:"D" mapsep:"none" placeholder:"KEY=VALUE" help:"Sets a Hadoop or HBase property, which overrides the site files."`
	JSON    bool              `name:"json" help:"Prints one JSON object as the last line of stdout, and nothing else there."`
	Quiet   bool              `short:"q" help:"Prints errors only."`
	Verbose int               `short:"v" type:"counter" help:"Prints more; -vv also prints calls to servers and retries."`
	Log     string            `enum:",text,json" default:"" placeholder:"text|json" help:"Writes log records with time and attributes to stderr, instead of plain lines and a progress bar."`
	LogFile string            `placeholder:"FILE" help:"Appends log records to a file."`

	memory int64
}

type cli struct {
	common `embed:""`

	Run     runCommand     `cmd:"" help:"Reads, sorts, writes, verifies and loads whatever is not done yet."`
	Plan    planCommand    `cmd:"" help:"Shows what a run would do: rows and bytes a region, splits, the create statement."`
	Load    loadCommand    `cmd:"" help:"Loads an existing directory of HFiles into a table."`
	Verify  verifyCommand  `cmd:"" help:"Compares HFiles or the table with the source, or checks a directory of HFiles."`
	Inspect inspectCommand `cmd:"" help:"Shows what is in an HFile."`
	Get     getCommand     `cmd:"" help:"Shows the rows of a query key."`
	List    listCommand    `cmd:"" help:"Lists the outputs in a directory: their runs, files and rejects."`
	Clean   cleanCommand   `cmd:"" help:"Deletes old outputs that were loaded, and old rejects."`

	Version    versionCommand    `cmd:"" help:"Shows which version this is."`
	Completion completionCommand `cmd:"" help:"Prints a script that completes commands and flags in a shell."`
	Man        manCommand        `cmd:"" help:"Prints the manual page bulkload(1)."`
}

// dated is the flag of the verbs that read a job file.
type dated struct {
	Date *string `placeholder:"YYYY-MM-DD" help:"The logical date: the job file's $${date}."`
}

func usage(err error) error { return jobs.UsageError(err) }

// read reads a job file.
func (d dated) read(path string, dateOptional bool) (*jobs.Job, error) {
	return d.readWith(path, jobs.ReadOptions{DateOptional: dateOptional})
}

// readPlanned reads a job whose queries need not fit its key: plan tells.
func (d dated) readPlanned(path string) (*jobs.Job, error) {
	return d.readWith(path, jobs.ReadOptions{AnyQuery: true})
}

func (d dated) readWith(path string, o jobs.ReadOptions) (*jobs.Job, error) {
	if d.Date != nil { // an empty one is a variable that was set to nothing
		var err error
		if o.Date, err = jobs.ParseDate(*d.Date); err != nil {
			return nil, err
		}
	}
	return jobs.Read(path, o)
}

func (s *session) options() jobs.Options {
	return jobs.Options{Memory: s.memory, WorkDir: s.WorkDir, Conf: s.Conf, Properties: s.Define, Log: s.log, Watch: s.watch}
}

type runCommand struct {
	Job string `arg:"" help:"The job file."`
	dated
	Force      bool           `help:"Starts over, even if the output's run is finished."`
	NoLoad     bool           `help:"Stops before the load."`
	OnChange   string         `placeholder:"fail|reload" enum:"fail,reload" default:"fail" help:"What to do if the input of a finished run has changed: fail (the default), or reload: write and load it again."`
	Wait       time.Duration  `placeholder:"TIME" help:"Waits up to this long, such as 2h, for an input that does not exist yet."`
	WaitSettle *time.Duration `placeholder:"TIME" help:"How long the files must stay unchanged before --wait treats them as complete, unless the job has require_success (default 1m)."`
}

// waiting is how long a run waits for its input.
func (c *runCommand) waiting(requireSuccess bool) (jobs.Wait, error) {
	wait := jobs.Wait{For: c.Wait, Settle: jobs.DefaultSettle}
	if c.WaitSettle != nil {
		if wait.Settle = *c.WaitSettle; wait.Settle <= 0 {
			wait.Settle = -1 // 0 is the default
		}
	}
	switch {
	case c.Wait < 0:
		return wait, usage(fmt.Errorf("--wait %v: give a time such as 2h or 30m", c.Wait))
	case c.Wait == 0 && c.WaitSettle != nil:
		return wait, usage(errors.New("--wait-settle goes with --wait, such as --wait 2h"))
	case c.Wait > 0 && c.Wait <= wait.Settle && !requireSuccess:
		return wait, usage(fmt.Errorf("--wait %v is not longer than the %v for which the files must not change (--wait-settle)", c.Wait, wait.Settle))
	}
	return wait, nil
}

func (c *runCommand) do(ctx context.Context, s *session) (report, error) {
	job, err := c.read(c.Job, false)
	if err != nil {
		return nil, err
	}
	o := s.options()
	o.Force, o.NoLoad = c.Force, c.NoLoad
	if c.OnChange == "reload" {
		o.OnChange = jobs.Reload
	}
	if o.Wait, err = c.waiting(job.Input.RequireSuccess); err != nil {
		return nil, err
	}
	began := time.Now()
	summary, err := jobs.Run(ctx, job, o)
	s.endBar()
	writeSummary(s.people(), summary, time.Since(began), s.Verbose > 0)
	return summary, err
}

type planCommand struct {
	Job string `arg:"" help:"The job file."`
	dated
	Sample     *int64    `placeholder:"ROWS" help:"Reads this many rows, spread over the input, instead of all."`
	Create     bool      `help:"Creates the table with these splits and settings."`
	CheckLive  bool      `help:"Looks up whether row keys of the input are in the table already."`
	Compare    *string   `placeholder:"KEY|FILE" help:"Plans a second row key for the same input, or a second job file, and compares."`
	Growth     string    `placeholder:"SIZE" help:"Input a day, such as 20GiB (default this input, if its path has $${date})."`
	Now        time.Time `placeholder:"TIME" help:"The time, in RFC 3339, that cells' ages are compared with the table's TTL at (default now)."`
	SplitsFile string    `placeholder:"FILE" help:"Writes the splits, for SPLITS_FILE in HBase's shell."`
	HTML       string    `name:"html" placeholder:"FILE" help:"Writes everything that plan finds as a page with charts."`
}

func (c *planCommand) do(ctx context.Context, s *session) (report, error) {
	var sample int64
	if c.Sample != nil {
		if sample = *c.Sample; sample < 1 {
			return nil, usage(fmt.Errorf("--sample: %d is not a number of rows; give at least 1, or leave it out to read all", sample))
		}
	}
	if c.Compare != nil && *c.Compare == "" {
		return nil, usage(errors.New("--compare: is empty; give a row key, or a job file"))
	}
	job, err := c.readPlanned(c.Job)
	if err != nil {
		return nil, err
	}
	options := jobs.PlanOptions{Sample: sample, Create: c.Create, CheckLive: c.CheckLive, Now: c.Now, SplitsFile: c.SplitsFile, Page: c.HTML}
	if c.Growth != "" {
		if options.Growth, err = jobs.ParseSize(c.Growth); err != nil {
			return nil, usage(fmt.Errorf("--growth: %w", err))
		}
	}
	switch {
	case c.Compare == nil:
	case isFile(*c.Compare):
		if options.Job, err = c.readPlanned(*c.Compare); err != nil {
			return nil, err
		}
	default:
		options.Expression = *c.Compare
	}
	r, err := jobs.Plan(ctx, job, s.options(), options)
	s.endBar()
	if err == nil {
		writePlan(s.answers(), r, s.Log == "" && coloured(s.stdout) && !s.JSON)
	}
	return r, err
}

// isFile tells a job file from a row key.
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
}

func (c *loadCommand) do(ctx context.Context, s *session) (report, error) {
	r, err := jobs.LoadDir(ctx, c.Dir, c.Table, s.options())
	s.endBar()
	if err == nil {
		writeLoad(s.people(), r)
	}
	return r, err
}

type verifyCommand struct {
	Target string `arg:"" help:"A job file, or a directory of HFiles."`
	dated
	Live bool `help:"Compares the table, instead of the files, with the job's source."`
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

func (c *verifyCommand) verify(ctx context.Context, s *session) (*jobs.VerifyReport, error) {
	info, err := os.Stat(c.Target)
	if strings.Contains(c.Target, "://") || err == nil && info.IsDir() {
		if c.Live {
			return nil, usage(errors.New("--live needs a job file: a directory alone names no table"))
		}
		return jobs.VerifyDir(ctx, c.Target, s.options())
	}
	job, err := c.read(c.Target, false)
	if err != nil {
		return nil, err
	}
	return jobs.VerifyJob(ctx, job, s.options(), c.Live)
}

type inspectCommand struct {
	File   string `arg:"" help:"The HFile: a path or hdfs://…"`
	Blocks bool   `help:"Also lists the blocks."`
	Cells  bool   `help:"Also prints the cells."`
}

func (c *inspectCommand) do(ctx context.Context, s *session) (report, error) {
	var visit func(*cell.Cell) error
	if c.Cells {
		if s.JSON {
			return nil, usage(errors.New("--cells prints lines of text: leave --json or --cells out"))
		}
		visit = func(c *cell.Cell) error { return writeCell(s.answers(), c) }
	}
	r, err := jobs.Inspect(ctx, c.File, s.options(), c.Blocks, visit)
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
	Output string `placeholder:"TABLE" help:"Which of several outputs (default the one with that directory, or with a query of that many columns)."`
}

func (c *getCommand) do(ctx context.Context, s *session) (report, error) {
	job, err := c.read(c.Job, true)
	if err != nil {
		return nil, err
	}
	if c.Output != "" {
		if job, err = job.Pick(c.Output); err != nil {
			return nil, err
		}
	}
	r, err := jobs.Get(ctx, job, s.options(), c.Key, c.From)
	if err == nil {
		writeRows(s.answers(), r)
	}
	return r, err
}
