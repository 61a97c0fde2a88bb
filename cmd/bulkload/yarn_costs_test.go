package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/sample"
	"bulkload/internal/test/testcluster"
)

// TestYARNCosts measures one process, local tasks and YARN side by side, for each of the numbers of rows in
// BULKLOAD_ROWS, such as 1000000,5000000: on a quiet machine.
func TestYARNCosts(t *testing.T) {
	testcluster.OnlyIn(t, "yarn-costs")
	c := testcluster.UseYARN(t)
	for text := range strings.SplitSeq(os.Getenv("BULKLOAD_ROWS"), ",") {
		rows, err := strconv.Atoi(text)
		fatal(t, err)
		measureYARN(t, c, rows)
	}
}

// measuredFiles is how many files the input has.
const measuredFiles = 4

func measureYARN(t *testing.T, c *testcluster.Cluster, rows int) {
	r := newYARNRig(t, c, 0, nil)
	var size int64
	for part := range measuredFiles {
		w, err := r.fsys.Create(fmt.Sprintf("%s/in/check-%d", r.root, part), 0)
		fatal(t, err)
		var b bytes.Buffer
		fatal(t, sample.Check(&b, sample.Options{Rows: rows / measuredFiles, Seed: uint64(part + 1)}))
		size += int64(b.Len())
		_, err = w.Write(b.Bytes())
		fatal(t, err)
		fatal(t, w.Close())
	}
	example, err := os.ReadFile(filepath.Join(repositoryRoot, "jobs/examples/check.yaml"))
	fatal(t, err)
	job := strings.NewReplacer("testdata/check/${date}", c.FS()+r.root+"/in/check-*", "../../out/check/${date}", c.FS()+r.root+"/out").Replace(string(example))
	r.memory = "512MiB"
	fatal(t, os.WriteFile(r.job, fmt.Appendf(nil, "%s\nengine: {hadoop_home: %s, task_size: %d}\n", job, c.HadoopHome(), size/measuredFiles+1), 0o644))
	for _, way := range [][]string{nil, {"--engine", "local-tasks"}, {"--engine", "yarn"}} {
		before, began := r.reaped(t), time.Now()
		p := r.run(t, append(way, "--date", "2026-11-20")...)
		wall := time.Since(began)
		t.Logf("%d rows, %d bytes, %v: wall %.1f s, CPU %.1f s of the driver and its children, %.1f s of the NodeManager's", rows, size, way, wall.Seconds(),
			(p.ProcessState.UserTime() + p.ProcessState.SystemTime()).Seconds(), (r.reaped(t) - before).Seconds())
		fatal(t, r.fsys.RemoveAll(r.root+"/out"))
	}
}

// reaped is the CPU time of the processes that the NodeManager has started and waited for: of containers that have
// ended.
func (r *yarnRig) reaped(t *testing.T) time.Duration {
	t.Helper()
	pid, err := os.ReadFile(filepath.Join(r.Dir, "run/nm.pid"))
	fatal(t, err)
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%s/stat", bytes.TrimSpace(pid)))
	fatal(t, err)
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	var ticks int
	for _, text := range fields[13:15] { // cutime and cstime
		n, err := strconv.Atoi(text)
		fatal(t, err)
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}
