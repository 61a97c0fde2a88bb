package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"bulkload/internal/bytesize"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/jobs/pipeline/targets"
	"bulkload/jobs/spec/jobfile"
	"bulkload/load"
)

const (
	statusPatience = 2 * time.Second        // how long a run waits for the master's report on all regions
	quotaPatience  = 200 * time.Millisecond // how long a run waits for a directory's quota, which may mean counting
	longPatience   = 30 * time.Second       // the same for a check alone
	maxSkew        = 30 * time.Second       // of clocks; the master refuses servers beyond it (hbase.master.maxclockskew)
)

// testedVersions are the versions of HBase that docs/versions.md has.
var testedVersions = []string{"1.2.", "1.4.", "1.7.", "2.0.", "2.1.", "2.2.", "2.3.", "2.4.", "2.5.", "2.6."}

func (o *CheckedOutput) patience(brief time.Duration) time.Duration {
	if o.Brief {
		return brief
	}
	return longPatience
}

// askStatus asks for the cluster's status while other checks are made, because the answer grows with the cluster.
func (o *CheckedOutput) askStatus(ctx context.Context) {
	if o.Cluster == nil {
		return
	}
	o.status = make(chan statusAnswer, 1)
	ctx, cancel := context.WithTimeout(ctx, o.patience(statusPatience))
	go func() {
		defer cancel()
		s, err := o.Cluster.Status(ctx)
		o.status <- statusAnswer{s, err, time.Now()}
	}()
}

// checkStatus makes the checks that need the cluster's status.
func (o *CheckedOutput) checkStatus(ctx context.Context) {
	if !o.connects() {
		return
	}
	answer := statusAnswer{err: fmt.Errorf("HBase is not reached")}
	if o.status != nil {
		select {
		case answer = <-o.status:
		case <-ctx.Done():
			answer.err = ctx.Err()
		}
	}
	if answer.err != nil {
		for _, name := range []string{checkFiles, checkClock, checkVersion} {
			o.unknown(name, "%v", answer.err)
		}
		return
	}
	o.checkFiles(&answer)
	o.checkClocks(&answer)
	version := answer.status.Version
	if err := o.checkKnown(version); err != nil {
		o.list = append(o.list, Fail(checkVersion, err, "take another setting, in the table or in hfile"))
		return
	}
	if slices.ContainsFunc(testedVersions, func(tested string) bool { return strings.HasPrefix(version, tested) }) {
		o.ok(checkVersion, "HBase %s", version)
	} else {
		o.unknown(checkVersion, "HBase %s: not among the versions that were tried (docs/versions.md)", version)
	}
}

// checkKnown refuses settings that the cluster's version of HBase does not know.
func (o *CheckedOutput) checkKnown(version string) error {
	if o.Target == nil {
		return nil
	}
	for _, f := range o.Target.Families {
		if err := f.Settings.ReadableBy(version); err != nil {
			return errcode.TableSettings.Errorf("%w: family %s: %w", load.ErrRefused, f.Name, err)
		}
	}
	return nil
}

// checkFiles compares the store files of a region, now and after the load, with the number from which HBase delays
// writes.
func (o *CheckedOutput) checkFiles(answer *statusAnswer) {
	if o.Table == nil || o.Table.Regions == nil {
		o.unknown(checkFiles, "the table's regions are not known")
		return
	}
	var most, known int
	for i := range o.Table.Regions {
		if r, ok := answer.status.Regions[string(o.Table.Regions[i].Name)]; ok {
			known++
			most = max(most, r.Files)
		}
	}
	if known < len(o.Table.Regions) {
		o.unknown(checkFiles, "%d of %d regions have not been reported to the master yet",
			len(o.Table.Regions)-known, len(o.Table.Regions))
		return
	}
	// Servers report the files of all families together.
	blocking := int(o.Site.Number("hbase.hstore.blockingStoreFiles", 16))
	families := max(len(o.Table.Families), 1)
	after := most + len(o.families)*o.filesOfLoad()
	detail := fmt.Sprintf("at most %d in a region now, about %d after this load; HBase delays writes from %d of a family",
		most, after, blocking)
	if after > blocking*families {
		o.add(checkFiles, Warning, fmt.Sprintf("major_compact '%s' in the HBase shell, or fewer loads with more rows each",
			o.Job.Table), "%s", detail)
		return
	}
	o.ok(checkFiles, "%s", detail)
}

