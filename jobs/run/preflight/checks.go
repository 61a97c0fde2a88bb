package preflight

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"bulkload/hfilewriter"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/env/site"
	"bulkload/jobs/pipeline/targets"
	"bulkload/jobs/spec/jobfile"
	"bulkload/load"
)

// CheckedOutput is one output of a job. Check checks its table and directory.
type CheckedOutput struct {
	Job     *jobfile.Job
	Site    *site.Site
	Loads   bool                   // the run is to load the files
	Cluster *load.Cluster          // nil if the job needs none, or it can't be reached
	FS      storage.FS             // of the output directory; nil if it can't be reached
	Dir     string                 // the output directory
	Temps   func() (string, error) // folder for a file that is moved to staging as a test; nil: see Closed
	Closed  error                  // why nothing can be written to the output; nil if it can be
	// Need estimates how many bytes of files the run will write; 0: unknown.
	Need func(*targets.Target) int64
	// Others describes other runs into the same table that are under way.
	Others func() (runs []string, err error)
	// Written: the files exist already. Their regions may have split since, which the load takes care of.
	Written bool
	// Brief: a run begins with this check. It waits only briefly for the master's status and for quotas, but longer than a
	// check alone for regions that are moving.
	Brief bool
	Now   time.Time

	// The results, for the run that goes on.
	Table  *load.Table     // nil without a cluster, or if the table can't be loaded into
	Target *targets.Target // nil if it can't be made, or if the input decides (regions.from: plan)

	list     CheckResults
	families []string // of the job's cells
	staging  string   // HBase's folder for the staging folders of all loads; "" if it is not known
	status   chan statusAnswer
}

type statusAnswer struct {
	status *load.Status
	err    error
	at     time.Time
}

// The names of the checks, as reports have them.
const (
	checkTable       = "table"
	checkFamilies    = targets.CheckFamilies
	checkBoundaries  = targets.CheckBoundaries
	checkCodecs      = "codecs"
	checkRegions     = "regions"
	checkFiles       = "files per region"
	checkTTL         = "ttl"
	checkReplication = "replication"
	checkReplicas    = "read replicas"
	checkRight       = "right to load"
	checkRead        = "right to read"
	checkPlace       = "file system"
	checkZone        = "encryption zone"
	checkStaging     = "staging"
	checkTracker     = "file tracker"
	checkQuota       = "quota"
	checkPassing     = "staging quota"
	checkClock       = "clock"
	checkVersion     = "version"
	checkOthers      = "other runs"
)

// Check makes all checks.
func (o *CheckedOutput) Check(ctx context.Context) CheckResults {
	o.askStatus(ctx)
	o.checkTable(ctx)
	o.checkTarget()
	o.checkCodecs()
	o.checkTimes()
	o.checkReplication()
	o.checkReplicas()
	o.checkReading(ctx)
	o.checkRights(ctx)
	o.checkZone()
	o.checkQuota(ctx)
	o.checkStatus(ctx)
	o.checkOthers()
	return o.list
}

func (o *CheckedOutput) add(name string, state State, fix, format string, args ...any) {
	o.list = append(o.list, CheckResult{Name: name, State: state, Detail: fmt.Sprintf(format, args...), Fix: fix})
}

func (o *CheckedOutput) ok(name, format string, args ...any) { o.add(name, OK, "", format, args...) }

func (o *CheckedOutput) unknown(name, format string, args ...any) {
	o.add(name, Unknown, "", format, args...)
}

// result adds a finding: a failure, unless err is nil.
func (o *CheckedOutput) result(name string, err error, fix, format string, args ...any) {
	switch {
	case errors.Is(err, load.ErrUnchecked):
		o.unknown(name, "not checked: a check that must come first has failed")
	case err != nil:
		o.list = append(o.list, Fail(name, err, fix))
	default:
		o.ok(name, format, args...)
	}
}

