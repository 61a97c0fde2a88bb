package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/kerberos"
	"bulkload/internal/siteconf"
	"bulkload/internal/storage"
	"bulkload/internal/test/testcluster"
	"bulkload/internal/test/testcluster/kdc"
)

// yarnRig is a job on a real YARN, with its input and output in HDFS.
type yarnRig struct {
	*testcluster.Cluster
	fsys   storage.FS
	root   string   // in HDFS
	job    string   // the job file
	more   []string // further job files
	env    []string
	flags  []string
	memory string // of each task
}

const yarnJob = `table: yarn
rowkey: salt(id, 4) + id
family: f
timestamp: 2026-11-20
input:
  path: %[1]s/in/*
  field_delimiter: '\t'
  columns: [id, name, city, note]
regions: {from: splits, splits: [%[2]s]}
output: %[1]s/out
hfile: {slice_size: 256KiB}
engine:
  task_size: 400KiB
  hadoop_home: %[3]s
`

// newYARNRig writes the input. login is nil without Kerberos.
func newYARNRig(t *testing.T, c *testcluster.Cluster, rows int, login *kerberos.Login, env ...string) *yarnRig {
	t.Helper()
	conf, err := siteconf.Load(c.ConfDir())
	fatal(t, err)
	root := fmt.Sprintf("/%s-%x", strings.ReplaceAll(t.Name(), "/", "-"), time.Now().UnixNano())
	r := &yarnRig{Cluster: c, root: root, memory: "64MiB", env: append(env, "HADOOP_CONF_DIR="+c.ConfDir(), "HBASE_CONF_DIR="+c.ConfDir())}
	r.fsys, _, err = storage.ResolveAs(c.FS()+root, "/", conf, storage.Identity{Login: login})
	fatal(t, err)
	t.Cleanup(func() { fatal(t, r.fsys.Close()) })
	fatal(t, r.fsys.MkdirAll(root+"/in", 0))
	for part := range min(3, rows) {
		var b bytes.Buffer
		for row := range rows / 3 {
			id := (row*7919+part)%(rows/2) + row%2*rows // some rows are in two parts
			fmt.Fprintf(&b, "%09d\tname %d of part %d\tcity %d\t%s\n", id, row, part, id%97, strings.Repeat("note ", id%13))
		}
		r.put(t, fmt.Sprintf("in/part-%d", part), b.Bytes())
	}
	r.job = filepath.Join(t.TempDir(), "job.yaml")
	text := fmt.Sprintf(yarnJob, c.FS()+root, `'1', '2', '3'`, c.HadoopHome())
	fatal(t, os.WriteFile(r.job, []byte(text), 0o644))
	return r
}

// put writes a file below the rig's folder.
func (r *yarnRig) put(t *testing.T, name string, content []byte) {
	t.Helper()
	putFile(t, r.fsys, path.Join(r.root, name), content)
}

func putFile(t *testing.T, fsys storage.FS, name string, content []byte) {
	t.Helper()
	fatal(t, fsys.MkdirAll(path.Dir(name), 0))
	w, err := fsys.Create(name, 0)
	fatal(t, err)
	_, err = w.Write(content)
	fatal(t, err)
	fatal(t, w.Close())
}

func fatal(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ran is a process of bulkload run.
type ran struct {
	*exec.Cmd
	mu   sync.Mutex
	text bytes.Buffer
}

func (r *ran) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(b)
}

func (r *ran) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// until waits for a text on stderr.
func (r *ran) until(t *testing.T, pattern string) string {
	t.Helper()
	for wanted := regexp.MustCompile(pattern); ; time.Sleep(50 * time.Millisecond) {
		if found := wanted.FindString(r.String()); found != "" {
			return found
		}
		if t.Context().Err() != nil || r.ended() {
			t.Fatalf("no %s in\n%s", pattern, r)
		}
	}
}

// ended reports whether the process has ended and nobody has waited for it.
func (r *ran) ended() bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", r.Process.Pid))
	return err != nil || bytes.Contains(stat, []byte(") Z "))
}

// start starts bulkload run; testscript.Main has put a bulkload of this binary into the path.
func (r *yarnRig) start(t *testing.T, args ...string) *ran {
	t.Helper()
	p := &ran{Cmd: exec.Command("bulkload", slices.Concat([]string{"run", r.job}, r.more, []string{"--memory", r.memory, "-v"}, args, r.flags)...)}
	p.Env = append(os.Environ(), r.env...)
	p.Stderr = p
	fatal(t, p.Start())
	return p
}

func (r *yarnRig) run(t *testing.T, args ...string) *ran {
	t.Helper()
	p := r.start(t, args...)
	if err := p.Wait(); err != nil {
		t.Fatalf("bulkload run %s: %v\n%s", strings.Join(args, " "), err, p)
	}
	return p
}

// hfiles are the files of all outputs by their names below them.
func (r *yarnRig) hfiles(t *testing.T) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	r.addFiles(t, "out", all)
	return all
}