// filesOfLoad estimates how many files of a family a region gets.
func (o *CheckedOutput) filesOfLoad() int {
	if o.Target == nil || o.Need == nil {
		return 1
	}
	return 1 + int(o.Need(o.Target)/max(o.Target.MaxSize, 1)/int64(o.Target.Regions.Len()))
}

// checkClocks compares this machine's clock with those of the region servers, which decide what has expired. A server
// reports every three seconds, so smaller differences are not seen.
func (o *CheckedOutput) checkClocks(answer *statusAnswer) {
	var worst time.Duration
	var server string
	for addr, reported := range answer.status.Clocks {
		if skew := reported.Sub(answer.at); skew.Abs() > worst.Abs() {
			worst, server = skew, addr
		}
	}
	switch {
	case len(answer.status.Clocks) == 0:
		o.unknown(checkClock, "no region server reports its time")
	case worst > maxSkew:
		o.add(checkClock, Warning, "compare both clocks with NTP", "the clock of %s is %v ahead of this machine's",
			server, worst.Round(time.Second))
	case worst < -maxSkew:
		o.add(checkClock, Warning, "compare both clocks with NTP, and check that the server is alive",
			"the clock of %s is %v behind this machine's, or it has not reported for that long",
			server, (-worst).Round(time.Second))
	default:
		o.ok(checkClock, "clocks differ from this machine's by less than %v, on %s", maxSkew,
			jobfile.Plural(len(answer.status.Clocks), "region server"))
	}
}

// checkQuota compares the quotas of the output, and then of HBase's staging folder, with what the run needs. The
// NameNode may have to count files for each answer, and both checks share one time limit. The output's quota is the one
// that ends runs, so it is checked first.
func (o *CheckedOutput) checkQuota(ctx context.Context) {
	if o.FS == nil || !storage.IsHDFS(o.FS.URI(o.Dir)) {
		return
	}
	quoter, ok := storage.QuoterOf(o.FS)
	if !ok {
		o.unknown(checkQuota, "the file system does not say")
		return
	}
	limited, cancel := context.WithTimeout(ctx, o.patience(quotaPatience))
	defer cancel()
	o.checkOutputQuota(limited, quoter)
	if o.staging != "" {
		o.checkStagingQuota(limited, quoter)
	}
}

// checkOutputQuota compares the quotas of the output's directory, and of those above it, with what the run will write.
// It leaves out the root and the directories in it, because they are an administrator's and HDFS may need long to count
// them.
func (o *CheckedOutput) checkOutputQuota(ctx context.Context, quoter storage.Quoter) {
	dir, _, err := nearest(o.FS, o.Dir)
	if err != nil {
		o.unknown(checkQuota, "%v", err)
		return
	}
	var all []string
	for d := dir; strings.Count(d, "/") > 1; d = parent(d) {
		all = append(all, d)
	}
	o.compareQuotas(ctx, quoter, all)
}

// checkStagingQuota compares the quotas of HBase's staging folder with what a load moves there. Files only pass through
// it: those of a request are moved in before it and out after it. So a quota on bytes is never certainly too small, and
// only causes a warning.
func (o *CheckedOutput) checkStagingQuota(ctx context.Context, quoter storage.Quoter) {
	const fix = "have the quota raised (hdfs dfsadmin -setQuota, -setSpaceQuota)"
	q, err := askQuota(ctx, quoter, o.staging)
	if err != nil {
		o.unknown(checkPassing, "%v", err)
		return
	}
	uri := o.FS.URI(o.staging)
	names := stagingNames * int64(max(len(o.families), 1))
	_, bytes := o.needs()
	switch {
	case lacksNames(q, names):
		o.list = append(o.list, Fail(checkPassing,
			errcode.HDFSQuota.Errorf("%s may hold %d files and directories and has %d: a load needs at least %d more",
				uri, q.Names, q.NamesUsed, names), fix))
	case o.lacksSpace(q, bytes):
		o.add(checkPassing, Warning, fix+", if a load fails for it",
			"%s may hold %s and has %s. The load's files, about %s with %d replicas, pass through it: it must hold those of "+
				"all requests under way",
			uri, bytesize.Format(q.Bytes), bytesize.Format(q.BytesUsed),
			bytesize.Format(bytes*int64(q.Replication)), q.Replication)
	case q.Names == storage.NoQuota && q.Bytes == storage.NoQuota:
		o.ok(checkPassing, "no quota on %s", uri)
	default:
		o.ok(checkPassing, "a quota on %s, with space left", uri)
	}
}