// connects reports whether the job needs the table.
func (o *CheckedOutput) connects() bool { return o.Job.Connects(o.Loads) }

// checkTable looks up the table and its regions.
func (o *CheckedOutput) checkTable(ctx context.Context) {
	if !o.connects() {
		return
	}
	if o.Cluster == nil {
		for _, name := range []string{checkTable, checkRegions} {
			o.unknown(name, "HBase is not reached")
		}
		return
	}
	table, err := o.Cluster.Describe(ctx, o.Job.Table)
	if err != nil {
		err = site.MissingTable(err)
	}
	o.result(checkTable, failure.Early(err), "", "%s exists and is enabled", o.Job.Table)
	if o.Table = table; table == nil {
		o.unknown(checkRegions, "the table can't be looked up")
		return
	}
	if err != nil {
		o.unknown(checkRegions, "the table is not enabled")
		return
	}
	err = o.lookUpRegions(ctx, table)
	o.result(checkRegions, failure.Early(err),
		"hbase hbck -details in the shell of HBase's servers, and the HBCK2 tool, show and repair it",
		"%s, open and without holes or overlaps", jobfile.Plural(len(table.Regions), "region"))
}

// How long a check alone, and a run, wait for regions that are moving.
const (
	checkPatience = 5 * time.Second
	runPatience   = 50 * time.Second
)

func (o *CheckedOutput) lookUpRegions(ctx context.Context, table *load.Table) error {
	if o.Brief {
		return o.Cluster.LookUpRegions(ctx, table, runPatience)
	}
	return o.Cluster.LookUpRegions(ctx, table, checkPatience)
}

// checkTarget makes the target of the files.
func (o *CheckedOutput) checkTarget() {
	if o.Job.Regions.From == "plan" {
		o.unknown(checkBoundaries, "the input decides them (regions.from: plan)")
		return
	}
	if o.Written {
		o.nameFamilies()
		return
	}
	if o.connects() && o.Table == nil {
		o.unknown(checkFamilies, "the table can't be looked up")
		o.unknown(checkBoundaries, "the table can't be looked up")
		return
	}
	t, problems := targets.Examine(o.Job, o.Site, o.Table)
	found := map[string]bool{}
	for _, p := range problems {
		found[p.Check] = true
		o.list = append(o.list, Fail(p.Check, p.Err, o.fix(p.Check)))
	}
	if t.Layout != nil {
		for _, f := range t.Layout.Families {
			o.families = append(o.families, f.Name)
		}
	}
	if !found[checkFamilies] {
		o.ok(checkFamilies, "%s: %s", strings.Join(o.families, ", "), describeSettings(t))
	}
	var further []string
	if o.Table != nil {
		further = t.Further(o.Table)
	}
	switch {
	case found[checkBoundaries]:
	case o.Table != nil && o.Table.Regions == nil:
		o.unknown(checkBoundaries, "the regions are not known")
	case len(further) > 0:
		o.add(checkBoundaries, Warning, "with regions: {from: table} they are written for the table's regions",
			"table %s has region boundaries that the job file lacks (%s): the load cuts the files there",
			o.Job.Table, failure.FirstFew(further))
	case o.Job.RowKey.Salts() != nil:
		o.ok(checkBoundaries, "each of %d salts begins a region", len(o.Job.RowKey.Salts()))
	default:
		o.ok(checkBoundaries, "%s; the row key has no salt", jobfile.Plural(len(t.Splits)+1, "region"))
	}
	if len(problems) == 0 && t.Regions != nil {
		o.Target = t
	}
}

// nameFamilies sets the families of files that are already written.
func (o *CheckedOutput) nameFamilies() {
	for _, c := range o.Job.CellColumns() {
		if !slices.Contains(o.families, c.Family) {
			o.families = append(o.families, c.Family)
		}
	}
}