func (r *yarnRig) addFiles(t *testing.T, dir string, all map[string][]byte) {
	t.Helper()
	entries, err := r.fsys.ReadDir(path.Join(r.root, dir))
	fatal(t, err)
	for _, e := range entries {
		name := path.Join(dir, e.Name)
		switch {
		case e.Name == ".tasks":
			t.Errorf("the tasks left %s", path.Join(r.root, name))
		case strings.ContainsAny(e.Name[:1], "._"): // what is no HFile
		case e.Dir:
			r.addFiles(t, name, all)
		default:
			all[name], err = storage.ReadFile(r.fsys, path.Join(r.root, name), 1<<30)
			fatal(t, err)
		}
	}
}

// alone runs the job in one process, and returns its files. The output is then gone.
func (r *yarnRig) alone(t *testing.T) map[string][]byte {
	t.Helper()
	r.run(t)
	files := r.hfiles(t)
	fatal(t, r.fsys.RemoveAll(r.root+"/out"))
	return files
}

// wantSame fails if the outputs do not have exactly these files, or if the tasks left anything.
func (r *yarnRig) wantSame(t *testing.T, want map[string][]byte) {
	t.Helper()
	got := r.hfiles(t)
	if len(got) != len(want) || len(want) < 4 {
		t.Errorf("%d files, want %d", len(got), len(want))
	}
	for name, b := range want {
		if !bytes.Equal(got[name], b) {
			t.Errorf("%s has %d bytes, and differs from that of one process (%d bytes)", name, len(got[name]), len(b))
		}
	}
}

// TestYARN: a run on a real YARN whose driver is stopped and then killed while the map tasks run. The same command
// follows their job, and the files are byte for byte those of a run in one process.
func TestYARN(t *testing.T) {
	t.Parallel()
	r := newYARNRig(t, testcluster.UseYARN(t), 30_000, nil)
	want := r.alone(t)
	driver := r.start(t, "--engine", "yarn")
	job := driver.until(t, `application_[0-9_]+`)
	fatal(t, r.Pause("nm")) // so that the job does not end meanwhile
	resume := sync.OnceValue(func() error { return r.Resume("nm") })
	t.Cleanup(func() { _ = resume() })
	fatal(t, driver.Process.Signal(syscall.SIGTERM))
	_ = driver.Wait() // its exit code is checked
	if code := driver.ProcessState.ExitCode(); code != exitInterrupted || !strings.Contains(driver.String(), job+" goes on") {
		t.Errorf("stopped: exit code %d\n%s", code, driver)
	}
	driver = r.start(t, "--engine", "yarn")
	driver.until(t, "run on YARN already, as "+job)
	fatal(t, driver.Process.Signal(syscall.SIGKILL))
	_ = driver.Wait() // it was killed
	driver = r.start(t, "--engine", "yarn")
	driver.until(t, "run on YARN already, as "+job)
	fatal(t, resume())
	if err := driver.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, driver)
	}
	r.wantSame(t, want)
}

// TestYARNFails: attempts that are killed, a container beyond its memory, and a machine that fails. Each is named with
// its cause, and the files are those of a run in one process.
func TestYARNFails(t *testing.T) {
	testcluster.OnlyIn(t, "test-yarn")
	c := testcluster.OwnYARN(t, testcluster.Options{})
	r := newYARNRig(t, c, 30_000, nil)
	want := r.alone(t)
	for _, fault := range []struct {
		name string
		run  func(*testing.T, *yarnRig)
	}{{"attempt", killedAttempt}, {"memory", beyondMemory}, {"node", failedNode}} {
		t.Run(fault.name, func(t *testing.T) {
			fault.run(t, r)
			r.wantSame(t, want)
			fatal(t, r.fsys.RemoveAll(r.root+"/out"))
		})
	}
}

// task waits for a process of a task and returns its ID.
func (r *yarnRig) task(t *testing.T, driver *ran, phase string) int {
	t.Helper()
	for ; t.Context().Err() == nil && !driver.ended(); time.Sleep(20 * time.Millisecond) {
		if all := r.tasks(t, phase); len(all) > 0 {
			return all[0]
		}
	}
	t.Fatalf("no %s task runs:\n%s", phase, driver)
	return 0
}

// tasks are the processes of the tasks that run.
func (r *yarnRig) tasks(t *testing.T, phase string) (pids []int) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	fatal(t, err)
	for _, file := range all {
		line, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(line, []byte("\x00task\x00"+phase+"\x00")) {
			continue
		}
		dir := filepath.Dir(file)
		if at, err := os.Readlink(filepath.Join(dir, "cwd")); err == nil && strings.HasPrefix(at, r.Dir) {
			pid, err := strconv.Atoi(filepath.Base(dir))
			fatal(t, err)
			pids = append(pids, pid)
		}
	}
	return pids
}

func killedAttempt(t *testing.T, r *yarnRig) {
	driver := r.start(t, "--engine", "yarn")
	for _, phase := range []string{"map", "reduce"} {
		fatal(t, syscall.Kill(r.task(t, driver, phase), syscall.SIGKILL))
		driver.until(t, phase+` task.*attempt attempt_[0-9_m]+.*: failed: .*code 137`)
	}
	if err := driver.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, driver)
	}
}

