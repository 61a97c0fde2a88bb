package jobs

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/printable"
	"bulkload/internal/storage"
	"bulkload/internal/test/testcluster"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/lock"
	"bulkload/jobs/env/site"
	"bulkload/jobs/loading"
	"bulkload/jobs/run/preflight"
	"bulkload/jobs/spec/jobfile"
)

// findings makes the checks of a night, and returns them by name; of several with one name the worst.
func (l *live) findings(t *testing.T, o options.Options) (map[string]preflight.Finding, error) {
	t.Helper()
	r, err := Check(context.Background(), []*jobfile.Job{l.job(t, night20)}, o)
	all := map[string]preflight.Finding{}
	for _, f := range r.Runs[0].Checks {
		if old, ok := all[f.Name]; !ok || old.State != preflight.Failed {
			all[f.Name] = f
		}
	}
	return all, err
}

// wantFinding compares a check's state, and looks for texts in what it says.
func wantFinding(t *testing.T, all map[string]preflight.Finding, name string, state preflight.State, texts ...string) {
	t.Helper()
	f := all[name]
	if f.State != state {
		t.Errorf("%s is %q, want %q: %s", name, f.State, state, f.Text())
	}
	for _, text := range texts {
		if !strings.Contains(f.Text()+f.Code, text) {
			t.Errorf("%s does not say %q: %s [%s]", name, text, f.Text(), f.Code)
		}
	}
}

