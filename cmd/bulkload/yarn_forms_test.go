package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/siteconf"
	"bulkload/internal/storage"
	"bulkload/internal/test/testcluster"

	"github.com/klauspost/compress/zstd"
)

// TestYARNForms: for all forms of input and shapes of tables, tasks on YARN write the same files as one process, even
// if two attempts at a task race.
func TestYARNForms(t *testing.T) {
	testcluster.OnlyIn(t, "test-yarn")
	c := testcluster.UseYARN(t)
	t.Run("forms", func(t *testing.T) { forms(t, c) })
	t.Run("speculation", func(t *testing.T) { speculation(t, c) })
}

// ordersJob writes a table with nine tenths of its rows in one region, and a wide one.
const ordersJob = `family: f
timestamp: 2026-11-20
input:
  path: %[1]s/orders/*
  field_delimiter: '|'
  columns: [order_id, seller, buyer, amount, note]
regions: {from: splits, splits: ['2', '4', '6', '8']}
hfile: {compression: snappy, encoding: fast_diff, bloom: row, slice_size: 64KiB}
outputs:
- table: shop:orders
  rowkey: pad(seller, 4, '0') + order_id
  output: %[2]s/out/orders
- table: shop:buyers
  rowkey: md5(buyer, 4) + buyer
  wide: {qualifier: order_id, value: amount}
  output: %[2]s/out/buyers
`

// orders are the rows of one file. Some orders are in two files, with different amounts.
func orders(file, rows int) []byte {
	var b bytes.Buffer
	for i := range rows {
		seller := 5000
		if i%10 == 0 {
			seller = i % 10_000
		}
		fmt.Fprintf(&b, "%09d|%d|%d|%d.%02d|%s\n", i+file*rows*4/5, seller, i%300, i+file, i%100, strings.Repeat("note ", i%9))
	}
	return b.Bytes()
}

// packed is a text compressed by what newWriter makes.
func packed[W io.WriteCloser](t *testing.T, text []byte, newWriter func(io.Writer) W) []byte {
	t.Helper()
	var b bytes.Buffer
	w := newWriter(&b)
	_, err := w.Write(text)
	fatal(t, err)
	fatal(t, w.Close())
	return b.Bytes()
}

// forms runs three jobs side by side: compressed text from another HDFS into several outputs, CSV in GBK, and Parquet.
func forms(t *testing.T, c *testcluster.Cluster) {
	r := newYARNRig(t, c, 0, nil)
	other, err := testcluster.Start(t.Context(), testcluster.Options{Dir: t.TempDir(), HDFSOnly: true})
	fatal(t, err)
	t.Cleanup(func() { fatal(t, other.Stop()) })
	conf, err := siteconf.Load(other.ConfDir())
	fatal(t, err)
	there, _, err := storage.ResolveAs(other.FS()+"/orders", "/", conf, storage.Identity{})
	fatal(t, err)
	t.Cleanup(func() { fatal(t, there.Close()) })
	putFile(t, there, "/orders/part-0", orders(0, 5000))
	putFile(t, there, "/orders/part-1.gz", packed(t, orders(1, 3000), gzip.NewWriter))
	putFile(t, there, "/orders/part-2.zst", packed(t, orders(2, 3000), func(w io.Writer) *zstd.Encoder {
		e, err := zstd.NewWriter(w)
		fatal(t, err)
		return e
	}))
	r.writeJob(t, r.job, fmt.Sprintf(ordersJob, other.FS(), c.FS()+r.root), "200KiB")

	examples := filepath.Join(repositoryRoot, "jobs/examples")
	for form, file := range map[string]string{"csv": "check.csv", "parquet": "part-00000.zstd.parquet"} {
		size := map[string]string{"csv": "12KiB", "parquet": "60KiB"}[form] // of a task
		content, err := os.ReadFile(filepath.Join(examples, "testdata/check-"+form+"/2026-11-20", file))
		fatal(t, err)
		for _, name := range []string{"a-", "b-"} { // all rows are in both files
			r.put(t, form+"/"+name+file, content)
			content = bytes.ReplaceAll(content, []byte(`"PASS"`), []byte(`"FAIL"`)) // in CSV
		}
		text, err := os.ReadFile(filepath.Join(examples, "check-"+form+".yaml"))
		fatal(t, err)
		job := filepath.Join(filepath.Dir(r.job), form+".yaml")
		r.writeJob(t, job, strings.NewReplacer("testdata/check-"+form+"/${date}", c.FS()+r.root+"/"+form, "../../out/check-"+form+"/${date}", c.FS()+r.root+"/out/"+form,
			"require_success: true", "require_success: false").Replace(string(text)), size)
		r.more = append(r.more, job)
	}
	r.flags = []string{"--date", "2026-11-20"}
	want := r.alone(t)
	for _, of := range []string{"out/orders/", "out/buyers/", "out/csv/", "out/parquet/"} {
		n := 0
		for name := range want {
			if strings.HasPrefix(name, of) {
				n++
			}
		}
		if n < 4 {
			t.Errorf("%s has %d files", of, n)
		}
	}
	driver := r.run(t, "--engine", "yarn", "--parallel", "3", "-v")
	if services := "mapreduce.job.hdfs-servers=" + other.FS(); !strings.Contains(driver.String(), services+","+c.FS()) &&
		!strings.Contains(driver.String(), "mapreduce.job.hdfs-servers="+c.FS()+","+other.FS()) {
		t.Errorf("the job does not name both services:\n%s", driver)
	}
	r.wantSame(t, want)
}

// writeJob writes a job file with the settings of the engine.
func (r *yarnRig) writeJob(t *testing.T, file, text, taskSize string) {
	t.Helper()
	fatal(t, os.WriteFile(file, fmt.Appendf(nil, "%s\nengine: {hadoop_home: %s, task_size: %s}\n", text, r.HadoopHome(), taskSize), 0o644))
}

// speculation stops a map task, so that YARN begins a second attempt at it. Then the two race.
func speculation(t *testing.T, c *testcluster.Cluster) {
	r := newYARNRig(t, c, 30_000, nil)
	want := r.alone(t)
	driver := r.start(t, "--engine", "yarn", "--engine-set", "speculative=true")
	pid := r.task(t, driver, "map")
	fatal(t, syscall.Kill(pid, syscall.SIGSTOP))
	resume := func() { _ = syscall.Kill(pid, syscall.SIGCONT) } // it may have been killed
	t.Cleanup(resume)
	first := attemptOf(pid)
	if !strings.HasSuffix(first, "_0") {
		t.Fatalf("the first attempt is %s", first)
	}
	second := strings.TrimSuffix(first, "0") + "1"
	for !slices.ContainsFunc(r.tasks(t, "map"), func(pid int) bool { return attemptOf(pid) == second }) {
		if t.Context().Err() != nil || driver.ended() {
			t.Fatalf("no second attempt:\n%s", driver)
		}
		time.Sleep(20 * time.Millisecond)
	}
	resume()
	if err := driver.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, driver)
	}
	r.wantSame(t, want)
}

// attemptOf is YARN's name of the attempt that a process is; "" if it has ended.
func attemptOf(pid int) string {
	environment, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	_, rest, _ := bytes.Cut(environment, []byte("\x00mapreduce_task_attempt_id="))
	id, _, _ := bytes.Cut(rest, []byte{0})
	return string(id)
}