func beyondMemory(t *testing.T, r *yarnRig) {
	driver := r.start(t, "--engine", "yarn", "--engine-set", "jvm_memory=1MiB", "--engine-set", "attempts=2")
	_ = driver.Wait() // its exit code is checked
	if code := driver.ProcessState.ExitCode(); code != exitFailed || !strings.Contains(driver.String(), "PHYSICAL") {
		t.Fatalf("exit code %d\n%s", code, driver)
	}
	r.run(t, "--engine", "yarn")
}

func failedNode(t *testing.T, r *yarnRig) {
	driver := r.start(t, "--engine", "yarn")
	r.task(t, driver, "map")
	fatal(t, r.KillNode())
	fatal(t, r.StartRole(t.Context(), "nm"))
	if err := driver.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, driver)
	}
}

// TestYARNSecured: tasks on a cluster with Kerberos have only delegation tokens, here for a name service with two
// NameNodes. The driver logs in with a keytab, with which it gets Hadoop's commands a ticket.
func TestYARNSecured(t *testing.T) {
	testcluster.OnlyIn(t, "test-yarn")
	kdc.Use(t, kdc.Options{Realm: "PROBE.TEST"}) // skips on a machine without a KDC
	c := testcluster.OwnYARN(t, testcluster.Options{HA: true, Kerberos: &testcluster.Kerberos{RPC: "privacy", Transfer: "integrity"}})
	login, err := kerberos.Open(t.Context(), kerberos.Config{Principal: "loader", Keytab: c.Keytab("loader"), Krb5Conf: c.Krb5Conf()})
	fatal(t, err)
	r := newYARNRig(t, c, 30_000, login, "KRB5_CONFIG="+c.Krb5Conf(), "KRB5CCNAME="+filepath.Join(t.TempDir(), "none"), "HADOOP_OPTS=-Djava.security.krb5.conf="+c.Krb5Conf())
	r.flags = []string{"--principal", "loader", "--keytab", c.Keytab("loader")}
	want := r.alone(t)
	driver := r.run(t, "--engine", "yarn")
	if !strings.Contains(driver.String(), "delegation tokens, which YARN renews for at most") {
		t.Errorf("the run does not say how long tokens live:\n%s", driver)
	}
	r.wantSame(t, want)
}

// fakeHadoop is the folder of a Hadoop installation whose commands are scripts.
func fakeHadoop(t *testing.T, hadoop, yarn string) (home string) {
	t.Helper()
	home = t.TempDir()
	for name, script := range map[string]string{"bin/hadoop": hadoop, "bin/yarn": yarn, "share/hadoop/tools/lib/hadoop-streaming-3.jar": ""} {
		fatal(t, os.MkdirAll(filepath.Dir(filepath.Join(home, name)), 0o755))
		fatal(t, os.WriteFile(filepath.Join(home, name), []byte(script), 0o755))
	}
	return home
}

// TestYARNDryRun: the commands are printed, and nothing is done.
func TestYARNDryRun(t *testing.T) {
	t.Parallel()
	home := fakeHadoop(t, "#!/bin/false\n", "#!/bin/false\n")
	job := filepath.Join(home, "job.yaml")
	fatal(t, os.WriteFile(job, fmt.Appendf(nil, yarnJob, "hdfs://ns1/o", "'1'", home), 0o644))
	cmd := exec.Command("bulkload", "run", job, "--engine", "yarn", "--dry-run", "--memory", "64MiB", "--engine-set", "queue=etl", "--engine-set", "properties=a.b=c d")
	cmd.Dir = home
	out, err := cmd.Output()
	fatal(t, err)
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != 2 {
		t.Fatalf("%s", out)
	}
	for i, phase := range []string{"map plan.json", "reduce units-HASH.json"} {
		for _, want := range []string{"'bulkload task " + phase + " - --memory 67108864 --cores 1'", "mapreduce.job.queuename=etl", "'a.b=c d'",
			"mapreduce.map.memory.mb=456", "mapreduce.job.hdfs-servers=hdfs://ns1", home + "/bin/hadoop jar " + home} {
			if !strings.Contains(lines[i], want) {
				t.Errorf("%s\nwant %s", lines[i], want)
			}
		}
	}
}

// TestYARNForgets: the ResourceManager is killed in the map phase, and started again without recovery. The job is gone
// with it, and the run goes on at once with the tasks that are not done.
func TestYARNForgets(t *testing.T) {
	testcluster.OnlyIn(t, "test-yarn")
	c := testcluster.OwnYARN(t, testcluster.Options{})
	r := newYARNRig(t, c, 30_000, nil)
	want := r.alone(t)
	driver := r.start(t, "--engine", "yarn")
	job := driver.until(t, `application_[0-9_]+`)
	r.task(t, driver, "map")
	fatal(t, r.Kill("rm"))
	fatal(t, r.StartRole(t.Context(), "rm"))
	driver.until(t, "YARN no longer knows "+job)
	if err := driver.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, driver)
	}
	r.wantSame(t, want)
}
