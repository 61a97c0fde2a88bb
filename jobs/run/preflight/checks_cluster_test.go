package preflight_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/printable"
	"bulkload/internal/storage"
	"bulkload/internal/test/livetest"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/testcluster"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/lock"
	"bulkload/jobs/env/site"
	"bulkload/jobs/run"
	"bulkload/jobs/run/preflight"
	"bulkload/jobs/spec/jobfile"
)

// TestChecksOfATable: each finding that a real table and a real HDFS can show, and nothing is left of the checks.
func TestChecksOfATable(t *testing.T) {
	l := livetest.New(t)
	l.Night(t, livetest.Night20, 100, 91)

	all, err := l.Findings(t, livetest.Night20, l.Options())
	if failure.CodeOf(err) != errcode.TableMissing {
		t.Errorf("without a table: %v", err)
	}
	livetest.WantFinding(t, all, "table", preflight.Failed, "plan JOB --create", "BL-TABLE-MISSING")
	for _, name := range []string{"regions", "families", "boundaries", "ttl", "replication", "right to load", "staging", "files per region"} {
		livetest.WantFinding(t, all, name, preflight.Unknown)
	}
	livetest.WantFinding(t, all, "clock", preflight.OK)
	livetest.WantFinding(t, all, "version", preflight.OK, "2.6")

	l.Table10(t)
	for range 50 { // a region server reports its new regions to the master twice a second
		if all, err = l.Findings(t, livetest.Night20, l.Options()); all["files per region"].State != preflight.Unknown {
			break
		}
		time.Sleep(200 * time.Millisecond)
	}
	for _, f := range all {
		if f.State != preflight.OK {
			t.Errorf("%+v", f)
		}
	}
	if err != nil || len(all) < 20 {
		t.Errorf("%d checks: %v", len(all), err)
	}
	fsys, name := l.HDFS(t, l.Out)
	if _, err := fsys.Stat(name + "/" + livetest.Night20); err == nil {
		t.Error("the check has left the output's directory")
	}
	o := l.Options()
	o.Properties, o.NoLoad = map[string]string{"hbase.security.access.early_out": "false"}, true
	if all, _ = l.Findings(t, livetest.Night20, o); all["right to read"].State != "" {
		t.Errorf("files are only written, and nothing is looked up: %+v", all["right to read"])
	}
	l.Rewrite(t, "load: true", "load: true\nduplicates: {live: error}")
	all, _ = l.Findings(t, livetest.Night20, o)
	l.Rewrite(t, "\nduplicates: {live: error}", "")
	livetest.WantFinding(t, all, "right to read", preflight.OK) // there is no AccessController, which would hide cells
	t.Run("input", func(t *testing.T) {
		if err := os.Rename(filepath.Join(l.Folder, "in"), filepath.Join(l.Folder, "away")); err != nil {
			t.Fatal(err)
		}
		all, err := l.Findings(t, livetest.Night20, l.Options())
		if failure.KindOf(err) != failure.NotYet {
			t.Errorf("without an input: %v", err)
		}
		livetest.WantFinding(t, all, "input", preflight.Failed, "BL-INPUT-MISSING")
		livetest.WantFinding(t, all, "staging", preflight.OK)
		if err := os.Rename(filepath.Join(l.Folder, "away"), filepath.Join(l.Folder, "in")); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("altered", func(t *testing.T) { checkAltered(t, l) })
	t.Run("regions", func(t *testing.T) { checkRegions(t, l) })
	t.Run("directory", func(t *testing.T) { checkDirectory(t, l) })
}

// checkAltered alters the family.
func checkAltered(t *testing.T, l *livetest.Live) {
	l.Ask(t, "alter", l.Table, "f", "TTL=3600", "REPLICATION_SCOPE=1")
	all, err := l.Findings(t, livetest.Night20, l.Options())
	if failure.CodeOf(err) != errcode.TableTTL {
		t.Errorf("cells past their TTL: %v", err)
	}
	livetest.WantFinding(t, all, "ttl", preflight.Failed, "1h0m0s", "longer TTL")
	livetest.WantFinding(t, all, "replication", preflight.Warning, "hbase.replication.bulkload.enabled")
	o := l.Options()
	o.Properties = map[string]string{"hbase.replication.bulkload.enabled": "true"}
	all, _ = l.Findings(t, livetest.Night20, o)
	livetest.WantFinding(t, all, "replication", preflight.Unknown, "servers' own")

	l.Ask(t, "alter", l.Table, "f", "MIN_VERSIONS=1")
	all, err = l.Findings(t, livetest.Night20, l.Options())
	if err != nil {
		t.Errorf("expired cells are kept: %v", err)
	}
	livetest.WantFinding(t, all, "ttl", preflight.OK)
	l.Ask(t, "alter", l.Table, "f", "MIN_VERSIONS=0")

	// A run reports all failures before it reads anything: the record in the input would be rejected.
	if err := os.WriteFile(filepath.Join(l.Folder, "in", livetest.Night20, "part-m-00000"), []byte("no record\x10"), 0o600); err != nil {
		t.Fatal(err)
	}
	l.Rewrite(t, "regions: {from: table}", "regions: {from: table}\nhfile: {compression: gz, bloom: none}")
	summary, err := run.Job(context.Background(), nil, l.Job(t, livetest.Night20), l.Options())
	if several := (*preflight.FailedError)(nil); failure.KindOf(err) != failure.Refused || !errors.As(err, &several) ||
		!testwords.Names(err, "ttl: ", "families: ", "hfile.compression", "GZ", "hfile.bloom", "NONE") {
		t.Errorf("a run: %v", err)
	}
	if failed := summary.Checks.Failed(); len(failed) != 2 {
		t.Errorf("these checks failed: %v", failed)
	}
	if len(summary.Checks) < 10 {
		t.Errorf("the summary has %d checks", len(summary.Checks))
	}
	l.Rewrite(t, "\nhfile: {compression: gz, bloom: none}", "")
	l.Ask(t, "alter", l.Table, "f", "TTL=2147483647", "REPLICATION_SCOPE=0")

	l.Ask(t, "disable", l.Table)
	l.Rewrite(t, "family: f\n", "family: g\n")
	all, err = l.Findings(t, livetest.Night20, l.Options())
	l.Rewrite(t, "family: g\n", "family: f\n")
	l.Ask(t, "enable", l.Table)
	if failure.KindOf(err) != failure.Refused {
		t.Errorf("disabled: %v", err)
	}
	livetest.WantFinding(t, all, "table", preflight.Failed, "enable '"+l.Table+"'")
	livetest.WantFinding(t, all, "families", preflight.Failed, "has no family g; it has f")
	livetest.WantFinding(t, all, "regions", preflight.Unknown)
}

// checkRegions changes the regions.
func checkRegions(t *testing.T, l *livetest.Live) {
	l.Rewrite(t, "salt(check_id, 10)", "salt(check_id, 20)")
	all, _ := l.Findings(t, livetest.Night20, l.Options())
	l.Rewrite(t, "salt(check_id, 20)", "salt(check_id, 10)")
	livetest.WantFinding(t, all, "boundaries", preflight.Failed, "BL-REGIONS")

	l.Night(t, livetest.Night20, 100, 92)
	runtest.Must(t, l.Job(t, livetest.Night20), l.Options())
	o := l.Options()
	o.Properties = map[string]string{"hbase.hstore.blockingStoreFiles": "1"}
	deadline := time.Now().Add(time.Minute) // servers report every three seconds
	for all, _ = l.Findings(t, livetest.Night20, o); all["files per region"].State != preflight.Warning && time.Now().Before(deadline); all, _ = l.Findings(t, livetest.Night20, o) {
		time.Sleep(time.Second)
	}
	livetest.WantFinding(t, all, "files per region", preflight.Warning, "at most 1 in a region now, about 2 after", "major_compact")

	if testing.Short() {
		return // a hole is waited for
	}
	hole := l.UniqueTable(t)
	l.Ask(t, "create", hole, "f", "3,6", "COMPRESSION=SNAPPY", "DATA_BLOCK_ENCODING=FAST_DIFF", "BLOOMFILTER=ROW")
	s, err := site.Open(l.Options(), jobfile.HBase{}, true)
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Connect(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	table, err := c.Table(context.Background(), hole)
	if err != nil {
		t.Fatal(err)
	}
	l.Ask(t, "delete", "hbase:meta", printable.Bytes(table.Regions[1].Name))
	l.Rewrite(t, "table: "+l.Table, "table: "+hole)
	o = l.Options()
	o.Force = true // the output has a run of the other table
	all, err = l.Findings(t, livetest.Night20, o)
	l.Rewrite(t, "table: "+hole, "table: "+l.Table)
	if failure.KindOf(err) != failure.Later {
		t.Errorf("with a hole: %v", err)
	}
	livetest.WantFinding(t, all, "regions", preflight.Failed, "a hole between", `"3"`, `"6"`, "HBCK2", "BL-HBASE-REGION")
	livetest.WantFinding(t, all, "families", preflight.OK)
}

// checkDirectory changes the output's directory: quotas, erasure coding, a lock.
func checkDirectory(t *testing.T, l *livetest.Live) {
	fsys, name := l.HDFS(t, l.Out)
	if err := fsys.MkdirAll(name, 0); err != nil {
		t.Fatal(err)
	}
	l.Rewrite(t, "/${date}\nload", "/quota/${date}\nload")
	if err := fsys.MkdirAll(name+"/quota", 0); err != nil {
		t.Fatal(err)
	}
	l.Ask(t, "quota", name+"/quota", "8", "-")
	all, err := l.Findings(t, livetest.Night20, l.Options())
	if failure.CodeOf(err) != errcode.HDFSQuota {
		t.Errorf("a quota of names: %v", err)
	}
	livetest.WantFinding(t, all, "quota", preflight.Failed, "may hold 8 files", "-setQuota")
	l.Ask(t, "quota", name+"/quota", "-", "2048")
	all, err = l.Findings(t, livetest.Night20, l.Options())
	if failure.CodeOf(err) != errcode.HDFSQuota {
		t.Errorf("a quota of space: %v", err)
	}
	livetest.WantFinding(t, all, "quota", preflight.Failed, "may hold 2.0 KiB", "for 1 replicas", "-setSpaceQuota")
	l.Rewrite(t, "/quota/${date}\nload", "/zone/${date}\nload")
	if err := fsys.MkdirAll(name+"/zone", 0); err != nil {
		t.Fatal(err)
	}
	l.Ask(t, "zone", name+"/zone", testcluster.ZoneKey)
	all, err = l.Findings(t, livetest.Night20, l.Options())
	if failure.KindOf(err) != failure.Refused {
		t.Errorf("an encryption zone: %v", err)
	}
	livetest.WantFinding(t, all, "encryption zone", preflight.Failed, "/zone/"+livetest.Night20+" is in an encryption zone", "outside of it", "BL-FILESYSTEM")
	livetest.WantFinding(t, all, "staging", preflight.Unknown, "because the output can't be written")
	l.Rewrite(t, "/zone/${date}\nload", "/${date}\nload")

	held, err := lock.Acquire(t.Context(), fsys, lockedDir(t, fsys, name+"/"+livetest.Night20), lock.Request{User: "tina", Lost: func(error) {}})
	if err != nil {
		t.Fatal(err)
	}
	all, err = l.Findings(t, livetest.Night20, l.Options())
	if failure.KindOf(err) != failure.Later {
		t.Errorf("a locked output: %v", err)
	}
	livetest.WantFinding(t, all, "output", preflight.Failed, "BL-LOCKED", "user tina")
	livetest.WantFinding(t, all, "staging", preflight.Unknown, "not tried")
	livetest.WantFinding(t, all, "right to load", preflight.OK)
	if err := held.Release(); err != nil {
		t.Error(err)
	}

	// The move into staging fails as a real rename does where HDFS forbids it.
	o := l.Options()
	o.Storage = func(f storage.FS) storage.FS { return noStaging{f} }
	all, _ = l.Findings(t, livetest.Night20, o)
	livetest.WantFinding(t, all, "staging", preflight.Failed, "BL-LOAD-STAGING", "can't be moved")
	if testing.Short() {
		return
	}
	l.Ask(t, "erasure", name, "RS-3-2-1024k")
	all, err = l.Findings(t, livetest.Night20, l.Options())
	if failure.CodeOf(err) != errcode.FileSystem {
		t.Errorf("erasure coding: %v", err)
	}
	livetest.WantFinding(t, all, "encryption zone", preflight.Failed, "erasure-coded")
}

// TestChecksOfAStranger: a user without a home folder learns that it lacks one, and not that it may write to
// everybody's. With one, the checks leave it empty, and a run closes no more than the ledger to others.
func TestChecksOfAStranger(t *testing.T) {
	l := livetest.On(t, testcluster.Use(t))
	l.Table = l.UniqueTable(t)
	l.Retarget(t)
	l.Table10(t)
	l.Night(t, livetest.Night20, 100, 95)
	name := "stranger" + lock.NewToken()
	home := "/user/" + name
	out := "hdfs://" + home + "/hfile"
	l.Rewrite(t, l.Out, out)
	t.Setenv("HADOOP_USER_NAME", name)

	all, err := l.Findings(t, livetest.Night20, l.Options())
	if failure.KindOf(err) != failure.Refused {
		t.Errorf("without a home folder: %v", err)
	}
	for _, check := range []string{"output", "ledger"} {
		livetest.WantFinding(t, all, check, preflight.Failed, "the home folder "+home+" does not exist", "hdfs dfs -chown "+name+" "+home)
		if f := all[check]; strings.Contains(f.Text(), "setfacl") {
			t.Errorf("%s advises a right on everybody's folder: %s", check, f.Text())
		}
	}
	livetest.WantFinding(t, all, "ledger", preflight.Failed, "-D bulkload.ledger.dir")
	livetest.WantFinding(t, all, "output", preflight.Failed, "`output`")
	livetest.WantFinding(t, all, "staging", preflight.Unknown, "because the output can't be written")
	if f := all["staging"]; strings.Contains(f.Text(), "lock") {
		t.Errorf("a lock is blamed: %s", f.Text())
	}

	l.Ask(t, "fs", "-mkdir", "-p", home)
	l.Ask(t, "fs", "-chown", name, home)
	if all, err = l.Findings(t, livetest.Night20, l.Options()); err != nil {
		t.Errorf("with a home folder: %v", err)
	}
	// HDFS says it to those only who may list the folder
	livetest.WantFinding(t, all, "staging quota", preflight.Unknown, "permission denied")
	fsys, _ := l.HDFS(t, out)
	if left, err := fsys.ReadDir(home); err != nil || len(left) > 0 {
		t.Errorf("the checks left %+v, %v", left, err)
	}
	runtest.Must(t, l.Job(t, livetest.Night20), l.Options())
	for dir, want := range map[string]fs.FileMode{"/hfile": 0o755, "/hfile/" + livetest.Night20: 0o755, "/.bulkload": 0o755, "/.bulkload/ledger": 0o700} {
		if info, err := fsys.Stat(home + dir); err != nil || info.Mode.Perm() != want {
			t.Errorf("%s is %v, want %v: %v", dir, info.Mode.Perm(), want, err)
		}
	}
}

func lockedDir(t *testing.T, fsys storage.FS, name string) string {
	t.Helper()
	if err := fsys.MkdirAll(name, 0); err != nil {
		t.Fatal(err)
	}
	return name
}

// noStaging lets no file into a staging folder.
type noStaging struct{ storage.FS }

func (f noStaging) Rename(from, to string) error {
	if strings.Contains(to, "/staging/") {
		return &fs.PathError{Op: "rename", Path: from, Err: fs.ErrPermission}
	}
	return f.FS.Rename(from, to)
}

// TestStagingOfTheChecks: the checks warn of a quota of HBase's staging folder that can't hold all of the load's files,
// and refuse a staging folder that is an encryption zone. The test needs its own cluster, since no other load would
// succeed there.
func TestStagingOfTheChecks(t *testing.T) {
	testcluster.OnlyIn(t, "chaos")
	l := livetest.NewFragile(t)
	l.Table = l.UniqueTable(t)
	l.Retarget(t)
	l.Table10(t)
	l.Night(t, livetest.Night20, 100, 96)
	const staging = "/hbase/staging"
	l.Ask(t, "quota", staging, "-", "2048")
	all, err := l.Findings(t, livetest.Night20, l.Options())
	if err != nil {
		t.Errorf("a quota of space: %v", err)
	}
	livetest.WantFinding(t, all, "staging quota", preflight.Warning, staging+" may hold 2.0 KiB", "-setSpaceQuota")
	livetest.WantFinding(t, all, "quota", preflight.OK)
	l.Ask(t, "quota", staging, "-", "-")
	l.Ask(t, "zone", staging, testcluster.ZoneKey)
	all, err = l.Findings(t, livetest.Night20, l.Options())
	if failure.CodeOf(err) != errcode.LoadStaging {
		t.Errorf("an encryption zone: %v", err)
	}
	livetest.WantFinding(t, all, "encryption zone", preflight.Failed, staging, "is in an encryption zone", "outside of all zones")
}

// TestChecksAskWhatWasLoaded: if a run would refuse because of what was loaded before, the checks alone say so, with
// the output and without.
func TestChecksAskWhatWasLoaded(t *testing.T) {
	l := livetest.New(t)
	l.Table10(t)
	l.Night(t, livetest.Night20, 100, 91)
	const name = "loaded before"
	want := func(what string, state preflight.State, code errcode.Code, texts ...string) {
		t.Helper()
		all, err := l.Findings(t, livetest.Night20, l.Options())
		if (err != nil) != (state == preflight.Failed) {
			t.Errorf("%s: %v", what, err)
		}
		livetest.WantFinding(t, all, name, state, texts...)
		if _, err := run.Job(t.Context(), nil, l.Job(t, livetest.Night20), l.Options()); err == nil && code != "" || err != nil && failure.CodeOf(err) != code {
			t.Errorf("%s: the run ends with %v", what, err)
		}
	}
	want("nothing loaded", preflight.OK, "", "has no load of this job and date")
	want("loaded", preflight.OK, "", "the table serves what was loaded")
	fsys, out := l.HDFS(t, l.Out)
	if err := fsys.RemoveAll(out + "/" + livetest.Night20); err != nil {
		t.Fatal(err)
	}
	want("no output", preflight.OK, "", "according to the ledger, and the table serves it")
	l.Night(t, livetest.Night20, 120, 92)
	want("another input", preflight.Failed, errcode.LoadOther, "from another input", "--on-change reload", string(errcode.LoadOther))
	o := l.Options()
	o.OnChange = options.Reload
	all, err := l.Findings(t, livetest.Night20, o)
	if err != nil {
		t.Error(err)
	}
	livetest.WantFinding(t, all, name, preflight.OK, "from another input", "--on-change reload")
	l.Night(t, livetest.Night20, 100, 91)
	touched := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(l.Folder, "in", livetest.Night20, "part-m-00000"), touched, touched); err != nil {
		t.Fatal(err)
	}
	want("a touched input", preflight.OK, "", "according to the ledger, and the table serves it")
	o = l.Options()
	o.Force = true
	runtest.Must(t, l.Job(t, livetest.Night20), o)
	l.Ask(t, "truncate", l.Table, "-preserve")
	want("a truncated table", preflight.Failed, errcode.LoadLost, "--force")
	l.Night(t, livetest.Night20, 120, 92)
	all, err = l.Findings(t, livetest.Night20, l.Options())
	if failure.KindOf(err) != failure.Refused {
		t.Errorf("the checks end with %v", err)
	}
	livetest.WantFinding(t, all, "output", preflight.Failed, "the input has changed", "100 records then, 120 now", string(errcode.OutputInput))
}

// TestLiveRefusals: what the table says against a job is said before anything is written.
func TestLiveRefusals(t *testing.T) {
	l := livetest.New(t)
	l.Ask(t, "create", l.Table, "f", "1,2,3,5,6,7,8,9", "COMPRESSION=SNAPPY", "DATA_BLOCK_ENCODING=FAST_DIFF", "BLOOMFILTER=ROW")
	l.Night(t, "2026-11-20", 100, 4)
	refused := func(what string, code errcode.Code, name string, change func(*jobfile.Job)) {
		j := l.Job(t, "2026-11-20")
		change(j)
		_, err := run.Job(context.Background(), nil, j, l.Options())
		if failure.CodeOf(err) != code || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %s: %v", what, failure.CodeOf(err), err)
		}
		if words := testwords.Doubled(fmt.Sprint(err)); words != "" {
			t.Errorf("%s: the error says %q twice: %v", what, words, err)
		}
	}
	refused("a salt that begins no region", errcode.Regions, "", func(*jobfile.Job) {})
	refused("a table that is not there", errcode.TableMissing, "nowhere", func(j *jobfile.Job) { j.Table = "nowhere" })
	l.Ask(t, "split", l.Table, "4")
	refused("a family that is not there", errcode.TableSettings, "family g", func(j *jobfile.Job) {
		for i := range j.Columns {
			j.Columns[i].Family = "g"
		}
	})
	refused("a contradiction", errcode.TableSettings, "hfile.compression", func(j *jobfile.Job) {
		j.HFile.Given = map[string]bool{"compression": true}
		j.HFile.Settings.Compression = 1
	})
}
