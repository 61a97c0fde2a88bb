package loading

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"bulkload/hfilewriter"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/ledger"
	"bulkload/jobs/env/lock"
	"bulkload/jobs/env/site"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/output"
	"bulkload/jobs/spec/jobfile"
	"bulkload/load"
)

// LoadReport is the result of Directory.
type LoadReport struct {
	failure.Outcome
	Directory string     `json:"directory"`
	Table     string     `json:"table"`
	Files     int        `json:"files_found"`
	Load      LoadResult `json:"load"`
}

// Directory loads a directory of HFiles, written by bulkload or another tool, into a table.
//
// If the directory has a manifest for this table, the load is recorded there like a job's, in the same states, so the
// job and this command can continue each other's interrupted load. The directory's lock keeps them from running at the
// same time.
func Directory(ctx context.Context, dir, table string, o options.Options) (report *LoadReport, err error) {
	report = &LoadReport{Outcome: failure.NewOutcome(), Directory: dir, Table: table, Load: LoadResult{Requested: true}}
	if !jobfile.ValidTable(table) {
		return report, errcode.TableName.Errorf("%q is not a table's name; write namespace:name or name", table)
	}
	table = jobfile.TableName(table)
	report.Table = table
	if !storage.IsHDFS(dir) {
		return report, errcode.Command.Errorf("%s is a local path; HBase accepts files from HDFS: copy them there (hdfs "+
			"dfs -put) and name hdfs://…", dir)
	}
	if o, err = o.WithDefaults(); err != nil {
		return report, err
	}
	s, err := site.Open(o, jobfile.HBase{}, true)
	if err != nil {
		return report, err
	}
	fsys, name, err := s.Resolve(dir, ".")
	if err != nil {
		return report, fmt.Errorf("open the directory %s: %w", dir, err)
	}
	c := &directoryCommand{out: output.At(fsys, name, s, o), report: report}
	defer func() { err = errors.Join(err, c.close()) }()
	report.Directory = fsys.URI(name)
	d, err := hfiles.OpenDirectory(fsys, name)
	if err != nil {
		return report, err
	}
	// The lock may be lost while files are submitted. The load then ends with that as its error, because failures that
	// follow from it must not look like a fault of the cluster.
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c.lost = func(err error) { cancel(err) }
	if err = c.out.TakeLock(running, c.lost); err != nil {
		return report, err
	}
	err = c.run(running, d)
	switch cause := context.Cause(running); {
	// An interruption by the caller takes precedence over a lost lock.
	case err == nil || ctx.Err() != nil:
	case cause != nil:
		err = cause // the lock was lost
	default:
		err = c.out.Lock.Explain(err)
	}
	return report, err
}

// directoryCommand is one command that loads a directory. It opens what the load needs, decides which kind of load it
// is, and refuses directories that can't be loaded.
type directoryCommand struct {
	out     *output.Dir
	report  *LoadReport
	lost    func(error)    // called if a lock is lost
	cluster *load.Cluster  // nil before reach
	ledger  *ledger.Ledger // likewise
}

func (c *directoryCommand) close() error {
	var errs []error
	if c.cluster != nil {
		errs = append(errs, c.cluster.Close())
	}
	if c.ledger != nil {
		errs = append(errs, c.ledger.Close())
	}
	return errors.Join(append(errs, c.out.Close())...)
}

// run loads the files of a locked directory, which were listed in d before anything was recovered.
func (c *directoryCommand) run(ctx context.Context, d *hfiles.Directory) error {
	recorded, err := manifest.Read(c.out.FS, c.out.Path)
	if err != nil {
		return err
	}
	m, err := c.checkState(recorded)
	if err != nil {
		return err
	}
	if len(d.Files) == 0 && recorded != nil && m == nil {
		return errcode.LoadOther.Errorf("the files of %s were loaded into table %s, and HBase has moved them there; for "+
			"table %s run a job with another output",
			c.out.FS.URI(c.out.Path), recorded.Run.Table, c.report.Table)
	}
	if recorded == nil {
		if err := c.checkBelow(d); err != nil {
			return err
		}
	}
	if err := c.reach(ctx); err != nil {
		return err
	}
	if len(d.Files) == 0 {
		begun := m != nil && m.State != manifest.Loaded
		if m == nil {
			begun, err = newDirectoryLoad(c.out, c.report.Table, c.cluster, c.ledger, nil).interrupted()
		}
		if err != nil {
			return err
		}
		if !begun {
			return c.checkServed(ctx, m)
		}
	}
	if m != nil {
		err = c.loadOutput(ctx, output.New(c.out, m))
	} else if err = c.checkOtherTables(); err == nil {
		err = c.loadDirectory(ctx)
	}
	if err == nil {
		c.report.Status = failure.StatusDone
	}
	return err
}

