package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"bulkload/internal/test/sample"
	"bulkload/internal/test/testcluster"
	"bulkload/tools/peer"
)

const (
	table   = "peer:check"
	family  = "f"
	regions = 10
	night   = "2026-11-20"
	input   = "/peer/in/" + night
)

// cost is the resources that one run of a program used.
type cost struct {
	CPU  time.Duration // user and system
	Wall time.Duration
	RSS  int64 // peak, bytes
}

// pair compares bulkload with one kind of the Spark job on the same rows: the medians of the runs.
type pair struct {
	Rows        int
	Bytes       int64 // of input
	Mode        string
	Ours, Spark cost
}

// bench is a cluster and the data in it.
type bench struct {
	binary, memory, dir string
	runs                int
	cluster             *testcluster.Cluster
	bytes               int64
}

// start starts the cluster; o has what is particular about it.
func (b *bench) start(ctx context.Context, o testcluster.Options) (err error) {
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return err
	}
	say("starting HBase on HDFS")
	o.Dir, o.Measure = filepath.Join(b.dir, "cluster"), true
	b.cluster, err = testcluster.Start(ctx, o)
	return err
}

func (b *bench) create(ctx context.Context, table string) error {
	_, err := b.oracle(ctx, "create", table, family, "1,2,3,4,5,6,7,8,9", "COMPRESSION=SNAPPY",
		"DATA_BLOCK_ENCODING=FAST_DIFF", "BLOOMFILTER=ROW")
	return err
}

func (b *bench) stop() {
	if err := b.cluster.Stop(); err != nil {
		say("%v", err)
	}
}

// oracle runs a command of the oracle in a separate process.
func (b *bench) oracle(ctx context.Context, args ...string) (string, error) {
	return b.cluster.Java(ctx, "oracle.Oracle", args...)
}

func (b *bench) shell(ctx context.Context, args ...string) error {
	_, err := b.cluster.Java(ctx, "org.apache.hadoop.fs.FsShell", args...)
	return err
}

// prepare generates the rows and puts them into HDFS.
func (b *bench) prepare(ctx context.Context, rows int) error {
	say("generating %d rows", rows)
	local := filepath.Join(b.dir, "input")
	f, err := os.Create(local)
	if err != nil {
		return err
	}
	err = errors.Join(sample.Check(f, sample.Options{Rows: rows, Seed: 1}), f.Close())
	if err != nil {
		return err
	}
	info, err := os.Stat(local)
	if err != nil {
		return err
	}
	b.bytes = info.Size()
	if err := b.shell(ctx, "-rm", "-r", "-f", "-skipTrash", "/peer"); err != nil {
		return err
	}
	if err := b.shell(ctx, "-mkdir", "-p", input); err != nil {
		return err
	}
	return errors.Join(b.shell(ctx, "-put", local, input+"/part-m-00000"), os.Remove(local), b.writeJob(ctx))
}

// properties configures the Spark job, from which bulkload makes its own job. The comparison of cells thus also covers
// the command convert.
const properties = `namespace=peer
tableName=check
cf=` + family + `
preRegions=%d
uniqCol=id
queryKey=check_id
cols=%s
inputPathPrefix=/peer/in
hfilePathPrefix=/peer/ours
`

func (b *bench) jobFile() string { return filepath.Join(b.dir, "check.yaml") }

func (b *bench) writeJob(ctx context.Context) error {
	from := filepath.Join(b.dir, "check.properties")
	text := fmt.Sprintf(properties, regions, strings.Join(sample.CheckColumns, ","))
	if err := os.WriteFile(from, []byte(text), 0o644); err != nil {
		return err
	}
	job, err := exec.CommandContext(ctx, b.binary, "convert", from).Output()
	return errors.Join(err, os.WriteFile(b.jobFile(), job, 0o644))
}

// pair runs both programs one after the other, and compares their cells.
func (b *bench) pair(ctx context.Context, rows int, mode string) (pair, error) {
	var ours, spark []cost
	for i := range b.runs {
		o, err := b.runOurs(ctx)
		if err != nil {
			return pair{}, err
		}
		s, err := b.runSpark(ctx, mode)
		if err != nil {
			return pair{}, err
		}
		if i == 0 {
			if err := b.sameCells(ctx); err != nil {
				return pair{}, err
			}
		}
		ours, spark = append(ours, o), append(spark, s)
	}
	return pair{rows, b.bytes, mode, median(ours), median(spark)}, nil
}