// compareQuotas compares the quotas of the output's directories with what the run needs.
func (o *CheckedOutput) compareQuotas(ctx context.Context, quoter storage.Quoter, dirs []string) {
	const (
		what = "the output's directories, below the top level"
		fix  = "delete old outputs (bulkload clean), choose another output, or have the quota raised (hdfs dfsadmin " +
			"-setQuota, -setSpaceQuota)"
	)
	limits := 0
	for _, dir := range dirs {
		q, err := askQuota(ctx, quoter, dir)
		if err != nil {
			o.unknown(checkQuota, "%v", err)
			return
		}
		if q.Names != storage.NoQuota || q.Bytes != storage.NoQuota {
			limits++
		}
		if err := o.compareQuota(o.FS.URI(dir), q); err != nil {
			o.list = append(o.list, Fail(checkQuota, err, fix))
			return
		}
	}
	if limits == 0 {
		o.ok(checkQuota, "no quota on %s", what)
		return
	}
	o.ok(checkQuota, "%s on %s, with space left", jobfile.Plural(limits, "quota"), what)
}

func parent(dir string) string { return dir[:strings.LastIndexByte(dir, '/')] }

// askQuota asks for the quota of a directory. It gives up when the context ends, but the NameNode goes on counting.
func askQuota(ctx context.Context, quoter storage.Quoter, dir string) (storage.Quota, error) {
	type answer struct {
		q   storage.Quota
		err error
	}
	answers := make(chan answer, 1)
	go func() {
		q, err := quoter.Quota(ctx, dir)
		answers <- answer{q, err}
	}()
	select {
	case a := <-answers:
		return a.q, a.err
	case <-ctx.Done():
		return storage.Quota{}, fmt.Errorf("the NameNode was still counting files: %w", ctx.Err())
	}
}

// compareQuota returns an error if a directory may not hold what the run writes.
func (o *CheckedOutput) compareQuota(uri string, q storage.Quota) error {
	names, bytes := o.needs()
	if lacksNames(q, names) {
		return errcode.HDFSQuota.Errorf("%s may hold %d files and directories and has %d: the run needs at least %d more",
			uri, q.Names, q.NamesUsed, names)
	}
	if o.lacksSpace(q, bytes) {
		return errcode.HDFSQuota.Errorf("%s may hold %s and has %s: the run needs about %s more, for %d replicas "+
			"(input.check_space: false skips this check)",
			uri, bytesize.Format(q.Bytes), bytesize.Format(q.BytesUsed),
			bytesize.Format(bytes*int64(q.Replication)), q.Replication)
	}
	return nil
}

// lacksNames reports whether a quota has room for fewer than so many more names.
func lacksNames(q storage.Quota, names int64) bool {
	return q.Names != storage.NoQuota && q.Names-q.NamesUsed < names
}

// lacksSpace reports whether a quota has too little space left for all replicas of so many bytes, unless the job skips
// the check.
func (o *CheckedOutput) lacksSpace(q storage.Quota, bytes int64) bool {
	return q.Bytes != storage.NoQuota && q.Bytes-q.BytesUsed < bytes*int64(q.Replication) && !o.Job.Input.SpaceUnchecked
}

// stagingNames are the names that a load needs in staging for each family: its folder, and a file. The load's own
// folder exists by then.
const stagingNames = 2

// ownNames are the names that a run needs in addition to its files: manifest, _SUCCESS, temporary folders.
const ownNames = 6

// needs returns how many names and bytes the run needs at least. Regions may have no rows, so one file of each family
// counts.
func (o *CheckedOutput) needs() (names, bytes int64) {
	var t *targets.Target
	if t = o.Target; t == nil || o.Need == nil {
		return ownNames, 0
	}
	return ownNames + int64(len(t.Families)), o.Need(t)
}