// reach connects to HBase and opens the ledger.
func (c *directoryCommand) reach(ctx context.Context) (err error) {
	if c.cluster, err = c.out.Site.Connect(ctx); err == nil {
		c.ledger, err = c.out.Site.OpenLedger()
	}
	return err
}

// shared returns the lock by which loads into the table take turns.
func (c *directoryCommand) shared() *lock.TableLock {
	uri := c.out.FS.URI(c.out.Path)
	return lock.OpenTable(c.ledger, c.report.Table,
		lock.Request{User: c.out.Site.User, Purpose: "load of " + uri, Output: uri, Lost: c.lost})
}

// loadOutput loads the files that the manifest lists.
func (c *directoryCommand) loadOutput(ctx context.Context, out *output.Output) (err error) {
	l := &Loader{Out: out, Cluster: c.cluster, Ledger: c.ledger, Table: c.shared()}
	turn, err := l.AwaitTurn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, turn.End()) }()
	if err := turn.Recover(ctx); err != nil {
		return err
	}
	d, err := hfiles.OpenDirectory(out.FS, out.Path) // again, since recovery may have brought files back
	if err != nil {
		return err
	}
	if err := checkComplete(out, d); err != nil {
		return err
	}
	c.report.Files = len(d.Files)
	report, err := turn.Load(ctx)
	c.report.Load.Apply(report)
	if err != nil {
		return err
	}
	return turn.Confirm(ctx)
}

// loadDirectory loads the files of a directory that has no manifest for the table.
func (c *directoryCommand) loadDirectory(ctx context.Context) (err error) {
	turn, err := awaitTurn(ctx, c.out, c.shared())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, turn.Release()) }()
	l := newDirectoryLoad(c.out, c.report.Table, c.cluster, c.ledger, turn)
	d, err := l.recovered(ctx)
	if err != nil {
		return err
	}
	c.report.Files = len(d.Files)
	report, err := l.load(ctx, d)
	c.report.Load.Apply(report)
	return err
}

// checkServed ends a command that finds no files to load: the table must still serve those that were loaded. m is nil
// if their load is recorded only in the ledger.
func (c *directoryCommand) checkServed(ctx context.Context, m *manifest.Manifest) (err error) {
	if m != nil {
		err = (&Loader{Out: output.New(c.out, m), Cluster: c.cluster, Ledger: c.ledger}).CheckServed(ctx)
	} else {
		err = newDirectoryLoad(c.out, c.report.Table, c.cluster, c.ledger, nil).checkServed(ctx)
	}
	if err == nil {
		c.report.Status = failure.StatusNothing
	}
	return err
}

// maxNamed bounds how many directories with HFiles checkBelow looks for and names.
const maxNamed = 5