func (b *bench) runOurs(ctx context.Context) (cost, error) {
	say("bulkload")
	if err := b.shell(ctx, "-rm", "-r", "-f", "-skipTrash", "/peer/ours"); err != nil {
		return cost{}, err
	}
	work := filepath.Join(b.dir, "work")
	cmd := exec.CommandContext(ctx, b.binary, "run", b.jobFile(), "--no-load", "--date", night, "--memory", b.memory,
		"--work-dir", work, "--conf", b.cluster.ConfDir())
	return measure(cmd)
}

func (b *bench) runSpark(ctx context.Context, mode string) (cost, error) {
	say("Spark, %s", mode)
	if err := b.shell(ctx, "-rm", "-r", "-f", "-skipTrash", "/peer/spark"); err != nil {
		return cost{}, err
	}
	cmd, err := b.cluster.Program(ctx, peer.Files(), "4g", peer.Class, mode, input, "/peer/spark", table,
		strconv.Itoa(regions), strings.Join(sample.CheckColumns, ","), family)
	if err != nil {
		return cost{}, err
	}
	cmd.Dir = b.dir
	return measure(cmd)
}

// measure runs a program and adds up its CPU time. It shows the program's output if it fails.
func measure(cmd *exec.Cmd) (cost, error) {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	began := time.Now()
	if err := cmd.Run(); err != nil {
		text := out.String()
		return cost{}, fmt.Errorf("%s: %w\n%s", filepath.Base(cmd.Path), err, text[max(0, len(text)-4000):])
	}
	wall := time.Since(began)
	use, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return cost{}, errors.New("this system does not tell what a process used")
	}
	return cost{CPU: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), Wall: wall, RSS: use.Maxrss << 10}, nil
}

// sameCells compares the digests of both outputs, without timestamps: Spark's cells have the time of writing.
func (b *bench) sameCells(ctx context.Context) error {
	say("comparing the cells")
	ours, err := b.digest(ctx, "hdfs:///peer/ours/"+night)
	if err != nil {
		return err
	}
	spark, err := b.digest(ctx, "hdfs:///peer/spark")
	if err != nil {
		return err
	}
	if ours != spark {
		return fmt.Errorf("the cells differ: bulkload's digest is %s, Spark's %s", ours, spark)
	}
	return nil
}

func (b *bench) digest(ctx context.Context, dir string) (string, error) {
	cmd := exec.CommandContext(ctx, b.binary, "verify", dir, "--json", "--conf", b.cluster.ConfDir())
	cmd.Stderr = io.Discard
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("verify %s: %w\n%s", dir, err, out)
	}
	var report struct {
		Digest struct {
			Cells    int64  `json:"cells"`
			Timeless string `json:"without_timestamp"`
		} `json:"digest"`
	}
	if err := json.Unmarshal(out, &report); err != nil {
		return "", fmt.Errorf("verify %s: %w", dir, err)
	}
	return fmt.Sprintf("%s of %d cells", report.Digest.Timeless, report.Digest.Cells), nil
}

// median returns the median of each cost.
func median(runs []cost) cost {
	by := func(less func(a, b cost) int, take func(cost) int64) int64 {
		sorted := slices.Clone(runs)
		slices.SortFunc(sorted, less)
		return take(sorted[len(sorted)/2])
	}
	cpu := func(c cost) int64 { return int64(c.CPU) }
	wall := func(c cost) int64 { return int64(c.Wall) }
	rss := func(c cost) int64 { return c.RSS }
	order := func(f func(cost) int64) func(a, b cost) int { return func(a, b cost) int { return int(f(a) - f(b)) } }
	return cost{time.Duration(by(order(cpu), cpu)), time.Duration(by(order(wall), wall)), by(order(rss), rss)}
}

func say(format string, args ...any) { fmt.Fprintf(os.Stderr, "compare: "+format+"\n", args...) }