// fix says what to do about a problem of the target.
func (o *CheckedOutput) fix(check string) string {
	switch {
	case check == checkFamilies:
		return "add the family or alter it in the HBase shell, or correct the job file"
	case check == targets.CheckSettings:
		return "correct the property in the site files, or set it with -D"
	case o.Job.Regions.From == "table":
		return "split the table's regions at the salts, or create the table with bulkload plan JOB --create"
	}
	return "correct regions in the job file; a job that loads can take the table's: regions: {from: table}"
}

// describeSettings describes the settings of the families, which are mostly the same.
func describeSettings(t *targets.Target) string {
	var all []string
	for _, f := range t.Families {
		s := fmt.Sprintf("%v, %v, bloom %v", f.Settings.Compression, f.Settings.Encoding, f.Settings.Bloom)
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return strings.Join(all, "; ")
}

// checkCodecs finds out whether the servers can read what is written. A server opens no region of a table whose codecs
// it lacks, so open regions prove that it has them. For two codecs that is not enough, because their framing depends on
// the class that the server uses.
func (o *CheckedOutput) checkCodecs() {
	if o.Table == nil || o.Target == nil || o.Table.Regions == nil {
		if o.connects() && !o.Written {
			o.unknown(checkCodecs, "the open regions would show it")
		}
		return
	}
	for _, f := range o.Target.Families {
		if c := f.Settings.Compression; c == hfilewriter.CompressZSTD || c == hfilewriter.CompressLZ4 {
			o.unknown(checkCodecs, "the servers support %v, because they have opened the regions, but only their own site "+
				"files name the codec's class (hbase.io.compress.*.codec); bulkload writes for the one in HBase's own module",
				c)
			return
		}
	}
	o.ok(checkCodecs, "the servers have opened regions with them")
}

// checkReading tries to read each family of the job. HBase refuses a read of several families only if the user may read
// none of them. Otherwise it hides the cells of the others, so a row that exists could seem to be absent.
func (o *CheckedOutput) checkReading(ctx context.Context) {
	if !o.Loads && o.Job.Live == jobfile.LiveUnasked {
		return
	}
	if o.Table == nil || o.Table.Regions == nil || o.families == nil {
		o.unknown(checkRead, "it can be tried only with an enabled table that has the right families")
		return
	}
	err := o.Cluster.CheckRead(ctx, o.Table, o.existing())
	if errors.Is(err, load.ErrUnchecked) {
		o.unknown(checkRead, "%v", err)
		return
	}
	o.result(checkRead, failure.Early(err), "grant the user the right R on the table",
		"user %s may read the families, by which loads and existing rows are checked", o.Site.User)
}

// checkRights tries the load's first steps: the right to load, and a move into HBase's staging folder.
func (o *CheckedOutput) checkRights(ctx context.Context) {
	if !o.Loads {
		return
	}
	if o.Table == nil || o.Table.Regions == nil || o.FS == nil || o.families == nil {
		for _, name := range []string{checkRight, checkPlace, checkStaging, checkTracker} {
			o.unknown(name, "it can be tried only with an enabled table that has the right families, and with an output")
		}
		return
	}
	probe, err := o.probe()
	s := o.Cluster.CheckStaging(ctx, o.FS, o.Table, o.families[0], o.Dir, probe)
	o.result(checkRight, failure.Early(s.Right), "grant the user the right C on the table",
		"HBase accepts loads of user %s", o.Site.User)
	o.result(checkPlace, s.Place, "write the output to the file system of hbase.rootdir",
		"the output is on HBase's file system")
	o.result(checkTracker, s.Tracker, "run as HBase's own user, or alter the table's tracker to DEFAULT",
		"the table takes files of any user")
	enter, move := s.Enter, s.Move
	o.staging = s.Above
	switch {
	case enter != nil:
		o.result(checkStaging, enter,
			"let the user pass through the folder staging below hbase.rootdir (HBase creates it with mode 711)", "")
	case err != nil:
		o.result(checkStaging, err, "", "")
	case s.Plain && probe == "":
		o.unknown(checkStaging, "whether HBase's user may take files from the output is not tried %s", o.whyClosed())
	case s.Plain:
		o.result(checkStaging, move, "let HBase's user take files from the output: docs/security.md says how",
			"HBase 1 without SecureBulkLoadEndpoint: its user may take files from the output")
	case probe == "":
		o.unknown(checkStaging, "the user may enter %s; a move into it is not tried %s", s.Folder, o.whyClosed())
	default:
		o.result(checkStaging, move,
			"a load moves files from the output to staging below hbase.rootdir: "+
				"rights, quotas and zones of both must allow that",
			"an empty file was moved from the output to %s", parent(s.Folder))
	}
	if s.Encrypted {
		o.list = append(o.list, Fail(checkZone, errcode.LoadStaging.Errorf("%w: HBase's staging folder %s is in an "+
			"encryption zone: files can't be moved into it from outside, and bulkload can't write an output in the zone",
			load.ErrRefused, s.Folder), "load into an HBase whose hbase.rootdir is outside of all zones"))
	}
}

// whyClosed returns why no file can be made in the output, as the end of a sentence.
func (o *CheckedOutput) whyClosed() string {
	if failure.CodeOf(o.Closed) == errcode.Locked {
		return "while another run has the output's lock"
	}
	return "because the output can't be written: see its own check"
}

// existing returns the job's families that the table has.
func (o *CheckedOutput) existing() []string {
	return slices.DeleteFunc(slices.Clone(o.families), func(name string) bool {
		return !slices.ContainsFunc(o.Table.Families, func(f load.Family) bool { return f.Name == name })
	})
}

// probe names the file that is moved to staging; "" if none is to be written.
func (o *CheckedOutput) probe() (string, error) {
	if o.Temps == nil {
		return "", nil
	}
	folder, err := o.Temps()
	return path.Join(folder, "staging-probe"), err
}

// checkZone looks for an encryption zone and for erasure coding at the output's directory, or at the nearest one above
// it that exists.
func (o *CheckedOutput) checkZone() {
	if o.FS == nil || !storage.IsHDFS(o.FS.URI(o.Dir)) {
		return
	}
	_, info, err := nearest(o.FS, o.Dir)
	const fix = "choose an output outside of it"
	switch {
	case err != nil:
		o.unknown(checkZone, "%v", err)
	case info.Encrypted:
		o.list = append(o.list, Fail(checkZone, errcode.FileSystem.Errorf(
			"the output %s is in an encryption zone, which bulkload does not support", o.FS.URI(o.Dir)), fix))
	case info.ErasureCoded:
		o.list = append(o.list, Fail(checkZone,
			errcode.FileSystem.Errorf("the output %s is erasure-coded, which bulkload does not support", o.FS.URI(o.Dir)), fix))
	default:
		o.ok(checkZone, "the output is in no zone, and not erasure-coded")
	}
}

// nearest returns name if it exists, otherwise the nearest directory above it that does.
func nearest(fsys storage.FS, name string) (string, storage.Info, error) {
	for {
		info, err := fsys.Stat(name)
		if err == nil || !errors.Is(err, fs.ErrNotExist) || path.Dir(name) == name {
			return name, info, err
		}
		name = path.Dir(name)
	}
}

// checkOthers lists other runs into the table.
func (o *CheckedOutput) checkOthers() {
	if !o.Loads || o.Others == nil {
		return
	}
	runs, err := o.Others()
	switch {
	case err != nil:
		o.unknown(checkOthers, "%v", err)
	case len(runs) > 0:
		o.add(checkOthers, Warning, "loads into one table take turns, unless --on-busy says otherwise", "%s: %s",
			jobfile.Plural(len(runs), "other run")+" into this table", strings.Join(runs, "; "))
	default:
		o.ok(checkOthers, "the ledger knows of none into this table")
	}
}