// checkBelow refuses a directory without a manifest that is probably not the one the user meant: a family's folder, or
// the directory above several outputs. The load would not find HFiles that are deeper than the folders of families.
func (c *directoryCommand) checkBelow(d *hfiles.Directory) error {
	dir := c.out.FS.URI(c.out.Path)
	infos, err := storage.List(c.out.FS, c.out.Path)
	if err != nil {
		return err
	}
	var outputs []string
	for _, info := range infos {
		switch {
		case hfiles.Hidden(info.Name) || len(outputs) == maxNamed:
		case info.Dir:
			below, err := hfiles.OpenDirectory(c.out.FS, path.Join(c.out.Path, info.Name))
			if err != nil && !errors.Is(err, hfilewriter.ErrCorrupt) { // a folder below may hold other files than HFiles
				return err
			}
			if err == nil && len(below.Files) > 0 {
				outputs = append(outputs, info.Name)
			}
		case len(d.Files) == 0:
			return errcode.HFileMissing.Errorf("%s holds files and no folders of families, such as %s: give the directory "+
				"above it, %s, if this is a family's folder",
				dir, info.Name, c.out.FS.URI(path.Dir(c.out.Path)))
		}
	}
	switch {
	case outputs == nil:
		return nil
	case len(d.Files) > 0:
		return errcode.HFileMissing.Errorf("%s has HFiles in folders of families, and others in directories below it, "+
			"which would not be loaded: load each directory by itself (%s), and move its folder away first",
			dir, failure.FirstFew(outputs))
	default:
		return errcode.HFileMissing.Errorf("%s has no HFiles in folders of families, but the directories below it have: "+
			"name one of them (%s)", dir, failure.FirstFew(outputs))
	}
}

// checkOtherTables refuses a directory whose load into another table was interrupted: that table may have some of the
// files, and only the same command can tell which.
func (c *directoryCommand) checkOtherTables() error {
	dir := c.out.FS.URI(c.out.Path)
	all, err := c.ledger.OfDirectory(dir)
	if err != nil {
		return err
	}
	for _, e := range all {
		if e.Table != c.report.Table && e.State == ledger.Loading {
			return errcode.OutputUnfinished.Errorf("a load of %s into table %s was interrupted (%s), so that table may have "+
				"some of the files: finish it first (bulkload load %s %s), or, if it is no longer wanted, delete %s, its entry "+
				"in the ledger",
				dir, e.Table, e.Time.Format(time.RFC3339), dir, e.Table, c.ledger.EntryURI(e.Key()))
		}
	}
	return nil
}

// checkState refuses a directory whose job must run first.
//
// It returns the manifest in which this load is to be recorded. It returns nil if the directory's manifest is for
// another table, into which no load was interrupted. Then this load is recorded only in the ledger, under the
// directory's name, and the manifest on disk still describes the job's own load.
func (c *directoryCommand) checkState(m *manifest.Manifest) (*manifest.Manifest, error) {
	table := c.report.Table
	switch {
	case m == nil:
	case m.State == manifest.Writing:
		return nil, errcode.OutputUnfinished.Errorf("%s is not finished: run its job %s first",
			c.out.FS.URI(c.out.Path), jobOf(m))
	case m.Run.Table == table:
	case m.Interrupted():
		return nil, errcode.OutputUnfinished.Errorf("a load of %s into table %s was interrupted: run its job %s first",
			c.out.FS.URI(c.out.Path), m.Run.Table, jobOf(m))
	default:
		return nil, nil
	}
	return m, nil
}

// checkComplete checks that every recorded file that the table lacks is in the directory, and no file that would not be
// loaded because it is not recorded.
//
// VerifyBeforeLoad would stop at the first missing file, too, but this error lists them, names the job, and comes
// before any file is read.
func checkComplete(out *output.Output, d *hfiles.Directory) error {
	recorded := map[string]bool{}
	for _, f := range out.Manifest.Files() {
		recorded[f.Path] = true
	}
	for _, name := range out.Manifest.CutNames() {
		recorded[name] = true
	}
	present := map[string]bool{}
	var foreign []string
	for _, f := range d.Files {
		present[f.Path] = true
		if !recorded[f.Path] {
			foreign = append(foreign, f.Path)
		}
	}
	if foreign != nil {
		return errcode.OutputOther.Errorf("%s has HFiles that its job %s did not write, so they would not be loaded: %s; "+
			"move them to a directory of their own, and load that",
			out.FS.URI(out.Path), out.Manifest.Run.Job, failure.FirstFew(foreign))
	}
	missing := slices.DeleteFunc(out.Manifest.NotLoaded(), func(name string) bool { return present[name] })
	if len(missing) > 0 {
		return errcode.OutputChanged.Errorf(
			"%s lacks files that its job %s has written and that were not loaded: %s; nothing was loaded",
			out.FS.URI(out.Path), out.Manifest.Run.Job, failure.FirstFew(missing))
	}
	return nil
}