// rewrite replaces a text in the job file.
func (l *live) rewrite(t *testing.T, old, with string) {
	t.Helper()
	name := filepath.Join(l.dir, "check.yaml")
	text := string(mustRead(t, name))
	if !strings.Contains(text, old) {
		t.Fatalf("the job file has no %q", old)
	}
	if err := os.WriteFile(name, []byte(strings.Replace(text, old, with, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestChecksOfATable: each finding that a real table and a real HDFS can show, and nothing is left of the checks.
func TestChecksOfATable(t *testing.T) {
	l := newLive(t)
	l.night(t, night20, 100, 91)

	all, err := l.findings(t, l.options())
	if failure.CodeOf(err) != errcode.TableMissing {
		t.Errorf("without a table: %v", err)
	}
	wantFinding(t, all, "table", preflight.Failed, "plan JOB --create", "BL-TABLE-MISSING")
	for _, name := range []string{"regions", "families", "boundaries", "ttl", "replication", "right to load", "staging", "files per region"} {
		wantFinding(t, all, name, preflight.Unknown)
	}
	wantFinding(t, all, "clock", preflight.OK)
	wantFinding(t, all, "version", preflight.OK, "2.6")

	l.table10(t)
	for range 50 { // a region server reports its new regions to the master twice a second
		if all, err = l.findings(t, l.options()); all["files per region"].State != preflight.Unknown {
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
	fsys, name := l.hdfs(t, l.out)
	if _, err := fsys.Stat(name + "/" + night20); err == nil {
		t.Error("the check has left the output's directory")
	}
	o := l.options()
	o.Properties, o.NoLoad = map[string]string{"hbase.security.access.early_out": "false"}, true
	if all, _ = l.findings(t, o); all["right to read"].State != "" {
		t.Errorf("files are only written, and nothing is looked up: %+v", all["right to read"])
	}
	l.rewrite(t, "load: true", "load: true\nduplicates: {live: error}")
	all, _ = l.findings(t, o)
	l.rewrite(t, "\nduplicates: {live: error}", "")
	wantFinding(t, all, "right to read", preflight.OK) // there is no AccessController, which would hide cells
	t.Run("input", func(t *testing.T) {
		if err := os.Rename(filepath.Join(l.dir, "in"), filepath.Join(l.dir, "away")); err != nil {
			t.Fatal(err)
		}
		all, err := l.findings(t, l.options())
		if failure.KindOf(err) != failure.NotYet {
			t.Errorf("without an input: %v", err)
		}
		wantFinding(t, all, "input", preflight.Failed, "BL-INPUT-MISSING")
		wantFinding(t, all, "staging", preflight.OK)
		if err := os.Rename(filepath.Join(l.dir, "away"), filepath.Join(l.dir, "in")); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("altered", func(t *testing.T) { l.checkAltered(t) })
	t.Run("regions", func(t *testing.T) { l.checkRegions(t) })
	t.Run("directory", func(t *testing.T) { l.checkDirectory(t) })
}

// checkAltered alters the family.
func (l *live) checkAltered(t *testing.T) {
	l.oracle(t, "alter", l.table, "f", "TTL=3600", "REPLICATION_SCOPE=1")
	all, err := l.findings(t, l.options())
	if failure.CodeOf(err) != errcode.TableTTL {
		t.Errorf("cells past their TTL: %v", err)
	}
	wantFinding(t, all, "ttl", preflight.Failed, "1h0m0s", "longer TTL")
	wantFinding(t, all, "replication", preflight.Warning, "hbase.replication.bulkload.enabled")
	o := l.options()
	o.Properties = map[string]string{"hbase.replication.bulkload.enabled": "true"}
	all, _ = l.findings(t, o)
	wantFinding(t, all, "replication", preflight.Unknown, "servers' own")

	l.oracle(t, "alter", l.table, "f", "MIN_VERSIONS=1")
	all, err = l.findings(t, l.options())
	if err != nil {
		t.Errorf("expired cells are kept: %v", err)
	}
	wantFinding(t, all, "ttl", preflight.OK)
	l.oracle(t, "alter", l.table, "f", "MIN_VERSIONS=0")

	// A run reports all failures before it reads anything: the record in the input would be rejected.
	if err := os.WriteFile(filepath.Join(l.dir, "in", night20, "part-m-00000"), []byte("no record\x10"), 0o600); err != nil {
		t.Fatal(err)
	}
	l.rewrite(t, "regions: {from: table}", "regions: {from: table}\nhfile: {compression: gz, bloom: none}")
	summary, err := Run(context.Background(), l.job(t, night20), l.options())
	if failure.KindOf(err) != failure.Refused {
		t.Errorf("a run: %v", err)
	}
	for _, text := range []string{"2 checks failed", "ttl: ", "families: ", "hfile.compression is GZ", "hfile.bloom is NONE"} {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("a run does not say %q: %v", text, err)
		}
	}
	if len(summary.Checks) < 10 {
		t.Errorf("the summary has %d checks", len(summary.Checks))
	}
	l.rewrite(t, "\nhfile: {compression: gz, bloom: none}", "")
	l.oracle(t, "alter", l.table, "f", "TTL=2147483647", "REPLICATION_SCOPE=0")

	l.oracle(t, "disable", l.table)
	l.rewrite(t, "family: f\n", "family: g\n")
	all, err = l.findings(t, l.options())
	l.rewrite(t, "family: g\n", "family: f\n")
	l.oracle(t, "enable", l.table)
	if failure.KindOf(err) != failure.Refused {
		t.Errorf("disabled: %v", err)
	}
	wantFinding(t, all, "table", preflight.Failed, "enable '"+l.table+"'")
	wantFinding(t, all, "families", preflight.Failed, "has no family g; it has f")
	wantFinding(t, all, "regions", preflight.Unknown)
}

// checkRegions changes the regions.
func (l *live) checkRegions(t *testing.T) {
	l.rewrite(t, "salt(check_id, 10)", "salt(check_id, 20)")
	all, _ := l.findings(t, l.options())
	l.rewrite(t, "salt(check_id, 20)", "salt(check_id, 10)")
	wantFinding(t, all, "boundaries", preflight.Failed, "BL-SALTS")

	l.night(t, night20, 100, 92)
	mustRun(t, l.job(t, night20), l.options())
	o := l.options()
	o.Properties = map[string]string{"hbase.hstore.blockingStoreFiles": "1"}
	deadline := time.Now().Add(time.Minute) // servers report every three seconds
	for all, _ = l.findings(t, o); all["files per region"].State != preflight.Warning && time.Now().Before(deadline); all, _ = l.findings(t, o) {
		time.Sleep(time.Second)
	}
	wantFinding(t, all, "files per region", preflight.Warning, "at most 1 in a region now, about 2 after", "major_compact")

	if testing.Short() {
		return // a hole is waited for
	}
	hole := l.UniqueTable(t)
	l.oracle(t, "create", hole, "f", "3,6", "COMPRESSION=SNAPPY", "DATA_BLOCK_ENCODING=FAST_DIFF", "BLOOMFILTER=ROW")
	s, err := site.Open(l.options(), jobfile.HBase{}, true)
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
	l.oracle(t, "delete", "hbase:meta", printable.Bytes(table.Regions[1].Name))
	l.rewrite(t, "table: "+l.table, "table: "+hole)
	o = l.options()
	o.Force = true // the output has a run of the other table
	all, err = l.findings(t, o)
	l.rewrite(t, "table: "+hole, "table: "+l.table)
	if failure.KindOf(err) != failure.Later {
		t.Errorf("with a hole: %v", err)
	}
	wantFinding(t, all, "regions", preflight.Failed, "a hole between", `"3"`, `"6"`, "HBCK2", "BL-HBASE-REGION")
	wantFinding(t, all, "families", preflight.OK)
}

// checkDirectory changes the output's directory: quotas, erasure coding, a lock.
func (l *live) checkDirectory(t *testing.T) {
	fsys, name := l.hdfs(t, l.out)
	if err := fsys.MkdirAll(name, 0); err != nil {
		t.Fatal(err)
	}
	l.rewrite(t, "/${date}\nload", "/quota/${date}\nload")
	if err := fsys.MkdirAll(name+"/quota", 0); err != nil {
		t.Fatal(err)
	}
	l.oracle(t, "quota", name+"/quota", "8", "-")
	all, err := l.findings(t, l.options())
	if failure.CodeOf(err) != errcode.HDFSQuota {
		t.Errorf("a quota of names: %v", err)
	}
	wantFinding(t, all, "quota", preflight.Failed, "may hold 8 files", "-setQuota")
	l.oracle(t, "quota", name+"/quota", "-", "2048")
	all, err = l.findings(t, l.options())
	if failure.CodeOf(err) != errcode.HDFSQuota {
		t.Errorf("a quota of space: %v", err)
	}
	wantFinding(t, all, "quota", preflight.Failed, "may hold 2.0 KiB", "for 1 replicas", "-setSpaceQuota")
	l.rewrite(t, "/quota/${date}\nload", "/zone/${date}\nload")
	if err := fsys.MkdirAll(name+"/zone", 0); err != nil {
		t.Fatal(err)
	}
	l.oracle(t, "zone", name+"/zone", testcluster.ZoneKey)
	all, err = l.findings(t, l.options())
	if failure.KindOf(err) != failure.Refused {
		t.Errorf("an encryption zone: %v", err)
	}
	wantFinding(t, all, "encryption zone", preflight.Failed, "/zone/"+night20+" is in an encryption zone", "outside of it", "BL-HDFS-ZONE")
	wantFinding(t, all, "staging", preflight.Unknown, "because the output can't be written")
	l.rewrite(t, "/zone/${date}\nload", "/${date}\nload")

	held, err := lock.Acquire(t.Context(), fsys, lockedDir(t, fsys, name+"/"+night20), lock.Options{User: "tina", Lost: func(error) {}})
	if err != nil {
		t.Fatal(err)
	}
	all, err = l.findings(t, l.options())
	if failure.KindOf(err) != failure.Later {
		t.Errorf("a locked output: %v", err)
	}
	wantFinding(t, all, "output", preflight.Failed, "BL-LOCKED", "user tina")
	wantFinding(t, all, "staging", preflight.Unknown, "not tried")
	wantFinding(t, all, "right to load", preflight.OK)
	if err := held.Release(); err != nil {
		t.Error(err)
	}

	// The move into staging fails as a real rename does where HDFS forbids it.
	o := l.options()
	o.Storage = func(f storage.FS) storage.FS { return noStaging{f} }
	all, _ = l.findings(t, o)
	wantFinding(t, all, "staging", preflight.Failed, "BL-LOAD-STAGING", "can't be moved")
	if testing.Short() {
		return
	}
	l.oracle(t, "erasure", name, "RS-3-2-1024k")
	all, err = l.findings(t, l.options())
	if failure.CodeOf(err) != errcode.HDFSErasure {
		t.Errorf("erasure coding: %v", err)
	}
	wantFinding(t, all, "encryption zone", preflight.Failed, "erasure-coded")
}

// TestChecksOfAStranger: a user without a home folder learns that it lacks one, and not that it may write to everybody's. With
// one, the checks leave it empty, and a run closes no more than the ledger to others.
func TestChecksOfAStranger(t *testing.T) {
	l := liveOn(t, testcluster.Use(t))
	l.table = l.UniqueTable(t)
	l.retarget(t)
	l.table10(t)
	l.night(t, night20, 100, 95)
	name := "stranger" + lock.NewToken()
	home := "/user/" + name
	out := "hdfs://" + home + "/hfile"
	l.rewrite(t, l.out, out)
	t.Setenv("HADOOP_USER_NAME", name)

	all, err := l.findings(t, l.options())
	if failure.KindOf(err) != failure.Refused {
		t.Errorf("without a home folder: %v", err)
	}
	for _, check := range []string{"output", "ledger"} {
		wantFinding(t, all, check, preflight.Failed, "the home folder "+home+" does not exist", "hdfs dfs -chown "+name+" "+home)
		if f := all[check]; strings.Contains(f.Text(), "setfacl") {
			t.Errorf("%s advises a right on everybody's folder: %s", check, f.Text())
		}
	}
	wantFinding(t, all, "ledger", preflight.Failed, "-D bulkload.ledger.dir")
	wantFinding(t, all, "output", preflight.Failed, "`output`")
	wantFinding(t, all, "staging", preflight.Unknown, "because the output can't be written")
	if f := all["staging"]; strings.Contains(f.Text(), "lock") {
		t.Errorf("a lock is blamed: %s", f.Text())
	}

	l.oracle(t, "fs", "-mkdir", "-p", home)
	l.oracle(t, "fs", "-chown", name, home)
	if all, err = l.findings(t, l.options()); err != nil {
		t.Errorf("with a home folder: %v", err)
	}
	wantFinding(t, all, "staging quota", preflight.Unknown, "permission denied") // HDFS says it to those only who may list the folder
	fsys, _ := l.hdfs(t, out)
	if left, err := fsys.ReadDir(home); err != nil || len(left) > 0 {
		t.Errorf("the checks left %+v, %v", left, err)
	}
	mustRun(t, l.job(t, night20), l.options())
	for dir, want := range map[string]fs.FileMode{"/hfile": 0o755, "/hfile/" + night20: 0o755, "/.bulkload": 0o755, "/.bulkload/ledger": 0o700} {
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

// notes gathers what is said from several goroutines.
type notes struct {
	mu   sync.Mutex
	said []string
	seen func(string)
}

func (n *notes) say(text string) {
	n.mu.Lock()
	n.said = append(n.said, text)
	n.mu.Unlock()
	if n.seen != nil {
		n.seen(text)
	}
}

func (n *notes) has(text string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.ContainsFunc(n.said, func(s string) bool { return strings.Contains(s, text) })
}

// count is how many notes have a text.
func (n *notes) count(text string) (found int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.said {
		if strings.Contains(s, text) {
			found++
		}
	}
	return found
}

// TestTwoJobsIntoOneTable: each learns of the other; the second one's load waits for the first one's end, unless the options say
// to fail or to go on beside it. All rows of both arrive.
func TestTwoJobsIntoOneTable(t *testing.T) {
	const second = "2026-11-21"
	l := newLive(t)
	l.table10(t)
	l.night(t, night20, 200, 93)
	l.night(t, second, 200, 94)

	atLoad, goOn := make(chan struct{}), make(chan struct{})
	var first notes
	o := l.options()
	o.Say = first.say
	var once sync.Once
	o.Failpoint = func(p options.Point) {
		if p == options.Staging {
			once.Do(func() { close(atLoad); <-goOn })
		}
	}
	ended := make(chan error, 1)
	go func() {
		_, err := Run(context.Background(), l.job(t, night20), o)
		ended <- err
	}()
	select {
	case <-atLoad:
	case err := <-ended:
		t.Fatal(err)
	}

	all, err := l.findings(t, l.options())
	if failure.KindOf(err) != failure.Later { // the output is locked
		t.Errorf("a check beside a load: %v", err)
	}
	wantFinding(t, all, "other runs", preflight.Warning, "check.yaml for "+night20)

	fails := l.options()
	fails.OnBusy = options.BusyFail
	if _, err := Run(context.Background(), l.job(t, second), fails); failure.CodeOf(err) != errcode.TableBusy || !strings.Contains(err.Error(), "check.yaml for "+night20) {
		t.Errorf("--on-busy fail: %v", err)
	}
	waiting := make(chan struct{})
	var noted sync.Once
	other := notes{seen: func(text string) {
		if strings.Contains(text, "waiting for another load to end") {
			noted.Do(func() { close(waiting) })
		}
	}}
	waits := l.options()
	waits.Say = other.say
	secondEnded := make(chan error, 1)
	go func() {
		_, err := Run(context.Background(), l.job(t, second), waits)
		secondEnded <- err
	}()
	select {
	case <-waiting:
	case err := <-secondEnded:
		t.Fatalf("the second load did not wait: %v", err)
	}
	close(goOn)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := <-secondEnded; err != nil {
		t.Error(err)
	}
	if !other.has("other run into this table") {
		t.Errorf("the second run did not report the other one at its beginning: %q", other.said)
	}
	l.wantTable(t, "both", l.expected(t, night20), l.expected(t, second))
	if all, _ := l.findings(t, l.options()); all["other runs"].State != preflight.OK {
		t.Errorf("afterwards: %+v", all["other runs"])
	}
}

// TestLoadBesideAnother: a table's lock that is held does not stop a load with --on-busy load, and a directory's load
// takes its turn, too.
func TestLoadBesideAnother(t *testing.T) {
	l := writtenNight(t, 200, 95)
	held, err := lock.OpenTable(l.ledger(t), l.table,
		lock.Options{User: "tina", Purpose: "another job", Lost: func(error) {}}).Lock(t.Context(), l.options())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := held.Release(); err != nil {
			t.Error(err)
		}
	}()
	dir := l.out + "/" + night20
	o := l.options()
	o.OnBusy = options.BusyFail
	if _, err := loading.Directory(context.Background(), dir, l.table, o); failure.CodeOf(err) != errcode.TableBusy {
		t.Errorf("load --on-busy fail: %v", err)
	}
	limited, cancel := context.WithCancel(context.Background())
	o = l.options()
	o.Say = func(text string) {
		if strings.Contains(text, "waiting for another load") && strings.Contains(text, "another job") {
			cancel()
		}
	}
	if _, err := loading.Directory(limited, dir, l.table, o); failure.KindOf(err) != failure.Interrupted {
		t.Errorf("a load that waits was stopped: %v", err)
	}
	var said notes
	o = l.options()
	o.Say, o.OnBusy = said.say, options.BusyLoad
	if r, err := loading.Directory(context.Background(), dir, l.table, o); err != nil || r.Load.Files != 10 || !said.has("--on-busy load") {
		t.Errorf("load --on-busy load: %+v, %v; said %q", r, err, said.said)
	}
	l.wantTable(t, "loaded beside another", l.expected(t, night20))
}

// TestInterruptedLoadTakesItsTurn: a run that goes on with its load waits for, or fails because of, another load like any run.
func TestInterruptedLoadTakesItsTurn(t *testing.T) {
	const second = "2026-11-21"
	l := newLive(t)
	l.table10(t)
	l.night(t, night20, 200, 95)
	l.night(t, second, 200, 96)
	stopped, stop := context.WithCancel(context.Background())
	o := l.options()
	o.Failpoint = func(p options.Point) {
		if p == options.Staging {
			stop()
		}
	}
	if _, err := Run(stopped, l.job(t, night20), o); failure.KindOf(err) != failure.Interrupted {
		t.Fatalf("interrupted: %v", err)
	}
	atLoad, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	var once sync.Once
	other := l.options()
	other.Failpoint = func(p options.Point) {
		if p == options.Staging {
			once.Do(func() { close(atLoad); <-goOn })
		}
	}
	go func() {
		_, err := Run(context.Background(), l.job(t, second), other)
		ended <- err
	}()
	select {
	case <-atLoad:
	case err := <-ended:
		t.Fatal(err)
	}
	fails := l.options()
	fails.OnBusy = options.BusyFail
	if _, err := Run(context.Background(), l.job(t, night20), fails); failure.CodeOf(err) != errcode.TableBusy {
		t.Errorf("beside another load: %v", err)
	}
	close(goOn)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := Run(context.Background(), l.job(t, night20), fails); err != nil {
		t.Error(err)
	}
	l.wantTable(t, "both", l.expected(t, night20), l.expected(t, second))
}

// TestStagingOfTheChecks: the checks warn of a quota of HBase's staging folder that can't hold all of the load's files, and refuse a
// staging folder that is an encryption zone. The test needs its own cluster, since no other load would succeed there.
func TestStagingOfTheChecks(t *testing.T) {
	testcluster.OnlyIn(t, "chaos")
	l := newFragile(t)
	l.table = l.UniqueTable(t)
	l.retarget(t)
	l.table10(t)
	l.night(t, night20, 100, 96)
	const staging = "/hbase/staging"
	l.oracle(t, "quota", staging, "-", "2048")
	all, err := l.findings(t, l.options())
	if err != nil {
		t.Errorf("a quota of space: %v", err)
	}
	wantFinding(t, all, "staging quota", preflight.Warning, staging+" may hold 2.0 KiB", "-setSpaceQuota")
	wantFinding(t, all, "quota", preflight.OK)
	l.oracle(t, "quota", staging, "-", "-")
	l.oracle(t, "zone", staging, testcluster.ZoneKey)
	all, err = l.findings(t, l.options())
	if failure.CodeOf(err) != errcode.LoadStaging {
		t.Errorf("an encryption zone: %v", err)
	}
	wantFinding(t, all, "encryption zone", preflight.Failed, staging, "is in an encryption zone", "outside of all zones")
}

// TestChecksAskWhatWasLoaded: if a run would refuse because of what was loaded before, the checks alone say so, with the output and
// without.
func TestChecksAskWhatWasLoaded(t *testing.T) {
	l := newLive(t)
	l.table10(t)
	l.night(t, night20, 100, 91)
	const name = "loaded before"
	want := func(what string, state preflight.State, run errcode.Code, texts ...string) {
		t.Helper()
		all, err := l.findings(t, l.options())
		if (err != nil) != (state == preflight.Failed) {
			t.Errorf("%s: %v", what, err)
		}
		wantFinding(t, all, name, state, texts...)
		if _, err := Run(t.Context(), l.job(t, night20), l.options()); err == nil && run != "" || err != nil && failure.CodeOf(err) != run {
			t.Errorf("%s: the run ends with %v", what, err)
		}
	}
	want("nothing loaded", preflight.OK, "", "no load of this job and date is known")
	want("loaded", preflight.OK, "", "the table serves what was loaded")
	fsys, out := l.hdfs(t, l.out)
	if err := fsys.RemoveAll(out + "/" + night20); err != nil {
		t.Fatal(err)
	}
	want("no output", preflight.OK, "", "according to the ledger, and the table serves it")
	l.night(t, night20, 120, 92)
	want("another input", preflight.Warning, errcode.LoadOther, "files that are not those of the input", "--on-change reload")
	l.night(t, night20, 100, 91)
	o := l.options()
	o.Force = true
	mustRun(t, l.job(t, night20), o)
	l.oracle(t, "truncate", l.table, "-preserve")
	want("a truncated table", preflight.Failed, errcode.LoadLost, "--force")
	l.night(t, night20, 100, 91)
	all, _ := l.findings(t, l.options())
	wantFinding(t, all, "output", preflight.Warning, "It has read other files than those of the input")
}
