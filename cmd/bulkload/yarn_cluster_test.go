package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/kerberos"
	"bulkload/internal/sample"
	"bulkload/internal/siteconf"
	"bulkload/internal/storage"
	"bulkload/internal/testcluster"
)

// yarnRig is a job on a real YARN, with its input and output in HDFS.
type yarnRig struct {
	*testcluster.Cluster
	fsys   storage.FS
	root   string // in HDFS
	job    string // the job file
	env    []string
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
	for part := range 3 {
		var b bytes.Buffer
		for row := range rows / 3 {
			id := (row*7919+part)%(rows/2) + row%2*rows // some rows are in two parts
			fmt.Fprintf(&b, "%09d\tname %d of part %d\tcity %d\t%s\n", id, row, part, id%97, strings.Repeat("note ", id%13))
		}
		w, err := r.fsys.Create(fmt.Sprintf("%s/in/part-%d", root, part), 0)
		fatal(t, err)
		_, err = w.Write(b.Bytes())
		fatal(t, err)
		fatal(t, w.Close())
	}
	r.job = filepath.Join(t.TempDir(), "job.yaml")
	text := fmt.Sprintf(yarnJob, c.FS()+root, `'1', '2', '3'`, c.HadoopHome())
	fatal(t, os.WriteFile(r.job, []byte(text), 0o644))
	return r
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
		if t.Context().Err() != nil || r.ProcessState != nil {
			t.Fatalf("no %s in\n%s", pattern, r)
		}
	}
}

// start starts bulkload run; testscript.Main has put a bulkload of this binary into the path.
func (r *yarnRig) start(t *testing.T, args ...string) *ran {
	t.Helper()
	p := &ran{Cmd: exec.Command("bulkload", append([]string{"run", r.job, "--memory", r.memory, "-v"}, args...)...)}
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

// hfiles are the output's files by their names in it.
func (r *yarnRig) hfiles(t *testing.T) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	dir := r.root + "/out/f"
	entries, err := r.fsys.ReadDir(dir)
	fatal(t, err)
	for _, e := range entries {
		b, err := storage.ReadFile(r.fsys, path.Join(dir, e.Name), 1<<30)
		fatal(t, err)
		all[e.Name] = b
	}
	return all
}

// alone runs the job in one process, and returns its files. The output is then gone.
func (r *yarnRig) alone(t *testing.T) map[string][]byte {
	t.Helper()
	r.run(t)
	files := r.hfiles(t)
	fatal(t, r.fsys.RemoveAll(r.root+"/out"))
	return files
}

// wantSame fails if the output does not have exactly these files, or if the tasks left anything.
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
	if entries, err := r.fsys.ReadDir(r.root + "/out/.tasks"); err == nil {
		t.Errorf("the tasks left %v", entries)
	} else if !os.IsNotExist(err) && !strings.Contains(err.Error(), fs.ErrNotExist.Error()) {
		t.Error(err)
	}
}

// TestYARN: a run on a real YARN whose driver is killed while the map tasks run. The same command follows their job, and the
// files are byte for byte those of a run in one process.
func TestYARN(t *testing.T) {
	r := newYARNRig(t, testcluster.UseYARN(t), 30_000, nil)
	want := r.alone(t)
	driver := r.start(t, "--engine", "yarn")
	job := driver.until(t, `application_[0-9_]+`)
	fatal(t, driver.Process.Signal(syscall.SIGKILL))
	_ = driver.Wait() // it was killed
	again := r.run(t, "--engine", "yarn")
	if !strings.Contains(again.String(), "run on YARN already, as "+job) {
		t.Errorf("the job %s was not followed:\n%s", job, again)
	}
	r.wantSame(t, want)
}
